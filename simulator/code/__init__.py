"""From a reply to the code in it, with a status, whatever shape the reply has.

``extraction`` decides; ``fences`` finds blocks, ``unfenced`` what stands outside of any, ``reasoning`` what comes
before the answer; ``pieces`` makes one program of several blocks, ``dressings`` takes off what a program is wrapped in
(notebooks, sessions, numbered lines), ``languages`` knows their names.
"""

from __future__ import annotations

from simulator.code.extraction import CODE_STATUSES, CodeStatus, Extraction, extract

__all__ = ["CODE_STATUSES", "CodeStatus", "Extraction", "extract"]

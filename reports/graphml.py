"""The speaker graph as GraphML, for the programs that draw and measure graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reports.cells import Name
from reports.visible import xml_text
from simulator.storage import write_text

__all__ = ["write_graphml"]


def write_graphml(
    speakers: pl.DataFrame | None, overlap: pl.DataFrame | None, names: Mapping[str, Name], path: Path
) -> None:
    """Write `analysis.language.speaker_graph` as GraphML, which Gephi, Cytoscape, igraph and networkx read.

    Characters that XML cannot hold are written as their code point, in ids as well; where two ids would then be the
    same, a number tells them apart.

    Parameters
    ----------
    speakers, overlap
        The two tables; None where there is none.
    names
        How each speaker is shown: the attribute ``label``. Where some are real people beside personas, ``human`` says
        who.
    path
        The file; it is replaced.

    Raises
    ------
    simulator.errors.StorageError
        The disk does not take it.
    """
    import networkx as nx  # noqa: PLC0415

    from analysis.language import OVERLAP, speaker_graph  # noqa: PLC0415

    graph = speaker_graph(
        pl.DataFrame(schema={"speaker": pl.String}) if speakers is None else speakers,
        pl.DataFrame(schema=OVERLAP) if overlap is None else overlap,
    )
    written: nx.Graph[str] = nx.Graph()
    ids: dict[str, str] = {}
    people = {speaker for speaker, name in names.items() if name.human}
    for speaker, attributes in graph.nodes(data=True):
        shown = xml_text(speaker)
        ids[speaker], turn = shown, 2
        while ids[speaker] in written:
            ids[speaker], turn = f"{shown} ({turn})", turn + 1
        label = names[speaker].full if speaker in names else speaker
        kind = {"human": speaker in people} if people else {}
        written.add_node(ids[speaker], label=xml_text(label), **kind, **_safe(attributes))
    for a, b, attributes in graph.edges(data=True):
        written.add_edge(ids[a], ids[b], **_safe(attributes))
    text = "\n".join(nx.generate_graphml(written)) + "\n"
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + text)


def _safe(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: xml_text(cell) if isinstance(cell, str) else cell for key, cell in attributes.items()}

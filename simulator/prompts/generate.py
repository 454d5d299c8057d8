"""What is sent for code: a variant's text, with what the campaign puts before and after it."""

from __future__ import annotations

from simulator.running.calls import Message

__all__ = ["render_generate"]


def render_generate(text: str, *, prefix: str = "", suffix: str = "") -> tuple[Message, ...]:
    r"""Return the messages that ask a model for code: one message of the user, and no system message.

    Prefix, text and suffix are each freed of white space at both ends and joined by one blank line; a part that is
    then empty is left out with its blank line. Within a part nothing changes. A system message would be one more thing
    that differs between providers, so whatever a campaign wants to say stands in the prefix or the suffix.

    Parameters
    ----------
    text
        The variant's text.
    prefix, suffix
        What every variant of the campaign is sent with; nothing by default.

    Examples
    --------
    >>> render_generate("A calculator, please.", suffix="Answer in Python.\n")
    (Message(role='user', text='A calculator, please.\n\nAnswer in Python.'),)
    """
    parts = (prefix.strip(), text.strip(), suffix.strip())
    return (Message("user", "\n\n".join(part for part in parts if part)),)

"""Making one program of a reply's blocks in the language: of versions one, of pieces all."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from textwrap import dedent
from typing import Literal, NamedTuple

from simulator.code.dressings import trim, undress
from simulator.code.fences import Block, find_blocks, split_lines
from simulator.code.languages import canonical
from simulator.syntax import MAX_CHECKED, defined_names, parses

__all__ = ["Program", "make_program", "read_on", "why_broken"]

_TRIES = 5
MAX_READ_AGAIN = 2 * MAX_CHECKED
"""After so many characters no further string that holds a fence is looked for."""


class Program(NamedTuple):
    """What was made: the blocks taken, their code and its status, how it was made, and what was cut off, in words."""

    blocks: list[Block]
    code: str
    status: Literal["ok", "unparsable"]
    how: str
    cut: str = ""


def make_program(group: list[Block], language: str) -> Program:
    """Make a program of some blocks in its language.

    The longest is the program (of equally long ones the last: it is the revision). Blocks that parse, define no
    function or class that is already defined, and do not just quote it, are joined with it. Where the longest does not
    parse: all of them together, if these do; or what stands before a line that begins like a fence; or
    its lines without what they are all indented by.

    Parameters
    ----------
    group
        The blocks to choose from, in the reply's order; none is empty.
    language
        What they are written in.
    """
    longest = max(reversed(group), key=_length)
    code, undressed = undress(longest.lines, language)
    parsed = parses(code, language)
    if parsed is False:
        return _mend(group, longest, code, language)
    note = (", in which a string holds a fence" if longest.goes_on else "") + (f", {undressed}" if undressed else "")
    if len(group) == 1:
        return Program(group, code, "ok", note + ("" if parsed else "; not checked, for want of its grammar"))
    pieces = _pieces(group, longest, code, language)
    joined = "\n".join(piece for _, piece in pieces)
    if len(pieces) == 1 or not parses(joined, language):
        return Program([longest], code, "ok", ", the longest" + note)
    return Program([block for block, _ in pieces], joined, "ok", ", joined: pieces of one program" + note)


def read_on(answer: str, blocks: list[Block]) -> list[Block]:
    """Return a reply's blocks as they are when a fence within a string of Python ends none.

    The first few blocks that do not parse and leave a string open are tried up to the next fences like the one that
    ended them; what follows is looked through for blocks again.
    """
    lines = split_lines(answer)
    done, tries, left = 0, 0, MAX_READ_AGAIN
    while done < len(blocks) and tries < _TRIES and left > 0:
        block = blocks[done]
        done += 1
        if not _leaves_string_open(block):
            continue
        tries += 1
        last = None if parses(trim(block.lines), "python") else _find_end(lines, block)
        if last is not None:
            longer = replace(block, lines=lines[block.first + 1 : last], end=last + 1, goes_on=True)
            rest = "\n".join(lines[last + 1 :])
            left -= len(rest)
            after = find_blocks(rest)
            for following in after:
                following.first, following.end = following.first + last + 1, following.end + last + 1
            blocks = [*blocks[: done - 1], longer, *after]
    return blocks


def _leaves_string_open(block: Block) -> bool:
    """Whether a closed block, of Python or of no language, has an odd number of triple quotes."""
    if not block.closed or block.within or canonical(block.language) not in {"python", ""}:
        return False
    return sum(block.text.count(quote) for quote in ('"""', "'''")) % 2 == 1


def _find_end(lines: list[str], block: Block) -> int | None:
    """Return the line of a fence like the one that closes a block, up to which the block parses."""
    fence = lines[block.end - 1].strip()
    if lines[block.first][:1] not in {"`", "~"}:
        return None
    alike = (number for number in range(block.end, len(lines)) if lines[number].strip() == fence)
    return next(
        (number for number in islice(alike, _TRIES) if parses(trim(lines[block.first + 1 : number]), "python")), None
    )


def why_broken(code: str) -> str:
    """Say why code counts as not parsing."""
    return "too long to be checked" if len(code) > MAX_CHECKED else "it does not parse"


def _pieces(group: list[Block], longest: Block, code: str, language: str) -> list[tuple[Block, str]]:
    defined = defined_names(code, language)
    quoted = {line.strip() for line in code.split("\n")}
    size = len(code)
    pieces: list[tuple[Block, str]] = []
    for block in group:
        if block is longest:
            pieces.append((block, code))
            continue
        if size + _length(block) > MAX_CHECKED or quoted.issuperset(line.strip() for line in block.lines):
            continue
        piece, _ = undress(block.lines, language)
        lines = {line.strip() for line in piece.split("\n")}
        names = defined_names(piece, language)
        if lines <= quoted or names & defined or not parses(piece, language):
            continue
        if pieces and "from __future__" in piece and any(line.startswith("from __future__") for line in lines):
            continue  # it may only begin a file: joined, neither would run
        defined |= names
        quoted |= lines
        size += len(piece) + 1
        pieces.append((block, piece))
    return pieces


def _mend(group: list[Block], longest: Block, code: str, language: str) -> Program:
    if len(group) > 1:
        whole = "\n".join(trim(block.lines) for block in group)
        if parses(whole, language):
            return Program(group, whole, "ok", ", joined: only together do they parse")
    if language == "python" and longest.lines:
        found = _stop_early(longest, language)
        if found:
            how = ", up to a line that begins like a fence"
            return Program([longest], found, "ok", how, "what follows in the same block")
        bare = dedent(code)
        if bare != code and parses(bare, language):
            return Program([longest], bare, "ok", ", without its indentation")
    reason = why_broken(code) + ("" if longest.closed else ", and its fence is never closed")
    return Program([longest], code, "unparsable", ("" if len(group) == 1 else ", the longest") + f"; {reason}")


def _stop_early(block: Block, language: str) -> str:
    """Return what stands before a line that begins with a fence but does not close the block, if that parses."""
    fences = (number for number, line in enumerate(block.lines) if line.lstrip().startswith(("```", "~~~")))
    for number in islice(fences, _TRIES):
        code, _ = undress(block.lines[:number], language)
        if code and parses(code, language):
            return code
    return ""


def _length(block: Block) -> int:
    return sum(map(len, block.lines))

"""From a reply to the code in it, with a status, whatever shape the reply has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from simulator.code.dressings import foreign_cell, is_named_first, read_notebook, trim, undress
from simulator.code.fences import Block, find_blocks, split_lines
from simulator.code.languages import NOT_PROGRAMS, NOTEBOOK_LANGUAGES, canonical
from simulator.code.pieces import make_program, read_on
from simulator.code.reasoning import set_aside_reasoning
from simulator.code.unfenced import Found, find_unfenced, is_program, is_text
from simulator.running.replies import repair_text
from simulator.syntax import MAX_CHECKED, defined_names, parses

__all__ = ["CODE_STATUSES", "CodeStatus", "Extraction", "extract"]

CodeStatus = Literal["ok", "no_code", "unparsable", "empty"]
CODE_STATUSES: tuple[CodeStatus, ...] = get_args(CodeStatus)

_FENCE = re.compile(r"(?:```|~~~)\w")
_RUN = re.compile(r"`{3,}|~{3,}")
_NO_PROGRAM = ")]}"
MAX_BLOCKS = 64
MAX_CONSIDERED = 2 * MAX_CHECKED
"""Of more blocks, or of more characters in them, the longest are considered."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in a reply.

    Parameters
    ----------
    status
        ``ok``: code that parses. ``unparsable``: code that does not, kept. ``no_code``: none. ``empty``: a block, or a
        whole reply, with nothing in it.
    language
        The language of `text`, or the one asked for where there is none.
    text
        The code; each of its lines is in the reply, less what the reply put around it: the indentation of a fence, a
        session's prompt, a line's number; of a notebook, or of a page's ``<pre>``, as its format encodes it.
    blocks
        How many fenced blocks the reply has.
    chosen
        Which part was taken and why, in words.
    left_out
        What was not taken, in words; nothing where nothing was.
    """

    status: CodeStatus
    language: str
    text: str
    blocks: int
    chosen: str
    left_out: str


def extract(text: str, *, language: str = "python") -> Extraction:
    r"""Find the code in a reply.

    In this order: reasoning before the answer is set aside (`reasoning`); a whole reply that parses is code;
    of the fenced blocks (`fences`) those in the language count, or else those that name none and parse, or
    else those under a name of no program (``text``) that define a function or class, or else the longest in another
    programming language; with no fence, or outside of blocks that are no program, what `unfenced` finds. JSON
    is data and no code, unless it is a notebook. What a program is dressed in (`dressings`) is taken off.

    Several blocks in the language are versions or pieces of one program (`pieces`). The longest is the
    program. Blocks that parse, define no function or class that is already defined, and do not just quote it, are
    joined with it in the reply's order: its other files, its next step, its use, its tests. A block that defines a name
    again is another version and is left out: joining versions would count one program twice.

    Python is judged by the compiler of the running version; other languages by their grammar where it is installed,
    and otherwise not, which is noted.

    Parameters
    ----------
    text
        Any text at all. The time is linear in its length, and what is parsed is at most `MAX_CHECKED` characters long.
    language
        The language that was asked for.

    Examples
    --------
    >>> found = extract("Sure!\n\n```python\nprint('hi')\n```\nRun it with:\n```bash\npython hi.py\n```")
    >>> found.status, found.text, found.left_out
    ('ok', "print('hi')", 'block 2 (bash)')
    >>> extract("I'm sorry, I can't help with that.").status
    'no_code'
    """
    wanted = canonical(language)
    answer, thought = set_aside_reasoning(repair_text(text)[0].removeprefix("\ufeff"), wanted)
    notes = ["reasoning before the answer"] if thought else []
    if not answer.strip():
        if thought:
            return Extraction("no_code", wanted, "", 0, "nothing: the reply ends with its reasoning", _list(notes))
        return Extraction("empty", wanted, "", 0, "nothing: the reply is empty", "")
    blocks = find_blocks(answer)
    if not is_named_first(answer) and _is_whole(answer, wanted):
        code = trim(split_lines(answer))
        return Extraction("ok", wanted, code, len(blocks), "the whole reply: it parses", _list(notes))
    if not blocks:
        return _take_unfenced(find_unfenced(answer, wanted), wanted, notes)
    opened = _open_before(answer, blocks, wanted)
    if opened is None:
        return _choose(answer, read_on(answer, blocks), wanted, notes)
    answer, blocks = opened
    found = _choose(answer, read_on(answer, blocks), wanted, notes)
    return replace(found, chosen=found.chosen + "; the reply begins within the first block")


def _is_whole(answer: str, language: str) -> bool:
    """Whether a whole reply is one program.

    A fence can be an expression: ``~~~x`` is one in Python, and in JavaScript backticks hold a text. So what parses
    has to parse with something in the fences' places that no program holds outside of its strings and comments.
    """
    return is_program(answer, language) and (
        not _RUN.search(answer) or parses(_RUN.sub(_NO_PROGRAM, answer), language) is True
    )


def _take_unfenced(found: Found, language: str, notes: list[str]) -> Extraction:
    left_out = _list([*notes, *([found.around] if found.around else [])])
    return Extraction(found.status, language, found.code, 0, found.chosen, left_out)


def _open_before(answer: str, blocks: list[Block], language: str) -> tuple[str, list[Block]] | None:
    """Return a reply with the fence that its prompt already opened, and its blocks; None where there was none.

    Such a reply begins with a program, and read as it is, what is inside of its fences and what is outside are swapped.
    """
    first = blocks[0]
    if language != "python" or first.info.strip() or not first.first or not _are_swapped(blocks):
        return None
    if not is_program(trim(split_lines(answer)[: first.first]), language):
        return None
    whole = f"{'~~~' if first.tildes else '```'}{language}\n{answer}"
    again = find_blocks(whole)
    return (whole, again) if again[0].end == first.first + 2 and not _are_swapped(again) else None


def _are_swapped(blocks: list[Block]) -> bool:
    """Whether the last block is never closed, or one holds a fence with a language."""
    return not blocks[-1].closed or any(_FENCE.match(line) for block in blocks for line in block.lines)


def _choose(answer: str, blocks: list[Block], wanted: str, notes: list[str]) -> Extraction:
    numbers = {id(block): number for number, block in enumerate(blocks, 1)}
    filled = _considered(blocks)
    named = [block for block in filled if _named(block) == wanted]
    unnamed = [block for block in filled if not block.language and _named(block) != wanted]
    for group, why in (
        ([block for block in named if not block.within], ""),
        (
            [block for block in unnamed if is_program(undress(block.lines, wanted)[0], wanted)],
            ", which names no language but parses",
        ),
        (named, ", inside a block of Markdown"),
        (
            [block for block in filled if _hides(block, wanted)],
            ", which defines a function or class under another name",
        ),
        (
            [block for block in unnamed if not is_text(block.text)],
            ", which names no language",
        ),
    ):
        if group:
            made = make_program(group, wanted)
            cut = [made.cut] if made.cut else []
            return Extraction(
                made.status,
                wanted,
                made.code,
                len(blocks),
                _name(made.blocks, numbers) + why + made.how,
                _rest(blocks, made.blocks, numbers, [*notes, *cut]),
            )
    others = [block for block in filled if block.language and _named(block) not in NOT_PROGRAMS]
    if not others:
        return _look_outside(answer, blocks, wanted, notes)
    longest = max(others, key=_length)
    language, code = _named(longest), trim(longest.lines)
    parsed = parses(code, language)
    how = "" if parsed is not None else "; not checked, for want of its grammar"
    return Extraction(
        "unparsable" if parsed is False else "ok",
        language,
        code,
        len(blocks),
        f"{_name([longest], numbers)}, the longest: no block is in the language asked for{how}",
        _rest(blocks, [longest], numbers, notes),
    )


def _considered(blocks: list[Block]) -> list[Block]:
    """Return the blocks with anything in them, the longest where they are too many, in the reply's order."""
    filled = sorted((block for block in blocks if any(line.strip() for line in block.lines)), key=_length, reverse=True)
    size, kept = 0, filled[:1]
    for block in filled[1:MAX_BLOCKS]:
        size += _length(block)
        if size + _length(kept[0]) <= MAX_CONSIDERED:
            kept.append(block)
    return sorted(kept, key=lambda block: block.first)


def _look_outside(answer: str, blocks: list[Block], wanted: str, notes: list[str]) -> Extraction:
    """Take a program that stands outside of the blocks where no block is one, or nothing."""
    numbers = {id(block): number for number, block in enumerate(blocks, 1)}
    lines = split_lines(answer)
    for block in blocks:
        lines[block.first : block.end] = [""] * (block.end - block.first)
    outside = "\n".join(lines)
    found = find_unfenced(outside, wanted) if outside.strip() else None
    if found is not None and found.status == "ok":
        taken = _take_unfenced(found, wanted, notes)
        rest = _rest(blocks, [], numbers, [taken.left_out] if taken.left_out else [])
        return replace(taken, blocks=len(blocks), left_out=rest)
    filled = [block for block in blocks if any(line.strip() for line in block.lines)]
    blank = len(filled) < len(blocks) and any(_named(block) == wanted for block in blocks)
    nothing: CodeStatus = "empty" if blank or not filled else "no_code"
    why = "the block is empty" if nothing == "empty" else "no block is a program"
    return Extraction(nothing, wanted, "", len(blocks), f"nothing: {why}", _rest(blocks, [], numbers, notes))


def _hides(block: Block, language: str) -> bool:
    """Whether a block is a program under a name that says it is none (``text``, ``bash``)."""
    return _named(block) in NOT_PROGRAMS and bool(defined_names(undress(block.lines, language)[0], language))


def _named(block: Block) -> str:
    language = canonical(block.language)
    if language in NOTEBOOK_LANGUAGES and read_notebook(block.text):
        return "python"
    return (foreign_cell(block.text) or language) if language == "python" else language


def _length(block: Block) -> int:
    return sum(map(len, block.lines))


def _name(blocks: Iterable[Block], numbers: dict[int, int]) -> str:
    found = [str(numbers[id(block)]) for block in blocks]
    return ("block " if len(found) == 1 else "blocks ") + ", ".join(found)


def _rest(blocks: list[Block], taken: list[Block], numbers: dict[int, int], notes: list[str]) -> str:
    used = {id(block) for block in taken}
    others = [block for block in blocks if id(block) not in used]
    named = [f"block {numbers[id(block)]} ({block.language[:20] or 'no language'})" for block in others[:8]]
    if len(others) > len(named):
        named.append(f"{len(others) - len(named)} more blocks")
    return _list([*notes, *named])


def _list(notes: list[str]) -> str:
    return "; ".join(notes)

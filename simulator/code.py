"""From a reply to the code in it, with a status, whatever shape the reply has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

from simulator.dressings import NOTEBOOK_LANGUAGES, read_notebook, trim, undress
from simulator.fences import Block, find_blocks, split_lines
from simulator.prose import is_prose
from simulator.running.replies import repair_text
from simulator.syntax import MAX_CHECKED, defined_names, parses
from simulator.unfenced import Found, find_unfenced, is_data

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CODE_STATUSES", "CodeStatus", "Extraction", "extract"]

CodeStatus = Literal["ok", "no_code", "unparsable", "empty"]
CODE_STATUSES: tuple[CodeStatus, ...] = get_args(CodeStatus)

MAX_BLOCKS = 64
"""Of more blocks the longest are considered."""

_ALIASES = {
    **dict.fromkeys(
        ["py", "python3", "python2", "py3", "ipython", "ipython3", "pycon", "python-repl", "jupyter"], "python"
    ),
    **dict.fromkeys(["js", "node", "nodejs", "jsx", "mjs"], "javascript"),
    **dict.fromkeys(["ts", "tsx"], "typescript"),
    **dict.fromkeys(["c++", "cxx", "cc"], "cpp"),
    **dict.fromkeys(["c#", "cs"], "csharp"),
    **dict.fromkeys(["golang"], "go"),
    **dict.fromkeys(["rs"], "rust"),
    **dict.fromkeys(["rb"], "ruby"),
    **dict.fromkeys(
        ["sh", "shell", "zsh", "console", "terminal", "shellsession", "cmd", "bat", "powershell", "ps1"], "bash"
    ),
}
_NOT_PROGRAMS = frozenset(
    [
        "bash",
        "text",
        "txt",
        "plain",
        "plaintext",
        "output",
        "console",
        "log",
        "json",
        "jsonc",
        "yaml",
        "yml",
        "toml",
        "ini",
        "cfg",
        "conf",
        "env",
        "csv",
        "tsv",
        "xml",
        "markdown",
        "md",
        "diff",
        "patch",
        "mermaid",
        "dockerfile",
        "makefile",
        "http",
        "gitignore",
        "requirements",
        "tree",
    ]
)
_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"^[ \t]*</(?:think|thinking|thought|reasoning)>", re.IGNORECASE | re.MULTILINE)
_TRIES = 5


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

    In this order: reasoning (``<think>``) before the answer is set aside; a whole reply that parses is code; of the
    fenced blocks (see `simulator.fences`) those in the language count, or else those that name none and parse, or else
    the longest in another programming language; with no fence, what `simulator.unfenced` finds. JSON is data and no
    code, unless it is a notebook. What a program is dressed in (`simulator.dressings`) is taken off.

    Of several blocks in the language the longest is the program. Blocks that parse, define no function or class that is
    already defined, and do not just quote it, are further pieces of the same program (its other files, its next
    step, its use) and are joined with it in the reply's order. A block that defines a name again is another version
    and is left out: joining versions would count one program twice.

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
    wanted = _ALIASES.get(language.lower(), language.lower())
    answer, thought = _set_aside_thought(repair_text(text)[0].removeprefix("\ufeff"))
    notes = ["reasoning before the answer"] if thought else []
    if not answer.strip():
        if thought:
            return Extraction("no_code", wanted, "", 0, "nothing: the reply ends with its reasoning", _list(notes))
        return Extraction("empty", wanted, "", 0, "nothing: the reply is empty", "")
    blocks = find_blocks(answer)
    marked = any(block.tildes and block.language for block in blocks)  # ``~~~python`` is an expression as well
    if not marked and parses(answer, wanted) is True and not is_prose(answer, parses=True) and not is_data(answer):
        return Extraction(
            "ok", wanted, trim(split_lines(answer)), len(blocks), "the whole reply: it parses", _list(notes)
        )
    if blocks:
        return _choose(answer, blocks, wanted, notes)
    return _take_unfenced(find_unfenced(answer, wanted), wanted, notes)


def _take_unfenced(found: Found, language: str, notes: list[str]) -> Extraction:
    left_out = _list([*notes, *([found.around] if found.around else [])])
    return Extraction(found.status, language, found.code, 0, found.chosen, left_out)


def _set_aside_thought(text: str) -> tuple[str, bool]:
    opened = _THINKING.match(text)
    if opened is not None:
        end = re.compile(f"</{opened[1]}>", re.IGNORECASE).search(text, opened.end())
        return (text[end.end() :], True) if end is not None else ("", True)
    ended = _THOUGHT.search(text)  # some chat templates swallow the opening tag
    return (text[ended.end() :], True) if ended is not None else (text, False)


def _choose(answer: str, blocks: list[Block], wanted: str, notes: list[str]) -> Extraction:
    numbers = {id(block): number for number, block in enumerate(blocks, 1)}
    filled = [block for block in blocks if any(line.strip() for line in block.lines)]
    filled = sorted(sorted(filled, key=_length, reverse=True)[:MAX_BLOCKS], key=lambda block: block.first)
    named = [block for block in filled if _named(block) == wanted]
    unnamed = [block for block in filled if not block.language]
    for group, why in (
        ([block for block in named if not block.within], ""),
        ([block for block in unnamed if _reads(block, wanted)], ", which names no language but parses"),
        (named, ", inside a block of Markdown"),
        ([block for block in unnamed if not _is_text(block)], ", which names no language"),
    ):
        if group:
            taken, code, status, how = _join(group, wanted, answer, blocks)
            return Extraction(
                status,
                wanted,
                code,
                len(blocks),
                _name(taken, numbers) + why + how,
                _rest(blocks, taken, numbers, notes),
            )
    others = [block for block in filled if block.language and _named(block) not in _NOT_PROGRAMS]
    if not others:
        return _look_before(answer, blocks, wanted, notes)
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


def _look_before(answer: str, blocks: list[Block], wanted: str, notes: list[str]) -> Extraction:
    """Take a program that stands before the first fence where no block is one, or nothing."""
    numbers = {id(block): number for number, block in enumerate(blocks, 1)}
    before = "\n".join(split_lines(answer)[: blocks[0].first])
    found = find_unfenced(before, wanted) if before.strip() else None
    if found is not None and found.status == "ok":
        taken = _take_unfenced(found, wanted, notes)
        rest = _rest(blocks, [], numbers, [taken.left_out] if taken.left_out else [])
        return replace(taken, blocks=len(blocks), left_out=rest)
    filled = [block for block in blocks if any(line.strip() for line in block.lines)]
    blank = len(filled) < len(blocks) and any(_named(block) == wanted for block in blocks)
    nothing: CodeStatus = "empty" if blank or not filled else "no_code"
    why = "the block is empty" if nothing == "empty" else "no block is a program"
    return Extraction(nothing, wanted, "", len(blocks), f"nothing: {why}", _rest(blocks, [], numbers, notes))


def _join(
    group: list[Block], language: str, answer: str, blocks: list[Block]
) -> tuple[list[Block], str, CodeStatus, str]:
    """Return the blocks that make up the program, their code, its status, and how it was made, in words."""
    longest = max(reversed(group), key=_length)  # of equally long ones the last: it is the revision
    code, undressed = undress(longest.lines, language)
    parsed = parses(code, language)
    note = f", {undressed}" if undressed else ""
    if parsed is False:
        whole = "\n".join(trim(block.lines) for block in group)
        if len(group) > 1 and parses(whole, language):
            return group, whole, "ok", ", joined: only together do they parse"
        further = _read_on(answer, longest, language)
        if further is not None:
            code, last = further
            taken = [block for block in blocks if longest.first <= block.first < last]
            return taken, code, "ok", ", as one: a fence between is part of a string"
        reason = "too long to be checked" if len(code) > MAX_CHECKED else "it does not parse"
        reason += "" if longest.closed else ", and its fence is never closed"
        return [longest], code, "unparsable", ("" if len(group) == 1 else ", the longest") + f"; {reason}"
    if len(group) == 1:
        return group, code, "ok", note + ("" if parsed else "; not checked, for want of its grammar")
    defined = defined_names(code, language)
    quoted = {line.strip() for line in code.split("\n")}
    pieces: list[tuple[Block, str]] = []
    for block in group:
        if block is longest:
            pieces.append((block, code))
            continue
        piece, _ = undress(block.lines, language)
        names = defined_names(piece, language)
        lines = {line.strip() for line in piece.split("\n")}
        if lines <= quoted or names & defined or not parses(piece, language):
            continue
        defined |= names
        quoted |= lines
        pieces.append((block, piece))
    joined = "\n".join(piece for _, piece in pieces)
    if len(pieces) == 1 or not parses(joined, language):
        return [longest], code, "ok", ", the longest" + note
    return [block for block, _ in pieces], joined, "ok", ", joined: pieces of one program" + note


def _read_on(answer: str, block: Block, language: str) -> tuple[str, int] | None:
    """Return a block's code up to a later fence, and the line of that, where a string in it holds the first one."""
    quotes = sum(block.text.count(quote) for quote in ('"""', "'''"))
    lines = split_lines(answer)
    end = block.first + 1 + len(block.lines)
    if language != "python" or quotes % 2 == 0 or not block.closed or lines[block.first][:1] not in {"`", "~"}:
        return None
    alike = (number for number in range(end + 1, len(lines)) if lines[number].strip() == lines[end].strip())
    for number in islice(alike, _TRIES):
        code = trim(lines[block.first + 1 : number])
        if parses(code, language):
            return code, number
    return None


def _reads(block: Block, language: str) -> bool:
    code, _ = undress(block.lines, language)
    return parses(code, language) is True and not is_prose(code, parses=True) and not is_data(code)


def _is_text(block: Block) -> bool:
    return is_prose(block.text) or is_data(block.text)


def _named(block: Block) -> str:
    if block.language.startswith("python"):  # python3.11, python-code
        return "python"
    if block.language in NOTEBOOK_LANGUAGES and read_notebook(block.text) is not None:
        return "python"
    return _ALIASES.get(block.language, block.language)


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

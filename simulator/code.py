"""From a reply to the code in it, with a status, whatever shape the reply has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from simulator.fences import Block, find_blocks, split_lines
from simulator.prose import is_prose
from simulator.running.replies import repair_text
from simulator.syntax import MAX_CHECKED, defined_names, fault_line, parses

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
_STARTS = re.compile(
    r"(?:import|from|def|class|async|with|for|while|if)\s|try\s*:|@\w|#!|[A-Za-z_]\w*\s*=[^=]|\w[\w.]*\("
)
_MAGIC = re.compile(r"[ \t]*[!%]{1,2}[A-Za-z]")
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
        The code; each of its lines is in the reply (less the indentation of an indented fence).
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
    the longest in another programming language; with no fence, the lines from the first that begins like a program to
    the last before the parser finds words.

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
    answer, thought = _set_aside_thought(repair_text(text)[0])
    notes = ["reasoning before the answer"] if thought else []
    if not answer.strip():
        if thought:
            return Extraction("no_code", wanted, "", 0, "nothing: the reply ends with its reasoning", _list(notes))
        return Extraction("empty", wanted, "", 0, "nothing: the reply is empty", "")
    blocks = find_blocks(answer)
    marked = any(block.tildes and block.language for block in blocks)  # ``~~~python`` is an expression as well
    if not marked and parses(answer, wanted) is True and not is_prose(answer, parses=True):
        return Extraction(
            "ok", wanted, _trim(split_lines(answer)), len(blocks), "the whole reply: it parses", _list(notes)
        )
    if blocks:
        return _choose(answer, blocks, wanted, notes)
    return _find_unfenced(answer, wanted, notes)


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
    for group, why in (
        ([block for block in filled if _named(block) == wanted and not block.within], ""),
        (
            [block for block in filled if not block.language and _reads(block, wanted)],
            ", which names no language but parses",
        ),
        ([block for block in filled if _named(block) == wanted], ", inside a block of Markdown"),
        ([block for block in filled if not block.language and not is_prose(block.text)], ", which names no language"),
    ):
        if group:
            taken, code, status, how = _join(group, wanted)
            chosen = _name(taken, numbers) + why + how
            break
    else:
        others = [block for block in filled if block.language and _named(block) not in _NOT_PROGRAMS]
        if not others:
            before = "\n".join(split_lines(answer)[: blocks[0].first])
            unfenced = _find_unfenced(before, wanted, notes) if before.strip() else None
            if unfenced is not None and unfenced.status == "ok":
                left_out = _list(
                    [unfenced.left_out, _rest(blocks, [], numbers, [])]
                    if unfenced.left_out
                    else [_rest(blocks, [], numbers, [])]
                )
                return replace(unfenced, blocks=len(blocks), left_out=left_out)
            blank = len(filled) < len(blocks) and any(_named(block) == wanted for block in blocks)
            nothing: CodeStatus = "empty" if blank or not filled else "no_code"
            why = "the block is empty" if nothing == "empty" else "no block is a program"
            return Extraction(nothing, wanted, "", len(blocks), f"nothing: {why}", _rest(blocks, [], numbers, notes))
        taken = [max(others, key=_length)]
        wanted = _named(taken[0])
        code = _trim(taken[0].lines)
        parsed = parses(code, wanted)
        status = "unparsable" if parsed is False else "ok"
        how = "" if parsed is not None else "; not checked, for want of its grammar"
        chosen = f"{_name(taken, numbers)}, the longest: no block is in the language asked for{how}"
    return Extraction(status, wanted, code, len(blocks), chosen, _rest(blocks, taken, numbers, notes))


def _join(group: list[Block], language: str) -> tuple[list[Block], str, CodeStatus, str]:
    """Return the blocks that make up the program, their code, its status, and how it was made, in words."""
    longest = max(reversed(group), key=_length)  # of equally long ones the last: it is the revision
    code, dropped = _without_magic(longest, language)
    parsed = parses(code, language)
    note = f", without its {dropped} lines of notebook commands" if dropped else ""
    if parsed is False:
        whole = "\n".join(_trim(block.lines) for block in group)
        if len(group) > 1 and parses(whole, language):
            return group, whole, "ok", ", joined: only together do they parse"
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
        piece, _ = _without_magic(block, language)
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


def _find_unfenced(answer: str, language: str, notes: list[str]) -> Extraction:
    lines = split_lines(answer)
    broken: tuple[int, str] | None = None
    if language == "python":
        for start in _candidates(lines):
            code, rest = _split_atfault_line(lines[start:])
            if code and not is_prose(code, parses=True) and (not rest or is_prose(rest)):
                end = start + code.count("\n") + 1
                if start or rest:
                    notes = [*notes, "the words around it"]
                return Extraction("ok", language, code, 0, f"lines {start + 1} to {end}, which parse", _list(notes))
            if broken is None and not is_prose("\n".join(lines[start:])):
                broken = start, _trim(lines[start:])
    if broken is None and is_prose(answer):
        return Extraction("no_code", language, "", 0, "nothing: the reply is prose", _list(notes))
    start, code = broken if broken is not None else (0, _trim(lines))
    if broken is None and parses(answer, language) is None:
        why = "the whole reply; not checked, for want of its grammar"
        return Extraction("ok", language, code, 0, why, _list(notes))
    why = "too long to be checked" if len(code) > MAX_CHECKED else "it does not parse"
    where = f"lines {start + 1} to the end" if start else "the whole reply"
    return Extraction(
        "unparsable", language, code, 0, f"{where}: {why}", _list([*notes, "the words before it"] if start else notes)
    )


def _candidates(lines: list[str]) -> list[int]:
    """Return the first few lines that begin as a program may, each after words or a blank line."""
    found: list[int] = []
    for number, line in enumerate(lines):
        if _STARTS.match(line) and (not number or not _STARTS.match(lines[number - 1])):
            found.append(number)
            if len(found) == _TRIES:
                break
    return found


def _split_atfault_line(lines: list[str]) -> tuple[str, str]:
    """Split where the parser stops: when words follow a program, that is where they begin."""
    code = _trim(lines)
    line = fault_line(code)
    if line is None:
        return code, ""
    first = next((number for number, text in enumerate(lines) if text.strip()), 0)
    kept = _trim(lines[: first + line - 1])
    return (kept if fault_line(kept) is None else ""), "\n".join(lines[first + line - 1 :])


def _reads(block: Block, language: str) -> bool:
    code, _ = _without_magic(block, language)
    return parses(code, language) is True and not is_prose(code, parses=True)


def _without_magic(block: Block, language: str) -> tuple[str, int]:
    """Return a block's code without a notebook's commands (``!pip``, ``%matplotlib``), where that makes it parse."""
    code = _trim(block.lines)
    if language != "python" or parses(code, language):
        return code, 0
    lines = [line for line in block.lines if not _MAGIC.match(line)]
    dropped = len(block.lines) - len(lines)
    rest = _trim(lines)
    return (rest, dropped) if dropped and rest and parses(rest, language) else (code, 0)


def _trim(lines: list[str]) -> str:
    """Join lines without the blank ones at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "\n".join(lines[first:last])


def _named(block: Block) -> str:
    if block.language.startswith("python"):  # python3.11, python-code
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

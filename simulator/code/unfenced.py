"""Finding a program in a reply without fences: between words, indented, in a notebook, or in a page's ``<pre>``."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from simulator.code.dressings import find_notebook, trim, undress
from simulator.code.fences import split_lines
from simulator.code.pieces import why_broken
from simulator.prose import begins_program, is_prose
from simulator.syntax import MAX_CHECKED, defined_names, fault_line, parses

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Found", "find_unfenced", "is_program", "is_text"]

_STARTS = re.compile(
    r"(?:import|from|def|class|async|with|for|while|if)\s|try\s*:|@\w|#!|[A-Za-z_]\w*\s*=[^=]|\w[\w.]*\("
    r"|[rRuUbBfF]{0,2}(?:\"\"\"|''')"
)
_ON_ONE_LINE = re.compile(r"[ \t]*(`{3,})[A-Za-z0-9+#]*[ \t]+(?P<code>[^`\n]*[^`\s])[ \t]*\1[ \t]*")
_PRE_BEGINS = re.compile(r"<pre\b[^<>\n]{0,200}>\s{0,9}(?:<code\b[^<>\n]{0,200}>)?", re.IGNORECASE)
_PRE_ENDS = re.compile(r"(?:</code>\s{0,9})?</pre>", re.IGNORECASE)
_CHANGE = re.compile(r"^@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@", re.MULTILINE)
_HEADING = re.compile(r"#{2,6} ")
_TRIES = 5
_STARTS_TRIED = 20
_READ = 3 * MAX_CHECKED
"""How many characters are given to the parser, at most, in the search for where a program begins and ends."""


class Found(NamedTuple):
    """What was found: status, code, which part it is and why, and what is around it."""

    status: Literal["ok", "no_code", "unparsable"]
    code: str
    chosen: str
    around: str = ""


class _Stretch(NamedTuple):
    """Lines that parse, from the first to before the last, and their code."""

    first: int
    last: int
    code: str


def find_unfenced(answer: str, language: str) -> Found:
    """Find the code in a reply without fences.

    Of Python in this order: a notebook; what stands in a page's ``<pre>``; the stretches of lines that begin like a
    program and parse, where what is around them is words; code that is indented, as CommonMark has it; code on one
    line between backticks; the whole reply, undressed (`dressings`). Then, in any language, the whole reply,
    unless it is data, a change or prose; of other languages than Python without the sentences at both ends.

    Parameters
    ----------
    answer
        The reply, not empty, without its reasoning.
    language
        What was asked for.
    """
    lines = split_lines(answer)
    broken: Found | None = None
    if language == "python":
        found = _notebook(answer) or _preformatted(answer)
        if found is None:
            found, broken = _between_words(lines)
        if broken is None:  # or else a part of a program that does not parse would pass for one that does
            found = found or _indented(lines) or _on_one_line(lines) or _dressed(lines)
        if found is not None:
            return found
    return broken if broken is not None and not _is_data(answer) else _whole(answer, lines, language)


def is_program(code: str, language: str) -> bool:
    """Whether a text parses, and is neither words nor JSON that happen to."""
    return bool(code) and parses(code, language) is True and not is_prose(code, parses=True) and not _is_json(code)


def is_text(text: str) -> bool:
    """Whether a text that does not parse reads like no program: words, JSON or a change (diff)."""
    return is_prose(text) or _is_data(text)


def _whole(answer: str, lines: list[str], language: str) -> Found:
    code = trim(lines)
    what, around = "the whole reply", ""
    if language != "python":
        bare = _without_sentences(code)
        if bare != code:
            code, what, around = bare, "what is between sentences", "the words around it"
    if not code or is_text(code):
        data = "data (JSON)" if _is_json(answer) else "a change (diff)" if _is_data(answer) else "prose"
        return Found("no_code", "", f"nothing: the reply is {data}")
    parsed = parses(code, language)
    if parsed is False:
        return Found("unparsable", code, f"{what}: {why_broken(code)}", around)
    return Found("ok", code, what + (": it parses" if parsed else "; not checked, for want of its grammar"), around)


def _is_data(text: str) -> bool:
    return _CHANGE.search(text) is not None or _is_json(text)


def _is_json(text: str) -> bool:
    """Whether a text is a JSON object or list."""
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _between_words(lines: list[str]) -> tuple[Found | None, Found | None]:
    """Return the stretches that parse, or else None, and what only looks like a program."""
    stretches: list[_Stretch] = []
    tried: list[int] = []
    place, left = 0, _READ
    for start in _starts(lines):
        if start < place:
            continue
        if left <= 0 or len(tried) == _STARTS_TRIED:
            break
        tried.append(start)
        stretch, place, read = _read_stretch(lines, _with_comments(lines, start, place))
        left -= read
        if stretch is not None:
            stretches.append(stretch)
    if stretches and _is_around(lines, stretches, tried):
        return _take(lines, stretches), None
    begun = next((start for start in tried if not is_prose("\n".join(lines[start:]))), None)
    if begun is None:
        return None, None
    code = trim(lines[begun:])
    where = f"lines {begun + 1} to the end" if begun else "the whole reply"
    return None, Found("unparsable", code, f"{where}: {why_broken(code)}", "the words before it" if begun else "")


def _starts(lines: list[str]) -> Iterator[int]:
    """Return the lines that begin like a program, at the margin."""
    for number, line in enumerate(lines):
        if line and not line[0].isspace() and (_STARTS.match(line) or begins_program(line)):
            yield number


def _with_comments(lines: list[str], start: int, place: int) -> int:
    """Return the first of the comments right above a line."""
    while start > place and lines[start - 1].startswith("#") and not _HEADING.match(lines[start - 1]):
        start -= 1
    return start


def _read_stretch(lines: list[str], start: int) -> tuple[_Stretch | None, int, int]:
    """Read up to where the parser stops: when words follow a program, that is where they begin.

    Returns
    -------
    The stretch, if it is one, the line to go on with, and how many characters the parser was given.
    """
    code = trim(lines[start:])
    fault = fault_line(code)
    if fault is None:
        kept, last = code, len(lines)
    else:
        last = start + fault - 1
        above = lines[start:last]
        while len(above) > 1 and (not above[-1].strip() or (_HEADING.match(above[-1]) and not above[-2].strip())):
            above.pop()  # a heading of the words below is no comment of the program's
        kept, last = trim(above), start + len(above)
    if kept and fault_line(kept) is None and not is_prose(kept, parses=True):
        return _Stretch(start, last, kept), last, len(code)
    return None, max(last, start + 1), len(code)


def _is_around(lines: list[str], stretches: list[_Stretch], tried: list[int]) -> bool:
    """Whether there are only words around the stretches, and no other part of a program."""
    first = stretches[0].first
    for start in tried:
        line = lines[start].rstrip()
        if start < first and not is_prose(line) and not line.endswith((".", "!", "?")):
            return False
    after = "\n".join(_outside(lines, stretches)[first:])
    return not any(map(begins_program, lines[:first])) and (not after.strip() or is_prose(after))


def _outside(lines: list[str], stretches: list[_Stretch]) -> list[str]:
    outside = list(lines)
    for stretch in reversed(stretches):
        del outside[stretch.first : stretch.last]
    return outside


def _take(lines: list[str], stretches: list[_Stretch]) -> Found:
    """Join the stretches, or take the longest where one defines again what another does."""
    notes = ["the words around it"] if any(line.strip() for line in _outside(lines, stretches)) else []
    names = [defined_names(stretch.code, "python") for stretch in stretches]
    if sum(map(len, names)) == len(frozenset().union(*names)):
        where = " and ".join(_lines(stretch) for stretch in stretches)
        code = "\n".join(stretch.code for stretch in stretches)
        return Found("ok", code, f"{where}, which {'parse' if chr(10) in code else 'parses'}", "; ".join(notes))
    longest = max(reversed(stretches), key=lambda stretch: len(stretch.code))
    notes += [_lines(stretch) for stretch in stretches if stretch is not longest]
    return Found("ok", longest.code, f"{_lines(longest)}, the longest that parse", "; ".join(notes))


def _lines(stretch: _Stretch) -> str:
    first, more = stretch.first + 1, stretch.code.count("\n")
    return f"lines {first} to {first + more}" if more else f"line {first}"


def _notebook(answer: str) -> Found | None:
    found = find_notebook(answer)
    if found is None:
        return None
    cells, line, around = found
    code, how = undress(cells, "python")
    if not is_program(code, "python"):
        return None
    where = (
        f"the code cells of a notebook on line {line + 1}" if around else "the whole reply, its notebook's code cells"
    )
    chosen = where + (f"; {how}" if how else "")
    return Found("ok", code, chosen, "the words around it" if around else "")


def _preformatted(answer: str) -> Found | None:
    begins, tries = _PRE_BEGINS.search(answer), 0
    while begins is not None and tries < _TRIES:
        ends = _PRE_ENDS.search(answer, begins.end())
        if ends is None:
            return None
        code = trim(split_lines(html.unescape(answer[begins.end() : ends.start()])))
        if is_program(code, "python"):
            return Found("ok", code, "what stands in <pre>, which parses", "the page around it")
        begins, tries = _PRE_BEGINS.search(answer, ends.end()), tries + 1
    return None


def _indented(lines: list[str]) -> Found | None:
    """Return the longest stretch that is indented by four columns or more, after a blank line, and parses."""
    stretches: list[tuple[int, int]] = []
    start: int | None = None
    for number, line in enumerate([*lines, "end"]):
        if line.startswith(("    ", "\t")):
            if start is None and (not number or not lines[number - 1].strip()):
                start = number
        elif line.strip() and start is not None:
            stretches.append((start, number))
            start = None
    stretches.sort(key=lambda stretch: stretch[0] - stretch[1])
    for begin, end in stretches[:_TRIES]:
        code = trim([line[1:] if line.startswith("\t") else line[4:] for line in lines[begin:end]])
        if is_program(code, "python"):
            around = any(line.strip() for line in (*lines[:begin], *lines[end:]))
            where = _lines(_Stretch(begin, end, code))
            why = "which are indented and parse" if "\n" in code else "which is indented and parses"
            return Found("ok", code, f"{where}, {why}", "the words around it" if around else "")
    return None


def _on_one_line(lines: list[str]) -> Found | None:
    for number, line in enumerate(lines):
        match = _ON_ONE_LINE.fullmatch(line) if line.lstrip().startswith("```") else None
        if match is not None:
            if not is_program(match["code"], "python"):
                return None
            around = "the words around it" if len(lines) > 1 else ""
            return Found("ok", match["code"], f"line {number + 1}, between backticks", around)
    return None


def _dressed(lines: list[str]) -> Found | None:
    code, how = undress(lines, "python")
    if not how or not is_program(code, "python"):
        return None
    begins = next(line for line in lines if line.strip())
    words = "" if code.partition("\n")[0].strip() in begins else "the words around it"
    return Found("ok", code, f"the whole reply, {how}", words)


def _without_sentences(code: str) -> str:
    """Take off the paragraphs of words at both ends: those that end as a sentence does."""
    paragraphs = re.split(r"(\n[ \t]*\n)", code)  # with what is between at odd places
    first, last = 0, len(paragraphs)
    while first < last and _is_sentence(paragraphs[first]):
        first += 2
    while last > first and _is_sentence(paragraphs[last - 1]):
        last -= 2
    return "".join(paragraphs[first : max(last, first)]).strip("\n")


def _is_sentence(paragraph: str) -> bool:
    return paragraph.rstrip().endswith((".", ":", "!", "?")) and is_prose(paragraph)

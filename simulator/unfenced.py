"""Finding a program in a reply without fences: between words, indented, or in a page's ``<pre>``."""

from __future__ import annotations

import html
import json
import re
from typing import Literal, NamedTuple

from simulator.dressings import trim, undress
from simulator.fences import split_lines
from simulator.prose import is_prose
from simulator.syntax import MAX_CHECKED, fault_line, parses

__all__ = ["Found", "find_unfenced", "is_data"]

_STARTS = re.compile(
    r"(?:import|from|def|class|async|with|for|while|if)\s|try\s*:|@\w|#!|[A-Za-z_]\w*\s*=[^=]|\w[\w.]*\("
)
_ON_ONE_LINE = re.compile(r"[ \t]*(`{3,})[A-Za-z0-9+#]*[ \t]+(?P<code>[^`\n]*[^`\s])[ \t]*\1[ \t]*")
_PRE_BEGINS = re.compile(r"^[ \t]*<pre\b[^>\n]{0,200}>\s{0,9}(?:<code\b[^>\n]{0,200}>)?", re.IGNORECASE | re.MULTILINE)
_PRE_ENDS = re.compile(r"(?:</code>\s{0,9})?</pre>", re.IGNORECASE)
_TRIES = 5


class Found(NamedTuple):
    """What was found: status, code, which part it is and why, and whether there are words around it."""

    status: Literal["ok", "no_code", "unparsable"]
    code: str
    chosen: str
    around: str = ""


def find_unfenced(answer: str, language: str) -> Found:
    """Find the code in a reply without fences.

    Of Python in this order: what stands in a page's ``<pre>``; the lines from the first that begins like a program to
    the last before the parser finds words; code that is indented, as CommonMark has it; code on one line between
    backticks; the whole reply, undressed (`simulator.dressings`). Then, in any language, the whole reply, unless it is
    data or prose.

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
        found = _preformatted(answer)
        if found is None:
            found, broken = _between_words(lines)
        if broken is None:  # or else a part of a program that does not parse would pass for one that does
            found = found or _indented(lines) or _on_one_line(lines) or _dressed(lines)
        if found is not None:
            return found
    if is_data(answer):
        return Found("no_code", "", "nothing: the reply is data (JSON)")
    if broken is not None:
        return broken
    if is_prose(answer):
        return Found("no_code", "", "nothing: the reply is prose")
    code = trim(lines)
    if parses(answer, language) is None:
        return Found("ok", code, "the whole reply; not checked, for want of its grammar")
    return Found("unparsable", code, f"the whole reply: {_why(code)}")


def is_data(text: str) -> bool:
    """Whether a text is a JSON object or list: data, not a program."""
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _between_words(lines: list[str]) -> tuple[Found | None, Found | None]:
    """Return a program that parses, or else None, and the first stretch that only looks like one."""
    broken: Found | None = None
    for start in _candidates(lines):
        code, rest = _split_at_fault(lines[start:])
        if code and not is_prose(code, parses=True) and (not rest or is_prose(rest)):
            end = start + code.count("\n") + 1
            return Found(
                "ok", code, f"lines {start + 1} to {end}, which parse", "the words around it" if start or rest else ""
            ), None
        if broken is None and not is_prose("\n".join(lines[start:])):
            code = trim(lines[start:])
            where = f"lines {start + 1} to the end" if start else "the whole reply"
            broken = Found("unparsable", code, f"{where}: {_why(code)}", "the words before it" if start else "")
    return None, broken


def _candidates(lines: list[str]) -> list[int]:
    """Return the first few lines that begin as a program may, each after words or a blank line."""
    found: list[int] = []
    for number, line in enumerate(lines):
        if _STARTS.match(line) and (not number or not _STARTS.match(lines[number - 1])):
            found.append(number)
            if len(found) == _TRIES:
                break
    return found


def _split_at_fault(lines: list[str]) -> tuple[str, str]:
    """Split where the parser stops: when words follow a program, that is where they begin."""
    code = trim(lines)
    line = fault_line(code)
    if line is None:
        return code, ""
    first = next((number for number, text in enumerate(lines) if text.strip()), 0)
    kept = trim(lines[: first + line - 1])
    return (kept if fault_line(kept) is None else ""), "\n".join(lines[first + line - 1 :])


def _preformatted(answer: str) -> Found | None:
    begins, tries = _PRE_BEGINS.search(answer), 0
    while begins is not None and tries < _TRIES:
        ends = _PRE_ENDS.search(answer, begins.end())
        if ends is None:
            return None
        code = trim(split_lines(html.unescape(answer[begins.end() : ends.start()])))
        if _is_program(code):
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
        if _is_program(code):
            where = f"lines {begin + 1} to {begin + code.count(chr(10)) + 1}, which are indented and parse"
            return Found("ok", code, where, "the words around it")
    return None


def _on_one_line(lines: list[str]) -> Found | None:
    for number, line in enumerate(lines):
        match = _ON_ONE_LINE.fullmatch(line) if line.lstrip().startswith("```") else None
        if match is not None:
            if not _is_program(match["code"]):
                return None
            around = "the words around it" if len(lines) > 1 else ""
            return Found("ok", match["code"], f"line {number + 1}, between backticks", around)
    return None


def _dressed(lines: list[str]) -> Found | None:
    code, how = undress(lines, "python")
    if not how or not _is_program(code):
        return None
    return Found("ok", code, f"the whole reply, {how}")


def _is_program(code: str) -> bool:
    return bool(code) and parses(code, "python") is True and not is_prose(code, parses=True)


def _why(code: str) -> str:
    return "too long to be checked" if len(code) > MAX_CHECKED else "it does not parse"

"""Whether a model's rewrite of a task can stand in the task's place: a cleaned text, a status and the reason."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.prompts.rewrite import read_template
from simulator.prompts.wording import (
    content_words,
    is_english,
    is_related,
    opening,
    split_words,
    strip_enclosing,
)
from simulator.running.calls import Form
from simulator.running.models.statuses import is_refusal
from simulator.running.replies import Reply
from simulator.running.variants import VariantStatus

__all__ = ["LONGEST", "judge_rewrite"]

LONGEST = 20_000
"""Characters of the longest rewrite that is still a request: a request is a few sentences, a reply may be megabytes."""

ECHO_WORDS = 8
"""That many words in a row as in one of the template's examples are taken from it; fewer happen by chance."""

_PASSED_ON: dict[str, str] = {
    "empty": "the model answered with nothing",
    "refused": "the model declined to rewrite",
    "truncated": "cut at the token limit before the request ended; raise `prompts.max_tokens`",
    "filtered": "withheld by the provider's filter",
    "error": "the call failed",
}

_AI = r"as an? (?:ai|artificial intelligence|(?:large )?language model)\b"
# An answer's opening before a request is a slip ("Sure! Please write ..."), and the request can be used.
_ASKS = (
    r".*\b(?:please|(?:could|can|would|will) you (?:please )?(?:help|write|make|create|build|design|develop|give|show)"
    r"|(?:i|we) (?:need|want) (?:an?|the|to|some|something)"
    r"|(?:i'd|we'd|i would|we would) like (?:an?|the|to|you|some))\b"
)
_ANSWERS = (
    (rf"(?:sure|certainly|absolutely|of course)(?: thing)?\s*[,!.:;–—-](?!{_ASKS})", "an answer's opening"),
    (
        r"(?:i will|i'll) (?:create|write|build|make|design|develop|implement|generate)\b"
        rf"(?!{_ASKS})",
        "an assistant's promise",
    ),
    (
        # "Here is what I need" asks; "Here is a Python program that ..." answers.
        r"(?:here|below)(?:'s| is| are) "
        r"(?!(?:what|how) (?:i|we|my|our)\b|my\b|our\b|the (?:problem|situation|thing|idea)\b)"
        r"(?:\S+ ){0,8}?\S*(?:prompt|request|rewrit|rephras|restat|version|example|code|program|script|implementation"
        r"|solution|function|class|guide|steps|outline|overview|calculator|app\b|tool)",
        "an answer's opening",
    ),
    (r"(?:the )?(?:rewritten |rephrased |restated )(?:prompt|request|task|version)\b", "an introduction"),
    (r"(?:prompt|rewrite|request)\s*:", "an introduction"),
    (
        r"(?:i'd|i would|i'll|i will|i am|i'm)(?: be)?(?: very| more than)? (?:happy|glad|pleased) to "
        r"(?:help|assist|create|write|provide)\b",
        "an assistant's offer",
    ),
    (r"(?:i can|i could|i would love to|i'll|i will|let me) (?:help|assist)\b", "an assistant's offer"),
    (r"how (?:can|may) i (?:help|assist)\b", "an assistant's question"),
    (
        r"what (?:kind|type|sort|features|functionality|functions|operations)\b.{0,60}\b(?:would|do) you "
        r"(?:like|want|need|prefer)\b",
        "an assistant's question",
    ),
    (_AI, "an assistant speaking of itself"),
    (
        r"to (?:\S+ ){1,14}?(?:you (?:can|could|need to|will need|should|must)|we (?:can|will|need to)|follow these)\b",
        "instructions",
    ),
    (r"(?:first|step 1)\b\W+(?:you|we|open|install|import|create a new)\b", "instructions"),
    (
        r"(?:the following|this) (?:code|program|script|function) "
        r"(?:is an?|defines|creates|implements|demonstrates|takes|uses)\b",
        "a description of code",
    ),
)
_GREETING = r"(?:(?:okay|ok|great|alright|well|hello|hi|hey|thanks|thank you|no problem)\b[^\w]*)?"
_ANSWER_PATTERNS = tuple((re.compile(_GREETING + f"(?:{pattern})"), meaning) for pattern, meaning in _ANSWERS)
_DIALOGUE = re.compile(r"^(?:assistant|programmer|ai|chatgpt|answer|response)\s*:", re.MULTILINE)

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_CODE_LINE = re.compile(
    r"\s*(?:"
    r"(?:async )?def \w+\s*\(|class \w+\s*[(:{]|import \w[\w.]*(?:\s*$|\s+as\b|\s*;|,)|from \w[\w.]* import\b"
    r"|(?:if|elif|while|for|with|except|else|try)\b.*:\s*$|return\b.{0,80}$|print\s*\(|@\w+\s*$|#include\b|#!"
    r"|(?:public|private|static|void|int|const|let|var|function|fn|func|package|using)\b.*[;{(=]"
    r"|(?:SELECT|INSERT INTO|CREATE TABLE|UPDATE|DELETE FROM)\b.*[(;*=]"
    r"|[\w.\[\]'\"]+\s*(?:[-+*/]?=)\s*\S.*$|\w[\w.]*\(.*\)\s*;?\s*$|.*[;{}]\s*$|</?\w+[^>]*>|[)\]}]+[,;]?\s*$"
    r")"
)

_NAMES_ITSELF = re.compile(
    r"(?:as (?:an?|the) (?!(?:result|rule|start|first|minimum|bonus|whole|consequence|table|list|file|user|\w+ user)\b)"
    r"[\w' -]{2,60}?,"
    r"|(?:i am|i'm) an? (?!bit\b|little\b|big\b|fan\b)[\w' -]{2,60}?\b(?:and|who|with|at|in|of|by)\b|my name is \w+)"
)
_THIRD_PERSON = re.compile(r"(?:he|she|they) (?:needs?|wants?|would|is|are|has|have)\b")


def judge_rewrite(reply: Reply, *, task_text: str, form: Form) -> tuple[str, VariantStatus, str]:
    """Return a rewrite's text, its status and, in words, why.

    The checks are meant to be wrong on the side of ``ok``: a good rewrite that is refused would bias a study towards
    the people whose wording looks like the checks' idea of a request. They are made in this order.

    1. A reply that is not ``ok`` keeps its status and its text. A completion that ended by length did not reach its
       closing quotation mark: ``truncated``.
    2. ``too_long``: more than `LONGEST` characters. ``empty``: no letter and no digit.
    3. ``refused``: it declines to help (`simulator.running.models.statuses.is_refusal`).
    4. ``code``: a fenced block with code or of most of the text, or at least two lines and half of all lines are code.
    5. ``answered``: an answer instead of a request: it opens as an assistant does (an offer, "Sure, ...", "Here is a
       program", instructions), introduces the rewrite ("Here is the prompt:"), or goes on with an answer in a
       dialogue. An introduction is marked and not removed, since where it ends is a guess.
    6. ``echo``: the task's own words and nothing else, or a run of `ECHO_WORDS` words of the template's examples.
    7. ``off_task``: English, as the task is, and not one of the task's content words nor a relative of one
       (`simulator.prompts.wording.is_related`). A single word saves it.

    A usable rewrite that says who is asking ("As an English teacher, ...", "My name is ...") or speaks of them in the
    third person stays ``ok``, with a note: it is still a request, and how many there are is a finding about the model.

    Parameters
    ----------
    reply
        What the model answered.
    task_text
        The task as it was to be rewritten.
    form
        How the model was asked.

    Returns
    -------
    text : str
        The reply's text without white space at its ends and without the quotation marks that enclose all of it.
    status : VariantStatus
        ``ok``, or why the text is not used.
    note : str
        The reason in words; empty where there is nothing to say.

    Examples
    --------
    >>> judge_rewrite(Reply("ok", '"I need something that adds."'), task_text="Write a calculator", form="chat")
    ('I need something that adds.', 'ok', '')
    >>> judge_rewrite(Reply("ok", "Sure, I can help."), task_text="Write a calculator", form="chat")[1]
    'answered'
    """
    text = strip_enclosing(reply.text)
    if reply.status != "ok":
        note = reply.error if reply.status == "error" and reply.error else _PASSED_ON[reply.status]
        return text, reply.status, note
    if form == "completion" and reply.finish == "length":
        return text, "truncated", _PASSED_ON["truncated"]
    if len(text) > LONGEST:
        return text, "too_long", f"{len(text):,} characters; a request has {LONGEST:,} at most"
    status, note = _check(text, task_text)
    return text, status, note


def _check(text: str, task_text: str) -> tuple[VariantStatus, str]:
    if not any(character.isalnum() for character in text):
        return "empty", "no letter and no digit" if text else _PASSED_ON["empty"]
    start, words = opening(text), split_words(text)
    checks: tuple[tuple[VariantStatus, str], ...] = (
        ("refused", _PASSED_ON["refused"] if is_refusal(text) else ""),
        ("code", _find_code(text)),
        ("answered", _find_answer(text, start)),
        ("echo", _find_echo(words, split_words(task_text))),
        ("off_task", _find_loss(words, task_text)),
    )
    return next(((status, note) for status, note in checks if note), ("ok", _remark(start)))


def _find_code(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    if fences:
        inside, fenced, between = [], False, 0
        for line in lines:
            if _FENCE.match(line):
                fenced = not fenced
            elif fenced:
                inside.append(line)
            else:
                between += len(line)
        if any(_CODE_LINE.match(line) for line in inside) or sum(map(len, inside)) >= between:
            return "holds a block of code"
        return ""
    code = sum(bool(_CODE_LINE.match(line)) for line in lines)
    return f"{code} of {len(lines)} lines are code" if code >= 2 and 2 * code >= len(lines) else ""


def _find_answer(text: str, start: str) -> str:
    for pattern, meaning in _ANSWER_PATTERNS:
        if found := pattern.match(start):
            return f"answers instead of asking: {meaning} (“{_shorten(found[0])}”)"
    if found := _DIALOGUE.search(text.casefold()):
        return f"answers instead of asking: goes on as a dialogue (“{_shorten(found[0])}”)"
    return ""


def _find_echo(words: list[str], task: list[str]) -> str:
    if words == task:
        return "the task's own words, unchanged"
    runs = _example_runs()
    for place in range(len(words) - ECHO_WORDS + 1):
        run = tuple(words[place : place + ECHO_WORDS])
        if run in runs:
            return f"repeats an example of the rewriting template (“{' '.join(run)}”)"
    return ""


@lru_cache
def _example_runs() -> frozenset[tuple[str, ...]]:
    """Return every run of `ECHO_WORDS` words in the quoted examples of the completion template."""
    examples = re.findall(r'"([^"{}]+)"', read_template("completion"))
    return frozenset(
        tuple(words[place : place + ECHO_WORDS])
        for words in map(split_words, examples)
        for place in range(len(words) - ECHO_WORDS + 1)
    )


def _find_loss(words: list[str], task_text: str) -> str:
    wanted = content_words(task_text)
    # Words can only be compared within a language, and only for English is it known which words carry content.
    if not wanted or not is_english(words) or not is_english(split_words(task_text)):
        return ""
    if any(is_related(word, want) for word in set(words) for want in wanted):
        return ""
    return f"not a word of the task is left ({', '.join(wanted[:6])})"


def _remark(start: str) -> str:
    if found := _NAMES_ITSELF.match(start):
        return f"says who is asking (“{_shorten(found[0])}”)"
    if found := _THIRD_PERSON.match(start):
        return f"speaks of the person who asks in the third person (“{_shorten(found[0])}”)"
    return ""


def _shorten(text: str, limit: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"

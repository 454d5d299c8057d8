"""How a persona puts a task into their own words: the request to a model, in either form."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from simulator.errors import UsageError
from simulator.running.calls import Form, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Template

    from simulator.definitions.persona import Persona

__all__ = [
    "ENOUGH_WORDS",
    "TEMPLATE_VARIABLES",
    "describe_briefly",
    "find_template_problems",
    "read_template",
    "render_rewrite",
]

TEMPLATE_VARIABLES = {
    "persona": "who asks, in a few sentences",
    "name": "what people call them; empty where the persona has no name",
    "task": "the request that is to be put into their words",
}
"""What a rewriting template can use, all of it plain text."""

ENOUGH_WORDS = 20
"""Words of a persona from which a small model is not told their life as well (see `describe_briefly`)."""

_NEEDED = ("persona", "task")
_CLOSING = {'"': '"', "“": "”", "«": "»", "「": "」", "`": "`"}
_FILENAME = "<template>"
"""The name that Jinja gives to a template made from a string, by which its frames are known in a traceback."""


def render_rewrite(
    persona: Persona, task_text: str, *, form: Form, template: str | None = None
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the message that asks a model to put a task into a persona's words, and the texts at which it stops.

    In the chat form the model is told to speak as the persona. A small model answers such a request instead of
    rewriting it, so in the completion form it continues a list: who asks, for what, and in quotation marks how they
    put it, with two examples by people unlike the built-in personas. That list is only safe while a value cannot end a
    line or a quotation, so there every value becomes one line: white space and control characters become single
    spaces, and straight double quotes become typographic ones. The persona is described in fewer words there
    (`describe_briefly`). In the chat form the values stand as they are.

    Parameters
    ----------
    persona
        Who asks.
    task_text
        What they ask for, short or in full.
    form
        ``chat``, or ``completion`` for a model that is better at continuing a text.
    template
        A Jinja template in place of the built-in one of that form, with the variables of `TEMPLATE_VARIABLES`, of
        which it must use ``persona`` and ``task``. It is rendered in a sandbox, without access to files.

    Returns
    -------
    tuple of Message
        One message of the user. White space at its ends is removed.
    tuple of str
        Where generation stops: nothing in the chat form; in the completion form the partner of the quotation mark on
        which the template ends, or a blank line where it ends on something else.

    Raises
    ------
    UsageError
        The template cannot be used; with the lines and the known variables.
    """
    values = {"persona": persona.describe(), "name": persona.name or "", "task": task_text}
    if form == "completion":
        values["persona"] = describe_briefly(persona)
        values = {key: _flatten(value) for key, value in values.items()}
    text = _render(read_template(form) if template is None else template, values).strip()
    stop = (_CLOSING.get(text[-1:], "\n\n"),) if form == "completion" else ()
    return (Message("user", text),), stop


@lru_cache
def read_template(form: Form) -> str:
    """Return the text of the built-in template of a form."""
    return (Path(__file__).parent / "templates" / f"rewrite-{form}.j2").read_text(encoding="utf-8")


def find_template_problems(template: str) -> tuple[tuple[int, str], ...]:
    """Return what is wrong with a rewriting template, as line and text; nothing if it is fine.

    Lines count from 1; 0 means the whole template.

    >>> find_template_problems("Ask as {{ persona }}: {{ taks }}")
    ((0, 'it never uses `task`'), (1, 'there is no variable `taks`'))
    """
    return tuple(sorted(_find_problems(template)))


def _find_problems(template: str) -> Iterator[tuple[int, str]]:
    environment = _environment()
    try:
        tree = environment.parse(template)
        environment.compile(tree)
    except TemplateSyntaxError as error:
        yield error.lineno, _one_line(error)
        return
    except RecursionError:
        yield 0, "it is nested too deeply"
        return
    except (ValueError, TypeError, OverflowError) as error:  # such as a number with more digits than Python reads
        yield 0, _one_line(error)
        return
    used = meta.find_undeclared_variables(tree)
    for name in _NEEDED:
        if name not in used:
            yield 0, f"it never uses `{name}`"
    known = {*TEMPLATE_VARIABLES, *environment.globals}
    unknown = used - known
    lines: dict[str, int] = {}
    for node in tree.find_all(nodes.Name):
        if node.ctx == "load" and node.name in unknown:
            lines[node.name] = min(node.lineno, lines.get(node.name, node.lineno))
    for name in sorted(unknown):
        yield lines.get(name, 0), f"there is no variable `{name}`"
    for other in tree.find_all((nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)):
        yield other.lineno, "a template stands alone; it cannot include, extend or import another"


def _render(template: str, values: dict[str, str]) -> str:
    try:
        compiled = _compile(template)
    except _UnusableError as error:
        raise _refusal(error.problems) from None
    try:
        return compiled.render(values)
    except Exception as error:  # whatever an expression of the template can raise, it is the template that is wrong
        raise _refusal(((_line_of(error), _one_line(error)),)) from error


class _UnusableError(Exception):
    """What is wrong with a template, kept apart from its text so that the cache holds only usable ones."""

    def __init__(self, problems: tuple[tuple[int, str], ...]) -> None:
        self.problems = problems
        super().__init__(problems)


@lru_cache(maxsize=16)
def _compile(template: str) -> Template:
    problems = find_template_problems(template)
    if problems:
        raise _UnusableError(problems)
    return _environment().from_string(template)


@lru_cache
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        autoescape=False, undefined=StrictUndefined, finalize=_print, trim_blocks=True, lstrip_blocks=True
    )
    # What is sent must be the same each time a campaign is planned: nothing random, nothing that prints an address.
    environment.globals = {"range": environment.globals["range"], "dict": dict}
    del environment.filters["random"]
    return environment


def _print(value: object) -> object:
    if isinstance(value, str | int | float | Undefined):
        return value
    raise TypeError(f"only text and numbers can be printed, not {type(value).__name__}")


def _refusal(problems: tuple[tuple[int, str], ...]) -> UsageError:
    told = "; ".join(f"line {line}: {text}" if line else text for line, text in problems)
    variables = ", ".join(f"`{name}` ({meaning})" for name, meaning in TEMPLATE_VARIABLES.items())
    return UsageError(
        f"The rewriting template cannot be used: {told}. A template is text with Jinja expressions such as "
        f"{{{{ task }}}}; it must use `persona` and `task`, and can use {variables}."
    )


def _line_of(error: BaseException) -> int:
    line, frame = 0, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == _FILENAME:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text or type(error).__name__


def describe_briefly(persona: Persona) -> str:
    """Return who asks in fewer words than ``persona.describe()``, without their name, which a small model would repeat.

    A small model reads slowly, and takes up what is said shortly and what stands last. So the three fields that tell a
    life rather than a wish (background, education, experience) are left out wherever the others have at least
    `ENOUGH_WORDS` words. The rule does not depend on how long a field is beyond that, so that people of one study are
    told alike; goals and manner come last. Personas that differ in those three fields alone need the chat form.
    """
    attributes = "; ".join(f"{name}: {value}" for name, value in persona.attributes.items() if value.strip())
    who = [persona.role, persona.description]
    life = [persona.background, persona.education, persona.experience]
    rest = [
        attributes,
        *(
            f"{label} {', '.join(items)}" if items else ""
            for label, items in (
                ("Speaks", persona.spoken),
                ("Uses", persona.tools),
                ("Programs in", persona.languages),
                ("Does not know", persona.not_known),
            )
        ),
        f"Wants: {'; '.join(persona.goals)}" if persona.goals else "",
        persona.communication,
    ]
    enough = sum(len(text.split()) for text in who + rest if text) >= ENOUGH_WORDS
    parts = (text.strip() for text in (who + rest if enough else who + life + rest) if text)
    return " ".join(f"{text[0].upper()}{text[1:].rstrip('.')}." for text in parts if text)


def _flatten(text: str) -> str:
    r"""Make one line of a text, in which no straight double quote can end a quotation.

    >>> _flatten('say "hi"\n- to them')
    'say “hi” - to them'
    """
    spaced = "".join(" " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character for character in text)
    line = " ".join(spaced.split()).replace("＂", '"')
    return re.sub(r"""(^|[\s(\[{<'‘/–—-])"|\"""", lambda found: f"{found[1]}“" if found[1] is not None else "”", line)

"""Which language a block is in, by what its fence says."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["NOTEBOOK_LANGUAGES", "NOT_PROGRAMS", "canonical", "read_info"]

NOTEBOOK_LANGUAGES = frozenset({"json", "ipynb", "jupyter", "notebook"})
"""What a block that holds a notebook may be named."""


def _words(text: str) -> list[str]:
    return text.split()


_ALIASES = {
    alias: language
    for language, aliases in {
        "python": "py python3 python2 py3 ipython ipython3 pycon python-repl jupyter",
        "javascript": "js node nodejs jsx mjs",
        "typescript": "ts tsx",
        "cpp": "c++ cxx cc hpp",
        "csharp": "c# cs",
        "go": "golang",
        "rust": "rs",
        "ruby": "rb",
        "kotlin": "kt",
        "bash": "sh shell zsh console terminal shellsession cmd bat powershell ps1",
    }.items()
    for alias in _words(aliases)
}
NOT_PROGRAMS = frozenset(
    _words(
        "bash ipynb notebook text txt plain plaintext output stdout stderr log traceback json jsonc yaml yml toml ini"
        " cfg conf env csv tsv xml markdown md diff patch mermaid dockerfile makefile http gitignore requirements"
        " tree pseudocode pseudo"
    )
)
"""Languages, as `canonical` names them, whose blocks are no program unless they were asked for."""

_SAYS_NOTHING = frozenset(_words("code code-cell code-block codeblock sourcecode snippet example file tool_code"))
_SUFFIX = re.compile(
    r"[^=]*\w\.(py|ipynb|js|mjs|jsx|ts|tsx|java|kt|c|h|cpp|cc|hpp|cs|go|rs|rb|php|swift|sh|bat|ps1|sql|html|css|json"
    r"|ya?ml|toml|ini|cfg|env|csv|tsv|xml|txt|log|md|diff|patch)"
)
_INFO = 200


def canonical(language: str) -> str:
    """Return the one name of a language that has several: ``python`` of ``Python3.11``, ``javascript`` of ``JS``."""
    name = language.lower()
    if name.startswith("python"):  # python3.11, python-code
        return "python"
    return _ALIASES.get(name, name)


@lru_cache(maxsize=256)
def read_info(info: str) -> str:
    r"""Return the language that stands after a fence, in lower case as it is there; nothing where none does.

    Beside CommonMark's first word: attributes (Pandoc's ``{#id .python}``, R Markdown's ``{python, echo=FALSE}``), a
    highlighter's ``language-python``, a file in place of the language (``src/main.py``) or after it
    (``python:src/main.py``, ``12:40:src/main.py``). A word that any block could have (``code``) says nothing.

    Examples
    --------
    >>> [read_info(info) for info in ("Python title='a'", "{#one .python}", "src/main.py", "code", 'title="a.py"')]
    ['python', 'python', 'py', '', '']
    """
    for word in re.findall(r"[^\s{}]+", info[:_INFO].lower()):
        bare = re.sub(r"^(?:lang(?:uage)?[-=:]|\.)", "", word).strip("\"'")
        suffix = _SUFFIX.fullmatch(bare)
        name = re.split(r"[:,(;]", bare, maxsplit=1)[0]
        if suffix is not None and (name == bare or name.isdigit()):
            return suffix[1]
        if name and not name.startswith("#") and "=" not in name and name not in _SAYS_NOTHING:
            return name
        if word.count('"') == 1:  # what follows is the rest of a title
            break
    return ""

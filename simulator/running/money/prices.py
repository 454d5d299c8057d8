"""What models cost: a dated table that travels with the program, and the user's own, which wins.

The form of the files is described at the head of ``prices.yaml``, beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from simulator.definitions.fields import Definition, Text
from simulator.definitions.finding import builtin_folder
from simulator.definitions.problems import validate
from simulator.definitions.text_reading import is_below
from simulator.definitions.yaml_reading import read_yaml, shorten
from simulator.errors import UsageError
from simulator.running.calls import Parameter
from simulator.running.models import describe_model
from simulator.running.models.parameters import find_fault
from simulator.running.models.providers import find_address
from simulator.running.money.money import FREE, Price

if TYPE_CHECKING:
    from simulator.definitions import Study

__all__ = ["Listed", "PriceTable", "load_prices", "read_prices"]

MOST_DOLLARS: Final = 1_000_000
"""A dollar a token: no million tokens cost more."""

_BUILTIN: Final = Path(__file__).with_name("prices.yaml")
_NAME: Final = "prices.yaml"

_OWN_HOSTS: Final = frozenset({"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"})
"""Where the public prices hold; a region's host (``eu.api.openai.com``) may ask for more."""

_HERE: Final = frozenset({"embedded", "mock"})
"""What runs in this process."""

_DATED: Final = frozenset({"openai", "anthropic"})
"""Providers that name the frozen versions of a model by their date."""

_DATE: Final = re.compile(r"-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a file of prices.

    Parameters
    ----------
    model
        The model's name; a user's may hold one ``*``.
    base_url
        The server whose price it is; None: the provider's own.
    price
        What it costs.
    as_of
        The date of its file, where that says one.
    own
        Whether it is the user's.
    """

    model: str
    base_url: str | None
    price: Price
    as_of: date | None
    own: bool


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model.

    Parameters
    ----------
    as_of
        The date of the built-in prices, as YYYY-MM-DD.
    source
        Where those are from.
    entries
        The built-in ones and the user's, by name and server.
    home
        Where the user's prices of a study belong.
    """

    as_of: str
    source: str
    entries: Mapping[tuple[str, str | None], Listed]
    home: Path = Path(_NAME)

    def price(self, model: str, params: Mapping[str, Parameter]) -> Price | None:
        """Return what a model costs as it is asked; None where that is not known."""
        listed = self.find(model, params)
        if listed is not None:
            return listed.price
        return FREE if _runs_here(model, params) else None

    def find(self, model: str, params: Mapping[str, Parameter]) -> Listed | None:
        """Return the entry that holds for a model, None where none does.

        It is the entry of the whole name, else of the name without its date, else of a name with a ``*``; of two of
        those, that with more letters.

        Parameters
        ----------
        model
            As a campaign names it.
        params
            All its parameters: a server that is not the provider's own has only prices that name it, and another
            service tier (``service_tier``) only the user's.
        """
        address = _address(model, params)
        listed = params.get("service_tier") in (None, "auto", "default")
        for name in _names(model):
            found = self.entries.get((name, address))
            if found is not None and (found.own or listed):
                return found
        fitting = (one for one in self.entries.values() if one.base_url == address and _fits(one.model, model))
        return max(fitting, key=lambda one: (len(one.model), one.model), default=None)

    def explain_missing(self, model: str, params: Mapping[str, Parameter]) -> str:
        """Return a sentence that says how to give a model a price."""
        address = _address(model, params)
        server = f', base_url: "{params.get("base_url", address)}"' if address is not None else ""
        return (
            f"Write it into {self.home} under `prices:`, in US dollars per million tokens, such as "
            f"`- {{model: {model}{server}, input: 2.5, output: 10}}`."
        )


def load_prices(study_root: Path | None, given: Path | None = None) -> PriceTable:
    """Return the built-in prices, with those of the study over them, and those of a given file over both.

    Parameters
    ----------
    study_root
        A study's folder, whose ``prices.yaml`` is read if there is one; for a built-in campaign, which has no study,
        it is the current folder's.
    given
        A file that the person at the keyboard names.

    Raises
    ------
    DefinitionError
        A file is wrong: all that is wrong in it, each with its place.
    """
    builtin = _load_builtin()
    entries = dict(builtin.entries)
    root = Path() if study_root == builtin_folder("campaigns") else study_root
    home = (root or Path()) / _NAME
    if root is not None and home.exists():
        entries |= _read(home, root, own=True)[1]
    if given is not None:
        entries |= _read(given, given.resolve().parent, own=True)[1]
    return PriceTable(builtin.as_of, builtin.source, entries, home)


def read_prices(loaded: Study, study: Path, given: Path | None) -> PriceTable:
    """Return the prices that hold for a campaign: those of a given file before its study's before the built-in ones.

    A built-in campaign belongs to the study that the person at the keyboard names.

    Raises
    ------
    DefinitionError
        A file of prices is wrong.
    """
    builtin = is_below(loaded.source, builtin_folder("campaigns"))
    return load_prices(study if builtin else loaded.root, given)


class _Entry(Definition):
    """What a user writes of one model; the head of ``prices.yaml`` describes it."""

    model: Text
    input: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)]
    cached: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)] | None = None
    stored: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)] | None = None
    output: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)]
    reasoning: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)] | None = None
    longest_input: Annotated[int, Field(ge=1, le=10**9)] | None = None
    base_url: Text | None = None

    @field_validator("model")
    @classmethod
    def _is_a_model(cls, name: str) -> str:
        if name.count("*") > 1:
            raise _fault(
                f"may hold one `*`, but {shorten(name)} holds {name.count('*')}; write an entry for each model"
            )
        try:
            # A `*` stands for any part of a name, so that a name stands for it here.
            describe_model(name.replace("*", "x") if ":" in name.partition("*")[0] else name)
        except UsageError as error:
            text = str(error)
            raise _fault(f"is no name of a model: {text[:1].lower()}{text[1:]}") from None
        return name

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        if fault := find_fault("base_url", address) if address is not None else None:
            raise _fault(fault)
        return address

    def listed(self, as_of: date | None, *, own: bool) -> Listed:
        """Return the entry with what it leaves out filled in."""
        price = Price(
            self.input,
            self.input if self.cached is None else self.cached,
            self.output,
            self.output if self.reasoning is None else self.reasoning,
            self.longest_input,
            self.stored,
        )
        server = None if self.base_url is None else _normalise(self.base_url)
        return Listed(self.model, server, price, as_of, own)


class _File(Definition):
    """A file of prices."""

    as_of: Text | None = None
    source: Text | None = None
    prices: tuple[_Entry, ...]

    @field_validator("as_of")
    @classmethod
    def _is_a_date(cls, text: str | None) -> str | None:
        if text is not None and not _is_date(text):
            raise _fault(f"must be a date such as 2026-11-30, but is {shorten(text)}")
        return text

    @field_validator("prices")
    @classmethod
    def _differ(cls, entries: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
        seen: dict[tuple[str, str | None], int] = {}
        for index, entry in enumerate(entries):
            listed = entry.listed(None, own=True)
            first = seen.setdefault((listed.model, listed.base_url), index)
            if first != index:
                text = f"prices {shorten(entry.model)} a second time, first as item {first + 1}; keep one"
                raise PydanticCustomError("twice", "{text}", {"text": text, "at": (index,)})
        return entries


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _fault(text: str) -> PydanticCustomError:
    return PydanticCustomError("parameter", "{text}", {"text": text, "at": ()})


def _read(path: Path, root: Path, *, own: bool) -> tuple[_File, dict[tuple[str, str | None], Listed]]:
    file = validate(read_yaml(path, root=root), _File)
    as_of = date.fromisoformat(file.as_of) if file.as_of is not None else None
    listed = [entry.listed(as_of, own=own) for entry in file.prices]
    return file, {(one.model, one.base_url): one for one in listed}


@lru_cache(maxsize=1)
def _load_builtin() -> PriceTable:
    file, entries = _read(_BUILTIN, _BUILTIN.parent, own=False)
    return PriceTable(str(file.as_of), str(file.source), entries)


def _names(model: str) -> Iterator[str]:
    """Yield the names under which a model may be listed, the surest first."""
    yield model
    provider, _, name = model.partition(":")
    if provider == "google_genai" and name.startswith("models/"):
        yield f"{provider}:{name.removeprefix('models/')}"
    if provider in _DATED and (found := list(_DATE.finditer(name))) and found[-1].end() == len(name):
        yield f"{provider}:{name[: found[-1].start()]}"
    if provider == "anthropic" and name.endswith("-latest"):
        yield f"{provider}:{name.removesuffix('-latest')}"


def _fits(pattern: str, model: str) -> bool:
    before, star, after = pattern.partition("*")
    return bool(star) and len(model) >= len(before + after) and model.startswith(before) and model.endswith(after)


def _runs_here(model: str, params: Mapping[str, Parameter]) -> bool:
    """Whether a model runs where nobody charges for its tokens."""
    provider, _, name = model.partition(":")
    if provider == "ollama":  # whose own service is asked for by the name's ending
        return params.get("base_url") is None and not name.endswith((":cloud", "-cloud"))
    return provider in _HERE


def _address(model: str, params: Mapping[str, Parameter]) -> str | None:
    """Return the server that is asked, if it is not the provider's own, as two are compared."""
    provider = model.partition(":")[0]
    if provider in _HERE:
        return None
    # Where on the user's own network Ollama is does not matter.
    address = params.get("base_url") if provider == "ollama" else find_address(provider, params)
    return None if address is None else _normalise(str(address))


def _normalise(address: str) -> str | None:
    """Return a server's address as two are compared; None for one at which the public prices hold."""
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:  # from an environment variable; the call itself will tell
        return address
    if parts.scheme == "https" and host in _OWN_HOSTS and port in (None, 443):
        return None
    return f"{parts.scheme.lower()}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"

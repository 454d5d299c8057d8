"""What a part was made of, as a hash: the function with its arguments, a version, and the content of the batch.

Equal arguments give the same hash in every process, which a pickle does not promise: it depends on which of its texts
are one object, and a set's on the seed of Python's hashes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from types import BuiltinFunctionType, FunctionType
from typing import Any

import polars as pl

from simulator.engine.parts import encode_frame, hash_bytes
from simulator.errors import UsageError

__all__ = ["fingerprint", "pickle_function", "program_versions"]


def fingerprint(function: Callable[..., Any], version: str = "") -> str:
    """Return what a mapping is known by again: its function, the arguments bound to it, its version and ours.

    Parameters
    ----------
    function
        Of a module, or a `functools.partial` of one. What it does is not looked at, only its name.
    version
        Is changed by whoever changes what the function does.

    Raises
    ------
    UsageError
        The function has no name by which another process could find it.
    """
    return hash_bytes(_describe((function, version, program_versions()["sociolect"])).encode())


def program_versions() -> dict[str, str]:
    """Return the versions of everything that has a part in the bytes of a result."""
    return {name: version(name) for name in ("sociolect", "polars", "pyarrow")}


def pickle_function(function: Callable[..., Any]) -> bytes:
    """Return a function with its arguments as another process can read it.

    Raises
    ------
    UsageError
        An argument cannot be pickled.
    """
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{function!r} cannot be sent to another process: {error}. Bind to it only what can be pickled."
        ) from error


def _describe(value: object) -> str:
    """Return a text that is the same for equal values, and another for others."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    match value:
        case None | bool() | int() | float() | str() | bytes():
            text = repr(value)
        case FunctionType() | BuiltinFunctionType() | type():
            text = _name(value)
        case pl.DataFrame():
            text = hash_bytes(encode_frame(value))
        case list() | tuple():
            text = ",".join(map(_describe, value))
        case set() | frozenset():
            text = ",".join(sorted(map(_describe, value)))
        case dict():
            text = ",".join(sorted(f"{_describe(key)}={_describe(item)}" for key, item in value.items()))
        case partial():
            text = _describe((value.func, value.args, value.keywords))
        case _:
            reduced = value.__reduce_ex__(4)  # of what pickle would make it again
            parts = (reduced,) if isinstance(reduced, str) else reduced
            text = _describe([list(part) if isinstance(part, Iterator) else part for part in parts])
    return f"{kind}({text})"


def _name(function: FunctionType | BuiltinFunctionType | type) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    if "<" in name or function.__module__ == "__main__":
        raise UsageError(
            f"{name} cannot be mapped over batches: another process cannot find it by its name, and a part made by it "
            f"could not be known again. Define it at the top of a module that can be imported, and bind arguments to "
            f"it by functools.partial."
        )
    return name

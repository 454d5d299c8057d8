"""How functions over arrays are compiled. Importing this imports numba, half a second: it is imported when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound="Callable[..., object]")


def compiled(function: _F) -> _F:
    """Compile a function when it is first called, release the interpreter while it runs, keep the code on disk.

    Indices in such a function should be unsigned and of 64 bits: a signed one costs a check for wrap-around in every
    cell, and a narrower one may wrap, which keeps a loop from being vectorized. Sums should be cast back to the kind of
    their array for the same reason: numba widens them.
    """
    try:
        return cast("_F", numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # nowhere to keep it: a read-only installation and no home
        return cast("_F", numba.njit(nogil=True)(function))


def inlined(function: _F) -> _F:
    """Compile a function into each function that calls it."""
    return cast("_F", numba.njit(inline="always")(function))

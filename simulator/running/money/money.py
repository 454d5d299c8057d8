"""Money: what a call can cost before it is asked, what it did cost, and a budget that is never exceeded.

Before a call is asked nobody knows how many tokens it will take, so that a budget needs a **bound**. What is read: no
tokenizer in use makes more tokens of a text than it has bytes in UTF-8 (byte pairs begin with the bytes, and what a
vocabulary does not know falls back to them), and what a provider puts around a message is small; so each byte counts
as a token, and `AROUND_MESSAGE` more for each message. What is written: ``max_tokens``. With the providers of the
built-in table it bounds what is thought and what is shown together: OpenAI's ``max_completion_tokens``, as which it is
sent, counts reasoning tokens; Anthropic's ``max_tokens`` has to exceed the thinking budget, which is part of it; Gemini
stops when thoughts and answer together reach ``maxOutputTokens``; Groq and Mistral count all that is generated. Where
it is not so (xAI counts reasoning beside it), there is no built-in price, and so no bound that could be wrong.

Sums are kept in whole picodollars (1e-12 of a dollar), so that a hundred thousand reservations made and given back
leave nothing behind, in whichever order, and a comparison with the budget is exact. What is set aside and what was
spent are rounded up, the budget is rounded down: 100,000 replies are overstated by 1e-7 dollars at most, never
understated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from simulator.errors import UsageError
from simulator.running.calls import Call
from simulator.running.plan import models_of
from simulator.running.replies import Tokens

if TYPE_CHECKING:
    from simulator.definitions import Study
    from simulator.running.money.prices import PriceTable

__all__ = ["AROUND_MESSAGE", "CACHED_FROM", "FREE", "Money", "Price", "check_budget"]

AROUND_MESSAGE: Final = 64
"""Tokens that a provider may put around one message: roles, separators, a line of its own. They are 3 to 10 in fact."""

AROUND_REPLY: Final = 16
"""Tokens by which a reply may pass ``max_tokens``: the marks of its end."""

CACHED_FROM: Final = 1_024
"""Tokens of the shortest prompt that a provider puts into its cache unasked, and may charge for."""

_MILLION: Final = 1_000_000
_UNITS: Final = 10**12
"""Units of account in a dollar."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens.

    Parameters
    ----------
    input, cached, output, reasoning
        Of each class of tokens (`simulator.running.replies.Tokens`), which are counted once each.
    longest_input
        The longest prompt, in tokens, for which this holds; None: any.
    stored
        Of fresh tokens that the provider puts into its cache unasked; None: as ``input``. Replies do not tell which
        those were, so that all fresh tokens of a prompt that is long enough (`CACHED_FROM`) count as such: a cost may
        be overstated by this difference, never understated.

    Examples
    --------
    >>> Price(2, 0.5, 8, 8).cost(Tokens(input=1000, cached=500, output=200))
    0.00385
    """

    input: float
    cached: float
    output: float
    reasoning: float
    longest_input: int | None = None
    stored: float | None = None

    @property
    def reading(self) -> tuple[float, float]:
        """The least and the most that a token that is read can cost, per million."""
        prices = (self.input, self.cached, self.input if self.stored is None else self.stored)
        return min(prices), max(prices)

    @property
    def writing(self) -> tuple[float, float]:
        """The least and the most that a token that is written can cost, per million."""
        return min(self.output, self.reasoning), max(self.output, self.reasoning)

    @property
    def is_free(self) -> bool:
        """Whether nothing costs anything."""
        return self.reading[1] == self.writing[1] == 0

    def cost(self, tokens: Tokens) -> float | None:
        """Return US dollars; None where a count that is needed is missing, or the prompt was too long for this price.

        A provider that does not count cached or reasoning tokens counts them as fresh and as output.
        """
        read = (tokens.input or 0) + (tokens.cached or 0)
        if self.longest_input is not None and read > self.longest_input:
            return None
        fresh = self.input
        if self.stored is not None and read >= CACHED_FROM:
            fresh = max(self.input, self.stored)
        if (tokens.input is None and fresh) or (tokens.output is None and self.output):
            return None
        counted = (
            (tokens.input or 0, fresh),
            (tokens.cached or 0, self.cached),
            (tokens.output or 0, self.output),
            (tokens.reasoning or 0, self.reasoning),
        )
        return sum(count * price for count, price in counted) / _MILLION

    def at_most(self, call: Call) -> float | None:
        """Return the most US dollars that a call can cost; None where nothing bounds it.

        That is so without ``max_tokens``, and where the prompt may be too long for this price.
        """
        if self.is_free:
            return 0.0
        size = sum(len(message.text.encode("utf-8", "surrogatepass")) + AROUND_MESSAGE for message in call.messages)
        written = call.params.get("max_tokens")
        if not isinstance(written, int) or (self.longest_input is not None and size > self.longest_input):
            return None
        return (size * self.reading[1] + (written + AROUND_REPLY) * self.writing[1]) / _MILLION


FREE: Final = Price(0.0, 0.0, 0.0, 0.0)
"""Of what runs on the user's own machine."""


class Money:
    """The money of one run while it executes. For one event loop; it waits for nothing.

    Every call sets aside the most that it can cost before it is asked, and is settled afterwards for what it did cost.
    So what is spent and what is in flight never exceed the budget together, in whatever order calls end, as long as no
    call costs more than it set aside.

    Parameters
    ----------
    prices
        By the label of the line (see `simulator.running.execution.execute`); None where no price is known.
    budget
        US dollars that may be spent in all; None: as much as it takes.
    spent
        US dollars that were spent before.

    Raises
    ------
    UsageError
        The budget is negative, infinite or not a number.

    Examples
    --------
    >>> from simulator.running.calls import Message
    >>> money = Money({"a": Price(1, 1, 1, 1)}, budget=0.0015)
    >>> call = Call("rewrite", "a", (Message("user", "Hello"),), params={"max_tokens": 1000})
    >>> money.reserve("a", call), money.reserve("a", call)
    (0.001085, None)
    >>> money.settle(0.001085, 0.0002)
    >>> money.spent, money.reserved
    (0.0002, 0.0)
    """

    def __init__(self, prices: Mapping[str, Price | None], *, budget: float | None = None, spent: float = 0.0) -> None:
        if budget is not None and not (math.isfinite(budget) and budget >= 0):
            raise UsageError(f"A budget is an amount of US dollars from 0, such as --budget 12.50, not {budget:g}.")
        self._prices = dict(prices)
        self._limit = None if budget is None else math.floor(Decimal(repr(float(budget))) * _UNITS)
        self._spent = _round_up(spent)
        self._reserved = 0
        self.budget = budget

    @property
    def spent(self) -> float:
        """US dollars: what was spent before and what has been settled since."""
        return self._spent / _UNITS

    @property
    def reserved(self) -> float:
        """US dollars set aside for calls in flight; exactly 0.0 when none is."""
        return self._reserved / _UNITS

    def price(self, label: str) -> Price | None:
        """Return what a line's calls cost; None where it is not known."""
        return self._prices[label]

    def reserve(self, label: str, call: Call) -> float | None:
        """Set aside the most that a call can cost.

        Returns
        -------
        float or None
            US dollars, to be given to `settle` once; None where the budget might be exceeded. Without a budget never
            None, and 0.0 where nothing is known.
        """
        price = self._prices[label]
        bound = None if price is None else price.at_most(call)
        if self._limit is None:
            bound = bound or 0.0
        elif bound is None or self._spent + self._reserved + _round_up(bound) > self._limit:
            return None
        self._reserved += _round_up(bound)
        return bound

    def settle(self, reserved: float, cost: float) -> None:
        """Give back what was set aside, and count what the call cost or, where that is not known, may have cost."""
        self._reserved -= _round_up(reserved)
        self._spent += _round_up(cost)


def check_budget(study: Study, prices: PriceTable) -> None:
    """Refuse a budget where what a call can cost at most is not known for every model.

    Raises
    ------
    UsageError
        A model has no known price, or no ``max_tokens``.
    """
    for stage, models in models_of(study).items():
        for choice, params in models:
            price = prices.price(choice.model, params)
            if price is None:
                raise UsageError(
                    f"{study.source}: no price is known for {choice.model}, so that no budget can be kept to. "
                    f"{prices.explain_missing(choice.model, params)} Or leave --budget out."
                )
            if not price.is_free and not isinstance(params.get("max_tokens"), int):
                where = "prompts" if stage == "rewrite" else "generate"
                raise UsageError(
                    f"{study.source}: {choice.model} has no max_tokens, so that one reply may cost anything and no "
                    f"budget can be kept to. Write `max_tokens: 2000`, or what suits, under `{where}`, or leave "
                    f"--budget out."
                )


def _round_up(dollars: float) -> int:
    """Return units for the shortest decimal number that is this float, which is what people read."""
    return math.ceil(Decimal(repr(float(dollars))) * _UNITS)

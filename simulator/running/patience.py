"""How long to go on with a call that fails for a reason that can pass."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Self

from simulator.errors import QuotaError, RateLimitError, RetryableError
from simulator.running.calls import derive_seed

__all__ = ["Patience", "asked_wait"]

_MOST_DOUBLINGS = 64


def asked_wait(error: RetryableError) -> float:
    """Return for how many seconds the provider asks to be left alone."""
    return (error.seconds or 0.0) if isinstance(error, RateLimitError) else 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How failed attempts at a call are repeated, and when a model is given up.

    Parameters
    ----------
    attempts
        Most attempts at one call, the first included. Attempts that a rate limit refused do not count: the provider
        said that it would take the call later.
    first_wait, longest_wait
        Seconds before the second attempt, doubled each time up to the longest, with up to a half more of jitter, so
        that calls that failed together do not come back together. Where the provider says how long to wait, that is
        obeyed instead, by all calls of the model; a call that was refused ``patient_attempts`` times though it had
        waited as asked waits by itself as well, doubling anew.
    longest_asked
        Seconds. A provider that asks for a longer wait than this has nothing more to give for now: the model's calls
        end, resumable.
    longest_total
        Seconds for which one call may be held up by rate limits in all, before the same is concluded.
    in_a_row
        So many calls of a model in a row that end as errors are an outage, not bad luck: the model's calls end,
        resumable.
    limits_count
        Whether attempts that a rate limit refused count as attempts.
    patient_attempts
        See ``first_wait``: a provider that asks for a moment again and again does not mean it.

    Examples
    --------
    >>> Patience().wait_after(RetryableError("reset"), key="a", attempt=1, counted=1) >= 1.0
    True
    >>> Patience.never().wait_after(RetryableError("reset"), key="a", attempt=1, counted=1) is None
    True
    """

    attempts: int = 8
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_asked: float = 300.0
    longest_total: float = 3600.0
    in_a_row: int = 20
    limits_count: bool = False
    patient_attempts: int = 8

    @classmethod
    def never(cls) -> Self:
        """Return the patience of ``--no-retry``: one attempt at each call, and whatever failed is an error."""
        return cls(attempts=1, limits_count=True)

    def counts(self, error: RetryableError) -> bool:
        """Whether a failed attempt is one of those that are numbered."""
        return self.limits_count or not isinstance(error, RateLimitError)

    def wait_after(
        self, error: RetryableError, *, key: str, attempt: int, counted: int, held: float = 0.0
    ) -> float | None:
        """Return the seconds that a call is to wait by itself after a failed attempt; None where it is given up.

        Parameters
        ----------
        error
            What the attempt ended in. Where it says how long to wait, the whole model waits, and so the call need not.
        key
            The call's key, of which the jitter is made, so that it is the same each time.
        attempt
            How many attempts there were, this one included.
        counted
            How many of them count (`counts`).
        held
            Seconds for which rate limits held this call up before.

        Raises
        ------
        QuotaError
            The provider asks for more than ``longest_asked``, or has put the call off for ``longest_total``.
        """
        asked = asked_wait(error)
        if asked > self.longest_asked:
            raise QuotaError(
                f"The provider asks to wait {asked:,.0f} s before the next call ({error}) Every finished reply is "
                "recorded; run the same command again after that time."
            )
        if self.counts(error) and counted >= self.attempts:
            return None
        late = attempt - self.patient_attempts if asked else attempt
        own = self._backoff(key, late) if late > 0 else 0.0
        if isinstance(error, RateLimitError) and held + max(asked, own) > self.longest_total:
            raise QuotaError(
                f"The provider has put a call off for {held:,.0f} s in all and still takes none ({error}) Every "
                "finished reply is recorded; run the same command again later, or ask for less at a time with "
                "`requests_per_minute` among the model's parameters."
            )
        return own

    def _backoff(self, key: str, attempt: int) -> float:
        jitter = random.Random(derive_seed(key, attempt)).uniform(1.0, 1.5)
        return min(self.first_wait * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS), self.longest_wait) * jitter

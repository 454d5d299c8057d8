"""What a call costs, the most that it can cost, and a budget that is kept to whatever happens."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.definitions import load_campaign
from simulator.errors import UsageError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.money.money import AROUND_MESSAGE, CACHED_FROM, FREE, Money, Price, check_budget
from simulator.running.money.prices import load_prices
from simulator.running.replies import Tokens

DOLLARS = st.floats(min_value=0, max_value=1000, allow_nan=False) | st.integers(0, 100).map(float)
COUNTS = st.integers(min_value=0, max_value=10_000_000)
PRICES = st.builds(Price, DOLLARS, DOLLARS, DOLLARS, DOLLARS, st.none(), st.none() | DOLLARS)
TOKENS = st.builds(Tokens, COUNTS, COUNTS, COUNTS, COUNTS)
SOME = Price(input=2.5, cached=1.25, output=10.0, reasoning=12.0)


def call_of(text: str = "Hello", **params: Parameter) -> Call:
    return Call("rewrite", "openai:a", (Message("user", text),), params=dict(params))


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [
        (Tokens(input=1_000_000, cached=0, output=0, reasoning=0), 2.5),
        (Tokens(input=0, cached=1_000_000, output=0, reasoning=0), 1.25),
        (Tokens(input=0, cached=0, output=1_000_000, reasoning=0), 10.0),
        (Tokens(input=0, cached=0, output=0, reasoning=1_000_000), 12.0),
        (Tokens(input=1000, output=100), 0.0035),
        (Tokens(input=0, cached=0, output=0, reasoning=0), 0.0),
    ],
)
def test_each_class_of_tokens_is_priced_once(tokens: Tokens, dollars: float) -> None:
    assert SOME.cost(tokens) == pytest.approx(dollars, rel=1e-12)


@pytest.mark.parametrize("tokens", [Tokens(), Tokens(input=1), Tokens(output=1), Tokens(cached=1, reasoning=1)])
def test_a_cost_is_not_known_where_a_count_is_missing(tokens: Tokens) -> None:
    assert SOME.cost(tokens) is None


def test_what_is_free_needs_no_count_and_no_bound() -> None:
    assert FREE.cost(Tokens()) == 0.0
    assert FREE.at_most(call_of()) == 0.0


def test_a_prompt_that_is_too_long_for_a_price_has_none() -> None:
    short = replace(SOME, longest_input=1000)
    assert short.cost(Tokens(input=600, cached=400, output=1)) is not None
    assert short.cost(Tokens(input=600, cached=401, output=1)) is None
    assert short.at_most(call_of("x" * 1000, max_tokens=5)) is None
    assert short.at_most(call_of("x" * (1000 - AROUND_MESSAGE), max_tokens=5)) is not None


def test_what_may_have_been_stored_counts_as_stored() -> None:
    storing = replace(SOME, stored=5.0)
    assert storing.cost(Tokens(input=CACHED_FROM - 1, output=0)) == SOME.cost(Tokens(input=CACHED_FROM - 1, output=0))
    assert storing.cost(Tokens(input=24, cached=1000, output=0)) == pytest.approx((24 * 5 + 1000 * 1.25) / 1e6)
    bound = storing.at_most(call_of("x" * 2000, max_tokens=1))
    assert bound is not None
    assert bound >= 2000 * 5 / 1e6


def test_without_max_tokens_nothing_bounds_a_call() -> None:
    assert SOME.at_most(call_of()) is None
    assert SOME.at_most(call_of(max_tokens=None)) is None


@given(PRICES.filter(lambda price: price.stored is None), TOKENS, TOKENS)
def test_a_cost_is_the_sum_of_its_parts(price: Price, one: Tokens, other: Tokens) -> None:
    both = Tokens(*(getattr(one, name) + getattr(other, name) for name in ("input", "cached", "output", "reasoning")))
    parts, whole = (price.cost(one) or 0.0) + (price.cost(other) or 0.0), price.cost(both)
    assert whole is not None
    assert math.isclose(whole, parts, rel_tol=1e-12)


@given(
    PRICES,
    st.lists(st.text(max_size=60), min_size=1, max_size=3),
    st.integers(1, 100_000),
    st.tuples(*[st.floats(0, 1)] * 4),
)
def test_no_reply_costs_more_than_its_bound(
    price: Price, texts: list[str], limit: int, shares: tuple[float, float, float, float]
) -> None:
    call = Call("generate", "a", tuple(Message("user", text) for text in texts), params={"max_tokens": limit})
    read = int(shares[0] * sum(len(text.encode()) + AROUND_MESSAGE for text in texts))
    written = int(shares[1] * limit)
    cached, reasoning = int(shares[2] * read), int(shares[3] * written)
    cost, bound = price.cost(Tokens(read - cached, cached, written - reasoning, reasoning)), price.at_most(call)
    assert cost is not None
    assert bound is not None
    assert cost <= bound * (1 + 1e-12)


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[Money, list[tuple[str, Call]], list[float]]:
    """Return money, calls of two lines, and shares of their bounds that they will really cost."""
    prices = {"a": draw(PRICES), "b": draw(PRICES)}
    budget = draw(st.floats(min_value=0, max_value=50))
    spent = draw(st.floats(min_value=0, max_value=1)) * budget
    limits = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 50_000)), max_size=40))
    calls = [(label, call_of(max_tokens=limit)) for label, limit in limits]
    shares = draw(st.lists(st.floats(min_value=0, max_value=1), min_size=len(calls), max_size=len(calls)))
    return Money(prices, budget=budget, spent=spent), calls, shares


@given(campaigns(), st.randoms(use_true_random=False))
def test_no_order_of_asking_and_ending_exceeds_the_budget(
    campaign: tuple[Money, list[tuple[str, Call]], list[float]], rng: random.Random
) -> None:
    money, calls, shares = campaign
    before, told = money.spent, Fraction(0)
    flying: list[tuple[float, float]] = []
    waiting = list(zip(calls, shares, strict=True))
    while waiting or flying:
        if waiting and (not flying or rng.random() < 0.6):
            (label, call), share = waiting.pop()
            aside = money.reserve(label, call)
            if aside is not None:
                flying.append((aside, aside * share))
        else:
            aside, cost = flying.pop(rng.randrange(len(flying)))
            money.settle(aside, cost)
            told += Fraction(cost)
        assert money.budget is not None
        assert money.spent + money.reserved <= money.budget + 1e-11
        assert before + float(told) <= money.budget + 1e-11
    assert money.reserved == 0.0
    assert money.spent == pytest.approx(before + float(told), abs=1e-9)


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=50), PRICES, st.randoms(use_true_random=False))
def test_what_was_set_aside_and_given_back_leaves_nothing(limits: list[int], price: Price, rng: random.Random) -> None:
    money = Money({"a": price})
    aside = [money.reserve("a", call_of(max_tokens=limit)) for limit in limits]
    rng.shuffle(aside)
    for amount in aside:
        assert amount is not None
        money.settle(amount, 0.0)
    assert (money.reserved, money.spent) == (0.0, 0.0)


def test_a_hundred_thousand_replies_do_not_drift() -> None:
    money = Money({"a": SOME})
    exact = Fraction(0)
    for number in range(100_000):
        cost = SOME.cost(Tokens(input=number % 977, cached=0, output=number % 101, reasoning=0))
        assert cost is not None
        money.settle(0.0, cost)
        exact += Fraction(number % 977) * Fraction(25, 10) / 10**6 + Fraction(number % 101) * 10 / 10**6
    assert -(10**-9) < Fraction(money.spent) - exact < 10**-7


def test_a_budget_that_is_just_enough_is_enough() -> None:
    bound = SOME.at_most(call_of(max_tokens=100))
    assert bound is not None
    money = Money({"a": SOME}, budget=3 * bound)
    assert [money.reserve("a", call_of(max_tokens=100)) is not None for _ in range(4)] == [True, True, True, False]
    money.settle(bound, bound / 2)
    assert money.reserve("a", call_of(max_tokens=100)) is None
    money.settle(bound, bound / 2)
    assert money.reserve("a", call_of(max_tokens=100)) == bound


def test_without_a_budget_everything_may_be_asked() -> None:
    money = Money({"a": None, "b": SOME})
    assert money.reserve("a", call_of()) == 0.0
    assert money.reserve("b", call_of()) == 0.0
    assert (money.reserve("b", call_of(max_tokens=5)) or 0) > 0


def test_with_a_budget_nothing_is_asked_whose_cost_has_no_bound() -> None:
    money = Money({"a": None, "b": SOME}, budget=1000)
    assert money.reserve("a", call_of(max_tokens=1)) is None
    assert money.reserve("b", call_of()) is None


@pytest.mark.parametrize("budget", [-1.0, math.nan, math.inf])
def test_a_budget_is_an_amount_of_money(budget: float) -> None:
    with pytest.raises(UsageError, match="amount of US dollars"):
        Money({}, budget=budget)


CAMPAIGN = """
study: personas
tasks: [calculator]
prompts: {personas: [john], model: mock, max_tokens: 90}
generate: {models: [MODEL], max_tokens: 10}
"""


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("mock:other", None),
        ("openai:gpt-4o", None),
        ("openai:unheard-of", "no price is known for openai:unheard-of"),
        ("{model: openai:gpt-4o, base_url: 'http://localhost:1/v1'}", "localhost:1/v1"),
    ],
)
def test_a_budget_needs_a_price_for_every_model(
    model: str, complaint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "c.yaml").write_text(CAMPAIGN.replace("MODEL", model), encoding="utf-8")
    study = load_campaign(str(tmp_path / "c.yaml"))
    if complaint is None:
        check_budget(study, load_prices(tmp_path))
    else:
        with pytest.raises(UsageError, match=complaint) as raised:
            check_budget(study, load_prices(tmp_path))
        assert str(tmp_path / "prices.yaml") in str(raised.value)


def test_a_budget_needs_max_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    text = CAMPAIGN.replace("MODEL", "openai:gpt-4o").replace(", max_tokens: 10", "")
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="under `generate`"):
        check_budget(load_campaign(str(tmp_path / "c.yaml")), load_prices(tmp_path))

"""The table of prices: which entry holds for which model, and files of the user's own."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from simulator.definitions.finding import builtin_folder
from simulator.errors import DefinitionError
from simulator.running.calls import Parameter
from simulator.running.models import describe_model
from simulator.running.money.money import FREE, Price
from simulator.running.money.prices import load_prices

ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "OLLAMA_HOST")


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ADDRESSES:
        monkeypatch.delenv(variable, raising=False)


def price_of(model: str, folder: Path | None = None, given: Path | None = None, /, **params: Parameter) -> Price | None:
    return load_prices(folder, given).price(model, params)


def write(path: Path, *entries: str, head: str = "") -> Path:
    path.write_text(head + "prices:\n" + "".join(f"  - {entry}\n" for entry in entries), encoding="utf-8")
    return path


def test_every_built_in_price_is_one_that_can_be() -> None:
    table = load_prices(None)
    assert date(2026, 1, 1) < date.fromisoformat(table.as_of) <= date.today()
    assert "BerriAI/litellm" in table.source
    assert len(table.entries) > 60
    for (model, server), listed in table.entries.items():
        price = listed.price
        assert (server, listed.own, listed.as_of) == (None, False, date.fromisoformat(table.as_of))
        assert describe_model(model).name == model
        assert 0 < price.cached <= price.input < price.output == price.reasoning <= 100
        assert price.stored is None or price.stored == pytest.approx(1.25 * price.input)
        assert price.longest_input is None or 100_000 <= price.longest_input < 1_000_000


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai:gpt-4o-mini", (0.15, 0.075, 0.6)),
        ("openai:gpt-4.1", (2.0, 0.5, 8.0)),
        ("anthropic:claude-haiku-4-5", (1.0, 0.1, 5.0)),
        ("anthropic:claude-opus-4-6", (5.0, 0.5, 25.0)),
        ("google_genai:gemini-2.5-pro", (1.25, 0.125, 10.0)),
        ("groq:openai/gpt-oss-120b", (0.15, 0.075, 0.6)),
    ],
)
def test_prices_are_those_of_the_providers(model: str, price: tuple[float, float, float]) -> None:
    found = price_of(model)
    assert found is not None
    assert (found.input, found.cached, found.output) == price


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("openai:gpt-4o-2024-11-20", "openai:gpt-4o"),
        ("openai:gpt-4o-mini-2024-07-18", "openai:gpt-4o-mini"),
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
        ("anthropic:claude-opus-4-5-latest", "anthropic:claude-opus-4-5"),
        ("google_genai:models/gemini-2.5-flash", "google_genai:gemini-2.5-flash"),
    ],
)
def test_a_frozen_version_costs_what_its_model_costs(name: str, same: str) -> None:
    assert price_of(name) == price_of(same) is not None


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-4o-audio-preview",
        "openai:gpt-4o-audio-preview-2024-12-17",
        "openai:gpt-4o-latest",
        "openai:gpt-4",  # has a price: see below
        "openai:gpt-4-0613",
        "openai:gpt-4o-2024-13-20",
        "openai:gpt-4o-2024-1120",
        "openai:gpt-4o-2024-11-20-tuned",
        "openai:ft:gpt-4o-2024-08-06:me::1",
        "openai:GPT-4o",
        "anthropic:claude-haiku-4",
        "google_genai:gemini-2.5-flash-2025-06-17",
        "groq:gpt-4o",
        "azure_openai:gpt-4o",
        "ollama:llama3:cloud",
        "ollama:gpt-oss:120b-cloud",
    ],
)
def test_a_likeness_of_names_is_no_price(name: str) -> None:
    assert (price_of(name) is not None) == (name == "openai:gpt-4")


def test_a_version_with_a_price_of_its_own_keeps_it() -> None:
    found = price_of("openai:gpt-4o-2024-05-13")
    assert found is not None
    assert (found.input, found.output) == (5.0, 15.0)


@pytest.mark.parametrize("name", ["mock", "mock:answers.py", "embedded", "embedded:/a/b.gguf", "ollama:llama3.2"])
def test_what_runs_here_is_free_unless_the_user_says_otherwise(name: str, tmp_path: Path) -> None:
    assert price_of(name) == FREE
    write(tmp_path / "prices.yaml", f"{{model: '{name}', input: 1, output: 2}}")
    assert price_of(name, tmp_path) == Price(1, 1, 2, 2)


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("https://api.openai.com/v1", True),
        ("HTTPS://API.OpenAI.com:443/v1/", True),
        ("https://eu.api.openai.com/v1", False),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.org/v1", False),
        ("http://localhost:8000/v1", False),
    ],
)
def test_built_in_prices_hold_at_the_providers_own_address(address: str, known: bool) -> None:
    assert (price_of("openai:gpt-4o", base_url=address) is not None) == known


def test_an_address_of_the_environment_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.example/v1")
    assert price_of("openai:gpt-4o") is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[broken")
    assert price_of("openai:gpt-4o") is None


def test_a_server_has_the_price_that_names_it(tmp_path: Path) -> None:
    write(
        tmp_path / "prices.yaml",
        "{model: openai:llama, input: 1, output: 2}",
        "{model: openai:llama, base_url: 'http://Farm:8000/v1/', input: 0, output: 0}",
        "{model: 'openai:q*', base_url: 'http://farm:8000/v1', input: 3, output: 4}",
    )
    assert price_of("openai:llama", tmp_path) == Price(1, 1, 2, 2)
    assert price_of("openai:llama", tmp_path, base_url="http://farm:8000/v1") == FREE
    assert price_of("openai:llama", tmp_path, base_url="http://other:8000/v1") is None
    assert price_of("openai:qwen", tmp_path, base_url="http://farm:8000/v1") == Price(3, 3, 4, 4)
    assert price_of("openai:qwen", tmp_path) is None


def test_another_service_tier_has_only_the_users_price(tmp_path: Path) -> None:
    assert price_of("openai:gpt-5", service_tier="default") == price_of("openai:gpt-5")
    assert price_of("openai:gpt-5", service_tier="flex") is None
    write(tmp_path / "prices.yaml", "{model: openai:gpt-5, input: 0.625, output: 5}")
    assert price_of("openai:gpt-5", tmp_path, service_tier="flex") == Price(0.625, 0.625, 5, 5)


def test_a_star_counts_last_and_the_longest_first(tmp_path: Path) -> None:
    write(
        tmp_path / "prices.yaml",
        "{model: 'openai:*', input: 1, output: 1}",
        "{model: 'openai:my-*', input: 2, output: 2}",
        "{model: 'openai:*-large', input: 3, output: 3}",
        "{model: 'openai:my-*-my', input: 9, output: 9}",
    )
    assert price_of("openai:gpt-4o", tmp_path) == price_of("openai:gpt-4o")
    assert price_of("openai:other", tmp_path) == Price(1, 1, 1, 1)
    assert price_of("openai:my-model", tmp_path) == Price(2, 2, 2, 2)
    assert price_of("openai:my-large", tmp_path) == Price(3, 3, 3, 3)
    assert price_of("openai:my-my", tmp_path) == Price(2, 2, 2, 2)  # a star's two sides do not overlap
    assert price_of("groq:other", tmp_path) is None


def test_the_given_file_wins_over_the_study_and_that_over_the_built_in(tmp_path: Path) -> None:
    write(
        tmp_path / "prices.yaml",
        "{model: openai:gpt-4o, input: 1, output: 1}",
        "{model: openai:o3, input: 1, output: 1}",
    )
    (tmp_path / "elsewhere").mkdir()
    given = write(tmp_path / "elsewhere" / "mine.yaml", "{model: openai:gpt-4o, input: 2, output: 2}")
    table = load_prices(tmp_path, given)
    assert table.price("openai:gpt-4o", {}) == Price(2, 2, 2, 2)
    assert table.price("openai:o3", {}) == Price(1, 1, 1, 1)
    assert table.price("openai:o1", {}) == price_of("openai:o1")
    assert price_of("openai:gpt-4o") != Price(1, 1, 1, 1), "the built-in table itself is not changed"


def test_every_class_may_have_its_price(tmp_path: Path) -> None:
    entry = "{model: openai:m, input: 1, cached: 0.1, stored: 1.5, output: 2, reasoning: 3, longest_input: 128000}"
    write(tmp_path / "prices.yaml", entry, head="as_of: 2026-11-30\nsource: my contract\n")
    assert price_of("openai:m", tmp_path) == Price(1, 0.1, 2, 3, 128_000, 1.5)
    listed = load_prices(tmp_path).find("openai:m", {})
    assert listed is not None
    assert (listed.as_of, listed.own) == (date(2026, 11, 30), True)


def test_for_a_built_in_campaign_the_study_is_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "prices.yaml", "{model: openai:m, input: 1, output: 2}")
    table = load_prices(builtin_folder("campaigns"))
    assert table.price("openai:m", {}) == Price(1, 1, 2, 2)
    assert table.home == Path("prices.yaml")


def test_the_mend_is_a_line_that_can_be_pasted(tmp_path: Path) -> None:
    table = load_prices(tmp_path)
    params: dict[str, Parameter] = {"base_url": "http://localhost:8000/v1/"}
    found = re.search(r"`- (.*)`", table.explain_missing("openai:m", params))
    assert found is not None
    write(tmp_path / "prices.yaml", found[1])
    assert load_prices(tmp_path).price("openai:m", params) == Price(2.5, 2.5, 10, 10)


@pytest.mark.parametrize(
    ("entry", "at", "complaint"),
    [
        ("{model: openai:m, input: -1, output: 1}", "-1", r"`prices\[1\].input` must be at least 0"),
        ("{model: openai:m, input: much, output: 1}", "much", r"`prices\[1\].input` must be a number.*`much`"),
        ("{model: openai:m, input: nan, output: 1}", "nan", "must be a finite number"),
        ("{model: openai:m, input: .inf, output: 1}", ".inf", "must be a number"),
        ("{model: openai:m, input: inf, output: 1}", "inf", "must be a finite number"),
        ("{model: openai:m, input: 1e400, output: 1}", "1e400", "must be a finite number"),
        ("{model: openai:m, input: 1e9, output: 1}", "1e9", "must be at most 1000000"),
        ("{model: openai:m, input: [1], output: 1}", "[1]", "must be a number"),
        ("{model: openai:m, input: 1}", "{", r"`prices\[1\].output` is missing"),
        (
            "{model: openai:m, input: 1, output: 1, cache: 1}",
            "cache",
            "`cache` is not known here; did you mean `cached`",
        ),
        ("{model: openai:m, input: 1, output: 1, longest_input: 0}", "0", "must be at least 1"),
        ("{model: openai:m, input: 1, output: 1, base_url: localhost}", "localhost", "must be an address"),
        ("{model: gpt-4o, input: 1, output: 1}", "gpt-4o", "for instance openai:gpt-4o"),
        ("{model: opena:m, input: 1, output: 1}", "opena", "Did you mean openai:..."),
        ("{model: '*', input: 1, output: 1}", "'*'", "does not say where it is"),
        ("{model: '*:m', input: 1, output: 1}", "'*:m'", "is no name of a model"),
        ("{model: 'openai:*-*', input: 1, output: 1}", "'openai", "may hold one `\\*`"),
        ("{model: '', input: 1, output: 1}", "''", "is empty"),
        ("openai:m", "openai", "must be a mapping"),
    ],
)
def test_a_wrong_entry_is_told_with_its_place(entry: str, at: str, complaint: str, tmp_path: Path) -> None:
    path = write(tmp_path / "prices.yaml", entry)
    with pytest.raises(DefinitionError, match=complaint) as raised:
        load_prices(tmp_path)
    assert str(raised.value).startswith(f"{path}:2:{len('  - ') + 1 + entry.index(at)}: ")


@pytest.mark.parametrize(
    ("text", "place", "complaint"),
    [
        ("prices: {openai:m: 1}\n", ":1:9", "must be a list"),
        ("price: []\n", ":1:1", "`price` is not known here"),
        ("as_of: yesterday\nprices: []\n", ":1:8", "must be a date such as"),
        ("as_of: 2026-02-30\nprices: []\n", ":1:8", "must be a date such as"),
        ("", "", "the file is empty"),
        ("prices: [\n", ":2:1", "a bracket is not closed"),
        (
            "prices:\n- {model: openai:m, input: 1, output: 1}\n- {model: openai:m, input: 1, output: 1}\n",
            ":3:3",
            "a second time, first as item 1",
        ),
    ],
)
def test_a_wrong_file_is_told_with_its_place(text: str, place: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DefinitionError, match=complaint) as raised:
        load_prices(None, path)
    assert str(raised.value).startswith(f"{path}{place}: ")


def test_a_given_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no such file"):
        load_prices(None, tmp_path / "no.yaml")


def test_a_given_file_may_be_a_link_but_a_studys_may_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    real = write(tmp_path / "real.yaml", "{model: openai:m, input: 1, output: 1}")
    (tmp_path / "study" / "link.yaml").symlink_to(real)
    assert price_of("openai:m", None, tmp_path / "study" / "link.yaml") is not None
    (tmp_path / "study" / "prices.yaml").symlink_to(real)
    with pytest.raises(DefinitionError, match="leads out of the study"):
        load_prices(tmp_path / "study")

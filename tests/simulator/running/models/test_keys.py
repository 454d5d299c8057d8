"""Keys for servers that a campaign names: only what the person at the keyboard allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import MissingError, UsageError
from simulator.running.models.keys import allowed_variable, suggest_entry
from simulator.running.models.providers import explain_key, find_key

KEYS = {
    "OPENAI_API_KEY": "openai-hunter2",
    "GITHUB_TOKEN": "github-hunter2",
    "MY_SERVER_KEY": "mine-hunter2",
}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOCIOLECT_KEYS_FOR", raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.org/v1",
        "http://api.openai.com/v1",  # not over a line that others can hear
        "https://openai.com.evil.org",
        "https://evilopenai.com",
        "http://localhost:8000/v1",
        "http://127.0.0.1:8000/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8000/v1",
    ],
)
def test_no_key_goes_where_nobody_allowed_one(address: str) -> None:
    for family in ("openai", "anthropic", "google_genai", "ollama"):
        params = {"base_url": address, "key_from": "GITHUB_TOKEN"}
        assert find_key(family, "m", params) is None
        assert "SOCIOLECT_KEYS_FOR=" in explain_key(family, params)


def test_the_providers_own_address_gets_the_providers_own_key() -> None:
    assert find_key("openai", "m", {}) == "openai-hunter2"
    assert find_key("openai", "m", {"base_url": "https://eu.api.openai.com/v1"}) == "openai-hunter2"


@pytest.mark.parametrize(
    ("entries", "address", "variable"),
    [
        ("gpu1:8000=MY_SERVER_KEY", "http://gpu1:8000/v1", "MY_SERVER_KEY"),
        ("gpu1:8000=MY_SERVER_KEY", "https://GPU1:8000/v1", "MY_SERVER_KEY"),
        ("gpu1:8000=MY_SERVER_KEY", "http://gpu1:8001/v1", None),
        ("gpu1:8000=MY_SERVER_KEY", "http://gpu1/v1", None),
        ("gpu1:8000=MY_SERVER_KEY", "http://gpu1.evil.org:8000/v1", None),
        ("gpu1=MY_SERVER_KEY", "https://gpu1/v1", "MY_SERVER_KEY"),
        ("gpu1=MY_SERVER_KEY", "https://gpu1:8443/v1", "MY_SERVER_KEY"),
        ("gpu1=MY_SERVER_KEY", "http://gpu1/v1", None),
        ("gpu1:80=MY_SERVER_KEY", "http://gpu1/v1", "MY_SERVER_KEY"),
        ("localhost=MY_SERVER_KEY", "http://localhost:8000/v1", "MY_SERVER_KEY"),
        ("127.0.0.1=MY_SERVER_KEY", "http://127.0.0.1:8000/v1", "MY_SERVER_KEY"),
        ("[::1]:8000=MY_SERVER_KEY", "http://[0:0::1]:8000/v1", "MY_SERVER_KEY"),
        (" a=X , gpu1 : 8000 = NO,".replace(" : ", ":"), "http://gpu1:8000", "NO"),
        ("gpu1=GITHUB_TOKEN,gpu1:8443=MY_SERVER_KEY", "https://gpu1:8443", "MY_SERVER_KEY"),
        ("gpu1:1=A,gpu1:1=B", "http://gpu1:1", "A"),
        ("", "http://gpu1:1", None),
        (",", "http://gpu1:1", None),
    ],
)
def test_an_entry_allows_one_server_one_variable(
    monkeypatch: pytest.MonkeyPatch, entries: str, address: str, variable: str | None
) -> None:
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", entries)
    assert allowed_variable(address) == variable
    if variable in KEYS:
        assert find_key("openai", "m", {"base_url": address}) == KEYS[str(variable)]
        assert str(variable) in explain_key("openai", {"base_url": address})


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", "gpu1:8000=NOT_SET_KEY")
    with pytest.raises(MissingError, match="NOT_SET_KEY"):
        find_key("openai", "m", {"base_url": "http://gpu1:8000"})


@pytest.mark.parametrize(
    "entries",
    ["gpu1", "gpu1=", "=X", "gpu1:8000", "gpu1=sk-hunter2", "https://gpu1=X", "gpu1:port=X", "a=X,hunter2", "a=B=C"],
)
def test_what_cannot_be_read_is_told_and_not_shown(monkeypatch: pytest.MonkeyPatch, entries: str) -> None:
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", entries)
    with pytest.raises(UsageError, match=r"host\[:port\]=VARIABLE") as caught:
        find_key("openai", "m", {"base_url": "http://nowhere:1"})
    assert "hunter2" not in str(caught.value)
    assert find_key("openai", "m", {}) == "openai-hunter2"


@given(
    st.sampled_from(["http", "https"]),
    st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z]{2,5})?", fullmatch=True) | st.ip_addresses(v=4).map(str),
    st.none() | st.integers(1, 65535),
)
def test_what_is_suggested_works(scheme: str, host: str, port: int | None) -> None:
    address = f"{scheme}://{host}{f':{port}' if port else ''}/v1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOCIOLECT_KEYS_FOR", suggest_entry(address))
        assert allowed_variable(address) == "NAME_OF_THE_VARIABLE"

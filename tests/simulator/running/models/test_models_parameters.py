"""The parameters of models: what each may be."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import UsageError
from simulator.running.calls import Parameter
from simulator.running.models.parameters import KNOWN_PARAMETERS, check_parameters


def test_an_unknown_parameter_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean `temperature`"):
        check_parameters("mock", {"temprature": 1.0}, KNOWN_PARAMETERS)
    with pytest.raises(UsageError, match="It takes: a, b"):
        check_parameters("mock", {"zzz": 1.0}, frozenset({"b", "a"}))


def test_none_is_not_sent_and_so_never_wrong() -> None:
    check_parameters("mock", {"anything": None}, frozenset())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "hot"),
        ("temperature", True),
        ("temperature", math.nan),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("top_p", 1.5),
        ("top_p", 0),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_tokens", False),
        ("stop", ""),
        ("stop", ()),
        ("stop", ("a", "")),
        ("seed", -1),
        ("seed", 2**32),
        ("parallel", 0),
        ("timeout", 0),
        ("connect_timeout", 0),
        ("read_timeout", -1),
        ("requests_per_minute", 0),
        ("tokens_per_minute", 0.5),
        ("tokens_per_minute", "many"),
        ("requests_per_minute", True),
        ("base_url", "localhost:8000"),
        ("base_url", "file:///etc/passwd"),
        ("base_url", "http://"),
        ("base_url", "http://host:port/v1"),
        ("base_url", 8000),
        ("base_url", "https://evil.org\\.openai.com"),
        ("base_url", "https://api.open\nai.com"),
        ("base_url", "https://h/a b"),
        ("reasoning", "yes"),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, value: Parameter) -> None:
    with pytest.raises(UsageError, match=f"`{name}` of the model mock must be"):
        check_parameters("mock", {name: value}, KNOWN_PARAMETERS)


@pytest.mark.parametrize(
    "address", ["http://me:hunter2secret@host/v1", "http://hunter2secret@host", "http://h/?key=x", "http://h/#x"]
)
def test_an_address_holds_no_key(address: str) -> None:
    with pytest.raises(UsageError, match="SOCIOLECT_KEYS_FOR") as caught:
        check_parameters("mock", {"base_url": address}, KNOWN_PARAMETERS)
    assert "hunter2" not in str(caught.value)


@given(
    st.dictionaries(
        st.sampled_from(sorted(KNOWN_PARAMETERS)) | st.text(max_size=8),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()).map(tuple),
        max_size=4,
    )
)
def test_any_parameters_pass_or_are_a_usage_error(params: dict[str, Parameter]) -> None:
    with contextlib.suppress(UsageError):
        check_parameters("mock", params, KNOWN_PARAMETERS)

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from simulator.running.calls import Call, Message, derive_seed
from simulator.running.replies import repair_text

CALL = Call(
    "generate",
    "openai:gpt-4o-mini",
    (Message("system", "Be brief."), Message("user", "naïve 😀")),
    params={"temperature": 0.0, "max_tokens": 5, "stop": ("a", "b"), "top_p": None},
    repeat=2,
    seed=7,
)


def test_key_is_the_same_on_any_machine() -> None:
    # Written down, so that a change of the key, which would ask every finished call again, is noticed.
    assert CALL.key == "721d702ab29da2668946e1cc2250f485"


def test_key_does_not_depend_on_the_hash_seed_or_the_order_of_parameters() -> None:
    program = (
        "from simulator.running.calls import *; print(Call('generate', 'openai:gpt-4o-mini', "
        "(Message('system', 'Be brief.'), Message('user', 'na\\u00efve \\U0001f600')), "
        "params={'stop': ('a', 'b'), 'max_tokens': 5, 'temperature': 0.0}, repeat=2, seed=7).key)"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in "012"
    }
    assert keys == {CALL.key}


def test_every_part_is_in_the_key() -> None:
    others = [
        Call("rewrite", CALL.model, CALL.messages, CALL.form, CALL.params, CALL.repeat, CALL.seed),
        Call(CALL.stage, "mock", CALL.messages, CALL.form, CALL.params, CALL.repeat, CALL.seed),
        Call(CALL.stage, CALL.model, CALL.messages[1:], CALL.form, CALL.params, CALL.repeat, CALL.seed),
        Call(CALL.stage, CALL.model, CALL.messages, "completion", CALL.params, CALL.repeat, CALL.seed),
        Call(CALL.stage, CALL.model, CALL.messages, CALL.form, {"temperature": 0.0}, CALL.repeat, CALL.seed),
        Call(CALL.stage, CALL.model, CALL.messages, CALL.form, CALL.params, 3, CALL.seed),
        Call(CALL.stage, CALL.model, CALL.messages, CALL.form, CALL.params, CALL.repeat, None),
    ]
    assert len({CALL.key, *(other.key for other in others)}) == 8


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_seeds_follow_names(some: list[str], others: list[str]) -> None:
    assert 0 <= derive_seed(*some) < 2**31
    assert (derive_seed(*some) == derive_seed(*others)) == (some == others)


@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_repaired_text_can_be_stored_and_valid_text_is_untouched(text: str) -> None:
    repaired, replaced = repair_text(text)
    repaired.encode("utf-8")
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    assert replaced == 0 or "\ufffd" in repaired
    if replaced == 0:
        assert repaired == valid
    assert repair_text(repaired) == (repaired, 0)

import html
import json
import string
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.running.models.key_traces import SHORTEST_KEY, SHORTEST_PART, cut_parts, cut_whole

keys = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=SHORTEST_KEY, max_size=60)
WRITINGS = [
    str,
    lambda key: json.dumps(key)[1:-1],
    lambda key: json.dumps(json.dumps(key))[3:-3],
    lambda key: json.dumps(key)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    html.escape,
    lambda key: html.escape(json.dumps(key)[1:-1]),
    urllib.parse.quote,
    lambda key: urllib.parse.quote(key, safe=""),
    lambda key: repr(f"{key}'\"")[1:-4],
    lambda key: repr(f"{key}")[1:-1],
]


@pytest.mark.parametrize("write", WRITINGS)
@given(key=keys, before=st.text("éß ", max_size=3), after=st.text("éß ", max_size=3))
def test_a_key_is_cut_out_however_it_is_written(write: object, key: str, before: str, after: str) -> None:
    assert callable(write)
    text = before + write(key) + after
    assert cut_whole(text, key) == f"{before}[key]{after}"
    assert cut_parts(text, key) == f"{before}[key]{after}"


@given(keys, st.data())
def test_a_part_is_cut_out_from_eight_characters_on(key: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(key) - SHORTEST_PART))
    stop = data.draw(st.integers(start + SHORTEST_PART, len(key)))
    assert cut_parts(f"é{key[start:stop]}é", key) == "é[key]é"
    assert cut_whole(f"é{key[start : start + SHORTEST_PART]}é", key) == f"é{key[start : start + SHORTEST_PART]}é"


@given(keys, st.text(max_size=200))
def test_no_part_is_left(key: str, text: str) -> None:
    cut = cut_parts(text + key[2:] + text + key[:-2], key, "\n")
    assert all(key[at : at + SHORTEST_PART] not in cut for at in range(len(key) - SHORTEST_PART + 1))
    assert cut_parts(text, "short-key") == cut_whole(text, "short-key") == text


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)), keys)
def test_what_is_no_part_is_left_alone(text: str, key: str) -> None:
    assert cut_parts(text, key) == cut_whole(text, key) == text

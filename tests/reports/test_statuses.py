"""Every status that a record can have is on the page: as a badge, in words, with what it means."""

import re
from pathlib import Path

import polars as pl
import pytest
from report_frames import build_tables

from reports import write_report
from reports.prose import tell_loss
from reports.statuses import MEANINGS, status_words
from simulator.code import CODE_STATUSES
from simulator.running.replies import REPLY_STATUSES
from simulator.running.variants import VARIANT_STATUSES

KINDS = {
    "rewrite": ("variants", "", VARIANT_STATUSES),
    "reply": ("replies", "reply ", REPLY_STATUSES),
    "code": ("codes", "code ", CODE_STATUSES),
}


def _badge(words: str, status: str) -> str:
    return f'<span class="badge {"good" if status == "ok" else "bad"}">{words}</span>'


@pytest.mark.parametrize("kind", KINDS)
def test_every_status_has_a_meaning_and_no_other_has(kind: str) -> None:
    beyond = {"not extracted"} if kind == "code" else set()
    assert set(MEANINGS[kind]) == {*KINDS[kind][2], *beyond}
    assert all(meaning and not meaning.endswith(".") for meaning in MEANINGS[kind].values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_status_is_shown_where_it_happened_and_counted(kind: str, tmp_path: Path) -> None:
    name, prefix, statuses = KINDS[kind]
    tables = build_tables([f"s{index}" for index in range(len(statuses))], ["t"], iterations=1)
    tables[name] = tables[name].with_columns(pl.Series("status", list(statuses), dtype=pl.String))
    what = {"variants": "variant", "replies": "reply", "codes": "code"}[name]
    own = tables["counts"].filter(pl.col("what") == what).with_columns(pl.Series("status", list(statuses)))
    tables["counts"] = pl.concat([tables["counts"].filter(pl.col("what") != what), own])
    page = write_report(tables, tmp_path, title="t", models=[], warnings=[], personas={}, tasks={})
    text = page.read_text(encoding="utf-8")
    texts, counts, made = (
        re.search(rf'<section id="{section}".*?</section>', text, re.S) for section in ("texts", "counts", "made")
    )
    assert texts is not None
    assert counts is not None
    assert made is not None
    for status in statuses:
        words = status.replace("_", " ")
        assert texts.group().count(_badge(prefix + words, status)) >= 1, status
        assert _badge(words, status) + f" {MEANINGS[kind][status]}" in made.group()
        if status != "ok":
            assert _badge(words, status) in counts.group(), status
            assert f'<th scope="col" class="n">{words}</th>' in counts.group()
    shown = re.sub(r"<script.*|<style.*?</style>", "", text, flags=re.S)
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    for status in statuses:
        if "_" in status:
            assert status not in shown
            assert status.replace("_", r"\_") not in report
            assert status_words(status) in report


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_of_losses_says_statuses_in_words(kind: str) -> None:
    what = "variant" if kind == "rewrite" else kind
    sentence = tell_loss(what, dict.fromkeys(KINDS[kind][2], 1))
    assert "_" not in sentence
    assert all(f"1 {status_words(status)}" in sentence for status in KINDS[kind][2] if status != "ok")

"""Features against labels that were made by reading, as precision and recall."""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analysis.code.features import Evidence, find_features
from simulator.code import extract

pytestmark = pytest.mark.slow

LABELS = Path(__file__).parent / "labels"
NOT_LOOKED_FOR = {"window", "reads_files"}
UNSURE_LINES = {"input_validation", "storage_orm", "error_handling", "placeholders", "storage_memory"}
"""Where the check and the refusal, the statement and its handler, are different lines, either shows it."""


@pytest.fixture(scope="module")
def replies(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    folder = Path(__file__).parents[3].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder ../shared/data, recorded by others, is not here")
    with gzip.open(folder / "recorded/prompt_variability/sample.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def labels(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELS / name).read_text(encoding="utf-8").splitlines()]


def found_in(replies: list[dict[str, Any]], label: dict[str, Any]) -> dict[str, Evidence]:
    reply = replies[label["row"]]["responses"][label["rate"]][label["index"]]
    return {
        one.feature: one for one in find_features(extract(reply).text, reply=reply) if one.feature not in NOT_LOOKED_FOR
    }


def compare(replies: list[dict[str, Any]], name: str) -> dict[str, tuple[int, float, float]]:
    """Return how many replies have each feature, and precision and recall of finding it."""
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for label in labels(name):
        is_there = {f"kind:{label['kind']}", *label["shown"]}
        is_found = set(found_in(replies, label))
        right.update(is_there & is_found)
        found.update(is_found)
        wanted.update(is_there)
    table = {
        feature: (
            wanted[feature],
            right[feature] / found[feature] if found[feature] else 1.0,
            right[feature] / wanted[feature] if wanted[feature] else 1.0,
        )
        for feature in {*found, *wanted}
    }
    table = dict(sorted(table.items(), key=lambda item: (-item[1][0], item[0])))
    # The whole table is shown by `pytest -rP`.
    sys.stdout.write(f"{name:28} labelled precision recall\n")
    for feature, (count, precision, recall) in table.items():
        sys.stdout.write(f"{feature:28} {count:8} {precision:9.2f} {recall:6.2f}\n")
    return table


def test_there_are_60_over_all_models_and_tasks(replies: list[dict[str, Any]]) -> None:
    keys = {(label["row"], label["rate"], label["index"]) for label in labels("features.jsonl")}
    assert len(keys) == 60
    assert len({(replies[row]["model"], replies[row]["task"]) for row, _, _ in keys}) == 32
    assert not keys & {(label["row"], label["rate"], label["index"]) for label in labels("held_out.jsonl")}


def test_the_most_used_are_found_with_precision_and_recall_of_nine_tenths(replies: list[dict[str, Any]]) -> None:
    table = compare(replies, "features.jsonl")
    features = [name for name in table if not name.startswith("kind:")]
    for name in features[:10]:
        _, precision, recall = table[name]
        assert precision >= 0.9, name
        assert recall >= 0.9, name
    kinds = [values for name, values in table.items() if name.startswith("kind:")]
    assert sum(count * recall for count, _, recall in kinds) >= 0.9 * 60


def test_they_are_found_in_replies_that_no_rule_was_written_for(replies: list[dict[str, Any]]) -> None:
    table = compare(replies, "held_out.jsonl")
    features = [name for name in table if not name.startswith("kind:")]
    for name in features[:10]:
        _, precision, recall = table[name]
        assert precision >= 0.9, name
        assert recall >= 0.8, name
    wanted = sum(table[name][0] for name in features)
    assert sum(table[name][0] * table[name][2] for name in features) >= 0.95 * wanted


@pytest.mark.parametrize("name", ["features.jsonl", "held_out.jsonl"])
def test_the_evidence_is_the_line_that_a_reader_names(replies: list[dict[str, Any]], name: str) -> None:
    for label in labels(name):
        found = found_in(replies, label)
        for feature, line in label["shown"].items():
            if feature in found and feature not in UNSURE_LINES:
                assert found[feature].line == line, (label["row"], label["rate"], label["index"], feature)

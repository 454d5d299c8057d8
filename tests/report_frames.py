"""Tables of a run that never was, to the columns of docs/architecture.md: what the report's tests draw."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl

TEXT, WHOLE, REAL = pl.String, pl.Int64, pl.Float64

SCHEMAS: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {
    "variants": {
        "variant": TEXT,
        "task": TEXT,
        "dataset": TEXT,
        "method": TEXT,
        "persona": TEXT,
        "axis": TEXT,
        "identity": TEXT,
        "wording": TEXT,
        "rate": REAL,
        "realised": REAL,
        "replicate": WHOLE,
        "seed": WHOLE,
        "similarity": REAL,
        "text": TEXT,
        "made_by": TEXT,
        "status": TEXT,
        "note": TEXT,
    },
    "asks": {"variant": TEXT, "reply": TEXT},
    "replies": {
        "reply": TEXT,
        "call": TEXT,
        "variant": TEXT,
        "stage": TEXT,
        "model": TEXT,
        "params": TEXT,
        "repeat": WHOLE,
        "status": TEXT,
        "text": TEXT,
        "tokens_input": WHOLE,
        "tokens_cached": WHOLE,
        "tokens_output": WHOLE,
        "tokens_reasoning": WHOLE,
        "cost": REAL,
        "seconds": REAL,
        "attempts": WHOLE,
        "error": TEXT,
    },
    "codes": {
        "code": TEXT,
        "reply": TEXT,
        "status": TEXT,
        "language": TEXT,
        "text": TEXT,
        "blocks": WHOLE,
        "chosen": TEXT,
        "left_out": TEXT,
    },
    "comparisons": {
        "reference": TEXT,
        "candidate": TEXT,
        "kind": TEXT,
        "metric": TEXT,
        "dialect": TEXT,
        "score": REAL,
        "status": TEXT,
    },
    "texts": {"text_id": TEXT, "speaker": TEXT, "task": TEXT, "iteration": WHOLE, "text": TEXT},
    "speakers": {"speaker": TEXT, "texts": WHOLE, "words": WHOLE, "mentions": WHOLE, "entities": WHOLE},
    "entities": {
        "text_id": TEXT,
        "speaker": TEXT,
        "task": TEXT,
        "sentence": WHOLE,
        "entity": TEXT,
        "label": TEXT,
        "surface": TEXT,
        "start": WHOLE,
        "end": WHOLE,
        "word": WHOLE,
        "words": WHOLE,
    },
    "pairs": {"speaker": TEXT, "a": TEXT, "b": TEXT, "count": WHOLE, "distance": REAL},
    "overlap": {
        "a": TEXT,
        "b": TEXT,
        "shared_entities": WHOLE,
        "shared_pairs": WHOLE,
        "union_entities": WHOLE,
        "jaccard": REAL,
        "rarefied": REAL,
        "expected": REAL,
        "z": REAL,
        "p": REAL,
        "q": REAL,
        "names": pl.List(TEXT),
    },
    "entity_map": {
        "entity": TEXT,
        "label": TEXT,
        "mentions": WHOLE,
        "speakers": WHOLE,
        "x": REAL,
        "y": REAL,
        "community": WHOLE,
    },
    "topics": {"topic": WHOLE, "label": TEXT, "rank": WHOLE, "word": TEXT, "weight": REAL},
    "topic_shares": {"speaker": TEXT, "topic": WHOLE, "share": REAL},
    "persona_tsed": {
        "a": TEXT,
        "b": TEXT,
        "task": TEXT,
        "model": TEXT,
        "pairs": WHOLE,
        "scored": WHOLE,
        "mean": REAL,
    },
    "counts": {
        "stage": TEXT,
        "model": TEXT,
        "persona": TEXT,
        "task": TEXT,
        "what": TEXT,
        "status": TEXT,
        "count": WHOLE,
    },
}
"""Table to column to type."""

ON_CODE = frozenset({"variants", "asks", "replies", "codes", "comparisons", "persona_tsed", "counts"})
WORDS = ("database", "button", "invoice", "ledger", "server", "user", "price", "bicycle", "calculator", "history")
LABELS = ("keyword", "organisation", "positive", "quantity", "person", "place", "time", "something else")

Rows = dict[str, list[tuple[object, ...]]]


def empty_tables(*, with_code: bool = True) -> dict[str, pl.DataFrame]:
    """Return every table with its columns and no row."""
    return {name: pl.DataFrame(schema=schema) for name, schema in SCHEMAS.items() if with_code or name not in ON_CODE}


def _vocabulary(index: int) -> list[str]:
    """Return a speaker's entities: more of them for the later ones, most of them everybody's."""
    own = [f"{WORDS[(index + i) % len(WORDS)]} {index}" for i in range(2 + index % 4)]
    return [*WORDS[: 4 + index % 6], *own]


def build_tables(
    speakers: Sequence[str] = ("john", "brad", "harold", "ethan"),
    tasks: Sequence[str] = ("calculator", "bicycle-shop", "accounting-reports"),
    *,
    models: Sequence[str] = ("embedded",),
    iterations: int = 3,
    with_code: bool = True,
    code_status: str = "ok",
    text: str = "",
    code: str = "",
) -> dict[str, pl.DataFrame]:
    """Return the tables of a run in which every speaker rewrote every task, and the first rewrite was sent on.

    Parameters
    ----------
    speakers, tasks, models
        Ids; they may be hostile.
    iterations
        Rewrites per speaker and task. The last one of the first task is of the status ``answered`` where there are two
        or more.
    with_code
        False leaves out the tables that only a run has.
    code_status
        Of every code; any but ``ok`` leaves no pair with a score.
    text, code
        Put at the end of every rewrite, and of every code.
    """
    rows: Rows = {name: [] for name in SCHEMAS}
    nothing = (None,) * 5
    spent = (90, 0, 200, 0, None, 8.5, 1, None)
    vocabulary = {speaker: _vocabulary(index) for index, speaker in enumerate(speakers)}
    for s, speaker in enumerate(speakers):
        words = vocabulary[speaker]
        rows["speakers"].append((speaker, len(tasks) * iterations, 300 + 40 * s, 60 + 9 * s, len(words)))
        rows["pairs"] += [(speaker, a, b, 1 + s, 2.5) for a, b in combinations(sorted(words)[:5], 2)]
        for t, task in enumerate(tasks):
            for i in range(iterations):
                said = f"I would like a {task} with {words[(t + i) % len(words)]} and {words[i % len(words)]}. {text}"
                variant = f"v-{s}-{t}-{i}"
                status = "answered" if i and i == iterations - 1 and t == 0 else "ok"
                note = None if status == "ok" else "it is an answer, not a request"
                rows["variants"].append(
                    (
                        variant,
                        task,
                        "tasks",
                        "rewrite",
                        speaker,
                        *nothing,
                        i,
                        7,
                        None,
                        said,
                        f"c-{variant}",
                        status,
                        note,
                    )
                )
                if status == "ok":
                    word = words[(2 * t + i) % len(words)]
                    rows["texts"].append((f"x-{s}-{t}-{i}", speaker, task, i, said))
                    rows["entities"].append((f"x-{s}-{t}-{i}", speaker, task, 0, word, "keyword", word, 0, 4, 1, 1))
            for m, model in enumerate(models):
                reply = f"r-{s}-{t}-{m}"
                body = f"def {WORDS[s % 10]}_{t}(x):\n    # {task}\n    return x + {s}\n{code}"
                answer = f"```python\n{body}```"
                rows["asks"].append((f"v-{s}-{t}-0", reply))
                rows["replies"].append(
                    (reply, f"k-{reply}", f"v-{s}-{t}-0", "generate", model, "{}", 0, "ok", answer, *spent)
                )
                whole = code_status == "ok"
                rows["codes"].append(
                    (f"k-{s}-{t}-{m}", reply, code_status, "python", body if whole else "", 1, "the only block", None)
                )
                rows["counts"].append(("generate", model, speaker, task, "code", code_status, 1))
                rows["counts"].append(("generate", model, speaker, task, "reply", "ok", 1))
            lost = 1 if iterations > 1 and t == 0 else 0
            rows["counts"].append(("rewrite", models[0], speaker, task, "variant", "ok", iterations - lost))
            if lost:
                rows["counts"].append(("rewrite", models[0], speaker, task, "variant", "answered", lost))
    for k, (a, b) in enumerate(combinations(speakers, 2)):
        shared = [word for word in vocabulary[a] if word in vocabulary[b]]
        union = len(set(vocabulary[a]) | set(vocabulary[b]))
        z, q = ((3.4, 0.006), (-0.3, 0.81), (-3.1, 0.012), (1.1, 0.4))[k % 4]
        rows["overlap"].append(
            (
                a,
                b,
                len(shared),
                max(0, len(shared) - 2),
                union,
                len(shared) / union,
                5.2 + z / 4,
                5.2,
                z,
                q / 3,
                q,
                shared,
            )
        )
        for t, task in enumerate(tasks):
            for model in models:
                mean = 0.35 + 0.5 * (((k + 1) * (t + 3)) % 7) / 7 if code_status == "ok" else None
                rows["persona_tsed"].append((a, b, task, model, 1, int(mean is not None), mean))
    everything = sorted({word for words in vocabulary.values() for word in words})
    for e, entity in enumerate(everything):
        said_by = sum(entity in words for words in vocabulary.values())
        x, y = (e * 37 % 101) / 101, (e * 59 % 97) / 97
        rows["entity_map"].append((entity, LABELS[e % len(LABELS)], 3 * said_by + e % 5, said_by, x, y, e % 4))
    for topic in range(3):
        rows["topics"] += [(topic, f"topic {topic}", r, WORDS[(3 * topic + r) % 10], 0.2 - 0.02 * r) for r in range(6)]
        for s, speaker in enumerate(speakers):
            rows["topic_shares"].append((speaker, topic, (0.6, 0.3, 0.1)[(topic + s) % 3]))
    return {
        name: pl.DataFrame(rows[name], schema=schema, orient="row")
        for name, schema in SCHEMAS.items()
        if with_code or name not in ON_CODE
    }

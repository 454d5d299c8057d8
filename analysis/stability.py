"""Whether a persona asks in the same manner each time, so that one sampled prompt can speak for it.

Two views of that. Texts by one speaker for one task are compared with texts by others for the same task: the larger the
difference, the more of a text is its speaker's. And simple measures of a text are split into what differs between
speakers and what differs between two texts by one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.code import tsed_pairs
from analysis.language.overlap import adjust_p
from analysis.language.semantic import compare_meanings, has_semantic_model
from analysis.stats import measure_reliability
from simulator.errors import MissingError
from simulator.running.calls import derive_seed

__all__ = [
    "RELIABILITY",
    "STABILITY",
    "SpokenAs",
    "compare_code_matrices",
    "compare_text_matrices",
    "measure_stability",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SpokenAs = Literal["bleu", "semantic", "entities", "tsed"]

STABILITY = pl.Schema(
    {
        "speaker": pl.String,
        "measure": pl.String,
        "tasks": pl.Int64,
        "within": pl.Float64,
        "between": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "q": pl.Float64,
        "status": pl.String,
    }
)
"""How alike two texts, or two programs, for one task are: by one speaker (``within``) and by two (``between``).

``speaker`` is null for everybody at once. ``measure`` is ``bleu`` (of the texts), ``semantic`` (BERTScore of the
texts), ``entities`` (those in both texts, over those in either) or ``tsed`` (of the programs). ``status`` is ``ok``,
``not_enough``, or ``not_installed`` where the extra ``semantic`` is missing; that measure has then no other row."""

RELIABILITY = pl.Schema(
    {
        "measure": pl.String,
        "groups": pl.Int64,
        "texts": pl.Int64,
        "icc": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "needed": pl.Int64,
        "status": pl.String,
    }
)
"""How far one text stands for its speaker in a simple measure: ``words`` of the text, ``sentence`` (words a sentence),
``entities`` (mentions). ``needed`` is how many texts have a mean with a reliability of .8. ``status`` is ``ok`` or
``not_enough``."""

_MOST = 60  # texts of a task that are compared each with each
_LEAST_TASKS = 2  # for an interval
_DIGITS = 9
_TIE = 1e-12


class _Block(NamedTuple):
    """The texts of a task: the numbers of their speakers, and how alike each two are, NaN where that is not known."""

    speaker: Ints
    alike: Floats


def measure_stability(
    texts: pl.DataFrame,
    entities: pl.DataFrame,
    codes: pl.DataFrame | None = None,
    *,
    seed: int,
    permutations: int = 999,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    r"""Compare texts, and programs, by one speaker with those by different ones, within tasks.

    In task t, :math:`W_t` is the mean likeness of two texts by one speaker, over all such pairs, and :math:`B_t` that
    of two texts by different ones. ``within``, ``between`` and ``difference`` are means over the tasks that have both,
    ``low`` and ``high`` the 95% interval of the difference over tasks (Student's t; null for a single task). For one
    speaker, only pairs with a text of that speaker count. ``p`` is that of a difference at least as large when
    speakers are shuffled among the texts of each task; ``q`` is Benjamini and Hochberg's over a measure's speakers.

    Parameters
    ----------
    texts
        ``text_id``, ``speaker``, ``task``, ``text``. Of more than 60 texts for a task, so many are drawn.
    entities
        As `extract_entities` gives.
    codes
        ``speaker``, ``task``, ``model``, ``language``, ``text`` of whole programs; those of one model and language are
        compared, each combination counting as a task. None leaves ``tsed`` out.
    seed
        Of the draws and shuffles. The result does not depend on the order of the rows.
    permutations
        How many, at least 1.

    Returns
    -------
    stability, reliability
        The columns of `STABILITY` and `RELIABILITY`. Where no task has two texts by one speaker and one by another,
        numbers are null and ``status`` is ``not_enough``.

    References
    ----------
    M. Post, "A Call for Clarity in Reporting BLEU Scores", 2018. https://doi.org/10.18653/v1/W18-6319 (SacreBLEU).
    """
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}; at least one is needed")
    spoken = texts.select("text_id", "speaker", pl.col("task").fill_null(""), pl.col("text").fill_null(""))
    spoken = spoken.filter(pl.col("text").str.contains(r"\w")).sort("task", "text_id")
    names = sorted(spoken["speaker"].unique())
    said = {text_id: set(found) for text_id, found in entities.group_by("text_id").agg("entity").iter_rows()}
    compared: dict[SpokenAs, list[_Block]] = {
        "bleu": list(_blocks(spoken, names, seed, lambda some: compare_text_matrices(some["text"].to_list()))),
        "entities": list(
            _blocks(spoken, names, seed, lambda some: _overlap([said.get(one, set()) for one in some["text_id"]]))
        ),
    }
    if has_semantic_model():
        compared["semantic"] = list(_blocks(spoken, names, seed, lambda some: compare_meanings(some["text"].to_list())))
    if codes is not None:
        written = codes.with_columns(
            text_id=pl.col("text"),
            task=pl.concat_str(pl.col("task").fill_null(""), "model", pl.col("language").fill_null(""), separator="\0"),
        ).sort("task", "speaker", "text")
        compared["tsed"] = list(_blocks(written, names, seed, _compare_codes))
    frames = [
        _compare(blocks, names, measure, derive_seed(seed, "stability", measure), permutations)
        for measure, blocks in compared.items()
    ]
    if "semantic" not in compared:
        missing = {"measure": "semantic", "tasks": 0, "status": "not_installed"}
        frames.append(pl.DataFrame([{name: missing.get(name) for name in STABILITY}], schema=STABILITY))
    return pl.concat([pl.DataFrame(schema=STABILITY), *frames]), _rely(spoken, entities)


def _blocks(
    texts: pl.DataFrame, names: list[str], seed: int, compare: Callable[[pl.DataFrame], Floats]
) -> Iterator[_Block]:
    """Yield the tasks in which there are two texts by one speaker and one by another."""
    numbers = {name: number for number, name in enumerate(names)}
    known = texts.filter(pl.col("speaker").is_in(names))
    for (task,), some in known.group_by("task", maintain_order=True):
        chosen = some
        if some.height > _MOST:
            draw = np.random.default_rng(derive_seed(seed, "texts to compare", str(task)))
            chosen = some[np.sort(draw.permutation(some.height)[:_MOST])]
        speaker = np.array([numbers[name] for name in chosen["speaker"]], dtype=np.int64)
        counts = np.bincount(speaker)
        if counts.max() > 1 and (counts > 0).sum() > 1:
            yield _Block(speaker, compare(chosen))


def compare_text_matrices(texts: list[str]) -> Floats:
    """Return SacreBLEU of every two texts, 0 to 1, the mean of both directions; shape (n, n), NaN on the diagonal.

    Sentence BLEU with the tokens 13a, exponential smoothing and effective order: short texts have no long n-grams.

    Examples
    --------
    >>> compare_text_matrices(["Write a calculator.", "Write a calculator."]).tolist()
    [[nan, 1.0], [1.0, nan]]
    """
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - heavy

    metric = BLEU(effective_order=True)
    alike = np.full((len(texts), len(texts)), np.nan)
    for one in range(len(texts)):
        for other in range(one):
            scores = [metric.sentence_score(texts[a], [texts[b]]).score for a, b in ((one, other), (other, one))]
            alike[one, other] = alike[other, one] = min(sum(scores) / 200, 1.0)
    return alike


def _overlap(said: list[set[str]]) -> Floats:
    """Return the share of entities in both texts among those in either; NaN where neither has one."""
    alike = np.full((len(said), len(said)), np.nan)
    for one in range(len(said)):
        for other in range(one):
            if either := len(said[one] | said[other]):
                alike[one, other] = alike[other, one] = len(said[one] & said[other]) / either
    return alike


def _compare_codes(codes: pl.DataFrame) -> Floats:
    return compare_code_matrices(codes["text"].to_list(), str(codes["language"][0] or ""))


def compare_code_matrices(codes: list[str], language: str) -> Floats:
    """Return TSED of every two programs in one language, shape (n, n); NaN where there is none, and on the diagonal."""
    alike = np.full((len(codes), len(codes)), np.nan)
    places = [(one, other) for one in range(len(codes)) for other in range(one)]
    try:
        results = tsed_pairs([(codes[one], codes[other]) for one, other in places], language=language)
    except (MissingError, ValueError):  # without a grammar, or with one that cannot be read, nothing is known
        return alike
    for (one, other), result in zip(places, results, strict=True):
        if result.score is not None:
            alike[one, other] = alike[other, one] = result.score
    return alike


def _compare(blocks: list[_Block], names: list[str], measure: SpokenAs, seed: int, permutations: int) -> pl.DataFrame:
    """Return the rows of `STABILITY` of one measure: everybody's, then each speaker's."""
    count = len(names)
    observed = (
        np.stack([_split(block, block.speaker, count) for block in blocks]) if blocks else np.empty((0, count + 1, 2))
    )
    gap = observed[:, :, 0] - observed[:, :, 1]
    known = ~np.isnan(gap)
    difference = _mean(gap)
    as_large = np.zeros(count + 1)
    draw = np.random.default_rng(seed)
    for _ in range(permutations if blocks else 0):
        shuffled = np.stack([_split(block, draw.permutation(block.speaker), count) for block in blocks])
        found = shuffled[:, :, 0] - shuffled[:, :, 1]
        # A difference counts in the tasks in which it was observed. Shuffled, one may lack there; it is then no larger.
        as_large += _mean(np.where(known, found, np.nan)) >= difference - _TIE
    p = np.where(known.any(axis=0), (1 + as_large) / (permutations + 1), np.nan)
    q = np.concatenate([[np.nan], adjust_p(p[1:])])
    rows = []
    for place, speaker in enumerate([None, *names]):
        tasks = int(known[:, place].sum())
        here = known[:, place]
        low, high = _interval(gap[here, place])
        means = [float(observed[here, place, side].mean()) if tasks else np.nan for side in (0, 1)]
        rows.append(
            (
                *(speaker, measure, tasks, *means, difference[place], low, high, p[place], q[place]),
                "ok" if tasks else "not_enough",
            )
        )
    frame = pl.DataFrame(rows, schema=STABILITY, orient="row")
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None).round(_DIGITS))


def _split(block: _Block, speaker: Ints, count: int) -> Floats:
    """Return the means of pairs by one speaker and by two, shape (1 + speakers, 2): everybody's, then each one's."""
    own = np.zeros((len(speaker), count))
    own[np.arange(len(speaker)), speaker] = 1.0
    there = ~np.isnan(block.alike)
    sums, pairs = own.T @ np.where(there, block.alike, 0.0) @ own, own.T @ there @ own
    mine, all_mine = np.diag(sums), np.diag(pairs)
    found = np.array(
        [
            [mine.sum(), sums.sum() - mine.sum(), all_mine.sum(), pairs.sum() - all_mine.sum()],
            *np.stack([mine, sums.sum(axis=1) - mine, all_mine, pairs.sum(axis=1) - all_mine], axis=1),
        ]
    )
    means: Floats = np.divide(found[:, :2], found[:, 2:], out=np.full((count + 1, 2), np.nan), where=found[:, 2:] > 0)
    return means


def _mean(values: Floats) -> Floats:
    """Return the mean over tasks of what is known, NaN where nothing is."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    means: Floats = np.divide(sums, counts, out=np.full(values.shape[1], np.nan), where=counts > 0)
    return means


def _interval(gaps: Floats) -> tuple[float, float]:
    from scipy.stats import t  # noqa: PLC0415 - heavy

    if len(gaps) < _LEAST_TASKS:
        return np.nan, np.nan
    half = float(t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return float(gaps.mean()) - half, float(gaps.mean()) + half


def _rely(texts: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `RELIABILITY`."""
    mentions = entities.group_by("text_id").agg(mentions=pl.len())
    measured = texts.join(mentions, on="text_id", how="left", maintain_order="left").with_columns(
        pl.col("mentions").fill_null(0).cast(pl.Float64),
        words=pl.col("text").str.count_matches(r"\w+(?:['’-]\w+)*").cast(pl.Float64),
        sentences=pl.col("text").str.count_matches(r"[.!?]+(?:\s|$)").clip(1).cast(pl.Float64),
    )
    measures: Mapping[str, pl.Expr] = {
        "words": pl.col("words"),
        "sentence": pl.col("words") / pl.col("sentences"),
        "entities": pl.col("mentions"),
    }
    rows: list[tuple[str | float | None, ...]] = []
    for name, values in measures.items():
        grouped = measured.group_by("task", "speaker", maintain_order=True).agg(values=values)
        blocks = [
            [np.array(group, dtype=np.float64) for group in some["values"]]
            for _, some in grouped.group_by("task", maintain_order=True)
        ]
        found = measure_reliability(blocks)
        if found is None:
            rows.append((name, None, None, None, None, None, None, "not_enough"))
        else:
            rows.append((name, found.groups, found.measurements, found.icc, found.low, found.high, found.needed, "ok"))
    return pl.DataFrame(rows, schema=RELIABILITY, orient="row").with_columns(pl.col(pl.Float64).round(_DIGITS))

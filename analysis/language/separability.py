"""Can one tell from the words alone who is speaking? An accuracy on unseen tasks, its p, the words that carry it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from analysis.language.distinctive import list_words
from analysis.language.held_out import Judged, Labelled, judge_texts
from analysis.language.overlap import adjust_p
from analysis.language.topics import NotEnoughText
from simulator.running.calls import derive_seed

__all__ = [
    "CONFUSION",
    "SEPARABILITY",
    "SEPARATED_PAIRS",
    "SEPARATING_WORDS",
    "Separability",
    "separate_speakers",
    "tell_separability",
]

SEPARABILITY = pl.Schema(
    {
        "speakers": pl.Int64(),
        "texts": pl.Int64(),
        "tasks": pl.Int64(),
        "held_out": pl.String(),
        "folds": pl.Int64(),
        "accuracy": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "chance": pl.Float64(),
        "expected": pl.Float64(),
        "permutations": pl.Int64(),
        "p": pl.Float64(),
    }
)
"""One row. ``held_out`` is ``task`` or ``text``; ``chance`` is one in the number of speakers, ``expected`` the mean
accuracy of the shuffled; ``low`` and ``high`` are null where texts are held out."""

CONFUSION = pl.Schema({"speaker": pl.String(), "predicted": pl.String(), "count": pl.Int64(), "share": pl.Float64()})
"""How many texts of ``speaker`` were taken for texts of ``predicted``, and which share of the speaker's texts."""

SEPARATED_PAIRS = pl.Schema(
    {
        "a": pl.String(),
        "b": pl.String(),
        "texts": pl.Int64(),
        "tasks": pl.Int64(),
        "accuracy": pl.Float64(),
        "p": pl.Float64(),
        "q": pl.Float64(),
    }
)
"""Two speakers, by a classifier that knows only these two and the tasks which both answered; chance is 0.5."""

SEPARATING_WORDS = pl.Schema(
    {
        "speaker": pl.String(),
        "rank": pl.Int64(),
        "word": pl.String(),
        "texts": pl.Int64(),
        "others_texts": pl.Int64(),
        "weight": pl.Float64(),
        "stability": pl.Float64(),
        "share": pl.Float64(),
    }
)
"""A word, or two neighbouring words, that tells a speaker. ``share`` is its part in what the speaker's held-out texts
score above other texts; a negative ``weight`` says that it tells by its absence."""

_MOST_TEXTS = 3_000
_MOST_PAIRS = 500
_LEVEL = 0.05
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Separability:
    """What `separate_speakers` found: four tables, the sentence that says it, and what a reader must be warned of.

    Where there is too little text, the tables are empty, and ``sentence`` is a `NotEnoughText`, also in ``warnings``.
    """

    summary: pl.DataFrame
    confusion: pl.DataFrame
    pairs: pl.DataFrame
    words: pl.DataFrame
    sentence: str
    warnings: list[str]


def separate_speakers(
    texts: pl.DataFrame, *, seed: int, permutations: int = 999, top: int = 10, pairs: bool = True
) -> Separability:
    r"""Let a classifier tell who wrote texts on tasks that it has not seen, and say whether that beats chance.

    *Texts.* Those without a word are left out, and so are speakers with fewer than two texts or, where there are
    several tasks, with texts on one task only: nothing is known of them while that is held out. Of more than 3,000
    texts a seeded sample is taken, the same number of each speaker and spread over the tasks.

    *Held out* are whole tasks, one after the other (ten groups of tasks where there are more than ten). So nobody is
    told by the words of a task, even where different speakers answered different tasks, and a task's own words need
    not be taken out: in the texts that are judged every speaker has them alike, and where a classifier has learned
    another task's words they do not occur. Where all texts answer one task, texts are held out instead, in ten random
    groups; a warning says what that cannot tell.

    *Classifier.* TF-IDF of words and pairs of neighbours (sublinear, rows of length 1), learned from the training
    texts alone; then ridge regression on indicators of the speakers (penalty 1), and the speaker with the largest
    score in standard deviations of the indicator, so that one with many texts is not chosen for that. On 200 real
    rewrites by five personas, 52%, it is as good as others: logistic regression 51.5 to 53% (C from 0.1 to 100), a
    linear support-vector machine 51.5 to 53% (C from 0.1 to 10), ridge with penalties from 0.03 to 100 51.5 to 52.5%,
    words without pairs 50%. Its scores are a fixed matrix times the labels, so that a shuffle costs a sum and no fit.
    With one to five texts a task, by speaker, of the same rewrites it keeps 52%, where the largest posterior gives 42%.

    *Accuracy* is balanced: in each task the share of texts that are told, by speaker, averaged over speakers, then
    over tasks; chance is one in the number of speakers. The interval is Student's t over tasks, cut to [0, 1]; as
    tasks share their training texts it is approximate, and whether speakers differ is for p to say. ``p`` is one-sided:
    speakers are shuffled within tasks, with all that follows; p = (1 + shuffles that are told as well) / (permutations
    + 1), never 0.

    Parameters
    ----------
    texts
        ``text_id``, ``speaker``, ``task``, ``text``. The order of rows decides the order of speakers in the tables and
        nothing else.
    seed
        Of shuffles, of random groups and of the sample; each task has its own stream.
    permutations
        How many shuffles, at least 1.
    top
        How many words of each speaker, at least 1: those with the largest share.
    pairs
        Whether to separate every two speakers too, by a classifier that knows only these. With more than 500 pairs
        it is not done, and a warning says so.

    Returns
    -------
    Separability
        ``summary`` (`SEPARABILITY`), ``confusion`` (`CONFUSION`, every two speakers), ``pairs`` (`SEPARATED_PAIRS`;
        accuracy, p and q null where the two did not answer two tasks in common, q by Benjamini and Hochberg over pairs
        with a p), ``words`` (`SEPARATING_WORDS`; of a speaker whose texts do not score above others', none).

    Raises
    ------
    ValueError
        ``permutations`` or ``top`` is below 1.

    References
    ----------
    Ojala, M. and Garriga, G. C. (2010). Permutation tests for studying classifier performance. JMLR 11, 1833-1863.
    Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. doi:10.2202/1544-6115.1585.
    Hoerl, A. E. and Kennard, R. W. (1970). Ridge regression. doi:10.1080/00401706.1970.10488634.
    Brodersen, K. H. et al. (2010). The balanced accuracy and its posterior distribution. doi:10.1109/ICPR.2010.764.

    Examples
    --------
    >>> said = {"ann": "kindly make a {} for my class", "bob": "implement a scalable {} service"}
    >>> rows = [
    ...     (f"{speaker} {task} {n}", speaker, task, text.format(task))
    ...     for speaker, text in said.items()
    ...     for task in ("game", "shop", "clock", "poll")
    ...     for n in (1, 2)
    ... ]
    >>> texts = pl.DataFrame(rows, schema=["text_id", "speaker", "task", "text"], orient="row")
    >>> separate_speakers(texts, seed=7, permutations=99).summary.select("accuracy", "chance", "p").row(0)
    (1.0, 0.5, 0.01)
    """
    if permutations < 1 or top < 1:
        raise ValueError(f"permutations is {permutations} and top is {top}; at least one of each is needed")
    used, by_task, warnings = _choose_texts(texts, seed=seed)
    if by_task is None:
        return _nothing(warnings)
    speakers: list[str] = [
        name for name in texts["speaker"].unique(maintain_order=True) if name in set(used["speaker"])
    ]
    said = _label(used, sorted(speakers))
    judged = judge_texts(
        said, by_task=by_task, seed=seed, names=("separability",), permutations=permutations, weigh=True
    )
    summary = _summarize(judged, said, by_task=by_task)
    confusion = _confuse(judged, said, speakers)
    separated = pl.DataFrame(schema=SEPARATED_PAIRS)
    count = len(speakers) * (len(speakers) - 1) // 2
    if pairs and count <= _MOST_PAIRS:
        separated = _separate_pairs(used, speakers, by_task=by_task, seed=seed, permutations=permutations)
    elif pairs:
        warnings.append(
            f"{len(speakers)} speakers make {count:,} pairs; only up to {_MOST_PAIRS} are separated in pairs."
        )
    words = _list_words(judged, said, speakers, top)
    return Separability(summary, confusion, separated, words, tell_separability(summary, confusion), warnings)


def _choose_texts(texts: pl.DataFrame, *, seed: int) -> tuple[pl.DataFrame, bool | None, list[str]]:
    """Return the texts to judge in an order of their own, whether tasks are held out, and warnings.

    None instead of the second, and one `NotEnoughText`, where nothing can be judged.
    """
    frame = texts.select("text_id", "speaker", pl.col("task").fill_null(""), pl.col("text").fill_null(""))
    frame = frame.sort("task", "text_id", "speaker", "text")
    wordless = [not list_words(text) for text in frame["text"].to_list()]
    frame = frame.filter(~pl.Series(wordless, dtype=pl.Boolean))
    warnings = []
    if sum(wordless):
        warnings.append(f"{sum(wordless)} of {texts.height} texts have no word and are left out of the separability.")
    several = frame["task"].n_unique() > 1
    kept = _keep_known(frame, several=several)
    if kept.height > _MOST_TEXTS:
        warnings.append(f"Of {kept.height:,} texts a sample of {_MOST_TEXTS:,}, even over speakers, is separated.")
        kept = _keep_known(_sample(kept, seed=seed), several=several)
    lost = sorted(set(frame["speaker"]) - set(kept["speaker"]))
    least = "texts on two tasks" if several else "two texts"
    if kept["speaker"].n_unique() < 2:
        known = kept["speaker"].n_unique()
        why = f"of {_count_words(texts['speaker'].n_unique(), 'speaker')} {known} answered with {least} or more"
    elif kept.group_by("task").agg(pl.col("speaker").n_unique())["speaker"].max() == 1:
        why = "no task was answered by two speakers, so that speaker and task cannot be told apart"
    else:
        if lost:
            names = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
            warnings.append(
                f"Left out of the separability, without {least}: {_count_words(len(lost), 'speaker')} ({names})."
            )
        if not several:
            warnings.append(
                "All texts answer one task, so that texts are held out and not tasks: whether the speakers would be "
                "told on another task is unknown, and one who repeats a sentence is told by that."
            )
        return kept, several, warnings
    need = f"two speakers with {least} each are needed"
    return kept, None, [NotEnoughText(f"Not enough text to tell speakers apart: {why}; {need}.")]


def _count_words(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)


def _keep_known(frame: pl.DataFrame, *, several: bool) -> pl.DataFrame:
    """Keep the speakers of whom something is known while a part of their texts is held out."""
    known = pl.col("task").n_unique().over("speaker") if several else pl.len().over("speaker")
    return frame.filter(known >= 2)


def _sample(frame: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Take the first texts of each speaker, task by task and again from the first; the largest tasks first."""
    rng = np.random.default_rng(derive_seed(seed, "separability", "sample"))
    order = (
        frame.with_columns(size=pl.len().over("task"), draw=pl.Series(rng.random(frame.height)))
        .with_columns(turn=pl.col("draw").rank("ordinal").over("speaker", "task"))
        .sort("turn", "size", "task", "draw", descending=[False, True, False, False])
        .with_columns(place=pl.int_range(pl.len()).over("speaker"))
        .sort("place", "draw")
    )
    return order.head(_MOST_TEXTS).select(frame.columns).sort("task", "text_id", "speaker", "text")


def _label(frame: pl.DataFrame, names: list[str]) -> Labelled:
    number = {name: i for i, name in enumerate(names)}
    label = np.array([number[name] for name in frame["speaker"].to_list()], dtype=np.int64)
    return Labelled(frame["text"].to_list(), frame["task"].to_list(), label, names)


def _nothing(warnings: list[str]) -> Separability:
    return Separability(
        summary=pl.DataFrame(schema=SEPARABILITY),
        confusion=pl.DataFrame(schema=CONFUSION),
        pairs=pl.DataFrame(schema=SEPARATED_PAIRS),
        words=pl.DataFrame(schema=SEPARATING_WORDS),
        sentence=warnings[-1],
        warnings=warnings,
    )


def _summarize(judged: Judged, said: Labelled, *, by_task: bool) -> pl.DataFrame:
    from scipy.stats import t  # noqa: PLC0415 - heavy

    tasks = len(judged.by_task)
    low = high = None
    if by_task:
        half = float(t.ppf(0.975, tasks - 1) * judged.by_task.std(ddof=1) / tasks**0.5)
        low, high = max(0.0, judged.accuracy - half), min(1.0, judged.accuracy + half)
    row = {
        "speakers": len(said.names),
        "texts": len(said.texts),
        "tasks": tasks,
        "held_out": "task" if by_task else "text",
        "folds": judged.folds,
        "accuracy": judged.accuracy,
        "low": low,
        "high": high,
        "chance": 1 / len(said.names),
        "expected": float(judged.shuffled.mean()),
        "permutations": len(judged.shuffled),
        "p": judged.p,
    }
    return pl.DataFrame([row], schema=SEPARABILITY).with_columns(pl.col(pl.Float64).round(_DIGITS))


def _confuse(judged: Judged, said: Labelled, speakers: list[str]) -> pl.DataFrame:
    count = np.zeros((len(speakers), len(speakers)), dtype=np.int64)
    np.add.at(count, (said.label, judged.chosen), 1)
    place = [said.names.index(name) for name in speakers]
    count = count[np.ix_(place, place)]
    rows = {
        "speaker": np.repeat(speakers, len(speakers)),
        "predicted": np.tile(speakers, len(speakers)),
        "count": count.ravel(),
        "share": (count / count.sum(axis=1, keepdims=True)).round(_DIGITS).ravel(),
    }
    return pl.DataFrame(rows, schema=CONFUSION)


def _separate_pairs(
    used: pl.DataFrame, speakers: list[str], *, by_task: bool, seed: int, permutations: int
) -> pl.DataFrame:
    rows: list[tuple[object, ...]] = []
    for a, b in combinations(speakers, 2):
        both = used.filter(pl.col("speaker").is_in([a, b]))
        both = both.filter(pl.col("speaker").n_unique().over("task") == 2)
        tasks = both["task"].n_unique()
        if tasks < (2 if by_task else 1):
            rows.append((a, b, both.height, tasks, None, None))
            continue
        names = sorted([a, b])
        judged = judge_texts(
            _label(both, names),
            by_task=by_task,
            seed=seed,
            names=("separability", *names),
            permutations=permutations,
        )
        rows.append((a, b, both.height, tasks, round(judged.accuracy, _DIGITS), judged.p))
    frame = pl.DataFrame(rows, schema=pl.Schema({k: v for k, v in SEPARATED_PAIRS.items() if k != "q"}), orient="row")
    q = adjust_p(frame["p"].cast(pl.Float64).fill_null(float("nan")).to_numpy())
    return frame.with_columns(q=pl.Series(q).fill_nan(None).round(_DIGITS), p=pl.col("p").round(_DIGITS))


def _list_words(judged: Judged, said: Labelled, speakers: list[str], top: int) -> pl.DataFrame:
    weights = judged.weights
    rows: list[tuple[object, ...]] = []
    if weights is None:
        return pl.DataFrame(schema=SEPARATING_WORDS)
    everyone = weights.texts.sum(axis=0)
    for name in speakers:
        i = said.names.index(name)
        share = weights.share[i].round(_DIGITS)
        # NaN is not above 0. Grams are in alphabetical order, which decides ties.
        best = [j for j in np.argsort(-share, kind="stable")[:top] if share[j] > 0]
        rows += [
            (
                name,
                rank,
                weights.grams[j],
                int(weights.texts[i, j]),
                int(everyone[j] - weights.texts[i, j]),
                round(float(weights.weight[i, j]), _DIGITS),
                round(float(weights.stability[i, j]), _DIGITS),
                float(share[j]),
            )
            for rank, j in enumerate(best, start=1)
        ]
    return pl.DataFrame(rows, schema=SEPARATING_WORDS, orient="row")


def tell_separability(summary: pl.DataFrame, confusion: pl.DataFrame) -> str:
    """Say in two sentences how well who is told, and whether that is chance, from the tables `separate_speakers` gave.

    There is a row in each.
    """
    row = summary.row(0, named=True)
    unseen = "on tasks it had not seen" if row["held_out"] == "task" else "in texts it had not seen"
    interval = ""
    if row["low"] is not None:
        interval = f"95% interval over {row['tasks']} tasks {row['low']:.0%} to {row['high']:.0%}; "
    verdict = "they can be told apart" if row["p"] <= _LEVEL else "that is not beyond chance"
    told = confusion.filter(pl.col("speaker") == pl.col("predicted")).sort(
        "share", descending=True, maintain_order=True
    )
    best, worst = told.row(0, named=True), told.row(-1, named=True)
    return (
        f"From words alone a classifier told the {row['speakers']} speakers {unseen} in {row['accuracy']:.0%} of their "
        f"texts ({interval}chance {row['chance']:.0%}; p = {row['p']:.3g}, {row['permutations']:,} shuffles of "
        f"speakers within tasks): {verdict}. It knew {best['speaker']} best ({best['share']:.0%}) and "
        f"{worst['speaker']} least ({worst['share']:.0%})."
    )

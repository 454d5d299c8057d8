"""Whether it can be told from a text alone who wrote it: how often, against what chance, and by which words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.language.overlap import adjust_p
from simulator.running.calls import derive_seed

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["CONFUSION", "SEPARABILITY", "TELLING_WORDS", "Separability", "separate_speakers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEPARABILITY = pl.Schema(
    {
        "a": pl.String,
        "b": pl.String,
        "speakers": pl.Int64,
        "texts": pl.Int64,
        "tasks": pl.Int64,
        "accuracy": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "chance": pl.Float64,
        "p": pl.Float64,
        "q": pl.Float64,
    }
)
"""How often the speaker is told: first all of them at once (``a`` and ``b`` are null), then every two alone."""

CONFUSION = pl.Schema({"speaker": pl.String, "predicted": pl.String, "count": pl.Int64, "share": pl.Float64})
"""How many of a speaker's texts were taken for whose; ``share`` is of that speaker's texts."""

TELLING_WORDS = pl.Schema(
    {
        "speaker": pl.String,
        "rank": pl.Int64,
        "words": pl.String,
        "weight": pl.Float64,
        "stable": pl.Float64,
        "share": pl.Float64,
        "share_others": pl.Float64,
    }
)
"""One word, or two, that speak for a speaker. ``weight`` has no unit; ``stable`` is the share of folds in which it is
positive; ``share`` is that of the speaker's texts that have the words, ``share_others`` that of all other texts."""

_MOST_TEXTS = 4_000  # a matrix of their likeness: 128 MB
_MOST_PAIRED = 8  # speakers, 28 pairs
_CELLS = 4_000_000  # of who wrote what in as many shuffles as are predicted at once: 32 MB; changes no result
_MANY = 64  # speakers from which a sparse product is the faster one; changes no result
_FOLDS = 10
_RIDGE = 1.0
_WORDS = 20
_DIGITS = 9
_TIE = 1e-9


class Separability(NamedTuple):
    """What `separate_speakers` found.

    Parameters
    ----------
    separability, confusion, telling_words
        The columns of `SEPARABILITY`, `CONFUSION` and `TELLING_WORDS`; without rows where there was too little text.
    warnings
        What a reader must know, or why there is nothing.
    """

    separability: pl.DataFrame
    confusion: pl.DataFrame
    telling_words: pl.DataFrame
    warnings: list[str]


class _Texts(NamedTuple):
    """Texts that are told apart: of each its vector, and the numbers of its speaker, task and fold."""

    vectors: csr_matrix
    words: list[str]
    names: list[str]
    speaker: Ints
    task: Ints
    fold: Ints


class _Told(NamedTuple):
    predicted: Ints
    accuracy: float
    low: float
    high: float
    p: float


def separate_speakers(texts: pl.DataFrame, *, seed: int, permutations: int = 999) -> Separability:
    r"""Let a classifier say who wrote each text, having read the texts for other tasks.

    A text is the vector of its words and pairs of words (TF-IDF with sublinear counts, words in two texts at least,
    unit length; words are chosen without a look at who wrote what). A fold is one task, or, of more than ten, several;
    no task is in two folds, so that a classifier cannot know a text by what it asks for. Words are weighted, and the
    classifier is fitted, without the fold that is predicted. The classifier is ridge regression of who wrote it:
    :math:`s_c(x) = \hat P(c|x) / \hat P(c) - 1`, which is in proportion to the likelihood, so that nobody is preferred
    for having written more; the largest wins, a tie goes to the first name. Being linear in the speakers, it can be
    fitted to a thousand shuffled ones for the price of one.

    ``accuracy`` is balanced: the mean over speakers of the share of their texts that is theirs in prediction; chance is
    1 / speakers. ``low`` and ``high`` are its 95% interval over folds that are tasks (Student's t; null where there are
    fewer than 3). ``p`` is that of an accuracy at least as large when speakers are shuffled among the texts of each
    task: (1 + as large) / (permutations + 1). Every two speakers are also told apart with nobody else there, with ``q``
    by Benjamini and Hochberg over the pairs; of more than 8 speakers there are no pairs.

    Parameters
    ----------
    texts
        ``text_id``, ``speaker``, ``task``, ``text``. Texts without a word are left out. Where all texts are for one
        task, or none is named, folds are made of texts, and a warning says so. Of more than 4,000 texts, so many are
        drawn.
    seed
        Of the shuffles, and of a draw. The result does not depend on the order of the rows.
    permutations
        How many, at least 1.

    Returns
    -------
    Separability
        Without rows where fewer than two speakers have texts for two tasks (or, without tasks, two texts).

    References
    ----------
    M. Ojala and G. C. Garriga, "Permutation Tests for Studying Classifier Performance", Journal of Machine Learning
    Research 11, 2010. https://jmlr.org/papers/v11/ojala10a.html
    B. Phipson and G. K. Smyth, "Permutation P-values Should Never Be Zero", 2010. https://doi.org/10.2202/1544-6115.1585
    """
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}; at least one is needed")
    used, warnings = _choose(texts, seed)
    if used is None:
        return _nothing(warnings)
    known = _read(used)
    if known is None:
        return _nothing([*warnings, "Not enough text to tell speakers apart: no word stands in two texts."])
    told = _tell(known, seed=seed, permutations=permutations)
    everybody = {"speakers": len(known.names), **_row(known, told)}
    pairs = []
    if 2 < len(known.names) <= _MOST_PAIRED:
        for a, b in combinations(range(len(known.names)), 2):
            two = _restrict(known, [a, b])
            both = _tell(two, seed=derive_seed(seed, *two.names), permutations=permutations)
            pairs.append({"a": two.names[0], "b": two.names[1], "speakers": 2, **_row(two, both)})
    elif len(known.names) > _MOST_PAIRED:
        warnings.append(f"Of {len(known.names)} speakers only all at once are told apart, not every two of them.")
    q = adjust_p(np.array([pair["p"] for pair in pairs], dtype=np.float64)).tolist()
    rows = [everybody, *({**pair, "q": one} for pair, one in zip(pairs, q, strict=True))]
    frame = pl.DataFrame([{name: row.get(name) for name in SEPARABILITY} for row in rows], schema=SEPARABILITY)
    measured = ["accuracy", "low", "high", "chance", "p", "q"]
    return Separability(
        frame.with_columns(pl.col(measured).fill_nan(None).round(_DIGITS)),
        _confuse(known, told.predicted),
        _weigh(known),
        warnings,
    )


def _nothing(warnings: list[str]) -> Separability:
    separability, confusion, words = (pl.DataFrame(schema=one) for one in (SEPARABILITY, CONFUSION, TELLING_WORDS))
    return Separability(separability, confusion, words, warnings)


def _choose(texts: pl.DataFrame, seed: int) -> tuple[pl.DataFrame | None, list[str]]:
    """Return the texts that are told apart, with a column ``fold``; None where there are too few."""
    warnings = []
    used = texts.select("text_id", "speaker", pl.col("task").fill_null(""), pl.col("text").fill_null(""))
    used = used.filter(pl.col("text").str.contains(r"\w")).sort("text_id", "speaker", "task", "text")
    by_task = used["task"].n_unique() > 1
    unit = "task" if by_task else "text_id"
    enough = used.group_by("speaker").agg(units=pl.col(unit).n_unique()).filter(pl.col("units") > 1)["speaker"]
    lost = sorted(set(used["speaker"]) - set(enough))
    used = used.filter(pl.col("speaker").is_in(enough.implode()))
    of = "texts for two tasks" if by_task else "two texts"
    if used["speaker"].n_unique() < 2:
        return None, [f"Not enough text to tell speakers apart: fewer than two of them have {of}."]
    if lost:
        named = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        warnings.append(f"Not told apart from others, for want of {of}: {named}.")
    if not by_task:
        warnings.append(
            "All texts are for one task, or name none: speakers are told apart by what they talk of as well as by how."
        )
    if used.height > _MOST_TEXTS:
        warnings.append(f"Speakers are told apart by {_MOST_TEXTS:,} of {used.height:,} texts, drawn at random.")
        draw = np.random.default_rng(derive_seed(seed, "texts to tell apart"))
        used = used[np.sort(draw.permutation(used.height)[:_MOST_TEXTS])]
    return _fold(used, by_task=by_task, seed=seed), warnings


def _fold(used: pl.DataFrame, *, by_task: bool, seed: int) -> pl.DataFrame:
    """Put each task, or without tasks each text, into one of at most ten folds of about the same size."""
    if by_task:
        sizes = used.group_by("task").len().sort("len", "task", descending=[True, False])
        held, place = [0] * min(_FOLDS, sizes.height), {}
        for task, size in sizes.iter_rows():
            least = held.index(min(held))
            place[task] = least
            held[least] += size
        return used.with_columns(fold=pl.col("task").replace_strict(place, return_dtype=pl.Int64))
    draw = np.random.default_rng(derive_seed(seed, "folds of texts"))
    shuffled = used[draw.permutation(used.height)]
    return shuffled.with_columns(fold=pl.int_range(pl.len()).over("speaker") % _FOLDS).sort("text_id")


def _read(used: pl.DataFrame) -> _Texts | None:
    """Count the words of each text."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - heavy

    counter = CountVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"(?u)\b\w+\b", dtype=np.float64)  # noqa: S106 - words
    try:
        vectors = counter.fit_transform(used["text"].to_list())
    except ValueError:  # no word is left
        return None
    names = sorted(used["speaker"].unique())
    tasks = sorted(used["task"].unique())
    return _Texts(
        vectors=vectors,
        words=counter.get_feature_names_out().tolist(),
        names=names,
        speaker=used["speaker"].replace_strict(names, list(range(len(names))), return_dtype=pl.Int64).to_numpy(),
        task=used["task"].replace_strict(tasks, list(range(len(tasks))), return_dtype=pl.Int64).to_numpy(),
        fold=used["fold"].to_numpy(),
    )


def _restrict(known: _Texts, speakers: list[int]) -> _Texts:
    kept = np.flatnonzero(np.isin(known.speaker, speakers))
    return known._replace(
        vectors=known.vectors[kept],
        names=[known.names[speaker] for speaker in speakers],
        speaker=np.searchsorted(speakers, known.speaker[kept]),
        task=known.task[kept],
        fold=known.fold[kept],
    )


def _tell(known: _Texts, *, seed: int, permutations: int) -> _Told:
    """Predict who wrote each text, as it is and with speakers shuffled within tasks."""
    rules, count = list(_rules(known)), len(known.names)
    predicted = _predict(rules, known.speaker[None, :], count)[0]
    accuracy = _balanced(known.speaker, predicted)
    as_large = 0
    for shuffled in _shuffle(known, seed=seed, permutations=permutations):
        right = _predict(rules, shuffled, count) == shuffled
        weights = 1 / np.bincount(known.speaker)[shuffled]  # everybody keeps as many texts
        as_large += int(((right * weights).sum(axis=1) / count >= accuracy - _TIE).sum())
    low, high = _interval(known, predicted)
    return _Told(predicted, accuracy, low, high, (1 + as_large) / (permutations + 1))


def _shuffle(known: _Texts, *, seed: int, permutations: int) -> Iterator[Ints]:
    """Yield speakers shuffled within tasks, shape (some permutations, texts), as many as fit into memory at once."""
    draw = np.random.default_rng(derive_seed(seed, "who wrote it"))
    blocks = [np.flatnonzero(known.task == task) for task in np.unique(known.task)]
    at_once = max(1, _CELLS // (len(known.speaker) * len(known.names)))
    for begin in range(0, permutations, at_once):
        shuffled = np.tile(known.speaker, (min(at_once, permutations - begin), 1))
        for row in shuffled:
            for block in blocks:
                row[block] = known.speaker[block][draw.permutation(len(block))]
        yield shuffled


def _rules(known: _Texts) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield for each fold its texts, all others, and the matrix that makes predictions of who wrote those others."""
    for fold in np.unique(known.fold):
        test, train = np.flatnonzero(known.fold == fold), np.flatnonzero(known.fold != fold)
        vectors = _vectorize(known, train)
        likeness = np.asarray((vectors[test] @ vectors[train].T).todense())
        yield test, train, _solve_ridge(vectors[train], likeness.T).T


def _vectorize(known: _Texts, train: Ints) -> csr_matrix:
    """Return all texts as vectors, weighted as the texts of training say."""
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415 - heavy

    weighted = TfidfTransformer(sublinear_tf=True).fit(known.vectors[train])
    return weighted.transform(known.vectors)


def _solve_ridge(vectors: csr_matrix, targets: Floats) -> Floats:
    """Return the weight of each text in a ridge regression of targets, shape (texts, columns of the targets)."""
    from scipy.linalg import cho_factor, cho_solve  # noqa: PLC0415 - heavy

    alike = np.asarray((vectors @ vectors.T).todense())
    factor = cho_factor(alike + _RIDGE * np.eye(len(alike)), overwrite_a=True, check_finite=False)
    found: Floats = cho_solve(factor, targets, check_finite=False)
    return found


def _predict(rules: list[tuple[Ints, Ints, Floats]], speakers: Ints, count: int) -> Ints:
    """Return who is taken to have written each text, shape (rows, texts), for each row of who did."""
    predicted = np.empty_like(speakers)
    for test, train, rule in rules:
        if count > _MANY:
            scores = np.stack([_regress(rule, row[train], count) for row in speakers], axis=1)
        else:
            own = (speakers[:, train].T[:, :, None] == np.arange(count)).astype(np.float64)
            sums = (rule @ own.reshape(len(train), -1)).reshape(len(test), len(speakers), count)
            share = own.sum(axis=0) / len(train)
            scores = np.divide(sums, share, out=np.zeros_like(sums), where=share > 0)  # less what all have in common
        predicted[:, test] = np.argmax(np.round(scores, _DIGITS), axis=2).T
    return predicted


def _regress(rule: Floats, speaker: Ints, count: int) -> Floats:
    """Return a matrix times who wrote each text: 1 / share - 1 in the column of the speaker and -1 in all others."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy

    texts = np.arange(len(speaker))
    share = np.bincount(speaker, minlength=count) / len(speaker)
    own = csr_matrix((1 / share[speaker], (texts, speaker)), shape=(len(speaker), count))
    found: Floats = rule @ own - rule.sum(axis=1, keepdims=True)
    return found


def _balanced(speaker: Ints, predicted: Ints) -> float:
    """Return the mean, over the speakers that there are, of the share of their texts that is theirs in prediction."""
    texts = np.bincount(speaker)
    right = np.bincount(speaker[speaker == predicted], minlength=len(texts))
    return float((right[texts > 0] / texts[texts > 0]).mean())


def _interval(known: _Texts, predicted: Ints) -> tuple[float, float]:
    """Return the 95% interval of the accuracy over tasks, each one's own balanced accuracy being one observation."""
    from scipy.stats import t  # noqa: PLC0415 - heavy

    tasks = np.unique(known.task)
    if len(tasks) < 3:
        return np.nan, np.nan
    found: list[float] = []
    for task in tasks:
        here = known.task == task
        found.append(_balanced(known.speaker[here], predicted[here]))
    mean = sum(found) / len(found)
    half = float(t.ppf(0.975, len(tasks) - 1) * np.std(found, ddof=1) / np.sqrt(len(tasks)))
    return max(0.0, mean - half), min(1.0, mean + half)


def _row(known: _Texts, told: _Told) -> dict[str, float | int]:
    return {
        "texts": len(known.speaker),
        "tasks": len(np.unique(known.task)),
        "accuracy": told.accuracy,
        "low": told.low,
        "high": told.high,
        "chance": 1 / len(known.names),
        "p": told.p,
    }


def _confuse(known: _Texts, predicted: Ints) -> pl.DataFrame:
    count = len(known.names)
    table = np.bincount(known.speaker * count + predicted, minlength=count * count).reshape(count, count)
    rows = [
        (known.names[one], known.names[other], int(table[one, other]), table[one, other] / table[one].sum())
        for one in range(count)
        for other in range(count)
        if table[one, other] or count <= _MOST_PAIRED
    ]
    return pl.DataFrame(rows, schema=CONFUSION, orient="row").with_columns(pl.col("share").round(_DIGITS))


def _weigh(known: _Texts) -> pl.DataFrame:
    """Rank the words that speak for each speaker: those of a classifier that has read everything."""
    count, everything = len(known.names), np.arange(len(known.speaker))
    weights = _fit(known, everything)
    positive = np.zeros_like(weights)
    folds = np.unique(known.fold)
    for fold in folds:
        positive += _fit(known, np.flatnonzero(known.fold != fold)) > 0
    used = (known.vectors > 0).astype(np.float64)
    rows = []
    for speaker in range(count):
        own = known.speaker == speaker
        share, others = (np.asarray(used[mask].mean(axis=0)).ravel() for mask in (own, ~own))
        order = np.lexsort((np.arange(len(known.words)), -np.round(weights[:, speaker], _DIGITS)))[:_WORDS]
        for rank, word in enumerate(order[weights[order, speaker] > 0], 1):
            stable = positive[word, speaker] / len(folds)
            cells = (weights[word, speaker], stable, share[word], others[word])
            rows.append((known.names[speaker], rank, known.words[word], *cells))
    frame = pl.DataFrame(rows, schema=TELLING_WORDS, orient="row")
    return frame.with_columns(pl.col("weight", "stable", "share", "share_others").round(_DIGITS))


def _fit(known: _Texts, train: Ints) -> Floats:
    """Return the weight of each word for each speaker, shape (words, speakers)."""
    vectors = _vectorize(known, train)[train]
    own = known.speaker[train][:, None] == np.arange(len(known.names))
    share = own.mean(axis=0)
    targets = np.divide(own, share, out=np.zeros(own.shape), where=share > 0) - 1
    weights: Floats = vectors.T @ _solve_ridge(vectors, targets)
    return weights

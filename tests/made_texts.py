"""Made-up texts whose speakers differ by as much as a test says."""

import numpy as np
import polars as pl

__all__ = ["made_texts"]


def made_texts(
    rng: np.random.Generator,
    speakers: int,
    *,
    tasks: int = 3,
    each: int = 3,
    words: int = 12,
    markers: dict[int, str] | None = None,
    share: float = 1.0,
) -> pl.DataFrame:
    """Draw words from one vocabulary and the task's own; speaker n says ``markers[n]`` in that share of the texts."""
    common = [f"w{n}" for n in range(60)]
    rows = []
    for task in range(tasks):
        own = [f"t{task}x{n}" for n in range(20)]
        for speaker in range(speakers):
            for number in range(each):
                said = [str(word) for word in rng.choice(common + own, rng.poisson(words) + 1)]
                if speaker in (markers or {}) and rng.random() < share:
                    said.insert(int(rng.integers(len(said) + 1)), (markers or {})[speaker])
                rows.append((f"{task}-{speaker}-{number}", f"s{speaker}", f"task {task}", " ".join(said)))
    return pl.DataFrame(rows, schema=dict.fromkeys(["text_id", "speaker", "task", "text"], pl.String), orient="row")

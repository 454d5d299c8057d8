"""The embedded model as a LangChain chat model, for use in anything that is built on LangChain."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ChatMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr

from simulator.errors import UsageError
from simulator.running.calls import Message
from simulator.running.models.embedded import (
    CONTEXT_TOKENS,
    Completion,
    Engine,
    build_request,
    choose_sampling,
    count_threads,
    describe_embedded,
)
from simulator.running.models.parameters import check_parameters

__all__ = ["EmbeddedChat"]


class EmbeddedChat(BaseChatModel):
    """A chat model that runs in this process; see `simulator.running.models.embedded`.

    It answers, streams, takes stop texts and counts tokens. It calls no tools, reads no images, and promises no
    structure; asking for one of these is an error. The weights are loaded at the first answer, shared with everything
    else in the process that asks for the same file and settings, and kept until `close`.

    Examples
    --------
    >>> chat = EmbeddedChat(max_tokens=20, temperature=0)
    >>> chat.invoke("Say hello.").content  # doctest: +SKIP
    'Hello! How can I assist you today?'
    """

    model: str = "embedded"
    """``embedded``, or ``embedded:/path/model.gguf``."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int = Field(default=0, ge=0, lt=2**32)
    stop: list[str] | None = None
    context: int = Field(default=CONTEXT_TOKENS, ge=16)
    """Tokens of prompt and answer together."""
    parallel: int = Field(default=1, ge=1)
    """Answers at once; other than one, it changes the texts."""

    _engine: Engine | None = PrivateAttr(default=None)
    _opening: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "sociolect-embedded"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "context": self.context, "parallel": self.parallel, **self._chosen()}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "sociolect"
        params["ls_model_name"] = kwargs.get("model", self.model)
        return params

    def _chosen(self) -> dict[str, Any]:
        """The parameters that were set."""
        values = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
        }
        return {name: value for name, value in values.items() if value is not None}

    def _opened(self) -> Engine:
        with self._opening:
            if self._engine is None:
                family, _, path = self.model.partition(":")
                if family != "embedded":
                    raise UsageError(
                        f"EmbeddedChat serves `embedded` or `embedded:/path/model.gguf`, not {self.model!r}. Take "
                        "LangChain's own class for other models."
                    )
                self._engine = Engine.share(path, context=self.context, parallel=self.parallel, threads=count_threads())
            return self._engine

    def _request(self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
        """Return what goes to the engine; an option that it does not take is an error, not silence."""
        given = {name: value for name, value in options.items() if value is not None}
        if stop:
            given["stop"] = tuple(stop)
        check_parameters(self.model, given, describe_embedded("", {}).accepts - {"context", "threads", "parallel"})
        sampling = self._chosen() | given
        if isinstance(sampling.get("stop"), list):
            sampling["stop"] = tuple(sampling["stop"])
        texts = tuple(_to_message(message) for message in messages)
        return {**build_request(texts, "chat"), **choose_sampling(sampling, given.get("seed", self.seed))}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs)
        done = self._opened().run("chat", request).result()
        message = AIMessage(
            content=done.text,
            usage_metadata=_usage(done),
            response_metadata={"finish_reason": done.finish, "model_name": self.model},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs)
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        ended = threading.Event()
        work = self._opened().run("chat", request, on_piece=pieces.put, stopped=ended.is_set)
        work.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
                if run_manager is not None:
                    run_manager.on_llm_new_token(piece, chunk=chunk)
                yield chunk
            done = work.result()
        finally:
            # Whoever stops reading stops the model.
            ended.set()
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                usage_metadata=_usage(done),
                response_metadata={"finish_reason": done.finish, "model_name": self.model},
                chunk_position="last",
            )
        )

    def close(self) -> None:
        """Give the model back; it is freed when nobody else in the process uses it."""
        with self._opening:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.release()


def _to_message(message: BaseMessage) -> Message:
    """Return a LangChain message in our terms: its text, from whom."""
    role = message.role if isinstance(message, ChatMessage) else message.type
    names = {"system": "system", "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}
    if role not in names:
        raise UsageError(
            f"The embedded model takes system, human and AI messages, not {role!r}: it calls no tools. Leave them out."
        )
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, dict) and block.get("type", "text") not in {"text", "reasoning", "thinking"}:
            raise UsageError(
                f"The embedded model reads text only; a message holds a block of type {block.get('type')!r}."
            )
    return Message(names[role], str(message.text))  # type: ignore[arg-type]


def _usage(done: Completion) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=done.prompt_tokens,
        output_tokens=done.output_tokens,
        total_tokens=done.prompt_tokens + done.output_tokens,
    )

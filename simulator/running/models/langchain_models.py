"""Any chat model that LangChain reaches, asked once a call, with what was really sent written down."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from simulator.errors import MissingError, ModelError, RejectedError, RetryableError, UsageError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.models.failures import cut_key, explain_failure, is_filtered, scrub
from simulator.running.models.parameters import read_number
from simulator.running.models.providers import (
    SERVER_PARAMETERS,
    Provider,
    describe_provider,
    explain_key,
    find_address,
    find_key,
    find_provider,
    is_foreign,
)
from simulator.running.models.statuses import classify_reply, is_broken_off
from simulator.running.replies import Reply, Tokens, repair_reply, repair_text
from simulator.terminal import printable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["CONNECT_TIMEOUT", "TIMEOUT", "LangChainModel", "read_message"]

TIMEOUT: Final = 300.0
"""Seconds that an attempt may take where ``timeout`` does not say otherwise; reasoning models think for minutes."""

CONNECT_TIMEOUT: Final = 10.0
"""Seconds that connecting may take where ``connect_timeout`` does not say otherwise."""

MOST_TOKENS: Final = 10**12
"""A server that counts more in one reply does not count tokens."""

_opened: Final = itertools.count(1)


class LangChainModel:
    """A provider's model as campaigns ask it; see `simulator.running.models.Model`.

    One LangChain object is made for each set of parameters, since each integration knows best what its own fields are
    called on the wire. Retrying is left to those who can show it and stop it.
    """

    def __init__(self, family: str, model: str, params: Mapping[str, Parameter]) -> None:
        self.info = describe_provider(family, model, params)
        self._model = model
        self._provider = find_provider(family)
        self._params = {name: value for name, value in params.items() if value is not None}
        self._key = find_key(family, model, params)
        self._address = find_address(family, params)
        self._clients: dict[tuple[tuple[str, Parameter], ...], BaseChatModel] = {}
        self._class = _import_class(self._provider)
        _ignore_warnings_of(self._provider)
        self._longest = read_number(params, "timeout") or TIMEOUT
        # Some integrations keep HTTP clients in a cache of the process, by address and time-out; taken up again under
        # another event loop they fail. A time-out of its own gives each opened model clients of its own.
        self._timeout = self._longest + next(_opened) * 1e-6
        self._client(self._params)

    async def ask(self, call: Call) -> Reply:
        """Answer one call.

        Raises
        ------
        RateLimitError, RetryableError, RejectedError, AccessError, QuotaError
            What the provider's own error amounts to.
        """
        if call.form != "chat":
            raise RejectedError(f"{self.info.name} answers messages; it cannot continue a text. Take the chat form.")
        failure: ModelError | None = None
        sent: dict[str, object] = {}
        try:
            client = self._client({**self._params, **call.params})
            if call.seed is not None and self.info.takes_seed:
                client = client.model_copy(update={"seed": call.seed})
            messages = _to_langchain(call.messages)
            sent = self._read_sent(client, messages)
            # The clients' own time-outs are about single reads, and begin anew with each byte that comes.
            async with asyncio.timeout(self._longest):
                answer = await client.ainvoke(messages)
        except Exception as problem:
            if is_filtered(problem):
                return Reply(
                    status="filtered", finish="content_filter", sent=sent, error=str(self._explain_failure(problem))
                )
            failure = self._explain_failure(problem)
        if failure is not None:
            # Raised out here, so that the provider's exception, whose request holds the key, is not chained to it.
            failure.sent = sent
            raise failure
        reply = read_message(answer, sent=sent, key=self._key)
        if is_broken_off(reply.finish):
            broken = RetryableError(
                f"{self.info.name} broke off its answer, with the word {reply.finish}.", charged=True
            )
            broken.sent = sent
            raise broken
        return reply

    def _explain_failure(self, problem: BaseException) -> ModelError:
        return explain_failure(
            problem,
            model=self.info.name,
            address=self._address,
            key=self._key,
            key_mend=explain_key(self.info.family, self._params),
        )

    async def close(self) -> None:
        """Close the connections. May be called more than once."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await _close(client)

    def _client(self, params: Mapping[str, Parameter]) -> BaseChatModel:
        """Return the LangChain object for a set of parameters."""
        fields = self._provider.accepts
        chosen = {
            name: value
            for name, value in params.items()
            if value is not None and name in self.info.accepts and (name in fields or name in SERVER_PARAMETERS)
        }
        key = tuple(sorted(chosen.items()))
        if key not in self._clients:
            wanted: dict[str, Any] = {
                fields[name]: list(value) if isinstance(value, tuple) else value
                for name, value in chosen.items()
                if name in fields and name not in {"base_url", "seed"}
            }
            if isinstance(chosen.get("stop"), str):
                wanted[fields["stop"]] = [chosen["stop"]]
            extra = {name: value for name, value in chosen.items() if name not in fields}
            if extra:
                wanted["extra_body"] = extra
            self._clients[key] = self._build(wanted)
        return self._clients[key]

    def _build(self, wanted: dict[str, Any]) -> BaseChatModel:
        """Make a LangChain object, with our key, address and time-out, that never retries."""
        failure: str
        try:
            hidden = self._provider.sends if is_foreign(self.info.family, self._params) else ()
            with warnings.catch_warnings(), _hiding(hidden):
                warnings.simplefilter("ignore")
                from langchain.chat_models import init_chat_model  # noqa: PLC0415 - takes a second

                opened: BaseChatModel = init_chat_model(
                    self._model, model_provider=self.info.family, **wanted, **self._connection(), cache=False
                )
                # Some make their connection only when it is first needed, which is when they read the environment.
                client = getattr(opened, "_async_client", None)
                if self.info.family == "anthropic" and client is not None:
                    client.timeout = self._timeouts()  # its class takes one number for all of them
                return opened
        except ImportError as problem:
            failure = printable(scrub(cut_key(str(problem), self._key)))
            raise MissingError(f"The model {self.info.name} needs a package that is not installed: {failure}") from None
        except Exception as problem:
            failure = printable(scrub(cut_key(" ".join(str(problem).split()), self._key)))
        raise UsageError(f"The model {self.info.name} cannot be opened as it is described: {failure}")

    def _connection(self) -> dict[str, Any]:
        """Return the fields that say where and how to call, under the names of the provider's class."""
        fields = set(self._class.model_fields) | {
            field.alias for field in self._class.model_fields.values() if field.alias is not None
        }
        connection: dict[str, Any] = {"max_retries": 0} if "max_retries" in fields else {}
        if "timeout" in fields:
            connection["timeout"] = self._timeouts() if self._provider.sdk == "openai" else self._timeout
        if self._provider.keys and "api_key" in fields:
            # The classes insist on a key, even for servers that ask for none.
            connection["api_key"] = self._key or "none"
        if "base_url" in self._params:
            connection["base_url"] = self._params["base_url"]
        if self.info.family == "ollama":
            # Its client would send OLLAMA_API_KEY to any address.
            allowed = f"Bearer {self._key}" if self._key else "none"
            foreign = {"headers": {"Authorization": allowed}} if "base_url" in self._params else {}
            connection["client_kwargs"] = {"timeout": self._timeouts(), **foreign}
        return connection

    def _timeouts(self) -> Any:
        """Return the time-outs in the class of the provider's HTTP client; none is longer than the whole."""
        connect = read_number(self._params, "connect_timeout") or CONNECT_TIMEOUT
        read = read_number(self._params, "read_timeout") or self._longest
        kind = importlib.import_module(self._provider.sdk).Timeout
        return kind(self._longest, connect=min(connect, self._longest), read=min(read, self._longest))

    def _read_sent(self, client: BaseChatModel, messages: list[BaseMessage]) -> dict[str, object]:
        """Return what goes out besides the messages, as the integration puts it together; never a key."""
        payload: Mapping[str, Any]
        for name in ("_get_request_payload", "_prepare_request", "_chat_params"):
            build = getattr(client, name, None)
            if build is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    payload = build(messages)
                break
        else:
            payload = {
                name: getattr(client, field, None)
                for name, field in self._provider.accepts.items()
                if name != "base_url"
            }
        sent: dict[str, object] = {}
        parts: list[Any] = [payload, payload.get("options"), payload.get("config"), payload.get("extra_body")]
        for part in parts:
            values = part.model_dump(exclude_none=True, mode="json") if hasattr(part, "model_dump") else part
            sent.update(values if isinstance(values, Mapping) else {})
        omitted = {"messages", "input", "contents", "system", "system_instruction", "options", "config", "extra_body"}
        omitted |= {"http_options", "tools", "stream", "safety_settings"}
        plain = {name: value for name, value in sent.items() if name not in omitted and value is not None}
        if self._address is not None:
            plain["base_url"] = self._address
        return {
            name: cut_key(value, self._key) if isinstance(value, str) else value
            for name, value in sorted(plain.items())
        }


def read_message(answer: AIMessage, *, sent: dict[str, object], key: str | None = None) -> Reply:
    """Return LangChain's message as a reply: text, status, tokens by class, and the provider's own words.

    Text is what is in text blocks; reasoning is left out. What a provider marked as a refusal is the text where there
    is no other. ``key``, which the model was sent, is cut out of it.
    """
    text, marked = _read_content(answer.content)
    refusal = marked or str(answer.additional_kwargs.get("refusal") or "")
    metadata = answer.response_metadata
    incomplete = metadata.get("incomplete_details") or {}
    finish = str(
        (incomplete.get("reason") if isinstance(incomplete, Mapping) else None)
        or metadata.get("finish_reason")
        or metadata.get("stop_reason")
        or metadata.get("done_reason")
        or metadata.get("status")
        or ""
    )
    feedback = metadata.get("prompt_feedback") or {}
    blocked = isinstance(feedback, Mapping) and feedback.get("block_reason") not in (
        None,
        0,
        "",
        "BLOCK_REASON_UNSPECIFIED",
        "BLOCKED_REASON_UNSPECIFIED",
    )
    whole = cut_key(text or refusal, key)
    reported = str(metadata.get("model_name") or metadata.get("model") or "")
    fingerprint = metadata.get("system_fingerprint")
    return repair_reply(
        Reply(
            status=classify_reply(whole, finish=finish, refusal=refusal, blocked=blocked),
            text=whole,
            tokens=_read_tokens(answer.usage_metadata),
            model_reported=cut_key(f"{reported} ({fingerprint})" if fingerprint else reported, key),
            finish=cut_key(finish, key),
            sent=sent,
        )
    )


def _read_content(content: str | Sequence[str | dict[Any, Any]]) -> tuple[str, str]:
    """Return the text, and what is marked as a refusal, of a message's content in any of its forms."""
    if isinstance(content, str):
        return content, ""
    texts, refusals = [], []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping):
            if block.get("type") in {"text", "output_text"} and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "refusal":
                refusals.append(str(block.get("refusal") or "refused"))
    return "".join(texts), "".join(refusals)


def _read_tokens(usage: Mapping[str, Any] | None) -> Tokens:
    """Return tokens by class: LangChain counts cached and reasoning tokens within input and output as well.

    What is no number of tokens, whatever the server says, is not known.
    """
    usage = usage or {}
    cached = _read_count((usage.get("input_token_details") or {}).get("cache_read"))
    reasoning = _read_count((usage.get("output_token_details") or {}).get("reasoning"))
    read, written = _read_count(usage.get("input_tokens")), _read_count(usage.get("output_tokens"))
    return Tokens(
        input=None if read is None else max(0, read - (cached or 0)),
        cached=cached,
        output=None if written is None else max(0, written - (reasoning or 0)),
        reasoning=reasoning,
    )


def _read_count(value: object) -> int | None:
    """Return a number of tokens; None where it is none, such as a negative, an infinite or an absurd one."""
    if not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value)


def _to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """Return the messages in LangChain's classes; half surrogate pairs, which no request can carry, are an error."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage  # noqa: PLC0415

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    for message in messages:
        if repair_text(message.text)[0] != message.text:
            raise RejectedError(
                "A message holds half a surrogate pair, which cannot be sent. Repair the text it comes from."
            )
    return [kinds[message.role](content=message.text) for message in messages]


@contextmanager
def _hiding(variables: Sequence[str]) -> Iterator[None]:
    """Take variables out of the environment for as long as an object is made, which reads them and asks nobody."""
    taken = {name: os.environ.pop(name) for name in variables if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)


def _import_class(provider: Provider) -> type[BaseChatModel]:
    """Import the provider's class; its package's warnings of its own future are for its makers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found: type[BaseChatModel] = getattr(importlib.import_module(provider.module), provider.class_name)
        except (ImportError, AttributeError) as problem:
            raise MissingError(
                f"The package {provider.package} for {provider.title}'s models cannot be imported: {problem}. "
                f"Install it again with: pip install --upgrade {provider.package}"
            ) from problem
    return found


def _ignore_warnings_of(provider: Provider) -> None:
    """Ignore what a provider's package warns of while it is asked: it concerns programmers, not users.

    Such as a renamed field, an empty first chunk, a word in an answer that is new to it. The filters name who warns and
    stay, so that all other warnings are heard. To put filters in place for each call and take them away after it, as
    `warnings.catch_warnings` does, is not for calls that overlap: they would put back each other's.
    """
    makers = "|".join(re.escape(name) for name in (provider.module, provider.sdk, "langchain_core") if name)
    warnings.filterwarnings("ignore", module=rf"(?:{makers})(?:\.|$)")
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", module=r"pydantic\.main$")


async def _close(client: BaseChatModel) -> None:
    """Close whatever connections a LangChain object holds, where it has a way to say so."""
    aclose = getattr(client, "aclose", None)
    if aclose is not None:
        await aclose()
        return
    for name in ("root_async_client", "_async_client"):
        inner = getattr(client, name, None)
        close = getattr(inner, "close", None) or getattr(getattr(inner, "_client", None), "aclose", None)
        if close is not None:
            await close()
    close = getattr(getattr(client, "root_client", None), "close", None)
    if close is not None:
        close()

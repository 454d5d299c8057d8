"""A call: everything that determines one reply, and the key made from it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = ["KEY_VERSION", "Call", "Form", "Message", "Parameter", "Stage", "canonical_json", "derive_seed", "key_of"]

Stage = Literal["rewrite", "generate"]
Form = Literal["chat", "completion"]
Parameter = str | int | float | bool | None | tuple[str, ...]

KEY_VERSION = 1
"""Part of every key: raised when the meaning of a key's parts changes."""


class Message(NamedTuple):
    """One message of a chat. In the completion form a call has a single ``user`` message, sent raw."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one model.

    Parameters
    ----------
    stage
        What the reply is for.
    model
        The model as the campaign names it: ``embedded``, ``mock:...``, ``openai:gpt-4o-mini``.
    messages
        What is sent, exactly.
    form
        ``chat``, or ``completion`` where the text of the one message is continued as it stands.
    params
        Everything else that is sent or that chooses the model's address: ``temperature``, ``max_tokens``, ``top_p``,
        ``stop``, ``base_url``, ... A parameter that is None is not sent.
    repeat
        Tells apart calls that are otherwise equal, from 0.
    seed
        Given to models that take one, None for all others.
    """

    stage: Stage
    model: str
    messages: tuple[Message, ...]
    form: Form = "chat"
    params: dict[str, Parameter] = field(default_factory=dict)
    repeat: int = 0
    seed: int | None = None
    _key: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def key(self) -> str:
        """32 hexadecimal digits; the same on any machine, Python version and hash seed."""
        if self._key is None:  # a call is asked for its key by all who handle it
            object.__setattr__(self, "_key", key_of(self.to_json()))
        return str(self._key)

    def to_json(self) -> str:
        """Return the canonical JSON document that the key is the hash of."""
        return canonical_json(
            {
                "version": KEY_VERSION,
                "stage": self.stage,
                "model": self.model,
                "form": self.form,
                "params": {name: value for name, value in self.params.items() if value is not None},
                "messages": [[message.role, message.text] for message in self.messages],
                "repeat": self.repeat,
                "seed": self.seed,
            }
        )


def key_of(document: str) -> str:
    """Return the key of a call from its canonical JSON document."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no white space and ASCII only, so that equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def derive_seed(*names: object) -> int:
    """Return a seed in [0, 2**31) that depends on nothing but the names it is derived from.

    Streams are derived by hashing names, never by counting draws, so that adding a persona or a task moves no other
    random choice.

    >>> derive_seed(7, "rewrite", "john") == derive_seed(7, "rewrite", "john")
    True
    """
    digest = hashlib.sha256(canonical_json([str(name) for name in names]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1

"""Servers that speak the OpenAI protocol, for tests of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from openai_server import Answer, OpenAIServer


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], OpenAIServer]]:
    """Start a server that gives the same answer to every request."""
    with ExitStack() as servers:
        yield lambda answer: servers.enter_context(OpenAIServer(lambda _: answer))

"""The embedded model against LangChain's own suite for chat models, for what it supports."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from simulator.running.models.embedded_chat import EmbeddedChat


class _Supported:
    """What the embedded model does and does not do."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return EmbeddedChat

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"context": 1024}

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        return {"temperature": 0, "max_tokens": 12}

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_tool_choice(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return False

    @property
    def supports_json_mode(self) -> bool:
        return False

    @property
    def returns_usage_metadata(self) -> bool:
        return True


class TestEmbeddedUnit(_Supported, ChatModelUnitTests):
    """Without asking the model."""


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.xdist_group("embedded")
class TestEmbeddedIntegration(_Supported, ChatModelIntegrationTests):
    """Asking the model, a few tokens at a time."""

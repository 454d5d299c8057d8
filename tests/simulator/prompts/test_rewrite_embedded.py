"""The real embedded model continues the list of the completion form with a request, and stops at its closing quote."""

import asyncio

import pytest

from simulator.definitions.persona import Persona
from simulator.prompts import judge_rewrite, render_rewrite
from simulator.running.calls import Call, Parameter
from simulator.running.models import open_model
from simulator.running.replies import Reply

TASK = "Write code to make a calculator"


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.xdist_group("embedded")
def test_the_embedded_model_rewrites_instead_of_answering() -> None:
    pytest.importorskip("xllamacpp", reason="the embedded model is not installed")
    persona = Persona(id="ben", name="Ben", role="baker", tools=("Excel",), goals=("big buttons for floury fingers",))
    messages, stop = render_rewrite(persona, TASK, form="completion")

    async def ask() -> Reply:
        params: dict[str, Parameter] = {"max_tokens": 80, "temperature": 0, "stop": stop}
        model = open_model("embedded", params)
        try:
            return await model.ask(Call("rewrite", "embedded", messages, "completion", params, seed=1))
        finally:
            await model.close()

    reply = asyncio.run(ask())
    text, status, note = judge_rewrite(reply, task_text=TASK, form="completion")
    assert (status, note) == ("ok", "")
    assert reply.finish == "stop"
    assert '"' not in text

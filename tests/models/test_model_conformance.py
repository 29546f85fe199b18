"""The port's conformance suite on every model of hudkit; two of them over real HTTP, through the real clients."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import pytest

from hudkit.models import Model, complete, open_model
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.testing.model_conformance import ModelConformance, ModelExchange, make_request
from hudkit.testing.model_server import ScriptedModel

T = TypeVar("T")


def spoken(model: Model, talk: ModelExchange[T]) -> T:
    async def run() -> T:
        try:
            return await talk(model)
        finally:
            await model.close()

    return asyncio.run(run())


class OverHttp(ModelConformance):
    name = ""
    below = ""

    def play(self, answers: Sequence[Answer], talk: ModelExchange[T]) -> tuple[T, list[CapturedRequest]]:
        with ScriptedModel(answers) as server:
            model = open_model(self.name, key=self.key, base_url=server.url + self.below)
            return spoken(model, talk), server.requests


class TestInProcess(ModelConformance):
    def play(self, answers: Sequence[Answer], talk: ModelExchange[T]) -> tuple[T, list[CapturedRequest]]:
        model = InProcessModel(answers)
        return spoken(model, talk), model.requests

    def test_a_full_window_ends_the_answer(self) -> None:
        end, _ = self.play([ScriptedReply("half", finish="compact")], lambda model: complete(model, make_request()))
        assert end.reason == "compact"


@pytest.mark.slow
class TestOpenAiChat(OverHttp):
    name = "openai-chat:gpt-4o"
    below = "/v1"


@pytest.mark.slow
class TestAnthropic(OverHttp):
    name = "anthropic:claude-sonnet-4-6"

    def test_a_full_window_ends_the_answer(self) -> None:
        end, _ = self.play([ScriptedReply("half", finish="compact")], lambda model: complete(model, make_request()))
        assert end.reason == "compact"

"""Answers that are values of a type: told with the prompt, checked, and asked for again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from loops import QUICK, opened, texts
from msgspec.structs import replace
from pydantic import BaseModel

from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = pytest.mark.anyio


@dataclass
class AsDataclass:
    cone: Annotated[int, msgspec.Meta(ge=1, le=14)]
    glaze: str = "clear"


class AsTypedDict(TypedDict):
    cone: int


class AsStruct(msgspec.Struct):
    cone: int


class AsPydantic(BaseModel):
    cone: int


SCHEMA = {
    "type": "object",
    "properties": {"cone": {"type": "integer", "maximum": 14}},
    "required": ["cone"],
    "additionalProperties": False,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (AsDataclass, '{"cone": 6}', AsDataclass(6)),
        (AsTypedDict, '```json\n{"cone": 6}\n```', {"cone": 6}),
        (AsStruct, 'Here it is: {"cone": 6}. Good firing!', AsStruct(6)),
        (AsPydantic, '{"cone": 6}', AsPydantic(cone=6)),
        (SCHEMA, '{"cone": 6}', {"cone": 6}),
        (list[int], "[6, 10]", [6, 10]),
        (Literal["oxidation", "reduction"], '"reduction"', "reduction"),
        (AsDataclass | None, "null", None),
    ],
)
async def test_an_answer_is_a_value_of_the_type(tmp_path: Path, kind: Any, answer: str, value: object) -> None:
    model = InProcessModel([uses(ScriptedCall("todo", {}), text="I look."), says(answer)])
    async with opened(tmp_path, model) as loop:
        ended = await loop.prompt("How hot?", answer_type=kind)
        assert (ended.reason, ended.answer, ended.text) == ("done", value, answer)
        assert "JSON Schema" in str(model.port_requests[0].messages[0]), "the model is told what it has to be"
        assert (await loop.prompt("And why?")).answer is None, "it holds for one prompt"
        assert [tool for request in model.port_requests for tool in request.tools] == 3 * list(
            model.port_requests[0].tools
        )


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        (AsDataclass, '{"cone": 20}', "`$.cone`"),
        (AsDataclass, "I do not know.", "it is no JSON"),
        (AsPydantic, '{"cone": "hot"}', "cone"),
        (SCHEMA, '{"cone": 20, "glaze": 1}', "$.cone: 20 is greater than the maximum of 14"),
        (AsStruct, '{"cone"', "it is no JSON"),
    ],
)
async def test_the_model_is_told_what_is_wrong_and_answers_again(
    tmp_path: Path, kind: Any, wrong: str, told: str
) -> None:
    model = InProcessModel([says(wrong), says('{"cone": 6}')])
    async with opened(tmp_path, model) as loop:
        ended = await loop.prompt("How hot?", answer_type=kind)
        assert ended.reason == "done" and ended.steps == 2
        role, words = texts(loop.messages)[2]
        assert role == "user" and words.startswith("The answer does not fit: ") and told in words
        assert (await loop.undo()).text == "How hot?", "what the host says is no prompt"


@pytest.mark.slow
async def test_the_schema_is_said_again_where_a_compaction_took_it_out_of_the_window(tmp_path: Path) -> None:
    full = ScriptedReply("I look. " * 2_000, (ScriptedCall("todo", {}),), CallCost(0, 0, 9_000, 10))
    window = Window(10_000, 2_000, None, "host")
    model = InProcessModel([full, says("hot", used=500), says('{"cone": 6}', used=500)], window=window)
    async with opened(tmp_path, model, settings=replace(QUICK, tail=0)) as loop:
        assert (await loop.prompt("How hot?", answer_type=AsStruct)).answer == AsStruct(6)
        fault = next(text for _, text in texts(loop.messages) if text.startswith("The answer does not fit"))
        assert model.of("compaction") and "JSON Schema" in fault


async def test_after_several_wrong_answers_the_turn_ends(tmp_path: Path) -> None:
    model = InProcessModel([says("hot")] * 5)
    async with opened(tmp_path, model, settings=replace(QUICK, answer_attempts=2)) as loop:
        ended = await loop.prompt("How hot?", answer_type=AsStruct)
        assert (ended.reason, ended.answer, ended.steps) == ("answer", None, 2)
        assert "it is no JSON" in ended.error


@pytest.mark.slow
async def test_a_turn_that_was_cut_off_goes_on_to_its_answer(tmp_path: Path) -> None:
    async with opened(
        tmp_path, InProcessModel([uses(ScriptedCall("todo", {}))]), settings=replace(QUICK, steps=1)
    ) as loop:
        assert (await loop.prompt("How hot?", answer_type=AsStruct)).reason == "steps"
        session = loop.id
    async with opened(tmp_path, InProcessModel([says('{"cone": 6}')]), session) as loop:
        assert (await loop.proceed(answer_type=AsStruct)).answer == AsStruct(6)


@pytest.mark.parametrize("kind", [complex, {"type": "cone"}, {"properties": 3}])
async def test_a_type_that_cannot_be_checked_is_refused_before_anything_is_stored(tmp_path: Path, kind: Any) -> None:
    async with opened(tmp_path, InProcessModel()) as loop:
        with pytest.raises(ConfigError):
            await loop.prompt("How hot?", answer_type=kind)
        assert loop.messages == ()


def test_the_schema_of_a_dataclass_is_what_the_model_reads() -> None:
    from hudkit.agent.answer_types import AnswerType

    schema = json.loads(AnswerType(AsDataclass).instructions.partition("\n")[2])
    assert schema["$defs"]["AsDataclass"]["properties"]["cone"]["maximum"] == 14

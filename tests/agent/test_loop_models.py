"""Which model works: agents given in code, names in other hosts' notation, effort, and what stands in for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import AgentDefinition, events
from hudkit.agent.agent_definitions import parse_agent
from hudkit.agent.records import StoredCall
from hudkit.errors import ConfigError
from hudkit.models import Model
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.model_names import resolve_model_name
from hudkit.models.scripted_answers import BROKEN, Answer, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.anyio

PRESENT = "openai:gpt-5"


@pytest.mark.parametrize(
    ("wanted", "present", "name"),
    [
        ("anthropic:claude-haiku-4-5", PRESENT, "anthropic:claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5", PRESENT, "anthropic:claude-haiku-4-5"),
        ("openrouter/qwen/qwen3-coder:free", PRESENT, "openrouter:qwen/qwen3-coder:free"),
        ("", PRESENT, PRESENT),
        ("inherit", PRESENT, PRESENT),
        ("sonnet", PRESENT, "anthropic:claude-sonnet-4-6"),
        ("Opus", "bedrock:anthropic.claude-sonnet-4-5", "bedrock:claude-opus-4-6"),
        ("sonnet", "anthropic:claude-sonnet-5", "anthropic:claude-sonnet-5"),
        ("gpt-5-mini", "anthropic:claude-sonnet-5", "openai:gpt-5-mini"),
        ("gemini-2.5-pro", PRESENT, "google:gemini-2.5-pro"),
        ("my-own-model", PRESENT, "my-own-model"),
    ],
)
def test_a_model_is_known_by_any_hosts_notation(wanted: str, present: str, name: str) -> None:
    assert resolve_model_name(wanted, present) == name


class Models:
    """Opens models of a script by name; those that are not here cannot be opened."""

    def __init__(self, **by_name: InProcessModel) -> None:
        self.by_name = {name.replace("__", ":").replace("_", "-"): model for name, model in by_name.items()}
        for name, model in self.by_name.items():
            model.name = name

    def open(self, name: str) -> Model:
        if name not in self.by_name:
            raise ConfigError(f"no key for {name}")
        return self.by_name[name]


async def test_an_agent_given_in_code_works_with_its_own_prompt_model_and_effort(tmp_path: Path) -> None:
    models = Models(openai__gpt_5=InProcessModel(), anthropic__haiku=InProcessModel([says("checked")]))
    agent = AgentDefinition(
        "potter", prompt="You are a potter.", model="anthropic/haiku", effort="high", tools=frozenset({"read"})
    )
    async with opened(tmp_path, PRESENT, connect=models.open, agents=[agent], agent="potter") as loop:
        assert (await loop.prompt("go")).text == "checked"
        (request,) = models.by_name["anthropic:haiku"].port_requests
        assert request.system[0].startswith("You are a potter.") and request.settings.effort == "high"
        assert [tool.name for tool in request.tools] == ["read"]


async def test_a_prompt_given_in_code_is_that_of_the_agent_that_works(tmp_path: Path) -> None:
    model = InProcessModel()
    settings = replace(QUICK, effort="low")
    async with opened(tmp_path, model, system_prompt="Speak of kilns only.", settings=settings) as loop:
        await loop.prompt("go")
        assert model.port_requests[0].system[0] == "Speak of kilns only."
        assert model.port_requests[0].settings.effort == "low"
    with pytest.raises(ConfigError, match='no agent "nobody"'):
        async with opened(tmp_path, model, system_prompt="x", agent="nobody"):
            pass


def test_effort_in_an_agents_file() -> None:
    assert parse_agent("a", "---\nreasoningEffort: medium\n---\nx").effort == "medium"
    with pytest.raises(ConfigError, match="effort cannot be 'immense'"):
        parse_agent("a", "---\neffort: immense\n---\nx")


@pytest.mark.slow
async def test_a_sub_agents_file_of_another_host_works_on_the_sessions_model_where_its_own_cannot_be_opened(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project" / ".claude" / "agents"
    folder.mkdir(parents=True)
    for name, model in (("same", "inherit"), ("short", "sonnet"), ("there", "haiku"), ("odd", "acme-1")):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\nmodel: {model}\n---\nLook.")

    def answer(request: CapturedRequest) -> Answer:
        words = [text for _, text in request.messages]
        if words[0].startswith("part"):
            return says("looked")
        if len(words) > 1:
            return says("done")
        return uses(*(ScriptedCall("task", {"description": n, "prompt": f"part {n}", "agent": n}) for n in names))

    names = ("same", "short", "there", "odd")
    main, other = InProcessModel(answer), InProcessModel(otherwise=says("looked elsewhere"))
    models = Models(openai__gpt_5=main, anthropic__claude_haiku_4_5=other)
    async with opened(tmp_path, PRESENT, connect=models.open) as loop:
        seen = loop.events()
        assert (await loop.prompt("go")).text == "done"
        outputs = [part.output.split("\n")[2] for part in loop.messages[1].parts if isinstance(part, StoredCall)]
        assert outputs == ["looked", "looked", "looked elsewhere", "looked"]
        told = [event for event in seen.take() if isinstance(event, events.ModelSubstituted)]
        assert [(each.wanted, each.model) for each in told] == [("sonnet", PRESENT), ("acme-1", PRESENT)]
        assert "no key for anthropic:claude-sonnet-4-6" in told[0].reason


OVERLOADED, HELD_BACK = Refusal(503, "overloaded_error"), ScriptedReply("", finish="refusal")


@pytest.mark.slow
@pytest.mark.parametrize("failures", [[OVERLOADED, OVERLOADED], [HELD_BACK]], ids=["out of reach", "refused"])
async def test_where_a_model_fails_for_good_the_next_one_works_to_the_turns_end(
    tmp_path: Path, failures: list[Answer]
) -> None:
    settings = replace(QUICK, retries=1, fallback_models=("nobody:none", "anthropic/claude-haiku-4-5"))
    first = InProcessModel([uses(ScriptedCall("todo", {})), *failures, says("back again")])
    second = InProcessModel([uses(ScriptedCall("todo", {})), says("helped out")])
    models = Models(openai__gpt_5=first, anthropic__claude_haiku_4_5=second)
    async with opened(tmp_path, PRESENT, connect=models.open, settings=settings) as loop:
        seen = loop.events()
        ended = await loop.prompt("go")
        assert (ended.reason, ended.text) == ("done", "helped out")
        (told,) = [event for event in seen.take() if isinstance(event, events.ModelSubstituted)]
        assert (told.wanted, told.model) == (PRESENT, "anthropic:claude-haiku-4-5")
        assert "nobody:none cannot be opened: no key for nobody:none" in told.reason
        assert second.port_requests[0].messages == first.port_requests[1].messages, "the same is asked"
        assert [message.model for message in loop.messages if message.finish][-1] == "anthropic:claude-haiku-4-5"
        assert (await loop.prompt("and now?")).text == "back again"


async def test_where_no_fallback_is_left_the_turn_ends_as_the_first_failure_says(tmp_path: Path) -> None:
    settings = replace(QUICK, retries=0, fallback_models=("anthropic:haiku",))
    first, second = InProcessModel([BROKEN]), InProcessModel([BROKEN])
    models = Models(openai__gpt_5=first, anthropic__haiku=second)
    async with opened(tmp_path, PRESENT, connect=models.open, settings=settings) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "error" and len(first.port_requests) == len(second.port_requests) == 1


async def test_a_request_that_is_wrong_is_not_given_to_another_model(tmp_path: Path) -> None:
    settings = replace(QUICK, fallback_models=("anthropic:haiku",))
    first, second = InProcessModel([Refusal(400, "invalid_request_error", message="no such field")]), InProcessModel()
    models = Models(openai__gpt_5=first, anthropic__haiku=second)
    async with opened(tmp_path, PRESENT, connect=models.open, settings=settings) as loop:
        assert (await loop.prompt("go")).reason == "error" and second.port_requests == []

"""Spans of a real session: what is under what, when it was, every attribute, and what went wrong."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from telemetry_recorder import DAY, NAME, NOW, Watched, began, of, session

from hudkit.agent.hooks import ToolDefinition
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.run_context import LoopSettings
from hudkit.agent.telemetry import names
from hudkit.context.caching import CallCost
from hudkit.errors import StoreError
from hudkit.models import open_model
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, Hang, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import Prices, Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
PAGE = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text(encoding="utf-8")


def line(depth: int, span: ReadableSpan) -> str:
    """A span as the page of telemetry shows it."""
    found = of(span)
    said = [f"error.type={found['error.type']}"] if "error.type" in found else []
    said += [f"{name}={found[name]}" for name in found if name.startswith("hudkit.compaction")]
    said += [event.name for event in span.events]
    return f"{'  ' * depth + span.name:<39}{' '.join(said)}".rstrip()


async def test_the_tree_of_a_day_is_the_one_in_the_docs(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel(DAY, name=NAME), watched.telemetry()) as loop:
        assert (await loop.prompt("go")).reason == "done"
    tree = [line(depth, span) for depth, span in watched.walk()]
    assert tree == re.findall(r"```text\n(invoke_agent.*?)\n```", PAGE, re.DOTALL)[0].split("\n")


async def test_spans_are_within_the_one_above_and_have_their_kinds(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel(DAY, name=NAME), watched.telemetry()) as loop:
        await loop.prompt("go")
        calls = {part.call_id: part for message in loop.messages for part in message.parts if hasattr(part, "tool")}
    for _, span in watched.walk():
        assert NOW * 1_000_000 <= began(span) <= (span.end_time or 0)
        assert span.kind is (SpanKind.CLIENT if span.name.startswith("chat") else SpanKind.INTERNAL)
        for below in watched.below(span):
            assert began(span) <= began(below) and (below.end_time or 0) <= (span.end_time or 0)
            assert below.context.trace_id == span.context.trace_id
    write = watched.named("execute_tool write")[0]
    call = calls[of(write)[names.TOOL_CALL]]
    assert (write.start_time, write.end_time) == (call.started * 1_000_000, call.ended * 1_000_000)
    chat, *_ = watched.named("chat claude-sonnet-4-6")
    assert (chat.end_time or 0) <= began(write), "an answer ends before its calls run"


async def test_a_prompt_is_under_the_span_of_the_program(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel(), watched.telemetry()) as loop:
        with watched.tracers.get_tracer("program").start_as_current_span("request"):
            await loop.prompt("go")
    (request,) = watched.named("request")
    assert [span.name for span in watched.below(request)] == ["invoke_agent build"]


# -- attributes ----------------------------------------------------------------------------------------------------

REPLY = ScriptedReply("Hello.", usage=CallCost(read=700, written=200, fresh=100, output=50), reasoning="They greet.")
PRICES = Prices(input=1.0, cached_read=0.1, cache_write=2.0, output=10.0, source="test", model="m")
COST = (100 * 1.0 + 700 * 0.1 + 200 * 2.0 + 50 * 10.0) / 1_000_000

CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-sonnet-4-6",
    "gen_ai.request.stream": True,
    "gen_ai.request.max_tokens": 3_000,
    "gen_ai.agent.name": "build",
    "gen_ai.response.finish_reasons": ("stop",),
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.cache_read.input_tokens": 700,
    "gen_ai.usage.cache_creation.input_tokens": 200,
    "hudkit.window.used": 1_050,
    "hudkit.window.limit": 200_000,
    "hudkit.cost": pytest.approx(COST),
    "hudkit.frame.density": "full",
    "hudkit.frame.placed": ("base", "tail"),
}
AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-sonnet-4-6",
    "gen_ai.agent.name": "build",
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.cache_read.input_tokens": 700,
    "gen_ai.usage.cache_creation.input_tokens": 200,
    "hudkit.ended": "done",
    "hudkit.steps": 1,
    "hudkit.cost": pytest.approx(COST),
}
MEASURED = {
    "gen_ai.conversation.id",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.usage.reasoning.output_tokens",
    "hudkit.frame.tokens",
}
"""Those whose values a table cannot say."""


async def test_every_attribute_of_a_model_call_and_of_an_agent(tmp_path: Path, watched: Watched) -> None:
    model = InProcessModel([REPLY], name=NAME, prices=PRICES)
    hud = ("hud", hud_plugin(tmp_path / "hudkit.db"))
    rules = LoopSettings(max_output=3_000)
    async with session(tmp_path, model, watched.telemetry(), [hud], settings=rules) as loop:
        await loop.prompt("Greet me")
        id = loop.id
    (agent, chat) = watched.spans
    for span, wanted in ((chat, CHAT), (agent, AGENT)):
        found = of(span)
        assert {name: found.get(name) for name in wanted} == wanted
        assert found.keys() - wanted.keys() <= MEASURED
        assert found["gen_ai.conversation.id"] == id
        assert found["gen_ai.usage.reasoning.output_tokens"] > 0
        assert span.status.status_code is StatusCode.UNSET
    assert of(chat)["hudkit.frame.tokens"] > 20
    assert 0 < of(chat)["gen_ai.response.time_to_first_chunk"] < 1


async def test_every_attribute_of_a_tool_call(tmp_path: Path, watched: Watched) -> None:
    model = InProcessModel([uses(ScriptedCall("glob", {"pattern": "*"}, "call_7")), says("done")])
    async with session(tmp_path, model, watched.telemetry()) as loop:
        await loop.prompt("go")
        id = loop.id
    assert of(watched.named("execute_tool glob")[0]) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": id,
        "gen_ai.agent.name": "build",
        "gen_ai.tool.name": "glob",
        "gen_ai.tool.call.id": "call_7",
        "gen_ai.tool.type": "function",
    }
    assert of(watched.named("chat model")[0])["gen_ai.response.finish_reasons"] == ("tool_call",)


@pytest.mark.slow
async def test_what_a_server_says_of_its_answer(tmp_path: Path, watched: Watched) -> None:
    with ScriptedModel([says("Hello.")]) as server:
        window = Window(100_000, 1_000, None, "user")
        model = open_model("openai-chat:gpt-5", key="sk-test-000000", base_url=f"{server.url}/v1", window=window)
        async with session(tmp_path, model, watched.telemetry()) as loop:
            await loop.prompt("go")
        await model.close()
    found = of(watched.named("chat gpt-5")[0])
    assert (found["gen_ai.provider.name"], found["gen_ai.response.model"]) == ("openai", "gpt-5")
    assert found["gen_ai.response.id"]


def test_every_exported_name_is_documented() -> None:
    exported = [
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and ("." in value or value in ("chat", "invoke_agent"))
    ]
    assert len(exported) > 40
    assert [name for name in exported if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5", "openai", "gpt-5"),
        ("openai-responses:gpt-5", "openai", "gpt-5"),
        ("google-gla:gemini-3-pro", "gcp.gemini", "gemini-3-pro"),
        ("bedrock:us.anthropic.claude-sonnet-4-5:0", "aws.bedrock", "us.anthropic.claude-sonnet-4-5:0"),
        ("ollama:qwen3", "ollama", "qwen3"),
        ("home-made", "unknown", "home-made"),
    ],
)
def test_providers_in_the_words_of_the_conventions(name: str, provider: str, model: str) -> None:
    assert names.provider_and_model(name) == (provider, model)


# -- what goes wrong -----------------------------------------------------------------------------------------------


def failed(span: ReadableSpan) -> str:
    """The type of a span's error; its words are not there, because they are content."""
    assert span.status.status_code is StatusCode.ERROR and span.status.description is None
    return str(of(span)["error.type"])


async def test_a_retry_is_an_event_of_the_one_call(tmp_path: Path, watched: Watched) -> None:
    async with session(
        tmp_path, InProcessModel([Refusal(429), ScriptedReply("Half an", cut=True), says("Hi.")]), watched.telemetry()
    ) as loop:
        await loop.prompt("go")
    (chat,) = watched.named("chat model")
    assert chat.status.status_code is StatusCode.UNSET
    first = of(chat)["gen_ai.response.time_to_first_chunk"] * 1e9
    assert began(chat) + first > chat.events[-1].timestamp, "that of the answer that came"
    assert [(event.name, dict(event.attributes or {})) for event in chat.events] == [
        ("hudkit.retry", {names.RETRY_ATTEMPT: 1, names.RETRY_DELAY: 0.001, "error.type": "model-rate-limited"}),
        ("hudkit.retry", {names.RETRY_ATTEMPT: 2, names.RETRY_DELAY: 0.002, "error.type": "model-unreadable"}),
    ]


async def test_a_model_that_does_not_answer(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel([Refusal(401)]), watched.telemetry()) as loop:
        assert (await loop.prompt("go")).reason == "error"
    assert [failed(span) for span in watched.spans] == ["model-unauthorised", "model-unauthorised"]
    assert of(watched.named("invoke_agent build")[0])["hudkit.ended"] == "error"


async def test_tools_that_fail_say_how(tmp_path: Path, watched: Watched) -> None:
    class Plugin:
        def tool(self, given: object, output: object) -> None:
            def run(arguments: object, call: object) -> str:
                raise RuntimeError("no")

            output.tools["mine"] = ToolDefinition("mine", "breaks", {"type": "object", "properties": {}}, run)  # type: ignore[attr-defined]

    calls = (
        ScriptedCall("read", {"path": "missing"}),
        ScriptedCall("read", {"wrong": 1}),
        ScriptedCall("bash", {"command": "rm -rf /"}),
        ScriptedCall("mine"),
    )
    model = InProcessModel([uses(*calls), says("done")])
    allowed = (PermissionRule("mine", "*", "allow"),)
    async with session(tmp_path, model, watched.telemetry(), [("p", Plugin())], permissions=allowed) as loop:
        await loop.prompt("go")
    tools = {
        of(span)["gen_ai.tool.call.id"]: failed(span) for span in watched.spans if "gen_ai.tool.name" in of(span)
    }
    assert list(tools.values()) == ["tool", "tool", "refused", "plugin"]
    unread = watched.named("execute_tool read")[-1]
    assert unread.start_time == unread.end_time, "a call that could not be read never ran"


async def test_cancelling_ends_every_open_span(tmp_path: Path, watched: Watched) -> None:
    task = uses(ScriptedCall("task", {"description": "look", "prompt": "wait"}))
    async with session(tmp_path, InProcessModel([task, Hang()]), watched.telemetry()) as loop:
        events = loop.events()
        working = asyncio.ensure_future(loop.prompt("go"))
        async for one in events:
            if type(one).__name__ == "RequestSent" and one.session_id != loop.id:
                break
        loop.cancel()
        assert (await working).reason == "cancelled"
        tree = [(depth, span.name, of(span).get("error.type")) for depth, span in watched.walk()]
    assert tree == [
        (0, "invoke_agent build", "cancelled"),
        (1, "chat model", None),
        (1, "execute_tool task", "cancelled"),
        (2, "invoke_agent general", "cancelled"),
        (3, "chat model", "cancelled"),
    ]


async def test_a_sub_agent_in_the_background_has_a_span_of_its_own_behind_its_call(
    tmp_path: Path, watched: Watched
) -> None:
    begins = asyncio.Event()

    async def wait() -> str:
        begins.set()
        return "begun"

    def answer(captured: CapturedRequest) -> Answer:
        words = [text for _, text in captured.messages]
        if words[0] == "count":
            return says("2 files") if len(words) > 1 else uses(ScriptedCall("wait", {}))
        if "completed" in words[-1]:
            return says("2")
        arguments = {"description": "look", "prompt": "count", "background": True}
        return says("I wait") if len(words) > 1 else uses(ScriptedCall("task", arguments))

    async with session(tmp_path, InProcessModel(answer), watched.telemetry(), tools=[wait]) as loop:
        assert (await loop.prompt("go")).text == "2" and begins.is_set()
    (child,) = watched.named("invoke_agent general")
    (call,) = watched.named("execute_tool task")
    assert of(child)[names.ENDED] == "done" and "error.type" not in {**of(child), **of(call)}
    assert (call.end_time or 0) <= (child.end_time or 0)


async def test_a_turn_that_an_exception_ended_is_closed_with_the_session(tmp_path: Path, watched: Watched) -> None:
    async with session(
        tmp_path, InProcessModel(lambda captured: loop.setup.store.close() or says("x")), watched.telemetry()
    ) as loop:  # type: ignore[func-returns-value]
        with pytest.raises(StoreError):
            await loop.prompt("go")
        assert watched.spans == ()
    assert [failed(span) for span in watched.spans] == ["interrupted", "interrupted"]


# -- the window ----------------------------------------------------------------------------------------------------


async def test_a_compaction_between_prompts_stands_alone(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel(name=NAME), watched.telemetry()) as loop:
        await loop.prompt("go")
        assert await loop.compact()
    (agent,) = watched.named("invoke_agent compaction")
    assert agent.parent is None and of(agent)["gen_ai.provider.name"] == "anthropic"
    ((_, chat),) = list(watched.walk(0, agent))
    assert (of(chat)["hudkit.compaction.trigger"], of(chat)["gen_ai.agent.name"]) == ("asked", "compaction")
    (event,) = agent.events
    assert (event.name, dict(event.attributes or {})) == (
        "hudkit.compaction",
        {"hudkit.compaction.trigger": "asked", "hudkit.compaction.author": "model"},
    )


async def test_a_summary_that_no_model_wrote(tmp_path: Path, watched: Watched) -> None:
    async with session(tmp_path, InProcessModel(compaction=Refusal(401)), watched.telemetry()) as loop:
        await loop.prompt("go")
        await loop.compact()
    (agent,) = watched.named("invoke_agent compaction")
    assert agent.status.status_code is StatusCode.UNSET
    assert dict(agent.events[0].attributes or {})["hudkit.compaction.author"] == "records"
    assert failed(watched.below(agent)[0]) == "model-unauthorised"


async def test_a_pruning_is_an_event_of_the_agent(tmp_path: Path, watched: Watched) -> None:
    turns = [(uses(ScriptedCall("bash", {"command": f"yes {n} | head -c 24000"})), says("done")) for n in range(12)]
    rules = LoopSettings(prune=True, protect=100, minimum=100, compact=False)
    model = InProcessModel([reply for turn in turns for reply in turn], window=Window(60_000, 1_000, None, "user"))
    allowed = (PermissionRule("bash", "*", "allow"),)
    hud = [("hud", hud_plugin(tmp_path / "data" / "hudkit.db"))]
    async with session(
        tmp_path, model, watched.telemetry(), plugins=hud, settings=rules, permissions=allowed
    ) as loop:
        for number in range(12):
            await loop.prompt(f"go on, {number}")
    spans = watched.named("invoke_agent build")
    events = [event for span in spans for event in span.events if event.name == "hudkit.pruning"]
    assert events and sum(int(dict(event.attributes or {})["hudkit.pruning.calls"]) for event in events) >= 1  # type: ignore[arg-type]


# -- metrics -------------------------------------------------------------------------------------------------------


async def test_metrics_of_model_calls(tmp_path: Path, watched: Watched) -> None:
    model = InProcessModel([REPLY, Refusal(401)], name=NAME)
    async with session(tmp_path, model, watched.telemetry()) as loop:
        await loop.prompt("one")
        await loop.prompt("two")
    who = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic"}
    who["gen_ai.request.model"] = "claude-sonnet-4-6"
    tokens = {point.attributes["gen_ai.token.type"]: point for point in watched.points(names.TOKEN_USAGE)}  # type: ignore[index]
    assert {kind: point.sum for kind, point in tokens.items()} == {"input": 1_000, "output": 50}
    assert dict(tokens["input"].attributes or {}) == {**who, "gen_ai.token.type": "input"}
    assert tokens["input"].explicit_bounds[:4] == (1, 4, 16, 64) and tokens["input"].explicit_bounds[-1] == 67_108_864
    durations = [dict(point.attributes or {}) for point in watched.points(names.DURATION)]
    assert durations == [who, {**who, "error.type": "model-unauthorised"}]
    spans = watched.named("chat claude-sonnet-4-6")
    lengths = [((span.end_time or 0) - began(span)) / 1e9 for span in spans]
    assert [point.sum for point in watched.points(names.DURATION)] == pytest.approx(lengths)
    assert watched.points(names.DURATION)[0].explicit_bounds[:2] == (0.01, 0.02)

"""Content: nothing of it unless asked for; then as the conventions write it, without secrets, within its limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import StatusCode
from telemetry_recorder import Watched, of, session

from hudkit.agent.hooks import ToolDefinition
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.records import Attachment
from hudkit.agent.telemetry import content
from hudkit.agent.telemetry.observations import ObservedMessage, ObservedPart
from hudkit.models.scripted_answers import Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.slow

MARKER = "zqx7marker"
KEY = "ghp_" + "a1B2" * 9
HEADER = "hq5header"


class Loud:
    """A plugin whose tool fails with the marker."""

    def tool(self, given: object, output: Any) -> None:
        def run(arguments: object, call: object) -> str:
            raise RuntimeError(MARKER)

        schema = {"type": "object", "properties": {}}
        output.tools["loud"] = ToolDefinition("loud", MARKER, schema, run)

    def chat_headers(self, given: object, output: Any) -> None:
        output.headers["x-own"] = HEADER

    def system_transform(self, given: object, output: Any) -> None:
        output.system.append(f"Instructions with {MARKER} and {KEY}")


async def everything(place: Path, watched: Watched, **given: Any) -> None:
    """The marker in prompt, file, arguments, results, reasoning, answer, errors, summary, and the HUD."""
    script = [
        uses(
            ScriptedCall("write", {"path": "a.txt", "content": f"{MARKER} {KEY}\n"}),
            ScriptedCall("read", {"path": "a.txt"}),
        ),
        uses(
            ScriptedCall("read", {"path": MARKER}),
            ScriptedCall("loud"),
            ScriptedCall("bash", {"command": f"echo {MARKER}"}),
        ),
        uses(ScriptedCall("task", {"description": MARKER, "prompt": MARKER})),
        says(MARKER),
        Refusal(429, message=MARKER),
        ScriptedReply(MARKER, reasoning=MARKER),
        Refusal(401, message=MARKER),
    ]
    model = InProcessModel(script, compaction=says(MARKER))
    plugins = [("hud", hud_plugin(place / "hudkit.db")), ("loud", Loud())]
    allowed = (PermissionRule("loud", "*", "allow"),)
    async with session(place, model, watched.telemetry(**given), plugins, permissions=allowed) as loop:
        events = loop.events()
        await loop.prompt(
            f"Do {MARKER}", [Attachment("", data=MARKER.encode(), path="p.png", media_type="image/png")]
        )
        await loop.compact()
        await loop.prompt(MARKER)
        assert HEADER not in str(events.take())
    assert model.left == 0 and len(watched.spans) > 12
    assert HEADER in str(model.port_requests) and HEADER not in "".join(span.to_json() for span in watched.spans)


@pytest.mark.anyio
async def test_nothing_that_was_said_leaves_unless_it_is_asked_for(tmp_path: Path, watched: Watched) -> None:
    await everything(tmp_path, watched)
    assert MARKER not in "".join(span.to_json() for span in watched.spans)


@pytest.mark.anyio
async def test_what_was_said_is_there_where_it_is_asked_for_but_no_secret(tmp_path: Path, watched: Watched) -> None:
    await everything(tmp_path, watched, content=True)
    text = "".join(span.to_json() for span in watched.spans)
    assert text.count(MARKER) > 20 and KEY not in text and "[redacted:github-token]" in text
    holding = {name for span in watched.spans for name, value in of(span).items() if MARKER in str(value)}
    assert holding == {
        "gen_ai.system_instructions",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
    }
    loud = watched.named("execute_tool loud")[0].status
    assert loud.status_code is StatusCode.ERROR and MARKER in str(loud.description)
    assert "p.png" in text and MARKER.encode().hex() not in text


@pytest.mark.anyio
async def test_messages_in_the_conventions_own_form(tmp_path: Path, watched: Watched) -> None:
    model = InProcessModel(
        [
            ScriptedReply("Looking.", (ScriptedCall("glob", {"pattern": "*"}, "call_7"),), reasoning="Hm."),
            says("Done."),
        ]
    )
    async with session(tmp_path, model, watched.telemetry(content=True)) as loop:
        await loop.prompt("Look")
    first, last = watched.named("chat model")
    glob = {"type": "tool_call", "id": "call_7", "name": "glob", "arguments": {"pattern": "*"}}
    looking = [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Looking."}, glob]
    asked = {"role": "user", "parts": [{"type": "text", "content": "Look"}]}
    assert json.loads(of(first)["gen_ai.input.messages"]) == [asked]
    assert json.loads(of(first)["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": looking, "finish_reason": "tool_call"}
    ]
    result = of(watched.named("execute_tool glob")[0])["gen_ai.tool.call.result"]
    assert json.loads(of(last)["gen_ai.input.messages"]) == [
        asked,
        {"role": "assistant", "parts": looking},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_7", "response": result}]},
    ]
    system = json.loads(of(first)["gen_ai.system_instructions"])
    assert {part["type"] for part in system} == {"text"} and "coding agent" in system[0]["content"]


@pytest.mark.anyio
async def test_the_newest_messages_are_kept(tmp_path: Path, watched: Watched) -> None:
    script = [uses(ScriptedCall("glob", {"pattern": f"{n}" * 100})) for n in range(8)]
    async with session(
        tmp_path, InProcessModel([*script, says("Done.")]), watched.telemetry(content=True, limit=1_000)
    ) as loop:
        await loop.prompt("Look")
    found = of(watched.named("chat model")[-1])
    kept = json.loads(found["gen_ai.input.messages"])
    assert "7" * 100 in str(kept) and "0" * 100 not in str(kept)
    assert found["hudkit.content.omitted"] + len(kept) == 17
    assert "hudkit.content.omitted" not in of(watched.named("chat model")[0])
    assert all(len(str(value)) <= 1_000 for span in watched.spans for value in of(span).values())


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=20), inner, max_size=6),
    max_leaves=30,
)


@given(plain, st.integers(200, 2_000))
def test_any_value_is_json_within_the_limit(value: object, limit: int) -> None:
    text = content.arguments(value, limit)
    assert len(text) <= limit
    whole = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(whole) <= limit // 2 and "redacted" not in text:
        assert json.loads(text) == value


@given(st.lists(st.text(max_size=400), max_size=12), st.integers(200, 2_000))
def test_any_messages_are_json_within_the_limit(texts: list[str], limit: int) -> None:
    text, omitted = content.messages([ObservedMessage("user", (ObservedPart("text", one),)) for one in texts], limit)
    assert len(text) <= limit
    kept = json.loads(text)
    assert isinstance(kept, str) or len(kept) + omitted == len(texts)
    assert omitted < max(1, len(texts))


def test_a_text_that_is_shortened_says_by_how_much() -> None:
    text = content.words("word " * 1_000, 500)
    kept, _, left = text.partition("… [")
    assert len(text) <= 500 and left == f"{5_000 - len(kept)} characters are left out]"


@pytest.mark.parametrize("before", [0, 180, 199, 3_000, 19_990, 20_190, 20_210, 40_000])
def test_no_part_of_a_secret_is_shown_wherever_it_stands(before: int) -> None:
    text = f"{'x' * before}\npassword = '{KEY}'\nmore\n" + "y\n" * 20_000
    shown = content.words(text, 200) + content.arguments({"text": text, "password": KEY}, 400)
    assert KEY[:12] not in shown and KEY[4:12] not in shown


def test_a_secret_that_is_cut_where_reading_stops_is_not_shown() -> None:
    """A long key shrinks to a word, so that what comes after it moves into what is shown."""
    long = f"-----BEGIN PRIVATE KEY-----\n{'A1b2' * 5_070}\n-----END PRIVATE KEY-----\n"
    for stop in range(20, 35):
        fill = "f" * (400 + content.BEYOND - stop - len(long) - 1)
        text = f"{long}{fill}\nhttps://me:correcthorsebattery@example.org\n" + "y\n" * 20_000
        shown = content.words(text, 400)
        assert "correct" not in shown and "A1b2" not in shown and "fff" in shown

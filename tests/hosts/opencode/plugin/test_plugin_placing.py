"""Where the plugin puts what the daemon gave, and which calls it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
from plugin_conversation import (
    Message,
    assistant,
    compacting,
    event,
    failed,
    sent,
    system,
    text,
    tool,
    transform,
    user,
    wait,
)
from plugin_driver import Drive
from wire_server import WireServer, frame

from hudkit.hosts.opencode.plugin.plugin_source import SUMMARIZER_PROMPT
from hudkit.hosts.wire import DeltaLayer, OutputStub

pytestmark = pytest.mark.slow  # each starts a JavaScript process

CHANGE = "[hud 000001] note: x\n"
TITLE = "You are a title generator. You output ONLY a thread title."
CLEARED = {"start": 1, "end": 2, "compacted": 3}
ABORTED = {"name": "MessageAbortedError", "data": {"message": "aborted"}}

PLACES: dict[str, tuple[list[Message], str, str, str]] = {
    "tool output": ([user(1), assistant(2, tool("c1", "made"))], "assistant:2:c1", "tool", "made\n\nDELTA"),
    "the last of several": (
        [user(1), assistant(2, tool("c1", "one"), tool("c2", "two"))],
        "assistant:2:c1",
        "tool",
        "one\ntwo\n\nDELTA",
    ),
    "empty output": ([user(1), assistant(2, tool("c1", ""))], "assistant:2:c1", "tool", "\n\nDELTA"),
    "failed tool": ([user(1), assistant(2, failed("c1", "bad"))], "assistant:2:c1", "tool", "bad\n\nDELTA"),
    "an aborted response": (
        [user(1), assistant(2, failed("c1", "Tool execution aborted"), error=ABORTED), user(3)],
        "assistant:2:c1",
        "tool",
        "aborted\n\nDELTA",
    ),
    "user message": ([user(1, "go"), assistant(2, text("ok")), user(3)], "user:1:", "user", "go\nDELTA"),
    "an older message": (
        [user(1), assistant(2, tool("c1", "made")), assistant(3, tool("c2"))],
        "assistant:2:c1",
        "tool",
        "made\n\nDELTA",
    ),
    "a twin": ([user(1, "one"), user(1, "two")], "user:1:#2", "user", "two\nDELTA"),
}

NOWHERE: dict[str, tuple[list[Message], str, str]] = {
    "a message that is gone": ([user(1)], "assistant:9:c9", "tool"),
    "cleared output": ([user(1), assistant(2, tool("c1", time=CLEARED)), user(3)], "assistant:2:c1", "tool"),
    "a call that is not finished": ([user(1), assistant(2, tool("c1", status="running"))], "assistant:2:c1", "tool"),
    "an assistant's words": ([user(1), assistant(2, text("hm")), user(3)], "assistant:2:", "user"),
    "a response that failed": (
        [user(1), assistant(2, tool("c1"), error={"name": "APIError", "data": {}}), user(3)],
        "assistant:2:c1",
        "tool",
    ),
    "a user message that is not sent": ([user(1, ""), user(2)], "user:1:", "user"),
    "an answer that goes on": ([user(1), assistant(2, text("hm"))], "assistant:2:", "user"),
    "the other form": ([user(1)], "user:1:", "tool"),
}


def layer(anchor: str, form: str, said: str = CHANGE, id: str = "1.1") -> DeltaLayer:
    return DeltaLayer(id, anchor, form, said)


@pytest.mark.parametrize("name", PLACES)
def test_a_delta_stands_where_it_was_first_sent(name: str, daemon: WireServer, drive: Drive) -> None:
    messages, anchor, form, wanted = PLACES[name]
    daemon.answers = {"/v1/frame": frame(deltas=(layer(anchor, form),))}
    after = drive(transform(*messages))[0]["messages"]
    assert wanted.replace("DELTA", CHANGE) in sent(after)
    assert sent(after).replace(f"\n\n{CHANGE}", "").replace(f"\n{CHANGE}", "") == sent(messages)
    assert anchor in [one.anchor for one in daemon.of("/v1/frame")[0].transcript]


@pytest.mark.parametrize("name", NOWHERE)
def test_a_delta_without_a_place_is_left_out(name: str, daemon: WireServer, drive: Drive) -> None:
    messages, anchor, form = NOWHERE[name]
    daemon.answers = {"/v1/frame": frame(deltas=(layer(anchor, form),))}
    assert drive(transform(*messages))[0]["messages"] == messages


def test_what_cannot_carry_a_delta_is_told_as_cleared_or_not_at_all(daemon: WireServer, drive: Drive) -> None:
    """So the daemon tells again what stood there."""
    daemon.answers = {"/v1/frame": frame()}
    for messages, _, _ in NOWHERE.values():
        drive(transform(*messages))
    told = [[(one.anchor, one.role) for one in ask.transcript] for ask in daemon.of("/v1/frame")]
    assert told == [
        [("user:1:", "user")],
        [("user:1:", "user"), ("assistant:2:c1", "cleared"), ("user:3:", "user")],
        [("user:1:", "user")],
        [("user:1:", "user"), ("assistant:2:", "assistant"), ("user:3:", "user")],
        [("user:1:", "user"), ("user:3:", "user")],
        [("user:2:", "user")],
        [("user:1:", "user")],
        [("user:1:", "user")],
    ]


def test_the_transcript_tells_how_much_of_each_message_is_sent(daemon: WireServer, drive: Drive) -> None:
    """Of a tool its input (`command`, four characters for what JSON puts around it, `make`) and its output."""
    daemon.answers = {"/v1/frame": frame()}
    ignored = {"id": "prt_i", "type": "text", "text": "not sent", "ignored": True}
    broken = tool("c5", status="error", error="no such file")
    steps = [
        (user(1, "do it", ignored), 5),
        (assistant(2, text("I see"), tool("c2", "x" * 5_000)), 5 + 15 + 5_000),
        (assistant(3, tool("c3", "x" * 5_000, time=CLEARED), tool("c4", "ok")), 15 + 33 + 15 + 2),
        (assistant(4, broken), 15 + 12),
        (assistant(5, tool("c6", "x" * 5_000, time=CLEARED)), 15 + 33),
        (user(6, "é\u2028" * 10), 20),
    ]
    drive(transform(*(message for message, _ in steps)))
    (ask,) = daemon.of("/v1/frame")
    assert [one.size for one in ask.transcript] == [size for _, size in steps]
    assert [one.role for one in ask.transcript] == ["user", "tool", "tool", "tool", "cleared", "user"]


def test_an_interrupted_command_has_its_output_elsewhere(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame(deltas=(layer("assistant:2:c1", "tool"),))}
    part = failed("c1", metadata={"interrupted": True, "output": "half", "exit": None})
    after = drive(transform(user(1), assistant(2, part)))[0]["messages"][1]["parts"][1]["state"]
    assert (after["metadata"]["output"], after["error"]) == (f"half\n\n{CHANGE}", "no such file")


def test_two_deltas_on_one_message_keep_their_order(daemon: WireServer, drive: Drive) -> None:
    both = (layer("user:1:", "user", "first\n"), layer("user:1:", "user", "second\n", "1.2"))
    daemon.answers = {"/v1/frame": frame(deltas=both, tail="tail\n")}
    parts = drive(transform(user(1, "go")))[0]["messages"][0]["parts"]
    assert [part["text"] for part in parts] == ["go", "first\n", "second\n", "tail\n"]
    assert [part["id"] for part in parts[1:]] == ["prt_hudkit_1.1", "prt_hudkit_1.2", "prt_hudkit_tail"]
    assert all(part["synthetic"] and part["messageID"] == "msg_1" for part in parts[1:])


@pytest.mark.parametrize(
    ("last", "there"),
    [
        ([user(3)], True),
        ([assistant(3, tool("c1"))], False),
        ([assistant(3, text("hm"))], False),
        ([user(3, "")], False),
    ],
)
def test_the_tail_is_at_the_start_of_a_turn_only(
    last: list[Message], there: bool, daemon: WireServer, drive: Drive
) -> None:
    daemon.answers = {"/v1/frame": frame(tail="42 % used\n")}
    after = drive(transform(user(1), assistant(2, text("ok")), *last))[0]["messages"]
    assert sent(after).endswith("42 % used\n") is there
    assert ("42 % used" in sent(after)) is there


def test_the_base_is_in_every_chat_call_and_in_no_other(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame("# HUD\n")}
    ran = drive(
        system("You"),  # before any call of the session
        transform(user(1)),
        system(TITLE),
        system("You are OpenCode"),
        system("You are OpenCode"),  # tried again
        system("You", session=None),
        system("You", session="ses_other"),
        system("You", "# HUD\n"),  # loaded twice
        system("You", "another plugin's"),
    )
    said = [step["output"]["system"] for step in ran.results[1:] if "system" in step["output"]]
    assert said == [
        ["You"],
        [TITLE],
        ["You are OpenCode\n\n# HUD\n"],
        ["You are OpenCode\n\n# HUD\n"],
        ["You"],
        ["You"],
        ["You", "# HUD\n"],
        ["You\n\nanother plugin's\n\n# HUD\n"],
    ]


MARKED = {
    "claude at Anthropic": ("@ai-sdk/anthropic", "claude-sonnet-4-5"),
    "any model behind Anthropic's API": ("@ai-sdk/anthropic", "kimi-k3"),
    "claude at Google": ("@ai-sdk/google-vertex/anthropic", "claude-opus-4-5"),
    "claude at Amazon": ("@ai-sdk/amazon-bedrock", "anthropic.claude-opus-4-5"),
    "claude at OpenRouter": ("@openrouter/ai-sdk-provider", "anthropic/claude-opus-4.5"),
    "claude at Copilot": ("@ai-sdk/github-copilot", "claude-sonnet-4.5"),
}
UNMARKED = {
    "a local model": ("@ai-sdk/openai-compatible", "qwen3.5"),
    "a local model named after another": ("@ai-sdk/openai-compatible", "qwen3.5-claude-distill"),
    "OpenAI": ("@ai-sdk/openai", "gpt-5"),
    "Google": ("@ai-sdk/google", "gemini-3"),
    "Amazon's own": ("@ai-sdk/amazon-bedrock", "amazon.nova-pro"),
    "an open model at OpenRouter": ("@openrouter/ai-sdk-provider", "openai/gpt-oss-120b"),
    "Qwen at Alibaba": ("@ai-sdk/alibaba", "qwen3.5-max"),
}


def test_the_base_is_a_text_of_its_own_only_where_it_ends_a_cached_prefix(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame("# HUD\n")}
    models = [*MARKED.values(), *UNMARKED.values()]
    ran = drive(transform(user(1)), *(system("You", npm=npm, name=name) for npm, name in models))
    texts = [step["output"]["system"] for step in ran.results[1:] if "system" in step["output"]]
    assert texts[: len(MARKED)] == [["You", "# HUD\n"]] * len(MARKED)
    assert texts[len(MARKED) :] == [["You\n\n# HUD\n"]] * len(UNMARKED)


def test_compaction_gets_its_prompt_and_nothing_else(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame("# HUD\n", "tail\n", (layer("user:1:", "user"),))}
    before = [user(1), assistant(2, tool("c1"))]
    for opening in (SUMMARIZER_PROMPT, "You are a context summarization agent.", "A user's own words"):
        ran = drive(
            transform(*before),
            system(),
            compacting(),
            transform(*before),
            system(TITLE),
            system(opening),
            transform(*before),
            system(),
        )
        assert ran[2]["prompt"] == "Carry on, with the HUD."
        assert ran[3]["messages"] == before
        assert (ran[4]["system"], ran[5]["system"]) == ([TITLE], [opening])
        assert (ran[6], ran[7]) == (ran[0], ran[1])
        assert ran[1]["system"] == ["You\n\n# HUD\n"]


def test_a_compaction_of_nothing_does_not_take_the_next_call_for_one(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame("# HUD\n", "tail\n")}
    for opening in (SUMMARIZER_PROMPT, "Another plugin's words"):
        ran = drive(compacting(), transform(), system(opening), transform(user(1)), system())
        assert (ran[1]["messages"], ran[2]["system"]) == ([], [opening])
        assert sent(ran[3]["messages"]).endswith("tail\n")
        assert ran[4]["system"] == ["You\n\n# HUD\n"]


def test_the_prompts_of_a_users_own_agents_are_known(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame("# HUD\n")}
    agents = {"title": {"prompt": "Name it"}, "compaction": {"prompt": "Sum it up", "model": "a/b"}}
    config: dict[str, Any] = {"hook": "config", "input": {"agent": agents}, "output": None}
    ran = drive(
        config, transform(user(1)), system("Name it"), system("Sum it up, with all"), transform(user(1)), system()
    )
    assert [ran[n]["system"] for n in (2, 3, 5)] == [["Name it"], ["Sum it up, with all"], ["You\n\n# HUD\n"]]
    assert ran.results[1]["input"]["agent"] == agents
    fresh = drive({"hook": "config", "input": {"model": "a/b"}, "output": None}).results[1]["input"]
    assert fresh == {"model": "a/b", "agent": {"compaction": {"prompt": SUMMARIZER_PROMPT}}}
    assert "another agent" not in SUMMARIZER_PROMPT


def test_a_subagent_is_a_session_of_its_own(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame()}
    child = user(1)
    child["info"]["sessionID"] = "ses_child"
    info = {"id": "ses_child", "parentID": "ses_1", "title": "look for it", "directory": "/work/project"}
    drive(event("session.created", info=info), wait(400), transform(child), transform(user(1)))
    asked = {ask.session: ask.facts.parent for ask in daemon.of("/v1/frame")}
    assert asked == {"ses_child": "ses_1", "ses_1": None}
    (told,) = daemon.of("/v1/events")
    assert (told.session, told.facts.title, told.directory) == ("ses_child", "look for it", "/work/project")


def test_pruned_outputs_are_one_line_in_every_call_and_in_a_summary(daemon: WireServer, drive: Drive) -> None:
    stubs = (
        OutputStub("c1", "[pruned: one]"),
        OutputStub("c3", "[pruned: three]"),
        OutputStub("gone", "[pruned: not there]"),
    )
    deltas = (layer("assistant:2:c1", "tool"),)
    daemon.answers = {"/v1/frame": frame(deltas=deltas, pruned=stubs)}
    talk = [user(1), assistant(2, tool("c1", "one\n" * 50), tool("c2", "two")), assistant(3, failed("c3", "three"))]
    results = drive(transform(*talk), compacting(), transform(*talk), transform(*talk))
    calls = [sent(one["messages"], tail=False) for one in results if one and "messages" in one]
    assert len(calls) == 3
    for said in calls:
        assert "[pruned: one]" in said and "[pruned: three]" in said and "two" in said
        assert "one\none" not in said and "not there" not in said
    assert ["[hud " in said or "DELTA" in said for said in calls] == [True, False, True]
    told = [[(one.call, one.size) for one in placed.outputs] for placed in daemon.of("/v1/frame")[-1].transcript]
    assert told == [[], [("c1", 200), ("c2", 3)], [("c3", 5)]]  # as the host has them

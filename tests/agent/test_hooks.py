"""Hooks: a plugin uses each for something real, and one that throws, hangs or lies harms nobody else."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.agent import hooks as h
from hudkit.agent.hooks import Hooks, ModelCallContext, System
from hudkit.errors import ConfigError

CHAT = ModelCallContext("ses", "build", "test:model")


def run(
    plugins: dict[str, object], hook: str, given: h.HookInput, output: h.HookOutput, seconds: float | None = None
) -> Hooks:
    hooks = Hooks(seconds=seconds)
    for name, plugin in plugins.items():
        hooks.add(name, plugin)
    asyncio.run(hooks.run(hook, given, output))
    hooks.close()
    return hooks


def test_plugins_run_in_order_and_see_what_the_ones_before_left() -> None:
    class One:
        def system_transform(self, given: ModelCallContext, output: System) -> None:
            output.system.append(f"one for {given.session_id}")

    class Two:
        async def system_transform(self, given: ModelCallContext, output: System) -> None:
            await asyncio.sleep(0)
            output.system[:] = [text.upper() for text in output.system]

    output = System(["head"])
    held = run({"one": One(), "two": Two()}, "system_transform", CHAT, output)
    assert output.system == ["HEAD", "ONE FOR SES"], "the very object is changed"
    assert list(held.failures) == []


def test_a_plugin_hears_the_events_that_it_wants_and_is_not_called_for_others() -> None:
    heard: list[str] = []

    class Picky:
        @h.on_events("session.idle")
        def event(self, given: h.HookEvent, output: h.NoOutput) -> None:
            heard.append(f"picky {given.type}")

    def hears_all(given: h.HookEvent, output: h.NoOutput) -> None:
        heard.append(f"all {given.type}")

    hooks = Hooks()
    hooks.add("picky", Picky())
    assert hooks.listens_to("session.idle") and not hooks.listens_to("message.updated")
    hooks.add("all", {"event": hears_all})
    assert hooks.listens_to("message.updated")
    for type in ("session.idle", "message.updated"):
        asyncio.run(hooks.run("event", h.HookEvent(type), h.NoOutput()))
    hooks.close()
    assert heard == ["picky session.idle", "all session.idle", "all message.updated"]


def test_a_plugin_that_replaces_messages_is_given_the_sessions_own_and_what_it_puts_there_is_copied_once() -> None:
    seen: list[list[h.ChatMessage]] = []
    block = h.ChatMessage("assistant", [h.ChatPart("text", "two, and a block")], "m2")

    class Replacing:
        @h.replaces_messages
        def messages_transform(self, given: ModelCallContext, output: h.Messages) -> None:
            seen.append(list(output.messages))
            output.messages[1] = block
            if len(output.messages) == 3:
                del output.messages[0]

    hooks = Hooks()
    hooks.add("replacing", Replacing())
    own = [h.ChatMessage("user", [h.ChatPart("text", "one")], "m1"), h.ChatMessage("assistant", [], "m2")]
    left = []
    for messages in (own, own, [*own, h.ChatMessage("user", [h.ChatPart("text", "three")], "m3")]):
        output = h.Messages(list(messages))
        asyncio.run(hooks.run("messages_transform", CHAT, output))
        left.append(output.messages)
        assert all(given is message for given, message in zip(seen[-1], messages, strict=True))
    hooks.close()
    assert [[message.id for message in messages] for messages in left] == [["m1", "m2"], ["m1", "m2"], ["m2", "m3"]]
    copies = {id(messages[-2 if len(seen[index]) == 3 else -1]) for index, messages in enumerate(left)}
    assert len(copies) == 1 and id(block) not in copies, "copied when it was put there first"
    block.parts[0].text = "changed later"
    assert left[0][1].parts[0].text == "two, and a block"
    assert own[1].parts == [] and list(hooks.failures) == []


def test_what_a_plugin_that_replaces_messages_leaves_is_checked() -> None:
    @h.replaces_messages
    def messages_transform(given: ModelCallContext, output: h.Messages) -> None:
        output.messages[0] = h.ChatMessage("user", [3], "m1")  # type: ignore[list-item]

    own = h.ChatMessage("user", [h.ChatPart("text", "one")], "m1")
    output = h.Messages([own])
    hooks = run({"lying": {"messages_transform": messages_transform}}, "messages_transform", CHAT, output)
    assert output.messages == [own]
    assert [(failure.kind, "output.messages[0].parts[0]" in failure.message) for failure in hooks.failures] == [
        ("invalid_output", True)
    ]


async def _throws(given: Any, output: System) -> None:
    output.system.append("bad")
    raise ValueError("broken \x1b[2J")


def _leaves(given: Any, output: System) -> None:
    output.system.append("bad")
    sys.exit(3)


def _blocks(given: Any, output: System) -> None:
    output.system.append("bad")
    time.sleep(1.5)


async def _sleeps(given: Any, output: System) -> None:
    output.system.append("bad")
    await asyncio.sleep(60)


async def _clings(given: Any, output: System) -> None:
    output.system.append("bad")
    while True:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            if time.monotonic() - STARTED > 600:
                raise


STARTED = time.monotonic()


def _wrong_type(given: Any, output: System) -> None:
    output.system.append("bad")
    output.system.append(3)  # type: ignore[arg-type]


def _no_list(given: Any, output: System) -> None:
    output.system = "bad"  # type: ignore[assignment]


def _circle(given: Any, output: System) -> None:
    output.system.append(output.system)  # type: ignore[arg-type]


def _removed(given: Any, output: System) -> None:
    del output.system


class Sly(str):
    def __len__(self) -> int:
        raise RuntimeError


def _sly(given: Any, output: System) -> None:
    output.system.append(Sly("bad"))


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (_throws, "raised"), (_leaves, "raised"), (_blocks, "time-out"), (_sleeps, "time-out"), (_clings, "time-out"),
        (_wrong_type, "invalid_output"), (_no_list, "invalid_output"), (_circle, "invalid_output"),
        (_removed, "invalid_output"), (_sly, "invalid_output"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_bad_plugin_is_named_and_harms_nobody_else(bad: Callable[..., Any], kind: str) -> None:
    def good(given: Any, output: System) -> None:
        output.system.append("good")

    output = System(["head"])
    told: list[h.Failure] = []
    hooks = Hooks(on_failure=told.append, seconds=0.4)
    for name, plugin in (("first", good), ("bad", bad), ("last", good)):
        hooks.add(name, {"system_transform": plugin})
    asyncio.run(hooks.run("system_transform", CHAT, output))
    assert output.system == ["head", "good", "good"], "all that the bad one changed in this call is dropped"
    assert [(one.plugin, one.hook, one.kind) for one in told] == [("bad", "system_transform", kind)]
    assert "\x1b" not in told[0].message
    hooks.close()


@pytest.mark.slow
def test_a_plugin_that_still_blocks_is_passed_over_and_comes_back() -> None:
    pause = [0.8]

    def slow(given: Any, output: System) -> None:
        time.sleep(pause.pop() if pause else 0)
        output.system.append("slow")

    async def play() -> list[list[str]]:
        hooks = Hooks(seconds=0.2)
        hooks.add("slow", {"system_transform": slow})
        seen = []
        for wait in (0.0, 0.0, 0.9):
            await asyncio.sleep(wait)
            seen.append((await hooks.run("system_transform", CHAT, System([]))).system)
        assert [one.kind for one in hooks.failures] == ["time-out", "stuck"]
        hooks.close()
        return seen

    assert asyncio.run(play()) == [[], [], ["slow"]]


def test_hooks_that_are_run_together_enter_a_plugins_thread_once() -> None:
    tasks: dict[str, list[Any]] = {"a": [], "b": []}

    def plugin(name: str) -> dict[str, object]:
        def note(given: Any, output: Any) -> None:
            tasks[name].append(asyncio.current_task())
            if isinstance(output, System):
                output.system.append(name)

        return {"system_transform": note, "chat_headers": note, "chat_params": note}

    system, hooks = System([]), Hooks()
    for name in tasks:
        hooks.add(name, plugin(name))
    calls = (
        ("system_transform", CHAT, system),
        ("chat_params", CHAT, h.Params()),
        ("chat_headers", CHAT, h.Headers()),
    )
    asyncio.run(hooks.run_all(calls))
    hooks.close()
    assert {name: (len(seen), len(set(seen))) for name, seen in tasks.items()} == {"a": (3, 1), "b": (3, 1)}
    assert system.system == ["a", "b"]


def test_behind_a_hook_that_is_too_late_the_others_are_run_all_the_same() -> None:
    def adds(given: Any, output: h.Headers) -> None:
        output.headers["x"] = "y"

    headers, hooks = h.Headers(), Hooks(seconds=0.05)
    hooks.add("it", {"chat_params": _quick, "system_transform": _sleeps, "chat_headers": adds})
    calls = (
        ("chat_params", CHAT, h.Params()),
        ("system_transform", CHAT, System([])),
        ("chat_headers", CHAT, headers),
    )
    asyncio.run(hooks.run_all(calls))
    hooks.close()
    assert [(one.hook, one.kind) for one in hooks.failures] == [("system_transform", "time-out")]
    assert headers.headers == {"x": "y"}


def test_of_the_messages_of_a_request_only_changed_ones_are_copied_again() -> None:
    first, second = (h.ChatMessage("user", [h.ChatPart("text", name)], name) for name in ("one", "two"))
    drafts: list[h.ChatMessage] = []

    def changes(given: Any, output: h.Messages) -> None:
        output.messages[1].parts[0].text = "other"
        output.messages.append(h.ChatMessage("user", [h.ChatPart("text", "third")]))
        drafts.extend(output.messages)

    output = h.Messages([first, second])
    run({"it": {"messages_transform": changes}}, "messages_transform", CHAT, output)
    assert [message.parts[0].text for message in output.messages] == ["one", "other", "third"]
    assert output.messages[0] is first and second.parts[0].text == "two"
    drafts[0].parts[0].text = drafts[1].parts[0].text = "later"
    assert [message.parts[0].text for message in output.messages] == ["one", "other", "third"]


def played(plugin: dict[str, object], order: list[str], seconds: float = 0.02) -> Hooks:
    """The hooks of one plugin, run in this order with almost no time."""
    both: dict[str, tuple[h.HookInput, Callable[[], h.HookOutput]]] = {
        "system_transform": (CHAT, lambda: System([])),
        "chat_headers": (CHAT, h.Headers),
        "event": (h.HookEvent("session.idle"), h.NoOutput),
    }

    async def play() -> Hooks:
        hooks = Hooks(seconds=seconds)
        hooks.add("it", plugin)
        for hook in order:
            given, output = both[hook]
            await hooks.run(hook, given, output())
        return hooks

    hooks = asyncio.run(play())
    hooks.close()
    return hooks


def _quick(given: Any, output: Any) -> None:
    pass


def test_a_plugin_that_hangs_three_times_is_set_aside_and_costs_nothing_more() -> None:
    hooks = played({"system_transform": _sleeps}, ["system_transform"] * 9)
    assert [one.kind for one in hooks.failures] == ["time-out"] * 3 + ["aside"], "told once"
    assert hooks.aside == {"it"} and "rest of the session" in hooks.failures[-1].message


def test_a_quick_hook_does_not_excuse_one_that_hangs() -> None:
    hooks = played({"system_transform": _sleeps, "event": _quick}, ["system_transform", "event"] * 3)
    assert hooks.aside == {"it"}


def test_hooks_that_hang_are_counted_together() -> None:
    hooks = played(
        {"system_transform": _sleeps, "chat_headers": _sleeps_long, "event": _sleeps_long},
        ["system_transform", "chat_headers", "event"],
    )
    assert hooks.aside == {"it"}


async def _sleeps_long(given: Any, output: Any) -> None:
    await asyncio.sleep(60)


def test_a_hook_that_is_slow_now_and_then_is_forgiven() -> None:
    pauses = [60, 60, 0] * 3

    async def slow(given: Any, output: System) -> None:
        await asyncio.sleep(pauses.pop(0))

    hooks = played({"system_transform": slow}, ["system_transform"] * 9)
    assert [one.kind for one in hooks.failures] == ["time-out"] * 6 and not hooks.aside


def test_a_plugin_that_merely_raises_is_not_set_aside() -> None:
    hooks = played({"system_transform": _throws}, ["system_transform"] * 30, seconds=60)
    assert [one.kind for one in hooks.failures] == ["raised"] * 30 and not hooks.aside


@pytest.mark.slow
def test_a_plugin_that_blocks_for_good_is_set_aside_at_last() -> None:
    release = threading.Event()

    def blocks(given: Any, output: System) -> None:
        release.wait(60)

    try:
        hooks = played({"system_transform": blocks}, ["system_transform"] * 30)
    finally:
        release.set()
    assert [one.kind for one in hooks.failures] == ["time-out", *["stuck"] * 20, "aside"]


def test_what_a_plugin_keeps_of_an_output_is_a_copy() -> None:
    kept: list[System] = []

    def keeper(given: Any, output: System) -> None:
        kept.append(output)

    output = System(["head"])
    run({"keeper": {"system_transform": keeper}}, "system_transform", CHAT, output)
    kept[0].system.append("later")
    assert output.system == ["head"]


def test_a_hook_that_is_misspelt_or_missing_is_refused() -> None:
    hooks = Hooks()
    with pytest.raises(ConfigError, match="system_transform"):
        hooks.add("a", {"system_transfrom": print})

    class Misspelt:
        def tool_execute_befor(self) -> None: ...

    with pytest.raises(ConfigError, match="tool_execute_before"):
        hooks.add("a", Misspelt())
    with pytest.raises(ConfigError, match="no hook"):
        hooks.add("a", object())
    hooks.add("a", {"event": print})
    with pytest.raises(ConfigError, match="already"):
        hooks.add("a", {"event": print})
    assert hooks.using("event") == ("a",)


@pytest.mark.slow
def test_a_cancelled_call_is_cancelled_in_the_plugin_too() -> None:
    ended: list[str] = []

    async def long(given: Any, output: System) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("yes")

    async def play() -> None:
        hooks = Hooks()
        hooks.add("long", {"system_transform": long})
        task = asyncio.create_task(hooks.run("system_transform", CHAT, System([])))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.1)
        hooks.close()

    asyncio.run(play())
    assert ended == ["yes"]


async def _redacting(given: h.ToolExecuteAfter, output: h.ToolOutput) -> None:
    output.text = output.text.replace("hunter2", "***")
    output.metadata["by"] = given.tool


def _env(given: h.ShellEnv, output: h.ShellVariables) -> None:
    output.env["CI"] = "1"
    output.env["WHERE"] = given.cwd


def _tool(given: h.ToolsRequest, output: h.Tools) -> None:
    def roll(arguments: dict[str, Any], call: h.ToolExecuteBefore) -> str:
        return f"{arguments['sides']} for {call.call_id}"

    output.tools["roll"] = h.ToolDefinition("roll", "Roll a die", {"type": "object"}, roll)


def _deny(given: h.PermissionAsk, output: h.PermissionStatus) -> None:
    if any("prod" in pattern for pattern in given.patterns):
        output.status = "deny"


def _without_old_images(given: ModelCallContext, output: h.Messages) -> None:
    for message in output.messages:
        message.parts = [part for part in message.parts if part.kind != "file"]
    output.messages.append(h.ChatMessage("user", [h.ChatPart("text", "remember", synthetic=True)]))


def _set(**changes: Any) -> Callable[[Any, Any], None]:
    def hook(given: Any, output: Any) -> None:
        for name, value in changes.items():
            setattr(output, name, value)

    return hook


MESSAGE = h.ChatMessage("user", [h.ChatPart("file", media_type="image/png"), h.ChatPart("text", "hi")])

USES: list[tuple[str, Callable[..., Awaitable[None] | None], h.HookInput, h.HookOutput, Callable[[Any], bool]]] = [
    ("config", _set(settings={"model": "x"}), h.HookInput(), h.HostSettings(),
     lambda out: out.settings == {"model": "x"}),
    ("tool", _tool, h.ToolsRequest("s"), h.Tools(), lambda out: out.tools["roll"].description == "Roll a die"),
    ("auth", _set(api_key="k"), h.AuthRequest("openai"), h.Auth(), lambda out: out.api_key == "k"),
    (
        "provider", _set(models={"big": h.ModelLimits(9, 8, 7)}), h.AuthRequest("mine"), h.Models(),
        lambda out: out.models["big"].input == 8,
    ),
    (
        "chat_message", _set(parts=[h.ChatPart("text", "hi!")]), CHAT, h.NewMessage([h.ChatPart("text", "hi")]),
        lambda out: out.parts[0].text == "hi!",
    ),
    ("chat_params", _set(temperature=1), CHAT, h.Params(), lambda out: out.temperature == 1.0),
    ("chat_headers", _set(headers={"X-Team": "a"}), CHAT, h.Headers(), lambda out: out.headers == {"X-Team": "a"}),
    (
        "permission_ask", _deny, h.PermissionAsk("s", "bash", ("deploy prod",)), h.PermissionStatus(),
        lambda out: out.status == "deny",
    ),
    (
        "command_execute_before", _set(parts=[h.ChatPart("text", "expanded")]),
        h.CommandExecuteBefore("s", "fix", "12"),
        h.NewMessage(), lambda out: out.parts[0].text == "expanded",
    ),
    (
        "tool_execute_before", _set(arguments={"path": "b"}), h.ToolExecuteBefore("s", "read", "c"),
        h.ToolArguments({"path": "a"}), lambda out: out.arguments == {"path": "b"},
    ),
    (
        "tool_execute_after", _redacting, h.ToolExecuteAfter("s", "bash", "c", {}), h.ToolOutput("pw hunter2"),
        lambda out: out.text == "pw ***" and out.metadata == {"by": "bash"},
    ),
    ("shell_env", _env, h.ShellEnv("/p"), h.ShellVariables(), lambda out: out.env == {"CI": "1", "WHERE": "/p"}),
    (
        "tool_definition", _set(description="Runs tests"), h.ToolReference("bash"), h.ToolDescription("Runs"),
        lambda out: out.description == "Runs tests",
    ),
    (
        "messages_transform", _without_old_images, CHAT, h.Messages([MESSAGE]),
        lambda out: [[part.kind for part in message.parts] for message in out.messages] == [["text"], ["text"]],
    ),
    ("system_transform", _set(system=["h", "hud"]), CHAT, System(["h"]), lambda out: out.system == ["h", "hud"]),
    (
        "session_compacting", _set(prompt="For yourself:", context=["task"]), h.CompactionContext("s"),
        h.CompactionPrompt(),
        lambda out: out.prompt == "For yourself:" and out.context == ["task"],
    ),
    (
        "compaction_autocontinue", _set(proceed=False), h.CompactionContext("s", True), h.Autocontinue(),
        lambda out: out.proceed is False,
    ),
    ("text_complete", _set(text="done."), h.FinishedPart("s", "m", "p"), h.PartText("done"),
     lambda out: out.text == "done."),
]  # fmt: skip


@pytest.mark.parametrize(("hook", "plugin", "given_", "output", "right"), USES, ids=[use[0] for use in USES])
def test_each_hook_in_use(hook: str, plugin: Any, given_: h.HookInput, output: h.HookOutput, right: Any) -> None:
    hooks = run({"user": {hook: plugin}}, hook, given_, output)
    assert list(hooks.failures) == []
    assert right(output)


def test_every_hook_is_used_above() -> None:
    seen: list[str] = []
    run(
        {"log": {"event": lambda given, output: seen.append(given.type)}},
        "event",
        h.HookEvent("session.created"),
        h.NoOutput(),
    )
    assert seen == ["session.created"]
    assert {use[0] for use in USES} | {"event"} == set(h.HOOKS)


def test_a_plugins_tool_runs_where_its_hooks_run_and_is_held_to_its_time() -> None:
    async def play() -> None:
        hooks = Hooks()
        hooks.add("dice", {"tool": _tool})
        found = await hooks.run("tool", h.ToolsRequest("s"), h.Tools())
        tool = found.tools["roll"]
        call = h.ToolExecuteBefore("s", "roll", "c1")
        assert await hooks.within("dice", tool.run, {"sides": 6}, call, seconds=60) == "6 for c1"
        with pytest.raises(h.PluginFault, match="KeyError"):
            await hooks.within("dice", tool.run, {}, call, seconds=60)
        with pytest.raises(h.PluginFault, match="no answer"):
            await hooks.within("dice", time.sleep, 0.5, seconds=0.1)
        assert [one.kind for one in hooks.failures] == ["raised", "time-out"]
        hooks.close()

    asyncio.run(play())


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    settings_=st.dictionaries(st.text(max_size=5), PLAIN, max_size=4),
    lie=st.sampled_from([object(), {1: 2}, b"x", {1}]),
)
def test_plain_data_goes_through_and_nothing_else(settings_: dict[str, Any], lie: object) -> None:
    from hudkit.agent.hooks.plugin_runner import validated_copy

    output = h.HostSettings(settings_)
    copied = validated_copy(output, h.HostSettings)
    assert copied == output and copied is not output
    output.settings = {**settings_, "deep": [{"er": lie}]}
    with pytest.raises(h.PluginFault, match="deep"):
        validated_copy(output, h.HostSettings)


def _request(*texts: str) -> h.Messages:
    return h.Messages([h.ChatMessage("user", [h.ChatPart("text", text)], f"m{n}") for n, text in enumerate(texts)])


@pytest.mark.anyio
async def test_a_plugin_has_its_copies_of_messages_again_where_it_left_them_as_they_were() -> None:
    given: list[list[h.ChatMessage]] = []

    def look(_: object, output: h.Messages) -> None:
        given.append(list(output.messages))
        if len(given) == 2:
            output.messages[0].parts[0].text = "changed in place"

    hooks = h.Hooks()
    hooks.add("looks", {"messages_transform": look})
    try:
        results = [
            await hooks.run("messages_transform", h.ModelCallContext(), _request("a", "b", "c")) for _ in "123"
        ]
    finally:
        hooks.close()
    first, second, third = given
    assert all(again is before for again, before in zip(second, first, strict=True))
    assert [again is before for again, before in zip(third, second, strict=True)] == [False, True, True]
    assert third == _request("a", "b", "c").messages and results[2] == results[0] == _request("a", "b", "c")
    assert results[1] == _request("changed in place", "b", "c")
    assert not any(mine is theirs for result in results for mine, theirs in zip(result.messages, first, strict=True))


@pytest.mark.anyio
async def test_two_equal_messages_of_a_request_are_two_copies() -> None:
    def change(_: object, output: h.Messages) -> None:
        output.messages[0].parts[0].text += "!"

    hooks = h.Hooks()
    hooks.add("changes", {"messages_transform": change})
    try:
        for _ in range(3):
            twice = h.Messages([*_request("a").messages, *_request("a").messages])
            assert await hooks.run("messages_transform", h.ModelCallContext(), twice) == h.Messages(
                [*_request("a!").messages, *_request("a").messages]
            )
    finally:
        hooks.close()


@pytest.mark.anyio
async def test_a_request_that_no_plugin_changes_is_hardly_looked_at() -> None:
    names = ("messages_transform", "system_transform", "chat_params", "chat_headers")
    outputs = (_request(*map(str, range(60))), h.System(["one"]), h.Params(), h.Headers())
    calls = [(name, h.ModelCallContext("s"), output) for name, output in zip(names, outputs, strict=True)]
    hooks = h.Hooks()
    hooks.add("empty", dict.fromkeys(names, lambda _given, _output: None))
    entered: list[int] = []

    def count(frame: Any, event: str, argument: Any) -> None:
        # What the event loop does meanwhile goes by the machine.
        entered[-1] += event == "call" and "hudkit" in frame.f_code.co_filename

    try:
        for _ in range(3):
            entered.append(0)
            sys.setprofile(count)
            await hooks.run_all(calls)
            sys.setprofile(None)
    finally:
        sys.setprofile(None)
        hooks.close()
    assert entered[-1] <= 80, entered


@pytest.mark.anyio
async def test_a_message_that_a_plugin_changes_as_in_the_request_before_is_not_copied_again() -> None:
    words = iter(["!", "!", "?"])

    def change(_: object, output: h.Messages) -> None:
        output.messages[1].parts[0].text = "b" + next(words)

    hooks = h.Hooks()
    hooks.add("changes", {"messages_transform": change})
    try:
        results = [await hooks.run("messages_transform", h.ModelCallContext(), _request("a", "b")) for _ in "123"]
    finally:
        hooks.close()
    assert [result.messages[1].parts[0].text for result in results] == ["b!", "b!", "b?"]
    first, second, third = (result.messages[1] for result in results)
    assert first is second and second is not third


@pytest.mark.anyio
async def test_what_a_plugin_asks_of_the_session_is_done_before_its_hook_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where its thread is so quick that the hook is over before the session's thread looks."""
    hooks, own = Hooks(), asyncio.get_running_loop()
    asked: list[str] = []
    hooks.add("asks", {"chat_params": lambda _given, _output: own.call_soon_threadsafe(asked.append, "compact")})
    session, posted = threading.get_ident(), threading.Semaphore(0)
    real = asyncio.BaseEventLoop.call_soon_threadsafe

    def call(loop: Any, *arguments: Any, **more: Any) -> Any:
        handle = real(loop, *arguments, **more)
        if threading.get_ident() != session:
            posted.release()
        else:
            # What the hook asks, and its end.
            assert posted.acquire(timeout=60) and posted.acquire(timeout=60)
        return handle

    try:
        await hooks.run("chat_params", CHAT, h.Params())
        asked.clear()
        monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", call)
        await hooks.run("chat_params", CHAT, h.Params())
        assert asked == ["compact"]
    finally:
        monkeypatch.undo()
        hooks.close()

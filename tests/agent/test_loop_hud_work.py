"""What the HUD does for one model call, in counts: how often it asks and writes its log, and looks at a message."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit import Hud
from hudkit.agent import hud_plugin
from hudkit.agent.hooks import replaces_messages
from hudkit.agent.hud_hooks import HudPlugin
from hudkit.agent.plugins import PluginInput
from hudkit.agent.records import StoredCall
from hudkit.ingest.extraction import extract
from hudkit.log.payloads import ContextSnapshot, FrameBase, FrameDelta
from hudkit.log.stores.sqlite_log import SqliteLog
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.anyio

STEADY = replace(QUICK, prune=False)


def steps(count: int) -> InProcessModel:
    """A model that writes its list anew in each of so many steps."""

    def answer(request: CapturedRequest) -> ScriptedReply:
        if request.number > count:
            return ScriptedReply("done")
        return ScriptedReply("looking", (ScriptedCall("todo", {"todos": [{"content": f"step {request.number}"}]}),))

    return InProcessModel(answer)


def counted_calls(monkeypatch: pytest.MonkeyPatch, *names: str) -> Counter[str]:
    """Count the calls of methods of the log, and as `waits` the commits that wait for the disk."""
    asked: Counter[str] = Counter()
    for name in (*names, "append_together"):
        method = getattr(SqliteLog, name)

        def counted(self: SqliteLog, *args: Any, name: str = name, method: Any = method, **more: Any) -> Any:
            asked[name] += 1
            if name == "append_together":
                asked["waits"] += any(batch.sync for batch in args[0])
            return method(self, *args, **more)

        monkeypatch.setattr(SqliteLog, name, counted)
    return asked


async def test_the_log_is_asked_twice_for_a_model_call_and_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted_calls(monkeypatch, "last_seq", "read", "get_snapshot")
    counts = []
    for number, calls in enumerate((10, 30)):
        asked.clear()
        place = tmp_path / f"{number}"
        place.mkdir()
        plugins = [("hud", hud_plugin(place / "hud.db"))]
        async with opened(place, steps(calls), plugins=plugins, settings=STEADY) as loop:
            await loop.prompt("go")
        counts.append(dict(asked))
    per_call = {name: (counts[1][name] - counts[0][name]) / 20 for name in ("last_seq", "append_together")}
    # neither what the session wrote itself is read again, nor a project's log that has no events
    for name in ("read", "get_snapshot"):
        assert counts[0].get(name, 0) == counts[1].get(name, 0)
    # for the frame, and the project's own log
    assert per_call == {"last_seq": 2, "append_together": 1}


async def test_a_call_waits_for_the_disk_only_where_it_carries_a_block_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted_calls(monkeypatch)
    with Hud.open(tmp_path / "hud.db") as hud:
        async with opened(tmp_path, steps(30), plugins=[("hud", hud_plugin(hud))], settings=STEADY) as loop:
            await loop.prompt("go")
        payloads = [event.payload for key in hud.sessions() for event in hud.log.read(key)]
    blocks = [payload for payload in payloads if isinstance(payload, FrameBase | FrameDelta)]
    sent = [block for block in blocks if block.text]
    assert len(sent) < len(blocks), "some only note that a change waits"
    assert asked["waits"] == len(sent)


async def test_the_work_for_a_call_hardly_grows_with_the_session(tmp_path: Path) -> None:
    work: list[int] = []

    class CountingHud(HudPlugin):
        """Counts the functions that are called for each request."""

        @replaces_messages
        def messages_transform(self, *given: Any) -> None:
            entered = [0]

            def count(frame: Any, event: str, argument: Any) -> None:
                entered[0] += event == "call"

            sys.setprofile(count)
            try:
                super().messages_transform(*given)
            finally:
                sys.setprofile(None)
            work.append(entered[0])

    def plugin(given: PluginInput) -> CountingHud:
        return CountingHud(tmp_path / "hud.db", given)

    async with opened(tmp_path, steps(60), plugins=[("hud", plugin)], settings=STEADY) as loop:
        await loop.prompt("go")
    early, late = sorted(work[10:20])[5], sorted(work[50:60])[5]
    assert late <= 1.25 * early
    # 276 between the end of a response and the next request: what the response tells is read before, while the
    # session waits for the disk, and what the call leaves to be recorded is written behind it (1,480 with both)
    assert late <= 330


async def test_what_is_done_beside_the_session_is_little(tmp_path: Path) -> None:
    work: dict[str, list[int]] = {"words": [], "calls": [], "end": []}

    class CountingHud(HudPlugin):
        """Counts the functions that are called for each message that is read ahead."""

        def _read_ahead(self, message: Any) -> None:
            entered = [0]

            def count(frame: Any, event: str, argument: Any) -> None:
                entered[0] += event == "call"

            sys.setprofile(count)
            try:
                super()._read_ahead(message)
            finally:
                sys.setprofile(None)
            ended = all(call.done for call in message.parts if isinstance(call, StoredCall))
            work["end" if message.finish else "calls" if ended else "words"].append(entered[0])

    def plugin(given: PluginInput) -> CountingHud:
        return CountingHud(tmp_path / "hud.db", given)

    async with opened(tmp_path, steps(30), plugins=[("hud", plugin)], settings=STEADY) as loop:
        await loop.prompt("go")
    words, calls, end = (sorted(counts[10:30])[10] for counts in work.values())
    # 192 with the answer, which has a word and its usage; 217 once its call has ended; 166 with its own end
    assert words <= 230 and calls <= 260 and end <= 200


async def test_what_a_call_only_notes_is_written_once_it_has_gone_out_and_what_it_carries_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    within: list[int] = []
    asked = counted_calls(monkeypatch)

    class WatchedHud(HudPlugin):
        """Notes how often the log was written while a request waited."""

        def messages_transform(self, *given: Any) -> None:
            before = asked["append_together"]
            super().messages_transform(*given)
            within.append(asked["append_together"] - before)

    async with opened(
        tmp_path, steps(30), plugins=[("hud", lambda given: WatchedHud(tmp_path / "hud.db", given))], settings=STEADY
    ) as loop:
        await loop.prompt("go")
    with Hud.open(tmp_path / "hud.db") as hud:
        events = [event for key in hud.sessions() for event in hud.log.read(key)]
    sent = [event for event in events if isinstance(event.payload, FrameBase | FrameDelta) and event.payload.text]
    calls = [event for event in events if isinstance(event.payload, ContextSnapshot) and event.payload.call]
    assert sum(within) == len(sent) < len(calls) == len(within), "each call is recorded all the same"
    assert asked["append_together"] == len(calls)


async def test_what_a_response_tells_is_read_while_the_session_waits_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, bool]] = []
    waiting, calls = [False], [0]

    def noted(text: str, *args: Any, **more: Any) -> Any:
        read.append((text, waiting[0]))
        return extract(text, *args, **more)

    class WatchedHud(HudPlugin):
        """Notes while a request waits for it, which each does not before the response to the last one was read."""

        def messages_transform(self, *given: Any) -> None:
            deadline = monotonic() + 3
            while sum(text == "looking" for text, _ in read) < calls[0] and monotonic() < deadline:
                sleep(0.001)
            calls[0] += 1
            waiting[0] = True
            super().messages_transform(*given)
            waiting[0] = False

    monkeypatch.setattr("hudkit.ingest.message_facts.extract", noted)
    async with opened(
        tmp_path, steps(12), plugins=[("hud", lambda given: WatchedHud(tmp_path / "hud.db", given))], settings=STEADY
    ) as loop:
        await loop.prompt("go")
        responses = [message for message in loop.messages if message.finish == "tool-calls"]
    assert [within for text, within in read if text == "looking"] == [False] * len(responses)


async def test_what_is_left_to_be_done_beside_the_session_is_done_before_the_next_request(tmp_path: Path) -> None:
    order: list[str] = []

    class SlowHud(HudPlugin):
        """Reads the end of each response later than the next request asks for it."""

        def _read_ahead(self, message: Any) -> None:
            if message.finish:
                sleep(0.02)
            super()._read_ahead(message)
            order.append(f"read {message.finish}")

        @replaces_messages
        def messages_transform(self, *given: Any) -> None:
            super().messages_transform(*given)
            order.append("request")

    def plugin(given: PluginInput) -> SlowHud:
        return SlowHud(tmp_path / "hud.db", given)

    async with opened(tmp_path, steps(5), plugins=[("hud", plugin)], settings=STEADY) as loop:
        await loop.prompt("go")
    ends = [each for each in order if each in ("request", "read tool-calls")]
    assert ends == ["request", "read tool-calls"] * (len(ends) // 2) + ["request"] and len(ends) > 10

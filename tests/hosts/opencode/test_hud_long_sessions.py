"""What is long in real OpenCode: a session, whose questions stay as small as they were and whose prefix is not broken
by a HUD that comes late; and outputs, which are indexed beside all answers."""

from __future__ import annotations

import itertools
import os
import re
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hud_plugin import written
from hud_seen import bash, hud
from opencode_host import Hosts
from wrong_daemon import Between, Question, passed_on

from hudkit.context.caching import CallCost
from hudkit.daemon import client
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.paths import index_path
from hudkit.testing.assertions import prefix_difference
from hudkit.testing.model_server import ScriptedModel
from waiting import until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_question_does_not_grow_with_the_session(
    opencode: Hosts, model: ScriptedModel, between: Between, place: Path, shape: str
) -> None:
    questions: list[tuple[int, dict[str, Any]]] = []

    def noted(question: Question) -> None:
        if question.path == "/v1/frame":
            questions.append((len(question.body), msgspec.json.decode(question.body)))
        passed_on(question)

    between.lie = noted
    host = opencode(plugins=[written(place, python="/nowhere/python")], shape=shape, limit=(400_000, 4_000))
    host.serve()
    session = host.create("a title")
    model.play(says("hi"))
    host.prompt(session, "begin")
    sizes = []
    for _ in range(2):
        questions.clear()
        model.play(*(uses(bash(f"echo step {n:03}")) for n in range(100, 120)), says("done"))
        host.prompt(session, "twenty steps")
        assert all("since" in body and "transcript" not in body for _, body in questions)
        changed = [change for _, body in questions for change in body["changes"]]
        assert sum(len(change["entries"]) for change in changed) <= 2 * len(questions)
        sizes.append(sorted(size for size, _ in questions))
    longest = max(change["index"] for _, body in questions for change in body["changes"])
    assert longest > 40, "the session is longer than a question"
    early, late = (found[len(found) // 2] for found in sizes)
    assert abs(late - early) <= 10, "digits of places and of the tokens in use"


def without_tails(text: str) -> str:
    """A text without the lines that are never kept: the window in use, and that there is no HUD."""
    return re.sub(r"^(?:Context|HUD|hudkit): .*\n\Z", "", text, flags=re.M)


def has_base(request: CapturedRequest) -> tuple[bool, list[str]]:
    """Whether a base is in the system prompt, and the roles of the messages that hold one."""
    begin = "Your HUD outlives compaction"
    return any(begin in text for text in request.system), [role for role, text in request.messages if begin in text]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_hud_that_comes_late_to_a_long_session_stands_at_its_end_until_the_next_epoch(
    opencode: Hosts, model: ScriptedModel, place: Path, shape: str
) -> None:
    """150,000 tokens are in the provider's cache; a base in the system prompt would have them all written anew."""
    host = opencode(plugins=[written(place, python="/nowhere/python")], shape=shape, limit=(400_000, 4_000))
    host.serve()
    session = host.create("a title")
    working = ScriptedReply(calls=(bash("true"),), usage=CallCost(0, 0, 150_000, 10))
    model.play(working, says("done", used=151_000))
    host.prompt(session, "begin")
    assert [has_base(chat) for chat in model.chats] == [(False, [])] * 2

    client.ensure_running(place / "run" / "d.sock", db=place / "hudkit.db")
    model.play(uses(hud("notes.add", content="found late")), says("on", used=152_000), says("more", used=153_000))
    host.prompt(session, "go on")
    host.prompt(session, "and on")
    assert [has_base(chat) for chat in model.chats[2:]] == [(False, ["user"])] * 3
    chats = model.chats
    differences = [prefix_difference(a, b, without_tails) for a, b in itertools.pairwise(chats)]
    assert differences == [""] * 4, "nothing that was sent has moved"

    model.play(says("a summary of all of it"), says("after it", used=20_000))
    host.summarize(session)
    host.prompt(session, "after the compaction")
    assert has_base(model.chats[-1]) == (True, [])
    assert "found late" in "".join(model.chats[-1].system)


def test_an_index_process_that_hangs_over_long_outputs_holds_up_no_call(
    opencode: Hosts, model: ScriptedModel, place: Path, plugin: Path
) -> None:
    def index_processes() -> list[int]:
        log = place / "daemon.log"
        return [int(pid) for pid in re.findall(r"index process (\d+) started", log.read_text())]

    host = opencode(own=True, plugins=[plugin])
    host.serve()
    session = host.create("long outputs")
    runs = [uses(bash(f"head -c {size} /dev/zero | tr '\\0' x")) for size in (50_000, 5_000_000)]
    model.play(*runs, says("the walrus is done"))
    host.prompt(session, "begin")
    until(index_path(place / "hudkit.db").exists)
    (pid,) = index_processes()
    os.kill(pid, signal.SIGSTOP)
    for number in range(2):
        after = len(model.chats)
        model.play(uses(hud("notes.add", content=f"note {number}")), says("noted"))
        host.prompt(host.create("another"), "begin")
        first, second = model.chats[after:]
        assert has_base(first) == (True, []), "its first call has the HUD"
        assert any(text.startswith("Added note") for role, text in second.messages if role == "tool")
    assert index_processes() == [pid]

    os.kill(pid, signal.SIGKILL)
    until(lambda: len(index_processes()) == 2, "it is started again")
    search = ScriptedCall("memory", {"tool": "search", "args": {"query": "walrus"}})

    def finds() -> bool:
        model.play(uses(search), says("looked"))
        host.prompt(host.create("looking"), "look")
        return any("walrus is done" in text for role, text in model.chats[-1].messages if role == "tool")

    until(finds, "what was said before is found")

"""What real OpenCode takes back, brings back and copies: the HUD says what was true there, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hud_seen import asked, bash, hud
from opencode_host import Hosts, OpenCode

from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import delta_lines, hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

KINDS = {"decision", "note", "step", "error", "constraint"}
"""What each turn of a `Story` records and what stays when a later turn records its own."""


class Story:
    """A conversation in OpenCode in which each turn records something of every kind under its own name."""

    def __init__(self, host: OpenCode, model: ScriptedModel) -> None:
        self.host, self.model = host, model
        self.session = host.create("report")

    def turn(self, name: str) -> None:
        """Let the agent record a task, a decision, a note, a step, a file, a todo and an error of this name."""
        write = ScriptedCall("write", {"filePath": str(self.host.project / f"{name}.rs"), "content": f"{name}\n"})
        todos = [{"content": f"todo of {name}", "status": "in_progress", "priority": "high"}]
        decide = hud("decisions.record", summary=f"decision of {name}")
        self.model.play(
            uses(hud("task.set", description=f"task of {name}"), decide),
            uses(hud("notes.add", content=f"note of {name}"), hud("steps.add", description=f"step of {name}"), write),
            uses(bash(f"cat error_of_{name}"), ScriptedCall("todowrite", {"todos": todos})),
            says(f"{name} is done"),
        )
        self.host.prompt(self.session, f"Do {name}. Never touch the constraint of {name}.")

    def told(self, session: str = "") -> dict[str, set[str]]:
        """What the layers of the next request tell, by the turn that recorded it."""
        self.model.play(says("seen"))
        self.host.prompt(session or self.session, "look")
        return told(self.model.chats[-1])

    def asked(self, words: str) -> str:
        """The id of the user's message that begins with these words."""
        for message in self.host.messages(self.session):
            text = next((part.get("text", "") for part in message["parts"] if part["type"] == "text"), "")
            if message["info"]["role"] == "user" and text.startswith(words):
                return str(message["info"]["id"])
        raise AssertionError(words)


def told(request: CapturedRequest) -> dict[str, set[str]]:
    """What the base and the blocks of a request tell, by the turn that recorded it; what is not live not counted."""
    lines = [*hud_base(request).splitlines(), *delta_lines(request)]
    tasks = [line for line in lines if line.startswith(("task of", "task now:"))]  # the last one counts
    others = [line for line in lines if line not in tasks]
    text = "\n".join([*others, *tasks[-1:]]).replace("error_of_", "error of ")
    names = ("one", "two", "three", "four")
    found = {name: {kind for kind in (*KINDS, "task") if f"{kind} of {name}" in text} for name in names}
    for name in names:
        if f"{name}.rs" in text:
            found[name].add("file")
    return {name: kinds for name, kinds in found.items() if kinds}


@pytest.fixture
def story(opencode: Hosts, model: ScriptedModel, plugin: Path) -> Story:
    host = opencode(plugins=[plugin], limit=(200_000, 8_000))
    host.serve()
    return Story(host, model)


def test_what_a_reverted_turn_recorded_is_not_live_also_after_a_compaction(story: Story) -> None:
    story.turn("one")
    story.turn("two")
    assert story.told() == {"one": KINDS, "two": {*KINDS, "task"}}
    story.host.revert(story.session, story.asked("Do two"))
    assert story.told() == {"one": {*KINDS, "task"}}
    assert story.host.summarize(story.session)
    assert story.told() == {"one": {*KINDS, "task", "file"}}


def test_what_is_brought_back_is_live_again(story: Story) -> None:
    story.turn("one")
    story.turn("two")
    before = story.told()
    story.host.revert(story.session, story.asked("Do one"))
    story.host.unrevert(story.session)
    assert story.told() == before
    story.host.revert(story.session, story.asked("Do two"))
    story.host.unrevert(story.session)
    assert story.told() == before


def test_a_revert_past_a_compaction_goes_back_to_what_was_true_there(story: Story) -> None:
    story.turn("one")
    story.turn("two")
    assert story.host.summarize(story.session)
    story.turn("three")
    third = {"one": {*KINDS, "file"}, "two": {*KINDS, "file"}, "three": {*KINDS, "task"}}
    assert story.told() == third
    story.host.revert(story.session, story.asked("Do two"))
    story.host.unrevert(story.session)
    assert story.told() == third
    story.host.revert(story.session, story.asked("Do two"))
    gone = story.told()
    assert set(gone) == {"one"} and {*KINDS, "task"} <= gone["one"]


def test_a_fork_begins_with_what_was_true_where_it_forks(story: Story) -> None:
    for name in ("one", "two", "three"):
        story.turn(name)
    first, second = asked(story.host, story.session)[1:]
    assert story.told(story.host.fork(story.session, first)) == {"one": {*KINDS, "task"}}
    assert story.told(story.host.fork(story.session, second)) == {"one": KINDS, "two": {*KINDS, "task"}}
    assert story.told(story.host.fork(story.session)) == {"one": KINDS, "two": KINDS, "three": {*KINDS, "task"}}
    story.host.revert(story.session, story.asked("Do three"))
    assert story.told() == {"one": KINDS, "two": {*KINDS, "task"}}
    assert story.told(story.host.fork(story.session)) == {"one": KINDS, "two": {*KINDS, "task"}}


def test_a_fork_of_a_session_with_compactions_too(story: Story) -> None:
    story.turn("one")
    story.turn("two")
    assert story.host.summarize(story.session)
    story.turn("three")
    assert story.host.summarize(story.session)
    story.turn("four")
    whole = {
        "one": {*KINDS, "file"},
        "two": {*KINDS, "file"},
        "three": {*KINDS, "file"},
        "four": {*KINDS, "task"},
    }
    assert story.told(story.host.fork(story.session)) == whole
    before_four = story.told(story.host.fork(story.session, story.asked("Do four")))
    assert before_four == {"one": {*KINDS, "file"}, "two": {*KINDS, "file"}, "three": {*KINDS, "task", "file"}}
    before_three = story.told(story.host.fork(story.session, story.asked("Do three")))
    assert before_three == {"one": {*KINDS, "file"}, "two": {*KINDS, "task", "file"}}
    before_two = story.told(story.host.fork(story.session, story.asked("Do two")))
    assert before_two == {"one": {*KINDS, "task"}}

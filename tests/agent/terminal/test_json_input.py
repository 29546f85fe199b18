"""`hudkit run --json-input`: a program drives a session over a pipe, in both directions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from terminal_harness import Desk
from waiting import PATIENCE

pytestmark = pytest.mark.slow

BASH = {"calls": [{"name": "bash", "arguments": {"command": "echo hello > made.txt"}}]}
WAIT = {"calls": [{"name": "bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.02; done"}}]}
DONE = {"text": "Done."}


class Program:
    """The other end of the pipes."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.events: list[dict[str, Any]] = []

    def say(self, **line: Any) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{json.dumps(line)}\n")
        self.child.stdin.flush()

    def hear(self, type: str, **fields: Any) -> dict[str, Any]:
        """The next event of this type with these fields."""
        assert self.child.stdout is not None
        while line := self.child.stdout.readline():
            event = json.loads(line)
            assert event["schema"] == 1 and event["session"]
            self.events.append(event)
            if event["type"] == type and all(event[name] == value for name, value in fields.items()):
                return event
        raise AssertionError(f"no {type}: {self.events[-5:]} {self.child.stderr.read() if self.child.stderr else ''}")

    def end(self) -> int:
        """Close the input; the exit code."""
        assert self.child.stdin is not None and self.child.stdout is not None
        self.child.stdin.close()
        self.events += [json.loads(line) for line in self.child.stdout]
        return self.child.wait(PATIENCE)


@contextmanager
def driven(desk: Desk, *answers: dict[str, Any], options: tuple[str, ...] = ()) -> Iterator[Program]:
    child = desk.start("run", "--json-input", "--script", desk.script(*answers), *options)
    try:
        yield Program(child)
    finally:
        child.kill()
        child.wait(PATIENCE)
        for pipe in (child.stdin, child.stdout, child.stderr):
            assert pipe is not None
            pipe.close()


def test_prompts_are_answered_in_their_order_in_one_session(desk: Desk) -> None:
    with driven(desk, {"text": "One."}, {"text": "Two."}) as program:
        session = program.hear("session")
        program.say(type="prompt", text="first")
        program.say(type="prompt", text="second")
        assert program.hear("ended")["text"] == "One."
        assert program.hear("ended")["text"] == "Two."
        assert program.end() == 0
        assert {event["session"] for event in program.events} == {session["session"]}
        assert [event["text"] for event in program.events if event["type"] == "prompt"] == ["first", "second"]


CONE = {"type": "object", "properties": {"cone": {"type": "integer"}}, "required": ["cone"]}


def test_each_prompt_may_have_an_answer_schema_of_its_own(desk: Desk) -> None:
    schema = desk.project / "cone.json"
    schema.write_text(json.dumps(CONE))
    answers = ({"text": '{"cone": 6}'}, {"text": "[]"}, {"text": '["a"]'}, {"text": "Words."})
    with driven(desk, *answers, options=("--answer-schema", str(schema), "How hot?")) as program:
        assert program.hear("ended")["answer"] == {"cone": 6}, "the words of the command line"
        program.say(type="prompt", text="Which?", answer_schema={"type": "array", "minItems": 1})
        ended = program.hear("ended")
        assert (ended["answer"], ended["steps"]) == (["a"], 2), "one that does not fit is asked for again"
        program.say(type="prompt", text="Which?", answer_schema={"type": 7})
        assert "7" in program.hear("problem")["error"]
        program.say(type="prompt", text="Say it")
        ended = program.hear("ended")
        assert ended["text"] == "Words." and "answer" not in ended
        assert program.end() == 0


def test_a_schema_without_a_prompt_on_the_command_line_is_refused(desk: Desk) -> None:
    schema = desk.project / "cone.json"
    schema.write_text(json.dumps(CONE))
    with driven(desk, DONE, options=("--answer-schema", str(schema))) as program:
        assert program.child.wait(PATIENCE) == 2
        assert program.child.stderr is not None and '"answer_schema": {…}' in program.child.stderr.read()


def test_the_program_answers_questions_of_permission(desk: Desk) -> None:
    with driven(desk, BASH, DONE, BASH, DONE) as program:
        program.say(type="prompt", text="Do it")
        question = program.hear("permission")
        assert question | {"tool": "bash", "arguments": {"command": "echo hello > made.txt"}} == question
        assert question["values"][0] == "echo hello > made.txt" and not (desk.project / "made.txt").exists()
        program.say(type="permission", id="q99", answer="once")
        assert "no question 'q99'" in program.hear("problem")["error"]
        program.say(type="permission", id=question["id"], answer="reject", message="Not on a Sunday")
        assert "Not on a Sunday" in program.hear("call", status="error")["error"]
        program.hear("ended")
        program.say(type="prompt", text="Do it now")
        program.say(type="permission", id=program.hear("permission")["id"], answer="once")
        assert program.hear("ended")["reason"] == "done" and (desk.project / "made.txt").exists()
        assert program.end() == 0


def test_what_is_said_in_mid_turn_goes_out_with_the_next_call_and_a_cancel_ends_it(desk: Desk) -> None:
    with driven(desk, WAIT, DONE, WAIT, options=("--allow", "bash")) as program:
        program.say(type="steer", text="too early")
        assert program.hear("steered")["taken"] is False
        program.say(type="cancel")
        program.hear("problem")
        program.say(type="prompt", text="Do it")
        program.hear("call", status="running")
        program.say(type="steer", text="and be brief")
        (desk.project / "go").touch()
        assert program.hear("steered")["taken"] is True
        program.hear("ended", reason="done")
        (desk.project / "go").unlink()
        program.say(type="prompt", text="Again")
        program.hear("call", status="running")
        program.say(type="cancel")
        program.hear("ended", reason="cancelled")
        assert program.end() == 130
    roles = [(one.role, getattr(one.parts[0], "text", "")) for one in desk.messages()]
    assert ("user", "and be brief") in roles[:4]


def test_a_line_that_is_not_understood_is_said_so_and_changes_nothing(desk: Desk) -> None:
    lines = (
        "nonsense",
        '{"type": "shout"}',
        '{"type": "prompt"}',
        '{"type": "prompt", "text": "x", "schema": 2}',
        "",
    )
    prompt = json.dumps({"type": "prompt", "text": "Do it"})
    script = desk.script(DONE)
    words = "\n".join((*lines, '{"type": "prompt", "text": " "}', prompt))
    code, out, err = desk.piped("run", "--json-input", "--script", script, stdin=words)
    assert (code, err) == (0, "")
    events = [json.loads(line) for line in out.splitlines()]
    problems = [event["error"] for event in events if event["type"] == "problem"]
    assert len(problems) == 5 and problems[0].startswith("line 1 is not understood")
    assert [event["text"] for event in events if event["type"] == "ended"] == ["Done."]


def test_where_the_input_ends_nobody_is_there_to_be_asked(desk: Desk) -> None:
    prompt = json.dumps({"type": "prompt", "text": "Do it"})
    code, out, _ = desk.piped("run", "--json-input", "--script", desk.script(BASH, DONE), stdin=prompt)
    assert code == 0 and "nobody is there to be asked" in out and not (desk.project / "made.txt").exists()
    code, out, _ = desk.piped("run", "--json-input", "--script", desk.script(DONE))
    assert code == 2 and [json.loads(line)["type"] for line in out.splitlines()] == ["session"]
    code, _, err = desk.piped("run", "--json-input", "-", "--script", desk.script(DONE))
    assert code == 2 and "JSON lines" in err

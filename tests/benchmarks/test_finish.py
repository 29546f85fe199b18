"""Does it help to finish? What the request of each arm holds, and how answers are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.real_model.finish import (
    ARMS,
    LETTERS,
    TRIMMED_ARMS,
    Arm,
    Row,
    arranged,
    chat_messages,
    measured,
    play,
    read_rows,
    scores,
    table,
    worded,
)
from bench.real_model.tasks import KINDS, PLACES, TASKS

from hudkit.models import CompletionRequest, ToolResult

TASK = next(task for task in TASKS if task.name == "full disk")
RULE = TASK.rules[0]
BY_NAME = {arm.name: arm for arm in ARMS}


class Reader:
    """In the place of the model's server: it writes the summary that it is given, and answers by a rule."""

    def __init__(self, right: str = "") -> None:
        self.right, self.asked = right, 0

    def prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        return "\n".join(str(message) for message in messages)

    def complete(self, prompt: str, most: int, stop: Sequence[str] = ()) -> str:
        self.asked += 1
        return "A summary of the work."

    def letters(self, prompt: str, letters: str) -> dict[str, float]:
        """It likes D best, and the right option a little where the prompt holds the word, else a wrong one."""
        self.asked += 1
        question = next(q for task in TASKS for q in task.questions.values() if q.options["right"] in prompt)
        kind = "right" if self.right in prompt else next(kind for kind in question.options if kind != "right")
        likes = dict.fromkeys(letters, -9.0) | {"D": -1.0}
        liked = next(letter for letter in letters if f"{letter} {question.options[kind]}" in prompt)
        return likes | {liked: likes[liked] + 0.5}

    def tokens(self, text: str) -> int:
        return len(text.split())


def _texts(arm: str) -> list[str]:
    requests = play(TASK, BY_NAME[arm], lambda request: f"Summary of {len(request.messages)} messages.")
    return ["\n".join(str(message) for message in chat_messages(request, "What now?")) for request in requests]


@pytest.mark.slow
def test_only_the_arms_with_a_hud_are_told_rules_steps_and_what_was_done() -> None:
    for arm in ("HUD", "HUD + last messages"):
        first, second = _texts(arm)
        assert RULE in first and RULE in second
        assert "1. Remove old packages from the cache" in first and "1. Set up logrotate" in second
        assert "Done before the compaction" in first and "gzip-old-logs" in first
        assert TASK.decision[0] in first
    for arm in ("last messages", "summary"):
        for text in _texts(arm):
            assert RULE not in text and "Next Steps" not in text and "Set up logrotate" not in text


@pytest.mark.slow
def test_only_two_arms_have_the_last_messages_and_one_the_summary() -> None:
    texts = {arm.name: _texts(arm.name)[1] for arm in ARMS}
    assert {arm for arm, text in texts.items() if "Step 3 is done." in text} == {
        "last messages",
        "HUD + last messages",
    }
    assert {arm for arm, text in texts.items() if "Summary of" in text} == {"summary"}
    assert all("What now?" in text and 'Go on."' not in text.rpartition("What now?")[2] for text in texts.values())


@pytest.mark.slow
def test_the_arm_without_summaries_is_sent_as_the_loop_sends_it_and_asks_for_none() -> None:
    def summarise(_: CompletionRequest) -> str:
        raise AssertionError("nobody is asked for a summary")

    requests = play(TASK, TRIMMED_ARMS[-1], summarise)
    first, second = ("\n".join(str(each) for each in chat_messages(request, "What now?")) for request in requests)
    assert RULE in first and RULE in second and "Set up logrotate" in second
    assert "older messages left the window" in first and "Step 3 is done." in second
    assert "There is no summary" not in first + second


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_is_played_as_its_table_says(task: Any) -> None:
    """Only commands that are to fail do, and the HUD's arm is never told less than what is open."""
    seen: list[CompletionRequest] = []

    def summarise(request: CompletionRequest) -> str:
        seen.append(request)
        return "A summary."

    last = play(task, Arm("all", hud=True, summary=True), summarise)[1]
    failed = [part for request in seen for part in request.messages if isinstance(part, ToolResult) and part.failed]
    assert len(failed) <= sum(code != 0 for code, _ in task.commands.values())
    said = "\n".join(str(message) for message in chat_messages(last))
    done = sum(line.startswith("done ") for line in (*task.first, *task.second))
    assert f"Next Steps ({len(task.steps) - done})" in said
    assert f"Constraints ({len(task.rules)})" in said


def test_every_question_has_one_right_option_and_kinds_are_spread_over_the_letters() -> None:
    orders, places = arranged(), Counter[tuple[str, int]]()
    assert len(TASKS) == 20 and len(orders) == 80
    for task in TASKS:
        for place, question in task.questions.items():
            order = orders[task.name, place]
            assert sorted(order) == sorted(question.options) and "right" in order and set(order) <= set(KINDS)
            assert len(order) == len(LETTERS) and len(set(question.options.values())) == len(LETTERS)
            places.update((kind, at) for at, kind in enumerate(order))
    for kind in KINDS:
        at = [places[kind, number] for number in range(len(LETTERS))]
        assert max(at) - min(at) <= 1, kind
    assert worded(TASK.asked[0], orders[TASK.name, "1a"]).count("\n") == len(LETTERS)


def test_a_task_is_finished_where_all_its_answers_are_right_and_half_a_task_does_not_count() -> None:
    def row(task: str, arm: str, place: str, kind: str) -> Row:
        return Row(f"{task}{arm}{place}", task, arm, place, kind, "A", 100, 1.0)

    first, second, third = (task.name for task in TASKS[:3])
    rows = [row(task, arm.name, place, "right") for task in (first, second) for arm in ARMS for place in PLACES]
    rows += [row(second, "summary", "2b", "rule"), row(third, "HUD", "1a", "step")]
    rows.append(Row("s", first, "summary", "1", "", "A summary.", 700, 1.0))
    found = scores(rows)
    assert (found["summary"].finished, found["summary"].tasks) == (1, 2)
    assert found["summary"].chosen == {"right": 7, "rule": 1}
    assert (found["summary"].tokens, found["summary"].summary_tokens) == (800, 700)
    assert found["HUD"].finished == 2 and found["HUD"].chosen == {"right": 8}
    assert "| summary | 1 of 2 | 7 of 8 | 1 | 0 |" in table(rows)


@pytest.mark.slow
def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    reader = Reader(right=RULE)
    rows = measured(reader, file, [TASK])
    assert len(rows) == len(read_rows(file)) == 2 + len(ARMS) * len(PLACES)
    assert reader.asked == 2 + len(ARMS) * len(PLACES) * len(LETTERS)
    assert {row.answer for row in rows if row.kind} == {"DDDD"}, "its letter alone would say nothing"
    found = scores(rows)
    assert {arm: score.finished for arm, score in found.items()} == {
        "last messages": 0,
        "summary": 0,
        "HUD": 1,
        "HUD + last messages": 1,
    }
    cut = file.read_bytes()[:-20]
    file.write_bytes(cut)
    again = Reader(right=RULE)
    assert scores(measured(again, file, [TASK])) == found
    assert again.asked == len(LETTERS)

"""The call that a refusal shows may be copied: it is right, and it takes nothing away that the agent did not name."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolbox import OF_THE_PAST, did, fresh

from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter, TodoItem, TodoSync
from hudkit.testing.assertions import calls_in
from hudkit.tools import ALIASES, OPERATIONS, call, reply

EVERY = {**OPERATIONS, **ALIASES}
EXAMPLE = re.compile(r"Example: (?:hud|memory)\((\{.*\})\)$", re.DOTALL)
WORDS = ("text", "description", "summary", "content", "message", "path")
# Two of these are `hud_clr` and `task.complete`, which were once answered with a call that clears.
VERBS = ("add", "remove", "delete", "done", "complete", "update", "clear", "undo", "record", "finish", "close")
GROUPS = sorted({name.partition(".")[0] for name in EVERY})
VALUES = ("zzz", "n9", "n1", "d1", "s1", "notes", "todos", "tokens", "", 7, 1, None, True, [], ["zzz"], [1, None], {})


def session():
    s = fresh()
    s.append(CompactAfter("A summary"), TodoSync((TodoItem("todo", "pending", "high"),)), origin=Origin.HOST)
    did(s, "task.set", description="Implement auth")
    did(s, "constraints.add", text="Never touch legacy")
    did(s, "blockers.add", description="No credentials")
    for text in ("Write it", "Test it"):
        did(s, "steps.add", description=text)
    for text in ("Use JWT", "Use TLS"):
        did(s, "decisions.record", summary=text)
    for text in ("Refresh tokens live 7 days", "Access tokens live 1 hour"):
        did(s, "notes.add", content=text)
    did(s, "errors.add", message="3 tests fail")
    did(s, "files.edit", path="src/auth.py")
    return s


def live_items(s):
    """What is there, by section and id, with its words and whether it is done."""
    items = {}
    for section, rows in call(s, "snapshot").data["sections"].items():
        for row in rows:
            words = next((str(row[field]) for field in WORDS if row.get(field)), str(row.get("id", "")))
            items[section, str(row.get("id", words))] = (words, row.get("completed", row.get("derived")))
    return items


def check_example(sent, router="hud"):
    """Send a call; where it is refused, send what the refusal shows, and look at what that did.

    What was there stays as it was, unless the agent's own call named it; what is new are the agent's own words.
    """
    s = session()
    answer = reply(s, router, sent)
    if answer.ok or not isinstance(answer.text, str):
        return None
    example = EXAMPLE.search(answer.text)
    assert example, answer.text
    example_call = json.loads(example[1])
    before = live_items(s)
    follow_up = reply(s, router, example_call)
    after = live_items(s)
    said = {name: value for name, value in example_call.items() if name != "operation"}
    words = "\n".join(map(str, flat(sent)))
    asks = example_call["operation"] == "help"
    # No text and no id of ours: what the example says, the agent said, or it stands for words that are missing.
    assert asks or all(value == "…" or str(value) in words for value in flat(said)), (sent, answer.text)
    # A placeholder is refused, the agent's own call may have a second fault, and this session has no past to read in.
    assert follow_up.ok or said or example_call["operation"] in OF_THE_PAST, answer.text
    for (section, id), item in before.items():
        # There is one task: who sets it names it.
        sets = section == "task" and example_call["operation"] in ("task.set", "task.update")
        if after.get((section, id)) != item and not sets:
            named = [value for value in flat(said) if isinstance(value, str) and value]
            hit = any(value == id or value.casefold() in item[0].casefold() for value in named)
            assert hit, f"{sent} → {answer.text}: {section} {id} {item[0]!r} is changed and was not named"
    for key, (text, _) in after.items():
        assert key in before or any(str(value) in text for value in flat(said)), (sent, key, text)
    return example_call


def flat(value):
    if isinstance(value, dict):
        for entry in value.values():
            yield from flat(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from flat(entry)
    else:
        yield value


@pytest.mark.parametrize(
    ("sent", "example"),
    [
        ({}, {"operation": "help"}),
        ({"operation": "hud_clr"}, {"operation": "help", "item": "hud_clear"}),
        ({"operation": "task.complete"}, {"operation": "help", "item": "task"}),
        ({"operation": "undone"}, {"operation": "help", "item": "undo"}),
        ({"operation": "remove", "item": "1"}, {"operation": "help"}),
        ({"operation": "add", "text": "x"}, {"operation": "help"}),
        ({"operation": "notes.remve"}, {"operation": "help", "item": "notes"}),
        ({"operation": "notes.remve", "item": "n1"}, {"operation": "notes.remove", "item": "n1"}),
        ({"operation": "decisions.revisit", "item": "d1"}, {"operation": "decisions.get", "item": "d1"}),
        ({"operation": "notes.remove", "item": "zzz"}, {"operation": "notes.list"}),
        ({"operation": "notes.remove"}, {"operation": "notes.remove", "item": "…"}),
        ({"operation": "decisions.supersede", "item": "d1"}, {"operation": "decisions.list"}),
        ({"operation": "decisions.supersede", "item": "d1", "by": "d9"}, {"operation": "decisions.list"}),
        ({"operation": "steps.complete", "item": "s9"}, {"operation": "steps.list"}),
        ({"operation": "errors.resolve", "item": "e9"}, {"operation": "errors.list"}),
        ({"operation": "undo", "seq": 99}, {"operation": "history"}),
        ({"operation": "task.resume", "session": "ses_9"}, {"operation": "history"}),
        ({"operation": "output", "item": "p9"}, {"operation": "history"}),
        ({"operation": "shared.report", "text": "It works"}, {"operation": "shared.list"}),
        ({"operation": "clear", "keep": "notes"}, {"operation": "help", "item": "clear"}),
        ({"operation": "notes.remove", "except": "n1"}, {"operation": "help", "item": "notes.remove"}),
        ({"operation": "update", "section": "notes", "value": "x"}, {"operation": "snapshot"}),
        (
            {"operation": "decisions.record", "text": "Use PASETO", "supersedes": "zzz"},
            {"operation": "decisions.list"},
        ),
        (
            {"operation": "decisions.record", "text": "Use PASETO", "origin": "user"},
            {"operation": "decisions.record", "text": "Use PASETO"},
        ),
        ({"operation": "notes.add", "txt": "a" * 300}, {"operation": "help", "item": "notes.add"}),
    ],
)
def test_a_refused_call_is_answered_with_the_harmless_call(sent, example):
    assert check_example(sent) == example


@pytest.mark.slow
def test_every_operation_under_every_wrong_argument_shows_a_harmless_call():
    for name, operation in EVERY.items():
        fields = operation.arguments.__struct_fields__
        right = dict(operation.example)
        wrong = [{}, {"x": "zzz"}, {**right, "x": "zzz"}]
        wrong += [{**right, field: value} for field, value in product(fields, VALUES)]
        wrong += [
            {**{k: v for k, v in right.items() if k != field}, f"{field}s": right.get(field)} for field in fields
        ]
        for args in wrong:
            if name not in OUTSIDE:
                check_example({"tool": name, "args": args})
                check_example({**args, "operation": name})


OUTSIDE = {"export"}
"""Writes a file."""


@pytest.mark.slow
@given(
    st.one_of(
        st.builds("{}.{}".format, st.sampled_from(GROUPS), st.sampled_from(VERBS)),
        st.builds("hud_{}".format, st.sampled_from((*VERBS, *GROUPS))),
        st.builds(lambda name, at: name[:at] + name[at + 1 :], st.sampled_from(sorted(EVERY)), st.integers(0, 18)),
        st.sampled_from((*VERBS, *GROUPS)),
    ),
    st.dictionaries(
        st.sampled_from(sorted({field for each in EVERY.values() for field in each.arguments.__struct_fields__})),
        st.sampled_from(VALUES),
        max_size=2,
    ),
    st.sampled_from(("tool", "operation", "action")),
    st.sampled_from(("hud", "memory")),
)
def test_no_mistyped_operation_is_answered_with_a_harmful_call(name, args, key, router):
    check_example({key: name, "args": args}, router)
    check_example({key: name, **args}, router)


def test_an_undo_says_how_it_is_undone_in_the_notation_of_the_tool():
    s = session()
    gone = did(s, "undo")
    again = json.loads(re.search(r"hud\((\{.*\})\)$", gone.text)[1])
    assert again == {"operation": "undo", "seq": s.state.seq}
    assert reply(s, "hud", again).ok
    assert live_items(s) == live_items(session())


def test_the_calls_that_a_frame_names_are_read_from_its_lines_and_lists() -> None:
    text = "Notes (9): a · +8: notes.list\n\n- +2 more: constraints.list\n\n4 decisions | 2 files: hud snapshot\n"
    assert [call["operation"] for _, call in calls_in(text)] == ["notes.list", "constraints.list", "snapshot"]

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
    """Send a call; where it is refused, send what the refusal shows, and look at what that did."""
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
    # The agent's own call may have a second fault, and this session has no past to read in.
    own = set(map(str, flat(example_call.get("args", {})))) <= {str(value) for value in flat(sent)}
    assert follow_up.ok or (own and example_call.get("args")) or example_call["tool"] in OF_THE_PAST, answer.text
    words = json.dumps(sent, ensure_ascii=False).casefold() if not isinstance(sent, str) else sent.casefold()
    for (section, id), item in before.items():
        if after.get((section, id)) == item:
            continue
        text = item[0]
        named = (
            id.casefold() in words
            or section in words
            or text.casefold() in words
            or (example_call["tool"] == "undo" and example_call["args"]["seq"] in flat(sent))
            or any(isinstance(value, str) and value and value.casefold() in text.casefold() for value in flat(sent))
        )
        assert named, f"{sent} → {answer.text}: {section} {id} {text!r} is gone and was not named"
    for key, (text, _) in after.items():
        # What is new was said by the agent: no words of ours are recorded as its own.
        assert key in before or any(str(value) in text for value in flat(sent)), (sent, key, text)
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
        ({}, {"tool": "help"}),
        ({"tool": "hud_clr"}, {"tool": "help", "args": {"operation": "hud_clear"}}),
        ({"tool": "task.complete"}, {"tool": "help", "args": {"operation": "task"}}),
        ({"tool": "undone"}, {"tool": "help", "args": {"operation": "undo"}}),
        ({"tool": "notes.remve"}, {"tool": "help", "args": {"operation": "notes"}}),
        ({"tool": "notes.delete", "args": {"id": "n1"}}, {"tool": "notes.remove", "args": {"id": "n1"}}),
        ({"tool": "steps.done", "args": {"id": "s1"}}, {"tool": "steps.complete", "args": {"id": "s1"}}),
        ({"tool": "decisions.revisit", "args": {"id": "d1"}}, {"tool": "help", "args": {"operation": "decisions"}}),
        ({"tool": "notes.remove", "args": {"id": "zzz"}}, {"tool": "notes.list"}),
        ({"tool": "steps.complete", "args": {"id": "s9"}}, {"tool": "steps.list"}),
        ({"tool": "errors.resolve", "args": {"id": "e9"}}, {"tool": "errors.list"}),
        ({"tool": "undo", "args": {"seq": 99}}, {"tool": "history"}),
        ({"tool": "task.resume", "args": {"session": "ses_9"}}, {"tool": "history"}),
        ({"tool": "output", "args": {"id": "p9"}}, {"tool": "history"}),
        ({"tool": "shared.report", "args": {"text": "It works"}}, {"tool": "shared.list"}),
        ({"tool": "clear", "args": {"keep": "notes"}}, {"tool": "help", "args": {"operation": "clear"}}),
        ({"tool": "notes.remove", "args": {"except": "n1"}}, {"tool": "help", "args": {"operation": "notes.remove"}}),
        ({"tool": "clear", "args": {"sections": "notes"}}, {"tool": "clear", "args": {"section": "notes"}}),
        ({"operation": "clear"}, {"tool": "help", "args": {"operation": "clear"}}),
        (
            {"tool": "decisions.record", "args": {"summary": "Use PASETO", "supersedes": "zzz"}},
            {"tool": "decisions.list"},
        ),
        (
            {"tool": "notes.add", "args": {"contents": "a" * 300}},
            {"tool": "help", "args": {"operation": "notes.add"}},
        ),
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
    st.sampled_from(("tool", "operation", "action", "name")),
    st.sampled_from(("hud", "memory")),
)
def test_no_mistyped_operation_is_answered_with_a_harmful_call(name, args, key, router):
    check_example({key: name, "args": args}, router)
    check_example({key: name, **args}, router)


def test_an_undo_says_how_it_is_undone_in_the_notation_of_the_tool():
    s = session()
    gone = did(s, "undo")
    again = json.loads(re.search(r"hud\((\{.*\})\)$", gone.text)[1])
    assert again == {"tool": "undo", "args": {"seq": s.state.seq}}
    assert reply(s, "hud", again).ok
    assert live_items(s) == live_items(session())

"""Every other spelling does what its operation does: same events, same state, same answer."""

from __future__ import annotations

import pytest
from toolbox import did, fresh

from hudkit.context import count_tokens
from hudkit.sections import encode_state
from hudkit.tools import ALIASES, OPERATIONS, route

PAIRS = {
    "hud": [({}, "snapshot", {}), ({"section": "keyDecisions"}, "snapshot", {"section": "decisions"})],
    "hud_update": [
        ({"section": "currentTask", "value": "Ship"}, "update", {"section": "task", "value": "Ship"}),
        ({"section": "currentTask", "value": None}, "clear", {"section": "task"}),
        ({"section": "keyDecisions", "value": ["a", "c"]}, "update", {"section": "decisions", "value": ["a", "c"]}),
        ({"section": "activeFiles", "value": ["a.py"]}, "update", {"section": "files", "value": ["a.py"]}),
        ({"section": "nextSteps", "value": ["a"]}, "update", {"section": "steps", "value": ["a"]}),
        ({"section": "notes", "value": []}, "clear", {"section": "notes"}),
        ({"section": "blockers", "value": None}, "clear", {"section": "blockers"}),
    ],
    "hud_note": [({"note": "x"}, "notes.add", {"content": "x"})],
    "hud_notes": [({}, "notes.list", {}), ({"limit": 1}, "notes.list", {"limit": 1})],
    "hud_decision": [({"decision": "x"}, "decisions.record", {"summary": "x"})],
    "hud_decisions": [({}, "decisions.list", {})],
    "hud_file": [
        ({"file": "x.py"}, "files.edit", {"path": "x.py"}),
        ({"file": "x.py", "action": "add"}, "files.edit", {"path": "x.py"}),
        ({"file": "old.py", "action": "remove"}, "files.close", {"path": "old.py"}),
    ],
    "hud_blocker": [
        ({"blocker": "x", "action": "add"}, "blockers.add", {"description": "x"}),
        ({"blocker": "a", "action": "remove"}, "blockers.remove", {"id": "b1"}),
    ],
    "hud_step": [({"step": "x"}, "steps.add", {"description": "x"})],
    "hud_clear": [({}, "clear", {}), ({"section": "compactedContext"}, "clear", {"section": "compacted"})],
    "pin": [({"text": "x"}, "constraints.add", {"text": "x"})],
    "errors.report": [({"message": "x"}, "errors.add", {"message": "x"})],
}
CASES = [(name, *pair) for name, pairs in PAIRS.items() for pair in pairs]


def before():
    s = fresh()
    did(s, "task.set", description="Old")
    for name, field in (("notes.add", "content"), ("steps.add", "description"), ("blockers.add", "description")):
        did(s, name, **{field: "a"})
        did(s, name, **{field: "b"})
    did(s, "decisions.record", summary="a")
    did(s, "decisions.record", summary="b")
    did(s, "files.edit", path="old.py")
    return s


def test_every_alias_has_a_case():
    assert set(PAIRS) == set(ALIASES)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "args", "target", "same"), CASES)
def test_alias(name, args, target, same):
    one, other = before(), before()
    answer, expected = did(one, name, **args), did(other, target, **same)
    assert answer == expected
    assert encode_state(one.state) == encode_state(other.state)
    assert [event.payload for event in one.events()] == [event.payload for event in other.events()]
    assert (one.state.seq > before().state.seq) == bool(answer.data.get("recorded"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OPERATIONS, *ALIASES])
def test_both_routers_understand_every_spelling(name):
    one = OPERATIONS.get(name) or ALIASES[name]
    call = {"tool": name, "args": dict(one.example)}
    if name == "help":
        call["args"]["router"] = "hud"
    assert route(before(), "hud", call) == route(before(), "memory", call).replace("memory({", "hud({")


@pytest.mark.parametrize(("router", "first"), [("hud", "task"), ("memory", "what was said")])
def test_help_begins_with_the_routers_own_spellings(router, first):
    lines = route(fresh(), router, {"tool": "help"}).splitlines()
    assert f'{router}({{"operation": "help", "item": "notes.add"}})' in lines[0]
    assert lines[1].startswith(f"- {first}")


@pytest.mark.parametrize("router", ["hud", "memory"])
def test_help_names_every_operation_and_what_each_group_is_for_in_370_tokens(router):
    text = route(fresh(), router, {"operation": "help"})
    lines = text.splitlines()
    for name in (*OPERATIONS, *ALIASES):
        group, _, rest = name.rpartition(".")
        assert rest in (next(line for line in lines if line.startswith(f"- {group} (")) if group else text)
    assert all(" (" in line for line in lines[1:-1])
    assert count_tokens(text) <= 370
    assert lines[1 if router == "memory" else -2].index("search, messages") < 80

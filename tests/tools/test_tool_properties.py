"""Whatever is called: nothing raises, a refusal records nothing, and no text of an item is structure in an answer."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from toolbox import OF_THE_PAST, fresh

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter, SectionReplace, TodoItem, TodoSync
from hudkit.tools import ALIASES, OPERATIONS, call, reply, route
from strategies import hostile, payloads

HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
EVERY = {**OPERATIONS, **ALIASES}
NAMES = list(EVERY)
FIELDS = sorted({field for one in EVERY.values() for field in one.arguments.__struct_fields__})
TEXTS = (
    "content", "description", "summary", "details", "text", "message", "key", "path", "file", "note", "decision",
    "blocker", "step", "id", "by", "section", "value", "query",
)  # fmt: skip

known = st.sampled_from(["n1", "d1", "s1", "add", "notes", "steps"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), hostile, known)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(hostile, inner, max_size=2)),
    max_leaves=6,
)
arguments = st.dictionaries(st.one_of(st.sampled_from(FIELDS), hostile), values, max_size=3)
calls = st.one_of(
    values,
    st.fixed_dictionaries({"tool": st.sampled_from(NAMES)}, optional={"args": st.one_of(arguments, values)}),
    st.builds(lambda name, rest: {**rest, "tool": name}, st.sampled_from(NAMES), arguments),
    st.builds(json.dumps, st.fixed_dictionaries({"tool": st.sampled_from(NAMES), "args": arguments})),
    hostile,
)
plausible = st.builds(
    lambda name, filled: {"tool": name, "args": {f: filled[f] for f in TEXTS if f in _fields(name)}},
    st.sampled_from(NAMES),
    st.fixed_dictionaries({field: st.one_of(hostile, known) for field in TEXTS}),
)


def _fields(name):
    return EVERY[name].arguments.__struct_fields__


@pytest.mark.slow
@given(st.lists(st.one_of(calls, plausible), max_size=6), st.sampled_from(["hud", "memory"]))
def test_a_call_never_raises_and_a_refusal_records_nothing(sent, router):
    s = fresh()
    for one in sent:
        before = s.state
        said = reply(s, router, one)
        assert not HIDDEN.search(said.text)
        assert said.text
        recorded = s.state.seq > before.seq
        if not said.ok:
            assert s.state == before
        else:
            assert recorded == bool(said.answer.data.get("recorded", False)), (one, said)


@pytest.mark.slow
@given(st.lists(plausible, max_size=8), st.lists(payloads, max_size=4))
def test_what_is_answered_is_what_was_stored(sent, told):
    s = fresh()
    s.append(*told, origin=Origin.HOST)
    for one in sent:
        before = s.state
        said = reply(s, "hud", one)
        assert fresh(s.log).state == s.state, "another reader of the log sees the same"
        if said.ok and said.answer.data.get("recorded") and s.state.seq > before.seq:
            assert any(getattr(before, name) != getattr(s.state, name) for name in before.__struct_fields__[4:])


@pytest.mark.slow
@given(st.lists(hostile, min_size=1, max_size=4))
def test_no_text_of_an_item_is_structure(texts):
    s = fresh()
    for text in texts:
        for name, field in (
            ("task.set", "description"), ("notes.add", "content"), ("steps.add", "description"),
            ("blockers.add", "description"), ("constraints.add", "text"), ("errors.add", "message"),
            ("files.edit", "path"), ("decisions.record", "summary"),
        ):  # fmt: skip
            answer = route(s, "hud", {"tool": name, "args": {field: text}})
            assert not structure(answer), answer
        call_quietly(s, "decisions.record", {"summary": f"x{text}", "details": text})
        call_quietly(s, "project.add", {"kind": "notes", "text": text})
    s.append(
        CompactAfter(texts[0]), TodoSync(tuple(TodoItem(text, text, text) for text in texts)), origin=Origin.HOST
    )
    call_quietly(s, "steps.complete", {"id": "s1"})
    for name, one in EVERY.items():
        if one.writes or name in OF_THE_PAST:
            continue
        args = {"query": texts[0]} if name == "search" and texts[0].strip() else dict(one.example)
        answer = call(s, name, args).text
        lines = answer.splitlines()
        headings = [("heading", line.lstrip("# ")) for line in lines if line.startswith("#")]
        found = structure(answer)
        assert not HIDDEN.search(answer)
        assert [one for one in found if one != ("item", "")] == headings
        assert found.count(("item", "")) == sum(line.startswith("- ") for line in lines)
        for _, heading in headings:
            assert re.match(r"State at event \d+$|[A-Z][a-z ]+ \(\d+\)$|[A-Z][a-z ]+: none$", heading), heading


@pytest.mark.slow
@given(hostile, hostile)
def test_no_text_in_a_refusal_is_structure(text, other):
    s = fresh()
    call_quietly(s, "notes.add", {"content": other})
    call_quietly(s, "notes.add", {"content": f"{other} again"})
    for sent in (
        {"tool": text}, {"tool": "notes.add", "args": {text: other}}, {"tool": "notes.remove", "args": {"id": text}},
        {"tool": "hud", "section": text}, {"action": text}, {"tool": "notes.add", "args": {}, text: other}, text,
        {"tool": "notes.remove", "args": {"id": other}},
    ):  # fmt: skip
        answer = route(s, "memory", sent)
        assert not HIDDEN.search(answer)
        assert "\n" not in answer or answer.startswith("# State"), answer
        assert not structure(answer) or answer.startswith("# State"), answer


def structure(text):
    """Headings with their text, list items, tables, quotes, rules, HTML blocks and fences of a markdown text."""
    tokens = PARSER.parse(text)
    found = []
    for n, token in enumerate(tokens):
        if token.type == "heading_open":
            found.append(("heading", tokens[n + 1].content))
        elif token.type == "list_item_open":
            found.append(("item", ""))
        elif token.type in ("table_open", "blockquote_open", "hr", "html_block", "fence"):
            found.append((token.type, ""))
    return found


def call_quietly(session, name, args):
    try:
        call(session, name, args)
    except OperationError as error:
        assert "is empty" in str(error) or "there is no" in str(error)


@pytest.mark.slow
def test_thousands_of_notes_do_not_flood_an_answer():
    s = fresh()
    s.append(SectionReplace("notes", tuple(f"note {n}" for n in range(3000))))
    answer = call(s, "notes.list").text
    assert len(answer.splitlines()) == 52 and answer.endswith("+2950 older: skip 50")
    assert len(call(s, "snapshot").text.splitlines()) < 210


def test_a_deep_value_is_refused_like_any_other():
    deep = []
    for _ in range(20_000):
        deep = [deep]
    s = fresh()
    for sent in (
        {"tool": "notes.add", "args": {"content": deep}},
        {"tool": "steps.reorder", "args": {"ids": deep}},
        {"tool": "notes.add", "args": {"strange": deep}},
        {"tool": "nothing", "args": {"content": deep}},
        "[" * 20_000,
        '{"tool":"notes.add","args":' + '{"a":' * 900 + "1" + "}" * 901,
        {1: 2, "tool": "notes.add"},
        {"tool": "notes.add", "args": {1: 2}},
    ):
        assert "Example: hud(" in route(s, "hud", sent)
    assert s.state.seq == 0

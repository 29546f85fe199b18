"""Payloads to bytes and back: upcasts, unknown types, and a chain that covers every field of the envelope."""

from __future__ import annotations

import json
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.log import PAYLOADS, Payload, Unknown, type_of
from hudkit.log.codec import (
    GENESIS,
    UPCASTS,
    chain_link,
    decode_payload,
    encode_payload,
    escape_surrogates,
    payload_digest,
)
from hudkit.log.payloads import ContextSnapshot, NoteAdd, TaskSet

ENVELOPE: dict[str, Any] = {
    "previous": GENESIS,
    "digest": payload_digest(b"body"),
    "session_id": "s",
    "seq": 3,
    "id": "id-1",
    "turn": 2,
    "timestamp": 1_700_000_000_000,
    "type_": "note.add",
    "v": 1,
    "origin": "agent",
}


@pytest.mark.parametrize("field", ENVELOPE)
def test_each_field_of_the_envelope_changes_the_link(field: str) -> None:
    changed = {bytes: b"\1" * 32, str: "other", int: 7}[type(ENVELOPE[field])]
    assert chain_link(**ENVELOPE) != chain_link(**{**ENVELOPE, field: changed})
    assert chain_link(**ENVELOPE) == chain_link(**dict(ENVELOPE))
    assert len(chain_link(**ENVELOPE)) == 32


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.text("ab1", max_size=4), st.text("ab1", max_size=4))
@settings(deadline=None)
def test_values_that_move_between_fields_change_the_link(turn: int, timestamp: int, session: str, id_: str) -> None:
    one = {**ENVELOPE, "turn": turn, "timestamp": timestamp, "session_id": session, "id": id_}
    other = {**ENVELOPE, "turn": timestamp, "timestamp": turn, "session_id": id_, "id": session}
    assert (chain_link(**one) == chain_link(**other)) == (one == other)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that a field with this annotation may hold."""
    if hint in PLAIN:
        return PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return examples(hint)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(arguments)
    if typing.get_origin(hint) is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    return st.one_of(*map(values, arguments))


def examples(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Structs of a type with any values that their fields allow."""
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in msgspec.structs.fields(kind)})


@pytest.mark.parametrize("kind", PAYLOADS.values(), ids=PAYLOADS)
@given(data=st.data())
@settings(deadline=None, max_examples=15)
@pytest.mark.slow
def test_every_payload_comes_back_as_it_was_sealed(kind: type[Payload], data: st.DataObject) -> None:
    payload = data.draw(examples(kind))
    sealed = encode_payload(payload)
    assert decode_payload(type_of(payload), kind.V, sealed.body) == sealed.payload
    assert sealed.digest == payload_digest(sealed.body)
    assert json.loads(sealed.body)["type"] == type_of(payload)
    if b"[redacted:" not in sealed.body:
        assert sealed.payload == payload


def test_every_type_of_the_design_is_there() -> None:
    names = """task.set task.update task.clear decision.record decision.remove decision.supersede note.add note.update
    note.remove file.open file.edit file.close step.complete step.add step.update step.remove step.reorder
    error.encountered error.resolved blocker.add blocker.remove context.snapshot compact.before compact.after
    section.replace section.clear constraint.add constraint.remove todo.sync session.start session.link project.set
    frame.base frame.delta event.undo redact"""
    assert set(names.split()) <= set(PAYLOADS)


def test_what_is_not_of_its_declared_type_is_refused() -> None:
    for payload in (NoteAdd(5), NoteAdd(None), TaskSet(["x"])):  # type: ignore[arg-type]
        with pytest.raises(msgspec.ValidationError):
            encode_payload(payload)
    with pytest.raises(TypeError):
        encode_payload(NoteAdd(object()))  # type: ignore[arg-type]


def test_half_surrogates_are_written_out() -> None:
    assert encode_payload(NoteAdd("a\ud800", id="\udfff")).payload == NoteAdd("a\\ud800", id="\\udfff")
    assert escape_surrogates("plain ü €") == "plain ü €"


# -- types and versions from elsewhere -------------------------------------------------------------------------


def test_an_unknown_type_is_kept_byte_for_byte() -> None:
    body = b'{"type":"from.tomorrow", "x":[1, 2.50]}'
    assert decode_payload("from.tomorrow", 1, body) == Unknown("from.tomorrow", 1, body)


def test_a_newer_version_is_kept_byte_for_byte() -> None:
    body = b'{"type":"note.add","content":{"rich":true}}'
    assert decode_payload("note.add", NoteAdd.V + 1, body) == Unknown("note.add", NoteAdd.V + 1, body)


def test_a_payload_that_is_tagged_as_another_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_payload("task.set", 1, encode_payload(NoteAdd("x")).body)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"null", b'{"type":"note.add"}', b'{"type":"note.add","content":7}']
)
def test_bytes_that_are_no_payload_are_refused(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_payload("note.add", 1, body)


def test_stored_json_never_becomes_an_object() -> None:
    """Crafted bodies of other serialisers are plain data here, or refused."""
    for body in (
        b'{"lc":2,"type":"constructor","id":["os","system"]}',
        b'{"py/object":"os.system"}',
        b"\x80\x04K\x01.",
    ):
        with pytest.raises(msgspec.MsgspecError):
            decode_payload("note.add", 1, body)


def test_old_payloads_are_brought_up_step_by_step() -> None:
    steps = {
        ("note.add", -1): lambda old: {"type": "note.add", "text": old["t"]},
        ("note.add", 0): lambda old: {"type": "note.add", "content": old["text"].upper()},
    }
    assert decode_payload("note.add", -1, b'{"t":"hi"}', steps=steps) == NoteAdd("HI")
    assert decode_payload("note.add", 0, b'{"text":"hi"}', steps=steps) == NoteAdd("HI")
    assert decode_payload("note.add", 1, b'{"type":"note.add","content":"hi"}', steps=steps) == NoteAdd("hi")


def test_a_missing_step_keeps_the_payload_unknown() -> None:
    assert decode_payload("note.add", 0, b'{"text":"hi"}', steps={}) == Unknown("note.add", 0, b'{"text":"hi"}')
    body = b'{"type":"note.add","content":"hi"}'
    assert decode_payload("note.add", 1, body, steps={}) == NoteAdd("hi"), "no step is needed"


def test_no_released_version_lacks_its_step() -> None:
    for name, kind in PAYLOADS.items():
        for v in range(1, kind.V):
            assert (name, v) in UPCASTS


def test_fields_that_came_later_change_no_older_event() -> None:
    told = ContextSnapshot(5, 10, model="m", source="reported")
    wanted = b'{"type":"context.snapshot","used_tokens":5,"limit_tokens":10,"model":"m","source":"reported"}'
    assert encode_payload(told).body == wanted

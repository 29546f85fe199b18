"""Requests from bodies: what is right comes through, what is wrong is named with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import HudkitError
from hudkit.hosts.wire import (
    CompactRequestBody,
    EmptyRequest,
    EventsRequestBody,
    FrameRequestBody,
    RequestRefused,
    ToolRequestBody,
    decode,
    encode,
    newer,
)

WHO = b'"host":"opencode","session":"s","directory":"/w"'


def test_a_frames_request_as_the_plugin_sends_it() -> None:
    body = (
        b"{" + WHO + b',"model":{"id":"m","provider":"p","limit":0,"output":0,"input":0},'
        b'"transcript":[{"anchor":"user:1:","role":"user"},{"anchor":"assistant:2:c1","role":"tool"}],'
        b'"messages":[{"info":{"id":"x","anything":[1,{"else":null}]},"parts":[]}],'
        b'"facts":{"title":"T","parent":null,"agent":"build"},"seen":null,"used":null}'
    )
    ask = decode(body, FrameRequestBody)
    assert (ask.model.id, ask.model.limit, ask.facts.title, ask.used) == ("m", 0, "T", None)
    assert [(one.anchor, one.role) for one in ask.transcript] == [("user:1:", "user"), ("assistant:2:c1", "tool")]
    assert ask.messages[0]["info"]["anything"] == [1, {"else": None}]
    assert decode(b"{" + WHO + b"}", FrameRequestBody).transcript == ()
    assert decode(b"{" + WHO + b"}", EventsRequestBody).todos is None


@pytest.mark.parametrize(
    ("kind", "more", "place"),
    [
        (FrameRequestBody, b',"origin":"user"', "origin"),
        (FrameRequestBody, b',"model":{"trust":1}', "$.model"),
        (FrameRequestBody, b',"facts":{"origin":"system"}', "$.facts"),
        (FrameRequestBody, b',"transcript":[{"anchor":"a","role":"system"}]', "$.transcript[0].role"),
        (FrameRequestBody, b',"used":"many"', "$.used"),
        (FrameRequestBody, b',"used":-1', "$.used"),
        (FrameRequestBody, b',"messages":[3]', "$.messages[0]"),
        (ToolRequestBody, b',"router":"hud","arguments":[]', "$.arguments"),
        (ToolRequestBody, b',"router":"shell"', "$.router"),
        (ToolRequestBody, b"", "router"),
        (CompactRequestBody, b',"router":"hud","force":true', "force"),
        (EmptyRequest, b"", "host"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(kind: type, more: bytes, place: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        decode(b"{" + WHO + more + b"}", kind)
    assert place in refused.value.message and refused.value.details["status"] == 400


def test_half_a_character_is_replaced_and_the_rest_is_read() -> None:
    ask = decode(
        b"{" + WHO + rb',"facts":{"title":"cut \ud83d"},"messages":[{"\udc00":"\ud83d\ude00 \ud83d"}]}',
        FrameRequestBody,
    )
    assert ask.facts.title == "cut \ufffd"
    assert ask.messages == ({"\ufffd": "\U0001f600 \ufffd"},)
    assert encode(ask.facts).decode() == '{"title":"cut \ufffd","parent":null,"agent":null}'


@pytest.mark.slow
@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(encode))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    for kind in (FrameRequestBody, EventsRequestBody, ToolRequestBody, EmptyRequest):
        try:
            assert isinstance(decode(body, kind), kind)
        except HudkitError as error:
            assert error.code == "request" and len(error.message) < 400


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b'["\\ud800' + b"[" * 200_000])
def test_depth_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused):
        decode(body, FrameRequestBody)


def test_which_version_is_newer() -> None:
    ascending = ["rubbish", "0.0.9", "0.1.0", "0.9.2", "0.10.0", "1.0", "1.0.1", "10"]
    for n, one in enumerate(ascending):
        assert [newer(one, other) for other in ascending] == [m < n for m in range(len(ascending))]
    assert not newer("1.0", "1") and not newer("1", "1.0")

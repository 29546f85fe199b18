"""What is read of a reply: what models put around it and into it, both formats, and notes for what is unreadable."""

from __future__ import annotations

import json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose.formats import toon
from hudkit.rooms.reply_parser import MAX_REPLY_CHARACTERS, MAX_REPLY_ITEMS, ParsedReply, is_silence, parse_reply

RESPONSE = {"room_id": 8, "message": "I think it's fine, isn't it?"}
ACTION = {"type": "set", "path": "mood", "value": True}
RIGHT = ParsedReply((RESPONSE,), (ACTION,))
PLAIN = json.dumps({"responses": [RESPONSE], "actions": [ACTION]})

READABLE = {
    "plain": PLAIN,
    "indented": json.dumps({"responses": [RESPONSE], "actions": [ACTION]}, indent=2),
    "fenced": f"```json\n{PLAIN}\n```",
    "fence without a language": f"```\n{PLAIN}\n```\n",
    "talk around": f"Sure! Here is what I do:\n\n{PLAIN}\n\nLet me know if that's right.",
    "braces in the talk": f"I use {{room}} and {{}} here: {PLAIN} (that {{is}} all)",
    "apostrophes in the talk": f"I'm Ann, and it's {{well}} - here's my answer: {PLAIN}",
    "byte order mark": f"\ufeff{PLAIN}",
    "trailing commas": '{"responses": [{"room_id": 8, "message": "I think it\'s fine, isn\'t it?",},],'
    ' "actions": [{"type": "set", "path": "mood", "value": true},],}',
    "single quotes": "{'responses': [{'room_id': 8, 'message': 'I think it\\'s fine, isn\\'t it?'}],"
    " 'actions': [{'type': 'set', 'path': 'mood', 'value': True}]}",
    "single quotes with bare apostrophes": "{'responses':"
    " [{'room_id': 8, 'message': 'I think it's fine, isn't it?'}],"
    " 'actions': [{'type': 'set', 'path': 'mood', 'value': True}]}",
    "curly quotes": "{“responses”: [{“room_id”: 8, “message”: “I think it's fine, isn't it?”}],"
    " “actions”: [{“type”: “set”, “path”: “mood”, “value”: true}]}",
    "comments": '{"responses": [{"room_id": 8, // the lab\n "message": "I think it\'s fine, isn\'t it?"}],\n'
    '// memory\n"actions": [{"type": "set", "path": "mood", "value": true}]}',
    "an object that is one": f'{{"responses": {json.dumps(RESPONSE)}, "actions": {json.dumps(ACTION)}}}',
    "TOON though JSON was asked for": toon.encode({"responses": [RESPONSE], "actions": [ACTION]}),
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_what_models_write_around_and_into_json_is_read(text: str) -> None:
    assert parse_reply(text) == RIGHT


def test_line_breaks_within_a_string_are_kept() -> None:
    assert parse_reply('{"responses": [{"room_id": 8, "message": "one\ntwo\tthree"}]}').responses == (
        {"room_id": 8, "message": "one\ntwo\tthree"},
    )


def test_a_quote_within_single_quotes_and_a_url_stay_as_they_are() -> None:
    text = """{'responses': [{'room_id': 8, 'message': 'say "hi" at https://a.example/b, or not'}],}"""
    assert parse_reply(text).responses[0]["message"] == 'say "hi" at https://a.example/b, or not'


TOON_TEXTS = {
    "003's example": "actions[1]{type,room_id,content}:\n  send_message, 5, Hello!",
    "fenced": "Here it is:\n```toon\nactions[1]{type,room_id,content}:\n  send_message,5,Hello!\n```\nDone.",
    "with talk": "Here it is.\n\nactions[1]{type,room_id,content}:\n  send_message,5,Hello!\n\nThat is all.",
    "JSON though TOON was asked for": '{"actions": [{"type": "send_message", "room_id": 5, "content": "Hello!"}]}',
    "items": "actions[1]:\n  - type: send_message\n    room_id: 5\n    content: Hello!",
}


@pytest.mark.parametrize("text", TOON_TEXTS.values(), ids=TOON_TEXTS)
def test_toon_is_read(text: str) -> None:
    assert parse_reply(text, "toon") == ParsedReply(
        actions=({"type": "send_message", "room_id": 5, "content": "Hello!"},)
    )


SAYS = {"responses": [RESPONSE]}
DOES = {"actions": [ACTION]}
OTHER = {"responses": [{"room_id": 8, "message": "No."}]}


def texts_of(*values: object, between: str = "\n\n") -> str:
    return between.join(json.dumps(value) for value in values)


SEVERAL = {
    "its two parts apart": (texts_of(SAYS, DOES), RIGHT, 0),
    "two parts in fences": (f"```json\n{texts_of(SAYS)}\n```\nand\n```json\n{texts_of(DOES)}\n```", RIGHT, 0),
    "the same twice": (texts_of(SAYS, SAYS), ParsedReply((RESPONSE,)), 0),
    "an empty one first": (texts_of({"responses": [], "actions": []}, SAYS), ParsedReply((RESPONSE,)), 0),
    "a thought first": (f"<think>Perhaps {texts_of(OTHER)}?</think>\n{texts_of(SAYS)}", ParsedReply((RESPONSE,)), 0),
    "two answers": (texts_of(SAYS, OTHER, between=" or "), ParsedReply((RESPONSE,)), 1),
    "an answer and another object": (texts_of(SAYS, ACTION), ParsedReply((RESPONSE,)), 1),
    "an answer and half of one": (texts_of(SAYS, DOES)[:-20], ParsedReply((RESPONSE,)), 1),
    "three answers": (texts_of(SAYS, OTHER, {**OTHER, **DOES}), ParsedReply((RESPONSE,)), 2),
}


@pytest.mark.parametrize(("text", "expected", "others"), SEVERAL.values(), ids=SEVERAL)
def test_of_several_objects_none_is_lost_without_a_word(text: str, expected: ParsedReply, others: int) -> None:
    reply = parse_reply(text)
    assert (reply.responses, reply.actions) == (expected.responses, expected.actions)
    said = {0: (), 1: ("another one was passed over",), 2: ("2 others were passed over",)}[others]
    assert len(reply.faults) == len(said)
    assert all(word in fault for word, fault in zip(said, reply.faults))


def test_what_stands_within_an_object_that_was_cut_off_is_no_answer() -> None:
    for text in (
        '{"plan": {"actions": [{"type": "delete", "path": "all"}]}, "responses": [{"room_id',
        'Well: {"plan": {"actions": [{"type": "delete", "path": "all"}]}, "responses": [{"room_id',
    ):
        reply = parse_reply(text)
        assert not reply.actions and "not readable as JSON" in reply.faults[0]


def test_a_lone_brace_in_the_talk_hides_no_answer() -> None:
    assert parse_reply(f"I open a {{ and never close it. {PLAIN}") == RIGHT


def test_parts_in_toon_may_have_talk_between_them_and_any_character_in_them() -> None:
    said = 'responses[1]{room_id,message}:\n  8,"one\u2028two\x0bthree\x85"'
    done = "actions[1]{type,path}:\r\n  delete,a\r"
    expected = ParsedReply(
        ({"room_id": 8, "message": "one\u2028two\x0bthree\x85"},), ({"type": "delete", "path": "a"},)
    )
    for text in (
        f"I say:\n{said}\n\nAnd I do:\n{done}\n\nThat is all.",
        f"```toon\n{said}\n```\nand\n~~~\n{done}\n~~~",
    ):
        assert parse_reply(text, "toon") == expected


COUNTS = {
    "fewer rows": "actions[3]{type,path}:\n  delete,a\n  delete,b",
    "more rows": "actions[1]{type,path}:\n  delete,a\n  delete,b",
    "fewer cells": "actions[1]{type,path}:\n  delete",
    "more cells": "actions[1]{type,path}:\n  delete,a,b",
    "fewer items": "actions[2]:\n  - type: delete\n    path: a",
    "a part twice": "actions[1]{type,path}:\n  delete,a\nactions[1]{type,path}:\n  delete,b",
}


@pytest.mark.parametrize("text", COUNTS.values(), ids=COUNTS)
def test_toon_that_miscounts_is_refused_whole(text: str) -> None:
    (fault,) = parse_reply(text, "toon").faults
    assert "not readable as TOON" in fault and "Nothing of it was done" in fault


BIG = MAX_REPLY_CHARACTERS - 100
HEAVY = {
    "fences that never close": "```a\n" * (BIG // 5),
    "fences": "```\n" * (BIG // 4),
    "braces": "{" * BIG,
    "pairs of braces": "{}" * (BIG // 2),
    "objects": '{"a":' * (BIG // 5),
    "lists": '{"actions": ' + "[" * BIG,
    "strings": "{'" * (BIG // 2),
    "commas": '{"actions": [' + "1, " * (BIG // 3) + "]}",
    "heads": "actions[1]:\n" * (BIG // 12),
    "digits": '{"actions": [' + "9" * BIG + "]}",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    for output_format in ("json", "toon"):
        assert not parse_reply(text, output_format).actions
    assert time.process_time() - began < 4


@pytest.mark.parametrize("text", ["", "  \n", "[no response]", "[No response].", " [ no_response ] "])
def test_silence_is_no_fault(text: str) -> None:
    assert parse_reply(text) == ParsedReply()


def test_what_is_said_about_silence_is_no_silence() -> None:
    assert is_silence("[no response]")
    assert not is_silence("I gave [no response] yesterday")


UNREADABLE = {
    "talk only": ("I would rather not.", "no {...}"),
    "cut off": (PLAIN[:-20], "line 1"),
    "another object": ('{"answer": 42}', "neither"),
    "a list": ("[1, 2]", "no {...}"),
    "a key twice": ('{"actions": [{"type": "set", "type": "delete"}]}', "twice"),
    "no number": ('{"actions": [{"type": "set", "path": "a", "value": NaN}]}', "NaN"),
    "half a character": ('{"actions": [{"type": "set", "path": "a", "value": "\\ud800"}]}', "surrogate"),
    "too long": ("x" * (MAX_REPLY_CHARACTERS + 1), str(MAX_REPLY_CHARACTERS)),
}


@pytest.mark.parametrize(("text", "said"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_one_clear_note(text: str, said: str) -> None:
    reply = parse_reply(text)
    assert not reply.responses and not reply.actions
    assert len(reply.faults) == 1 and said in reply.faults[0]


def test_toon_that_is_none_says_where() -> None:
    (fault,) = parse_reply("actions[2]{type,path}:\n  delete,a", "toon").faults
    assert "TOON" in fault and "line" in fault


def test_faults_of_items_leave_the_others() -> None:
    reply = parse_reply(
        json.dumps(
            {"thoughts": "hm", "responses": ["hello", RESPONSE], "actions": [ACTION, 5, {**ACTION, "value": 2**70}]}
        )
    )
    assert reply.responses == (RESPONSE,) and reply.actions == (ACTION,)
    assert [
        word in fault for word, fault in zip(("thoughts", "actions[2]", "actions[3]", "responses[1]"), reply.faults)
    ] == [True] * 4


def test_more_items_than_a_reply_may_have_are_told_and_left() -> None:
    reply = parse_reply(json.dumps({"responses": [RESPONSE] * 9, "actions": [ACTION] * MAX_REPLY_ITEMS}))
    assert len(reply.actions) == MAX_REPLY_ITEMS and not reply.responses
    assert str(MAX_REPLY_ITEMS) in reply.faults[0]


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
items = st.dictionaries(st.text(max_size=6), plain, max_size=4)


@pytest.mark.slow
@given(st.lists(items, max_size=3), st.lists(items, max_size=3), st.sampled_from([None, 2]))
def test_whatever_is_well_formed_is_read_word_for_word(
    responses: list[dict[str, object]], actions: list[dict[str, object]], indent: int | None
) -> None:
    written = json.dumps({"responses": responses, "actions": actions}, indent=indent)
    expected = ParsedReply(tuple(responses), tuple(actions))
    assert parse_reply(written) == parse_reply(f"Well:\n```json\n{written}\n```\n") == expected


@given(st.text(max_size=200) | st.text(alphabet="{}[]\"',:\\ \nab1/", max_size=60))
def test_no_text_raises(text: str) -> None:
    for output_format in ("json", "toon"):
        assert isinstance(parse_reply(text, output_format), ParsedReply)


def steps_per_character(text: str) -> float:
    """How many lines of Python the parser runs for each character: a count, so that no clock is needed."""
    steps = 0

    def count(*_: object) -> object:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        parse_reply(text)
    finally:
        sys.settrace(before)
    return steps / len(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["{", "{[", "{ ", "{x ", '{"', "{'", '{" {', '{"a":', "{}", '{"a": {"b": [', "[{", "responses[1]: {", "{“ {'"],
)
def test_no_text_is_walked_again_from_each_of_its_braces(unit: str) -> None:
    text = unit * (4_000 // len(unit))
    assert steps_per_character(text) < 30, "a reply of 100,000 braces held the rooms for a second, at 144 steps each"
    assert steps_per_character(text * 2) < 1.2 * steps_per_character(text) + 1


def test_an_answer_behind_many_braces_that_never_close_is_still_read() -> None:
    answer = '{"responses": [{"room_id": 8, "message": "see {it}"}]}'
    assert parse_reply(f"{{sigh {{{{ [[ {answer}").responses == ({"room_id": 8, "message": "see {it}"},)
    assert parse_reply(f"it's {{ 'x {{ {answer} }}").responses == ()

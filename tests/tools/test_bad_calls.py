"""Calls that are refused: the full text for the agent is in `goldens/bad_calls.md`, and nothing is recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from toolbox import did, fresh

from hudkit.errors import ConfigError, OperationError, StoreBusy, StoreFull
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.tools import call, reply, route

GOLDENS = Path(__file__).parent / "goldens" / "bad_calls.md"
CASE = re.compile(r"^## (?P<title>.+)\n\n```(?P<router>hud|memory)\n(?P<call>.+)\n```\n\n(?P<text>.+)$", re.MULTILINE)
CASES = [match.groupdict() for match in CASE.finditer(GOLDENS.read_text())]


def session():
    s = fresh()
    did(s, "task.set", description="Implement auth")
    for text in ("Refresh tokens live 7 days", "Access tokens live 1 hour", "# Notes\n- fake"):
        did(s, "notes.add", content=text)
    for text in ("Write", "Test"):
        did(s, "steps.add", description=text)
    did(s, "decisions.record", summary="Use JWT")
    return s


def test_every_golden_was_read():
    assert len(CASES) == GOLDENS.read_text().count("\n## ") > 30


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_bad_call(case, request):
    s = session()
    before = s.state
    sent = case["call"]
    text = route(s, case["router"], _sent(sent))
    if request.config.getoption("--update-goldens"):
        GOLDENS.write_text(GOLDENS.read_text().replace(_block(case, case["text"]), _block(case, text)))
        return
    assert text == case["text"]
    assert s.state == before


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_the_example_of_a_refusal_is_a_call_that_is_understood(case):
    start = case["text"].rindex("Example: ") + len("Example: ")
    example = re.fullmatch(r"(hud|memory)\((.*)\)", case["text"][start:])
    assert example is not None and example[1] == case["router"]
    text = route(session(), example[1], example[2])
    assert not re.search(
        r"no operation|no argument|needs the argument|must be|is empty|is missing|cannot be", text
    ), text


def _sent(text: str) -> object:
    """JSON text is given as the object, a case in which the text itself matters as text."""
    try:
        return json.loads(text, object_pairs_hook=_plain)
    except ValueError:
        return text


def _plain(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("given as text")
    return dict(pairs)


def _block(case: dict[str, str], text: str) -> str:
    return f"## {case['title']}\n\n```{case['router']}\n{case['call']}\n```\n\n{text}"


def test_a_text_of_4096_bytes_is_taken_and_one_more_is_refused_with_the_figure():
    s = fresh()
    assert did(s, "notes.add", content="é" * 2048).data["recorded"]
    assert s.state.notes[0].content == "é" * 2048
    refused = route(s, "hud", {"tool": "notes.add", "args": {"content": "é" * 2048 + "a"}})
    assert refused.startswith('"text" has 4,097 bytes, the limit is 4,096. Nothing was recorded.')
    assert len(s.state.notes) == 1
    long = {"tool": "update", "args": {"section": "notes", "value": ["a", "b" * 5000]}}
    assert '"value" has 5,000 bytes' in route(s, "hud", long)
    assert s.state.seq == 1


def test_programs_get_the_error_with_its_candidates():
    s = session()
    with pytest.raises(OperationError) as caught:
        call(s, "notes.remove", {"id": "tokens live"})
    assert caught.value.details["candidates"] == ["n1", "n2"]
    with pytest.raises(OperationError) as caught:
        call(s, "note_add", {"content": "x"})
    assert "notes.add" in caught.value.details["near"]
    assert caught.value.details["example"] == 'hud({"operation": "notes.add", "text": "x"})'


def test_at_most_five_candidates():
    s = fresh()
    for n in range(9):
        did(s, "notes.add", content=f"same {n}")
    text = route(s, "hud", {"tool": "notes.remove", "id": "same"})
    assert text.count('"same ') == 5 and "and 4 more" in text


@pytest.mark.parametrize("error", [StoreFull("no space left on the medium"), StoreBusy("the write lock is held")])
def test_what_cannot_be_recorded_is_not_acknowledged(error):
    class Refusing(MemoryLog):
        def append(self, session_id, drafts, *, expected=None):
            raise error

    s = fresh(Refusing())
    answer = reply(s, "hud", {"tool": "notes.add", "args": {"content": "x"}})
    assert answer.text == f"not recorded: {error.message}"
    assert not answer.ok and answer.answer is None
    assert reply(s, "hud", {"tool": "notes.list"}).text == "Notes: none"
    with pytest.raises(type(error)):
        call(s, "notes.add", {"content": "x"})


def test_a_log_that_cannot_be_read_is_said_so():
    log = MemoryLog()
    s = fresh(log)
    log.close()
    assert route(s, "memory", {"tool": "hud_notes"}).startswith("not available: ")


def test_another_writer_between_is_decided_on_again():
    class Racing(MemoryLog):
        """Another session object removes the decision just before the first conditional append."""

        def append(self, session_id, drafts, *, expected=None):
            if self.race:
                self.race = False
                did(fresh(self), "decisions.remove", id="d1")
            return super().append(session_id, drafts, expected=expected)

    log = Racing()
    log.race = False
    s = fresh(log)
    did(s, "decisions.record", summary="HS256")
    log.race = True
    with pytest.raises(OperationError, match="There are no decisions now"):
        did(s, "decisions.record", summary="RS256", supersedes="d1")
    assert [event.type for event in s.events()] == ["decision.record", "decision.remove"]


def test_an_unknown_router_is_the_hosts_mistake():
    with pytest.raises(ConfigError, match="There are: hud, memory"):
        route(fresh(), "mind", {"tool": "help"})

"""The pages of the recorded day: what a person reads there, and that it is what the log says."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from served_inspector import PageVisitor, ServedInspector

from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, hud_plugin
from hudkit.api import Hud
from hudkit.context.caching import CallCost
from hudkit.hud.window_usage import window_usage
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.inspector.links import call_link, compaction_link, diff_link, page_link, session_link
from hudkit.inspector.session_record import SessionRecord
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.stores import open_log
from hudkit.models.scripted_answers import ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def record(orchard: Hud, long_day: str) -> SessionRecord:
    made = SessionRecord(orchard, long_day)
    assert made.refresh(20)
    return made


def test_the_list_has_every_session_with_its_facts(visitor: PageVisitor) -> None:
    words = visitor.get("/").words
    assert "5 sessions" in words
    assert "Orchard planner: overlap, rain, history, frost opencode orchard orchid-1" in words
    assert "2026-11-17" in words and re.search(r"165 2 in use: 28,603 65 % ○ green", words)


def test_the_list_is_filtered_by_words_and_host(visitor: PageVisitor) -> None:
    visitor.served.inspected.wait_until_read()
    assert "1 session of 5" in visitor.get("/?q=LANTERN+label").words
    assert "0 sessions of 5" in visitor.get("/?q=lantern&host=codex").words
    assert "No session matches" in visitor.get("/?q=nothing-like-it").words


def test_a_session_tells_its_calls_compactions_and_breaks(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    page = visitor.get(session_link(long_day))
    words = page.words
    assert f"Calls {len(record.calls)}" in words and "2 compactions" in words
    assert "Compaction 2, automatic" in words and "cache break, " in words
    assert re.search(r"Cost with the HUD 1\.\d\d × without it", words)
    for name in (
        "tool outputs",
        "messages and calls",
        "host's prompt and tools",
        "with the HUD",
        "without, estimated",
    ):
        assert name in words
    assert call_link(long_day, record.calls[-1].seq) in page.links
    second = visitor.get(session_link(long_day, page=2)).words
    assert "page 2 of 2" in second and "Compaction 1, automatic" not in second


def test_a_call_shows_the_bytes_that_were_sent(visitor: PageVisitor, record: SessionRecord, long_day: str) -> None:
    call = record.calls[133]
    frame = record.frame_at(call.seq)
    page = visitor.get(call_link(long_day, call.seq, view="sent"))
    assert f"Call {call.number} of {len(record.calls)}" in page.words
    text = page.text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&#96;", "`")
    text = text.replace("&quot;", '"')
    assert frame.base in text and frame.tail in text
    assert all(delta.text in text for delta in frame.deltas)
    assert f"{frame.tokens:,} of {frame.budget:,} tokens" in page.words


def test_a_call_says_what_was_left_out_and_why(visitor: PageVisitor, record: SessionRecord, long_day: str) -> None:
    call = record.calls[-1]
    omitted = record.frame_at(call.seq).omitted
    assert omitted
    words = visitor.get(call_link(long_day, call.seq)).words
    assert f"{len(omitted)} texts, with the reason" in words
    assert all(one.reason in words for one in omitted)


def test_the_slider_fits_the_state_at_that_call_anew(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    call = record.calls[-1]
    for budget in (200, 500, 1_500):
        fitted = record.frame_within(budget, call.seq)
        expected = f"{fitted.tokens:,} of {budget:,} tokens"
        assert fitted.tokens <= budget
        fragment = visitor.get(page_link("/fit", id=long_day, at=call.seq, budget=budget))
        assert expected in fragment.words
        # Without a script the form leads to the page itself.
        assert expected in visitor.get(call_link(long_day, call.seq, budget=budget)).words
    assert "fault" in visitor.get(page_link("/fit", id=long_day, at=call.seq, budget=5)).text


def test_a_break_of_the_prefix_has_its_cause_and_cost(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    broken = record.account_at(1).breaks[0]
    words = visitor.get(call_link(long_day, broken.seq)).words
    assert "The prefix broke." in words and f"{broken.again:,} tokens were processed again" in words
    assert "Layer Sent Predicted Reported" in words


def test_calls_are_linked_one_to_the_next_and_the_newest_is_followed(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    middle = visitor.get(call_link(long_day, record.calls[10].seq))
    assert call_link(long_day, record.calls[9].seq) in middle.links
    assert call_link(long_day, record.calls[11].seq) in middle.links
    assert "following the newest call" not in middle.words
    newest = visitor.get(call_link(long_day))
    assert "following the newest call" in newest.words and f"Call {len(record.calls)} of" in newest.words


def test_an_event_between_two_calls_shows_what_a_call_would_get(visitor: PageVisitor, record: SessionRecord) -> None:
    between = record.calls[20].seq - 1
    words = visitor.get(call_link(record.id, between)).words
    assert f"Event {between}" in words and "The frame that a call would get here" in words


def test_an_issue_has_the_figures_and_none_of_the_words(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    page = visitor.get(call_link(long_day, record.calls[-1].seq))
    found = re.search(r'data-copy="([^"]*### hudkit[^"]*)"', page.text) or re.search(
        r"<pre>\s*(### .*?)</pre>", page.text, re.S
    )
    assert found is not None
    issue = found[1]
    assert "call 165 of 165" in issue and "orchid-1" in issue and "left out: " in issue
    for private in ("Orchard", "orchard/", "/home/", "greenhouse", "ses_"):
        assert private not in issue


@pytest.mark.parametrize(
    "path", ["/session?id=nothing", "/call?id=nothing&at=1", "/call?id={key}&at=99999999", "/call?id={key}&at=x"]
)
def test_an_address_that_names_nothing_is_answered_with_what_is_wrong(
    visitor: PageVisitor, long_day: str, path: str
) -> None:
    answer = visitor.get(path.format(key=long_day))
    assert answer.status == 404 and "All sessions" in answer.words


def test_two_calls_are_compared_by_line_and_by_word(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    first, second = record.calls[76].seq, record.calls[161].seq
    lines = visitor.get(diff_link(long_day, first, second))
    assert "Call 77 and call 162" in lines.words and "unchanged lines" not in record.frame_at(first).text
    assert 'class="add"' in lines.text and 'class="cut"' in lines.text
    words = visitor.get(diff_link(long_day, first, second, by="word"))
    assert "<ins>" in words.text and "<del>" in words.text
    same = visitor.get(diff_link(long_day, first, first)).words
    assert "both frames are the same" in same
    # The form of a call's page names the other call by its number.
    assert "Call 1 and call 162" in visitor.get(f"{page_link('/diff', id=long_day, b=second)}&call=1").words
    assert visitor.get(f"{page_link('/diff', id=long_day, b=second)}&call=999").status == 404


def test_a_state_is_compared_whole(visitor: PageVisitor, record: SessionRecord, long_day: str) -> None:
    first, last = record.calls[0].seq, record.calls[-1].seq
    words = visitor.get(diff_link(long_day, first, last, what="state")).words
    files = [file.path for file in record.state_at(last).files.active]
    hidden = [path for path in files if path not in record.frame_at(last).text]
    assert hidden and all(path in words for path in hidden), "files that no frame had room for"


def test_a_receipt_says_what_went_what_stayed_and_how_it_comes_back(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    receipt = record.receipts()[0]
    words = visitor.get(compaction_link(long_day, 1)).words
    assert "Compaction 1" in words and "40,538 → 18,358 of 44,000" in words
    assert "55 messages dropped" in words and "Kept word for word (27)" in words
    session = long_day.partition("@")[0].rpartition("/")[2]
    for line in (
        f"hudkit memory messages {session}",
        f"hudkit compactions undo 1 --session {session}",
        f"hudkit memory message {session} msg_",
    ):
        assert line in words
    for text in receipt.held["constraints"]:
        assert text in words
    both = visitor.get(compaction_link(long_day)).words
    assert "22,180 (50 %)" in both and "21,602 (49 %)" in both
    assert "There is no compaction 9" in visitor.get(compaction_link(long_day, 9)).words


def test_a_search_finds_events_and_messages_and_leads_to_them(
    visitor: PageVisitor, record: SessionRecord, long_day: str
) -> None:
    page = visitor.get(page_link("/search", id=long_day, q="signature plan"))
    event = next(event for event in record.events() if event.type == "constraint.add")
    assert call_link(long_day, event.seq) in page.links
    assert "constraint.add" in page.words and "hudkit memory message" in page.words
    everywhere = visitor.get(page_link("/search", q="lantern"))
    assert "Long label names" in everywhere.words
    nothing = visitor.get(page_link("/search", id=long_day, q="xylophone"))
    assert "No event has these words" in nothing.words and "No message answers" in nothing.words


def test_what_an_event_says_is_never_markup() -> None:
    with Hud.in_memory() as hud:
        hud.session("s").append(
            p.SessionStart(title="<script>alert(1)</script>", host="<b>h</b>"),
            p.TaskSet("<img src=x onerror=alert(1)> [a](javascript:alert(1))"),
        )
        hud.session("s").frame(used_tokens=1_000, limit_tokens=200_000)
        inspected = InspectedLog(hud)
        for make, values in (
            (inspected.sessions_page, {}),
            (inspected.session_page, {"id": "s"}),
            (inspected.call_page, {"id": "s"}),
            (inspected.call_page, {"id": "s", "view": "sent"}),
            (inspected.search_page, {"id": "s", "q": "<img"}),
            (inspected.diff_page, {"id": "s", "a": "1", "b": "3", "by": "word"}),
        ):
            text, whole = make(values)
            assert whole
            assert not re.search(r"<script(?! src=\"/static/)|<img|<b>h</b>|javascript:(?!alert\(1\)\))", text)
            assert 'href="javascript' not in text


def test_what_was_heard_is_shown_with_its_sentence_and_the_command_that_reviews_it() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("ses 1")
        told = "Never touch legacy/, because it is frozen. Let's go with Redis."
        for time, text in ((1_795_000_000_000, told), (1_795_000_100_000, "Redis was shut down on Monday.")):
            session.ingest([{"id": f"m{time}", "role": "user", "time": time, "text": text}])

        def words() -> str:
            page = InspectedLog(hud).session_page({"id": "ses 1"})[0]
            return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())

        page = words()
        assert "Heard, not reviewed" in page and "hudkit review 'ses 1'" in page
        assert "c1 rule: Never touch legacy/ Never touch legacy/, because it is frozen. you," in page
        assert "d1 decision: Let's go with Redis may be over: Redis was shut down on Monday. the same words" in page
        session.call("constraints.confirm", {"id": "c1"}, origin=Origin.USER)
        session.call("decisions.remove", {"id": "d1"}, origin=Origin.USER)
        assert "Heard, not reviewed" not in words()


def test_a_session_without_calls_or_reports_can_be_looked_at() -> None:
    with Hud.in_memory() as hud:
        hud.session("quiet").append(p.NoteAdd("only this"))
        hud.session("mute").frame()
        inspected = InspectedLog(hud)
        assert "No call of this session is recorded yet" in inspected.session_page({"id": "quiet"})[0]
        assert "only this" in inspected.call_page({"id": "quiet"})[0]
        assert "not compacted" in inspected.compactions_page({"id": "quiet"})[0]
        assert "reported no usage" in inspected.session_page({"id": "mute"})[0]
        assert "Prefix cache" in inspected.call_page({"id": "mute"})[0]


def test_a_window_that_nobody_told_has_its_figures_and_says_so() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        for used in (20_000, 30_000):
            session.append(p.NoteAdd(f"at {used}"))
            session.frame(used_tokens=used)
        first = next(event.seq for event in session.events() if isinstance(event.payload, p.ContextSnapshot))
        for _ in range(2):  # at these fills the host compacted by itself: the window has about so many tokens
            session.append(p.ContextSnapshot(used_tokens=40_000), p.CompactAfter(trigger="auto"))
        session.frame(used_tokens=20_000)
        inspected = InspectedLog(hud)

        def words(make: Callable[[dict[str, str]], tuple[str, bool]], **values: str) -> str:
            return " ".join(re.sub(r"<[^>]*>", " ", make({"id": "s", **values})[0]).split())

        assert "50 % of 40k observed" in words(inspected.sessions_page)
        assert "10 % of 200k assumed" in words(inspected.call_page, at=str(first))
        assert "20,000 of 200,000 (assumed) tokens" in words(inspected.call_page, at=str(first))
        timeline = words(inspected.session_page)
        assert all(each in timeline for each in ("10 % of 200k assumed", "15 % of 200k assumed", "of 40k observed"))


def test_a_session_without_summaries_shows_the_budget_of_its_window(tmp_path: Path) -> None:
    async def work() -> str:
        window = Window(16_000, 2_000, None, "host")
        model = InProcessModel([ScriptedReply("word " * 800, usage=CallCost(0, 0, 6_000, 900))] * 2, window=window)
        options = LoopOptions(
            plugins=[("hud", hud_plugin(tmp_path / "hud.db"))], settings=LoopSettings(summaries=False)
        )
        loop = await AgentLoop.open(tmp_path, model, data=tmp_path / "data", options=options)
        for prompt in ("first", "second"):
            await loop.prompt(prompt)
        await loop.close()
        return loop.id

    id = asyncio.run(work())
    with Hud(open_log(tmp_path / "hud.db", read_only=True)) as hud:
        session = hud.session(id)
        key, rows = session.id, window_usage(session.state, hud.settings).budget
        assert rows[-1].part == "in all"
        served = ServedInspector(hud)
        try:
            visitor = PageVisitor(served)
            assert visitor.enter().status == 303
            for link in (session_link(key), call_link(key)):
                words = visitor.get(link).words
                assert "Budget of the window" in words
                for row in rows:
                    tokens = (
                        f"{row.part}: {row.tokens:,} {'' if row.exact else '~ '}{row.tokens:,} of {row.ceiling:,}"
                    )
                    assert tokens in words
        finally:
            served.close()


def test_a_session_with_summaries_has_no_budget_of_its_window(visitor: PageVisitor, long_day: str) -> None:
    assert "Budget of the window" not in visitor.get(session_link(long_day)).words

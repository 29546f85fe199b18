"""What a replay of the two recorded databases reports; counts checked by hand and by SQL in the databases."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from hudkit.cli.demo import ORCHARD_WINDOW
from hudkit.cli.replays import Options, Report, SessionReport, replay
from hudkit.cli.replays.report_text import WIDTH, TerminalStyle, frame_lines, report_lines
from hudkit.errors import BudgetError, ConfigError
from hudkit.tokens import count_tokens
from hudkit.transcripts import OpenCodeTranscript

pytestmark = pytest.mark.slow

OPENCODE = Path(__file__).parents[2] / "fixtures" / "opencode.db"


def main_day(report: Report) -> SessionReport:
    return report.sessions[0]


def test_every_session_and_every_call_of_the_day(orchard_report: Report) -> None:
    seen = [(one.turns, one.compactions, one.messages) for one in orchard_report.sessions]
    assert seen == [(165, 2, 189), (8, 0, 9), (15, 0, 18), (17, 0, 21), (11, 0, 13)]
    assert [bool(one.parent_id) for one in orchard_report.sessions] == [False, True, False, False, False]
    assert orchard_report.skipped == ()
    day = main_day(orchard_report)
    assert (day.window_tokens, day.window_source, day.model) == (44_000, "given", "orchid-1")
    assert day.user_turns == 20
    assert day.events["todo.sync"] == 16
    assert day.events["compact.before"] == day.events["compact.after"] == 2


def test_the_small_sessions(opencode_report: Report) -> None:
    seen = [(one.turns, one.compactions) for one in opencode_report.sessions]
    assert seen == [(10, 1), (6, 1), (2, 1), (1, 0)]
    for one in opencode_report.sessions:
        assert (one.window_tokens, one.window_source) == (200_000, "assumed")


def test_every_live_item_survives_every_compaction(orchard_report: Report, opencode_report: Report) -> None:
    for report in (orchard_report, opencode_report):
        for session in report.sessions:
            assert len(session.compacted) == session.compactions
            for one in session.compacted:
                assert one.lost == ()
                assert one.surviving == one.items > 0


def test_what_the_state_held_at_the_days_compactions(orchard_report: Report) -> None:
    first, second = main_day(orchard_report).compacted
    assert (first.trigger, first.after_turns, first.used_tokens) == ("auto", 76, 40_538)
    assert (second.trigger, second.after_turns, second.used_tokens) == ("auto", 133, 40_006)
    held = {one.kind: one for one in first.held}
    assert list(held) == ["task", "constraints", "decisions", "open todos", "notes", "edited files"]
    assert (len(held["constraints"].items), held["constraints"].surviving, held["constraints"].shown) == (7, 7, 7)
    assert held["open todos"].items[-1] == "Update README status"
    assert (len(held["open todos"].items), held["open todos"].shown) == (4, 4)
    assert (len(held["edited files"].items), held["edited files"].surviving) == (9, 9)
    assert held["edited files"].shown == 9
    assert [text[:17] for text in first.not_shown] == ["I decide to adjus"]
    files = next(one for one in second.held if one.kind == "edited files")
    assert len(files.items) == files.surviving == 17
    assert files.shown == 8, "the last edited ones; what was done before the compaction has the other room"
    assert "+9: files.list" in main_day(orchard_report).frames[second.after_turns].base


def test_a_compaction_without_a_call_after_it(opencode_report: Report) -> None:
    last = opencode_report.sessions[2].compacted[0]
    assert last.after_turns == 2
    assert all(one.shown is None and one.surviving == len(one.items) for one in last.held)


def test_frames_follow_the_band(orchard_report: Report) -> None:
    day = main_day(orchard_report)
    assert sum(band.calls for band in day.bands) == len(day.frames) == day.turns
    assert [band.band for band in day.bands] == ["unknown", "green", "yellow", "red"]
    for frame in day.frames:
        # 2 % of 44,000 tokens; in the red band the base has 60 % of that less the 40 for the tail
        assert frame.system_tokens <= (504 + 40 if frame.band == "red" else 880)
        assert frame.system_tokens == count_tokens(frame.system_text)
        layers = [frame.base, *frame.deltas, frame.tail]
        assert frame.tokens == count_tokens("\n".join(text for text in layers if text)) <= 880
    median = {band.band: band.system.median for band in day.bands}
    assert median["red"] <= 544 < max(median["yellow"], median["green"])
    unknown = [frame.turn for frame in day.frames if frame.band == "unknown"]
    assert unknown == [1, 77, 134], "before the first report, and after each compaction"


def test_epochs_add_up(orchard_report: Report) -> None:
    for session in orchard_report.sessions:
        assert session.epochs[0].reason == "session"
        assert sum(one.calls for one in session.epochs) == session.turns
        assert sum(one.deltas for one in session.epochs) == session.deltas
        compactions = [one.from_turn for one in session.epochs if one.reason == "compaction"]
        assert compactions == [one.after_turns + 1 for one in session.compacted]
        assert all(one.again > 0 for one in session.epochs if one.reason == "budget")


def test_the_anchored_hud_is_cheap_and_the_one_in_system_is_not(orchard_report: Report) -> None:
    for costs in orchard_report.costs:
        bare, system, anchored = costs.variants
        assert [one.variant for one in costs.variants] == ["no HUD", "in system", "anchored"]
        assert bare.times_dollars == 1
        assert 1 < anchored.times_dollars < 1.15
        assert system.times_dollars > 2
        assert anchored.hit_ratio > 2 * system.hit_ratio
        assert abs(anchored.hit_ratio - bare.hit_ratio) < 0.005
        for one in costs.variants:
            assert one.input_tokens == one.read + one.processed
            assert one.output_tokens == bare.output_tokens
            dollars = one.output_tokens * costs.output_price + one.read * costs.cached_price
            dollars += one.written * costs.write_price + (one.processed - one.written) * costs.input_price
            assert one.dollars == pytest.approx(dollars / 1e6)
    parts = [one.costs[0].variants[2].dollars for one in orchard_report.sessions]
    assert orchard_report.costs[0].variants[2].dollars == pytest.approx(sum(parts))


def test_requests_are_rebuilt_to_within_an_eighth(orchard_report: Report) -> None:
    for session in orchard_report.sessions:
        rebuilt = session.reconstruction
        assert rebuilt is not None and rebuilt.calls == session.turns
        assert abs(rebuilt.median_percent) < 7.5 and abs(rebuilt.worst_percent) < 12.5
        assert 7_000 < rebuilt.system_tokens < 8_500


def test_two_runs_are_equal(orchard_db: Path, orchard_report: Report) -> None:
    again = replay(OpenCodeTranscript.open(orchard_db), Options(window=ORCHARD_WINDOW, frames=True))
    assert again == orchard_report


def test_options(orchard_db: Path) -> None:
    transcript = OpenCodeTranscript.open(orchard_db)
    plenty = replay(transcript, Options(window=ORCHARD_WINDOW, budget=3_000), session="ses_e06196b1")
    reasons = [one.reason for one in main_day(plenty).epochs]
    assert reasons[0] == "session" and reasons.count("compaction") == 2
    assert set(reasons) == {"session", "compaction", "idle"}
    assert plenty.costs[0].variants[2].times_dollars < 1.05, "without rebases there is next to nothing to pay"
    assert main_day(plenty).frames == ()
    small = replay(transcript, Options(price_as="gpt-4o"), session="ses_e0618e85")
    assert [(one.cache, one.model) for one in small.costs] == [
        ("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5"),
    ]  # fmt: skip
    told: list[tuple[int, int, str]] = []
    replay(transcript, session="ses_e0618e85", progress=lambda *step: told.append(step))
    assert told[-1] == (8, 9, "Review tests for gaps (@general subagent)") and len(told) == 8


@pytest.mark.parametrize(
    ("options", "session", "error", "words"),
    [
        (Options(), "nobody", ConfigError, "no sessions match 'nobody'"),
        (Options(), "ses_e06", ConfigError, "4 sessions match"),
        (Options(price_as="abacus-1"), None, ConfigError, "abacus-1"),
        (Options(budget=5), None, BudgetError, "call 1 of session ses_"),
    ],
)
def test_what_cannot_be_done(options: Options, session: str | None, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        replay(OpenCodeTranscript.open(OPENCODE), options, session=session)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    copy = tmp_path / "opencode.db"
    shutil.copy(OPENCODE, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE part SET data = '{broken' WHERE id = (SELECT min(id) FROM part)")
    connection.close()
    report = replay(OpenCodeTranscript.open(copy))
    assert [one.table for one in report.skipped] == ["part"]
    assert sum(one.turns for one in report.sessions) == 19
    assert any("1 records could not be read" in line for line in report_lines(report, TerminalStyle()))


def test_words_fit_the_page_and_hold_no_escapes(orchard_report: Report, opencode_report: Report) -> None:
    for report in (orchard_report, opencode_report):
        lines = list(report_lines(report, TerminalStyle()))
        for session in report.sessions:
            assert any(session.id in line for line in lines)
            for frame in session.frames[::9]:
                lines += frame_lines(session, frame, TerminalStyle())
        assert max(map(len, lines)) <= WIDTH
        assert not any("\x1b" in line for line in lines)
    assert any("\x1b[1m" in line for line in report_lines(opencode_report, TerminalStyle(True)))

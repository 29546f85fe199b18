"""A transcript through the HUD, session by session, into a report."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.cli.replays.costs import summed, tariffs
from hudkit.cli.replays.report import SCHEMA, Report, SkippedRecord
from hudkit.cli.replays.session import Options, Progress, session_report
from hudkit.errors import ConfigError
from hudkit.hud import TokenCounter
from hudkit.tokens import shared_counter as exact_counter
from hudkit.transcripts import SessionRow, Transcript


def replay(
    transcript: Transcript,
    options: Options | None = None,
    *,
    session: str | None = None,
    counter: TokenCounter | None = None,
    progress: Progress | None = None,
) -> Report:
    """Replay every session, or the one whose id is or contains `session`. Two runs give equal reports.

    Raises `ConfigError` for an unknown session or model, `BudgetError` where a frame cannot fit, `TranscriptError`
    where the transcript cannot be read.
    """
    options = options or Options()
    counter = counter or exact_counter()
    priced = tariffs(options.price_as)
    rows = transcript.sessions()
    if session is not None:
        rows = (_pick(rows, session),)
    sessions = tuple(
        session_report(row, tuple(transcript.messages(row.id)), options, counter, priced, progress) for row in rows
    )
    skipped = tuple(SkippedRecord(record.table, record.id, record.reason) for record in transcript.skipped)
    return Report(SCHEMA, sessions, summed(report.costs for report in sessions), skipped)


def _pick(rows: Sequence[SessionRow], asked: str) -> SessionRow:
    exact = [row for row in rows if row.id == asked]
    alike = exact or [row for row in rows if asked in row.id]
    if len(alike) == 1:
        return alike[0]
    some = ", ".join(row.id for row in (alike or rows)[:8])
    raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r}", hint=f"Sessions: {some}")

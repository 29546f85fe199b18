"""What is recorded of compactions, and told to the agent: the start, the agent's own request, one that was undone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from hudkit.api import HudSession
from hudkit.config import Settings
from hudkit.context.compaction import cooldown
from hudkit.context.compaction.receipts import announcement, forecast_compaction
from hudkit.context.compaction.summaries import echoed_notes, summary_notes, summary_prompt
from hudkit.errors import HudkitError
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import CompactAfter, CompactBefore, CompactUndone
from hudkit.sections.state import HudState, encode_state
from hudkit.tokens import window_of

_LOG = logging.getLogger("hudkit.ingest")


def record_start(session: HudSession, trigger: str, used: int | None) -> None:
    """Record that a compaction is about to come. Raises a `StoreError`."""
    state = session.state
    taken = used if used is not None else state.window.used_tokens
    session.append(CompactBefore(trigger, taken, encode_state(state).decode()), origin=Origin.HOST)


def summary_request(session: HudSession, *, carries: bool = True) -> str:
    """Return the prompt of a compaction: it tells what the HUD will show after it, what it has no room for,
    and what is over.

    It `carries` the summary of the compaction before, where the host leaves that out of what it compacts.
    """
    return summary_prompt(*_survivors(session, session.state.compacted.summary if carries else ""))


def compaction_notes(session: HudSession, *, echoed: bool = False) -> str:
    """Return what a host adds to its own prompt of a compaction: the same as in `summary_request`, without the
    prompt; empty where nothing is recorded.

    `echoed`: the host shows it in the new window, too. Then it is without what the HUD will show there, and without
    what is over; the conversation has both.
    """
    shown, _, over, unshown = _survivors(session)
    if echoed:
        return echoed_notes(unshown).strip() if shown else ""
    return summary_notes(shown, over, unshown).strip()


class _Survivors(NamedTuple):
    """The parameters of `summary_prompt`."""

    shown: str = ""
    summary: str = ""
    over: Sequence[str] = ()
    unshown: Sequence[str] = ()


def _survivors(session: HudSession, summary: str = "") -> _Survivors:
    if not session.state.seq:
        return _Survivors(summary=summary)
    try:
        shown = session.frame_after_compaction().base
        return _Survivors(shown, summary, session.ended_texts(), session.unshown_texts())
    except HudkitError as error:  # a compaction without the HUD is better than none
        _LOG.warning("a compaction goes without the HUD: %s", error.code)
        return _Survivors(summary=summary)


def request_compaction(session: HudSession, used: int | None, settings: Settings) -> tuple[bool, str]:
    """Return whether a compaction that the agent asks for may start when its turn ends, and what the agent is told.

    Where it may, that it comes is recorded. Raises a `StoreError`.
    """
    state = session.state
    window = window_of(
        state.model,
        host=state.window.limit_tokens,
        user=settings.window,
        by_model=settings.windows,
    )
    used = used if used is not None else state.window.used_tokens
    reason = _refusal_reason(state, used, window.limit_tokens, settings)
    if reason or used is None:
        return False, f"Not compacted: {reason}."
    record_start(session, "agent", used)
    forecast = forecast_compaction(state, used, window.limit_tokens)
    return True, announcement(state, forecast, readable=session.has_transcript)


def _refusal_reason(state: HudState, used: int | None, limit: int, settings: Settings) -> str:
    """Return why a compaction is not started now; empty where it may."""
    if used is None:
        return "it is not known how much of the window is in use; it is after the next response"
    percent, min_percent = 100 * used / limit, settings.compaction.min_used_percent
    if percent < min_percent:
        share = f"{percent:.0f} % of {limit:,} tokens"
        return f"{share} are in use, and a compaction below {min_percent:g} % loses more than it gains"
    return cooldown.cooldown_refusal(state.compaction_history, used, limit, settings.compaction)


def undone_drafts(
    session: HudSession, anchors: Sequence[str], pending: Sequence[EventDraft]
) -> tuple[EventDraft, ...]:
    """Return drafts of the compactions that the host took back, newest first.

    One was taken back where its summary is not among the `anchors` of the transcript any more. Where `pending`, what
    is appended before, has a newer compaction, nothing can be told: the transcript need not have the older summaries.
    """
    standing = session.known_state.compacted.summary_anchors
    if not anchors or not standing or any(isinstance(draft.payload, CompactAfter) for draft in pending):
        return ()
    present = [
        index
        for index, compaction in enumerate(standing)
        if any(anchor.startswith(compaction.anchor) for anchor in anchors)
    ]
    gone = standing[present[-1] + 1 :] if present else standing
    payloads = []
    for compaction in reversed(gone):
        # The summary that counts again is the one from before it.
        before = session.state_at(compaction.seq - 1).compacted.summary
        payloads.append(CompactUndone(compaction.seq, before))
    return session.drafts(payloads, Origin.HOST, session.known_state.window.calls)

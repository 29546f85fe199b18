"""Compactions accounted for: what one will free, and receipts of what each dropped and kept. Pure.

Every figure by part is of one counter, the estimate of `hudkit.sections.model_calibration` with what was known of the
model when the compaction began; the host's own figures stand beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.context.compaction.cooldown import freed_percent
from hudkit.context.compaction.cost_model import SUMMARY_TOKENS
from hudkit.log.event import Event
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    CompactUndone,
    ContextSnapshot,
    EventUndo,
    MessagesRevert,
)
from hudkit.sections.model_calibration import (
    REQUEST_PARTS,
    MeasuredRequest,
    ModelCalibration,
    estimate_tokens,
    request_amounts,
)
from hudkit.sections.state import HudState, apply, undone_seqs
from hudkit.transcripts.prompt_window import compaction_marker, is_summary, window_at
from hudkit.transcripts.transcript import CompactionPart, Message, ToolPart

SUMMARY_TOKENS_PER_CHARACTER = next(prior for part, prior, *_ in REQUEST_PARTS if part == "words")
"""Tokens of a character of a summary: what is taken for one of a message's."""

HOST_TAIL_SHARE, HOST_TAIL_MIN, HOST_TAIL_MAX = 0.25, 2_000, 8_000
"""Tokens of the newest messages that OpenCode 1.18 leaves as they are: a quarter of the window, within two bounds.
(Our own loop and the hosts in our process keep less: `cut_point`.)"""

LiveItems = Mapping[str, tuple[str, ...]]
"""Texts of a section's live items, in order; only sections that have some."""

StateAt = Callable[[int], HudState]
"""Gives the state of a session as of an event."""

_replace = msgspec.structs.replace


# -- what must outlive a compaction ----------------------------------------------------------------------------


def live_items(state: HudState) -> LiveItems:
    """Return the live items of a state, by section, in the order of the document."""
    items = {
        "task": (state.task.description,) if state.task else (),
        "constraints": tuple(constraint.text for constraint in state.constraints),
        "preferences": tuple(preference.text for preference in state.preferences),
        "blockers": tuple(blocker.words for blocker in state.blockers),
        "steps": tuple(step.description for step in state.steps.open),
        "todos": tuple(todo.content for todo in state.todos.open),
        "decisions": tuple(decision.words for decision in state.decisions),
        "errors": tuple(error.message for error in state.errors.open),
        "notes": tuple(note.words for note in state.notes),
        "files": tuple(file.path for file in state.files.active if file.status == "editing"),
        "plans": tuple(plan.path for plan in state.progress.plans),
        "custom": tuple(section.name for section in state.custom),
    }
    return {name: texts for name, texts in items.items() if texts}


def _lost_items(before: LiveItems, after: LiveItems) -> tuple[tuple[str, str], ...]:
    """Return section and text of each item of `before` that `after` does not have. Contract 4: always empty."""
    items = ((name, text) for name, texts in before.items() for text in texts)
    return tuple((name, text) for name, text in items if text not in after.get(name, ()))


def count_items(items: LiveItems) -> str:
    """Return in words how many items there are of each kind: `the task, 2 constraints, 1 note`."""
    words = []
    for name, texts in items.items():
        kind = "custom section" if name == "custom" else name.removesuffix("s")
        plural = "" if len(texts) == 1 else "s"
        words.append("the task" if name == "task" else f"{len(texts)} {kind}{plural}")
    return ", ".join(words)


# -- receipts --------------------------------------------------------------------------------------------------


class RequestEstimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request by part, in estimated tokens: `system` and `tools` are the host's prompt and definitions (together in
    `system` where the host tells neither), `hud` the frame, `words` messages and calls, `outputs` by tool."""

    messages: int = 0
    system: int = 0
    tools: int = 0
    hud: int = 0
    words: int = 0
    outputs: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """Return the tokens of the whole request."""
        return self.system + self.tools + self.hud + self.words + sum(size for _, size in self.outputs)


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compaction, the `number`-th of its session, recorded by event `seq`, from `began` (0: not known) to `time`
    (Unix ms).

    `trigger`: `agent`, `manual` (a person), `auto`, `overflow`, or empty. `reported_before` and `reported_after` are
    the window in use as the host reported it, at the last response before and the first one after; `before` and
    `after` the calls that belong to them, by part (`None`: not told). `held` and `holds` are the HUD's live items;
    `closed` the files in view that nobody had touched since the compaction before. `summary` is in full; `by` and
    `why` as on the event. `undone` is the event by which the host took the compaction back (0: it stands).
    """

    number: int
    seq: int
    time: int = msgspec.field(name="at")
    began: int = 0
    trigger: str = ""
    limit: int | None = None
    model: str = ""
    reported_before: int | None = None
    reported_after: int | None = None
    before: RequestEstimate | None = None
    after: RequestEstimate | None = None
    held: LiveItems = {}
    holds: LiveItems = {}
    closed: tuple[str, ...] = ()
    summary: str = ""
    by: str = ""
    why: str = ""
    marker: str = ""
    message: str = ""
    tail: str = ""
    undone: int = 0

    @property
    def lasted(self) -> int | None:
        """Return the milliseconds that it took, `None` where its begin is not known."""
        return self.time - self.began if 0 < self.began <= self.time else None

    @property
    def freed(self) -> int | None:
        """Return the tokens that it freed: by the reports, where there are two, else by the estimates."""
        if self.reported_before is not None and self.reported_after is not None:
            return self.reported_before - self.reported_after
        if self.before is not None and self.after is not None:
            return self.before.total - self.after.total
        return None

    @property
    def estimated(self) -> bool:
        """Return whether `freed` is an estimate."""
        return self.reported_before is None or self.reported_after is None

    @property
    def freed_percent(self) -> float | None:
        """Return what it freed in per cent of the window, `None` where that is not known."""
        return freed_percent(self.freed, self.limit) if self.limit and self.freed is not None else None

    @property
    def summary_tokens(self) -> int:
        """Return the tokens of the summary, an estimate."""
        return round(len(self.summary) * SUMMARY_TOKENS_PER_CHARACTER)

    @property
    def lost(self) -> tuple[tuple[str, str], ...]:
        """Return the live items that did not survive: none, by contract 4."""
        return _lost_items(self.held, self.holds)

    @property
    def revived(self) -> tuple[tuple[str, str], ...]:
        """Return the items that came back with it: none, by contract 4."""
        return _lost_items(self.holds, self.held)

    def enough(self, min_freed_percent: float) -> bool | None:
        """Return whether it freed so much of the window at least; `None`: not known."""
        return None if self.freed_percent is None else self.freed_percent >= min_freed_percent


def read_receipts(events: Iterable[Event], state_at: StateAt) -> tuple[Receipt, ...]:
    """Return the receipts of a session's compactions, in order; `state_at` gives its state as of an event."""
    events = tuple(events)
    taken_back = _taken_back(events)
    receipts: list[Receipt] = []
    calibration = ModelCalibration()
    asked_by_agent = False
    for event in events:
        match event.payload:
            case CompactBefore(trigger="agent"):
                asked_by_agent = True
            case CompactAfter() as compaction:
                before = state_at(event.seq - 1)
                receipt, calibration = _begin(len(receipts) + 1, event, compaction, before, asked_by_agent)
                receipts.append(receipt)
                asked_by_agent = False
            case CompactUndone(seq=seq) if event.seq not in taken_back:
                receipts = [
                    _replace(receipt, undone=event.seq) if receipt.seq == seq else receipt for receipt in receipts
                ]
            case ContextSnapshot() as snapshot if receipts:
                receipts[-1] = _followed(receipts[-1], snapshot, event.timestamp, calibration)
    return tuple(_replace(receipt, undone=taken_back.get(receipt.seq, receipt.undone)) for receipt in receipts)


def _taken_back(events: Sequence[Event]) -> dict[int, int]:
    """Return the events that an undo or a revert which stands took back, each with the event that did so.

    A host that takes messages back takes the compaction among them back, too.
    """
    gone = undone_seqs(events)
    taken_back: dict[int, int] = {}
    for event in events:
        if event.seq in gone:
            continue
        match event.payload:
            case EventUndo(seq=seq):
                taken_back[seq] = event.seq
            case MessagesRevert(seqs=seqs):
                taken_back |= dict.fromkeys(seqs, event.seq)
    return taken_back


def _begin(
    number: int, event: Event, compaction: CompactAfter, before: HudState, by_agent: bool
) -> tuple[Receipt, ModelCalibration]:
    """A receipt with what is known when the compaction is, and the calibration that all its estimates are made with:
    with one that learned in between, before and after could not be compared."""
    after = apply(before, event)
    window, last_call = before.window, before.model_calibration.last
    model = (last_call.model if last_call else "") or window.model or before.session.model
    calibration = before.model_calibration.of(model)
    in_view = {file.path for file in after.files.active}
    receipt = Receipt(
        number=number,
        seq=event.seq,
        time=event.timestamp,
        began=compaction.began,
        trigger="agent" if by_agent and compaction.trigger in ("manual", "") else compaction.trigger,
        limit=window.limit_tokens,
        model=model,
        reported_before=window.used_tokens,
        before=_estimate_request(last_call, calibration) if last_call else None,
        held=live_items(before),
        holds=live_items(after),
        closed=tuple(file.path for file in before.files.active if file.path not in in_view),
        summary=compaction.summary,
        by=compaction.by,
        why=compaction.why,
        marker=compaction.marker,
        message=compaction.message,
        tail=compaction.tail,
    )
    return receipt, calibration


def _followed(receipt: Receipt, snapshot: ContextSnapshot, time: int, calibration: ModelCalibration) -> Receipt:
    """The receipt with what the first call after the compaction measured, and the first report after that."""
    changes: dict[str, Any] = {}
    call, parts, sent = snapshot.call, snapshot.parts, snapshot.sent
    if receipt.after is None and call is not None and parts is not None:
        first_call = MeasuredRequest(receipt.model, time, parts, sent.messages if sent else 0, call.tokens)
        changes["after"] = _estimate_request(first_call, calibration)
    if snapshot.late is not None:
        changes["reported_before"] = snapshot.late
    if receipt.reported_after is None and snapshot.used_tokens is not None:
        changes["reported_after"] = snapshot.used_tokens
    if receipt.limit is None and snapshot.limit_tokens:
        changes["limit"] = snapshot.limit_tokens
    return _replace(receipt, **changes) if changes else receipt


def _estimate_request(call: MeasuredRequest, calibration: ModelCalibration) -> RequestEstimate:
    """Return the estimate of a request by part, in tokens, with what was learned of its model."""
    names = (part[0] for part in REQUEST_PARTS)
    shares = dict(zip(names, estimate_tokens(calibration, request_amounts(call)).shares, strict=True))
    return RequestEstimate(
        messages=call.messages,
        system=round(shares["system"] + shares["untold"]),
        tools=round(shares["tools"]),
        hud=round(shares["hud"]),
        words=round(shares["words"] + shares["messages"]),
        outputs=_split_by_tool([(output.tool, output.size) for output in call.parts.outputs], shares["outputs"]),
    )


def _split_by_tool(sizes: Sequence[tuple[str, int]], tokens: float) -> tuple[tuple[str, int], ...]:
    whole = sum(size for _, size in sizes)
    return tuple((tool, round(tokens * size / whole)) for tool, size in sizes) if whole else ()


# -- what left the transcript ----------------------------------------------------------------------------------


class CoveredRange(msgspec.Struct, frozen=True):
    """What was in the window before a compaction: `dropped` left it, `remaining` stayed, both in order; `since`
    are the messages after it. An earlier compaction's summary is among what was dropped."""

    dropped: tuple[Message, ...] = ()
    remaining: tuple[Message, ...] = ()
    since: tuple[Message, ...] = ()

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        """Return how many outputs were dropped, by tool, most first."""
        counts: Counter[str] = Counter()
        for message in self.dropped:
            counts.update(part.tool for part in message.parts if isinstance(part, ToolPart) and part.done)
        return tuple(sorted(counts.items(), key=lambda count: (-count[1], count[0])))


def covered_range(receipt: Receipt, messages: Sequence[Message]) -> CoveredRange | None:
    """Return what the compaction of a receipt took from a transcript.

    `None` where the transcript does not have it (any more). Rules: `hudkit.transcripts.prompt_window`.
    """
    if not receipt.message:
        return None
    candidates = (n for n, message in enumerate(messages) if message.id == receipt.message and is_summary(message))
    summary = next(candidates, None)
    if summary is None:
        return None
    parent = messages[summary].parent_id
    asked = next((n for n in range(summary - 1, -1, -1) if messages[n].id == parent), None)
    marker = compaction_marker(messages[asked]) if asked is not None else None
    if asked is None or marker is None:
        return None
    before = _window_before(messages, asked)
    tail = _tail_start(marker, before, receipt.tail)
    return CoveredRange(before[:tail], before[tail:], tuple(messages[summary + 1 :]))


def _window_before(messages: Sequence[Message], asked: int) -> tuple[Message, ...]:
    """The window right before the marker at an index: what a message at its place would have been sent with."""
    probe = Message("\0probe", messages[asked].session_id, "assistant")
    return window_at((*messages[:asked], probe), probe.id)


def _tail_start(marker: CompactionPart, before: Sequence[Message], recorded: str) -> int:
    """Where the part that stayed begins: as the transcript says, else as the log does."""
    first = marker.tail_start_id or recorded
    if not first:
        return len(before)
    return next((n for n, message in enumerate(before) if message.id == first), len(before))


# -- what one will free ----------------------------------------------------------------------------------------


_FOUND_AGAIN = (
    '- found again by: memory({"operation": "messages"}) and memory({"operation": "search", "query": "WORDS"}); '
    'memory({"operation": "compactions"}) has the receipt'
)


class CompactionForecast(msgspec.Struct, frozen=True):
    """In tokens: `used` of `limit`, and `frees` of them (estimated; `None`: not known); the request by part."""

    used: int
    limit: int
    frees: int | None
    parts: RequestEstimate | None

    @property
    def percent(self) -> float:
        """Return the per cent of the window in use."""
        return 100 * self.used / self.limit


def forecast_compaction(state: HudState, used: int, limit: int) -> CompactionForecast:
    """Return what a compaction now would free of `used` tokens, in a window of `limit`."""
    last_call = state.model_calibration.last
    if last_call is None:
        return CompactionForecast(used, limit, None, None)
    parts = _estimate_request(last_call, state.model_calibration.of(last_call.model))
    messages = parts.words + sum(size for _, size in parts.outputs)
    room = max(HOST_TAIL_MIN, min(HOST_TAIL_MAX, int(limit * HOST_TAIL_SHARE)))
    rest = parts.system + parts.tools + parts.hud + SUMMARY_TOKENS + min(messages, room)
    return CompactionForecast(used, limit, max(0, used - rest), parts)


def announcement(state: HudState, forecast: CompactionForecast, *, readable: bool = True) -> str:
    """Return what the agent is told before its turn ends: in use, freed, stays, leaves, and how it is found again.

    `readable`: the messages of this session can be read by `memory`.
    """
    freed = "how many will be freed is not known"
    if forecast.frees is not None:
        freed = f"about {forecast.frees:,} will be freed (estimated)"
    amount = f"{forecast.percent:.0f} % of the window ({forecast.used:,} of {forecast.limit:,} tokens)"
    items = count_items(live_items(state)) or "what it holds"
    gone = "the older messages and outputs of tools"
    if forecast.parts is not None and forecast.parts.outputs:
        largest = sorted(forecast.parts.outputs, key=lambda output: -output[1])[:3]
        gone += f" (of {forecast.parts.messages} messages; most by {', '.join(tool for tool, _ in largest)})"
    return "\n".join(
        (
            "A compaction starts when this turn ends.",
            f"- in use: {amount}; {freed}",
            f"- stays: the HUD as it is ({items}), a summary that you write, and the newest messages",
            f"- leaves: {gone}",
            _FOUND_AGAIN if readable else "- what leaves cannot be read again here: note what you will need",
        )
    )

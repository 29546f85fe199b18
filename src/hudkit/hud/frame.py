"""A frame: one call's fitted document, made of a state and a call, with the events that it leaves in the log. Pure.

The rules are contract 2 (budget) and contract 3 (cache) of the design.

**Layers and epochs.** A provider caches the beginning of a request, up to the first byte that is not what it was. So
what was sent is never changed: an epoch begins with a *base*, the whole document, which stays frozen in the system
prompt; what changes after it goes out as *deltas*, each behind the message that was the last one at its first call,
and there it stays. Only the *tail*, behind everything, is new at every turn. An epoch ends, and a new base is
written, where that is cheaper or cannot be avoided: base, deltas and tail together exceed the budget; a compaction or
an undo has taken away what deltas were anchored to; the host took messages back, and the base or a delta that is
still there tells what they had recorded; another density or placement is asked for; carrying the deltas
on costs more than writing the base anew; or something has changed, and the request is written to the cache anew for
another reason (the cache is cold, the model is another one, old outputs are pruned).

**When a change is told.** What nobody could know yet is told with the next call, at once. What stands in the
transcript already (the answer to the agent's own call, the output of the command that failed) is told at the start of
the next turn, with the next block that goes out, or `MAX_WAIT` messages later: by then it lies behind, and the layers
are the place where the agent looks. What answers told goes out alone only where it is more than a tenth of all that
is live, and where the blocks would exceed the budget, it stays with the answers.

**A late start.** Where a session has gone on without a HUD, the first base stands behind the last message, as a delta
does: in the system prompt it would break the prefix of the whole conversation. The next epoch's base is in its place.

**What a reader knows.** A host can drop messages, and the deltas at their anchors with them. Each delta says from
where to where in the log it tells (`since`, `covers`). The next delta is the difference to the state up to which the
base and the deltas that are still there leave no gap.

**Example.** Call 1 writes base A of event 10. At call 2, in the middle of a turn, a note is new (event 12): it waits.
At call 3 a turn starts: delta 1.1 "+ note", anchored to the user's message m7, covers 12. Call 4 has nothing new:
base A and delta 1.1 again, byte for byte. The host then drops m7: the reader knows the state of event 10 only, so
call 5 tells of the note once more, as delta 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from hudkit.compose import Band, Density, Element, ElementCache, Node
from hudkit.compose.fitting.result import Omission
from hudkit.compose.fitting.sections import SectionFit, SectionMeasures, fit_sections
from hudkit.compose.formats.markdown import render
from hudkit.config import Settings
from hudkit.context.budget import (
    DIGEST_LOAD_SHARE,
    DIGEST_SHARE,
    LATE_START_TOKENS,
    PRESSED_RULES,
    TOKENS_PER_CHARACTER,
    base_share,
)
from hudkit.context.compaction.cooldown import ineffective_advice
from hudkit.context.compaction.pruning import PruneChoice, choose_pruning, prune_bounds, prune_candidates, stub_text
from hudkit.context.compaction.request_parts import parts_with_stubs
from hudkit.errors import BudgetError
from hudkit.hud.frame_request import (
    CallFacts,
    FrameRequest,
    TranscriptPosition,
    anchored_ids,
    resolve_facts,
    usage_trend,
)
from hudkit.hud.restored_items import RestoredItems, left_out_paths, restore_items
from hudkit.log.event import Event
from hudkit.log.payloads import (
    ContextSnapshot,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OmittedItem,
    OutputsPrune,
    Payload,
    PrunedOutput,
)
from hudkit.sections.call_history import NEW_WINDOW, EpochState
from hudkit.sections.document_builder import (
    DocumentBuilder,
    KnownRows,
    StaleItem,
    StateChanges,
    band_text,
    count_live,
    delta_document,
    diff_states,
    digest_parts,
    model_words,
    stale_items,
    tail_document,
    trend_text,
    usage_text,
)
from hudkit.sections.forms import PartMeasures
from hudkit.sections.section import ViewOptions
from hudkit.sections.state import HudState, preview_state
from hudkit.tokens.counting import TokenCounter
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS, is_small_model

RENDERER = "1"
"""Version of what is made of a state here and in the renderer; recorded with each call."""

OMITTED_CHARACTERS = 200
"""Characters of an omitted item that are recorded with its base."""

MAX_WAIT = 4
"""Messages after which a change is told that could wait: an agent may work for hours without a new turn."""

MIN_BUDGET_OF_MODEL = 300
"""Tokens of a budget from which on the tail names the model: that costs up to ten."""

MAX_MISSING_SHARE = 0.1
"""The share of what is live that answers in the transcript may tell alone: each block costs its tag, for good."""

MAX_REBASE_COST = 0.25
"""The share of what a pruning saves that a new base with it may cost."""

_MAX_NEW_ANCHORS = 50
"""Messages of one call that are recorded by their anchors: a call brings one or two, many only where a host was
without the HUD for a while."""

MEMO_ENTRIES = 8192
"""Elements whose tokens are remembered; beyond, the memory starts anew."""

REPLACES_BASE = "This takes the place of the HUD above.\n\n"
"""The beginning of a base where the one before stays in the window."""

ORDERED_ITEM_TOKENS = 2
"""Tokens by which the number of an ordered item can cost more than a bullet."""


class Delta(msgspec.Struct, frozen=True):
    """A block of changes that stays where it was first sent: after the message with this anchor.

    `form` says how a host puts it there: `tool` (at the end of a tool's output) or `user` (a part of a message).
    """

    id: str
    anchor: str
    text: str
    form: str = "user"


class PrunedStub(msgspec.Struct, frozen=True):
    """The line that stands where the output of a call was pruned."""

    call: str
    text: str


class Frame(msgspec.Struct, frozen=True):
    """What one call carries.

    `base` goes into the system prompt (empty where the base is the first of the deltas), each of `deltas` to its
    anchor, `tail` behind the last message; `text` is all of it in order. `tokens` counts `text`. `notice` is filled
    where the frame could not be recorded. `mark` is opaque: a host that could not use a frame in time names the last
    one that it used by it. `pruned` are all outputs that the call carries as one line; they are no part of `text`.
    """

    text: str
    tokens: int
    base: str
    deltas: tuple[Delta, ...]
    tail: str
    omitted: tuple[Omission, ...]
    density: Density
    band: Band
    budget: int
    epoch: int
    tag: str
    notice: str = ""
    mark: str = ""
    pruned: tuple[PrunedStub, ...] = ()


class MeasuredRenderer:
    """Writes elements as markdown and measures them on the bytes that are written, memoised by content.

    `measure` gives the tokens of an element as it is written. `bound` is the sum of its lines, each measured once.

    **The bound.** A line has hardly ever more tokens among other lines than alone: tokens end where lines end, but
    for a few that take in the break. So the sum of the lines is at least the tokens of the whole (where it is not,
    the frame is measured once more as a whole before it goes out). Lines are counted once and remembered: a list of
    60 items of which one has changed is measured by counting that one. Example: a list whose two lines have 7 and 9
    tokens has a bound of 16, and 15 or 16 tokens as a whole.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.render = render
        self.measure: ElementCache[int] = ElementCache(lambda element: counter.count(render(element)), MEMO_ENTRIES)
        self.bound: ElementCache[int] = ElementCache(self._sum_of_lines, MEMO_ENTRIES)
        self._within_line: ElementCache[int] = ElementCache(self._count_within_line, MEMO_ENTRIES)
        self.parts = PartMeasures(self.measure, self._within_line)
        self.sections = SectionMeasures(render, self.count, self.measure)

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.counter.count(text) if text else 0

    def _count_within_line(self, element: Element) -> int:
        """The tokens of a text behind another one in the same line."""
        return self.counter.count(f" {render(element).rstrip()}")

    def _sum_of_lines(self, element: Element) -> int:
        if element.tag != "section" or not any(map(_is_list, element.children)):
            return self.measure(element)
        without_lists = tuple([child for child in element.children if not _is_list(child)])
        total = self.measure(element.with_children(without_lists))
        for child in element.children:
            if isinstance(child, Element) and child.tag == "list":
                total += sum([self.measure(item) for item in child.children if isinstance(item, Element)])
                total += ORDERED_ITEM_TOKENS * len(child.children) if child.get("ordered") else 0
        return total


def _is_list(node: Node) -> bool:
    return not isinstance(node, str) and node.tag == "list"


# -- from a state and a call to a frame ------------------------------------------------------------------------


class ComposeContext(msgspec.Struct, frozen=True):
    """What composing needs beside the state and the call."""

    renderer: MeasuredRenderer
    board: DocumentBuilder
    settings: Settings
    state_at: Callable[[int], HudState]
    row_memo: KnownRows
    event_at: Callable[[int], Event | None]
    remark: str = ""
    """What is wrong with the log for as long as it is open; said at the start of each turn."""


class _FrameLayers(msgspec.Struct, frozen=True):
    """What a frame is made of, and what of it has to be recorded.

    `changed`: something has changed since the base, so that a new one would say more.
    """

    base: FrameBase
    deltas: tuple[FrameDelta, ...]
    tail: str
    record: tuple[Payload, ...] = ()
    dropped: tuple[Omission, ...] = ()
    count: int = 0  # of the epoch's deltas, shown or not
    changed: bool = False
    stale: tuple[int, ...] = ()  # events of the items that the tail calls stale


class BuiltFrame(msgspec.Struct, frozen=True):
    """A frame, and the events to be recorded before it is sent (none: the same call was recorded already)."""

    frame: Frame
    record: tuple[Payload, ...]


def build_frame(state: HudState, request: FrameRequest, context: ComposeContext) -> BuiltFrame:
    """Return the frame of one call, with what to record. Raises `BudgetError` where not even the smallest fits."""
    facts = resolve_facts(state, request, context.settings)
    built = _build(state, request, context, facts, additive=True)
    if built.frame.tokens <= built.frame.budget:
        return built
    # Parts that add up to more than their sum (a block that begins with a slash can): a new base, measured whole.
    return _build(state, request, context, facts, additive=False)


def _build(
    state: HudState, request: FrameRequest, context: ComposeContext, facts: CallFacts, *, additive: bool
) -> BuiltFrame:
    usage = facts.usage
    words = usage_text(
        usage.used_tokens,
        usage.limit_tokens,
        doubt=usage.source if usage.source in UNCERTAIN_WINDOWS else "",
        estimated=state.window.source == "estimated",
    )
    band_words = band_text(usage.band, facts.band_entered, compacts=usage.usable is not None)
    model = request.model or state.model
    begins = state.epoch.base is None or bool(state.epoch.over) or request.new_window
    is_named = begins or model != state.model or usage.band is not Band.GREEN
    named = model_words(model) if is_named and facts.budget >= MIN_BUDGET_OF_MODEL else ""
    tail = _tail(state, request, context, facts, words + named + band_words)
    layers = None
    if additive and request.placement != "system":
        alarm = _alarm(facts, band_words.removeprefix(", ") if request.tells_usage else words + band_words)
        layers = _continue_epoch(state, request, context, facts, tail, alarm)
    if layers is None:
        layers = _new_epoch(state, request, context, facts, tail, _reason(state, request, facts), additive)
    pruned = _prune(state, request, context, facts, _has_new_base(layers))
    if pruned is not None and layers.changed and _may_rebase(pruned, facts):
        layers = _new_epoch(state, request, context, facts, tail, "pruning", additive)
        pruned = _prune(state, request, context, facts, new_base=True) or pruned
    return _finish(state, request, context, facts, layers, pruned)


class _Tail(msgspec.Struct, frozen=True):
    """What the tail says beside what holds now: the window in use, and what is wrong with the HUD itself."""

    words: str = ""
    notice: str = ""
    stale: tuple[StaleItem, ...] = ()

    def render(self, renderer: MeasuredRenderer, digest: tuple[str, ...] = ()) -> str:
        return renderer.render(tail_document(self.words, self.notice, digest, self.stale)) if self.words else ""


def _tail(state: HudState, request: FrameRequest, context: ComposeContext, facts: CallFacts, words: str) -> _Tail:
    """Usage and what is ahead, only where a turn starts: within one, it would move at every call.

    What is wrong with the HUD itself is said with it; a loss that nobody was told of yet, at once.
    """
    if request.is_kept:
        return _Tail()
    in_system_prompt = request.placement == "system"
    loss_is_new = state.gaps.loss_seq > state.window.call_seq
    if not (request.position.turn_start or in_system_prompt or request.notice or loss_is_new):
        return _Tail()
    notice = "; ".join(filter(None, (request.notice, context.remark, state.gaps.words(state.window.call_seq))))
    if not in_system_prompt:  # there, every byte that moves costs all that is behind it
        trend = usage_trend(state, facts.usage, context.settings)
        words += trend_text(trend.pace, trend.calls_left, trend.band) if trend else ""
        words += ineffective_advice(state.compaction_history, context.settings.compaction)
    return _Tail(words, notice)


def _newly_stale(state: HudState, request: FrameRequest, context: ComposeContext) -> tuple[StaleItem, ...]:
    """The items that became stale since the base, and of which no tail has told."""
    base, window = state.epoch.base, state.window
    if base is None or request.notice or not request.position.turn_start:
        return ()
    stale = stale_items(state, context.settings.staleness)
    if not stale:
        return ()
    told_seqs = {item.seq for item in stale_items(context.state_at(base.covers), context.settings.staleness)}
    # A host that asks twice gets the same twice.
    call = window.call
    asks_again = call is not None and window.call_seq == state.seq and call.anchor == request.position.last
    told_seqs |= set(window.told_stale) - set(call.stale if call is not None and asks_again else ())
    return tuple([item for item in stale if item.seq not in told_seqs])


def _alarm(facts: CallFacts, words: str) -> str:
    """The line by which a change of band travels within a turn."""
    calm = facts.usage.band in (Band.UNKNOWN, Band.GREEN)
    return f"context now: {words}" if facts.band_entered and not calm else ""


def _untold_gaps(
    state: HudState, request: FrameRequest, base: FrameBase, deltas: tuple[FrameDelta, ...]
) -> tuple[str, ...]:
    """What is missing in the log, where no tail says so at each turn: once in an epoch, as what is told stays."""
    words = state.gaps.words(base.covers) if request.is_kept else ""
    line = f"the log: {words}"
    beginning = line.partition(" damaged")[0].partition(" (")[0]  # the rest may be shortened
    return (line,) if words and not any(beginning in delta.text for delta in deltas) else ()


def view_options(density: Density, settings: Settings, model: str = "") -> ViewOptions:
    """Return how the state is looked at in a frame of a density, for a model."""
    guided = is_guided(settings, model)
    return ViewOptions(density, settings.limits, settings.staleness, settings.compaction.idle_compactions, guided)


def is_guided(settings: Settings, model: str) -> bool:
    """Return whether a model gets what helps small ones to file things rightly (`budget.guide`)."""
    guide = settings.budget.guide
    return guide == "always" or (guide == "auto" and is_small_model(model, unknown=False))


# -- one more call of an epoch ---------------------------------------------------------------------------------


def _continue_epoch(
    state: HudState, request: FrameRequest, context: ComposeContext, facts: CallFacts, tail: _Tail, alarm: str
) -> _FrameLayers | None:
    """The layers of one more call of the epoch that is in force; `None` where a new one has to begin."""
    epoch, base = state.epoch, state.epoch.base
    if base is None or epoch.over or request.new_window or base.placement != request.placement:
        return None
    if _asks_other_density(state, request, base) or facts.rebase_pays or _has_lost_anchor(base, request.position):
        return None
    sent = epoch.deltas[: facts.unsent_after]
    ids = anchored_ids([(delta.id, delta.anchor) for delta in sent], request.position)
    deltas = tuple([delta for delta in sent if delta.id in ids])
    if _shows_reverted(epoch, (base, *deltas)):
        return None
    known_until = _known_until(base, sent, ids)
    tail = msgspec.structs.replace(tail, stale=_newly_stale(state, request, context))
    text = tail.render(context.renderer)
    tail_tokens = context.renderer.count(text)
    new, changed = None, any(delta.text for delta in deltas)
    used = base.tokens + sum([delta.tokens for delta in deltas])
    room = facts.budget - used - tail_tokens
    if not request.notice:  # what cannot be recorded is not told, and the past cannot be read
        news = _find_news(state, request, context, known_until, deltas)
        changed = changed or bool(news.missing)
        if changed and facts.cache_cold:
            return None
        restored = _restored(state, context, facts, base, deltas, tail_tokens)
        # At the start of a turn the tail has it, where there is one.
        tells_alarm = bool(alarm) and (request.is_kept or not request.position.turn_start)
        alarms = (*([alarm] if tells_alarm else []), *_untold_gaps(state, request, base, deltas))
        new = _new_delta(state, request, context, base, news, restored, alarms, len(sent) + 1, room)
    cost = used + (new.tokens if new else 0)
    if cost > facts.budget:
        return None
    dropped: tuple[Omission, ...] = ()
    if cost + tail_tokens > facts.budget:
        if not request.notice:
            return None
        text, dropped = "", (_without_tail(text, tail_tokens, facts.budget),)
    elif text and not request.notice:
        text = _with_digest(state, request, context, facts, tail, base, sent, facts.budget - cost)
    record: tuple[Payload, ...] = ()
    if facts.unsent_after is not None:
        record = (FrameUnsent(base.epoch, facts.unsent_after),)
    if new:
        deltas, record = (*deltas, new), (*record, new)
    stale = tuple([item.seq for item in tail.stale]) if text else ()
    return _FrameLayers(base, deltas, text, record, dropped, len(sent) + bool(new), changed, stale)


def _has_lost_anchor(base: FrameBase, position: TranscriptPosition) -> bool:
    """Whether the message that a base stands behind is gone, and the base with it."""
    if position.blocks is not None:
        return bool(base.anchor) and f"{base.epoch}.0" not in position.blocks
    return bool(base.anchor) and position.anchors is not None and base.anchor not in position.anchors


def _shows_reverted(epoch: EpochState, layers: Iterable[FrameBase | FrameDelta]) -> bool:
    """Whether layers that would be sent again may tell what messages recorded that the host took back since."""
    if not epoch.reverted_from:
        return False
    return any(epoch.reverted_from <= layer.covers < epoch.reverted_at for layer in layers)


class _News(msgspec.Struct, frozen=True):
    """What has changed since event `since`, up to which the layers tell.

    `missing` is all of it, `untold` what answers in the transcript do not tell either. `has_answers`: there are such
    answers. `waits`: it is noted already that something is to be told later; `is_due`: it has waited long, and it is
    more than a small share of what is live.
    """

    since: int
    missing: StateChanges
    untold: StateChanges
    has_answers: bool
    waits: bool
    is_due: bool


def _find_news(
    state: HudState, request: FrameRequest, context: ComposeContext, known_until: int, deltas: tuple[FrameDelta, ...]
) -> _News:
    before = context.state_at(known_until)
    noted = [context.event_at(seq) for delta in deltas for seq in delta.answered]
    answered = [event for event in (*noted, *request.answered) if event is not None and event.seq > known_until]
    missing = untold = diff_states(before, state, context.row_memo)
    if answered:
        untold = diff_states(before, state, context.row_memo, preview_state(answered, before))
    waiting = [delta for delta in deltas if not delta.text and delta.covers == delta.since == known_until]
    has_waited = request.position.turn_start
    if waiting and not has_waited:
        has_waited = request.position.messages_behind(waiting[0].anchor) >= MAX_WAIT
    is_due = has_waited and (bool(untold) or len(missing.lines) > MAX_MISSING_SHARE * count_live(state))
    return _News(known_until, missing, untold, bool(answered), bool(waiting), is_due)


def _restored(
    state: HudState,
    context: ComposeContext,
    facts: CallFacts,
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail_tokens: int,
) -> RestoredItems:
    """What the base left out and this call has room for."""
    left_out = left_out_paths(base, deltas)
    if not left_out:
        return RestoredItems()
    count = context.renderer.count
    share = int(base_share(facts.budget, tail_tokens) * facts.share_of_band)
    used = base.tokens + sum([delta.tokens for delta in deltas])
    if used >= share:
        return RestoredItems()
    options = view_options(facts.density, context.settings, facts.model)
    sections = context.board.items(state, options)
    return restore_items(left_out, sections, context.state_at(base.covers), state, share, used, count)


def _asks_other_density(state: HudState, request: FrameRequest, base: FrameBase) -> bool:
    """Whether a density is asked for that the base does not have, and not because it did not fit when last asked."""
    call = state.window.call
    last = call.density if call else None
    return request.density is not None and request.density != base.density and request.density != last


def _new_delta(
    state: HudState,
    request: FrameRequest,
    context: ComposeContext,
    base: FrameBase,
    news: _News,
    restored: RestoredItems,
    alarms: tuple[str, ...],
    number: int,
    room: int,
) -> FrameDelta | None:
    """The block of what is to be told now, of at most `room` tokens as far as it can wait; `None` for no block.

    A block without text notes what waits, or that the transcript tells what there is no room for.
    """
    tells = news.untold.pressing or news.is_due or bool(alarms)
    last_lines = alarms + restored.lines
    text, tokens = "", 0
    for changed_lines in (news.missing.lines, news.untold.lines) if tells else ((),):
        is_empty = not changed_lines and not last_lines
        text = "" if is_empty else context.renderer.render(delta_document(base.tag, changed_lines, last_lines))
        tokens = context.renderer.count(text)
        if tokens <= room:
            break
    waits = not tells and bool(news.missing)
    is_noted = news.waits and not request.answered
    if not text and (is_noted or not (waits or (tells and news.has_answers and news.missing))):
        return None
    return FrameDelta(
        id=f"{base.epoch}.{number}",
        epoch=base.epoch,
        anchor=request.position.last,
        form=request.position.form,
        text=text,
        tokens=tokens,
        covers=news.since if waits else state.seq,
        since=news.since,
        answered=tuple(event.seq for event in request.answered) if waits else (),
        restored=restored.paths,
    )


def _with_digest(
    state: HudState,
    request: FrameRequest,
    context: ComposeContext,
    facts: CallFacts,
    tail: _Tail,
    base: FrameBase,
    sent: tuple[FrameDelta, ...],
    room: int,
) -> str:
    """The tail with as much as it may have of what was told since the base and holds.

    The last blocks are left out, as they stand close by. But a small model takes a value of the base for the newest,
    so it gets all; and one of which nobody knows how large it is what took the place of something in the base.
    """
    usage, settings = facts.usage, context.settings.budget
    text = tail.render(context.renderer)
    if not request.position.turn_start:
        return text

    def parts(away: int, *, replacing: bool = False) -> Iterator[str]:
        earlier = tuple(delta for delta in sent if request.position.messages_behind(delta.anchor) >= away)
        ids = anchored_ids([(delta.id, delta.anchor) for delta in earlier], request.position)
        told_until = _known_until(base, earlier, ids)
        if told_until == base.covers:
            return iter(())
        return digest_parts(context.state_at(base.covers), context.state_at(told_until), state, replacing=replacing)

    by_model = settings.digest == "auto"
    is_small = by_model and is_small_model(facts.model, unknown=False)
    may_be_small = by_model and is_small_model(facts.model)
    most = far_most = settings.digest_tokens
    if settings.digest == "all" or is_small:
        bounded = [(most, parts(0))]
    else:
        far_most = min(far_most, int(facts.budget * DIGEST_SHARE))
        if usage.used_tokens is not None:
            far_most = min(far_most, int(usage.used_tokens * DIGEST_LOAD_SHARE))
        newest = [(most, parts(0, replacing=True))] if may_be_small else []
        bounded = [*newest, (far_most, parts(MAX_WAIT))]
    alone = context.renderer.count(text)
    digest: tuple[str, ...] = ()
    for tokens, texts in bounded:
        for part in texts:
            if part in digest:
                continue
            longer = tail.render(context.renderer, (*digest, part))
            if context.renderer.count(longer) > min(room, alone + tokens):
                break
            text, digest = longer, (*digest, part)
    return text


def _known_until(base: FrameBase, deltas: tuple[FrameDelta, ...], ids: tuple[str, ...]) -> int:
    """Up to which event a reader of the base and the shown deltas knows all; a delta that was told after a gap,
    from before it, closes it."""
    reach = before = base.covers
    for delta in deltas:
        since = before if delta.since < 0 else delta.since  # older logs do not tell: then from the one before
        if delta.id in ids and since <= reach:
            reach = max(reach, delta.covers)
        before = delta.covers
    return reach


# -- a new epoch -----------------------------------------------------------------------------------------------


def _new_epoch(
    state: HudState,
    request: FrameRequest,
    context: ComposeContext,
    facts: CallFacts,
    tail: _Tail,
    reason: str,
    additive: bool,
) -> _FrameLayers:
    """A base of the state as it is now, within its part of the budget, and no deltas."""
    budget, renderer = facts.budget, context.renderer
    in_system_prompt = request.placement == "system"
    tag = "" if in_system_prompt else request.tag
    tail_text = tail.render(renderer)
    tail_tokens = renderer.count(tail_text)
    share = base_share(budget, tail_tokens)
    if in_system_prompt:  # no deltas will follow, and the tail is part of the same text
        share = max(budget - tail_tokens, budget // 2)
    ceiling = max(share, budget - tail_tokens)
    rules = min(share, PRESSED_RULES)
    # A call that goes wrong costs more than a base that comes a few changes earlier.
    guided = share + (ceiling - share) // 2 if facts.share_of_band == 1 else 0
    share = int(share * facts.share_of_band)
    old = state.epoch.base
    at_end = not in_system_prompt and _stands_at_end(state, request, facts)
    lead = REPLACES_BASE if at_end and _stands_before(state, request) else ""
    share -= renderer.count(lead)
    fitted = _fit_base(state, context, facts, _BaseShares(share, ceiling, rules, guided), tag, additive)
    density, text = _density_of(fitted, request.density), lead + fitted.text
    if in_system_prompt and old is not None and _is_same_text(old, text) and not state.epoch.over:
        base = old
    else:
        base = FrameBase(
            epoch=max(state.epoch.number, state.epoch.last) + 1,
            tag=tag,
            text=text,
            tokens=renderer.count(text) if lead else fitted.tokens,
            density=density.value,
            placement=request.placement,
            budget=budget,
            covers=state.seq,
            reason=reason,
            omitted=tuple([_recorded(omission) for omission in fitted.omitted]),
            anchor=request.position.last if at_end else "",
            form=request.position.form if at_end else "",
        )
    dropped: tuple[Omission, ...] = ()
    if base.tokens + tail_tokens > budget:
        tail_text, dropped = "", (_without_tail(tail_text, tail_tokens, budget),)
    return _FrameLayers(base, (), tail_text, () if base is old else (base,), dropped)


def _has_new_base(layers: _FrameLayers) -> bool:
    return any(isinstance(payload, FrameBase) for payload in layers.record)


def _may_rebase(pruned: OutputsPrune, facts: CallFacts) -> bool:
    """Whether a new base costs little with a pruning, which writes all that stands behind the outputs anew: then the
    messages in front of them are written, too."""
    if facts.costs is None:
        return False
    front = facts.costs.load - facts.costs.fixed - pruned.freed - pruned.reprocessed
    cost = max(0.0, front) * (facts.policy.write_factor - facts.policy.read_factor)
    return cost <= MAX_REBASE_COST * pruned.saves


def _stands_before(state: HudState, request: FrameRequest) -> bool:
    """Whether the base before is still in the window, as the host keeps it, or some of its blocks may be."""
    base = state.epoch.base
    if not request.is_kept or base is None:
        return False
    begins = request.new_window or state.epoch.over not in ("", "damage")
    if request.old_blocks:
        return True
    if begins or _has_lost_anchor(base, request.position):
        return False
    # It was for the system prompt, and whoever asks now has none there.
    return bool(base.anchor) or request.placement != "conversation"


def _stands_at_end(state: HudState, request: FrameRequest, facts: CallFacts) -> bool:
    """Whether a new base stands behind the last message: in the system prompt it would change what was sent."""
    if request.placement == "conversation":
        return True
    if request.is_kept and state.epoch.base is not None:
        # The base in the system prompt stays, and the new one says that it takes its place.
        used = facts.usage.used_tokens
        over = state.epoch.over not in ("", "damage") or request.new_window
        return not over and used is not None and used >= LATE_START_TOKENS
    return not request.new_window and _starts_late(state, request.position, facts)


def _starts_late(state: HudState, position: TranscriptPosition, facts: CallFacts) -> bool:
    """Whether calls without a HUD have filled the provider's cache, or with one at their end that is gone."""
    epoch, used = state.epoch, facts.usage.used_tokens
    if epoch.over or used is None or used < LATE_START_TOKENS:
        return False
    if epoch.base is not None:
        return _has_lost_anchor(epoch.base, position)
    answers = [anchor for anchor in position.order[:-1] if anchor not in position.users]
    return not epoch.last and bool(answers)


def _is_same_text(base: FrameBase, text: str) -> bool:
    return base.placement == "system" and base.text == text


def _recorded(omission: Omission) -> OmittedItem:
    return OmittedItem(omission.path, omission.text[:OMITTED_CHARACTERS], omission.tokens, omission.reason)


class _BaseShares(NamedTuple):
    """Tokens that a base may have: `share` in all; where that is more, the counts and the blockers may use the
    `ceiling`, the rules what is left of `rules`, and a whole HUD with the guide beside it `guided`."""

    share: int
    ceiling: int
    rules: int
    guided: int


def _fit_base(
    state: HudState, context: ComposeContext, facts: CallFacts, shares: _BaseShares, tag: str, additive: bool
) -> SectionFit:
    """The document of a base: all of it where that fits, else what is worth most of it. Where not even the task fits
    into the ceiling, it may use the whole budget.

    The guide to the operations is there where it fits beside all of it: it takes the place of nothing but of half
    of what is left for changes.
    """
    share = shares.share
    renderer, board = context.renderer, context.board
    options = view_options(facts.density, context.settings, facts.model)
    if additive and facts.density is Density.FULL:
        without_guide = msgspec.structs.replace(options, guided=False)
        for each in (options, without_guide) if options.guided else (options,):
            room = max(share, shares.guided) if each.guided else share
            whole = board.whole(state, each, tag, room, renderer.bound)
            text = renderer.render(whole) if whole is not None else ""
            tokens = renderer.count(text)
            if whole is not None and tokens <= room:
                return SectionFit(whole, text, tokens, (), 1, 0, True)
    parts = board.parts(state, options, tag, renderer.parts)
    try:
        return fit_sections(parts, renderer.sections, share, shares.ceiling, shares.rules)
    except BudgetError:
        return fit_sections(parts, renderer.sections, facts.budget)


def _density_of(fitted: SectionFit, asked: Density | None) -> Density:
    """The density that a base has: as asked for, else by how it came out."""
    if asked is not None:
        return asked
    if fitted.is_full:
        return Density.FULL
    return Density.COMPACT if fitted.shown else Density.MINIMAL


def _reason(state: HudState, request: FrameRequest, facts: CallFacts) -> str:
    """Why a base is written; recorded with it."""
    base = state.epoch.base
    if base is None and state.epoch.over != "redaction":
        return "session"
    if request.new_window:
        return NEW_WINDOW
    if base is None or state.epoch.over:
        return state.epoch.over
    if base.placement != request.placement or request.placement == "system":
        return "placement"
    if _asks_other_density(state, request, base):
        return "density"
    if _has_lost_anchor(base, request.position):
        return "anchor"
    if facts.rebase_pays:
        return "idle" if facts.cache_cold else "pays"
    if _shows_reverted(state.epoch, (base, *state.epoch.deltas)):
        return "revert"
    return "idle" if facts.cache_cold else "budget"


def _without_tail(tail: str, tokens: int, budget: int) -> Omission:
    reason = f"costs {tokens} tokens, and base and deltas left less of {budget}"
    return Omission("/tail", tail.strip(), tokens, reason)


# -- what the call leaves in the log ---------------------------------------------------------------------------


def _finish(
    state: HudState,
    request: FrameRequest,
    context: ComposeContext,
    facts: CallFacts,
    layers: _FrameLayers,
    pruned: OutputsPrune | None,
) -> BuiltFrame:
    stubs = (*state.pruned_outputs.stubs, *(pruned.stubs if pruned else ()))
    frame = _assemble_frame(
        layers.base,
        layers.deltas,
        layers.tail,
        context.renderer,
        facts.budget,
        facts.usage.band,
        _frame_mark(layers.base, layers.count),
        layers.dropped,
        stubs,
    )
    snapshot = _snapshot(state, request, context, facts, layers, frame, stubs)
    if not layers.record and pruned is None and _is_recorded(state, request, snapshot):
        return BuiltFrame(frame, ())
    return BuiltFrame(frame, (*layers.record, *((pruned,) if pruned else ()), snapshot))


def _snapshot(
    state: HudState,
    request: FrameRequest,
    context: ComposeContext,
    facts: CallFacts,
    layers: _FrameLayers,
    frame: Frame,
    stubs: tuple[PrunedOutput, ...],
) -> ContextSnapshot:
    """The event that tells of the call: with it, the frame can be made again byte for byte."""
    position = request.position
    new = _new_anchors(state, position)
    last_ones = new or position.order[-1:]
    call = FrameArguments(
        budget=facts.budget,
        placement=request.placement,
        counter=context.renderer.counter.name,
        renderer=RENDERER,
        epoch=layers.base.epoch,
        density=request.density.value if request.density else None,
        shown=tuple([delta.id for delta in layers.deltas]),
        turn_start=request.position.turn_start,
        band=facts.usage.band.value,
        tail=layers.tail,
        stale=layers.stale,
        tokens=frame.tokens,
        anchor=position.last if position.anchors else "",
        new=new,
        answers=tuple([anchor for anchor in last_ones if anchor not in position.users]),
    )
    stub_sizes = {stub.call: len(stub.text) for stub in stubs}
    parts = request.parts
    if parts is not None and stub_sizes:
        parts = parts_with_stubs(parts, request.outputs, stub_sizes)
    return ContextSnapshot(
        used_tokens=request.used_tokens,
        limit_tokens=request.limit_tokens,
        model=request.model,
        source="reported" if request.used_tokens is not None else "",
        call=call,
        sent=request.sent_prefix(stub_sizes) if request.sent_prefix else None,
        parts=parts,
    )


def _new_anchors(state: HudState, position: TranscriptPosition) -> tuple[str, ...]:
    """The anchors behind the last message of the call before; where that is not in the transcript, none."""
    before = state.window.call.anchor if state.window.call else ""
    if not before or before not in (position.anchors or ()):
        return ()
    return position.order[position.order.index(before) + 1 :][-_MAX_NEW_ANCHORS:]


def _is_recorded(state: HudState, request: FrameRequest, snapshot: ContextSnapshot) -> bool:
    """Whether the log ends with the same call: a host that asks twice leaves one event."""
    window, sent = state.window, snapshot.sent
    assert snapshot.call is not None
    repeated = snapshot.call
    if window.call is not None:  # nothing is new in it
        repeated = msgspec.structs.replace(repeated, new=window.call.new, answers=window.call.answers)
    return (
        window.call == repeated
        and window.call_seq == state.seq
        and (sent is None or sent.shared_size in (None, sent.size))
        and request.used_tokens in (None, window.used_tokens)
        and request.limit_tokens in (None, window.limit_tokens)
    )


def _prune(
    state: HudState, request: FrameRequest, context: ComposeContext, facts: CallFacts, new_base: bool
) -> OutputsPrune | None:
    """What leaves the window with this call; `None` where nothing does. With a new base, nothing behind it can be
    read from the cache, so that pruning costs no more than where the cache is cold."""
    settings = context.settings.pruning
    # Of a window that nobody knows, nobody knows when it is half full.
    if not settings.enabled or request.notice or facts.costs is None or facts.usage.source in UNCERTAIN_WINDOWS:
        return None
    bounds = prune_bounds(
        facts.usage.limit_tokens, settings.protected_tokens, settings.min_freed_tokens, settings.min_used_percent
    )
    candidates = prune_candidates(
        request.outputs,
        state.pruned_outputs.calls,
        bounds,
        uses=state.file_uses.uses,
        tools=settings.tools,
        # The output of a call that failed is needed until its error is resolved.
        needed={error.by_call for error in state.errors.open},
    )
    if not candidates:
        return None
    costs = facts.costs._replace(cold=facts.cache_cold or new_base)
    choice = choose_pruning(candidates, costs, facts.policy, bounds)
    if choice is None:
        return None
    return _prune_event(state, request, choice, "idle" if facts.cache_cold else "base" if new_base else "pays")


def _prune_event(state: HudState, request: FrameRequest, choice: PruneChoice, reason: str) -> OutputsPrune:
    sizes = {output.call: output.size for output in request.outputs}
    stubs = []
    for number, output in enumerate(choice.outputs, state.pruned_outputs.count + 1):
        stubs.append(PrunedOutput(output.call, stub_text(f"p{number}", output.tool, sizes[output.call])))
    return OutputsPrune(
        tuple(stubs),
        reason,
        round(choice.freed),
        round(choice.again),
        round(choice.saves),
        per_thousand=round(1_000 * TOKENS_PER_CHARACTER),
    )


# -- recorded layers to a frame, at the call and ever after ----------------------------------------------------


def _assemble_frame(
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail: str,
    renderer: MeasuredRenderer,
    budget: int,
    band: Band,
    mark: str,
    dropped: tuple[Omission, ...] = (),
    stubs: tuple[PrunedOutput, ...] = (),
) -> Frame:
    """Return the frame of recorded layers; its tokens are counted once on the whole."""
    text = join_layers(base.text, *[delta.text for delta in deltas], tail)
    # A delta without a text only records up to where answers of tools have told everything.
    placed = [Delta(delta.id, delta.anchor, delta.text, delta.form) for delta in deltas if delta.text]
    if base.anchor:
        placed.insert(0, Delta(f"{base.epoch}.0", base.anchor, base.text, base.form))
    restored = {path for delta in deltas for path in delta.restored}
    left_out = [left for left in base.omitted if left.path not in restored]
    omitted = tuple([Omission(left.path, left.text, left.tokens, left.reason) for left in left_out])
    return Frame(
        text=text,
        tokens=renderer.count(text),
        base="" if base.anchor else base.text,
        deltas=tuple(placed),
        tail=tail,
        omitted=(*omitted, *dropped),
        density=Density(base.density),
        band=band,
        budget=budget,
        epoch=base.epoch,
        tag=base.tag,
        mark=mark,
        pruned=tuple([PrunedStub(stub.call, stub.text) for stub in stubs]),
    )


def _frame_mark(base: FrameBase, deltas: int) -> str:
    """Return how far a frame brings its reader: what a host names it by (`FrameRequest.last_mark`)."""
    return f"{base.epoch}.{deltas}"


def rebuild_frame(state: HudState, renderer: MeasuredRenderer) -> Frame | None:
    """Return the frame of the call that the state ends with, from what was recorded.

    `None` where it ends with none, or where some of it was redacted.
    """
    call, base = state.window.call, state.epoch.base
    if call is None or base is None or state.window.call_seq != state.seq or base.epoch != call.epoch:
        return None
    deltas = tuple(delta for delta in state.epoch.deltas if delta.id in call.shown)
    if len(deltas) != len(call.shown):  # one was redacted
        return None
    mark = _frame_mark(base, len(state.epoch.deltas))
    band, stubs = Band(call.band or "unknown"), state.pruned_outputs.stubs
    return _assemble_frame(base, deltas, call.tail, renderer, call.budget, band, mark, stubs=stubs)


def join_layers(*layers: str) -> str:
    """Join layers to one text and return it: each ends in a line break, with a blank line between."""
    return "\n".join([layer for layer in layers if layer])

"""What `hudkit show --cache` prints: hits of the provider's prefix cache, by layer, and what broke the prefix."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from hudkit.cli.place import sound
from hudkit.cli.replays.words import CACHES, REASONS, wrapped
from hudkit.compose import shorten, visible
from hudkit.context.caching import CacheAccount, LayerTotal, PrefixBreak, account_for_calls, layer_totals
from hudkit.errors import ConfigError, StoreDamaged
from hudkit.log import Event
from hudkit.log.event_log import EventLog
from hudkit.tokens import Prices, prices_of

LAYERS = {
    "base": "HUD, base",
    "deltas": "HUD, changes",
    "tail": "HUD, tail",
    "rest": "all else",
    "whole": "whole request",
}
"""The layers of a request, in words; `rest` is the host's tools, its own text and the transcript."""

WHO = {
    "user": "a message of the user",
    "assistant": "an answer of the model",
    "tool": "an answer with tool calls",
    "cleared": "a tool's output",
}
HOW = {
    "gone": "{who} is gone ({was:,} characters)",
    "changed": "{who} changed from {was:,} to {now:,} characters",
    "new": "{who} was put in front of others ({now:,} characters)",
}


def account_of(log: EventLog, name: str, upto: int | None = None) -> tuple[CacheAccount, StoreDamaged | None]:
    """The account of a session's sound events (up to one), and what ends them."""
    wrong: list[StoreDamaged] = []

    def events() -> Iterator[Event]:
        for event in sound(log, name):
            if isinstance(event, StoreDamaged):
                wrong.append(event)
            elif upto is not None and event.seq > upto:
                return
            else:
                yield event

    return account_for_calls(events(), _price), wrong[0] if wrong else None


def _price(model: str) -> Prices | None:
    try:
        return prices_of(model)
    except ConfigError:
        return None


# -- as JSON ---------------------------------------------------------------------------------------------------


def facts(name: str, found: CacheAccount) -> dict[str, object]:
    """One session's account as plain values."""
    return {"session": name, "cache": {**_summary(found), **_details(found)}}


def summary(name: str, found: CacheAccount) -> dict[str, object]:
    """The same without single calls and breaks."""
    return {"id": name, **_summary(found)}


def _summary(found: CacheAccount) -> dict[str, object]:
    return {
        "calls": len(found.calls),
        "reported_calls": len(found.reported),
        "compared_calls": len(found.compared),
        "layers": msgspec.to_builtins(layer_totals(found)) if found.calls else {},
        "breaks": len(found.breaks),
    }


def _details(found: CacheAccount) -> dict[str, object]:
    return {
        "model": found.model,
        "rules": found.policy.name,
        "rules_because": found.because,
        "ttl_ms": found.policy.ttl_ms,
        "tokens_per_character": found.per_character,
        "tokens_per_character_assumed": found.assumed_rate,
        "per_call": msgspec.to_builtins(found.calls),
        "prefix_breaks": msgspec.to_builtins(found.breaks),
    }


# -- as text ---------------------------------------------------------------------------------------------------


def lines(name: str, found: CacheAccount) -> Iterator[str]:
    """One session's account for people."""
    if not found.calls:
        yield f"{visible(name)}: no call of it is recorded"
        return
    yield f"{visible(name)}: {_many(len(found.calls), 'call')}, {_many(_bases(found), 'base')} written"
    model, minutes = visible(found.model) or "not known", found.policy.ttl_ms // 60_000
    yield from wrapped(
        f"model {model}; {CACHES[found.policy.name]} ({found.because}): a prefix lives {minutes} minutes"
    )
    yield ""
    if found.reported and not found.compared:
        yield from wrapped("The usage of too few calls was reported to compare anything.")
    else:
        yield from _table(layer_totals(found))
        yield ""
        yield from _notes(found)
    yield ""
    yield from _breaks(found)


def session_line(name: str, found: CacheAccount) -> str:
    """One session in one line."""
    if found.compared:
        whole = layer_totals(found)["whole"]
        hits = f"predicted {_percent(whole.predicted, whole)}, reported {_percent(whole.reported, whole)}"
    else:
        hits = "no usage reported" if found.calls and not found.reported else "nothing to compare"
    calls, broken = _many(len(found.calls), "call"), _many(len(found.breaks), "break")
    return f"{calls:>12}  {hits:<36}{broken:>11}  {visible(name)}"


def _bases(found: CacheAccount) -> int:
    return sum(bool(one.reason) for one in found.calls)


def _table(layers: dict[str, LayerTotal]) -> Iterator[str]:
    yield f"{'':<16}{'tokens sent':>14}{'predicted':>12}{'reported':>12}"
    for name, share in layers.items():
        predicted, reported = _percent(share.predicted, share), _percent(share.reported, share)
        yield f"{LAYERS[name]:<16}{share.tokens:>14,}{predicted:>12}{reported:>12}"


def _percent(part: int | None, share: LayerTotal) -> str:
    if part is None or not share.tokens:
        return "–"
    return f"{100 * part / share.tokens:.1f} %"


def _notes(found: CacheAccount) -> Iterator[str]:
    if not found.reported:
        yield from wrapped(
            "The host reported no usage for these calls: what the provider read is not known, nor what it could have "
            "read of all else. Predicted is what of the HUD the call before had sent."
        )
        return
    silent = len(found.calls) - len(found.reported)
    yield from wrapped(
        f"Of {_many(len(found.compared), 'call')}, read from the cache: predicted from the call before, and as the "
        "provider reported it; by layer, as far as the part that was read reaches."
        + (f" For {_many(silent, 'call')} no usage was reported." if silent else "")
    )
    if not any(one.read for one in found.reported):
        yield from wrapped(
            "Nothing was ever reported as read: the provider has no prefix cache for this model, or does not tell."
        )


def _breaks(found: CacheAccount) -> Iterator[str]:
    if not found.breaks:
        yield "No break of the prefix is known."
        return
    again = sum(one.again or 0 for one in found.breaks)
    priced = [one.usd for one in found.breaks if one.usd is not None]
    cost = f", {_usd(sum(priced))}" if priced else ""
    yield f"The prefix broke {_times(len(found.breaks))}: about {again:,} tokens were processed again{cost}"
    for one in found.breaks:
        yield ""
        yield f"  call {one.call}, {_time(one.time)}, event {one.seq}"
        yield from wrapped(_what(one), "    ")
        yield from wrapped(_cost(one), "    ")
        if one.outputs:
            yield from wrapped(_saved(one), "    ")


def _what(one: PrefixBreak) -> str:
    match one.what:
        case "model":
            return f"The model changed from {visible(one.before)} to {visible(one.after)}: another cache."
        case "idle":
            return f"{one.idle_ms / 60_000:.0f} minutes without a call: the cache was let go."
        case "base":
            return f"The base was written anew: {REASONS.get(one.reason, visible(one.reason) or 'not known')}. " + (
                _in_base(one)
            )
        case "message" | "pruned":
            who = WHO.get(one.role, "a message")
            words = HOW[one.how].format(who=who, was=one.was, now=one.now)
            at = f"at character {one.offset or 0:,} of the transcript: {visible(one.anchor)}"
            return f"{'Pruned: ' if one.what == 'pruned' else ''}{words[0].upper()}{words[1:]}, {at}."
    return (
        "Less was read than predicted, and nothing that hudkit sees had changed: the host's own text or tools, a "
        "message that kept its length, or the provider let go of its cache."
    )


def _in_base(one: PrefixBreak) -> str:
    if one.offset is None:
        return "Where it departs is not known."
    if not (one.before or one.after):
        return f"It departs at character {one.offset:,}; only the epoch's tag is new."
    heading = one.after.startswith("#")
    where = f", in {visible(one.section)}" if one.section and not heading else ""
    before, after = (f'"{shorten(visible(text), 60)}"' for text in (one.before, one.after))
    words = f"{before} became {after}" if one.before and one.after else ""
    words = words or (f"{after} is new" if one.after else f"{before} is gone")
    return f"It departs at character {one.offset:,}; what changed first{where}: {words}."


def _cost(one: PrefixBreak) -> str:
    front = f"About {one.offset_tokens:,} tokens stood in front of it. " if one.offset_tokens else ""
    if one.again is None:
        return f"{front}What was processed again is not known."
    if not one.again:
        return f"{front}Nothing that was sent before was processed again."
    price = f", {_usd(one.usd)}" if one.usd is not None else ""
    return f"{front}About {one.again:,} tokens were processed again{price}."


def _saved(one: PrefixBreak) -> str:
    worth = f": {_usd(one.saved_usd)} saved since" if one.saved_usd is not None else ""
    calls = _many(one.saved_calls, "later call")
    return f"{_many(one.outputs, 'output')} left the window, about {one.freed:,} tokens, not read by {calls}{worth}."


def _usd(amount: float) -> str:
    return f"${amount:.4f}" if amount < 0.1 else f"${amount:.2f}"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _time(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{at} ms"

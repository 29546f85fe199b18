"""What `hudkit show --cache` prints: hits of the provider's prefix cache, by layer, and what broke the prefix."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from hudkit.cli.common import sound
from hudkit.cli.replays.report_text import CACHES, REASONS, wrapped
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


def facts(name: str, account: CacheAccount) -> dict[str, object]:
    """One session's account as plain values."""
    return {"session": name, "cache": {**_summary(account), **_details(account)}}


def summary(name: str, account: CacheAccount) -> dict[str, object]:
    """The same without single calls and breaks."""
    return {"id": name, **_summary(account)}


def _summary(account: CacheAccount) -> dict[str, object]:
    return {
        "calls": len(account.calls),
        "reported_calls": len(account.reported),
        "compared_calls": len(account.compared),
        "layers": msgspec.to_builtins(layer_totals(account)) if account.calls else {},
        "breaks": len(account.breaks),
    }


def _details(account: CacheAccount) -> dict[str, object]:
    return {
        "model": account.model,
        "rules": account.policy.name,
        "rules_because": account.because,
        "ttl_ms": account.policy.ttl_ms,
        "tokens_per_character": account.per_character,
        "tokens_per_character_assumed": account.assumed_rate,
        "per_call": msgspec.to_builtins(account.calls),
        "prefix_breaks": msgspec.to_builtins(account.breaks),
    }


# -- as text ---------------------------------------------------------------------------------------------------


def lines(name: str, account: CacheAccount) -> Iterator[str]:
    """One session's account for people."""
    if not account.calls:
        yield f"{visible(name)}: no call of it is recorded"
        return
    yield f"{visible(name)}: {_many(len(account.calls), 'call')}, {_many(_bases(account), 'base')} written"
    model, minutes = visible(account.model) or "not known", account.policy.ttl_ms // 60_000
    yield from wrapped(
        f"model {model}; {CACHES[account.policy.name]} ({account.because}): a prefix lives {minutes} minutes"
    )
    yield ""
    if account.reported and not account.compared:
        yield from wrapped("The usage of too few calls was reported to compare anything.")
    else:
        yield from _table(layer_totals(account))
        yield ""
        yield from _notes(account)
    yield ""
    yield from _breaks(account)


def session_line(name: str, account: CacheAccount) -> str:
    """One session in one line."""
    if account.compared:
        whole = layer_totals(account)["whole"]
        hits = f"predicted {_percent(whole.predicted, whole)}, reported {_percent(whole.reported, whole)}"
    else:
        hits = "no usage reported" if account.calls and not account.reported else "nothing to compare"
    calls, broken = _many(len(account.calls), "call"), _many(len(account.breaks), "break")
    return f"{calls:>12}  {hits:<36}{broken:>11}  {visible(name)}"


def _bases(account: CacheAccount) -> int:
    return sum(bool(call.reason) for call in account.calls)


def _table(layers: dict[str, LayerTotal]) -> Iterator[str]:
    yield f"{'':<16}{'tokens sent':>14}{'predicted':>12}{'reported':>12}"
    for name, share in layers.items():
        predicted, reported = _percent(share.predicted, share), _percent(share.reported, share)
        yield f"{LAYERS[name]:<16}{share.tokens:>14,}{predicted:>12}{reported:>12}"


def _percent(part: int | None, share: LayerTotal) -> str:
    if part is None or not share.tokens:
        return "–"
    return f"{100 * part / share.tokens:.1f} %"


def _notes(account: CacheAccount) -> Iterator[str]:
    if not account.reported:
        yield from wrapped(
            "The host reported no usage for these calls: what the provider read is not known, nor what it could have "
            "read of all else. Predicted is what of the HUD the call before had sent."
        )
        return
    silent = len(account.calls) - len(account.reported)
    yield from wrapped(
        f"Of {_many(len(account.compared), 'call')}, read from the cache: predicted from the call before, and as the "
        "provider reported it; by layer, as far as the part that was read reaches."
        + (f" For {_many(silent, 'call')} no usage was reported." if silent else "")
    )
    if not any(call.read for call in account.reported):
        yield from wrapped(
            "Nothing was ever reported as read: the provider has no prefix cache for this model, or does not tell."
        )


def _breaks(account: CacheAccount) -> Iterator[str]:
    if not account.breaks:
        yield "No break of the prefix is known."
        return
    again = sum(break_.again or 0 for break_ in account.breaks)
    priced = [break_.usd for break_ in account.breaks if break_.usd is not None]
    cost = f", {_usd(sum(priced))}" if priced else ""
    yield f"The prefix broke {_times(len(account.breaks))}: about {again:,} tokens were processed again{cost}"
    for break_ in account.breaks:
        yield ""
        yield f"  call {break_.call}, {_time(break_.time)}, event {break_.seq}"
        yield from wrapped(_what(break_), "    ")
        yield from wrapped(_cost(break_), "    ")
        if break_.outputs:
            yield from wrapped(_saved(break_), "    ")


def _what(break_: PrefixBreak) -> str:
    match break_.what:
        case "model":
            return f"The model changed from {visible(break_.before)} to {visible(break_.after)}: another cache."
        case "idle":
            return f"{break_.idle_ms / 60_000:.0f} minutes without a call: the cache was let go."
        case "base":
            return (
                f"The base was written anew: {REASONS.get(break_.reason, visible(break_.reason) or 'not known')}. "
                + (_in_base(break_))
            )
        case "message" | "pruned":
            who = WHO.get(break_.role, "a message")
            words = HOW[break_.how].format(who=who, was=break_.was, now=break_.now)
            place = f"at character {break_.offset or 0:,} of the transcript: {visible(break_.anchor)}"
            return f"{'Pruned: ' if break_.what == 'pruned' else ''}{words[0].upper()}{words[1:]}, {place}."
    return (
        "Less was read than predicted, and nothing that hudkit sees had changed: the host's own text or tools, a "
        "message that kept its length, or the provider let go of its cache."
    )


def _in_base(break_: PrefixBreak) -> str:
    if break_.offset is None:
        return "Where it departs is not known."
    if not (break_.before or break_.after):
        return f"It departs at character {break_.offset:,}; only the epoch's tag is new."
    heading = break_.after.startswith("#")
    where = f", in {visible(break_.section)}" if break_.section and not heading else ""
    before, after = (f'"{shorten(visible(text), 60)}"' for text in (break_.before, break_.after))
    words = f"{before} became {after}" if break_.before and break_.after else ""
    words = words or (f"{after} is new" if break_.after else f"{before} is gone")
    return f"It departs at character {break_.offset:,}; what changed first{where}: {words}."


def _cost(break_: PrefixBreak) -> str:
    front = f"About {break_.offset_tokens:,} tokens stood in front of it. " if break_.offset_tokens else ""
    if break_.again is None:
        return f"{front}What was processed again is not known."
    if not break_.again:
        return f"{front}Nothing that was sent before was processed again."
    price = f", {_usd(break_.usd)}" if break_.usd is not None else ""
    return f"{front}About {break_.again:,} tokens were processed again{price}."


def _saved(break_: PrefixBreak) -> str:
    worth = f": {_usd(break_.saved_usd)} saved since" if break_.saved_usd is not None else ""
    outputs, calls = _many(break_.outputs, "output"), _many(break_.saved_calls, "later call")
    return f"{outputs} left the window, about {break_.freed:,} tokens, not read by {calls}{worth}."


def _usd(amount: float) -> str:
    return f"${amount:.4f}" if amount < 0.1 else f"${amount:.2f}"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _time(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"

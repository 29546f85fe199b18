"""`hudkit show --cache`: hits of the provider's prefix cache, by layer, and what broke the prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from hudkit.cli.common import SCHEMA, as_json, report_damage
from hudkit.cli.replays.report_text import wrapped
from hudkit.cli.styles import CACHE_STYLES, on_terminal, print_lines, print_table
from hudkit.compose import visible
from hudkit.context.caching import (
    CacheAccount,
    CostReceipt,
    LayerTotal,
    account_for_calls,
    hud_texts,
    layer_totals,
    receipt_of_account,
    receipt_of_trail,
)
from hudkit.context.caching.cache_text import (
    CACHE_RULES,
    break_cause,
    break_cost,
    count_text,
    dollar_text,
    pruning_savings,
    receipt_line,
)
from hudkit.hud.session_keys import host_id_of_key
from hudkit.hud.session_lookup import recorded_title, short_ids
from hudkit.log import Event
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import CompactAfter, EventGap
from hudkit.tokens import known_prices
from hudkit.transcripts.search.past_sessions import find_session_file


def print_cache(log: EventLog, names: Sequence[str], *, upto: int | None, short: bool, json: bool) -> int:
    """Print the account of one session, or in short of several; return the exit code.

    `upto` is the last event that counts.
    """
    accounts: list[tuple[str, CacheAccount, CostReceipt]] = []
    code = 0
    for name in names:
        account, damaged = _account_of(log, name, upto)
        accounts.append((name, account, _receipt_of(log, name, account, upto)))
        code = max(code, report_damage("show", damaged))
    if json and short:
        rows = [_cache_summary(*each) for each in accounts]
        print(as_json({"schema": SCHEMA, "sessions": rows}))
    elif json:
        print(as_json({"schema": SCHEMA, **_cache_facts(*accounts[0])}))
    else:
        _print_accounts(log, accounts, short=short)
    return code


def _print_accounts(log: EventLog, accounts: Sequence[tuple[str, CacheAccount, CostReceipt]], *, short: bool) -> None:
    if short and on_terminal():
        names = short_ids([name for name, *_ in accounts])
        rows = [
            (
                names[name],
                recorded_title(log, name),
                f"{len(account.calls):,}",
                _hits(account),
                f"{len(account.breaks):,}",
                _times_text(receipt),
            )
            for name, account, receipt in accounts
        ]
        print_table(("id", "title", "calls", "read from the cache", "breaks", "cost ×"), rows, 1, ("cyan",))
    elif short:
        print_lines(_cache_line(*account) for account in accounts)
    else:
        ((name, account, receipt),) = accounts
        print_lines(_cache_lines(name, account, receipt), CACHE_STYLES)


_LAYERS = {
    "base": "HUD, base",
    "deltas": "HUD, changes",
    "tail": "HUD, tail",
    "rest": "all else",
    "whole": "whole request",
}
"""The layers of a request, in words; `rest` is the host's tools, its own text and the transcript."""


def _account_of(log: EventLog, name: str, upto: int | None = None) -> tuple[CacheAccount, list[int]]:
    """The account of a session's sound events (up to one), and the numbers of the damaged ones."""
    damaged: list[int] = []

    def events() -> Iterator[Event]:
        for event in log.read(name, upto=upto, past_damage=True):
            if isinstance(event.payload, EventGap) and event.payload.damaged:
                damaged.append(event.seq)
            yield event

    return account_for_calls(events(), known_prices), damaged


def _receipt_of(log: EventLog, name: str, account: CacheAccount, upto: int | None) -> CostReceipt:
    """The receipt of a session: by its host's own transcript, where that says which texts of ours a call had."""
    host = name.partition("/")[0]
    file = find_session_file(host, host_id_of_key(name)) if upto is None else None
    if file is not None:
        from hudkit.transcripts.transcript_follower import TranscriptFollower  # few hosts' files have a trail

        trail = TranscriptFollower(host, file).read(trail=True).trail
        if trail:
            return receipt_of_trail(trail, hud_texts(log.read(name, past_damage=True)))
    events = log.read(name, upto=upto, past_damage=True)
    return receipt_of_account(account, sum(isinstance(event.payload, CompactAfter) for event in events))


def _times_text(receipt: CostReceipt) -> str:
    return "–" if receipt.times is None else f"{receipt.times:.2f}"


def _receipt_facts(receipt: CostReceipt) -> dict[str, object]:
    times = None if receipt.times is None else round(receipt.times, 4)
    return {**msgspec.to_builtins(receipt), "times": times}


def _cache_facts(name: str, account: CacheAccount, receipt: CostReceipt) -> dict[str, object]:
    """One session's account as plain values."""
    return {"session": name, "cache": {**_cache_totals(account, receipt), **_cache_details(account)}}


def _cache_summary(name: str, account: CacheAccount, receipt: CostReceipt) -> dict[str, object]:
    """The same without single calls and breaks."""
    return {"id": name, **_cache_totals(account, receipt)}


def _cache_totals(account: CacheAccount, receipt: CostReceipt) -> dict[str, object]:
    return {
        "receipt": _receipt_facts(receipt),
        "calls": len(account.calls),
        "reported_calls": len(account.reported),
        "compared_calls": len(account.compared),
        "layers": msgspec.to_builtins(layer_totals(account)) if account.calls else {},
        "breaks": len(account.breaks),
    }


def _cache_details(account: CacheAccount) -> dict[str, object]:
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


def _cache_lines(name: str, account: CacheAccount, receipt: CostReceipt) -> Iterator[str]:
    """One session's account for people."""
    if not account.calls:
        yield f"{visible(name)}: no call of it is recorded"
        return
    yield f"{visible(name)}: {count_text(len(account.calls), 'call')}, {count_text(_bases(account), 'base')} written"
    model, minutes = visible(account.model) or "not known", account.policy.ttl_ms // 60_000
    yield from wrapped(
        f"model {model}; {CACHE_RULES[account.policy.name]} ({account.because}): a prefix lives {minutes} minutes"
    )
    line = receipt_line(receipt)
    if line:
        yield line
    yield ""
    if account.reported and not account.compared:
        yield from wrapped("The usage of too few calls was reported to compare anything.")
    else:
        yield from _layer_table(layer_totals(account))
        yield ""
        yield from _notes(account)
    yield ""
    yield from _breaks(account)


def _cache_line(name: str, account: CacheAccount, receipt: CostReceipt) -> str:
    """One session in one line."""
    hits = _hits(account)
    calls, broken = count_text(len(account.calls), "call"), count_text(len(account.breaks), "break")
    times = "" if receipt.times is None else f"× {receipt.times:.2f}"
    return f"{calls:>12}  {hits:<36}{broken:>11}  {times:>7}  {visible(name)}"


def _hits(account: CacheAccount) -> str:
    """What of the requests the cache gave back, in words."""
    if account.compared:
        whole = layer_totals(account)["whole"]
        return f"predicted {_percent(whole.predicted, whole)}, reported {_percent(whole.reported, whole)}"
    return "no usage reported" if account.calls and not account.reported else "nothing to compare"


def _bases(account: CacheAccount) -> int:
    return sum(bool(call.reason) for call in account.calls)


def _layer_table(layers: dict[str, LayerTotal]) -> Iterator[str]:
    yield f"{'':<16}{'tokens sent':>14}{'predicted':>12}{'reported':>12}"
    for name, share in layers.items():
        predicted, reported = _percent(share.predicted, share), _percent(share.reported, share)
        yield f"{_LAYERS[name]:<16}{share.tokens:>14,}{predicted:>12}{reported:>12}"


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
        f"Of {count_text(len(account.compared), 'call')}, read from the cache: predicted from the call before, and "
        "as the provider reported it; by layer, as far as the part that was read reaches."
        + (f" For {count_text(silent, 'call')} no usage was reported." if silent else "")
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
    cost = f", {dollar_text(sum(priced))}" if priced else ""
    yield f"The prefix broke {_times(len(account.breaks))}: about {again:,} tokens were processed again{cost}"
    for break_ in account.breaks:
        yield ""
        yield f"  call {break_.call}, {_time(break_.time)}, event {break_.seq}"
        yield from wrapped(break_cause(break_), "    ")
        yield from wrapped(break_cost(break_), "    ")
        if break_.outputs:
            yield from wrapped(pruning_savings(break_), "    ")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _time(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"

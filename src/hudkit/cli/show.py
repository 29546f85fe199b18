"""`hudkit show`: what the HUD of a session knows, now or at any event, and the frames that were sent."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from hudkit.api import Hud, HudSession
from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, open_read_only, pick, report_damage
from hudkit.cli.replays.report_text import CACHES, REASONS, wrapped
from hudkit.compose import shorten, visible
from hudkit.context.caching import CacheAccount, LayerTotal, PrefixBreak, account_for_calls, layer_totals
from hudkit.errors import ConfigError
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.log import Event
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import EventGap
from hudkit.sections.state import HudState
from hudkit.tokens import Prices, prices_of
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS
from hudkit.tools.window_usage import window_facts

_DETAILS = """\
Everything that is known is shown as one document. With `--sent`: the frame of the last call, byte for byte as it was
sent, or what a call would have been sent at that event; what the agent learned from its own tools is in the
conversation, not in the frame. Damaged events are left out: the error stream names them, and the exit code is 1. A
loss of events that was found when the log was opened is named there, too.

With `--cache`: how much of each request the provider's cache could have served (predicted from the call before, by
that cache's rules) and how much the provider reported, by layer; then each break of the prefix, newest last: what
changed first, where, and what it cost. Together with `--sessions`, one line per session. The tokens of breaks and
layers are estimates.

With `--window`: what fills the window, part by part, how fast it fills, and how far off the estimates were; with bars
on a terminal, without them if the output is piped or `NO_COLOR` is set."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    parser.add_argument("--at", type=int, metavar="SEQ", help="as of this event (default: the last)")
    parser.add_argument("--sent", action="store_true", help="the frame of the last call, as it was sent")
    parser.add_argument("--state", action="store_true", help="print the whole state instead of the frame")
    parser.add_argument("--window", action="store_true", help="what fills the window, and how fast")
    parser.add_argument("--sessions", action="store_true", help="list the sessions of the log")
    parser.add_argument(
        "--cache", action="store_true", help="what the provider's prefix cache served, and what broke the prefix"
    )
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    with open_read_only(args.db, "show") as hud:
        if args.cache:
            return _cache(hud, args)
        if args.sessions:
            return _sessions({name: hud.log.last_seq(name) for name in hud.sessions()}, args.json)
        name = pick(hud.log, args.session)
        session = hud.session(name)
        _show(session, session.state.seq if args.at is None else args.at, args)
        gaps = session.state.gaps
        losses = list(filter(None, (finding.loss_of(name) for finding in hud.log.recorded_findings())))
        for loss in dict.fromkeys((gaps.loss, *losses) if gaps.loss else losses):
            complain("show", f"recorded events were lost: {loss}")
        behind = [gap.of for gap in session.damage_behind_saved_state(_CHECKED_EVENTS) if gap.of not in gaps.damaged]
        return report_damage("show", sorted((*gaps.damaged, *behind)), gaps.count + len(behind))


_CHECKED_EVENTS = 20_000
"""Events behind a saved state that are read for damage; `hudkit verify` reads them all."""


COMMAND = CliCommand(
    example="hudkit show ses_1 --at 42",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _show(session: HudSession, seq: int, args: argparse.Namespace) -> None:
    if args.window:
        _window(session, seq, args.json)
        return
    if args.state:
        _facts({"state": msgspec.to_builtins(session.state_at(seq))})
        return
    if args.json:
        frame, text = session.frame_at(seq), session.whole_frame(seq).text
        _facts({"session": session.id, "seq": seq, "text": text, "frame": msgspec.to_builtins(frame)})
        return
    frame = session.frame_at(seq) if args.sent else session.whole_frame(seq)
    print(frame.text, end="")
    for omission in frame.omitted:
        print(f"(left out: {omission.path}: {omission.reason})")
    line = f"{frame.tokens} of {frame.budget} tokens, {frame.density.value}"
    if args.sent:
        line += f", epoch {frame.epoch}, {len(frame.deltas)} deltas"
    print(f"\n-- {visible(session.id)}, event {seq}: {line}")


def _window(session: HudSession, seq: int, json: bool) -> None:

    state = session.state_at(seq)
    if json:
        _facts(_window_values(session, state))
    else:
        for line in _window_lines(session, state):
            print(line)


def _cache(hud: Hud, args: argparse.Namespace) -> int:
    """The account of one session, or of all in short."""
    names = hud.sessions() if args.sessions else (pick(hud.log, args.session),)
    accounts, code = [], 0
    for name in names:
        account, damaged = _account_of(hud.log, name, args.at)
        accounts.append((name, account))
        code = max(code, report_damage("show", damaged))
    if args.json and args.sessions:
        _facts({"sessions": [_cache_summary(name, account) for name, account in accounts]})
    elif args.json:
        _facts(_cache_facts(*accounts[0]))
    else:
        for name, account in accounts:
            for line in (_cache_line(name, account),) if args.sessions else _cache_lines(name, account):
                print(line)
    return code


def _facts(facts: Mapping[str, object]) -> None:
    print(as_json({"schema": SCHEMA, **facts}))


def _sessions(events: Mapping[str, int], json: bool) -> int:
    if json:
        _facts({"sessions": [{"id": name, "events": count} for name, count in events.items()]})
    else:
        for name, count in events.items():
            print(f"{count:>8} events  {visible(name)}")
    return 0


# -- hits of the provider's prefix cache, by layer, and what broke the prefix (`--cache`) -----------------------

_LAYERS = {
    "base": "HUD, base",
    "deltas": "HUD, changes",
    "tail": "HUD, tail",
    "rest": "all else",
    "whole": "whole request",
}
"""The layers of a request, in words; `rest` is the host's tools, its own text and the transcript."""

_WHO = {
    "user": "a message of the user",
    "assistant": "an answer of the model",
    "tool": "an answer with tool calls",
    "cleared": "a tool's output",
}
_HOW = {
    "gone": "{who} is gone ({was:,} characters)",
    "changed": "{who} changed from {was:,} to {now:,} characters",
    "new": "{who} was put in front of others ({now:,} characters)",
}


def _account_of(log: EventLog, name: str, upto: int | None = None) -> tuple[CacheAccount, list[int]]:
    """The account of a session's sound events (up to one), and the numbers of the damaged ones."""
    damaged: list[int] = []

    def events() -> Iterator[Event]:
        for event in log.read(name, upto=upto, past_damage=True):
            if isinstance(event.payload, EventGap) and event.payload.damaged:
                damaged.append(event.seq)
            yield event

    return account_for_calls(events(), _price), damaged


def _price(model: str) -> Prices | None:
    try:
        return prices_of(model)
    except ConfigError:
        return None


def _cache_facts(name: str, account: CacheAccount) -> dict[str, object]:
    """One session's account as plain values."""
    return {"session": name, "cache": {**_cache_totals(account), **_cache_details(account)}}


def _cache_summary(name: str, account: CacheAccount) -> dict[str, object]:
    """The same without single calls and breaks."""
    return {"id": name, **_cache_totals(account)}


def _cache_totals(account: CacheAccount) -> dict[str, object]:
    return {
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


def _cache_lines(name: str, account: CacheAccount) -> Iterator[str]:
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
        yield from _layer_table(layer_totals(account))
        yield ""
        yield from _notes(account)
    yield ""
    yield from _breaks(account)


def _cache_line(name: str, account: CacheAccount) -> str:
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
            who = _WHO.get(break_.role, "a message")
            words = _HOW[break_.how].format(who=who, was=break_.was, now=break_.now)
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


# -- what fills the window of a session (`--window`) ------------------------------------------------------------

_BAR_WIDTH = 40
"""Characters of the longest bar."""
_PART_WIDTH = 28
"""Characters of a part's name."""


def _window_values(session: HudSession, state: HudState) -> Mapping[str, object]:
    """The facts of `--json`."""
    return window_facts(session.id, window_usage(state, session.settings))


def _window_lines(session: HudSession, state: HudState) -> Iterator[str]:
    """The window as lines: what is in use, a bar for each part, and what else is known."""
    usage = window_usage(state, session.settings)
    yield from _window_head(session.id, usage)
    limit = usage.usage.limit_tokens
    used = sum(share.tokens for share in usage.shares)
    rows = [(share.part + ("" if share.exact else " ~"), share.tokens) for share in usage.shares]
    if rows:
        reserve = min(usage.reserve, max(0, limit - used))
        rows += [("kept free for an answer", reserve)] if reserve else []
        rows.append(("free", max(0, limit - reserve - used)))
        yield ""
    most = max((tokens for _, tokens in rows), default=0)
    for name, tokens in rows:
        bar = _window_bar(tokens, most)
        yield f"{visible(name)[:_PART_WIDTH]:<{_PART_WIDTH}} {tokens:>9,} {100 * tokens / limit:>5.1f} %{bar}"
    if rows:
        yield "\n~ estimated; the parts add up to what was reported, or to the estimate where that is unknown"


def _window_head(name: str, window: WindowUsage) -> Iterator[str]:
    usage = window.usage
    size = f"{usage.limit_tokens:,} tokens{f' ({usage.source})' if usage.source in UNCERTAIN_WINDOWS else ''}"
    if usage.used_tokens is None:
        yield f"{visible(name)}: usage is unknown until the next report; the window has {size}"
    else:
        share = f"{usage.percent or 0:.1f} % in use, {usage.used_tokens:,} of {size}"
        yield f"{visible(name)}: {share}, {usage.band.value}"
    if window.now is not None:
        doubt = f", ±{100 * window.doubt:.1f} %" if window.doubt is not None else ""
        yield f"request under way: about {window.now:,} tokens (estimated{doubt})"
    if window.trend is not None:
        more = "" if window.overflow is None else f"; {window.overflow} calls until there is no room"
        yield f"trend: {window.trend.pace}, {window.trend.rate:+,.0f} tokens a call{more}"
    if window.error is not None:
        model = f" {visible(window.model)}" if window.model else ""
        yield f"calibration: estimates for{model} were off by {100 * window.error:.1f} % ({window.reports} reports)"


def _window_bar(tokens: int, most: int) -> str:
    """A bar on a terminal; text that is piped or dumb has none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    if plain or not most:
        return ""
    return "  " + "█" * max(1 if tokens else 0, round(_BAR_WIDTH * tokens / most))

"""A session: its facts, three plots, and the timeline of its calls with what happened between them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from hudkit.compose import Band, visible
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.context.caching import CacheAccount, CallHits, PrefixBreak, layer_totals, weigh_calls
from hudkit.context.caching.cache_text import break_cause, epoch_reason
from hudkit.hud.window_usage import window_usage
from hudkit.inspector.call_layers import LAYER_NAMES, RequestLayers, layers_of_calls, output_tokens_by_tool
from hudkit.inspector.charts import CallMark, Series, line_plot, share_bar, stacked_plot
from hudkit.inspector.links import call_link, compaction_link, session_link
from hudkit.inspector.pages.page_shell import (
    band_label,
    command,
    facts,
    pager,
    reading_notice,
    render_page,
    section,
    step_links,
    window_budget,
    window_use,
)
from hudkit.inspector.session_list import SessionSummary
from hudkit.inspector.session_record import PART_EVENTS, RecordedCall, SessionRecord
from hudkit.log import Event
from hudkit.log.payloads import CompactAfter
from hudkit.tokens import known_prices
from hudkit.tools.receipt_text import TRIGGER_WORDS
from hudkit.tools.review import ReviewedItem, heard_items
from hudkit.web.elements import Child, e
from hudkit.web.page_text import clock, count_of, day_and_time, dollars, duration, excerpt

PAGE_CALLS = 100
"""Calls of one page of the timeline."""

_MAX_TOOLS = 10

_MAX_HEARD = 50
"""Items that were heard, of those that are shown."""


def session_page(
    record: SessionRecord,
    summary: SessionSummary,
    neighbours: tuple[str, str],
    number: int,
    live: str,
    *,
    whole: bool = True,
) -> str:
    """Return the page of a session. `neighbours` are the keys of those above and below it in the list, `number` the
    page of the timeline, 1 with the newest calls. While its log is not read as a `whole`, the page says so."""
    return render_page(
        excerpt(summary.title, 60),
        [("Sessions", "/")],
        e("div", e("h1", excerpt(summary.title, 140)), _neighbour_links(neighbours), class_="headline"),
        _facts(record, summary, whole=whole),
        _parts(record, summary, number) if whole else reading_notice(record.read_upto, record.last),
        live=live,
        session=record.id,
    )


def _neighbour_links(neighbours: tuple[str, str]) -> HtmlElement:
    above, below = (session_link(key) if key else "" for key in neighbours)
    return step_links(
        ("The session above (K)", above), ("The session below (J)", below), ("above", "below"), signs=("↑", "↓")
    )


def _facts(record: SessionRecord, summary: SessionSummary, *, whole: bool) -> HtmlElement:
    account = record.account_at(record.read_upto) if whole else None
    window = window_use(summary.used, summary.limit, summary.source, summary.band)
    compactions: Child = None
    if summary.compactions:
        compactions = e("a", count_of(summary.compactions, "compaction"), href=compaction_link(record.id))
    rows: list[tuple[str, Child]] = [
        ("Host", summary.host),
        ("Project", e("span", summary.project, title=summary.directory) if summary.project else None),
        ("Model", summary.model),
        ("Began", day_and_time(summary.started) if summary.started else None),
        ("Last active", day_and_time(summary.last)),
        ("Window in use", window),
        ("Calls", f"{summary.calls:,}"),
        ("Compactions", compactions),
        ("Read from the cache", _cached(account) if account is not None else None),
        ("Cost with the HUD", _cost_ratio(account) if account is not None else None),
        ("Session", e("code", summary.host_session)),
    ]
    return facts(rows)


def _cached(account: CacheAccount) -> str:
    if not account.compared:
        return ""
    whole = layer_totals(account)["whole"]
    return f"{100 * (whole.reported or 0) / max(1, whole.tokens):.1f} %"


def _cost_ratio(account: CacheAccount) -> Child:
    weights = weigh_calls(account)
    without = sum(weight.without_hud for weight in weights)
    if not without:
        return None
    ratio = sum(weight.with_hud for weight in weights) / without
    return e("span", f"{ratio:.2f} × without it", title="Requests without answers; without the HUD is an estimate")


def _parts(record: SessionRecord, summary: SessionSummary, number: int) -> list[Child]:
    state = record.state_at(record.read_upto)
    return [
        _plots(record) if record.calls else None,
        window_budget(window_usage(state, record.settings).budget),
        _heard(record, summary),
        _timeline(record, number),
    ]


# -- what was heard ----------------------------------------------------------------------------------------------


def _heard(record: SessionRecord, summary: SessionSummary) -> Child:
    """What was read from plain words and is not reviewed yet, and the command that does so; nothing where all is."""
    items = heard_items(record, record.state_at(record.read_upto))
    if not items or summary.recording:
        return None
    head = ("Item", "What", "Read in", "From")
    rows = [_heard_row(item) for item in items[:_MAX_HEARD]]
    table = e(
        "table",
        e("thead", e("tr", [e("th", name, scope="col") for name in head])),
        e("tbody", rows),
        class_="list heard",
    )
    more = f"{len(items) - _MAX_HEARD:,} more are not shown. " if len(items) > _MAX_HEARD else ""
    note = f"{more}Read from plain words: keep, change or drop it, for this session or for all, with"
    review = command(f"hudkit review {shlex.quote(visible(summary.host_session))}")
    return section("Heard, not reviewed", e("p", note, " ", review), table, id="heard")


def _heard_row(item: ReviewedItem) -> HtmlElement:
    doubt: Child = None
    if item.doubt:
        doubt = e("span", f"{'but' if item.suspended else 'may be over'}: {visible(item.doubt)}", class_="mark break")
    sentence = visible(item.sentence) if item.sentence != item.text else "the same words"
    return e(
        "tr",
        e("th", e("code", visible(item.id)), scope="row"),
        e("td", e("span", f"{item.kind}: ", class_="soft"), visible(item.text), doubt),
        e("td", sentence, class_=None if item.sentence != item.text else "soft", data_name="Read in"),
        e("td", f"{item.speaker}, ", day_and_time(item.time)),
    )


# -- plots -------------------------------------------------------------------------------------------------------


def _plots(record: SessionRecord) -> HtmlElement:
    account = record.account_at(record.read_upto)
    own = {hits.seq for hits in account.calls}
    calls = [call for call in record.calls if call.seq in own]
    if not calls:
        return e("p", "The calls of this session are another session's, which it was copied from.", class_="soft")
    layers = layers_of_calls(calls, account)
    note: Child = None
    if record.calls[0].seq not in own:
        note = e("p", f"The plots show the last {len(calls):,} calls.", class_="soft")
    return e(
        "div",
        note,
        _window_plot(record, calls, layers),
        e("div", _tool_plot(calls, account), _cost_plot(record, calls, account), class_="pair"),
        class_="plots",
    )


def _window_plot(
    record: SessionRecord, calls: Sequence[RecordedCall], layers: Sequence[RequestLayers]
) -> HtmlElement:
    series = [
        Series(words, f"layer-{name}", tuple(float(getattr(each, name)) for each in layers))
        for name, words in LAYER_NAMES.items()
    ]
    marks = [
        CallMark(call.number, _column_words(call, each), call_link(record.id, call.seq))
        for call, each in zip(calls, layers, strict=True)
    ]
    limit = next((call.snapshot.limit_tokens for call in reversed(calls) if call.snapshot.limit_tokens), None)
    compactions = [event.seq for event in record.compactions if event.seq > calls[0].seq]
    rules = [sum(call.seq < seq for call in calls) for seq in compactions]
    unit = "tokens by layer, call by call"
    if rules:
        unit += "; upright: a compaction"
    return stacked_plot("Window", unit, series, marks, limit=limit, rules=rules)


def _column_words(call: RecordedCall, layers: RequestLayers) -> str:
    parts = ", ".join(f"{words} {getattr(layers, name):,}" for name, words in LAYER_NAMES.items())
    return f"call {call.number:,}: {layers.total:,} tokens ({parts})"


def _tool_plot(calls: Sequence[RecordedCall], account: CacheAccount) -> HtmlElement:
    tools = output_tokens_by_tool(calls, account)
    rest = sum(tokens for _, tokens in tools[_MAX_TOOLS:])
    shown = tools[:_MAX_TOOLS] + ([(f"{len(tools) - _MAX_TOOLS} others", rest)] if rest else [])
    most = max((tokens for _, tokens in shown), default=1)
    rows = [
        e(
            "tr",
            e("th", tool, scope="row"),
            e("td", share_bar([(tool, "layer-outputs", tokens)], most), class_="fill"),
            e("td", f"{tokens:,}", class_="number"),
        )
        for tool, tokens in shown
    ]
    body: Child = (
        e("table", e("tbody", rows), class_="bars") if rows else e("p", "No tool was called.", class_="soft")
    )
    caption = e("figcaption", e("b", "Tools"), e("span", "tokens that each brought, estimated", class_="unit"))
    return e("figure", caption, body, class_="chart")


def _cost_plot(record: SessionRecord, calls: Sequence[RecordedCall], account: CacheAccount) -> HtmlElement:
    weights = weigh_calls(account)
    caption = e("figcaption", e("b", "Cost"), e("span", "with and without the HUD", class_="unit"))
    if not weights:
        words = "The host reported no usage, so that there is nothing to compare."
        return e("figure", caption, e("p", words, class_="soft"), class_="chart")
    prices = known_prices(account.model)
    rate = prices.input / 1_000_000 if prices is not None else 1.0
    with_hud, without = [0.0], [0.0]
    for weight in weights:
        with_hud.append(with_hud[-1] + weight.with_hud * rate)
        without.append(without[-1] + weight.without_hud * rate)
    numbers = {call.seq: call.number for call in calls}
    marks = []
    for weight, paid, else_paid in zip(weights, with_hud[1:], without[1:], strict=True):
        number = numbers.get(weight.seq, 0)
        words = f"up to call {number:,}: {_money(paid, priced=prices is not None)} with the HUD, "
        words += f"{_money(else_paid, priced=prices is not None)} without"
        marks.append(CallMark(number, words, call_link(record.id, weight.seq)))
    unit = "US dollars so far, list prices" if prices is not None else "tokens at the full input price, so far"
    series = [
        Series("with the HUD", "with", tuple(with_hud[1:])),
        Series("without, estimated", "without", tuple(without[1:])),
    ]
    return line_plot("Cost", f"{unit}; requests without answers", series, marks)


def _money(amount: float, *, priced: bool) -> str:
    return dollars(amount) if priced else f"{amount:,.0f} tokens"


# -- the timeline ------------------------------------------------------------------------------------------------


def _timeline(record: SessionRecord, number: int) -> HtmlElement:
    if not record.calls:
        note = "No call of this session is recorded yet."
        link = e("a", "What a call would be sent now", href=call_link(record.id, record.last))
        return section("Timeline", e("p", link), note=note)
    pages = -(-len(record.calls) // PAGE_CALLS)
    number = max(1, min(number, pages))
    end = len(record.calls) - (number - 1) * PAGE_CALLS
    shown = record.calls[max(0, end - PAGE_CALLS) : end]
    head = ("Call", "At", "Window in use", "HUD", "Read from the cache", "What happened")
    rows = list(_rows(record, shown))
    table = e(
        "table",
        e("thead", e("tr", [e("th", name, scope="col") for name in head])),
        e("tbody", rows),
        class_="list timeline",
    )
    note = "The newest call first. HUD: tokens of base, changes and tail."
    return section("Timeline", table, pager("/session", number, pages, id=record.id), id="timeline", note=note)


def _rows(record: SessionRecord, calls: Sequence[RecordedCall]) -> Iterator[HtmlElement]:
    """The rows of calls, newest first, with compactions between them."""
    hits: dict[int, CallHits] = {}
    breaks: dict[int, list[PrefixBreak]] = {}
    for part in sorted({max(0, call.seq - 1) // PART_EVENTS for call in calls}):
        account = record.account_at(part * PART_EVENTS + 1)
        hits |= {each.seq: each for each in account.calls}
        for prefix_break in account.breaks:
            breaks.setdefault(prefix_break.seq, []).append(prefix_break)
    last = calls[-1].seq if calls[-1].number < len(record.calls) else record.read_upto
    between = [(n, event) for n, event in enumerate(record.compactions, 1) if calls[0].seq < event.seq <= last]
    for place in range(len(calls) - 1, -1, -1):
        call = calls[place]
        while between and between[-1][1].seq > call.seq:
            yield _compaction_row(record, *between.pop())
        before = record.calls[call.number - 2] if call.number > 1 else None
        yield _call_row(record, call, before, hits.get(call.seq), breaks.get(call.seq, []))


def _call_row(
    record: SessionRecord,
    call: RecordedCall,
    before: RecordedCall | None,
    hits: CallHits | None,
    breaks: Sequence[PrefixBreak],
) -> HtmlElement:
    arguments = call.snapshot.call
    assert arguments is not None
    band = Band(arguments.band) if arguments.band else Band.UNKNOWN
    use: Child = band_label(band)
    if call.window.used_tokens is not None:
        window = record.window_of(call)
        use = window_use(call.window.used_tokens, window.limit_tokens, window.source, band)
    return e(
        "tr",
        e("th", e("a", f"{call.number:,}", href=call_link(record.id, call.seq)), scope="row"),
        e("td", _moment(call, before)),
        e("td", use),
        e("td", _hud(arguments.tokens, arguments.budget, hits), data_name="HUD"),
        e("td", _read(hits), class_="number", data_name="Cache"),
        e("td", _happened(call, hits, breaks), class_="happened"),
    )


def _moment(call: RecordedCall, before: RecordedCall | None) -> Child:
    pause = call.time - before.time if before is not None else 0
    if before is None or pause > 12 * 3_600_000:
        return day_and_time(call.time)
    words = f" after {duration(pause)}" if pause > 5 * 60_000 else None
    return [clock(call.time, seconds=True), e("small", words) if words else None]


def _hud(tokens: int, budget: int, hits: CallHits | None) -> HtmlElement:
    parts = [("all", "base", tokens)]
    if hits is not None:
        carried = hits.carried
        parts = [
            ("base", "base", carried.base),
            ("changes", "deltas", carried.deltas),
            ("tail", "tail", carried.tail),
        ]
    words = ", ".join(f"{name} {size:,}" for name, _, size in parts)
    return e("span", share_bar(parts, budget), f"{tokens:,}", title=f"{words}; budget {budget:,}", class_="use")


def _read(hits: CallHits | None) -> str:
    if hits is None or not hits.request or hits.read is None:
        return "–"
    return f"{100 * hits.read / hits.request:.0f} %"


def _happened(call: RecordedCall, hits: CallHits | None, breaks: Sequence[PrefixBreak]) -> Child:
    words: list[Child] = []
    if hits is not None and hits.reason and not any(each.what == "base" for each in breaks):
        words.append(e("span", f"new base: {epoch_reason(hits.reason)}", class_="mark"))
    for each in breaks:
        cost = f", {each.again:,} tokens again" if each.again else ""
        words.append(e("span", f"cache break{cost}: ", break_cause(each), class_="mark break"))
    arguments = call.snapshot.call
    if arguments is not None and arguments.turn_start:
        words.append(e("span", "turn starts", class_="mark quiet"))
    return words


def _compaction_row(record: SessionRecord, number: int, event: Event) -> HtmlElement:
    payload = event.payload
    trigger = payload.trigger if isinstance(payload, CompactAfter) else ""
    words = f"Compaction {number}, {TRIGGER_WORDS.get(trigger, trigger) or 'its cause is not told'}"
    link = e("a", words, href=compaction_link(record.id, number))
    return e(
        "tr", e("td"), e("td", clock(event.timestamp, seconds=True)), e("td", link, colspan=4), class_="compaction"
    )

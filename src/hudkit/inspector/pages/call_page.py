"""A call: what it carried, layer by layer, what was left out, what the cache gave, and the same at another budget."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.compose.fitting import Omission
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.context.caching import CallHits, LayerTokens, PrefixBreak
from hudkit.context.caching.cache_text import break_cause, break_cost, epoch_reason, pruning_savings
from hudkit.errors import BudgetError
from hudkit.hud.frame import Frame
from hudkit.hud.window_usage import window_usage
from hudkit.inspector.call_issue import issue_text
from hudkit.inspector.call_layers import LAYER_NAMES, RequestLayers, request_layers
from hudkit.inspector.charts import share_bar
from hudkit.inspector.links import call_link, diff_link, session_link
from hudkit.inspector.pages.page_shell import (
    band_label,
    facts,
    render_page,
    section,
    step_links,
    tabs,
    window_budget,
    window_use,
)
from hudkit.inspector.session_list import SessionSummary
from hudkit.inspector.session_record import RecordedCall, SessionRecord
from hudkit.sections.state import HudState
from hudkit.web.elements import Child, classes, e
from hudkit.web.page_text import count_of, day_and_time, excerpt
from hudkit.web.readable_markdown import readable_markdown

MIN_BUDGET, MAX_BUDGET = 40, 4_000
"""Tokens between which the slider moves."""


class CallView(msgspec.Struct, frozen=True):
    """What the address of a call's page says: the `budget` of the slider (0: the call's own), and whether texts are
    shown `sent`, byte for byte."""

    seq: int | None = None
    budget: int = 0
    sent: bool = False


def call_page(record: SessionRecord, summary: SessionSummary, view: CallView, live: str) -> str:
    """Return the page of a call, or of the event that the view names. Raises `ConfigError` beyond the last event."""
    seq = record.newest_seq if view.seq is None else view.seq
    call = record.call_at(seq)
    if call is not None and call.seq != seq:
        call = None  # an event between two calls
    state, frame = record.state_at(seq), record.frame_at(seq)
    title = f"Call {call.number:,}" if call is not None else f"Event {seq:,}"
    crumbs = [("Sessions", "/"), (excerpt(summary.title, 40), session_link(record.id))]
    hits = record.hits_of(call) if call is not None else None
    return render_page(
        f"{title}, {excerpt(summary.title, 40)}",
        crumbs,
        _headline(record, title, seq, call, view),
        _facts(record, state, call, frame, hits),
        e(
            "div",
            _frame(record, state, frame, call, hits, view),
            _fit(record, frame, view, seq),
            class_="frames",
        ),
        _left_out(frame),
        _request(record, call, hits) if call is not None else None,
        window_budget(window_usage(state, record.settings).budget),
        _cache(hits, record.breaks_of(call)) if call is not None else None,
        _compare(record, seq),
        _issue(record, state, frame, call, hits) if call is not None else None,
        live=live,
        session=record.id,
    )


def _headline(record: SessionRecord, title: str, seq: int, call: RecordedCall | None, view: CallView) -> HtmlElement:
    before = next((each for each in reversed(record.calls) if each.seq < seq), None)
    after = next((each for each in record.calls if each.seq > seq), None)
    follows = view.seq is None
    older = call_link(record.id, before.seq) if before is not None else ""
    newer = call_link(record.id, after.seq) if after is not None else ""
    newest = call_link(record.id)
    state = e("span", "following the newest call", class_="badge live") if follows else None
    link = None if follows else e("a", "Newest call", href=newest, class_="button", id="newest")
    count = e("span", f"of {len(record.calls):,}", class_="soft") if call is not None else None
    steps = step_links(("Call before ( [ )", older), ("Call after ( ] )", newer), ("call-before", "call-after"))
    return e("div", e("h1", title, " ", count), steps, state, link, class_="headline")


def _facts(
    record: SessionRecord, state: HudState, call: RecordedCall | None, frame: Frame, hits: CallHits | None
) -> HtmlElement:
    rows: list[tuple[str, Child]] = [("Event", f"{state.seq:,} of {record.last:,}"), ("At", day_and_time(state.time))]
    if call is not None:
        window = record.window_of(call)
        use = window_use(call.window.used_tokens, window.limit_tokens, window.source, frame.band)
        rows.append(("Window in use", use))
        rows.append(("Model", call.snapshot.model or state.model))
    else:
        rows.append(("Band", band_label(frame.band)))
    rows.append(("Frame", f"{frame.tokens:,} of {frame.budget:,} tokens, {frame.density.value}"))
    if hits is not None and hits.request:
        read = f", {100 * (hits.read or 0) / hits.request:.0f} % read from the cache"
        rows.append(("Request", f"{hits.request:,} tokens{read}"))
    return facts(rows)


# -- the frame, by layer -----------------------------------------------------------------------------------------


def _frame(
    record: SessionRecord,
    state: HudState,
    frame: Frame,
    call: RecordedCall | None,
    hits: CallHits | None,
    view: CallView,
) -> HtmlElement:
    title = "The frame" if call is not None else "The frame that a call would get here"
    views = [
        ("as text", call_link(record.id, view.seq, budget=view.budget), not view.sent),
        ("as sent", call_link(record.id, view.seq, budget=view.budget, view="sent"), view.sent),
    ]
    carried = hits.carried if hits is not None else LayerTokens(base=frame.tokens)
    layers = [("base", "base", carried.base), ("changes", "deltas", carried.deltas), ("tail", "tail", carried.tail)]
    used = sum(size for _, _, size in layers)
    key = [e("li", e("span", class_=f"key {style}"), name, e("b", f"{size:,}")) for name, style, size in layers]
    key.append(e("li", e("span", class_="key free"), "left", e("b", f"{max(0, frame.budget - used):,}")))
    base = state.epoch.base
    notes: list[Child] = []
    if frame.notice:
        notes.append(e("p", frame.notice, class_="notice"))
    if base is not None:
        notes.append(_layer("Base", f"epoch {frame.epoch}, because {epoch_reason(base.reason)}", frame.base, view))
    notes += [
        _layer(f"Change {delta.id}", f"behind message {delta.anchor or 'the last one'}", delta.text, view)
        for delta in frame.deltas
    ]
    notes.append(_layer("Tail", "behind everything, for this call only", frame.tail, view))
    return e(
        "section",
        e("header", e("h2", title), tabs("How texts are shown", views)),
        share_bar(layers, max(frame.budget, used)),
        e("ul", key, class_="legend"),
        e("p", _identity(hits), class_="soft"),
        notes,
        id="frame",
    )


def _identity(hits: CallHits | None) -> str:
    words = "In front of it stands the host's own prompt, the identity layer, which the log does not hold"
    if hits is not None and hits.request is not None:
        words += f"; with the messages it has {hits.carried.rest:,} tokens"
    return f"{words}."


def _layer(name: str, about: str, text: str, view: CallView) -> Child:
    if not text:
        return None
    shown: Child = e("pre", text) if view.sent else e("div", readable_markdown(text), class_="readable")
    head = e("summary", e("b", name), e("span", about, class_="soft"))
    return e(
        "details",
        head,
        shown,
        open=True,
        class_=classes("layer", name.split()[0].lower()),
        id=f"layer-{name.replace(' ', '-')}",
    )


# -- what was left out, and the slider ---------------------------------------------------------------------------


def _left_out(frame: Frame) -> HtmlElement:
    if not frame.omitted:
        return section("Left out", e("p", "Nothing: all that is known is in this frame."), id="left-out")
    note = f"{count_of(len(frame.omitted), 'text')}, with the reason"
    return section("Left out", _omissions(frame.omitted), id="left-out", note=note)


def _omissions(omitted: Sequence[Omission]) -> HtmlElement:
    names = {"Where": "", "What": "", "Tokens": "number", "Why": ""}
    head = e("tr", [e("th", name, scope="col", class_=style or None) for name, style in names.items()])
    rows = [
        e(
            "tr",
            e("th", _where(each.path), scope="row"),
            e("td", excerpt(each.text, 160), data_name="What"),
            e("td", f"{each.tokens:,}", class_="number", data_name="Tokens"),
            e("td", each.reason, data_name="Why", class_="soft"),
        )
        for each in omitted
    ]
    return e("table", e("thead", head), e("tbody", rows), class_="list omissions")


def _where(path: str) -> str:
    """A path such as `/decisions/d2/whole` as words: `decisions d2, in full`."""
    parts = path.strip("/").split("/")
    section_name, key = parts[0], "/".join(parts[1:])
    whole = key.endswith("whole")
    key = key.removesuffix("whole").rstrip("/")
    return " ".join(filter(None, (section_name, excerpt(key, 24)))) + (", in full" if whole else "")


def _fit(record: SessionRecord, frame: Frame, view: CallView, seq: int) -> HtmlElement:
    budget = view.budget or frame.budget
    number = e(
        "input",
        type="number",
        name="budget",
        id="budget",
        min=MIN_BUDGET,
        max=MAX_BUDGET,
        value=budget,
        required=True,
    )
    slider = e(
        "input",
        type="range",
        id="slider",
        min=MIN_BUDGET,
        max=MAX_BUDGET,
        step=10,
        value=budget,
        aria_label="Budget in tokens",
        class_="script",
    )
    form = e(
        "form",
        e("input", type="hidden", name="id", value=record.id),
        e("input", type="hidden", name="at", value=seq),
        e("input", type="hidden", name="view", value="sent") if view.sent else None,
        e("label", "Budget in tokens", number, for_="budget"),
        slider,
        e("button", "Fit", type="submit", class_="button"),
        action="/call#fit",
        method="get",
        class_="slider",
        data_fit="/fit",
    )
    note = "A base of the same state, composed now"
    return section(
        "At another budget", form, e("div", fit_result(record, seq, budget, view), id="fitted"), id="fit", note=note
    )


def fit_result(record: SessionRecord, seq: int, budget: int, view: CallView) -> HtmlElement:
    """Return what the state at an event comes to within a budget: tokens, text, and what is left out."""
    try:
        fitted = record.frame_within(budget, seq)
    except BudgetError as error:
        return e("div", e("p", error.message, class_="fault"), class_="fitted")
    left_out = count_of(len(fitted.omitted), "text")
    words = f"{fitted.tokens:,} of {budget:,} tokens, {fitted.density.value}, {left_out} left out"
    shown: Child = e("pre", fitted.text) if view.sent else e("div", readable_markdown(fitted.text), class_="readable")
    omitted: Child = None
    if fitted.omitted:
        omitted = e("details", e("summary", f"{left_out} left out"), _omissions(fitted.omitted), id="fit-left-out")
    return e(
        "div",
        share_bar([("in use", "base", fitted.tokens)], budget),
        e("p", words, class_="figures"),
        e("div", shown, class_="layer base"),
        omitted,
        class_="fitted",
    )


# -- the request and the cache -----------------------------------------------------------------------------------


def _request(record: SessionRecord, call: RecordedCall, hits: CallHits | None) -> HtmlElement:
    layers = request_layers(call, hits, record.account_at(call.seq))
    parts = [(words, f"layer-{name}", int(getattr(layers, name))) for name, words in LAYER_NAMES.items()]
    whole = max(layers.total, call.snapshot.limit_tokens or 0)
    key = [
        e("li", e("span", class_=f"key {style}"), words, e("b", f"{size:,}")) for words, style, size in parts if size
    ]
    tools: Child = None
    if call.snapshot.parts is not None and call.snapshot.parts.outputs:
        tools = _tools(record, call)
    note = _request_note(layers, call)
    return section(
        "The whole request", share_bar(parts, whole), e("ul", key, class_="legend"), tools, id="request", note=note
    )


def _request_note(layers: RequestLayers, call: RecordedCall) -> str:
    words = f"{layers.total:,} tokens" + ("" if layers.reported else ", estimated without the host's prompt")
    if call.snapshot.limit_tokens:
        words += f" of a window of {call.snapshot.limit_tokens:,}"
    return words


def _tools(record: SessionRecord, call: RecordedCall) -> HtmlElement:
    assert call.snapshot.parts is not None
    rate = record.account_at(call.seq).per_character
    outputs = sorted(call.snapshot.parts.outputs, key=lambda output: -output.size)
    most = max((output.size for output in outputs), default=1)
    rows = [
        e(
            "tr",
            e("th", output.tool, scope="row"),
            e("td", share_bar([(output.tool, "layer-outputs", output.size)], most), class_="fill"),
            e("td", f"{rate * output.size:,.0f}", class_="number"),
        )
        for output in outputs
    ]
    words = f"Outputs in the window, by tool ({len(outputs)})"
    return e("details", e("summary", words), e("table", e("tbody", rows), class_="bars"), id="request-tools")


def _cache(hits: CallHits | None, breaks: Sequence[PrefixBreak]) -> HtmlElement:
    if hits is None:
        words = "This call was copied from another session; its cache is told there."
        return section("Prefix cache", e("p", words, class_="soft"), id="cache")
    names = {"base": "HUD, base", "deltas": "HUD, changes", "tail": "HUD, tail", "rest": "all else"}
    rows = [
        _cache_row(
            words,
            getattr(hits.carried, name),
            getattr(hits.predicted_layers, name) if hits.predicted is not None else None,
            getattr(hits.read_layers, name) if hits.read_layers is not None else None,
        )
        for name, words in names.items()
    ]
    if hits.request is not None:
        rows.append(_cache_row("whole request", hits.request, hits.predicted, hits.read))
    head = e("tr", [e("th", name, scope="col") for name in ("Layer", "Sent", "Predicted", "Reported")])
    causes = [
        e(
            "li",
            e("p", e("b", "The prefix broke. "), break_cause(each)),
            e("p", break_cost(each), class_="soft"),
            e("p", pruning_savings(each), class_="soft") if each.outputs else None,
        )
        for each in breaks
    ]
    whole: Child = (
        e("ul", causes, class_="breaks") if causes else e("p", "No break of the prefix is known.", class_="soft")
    )
    note = "Tokens read from it: predicted from the call before, and as the provider reported"
    return section(
        "Prefix cache",
        e("table", e("thead", head), e("tbody", rows), class_="list small"),
        whole,
        id="cache",
        note=note,
    )


def _cache_row(name: str, sent: int, predicted: int | None, reported: int | None) -> HtmlElement:
    cells = [
        e("td", "–" if value is None else f"{value:,}", class_="number") for value in (sent, predicted, reported)
    ]
    return e("tr", e("th", name, scope="row"), cells)


# -- comparing, and telling others -------------------------------------------------------------------------------


def _compare(record: SessionRecord, seq: int) -> Child:
    before = next((each for each in reversed(record.calls) if each.seq < seq), None)
    if before is None:
        return None
    number = e("input", type="number", name="call", min=1, max=len(record.calls), value=before.number, required=True)
    what = e(
        "select",
        e("option", "frames", value="frame"),
        e("option", "states", value="state"),
        name="what",
        aria_label="What",
    )
    form = e(
        "form",
        e("input", type="hidden", name="id", value=record.id),
        e("input", type="hidden", name="b", value=seq),
        e("label", "Compare with call", number),
        what,
        e("button", "Compare", type="submit", class_="button"),
        action="/diff",
        method="get",
        class_="line wrap",
    )
    links = e(
        "p",
        e("a", "Frame beside the call before", href=diff_link(record.id, before.seq, seq), id="diff-frame"),
        " · ",
        e(
            "a",
            "State beside the call before",
            href=diff_link(record.id, before.seq, seq, what="state"),
            id="diff-state",
        ),
    )
    return section("What changed", links, form, id="compare")


def _issue(
    record: SessionRecord, state: HudState, frame: Frame, call: RecordedCall, hits: CallHits | None
) -> HtmlElement:
    text = issue_text(record, state, frame, call, hits)
    copy = e("button", "Copy as issue", type="button", class_="button copy script", data_copy=text)
    body = e("details", e("summary", "The text"), e("pre", text), id="issue-text")
    note = "The figures of this call without a word of what was said"
    return section("Tell others", copy, body, id="issue", note=note)

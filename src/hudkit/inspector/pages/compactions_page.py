"""The compactions of a session: what each dropped and kept, and the commands that bring it back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from hudkit.compose import visible
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.config import Settings
from hudkit.context.compaction.receipts import CoveredRange, Receipt, RequestEstimate, count_items
from hudkit.inspector.links import compaction_link, session_link
from hudkit.inspector.pages.page_shell import command, facts, memory_command, render_page, section, step_links
from hudkit.inspector.session_list import SessionSummary
from hudkit.inspector.session_record import SessionRecord
from hudkit.tools.receipt_text import TRIGGER_WORDS, freed_text, token_figures
from hudkit.tools.transcript_text import message_words
from hudkit.transcripts import Message, ToolPart
from hudkit.web.elements import Child, e
from hudkit.web.page_text import count_of, day_and_time, duration, excerpt
from hudkit.web.readable_markdown import readable_markdown

MAX_MESSAGES = 200
"""Messages of a compaction that are listed; the others are counted."""

_UNDONE_BY_HOST = ("", "opencode")
"""Hosts that can take a compaction back; older logs do not say which host it was: then it was OpenCode."""


def compactions_page(
    record: SessionRecord,
    summary: SessionSummary,
    settings: Settings,
    seen: dict[int, CoveredRange | None],
    number: int,
) -> str:
    """Return the page of one compaction, or of all where `number` is 0. `seen` tells by their numbers what they took
    from the transcript, as far as that can be read."""
    receipts = record.receipts()
    shown = [receipt for receipt in receipts if number in (0, receipt.number)]
    crumbs = [("Sessions", "/"), (excerpt(summary.title, 40), session_link(record.id))]
    title = f"Compaction {number}" if number else "Compactions"
    if not shown:
        words = "This session was not compacted." if not receipts else f"There is no compaction {number}."
        return render_page(title, crumbs, e("h1", title), e("p", words, class_="empty"), session=record.id)
    body = [_receipt(receipt, summary, seen.get(receipt.number), settings) for receipt in shown]
    head = e("div", e("h1", title), _steps(record, len(receipts), number), class_="headline")
    return render_page(f"{title}, {excerpt(summary.title, 40)}", crumbs, head, body, session=record.id)


def _steps(record: SessionRecord, count: int, number: int) -> Child:
    if not number or count < 2:
        return None
    before = compaction_link(record.id, number - 1) if number > 1 else ""
    after = compaction_link(record.id, number + 1) if number < count else ""
    return step_links(("Compaction before", before), ("Compaction after", after), ("call-before", "call-after"))


def _receipt(receipt: Receipt, summary: SessionSummary, seen: CoveredRange | None, settings: Settings) -> HtmlElement:
    lasted = duration(receipt.lasted) if receipt.lasted is not None else ""
    rows: list[tuple[str, Child]] = [
        ("At", day_and_time(receipt.time)),
        ("Begun", TRIGGER_WORDS.get(receipt.trigger, receipt.trigger)),
        ("Took", lasted),
        ("Window in use", token_figures(receipt).replace("->", "→")),
        ("Freed", freed_text(receipt, settings.compaction.min_freed_percent)),
        ("Taken back", f"by event {receipt.undone:,}" if receipt.undone else None),
    ]
    return e(
        "article",
        facts(rows),
        _ways_back(receipt, summary, seen),
        _parts(receipt),
        _kept_items(receipt),
        _messages(receipt, summary, seen),
        _summary(receipt),
        class_="receipt",
        id=f"compaction-{receipt.number}",
    )


def _ways_back(receipt: Receipt, summary: SessionSummary, seen: CoveredRange | None) -> HtmlElement:
    quoted_id = shlex.quote(visible(summary.host_session))
    rows: list[Child] = []
    if seen is not None:
        rows.append(memory_command(f"messages {quoted_id}", summary.recording))
        rows.append(memory_command(f"search WORDS --session {quoted_id}", summary.recording))
    is_undoable = seen is not None and not receipt.undone and summary.host in _UNDONE_BY_HOST
    if is_undoable and not summary.recording:
        rows.append(command(f"hudkit compactions undo {receipt.number} --session {quoted_id}"))
    if not rows:
        words = "The messages of this session cannot be read here; the HUD kept what is below."
        return section("To get it back", e("p", words, class_="soft"))
    note = "Read what was dropped, search it, or take the compaction back: the last says first what it will do"
    if summary.recording:
        note = (
            "Read what was dropped, or search it. With the HUD in the host, a command takes the compaction back, too"
        )
    return section("To get it back", e("div", rows, class_="ways"), note=note)


def _parts(receipt: Receipt) -> HtmlElement:
    if receipt.before is None or receipt.after is None:
        return section("By part", e("p", "The host did not tell what the window held.", class_="soft"))
    head = e("tr", [e("th", name, scope="col") for name in ("Part", "Before", "After", "Freed")])
    rows = [
        e(
            "tr",
            e("th", name, scope="row"),
            [e("td", f"{value:,}", class_="number") for value in (old, new, old - new)],
        )
        for name, old, new in _part_rows(receipt.before, receipt.after)
    ]
    table = e("table", e("thead", head), e("tbody", rows), class_="list small")
    note = f"Tokens, estimated; {receipt.before.messages:,} messages became {receipt.after.messages:,}"
    return section("By part", table, note=note)


def _part_rows(before: RequestEstimate, after: RequestEstimate) -> Iterator[tuple[str, int, int]]:
    for name, words in (("system", "system prompt"), ("tools", "tools"), ("hud", "HUD"), ("words", "messages")):
        old, new = getattr(before, name), getattr(after, name)
        if old or new:
            yield words, old, new
    old_outputs, new_outputs = dict(before.outputs), dict(after.outputs)
    for tool in old_outputs | new_outputs:
        yield f"output of {tool}", old_outputs.get(tool, 0), new_outputs.get(tool, 0)
    yield "all", before.total, after.total


def _kept_items(receipt: Receipt) -> HtmlElement:
    lost = set(receipt.lost)
    blocks = [
        e(
            "details",
            e("summary", f"{name} ({len(texts)})"),
            e("ul", [_item(text, lost=(name, text) in lost) for text in texts], class_="readable"),
            id=f"kept-{receipt.number}-{name}",
        )
        for name, texts in receipt.held.items()
        if texts
    ]
    if receipt.closed:
        files = e("ul", [e("li", e("code", path)) for path in receipt.closed], class_="readable")
        head = e("summary", f"files that left the view ({len(receipt.closed)})")
        blocks.append(e("details", head, files, id=f"closed-{receipt.number}"))
    words = count_items(receipt.held) or "nothing"
    note = f"{words}; all of it is live after, too" if not lost else f"{words}; {len(lost)} of it did not survive"
    return section("What the HUD kept", blocks, note=note)


def _item(text: str, *, lost: bool) -> HtmlElement:
    return e("li", e("b", "Lost: ") if lost else None, excerpt(text, 300))


def _messages(receipt: Receipt, summary: SessionSummary, seen: CoveredRange | None) -> HtmlElement:
    if seen is None:
        words = "The host's transcript does not tell which messages were dropped."
        return section("Messages", e("p", words, class_="soft"))
    outputs = ", ".join(f"{tool} {count}" for tool, count in seen.outputs)
    note = f"{count_of(len(seen.dropped), 'message')} dropped"
    note += f" (outputs: {outputs})" if outputs else ""
    return section(
        "Messages",
        _message_list("Dropped", seen.dropped, summary, f"dropped-{receipt.number}"),
        _message_list("Kept word for word", seen.remaining, summary, f"remaining-{receipt.number}"),
        note=note,
    )


def _message_list(title: str, messages: Sequence[Message], summary: SessionSummary, id: str) -> HtmlElement:
    rows = [_message(message, summary) for message in messages[:MAX_MESSAGES]]
    more = len(messages) - MAX_MESSAGES
    rest = e("p", f"and {more:,} more", class_="soft") if more > 0 else None
    body: Child = e("ul", rows, class_="hits") if rows else e("p", "None.", class_="soft")
    return e("details", e("summary", f"{title} ({len(messages):,})"), body, rest, id=id)


def _message(message: Message, summary: SessionSummary) -> HtmlElement:
    calls = ", ".join(part.tool for part in message.parts if isinstance(part, ToolPart))
    who = "summary" if message.summary else message.role
    quoted_session, quoted_id = (shlex.quote(visible(id)) for id in (summary.host_session, message.id))
    about = [e("span", who), day_and_time(message.created), e("span", f"calls {calls}") if calls else None]
    words = message_words(message)
    return e(
        "li",
        e("p", about, class_="about"),
        e("p", excerpt(words, 240)) if words else None,
        memory_command(f"message {quoted_session} {quoted_id}", summary.recording),
    )


def _summary(receipt: Receipt) -> HtmlElement:
    by = f"from the log, because the model's {visible(receipt.why)}" if receipt.by == "static" else "by the model"
    note = f"{by}, about {receipt.summary_tokens:,} tokens"
    text: Child = e("p", "–")
    if receipt.summary:
        text = e("div", readable_markdown(receipt.summary), class_="readable layer")
    return section("The summary that took its place", text, note=note)

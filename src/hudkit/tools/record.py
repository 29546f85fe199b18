"""Writing: what an operation decides on the state is appended whole, and nothing where it would change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.hud import SessionCore
from hudkit.log import Event, Origin, Payload
from hudkit.log.codec import encode_payload
from hudkit.sections.items import ItemList, SectionItem
from hudkit.sections.state import STATE_FIELDS, HudState, state_after
from hudkit.tools.answer_text import id_text, quote
from hudkit.tools.operation import OperationResult
from hudkit.tools.replaced_item import refuse_copy, refuse_request, same_item

_SECRET_NOTE = " What looked like a secret was replaced."


class RecordedChange(msgspec.Struct, frozen=True):
    """What became of a decision: `events` is empty where nothing had to change; `after` is `before` then."""

    events: tuple[Event, ...]
    before: HudState
    after: HudState
    payloads: tuple[Payload, ...]
    note: str = ""  # what the agent must be told beside

    def __bool__(self) -> bool:
        return bool(self.events)


def record(session: SessionCore, origin: Origin, decide: Callable[[HudState], Sequence[Payload]]) -> RecordedChange:
    """Append what `decide` makes of the state, all or none, and return what became of it.

    No other writer's event comes between the state and the append.

    `decide` may raise `OperationError`: then nothing is appended. Raises a `StoreError`.
    """
    payloads: tuple[Payload, ...] = ()
    after = HudState()
    note = ""

    def decision(state: HudState) -> tuple[Payload, ...]:
        nonlocal payloads, after, note
        asked = tuple(decide(state))
        # Sealed first: what is compared and answered is what will be stored, without secrets.
        payloads = tuple(encode_payload(payload).payload for payload in asked)
        note = "" if all(map(_same, asked, payloads)) else _SECRET_NOTE
        # An operation that would change nothing leaves no event.
        after = state_after(state, *payloads)
        return payloads if _differs(state, after) else ()

    events, before = session.decide(decision, origin=origin)
    return RecordedChange(events, before, after if events else before, payloads, note)


def add_to_section(
    session: SessionCore, origin: Origin, section: str, noun: str, texts: str | Sequence[str], payload: _Payload
) -> OperationResult:
    """Add an item to a section for each text and return the answer; one that is there already is not added again.

    The answer's `data` has `id` and `recorded`; of a list also `ids`.
    """
    several = not isinstance(texts, str)

    def decide(state: HudState) -> Sequence[Payload]:
        for text in as_texts(texts):
            refuse_request(state, text)
            refuse_copy(state, section, text)
        return [payload(_stored_text(state, section, text)) for text in as_texts(texts)]

    change = record(session, origin, decide)
    # Read from what was recorded: a secret in the text was replaced.
    words = [next(str(value) for value in msgspec.structs.astuple(each) if value) for each in change.payloads]
    items = [item_with_text(change.after, section, each) for each in words]
    before = {item.id for item in getattr(change.before, section)}
    added = list({item.id: item for item in items if item.id not in before}.values())
    present = list({item.id: item for item in items if item.id in before}.values())
    if not several:
        added_one = f"Added {noun} {items[0].id}{stored_words(change, items[0].words)}."
        text = added_one if change else f"Already there: {noun} {items[0].id}."
    else:
        text = " ".join(
            f"{verb} {noun}s {listed}."
            for verb, listed in (("Added", quoted_items(added)), ("Already there:", quoted_items(present)))
            if listed
        )
    return OperationResult(text + change.note, recorded_ids([item.id for item in items], change, several=several))


def _stored_text(state: HudState, section: str, text: str) -> str:
    """The text of the item that says the same but for the dot at its end, else the text itself."""
    twin = same_item(getattr(state, section), text)
    return text if twin is None else twin.words


def stored_words(change: RecordedChange, words: str) -> str:
    """Return what a confirmation repeats of a text: nothing, as the call has it, unless something else was stored."""
    return f": {quote(words)}" if change.note else ""


_Payload = Callable[[str], Payload]


def as_texts(texts: str | Sequence[str]) -> Sequence[str]:
    """Return one text or several as several."""
    return (texts,) if isinstance(texts, str) else texts


def quoted_items(items: Sequence[SectionItem], text: Callable[[SectionItem], str] = lambda item: item.words) -> str:
    """Return items as an answer names them: id and text of each."""
    return "; ".join(
        f"{id_text(item.id)} {quote(text(item))}" if text(item) != item.id else id_text(item.id) for item in items
    )


def recorded_ids(ids: Sequence[str], change: RecordedChange, *, several: bool) -> dict[str, object]:
    """Return the data of an answer: the id and whether something was recorded; of a list also all ids."""
    data: dict[str, object] = {"id": ids[0], "recorded": bool(change)}
    return {**data, "ids": list(dict.fromkeys(ids))} if several else data


def remove_from_section(
    session: SessionCore,
    origin: Origin,
    noun: str,
    pick: Callable[[HudState], Sequence[SectionItem]],
    payload: _Payload,
    *,
    several: bool = False,
    verb: str = "Removed",
) -> OperationResult:
    """Remove the items that `pick` finds, all or none, and return the answer, with data as `add_to_section`."""
    gone: list[SectionItem] = []

    def decide(state: HudState) -> Sequence[Payload]:
        gone[:] = pick(state)
        return [payload(item.id) for item in gone]

    change = record(session, origin, decide)
    item = gone[0]
    several = several or len(gone) > 1
    if several:
        text = f"{verb} {noun}s {quoted_items(gone)}."
    else:
        quoted = f": {quote(item.words)}" if item.words != item.id else ""
        text = f"{verb} {noun} {id_text(item.id)}{quoted}."
    return OperationResult(text, recorded_ids([item.id for item in gone], change, several=several))


def item_with_text(state: HudState, section: str, words: str) -> SectionItem:
    """Return the item of a section that has this text; it was just recorded."""
    items: ItemList[SectionItem] = getattr(state, section)
    item = items.find(words)
    assert item is not None, f"{section} has no item for what was just recorded"
    return item


def _same(asked: Payload, sealed: Payload) -> bool:
    return asked is sealed or asked == sealed


def _differs(before: HudState, after: HudState) -> bool:
    return any(
        getattr(before, name) is not getattr(after, name) and getattr(before, name) != getattr(after, name)
        for name in STATE_FIELDS
    )

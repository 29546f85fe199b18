"""What a new text says of the items that are there: that it stands already, that it replaces one, that one is over.

Models record "Old exports are kept for 120 days, not 90" beside the note that says 90, and then both stand. Where the
words leave no doubt which item is meant, the new one takes its place; where they leave some, both stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hudkit.errors import OperationError
from hudkit.sections.errors import RecordedError
from hudkit.sections.items import SectionItem
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import quote
from hudkit.tools.resolve_item import content_words, count_shared, ids_in, shares_word, told_item

I = TypeVar("I", bound=SectionItem)  # noqa: E741

_CORRECTS = re.compile(
    r"\b(correction|corrected|replaces?|replaced|supersedes?|superseded|outdated|obsolete|changed (to|from))\b",
    re.IGNORECASE,
)
"""Words by which a text says that it corrects something. "No longer" is none: it may be news of something else."""

_NUMBERS = frozenset(
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
)
_UNITS = frozenset(
    (
        "times", "retries", "attempts", "days", "hours", "minutes", "seconds", "weeks", "months", "years", "ms", "kb",
        "mb", "gb", "percent",
    )
)  # fmt: skip
"""What a number counts where another number in its place contradicts it; "table 3" and "table 4" are two tables."""

_QUANTITY = re.compile(
    r"\b(?:after|are|costs?|every|gets?|has|have|is|least|most|takes?|than|within) (\w+) [a-z]+s\b", re.IGNORECASE
)
"""A number that counts: "is 18 pounds"; the 4 of "sprint 4 reviews" is a name."""
_NOW = re.compile(r"\b(?:from )?now(?: on)?\W*$", re.IGNORECASE)

_MIN_WORDS = 2
"""Words that a correction shares with what it corrects."""

_MIN_EQUAL = 3
"""Equal words from which on two decisions that differ in a number say the same of the same."""


def same_item(items: Iterable[I], words: str) -> I | None:
    """Return the item that says the same, exactly or but for the dot at its end; `None` without one.

    A step that is done does not count, as it may have to be done again, nor an item that was derived: what is
    recorded stands for it.
    """
    wanted = words.strip().removesuffix(".")
    alive = (item for item in items if not getattr(item, "completed", False) and not getattr(item, "derived", False))
    return (
        next((item for item in alive if _words(item).strip().removesuffix(".") == wanted), None) if wanted else None
    )


def _words(item: SectionItem) -> str:
    """What an item says; an error is known by more and less than that."""
    return item.message if isinstance(item, RecordedError) else item.words


def twin_error(noun: str, id: str, twin: str) -> OperationError:
    """Return the refusal to let an item say what another says: small models send the text of one for another, and
    one of the two would be gone."""
    return OperationError(
        f"{noun} {twin} says this already",
        hint=f"Say what {id} is to say, or remove one of the two.",
        instead=(f"{noun}s.list", {}),
    )


def replaced_item(items: Sequence[I], text: str) -> I | None:
    """Return the item whose place a new text takes by its own words; `None` where that is not certain.

    The text says that it corrects something, and has all words of one item but at most one, the value: of "The
    finance contact is Marta", "Finance contact changed to Tobias" has two of three. An item of something else has
    more that is its own: "The auth port is 8000" stays beside "The billing port changed to 9000".
    """
    if not _CORRECTS.search(text):
        return None
    words = [*content_words(text), *_LETTER.findall(text)]
    matches = []
    for item in items:
        of_item = {*content_words(item.words), *_LETTER.findall(item.words)}
        shared = sum(shares_word(words, word) for word in of_item)
        if shared >= _MIN_WORDS and len(of_item) - shared <= 1:
            matches.append(item)
    return matches[0] if len(matches) == 1 else None


_LETTER = re.compile(r"(?<=\s)[A-Z]\b")
"""A name of one letter, as in "service A"."""


def with_another_number(items: Sequence[I], text: str) -> I | None:
    """Return the one item that has the same words with another quantity: "Retry it three times", "… five times"."""
    text = _NOW.sub("", text)
    words = content_words(text)
    matches = [item for item in items if _differ_in_quantity(text, words, content_words(item.words))]
    return matches[0] if len(matches) == 1 else None


def _differ_in_quantity(text: str, words: Sequence[str], others: Sequence[str]) -> bool:
    if len(words) != len(others):
        return False
    places = [place for place, word in enumerate(words) if word != others[place]]
    if len(places) != 1 or len(words) <= _MIN_EQUAL:
        return False
    (place,) = places
    counted = words[place + 1] if place + 1 < len(words) else ""
    if not (_is_number(words[place]) and _is_number(others[place])):
        return False
    return counted in _UNITS or words[place] in {match[1].casefold() for match in _QUANTITY.finditer(text)}


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in _NUMBERS


_OVER = frozenset(
    ("done", "finished", "complete", "completed", "fixed", "resolved", "closed", "gone", "over", "solved", "obsolete")
)
_CHANGES = frozenset(
    (
        "change", "update", "scrap", "drop", "remove", "delete", "close", "finish", "complete", "mark", "tick",
        "cancel", "replace", "withdraw",
    )
)  # fmt: skip
_EDITS = re.compile(
    r"\s{0,4}(?:please[,:]? )?(?:(?:adjust|change|expand|extend|narrow|update|widen) )?(?:the|our|your|this|that) "
    r"(?P<noun>task|note|step|decision|constraint|blocker)(?: description)? "
    r"(?:(?:should|must|has to|needs to|ought to) (?:also )?(?:mention|say|state|read)|to (?:also )?include)\b",
    re.IGNORECASE,
)
"""The beginning of a text that is about an entry of the HUD, and no entry itself: "The task should mention …"."""
_MAX_OVER = 8
"""Words of a text that only says that an item is over."""


def refuse_request(state: HudState, text: str) -> None:
    """Refuse a new item whose text is what the user asks for, not what is to be kept: "s3 is done", "change s3: …",
    "the task should mention …".

    Raises `OperationError`, which names the group that the item is of.
    """
    edits = _EDITS.match(text)
    if edits is not None:
        noun = edits["noun"].casefold()
        raise OperationError(
            f"the text asks for a change of a {noun}",
            hint="Write what is to hold, with the operation that changes it.",
            instead=("task.get" if noun == "task" else f"{noun}s.list", {}),
        )
    words = [word.casefold() for word in re.findall(r"[^\W_]+", text)]
    for group, items in items_by_group(state).items():
        ids = ids_in(items, text)
        if not ids:
            continue
        id = ids[0].id
        if words == [id.casefold()]:
            raise OperationError(
                f"{id} is one of the {group}", hint="Say what is to be kept.", instead=(f"{group}.list", {})
            )
        if words[:1] and words[0] in _CHANGES and id.casefold() in words[1:3]:
            raise OperationError(
                f"the text asks for a change of {id}",
                hint=f"It is one of the {group}.",
                instead=(f"{group}.list", {}),
            )
        if words[0] == id.casefold() and len(words) <= _MAX_OVER and _OVER & set(words):
            raise OperationError(
                f"the text says that {id} is over", hint=f"It is one of the {group}.", instead=(f"{group}.list", {})
            )


_DECIDES = re.compile(
    r"\b(?:we|i|everybody|everyone)(?:['’]?ve| have)? ?(?:all |now |just |finally |both )?"
    r"(?:decided|settled on|agreed (?:on|to|that)|opted for|chose|chosen|went with|go with|(?:are|'re) going with)\b"
    r"|\b(?:it is|it's|it was|was|is) (?:now )?(?:decided|settled|agreed)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\b(?:instead|after all|rather than|scrap|drop|no longer|not any ?more)\b", re.IGNORECASE)


def decision_in(state: HudState, text: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether a text announces a decision in its first sentence, and the id of the one that it replaces.

    It does where it says so ("we've settled on …"), or where it says that something is done instead and a live
    decision, and that one alone, has words of it.
    """
    first = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    if len(text.split()) > _MAX_ANNOUNCED or first.endswith("?"):
        return False, ()
    says, bare = _DECIDES.search(first) is not None, _INSTEAD.sub(" ", text)
    turns = _INSTEAD.search(first) is not None
    replaced = told_item(state.decisions.items, bare, lambda decision: decision.summary) if turns else None
    return says or replaced is not None, () if replaced is None else (replaced.id,)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MAX_ANNOUNCED = 40
"""Words of a note that announces a decision; a longer one tells more than that."""


def items_by_group(state: HudState) -> dict[str, Sequence[SectionItem]]:
    """Return the items that a call can name, by their groups."""
    return {
        "steps": state.steps.items,
        "decisions": state.decisions.items,
        "constraints": state.constraints.items,
        "preferences": state.preferences.items,
        "blockers": state.blockers.items,
        "errors": state.errors.items,
        "notes": state.notes.items,
    }


def refuse_elsewhere(state: HudState, group: str, name: str) -> None:
    """Refuse a name of which an item of another group has more words than any of its own, which has half at most.

    `constraints.remove {"item": "batch_numbers"}` does not mean "Weights are whole numbers" where a decision is on
    batch numbers.

    Raises `OperationError`, which names the other group.
    """
    groups = items_by_group(state)
    best, words = count_shared(map(_words, groups.get(group, ())), name)
    if group not in groups or 2 * best > words:
        return
    others = {other: count_shared(map(_words, items), name)[0] for other, items in groups.items()}
    winner = max(others, key=lambda other: others[other])
    if others[winner] > best and (others[winner] >= _MIN_WORDS or others[winner] == words):
        raise OperationError(
            f"none of the {group} is named {quote(name)}",
            hint=f"One of the {winner} has more of these words.",
            instead=(f"{winner}.list", {}),
        )


def refuse_copy(state: HudState, group: str, text: str) -> None:
    """Refuse a new item that is the whole sentence of one of another kind.

    A model that repeats an error as a rule means something else. A note may become anything, a rule a preference, an
    error may be in the way, and what is derived is no obstacle.

    Raises `OperationError`, which names the other group.
    """
    if len(text.split()) < _MIN_SENTENCE:
        return
    live = {**items_by_group(state), "errors": state.errors.open}
    for other, items in live.items():
        if other in (group, "notes") or (group, other) in _MAY_BECOME:
            continue
        if same_item(items, text) is not None:
            raise OperationError(
                f"this is one of the {other} already",
                hint="In other words it may be something else, too.",
                instead=(f"{other}.list", {}),
            )


_MIN_SENTENCE = 6
"""Words of a text that nobody repeats for something else by chance."""

_MAY_BECOME = frozenset(
    (
        ("blockers", "errors"), ("blockers", "steps"), ("steps", "blockers"), ("steps", "errors"),
        ("constraints", "preferences"), ("preferences", "constraints"), ("constraints", "decisions"),
        ("decisions", "constraints"), ("decisions", "preferences"),
    )
)  # fmt: skip
"""What the text of an item may also be, by groups: a rule that was a preference, a step that an error asks for."""


def group_of_id(state: HudState, id: str, asked: str) -> str:
    """Return the group whose item has exactly this id; empty without one, and where an item of the group that was
    `asked` for has or speaks of that id."""
    groups = items_by_group(state)
    if any(item.id == id or id.casefold() in item.words.casefold() for item in groups.get(asked, ())):
        return ""
    matching = [group for group, items in groups.items() if any(item.id == id for item in items)]
    return matching[0] if len(matching) == 1 else ""

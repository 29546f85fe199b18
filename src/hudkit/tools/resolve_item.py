"""Which item is meant: by its id, its exact text, its place, a part of its text, or words that no other has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.items import SectionItem
from hudkit.tools.answer_text import id_text, quote
from hudkit.tools.operation import MAX_TEXT_BYTES, MAX_VALUES, OneText

_MAX_CANDIDATES = 5

ItemName = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_BYTES, pattern=r"\S")]

OneItem = OneText
"""The name of an item where a list of names is taken as well."""

ItemNames = OneItem | Annotated[tuple[ItemName, ...], Meta(min_length=1, max_length=MAX_VALUES)]
"""One item or a list of them."""

I = TypeVar("I", bound=SectionItem)  # noqa: E741


def resolve_item(
    items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str], *, places: bool = False
) -> I:
    """Return the one item that `name` names; with `places` a number is a place, counted from 1.

    Raises `OperationError` with the candidates. None of them is offered as the right one: which item is meant, only
    the agent knows.
    """
    if isinstance(name, int):
        if places and 1 <= name <= len(items):
            return items[name - 1]
        raise _unknown_item(items, name, noun, text)
    asked = without_secrets(name)
    # What names an item exactly goes before a part of another's text.
    for exact in (lambda item: item.id == asked, lambda item: text(item) == asked):
        for item in items:
            if exact(item):
                return item
    # Nine digits are more than any list has, and few enough to convert.
    if places and asked.isascii() and asked.strip().isdigit() and 1 <= int(asked[:9]) <= len(items):
        return items[int(asked[:9]) - 1]
    place = _place_in_words(asked, noun, len(items)) if places else 0
    if place:
        return items[place - 1]
    if _names_nothing(asked):
        raise _unknown_item(items, name, noun, text)
    matches = _with_part(items, asked, text)
    if not matches and len(named := ids_in(items, asked)) == 1:
        return named[0]
    matches = matches or _with_most_words(items, asked, noun, text)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise _unknown_item(items, name, noun, text)
    raise OperationError(
        f"{quote(name)} names {len(matches)} {noun}s",
        hint=f"It could be {_candidates(matches, text)}.",
        candidates=[item.id for item in matches[:_MAX_CANDIDATES]],
    )


def _with_part(items: Sequence[I], name: str, text: Callable[[I], str]) -> list[I]:
    """The items that a name is the id or a part of the text of, whatever the case."""
    part = name.strip().casefold()
    return [item for item in items if item.id.casefold() == part] or [
        item for item in items if part in text(item).casefold()
    ]


def ids_in(items: Sequence[I], text: str) -> list[I]:
    """Return the items whose ids stand in a text as words of their own, in its order: "s1 and s2 are finished"."""
    by_id = {item.id.casefold(): item for item in items if _ID.fullmatch(item.id)}
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
    return [by_id[word] for word in words if word in by_id]


_ID = re.compile(r"[a-z]{1,2}\d+")
_PLACES = (
    ("1", "one", "first"), ("2", "two", "second"), ("3", "three", "third"), ("4", "four", "fourth"),
    ("5", "five", "fifth"), ("6", "six", "sixth"), ("7", "seven", "seventh"), ("8", "eight", "eighth"),
    ("9", "nine", "ninth"),
)  # fmt: skip


def _place_in_words(name: str, noun: str, count: int) -> int:
    """The place that a name says beside the noun (`step one`, `Step 2`, `the third step`), 0 where it says none or
    there is no such place."""
    words = [word for word in _words(name) if word not in ("the", "number", "no", noun.casefold())]
    if len(words) != 1 or noun.casefold() not in _words(name):
        return 0
    place = next((number for number, spelt in enumerate(_PLACES, 1) if words[0] in spelt), 0)
    return place if place <= count else 0


_WORD = re.compile(r"[^\W_]+")
_SAYS_NOTHING = frozenset(
    (
        "a", "about", "an", "and", "are", "entry", "for", "id", "in", "is", "item", "my", "of", "on", "one", "or",
        "our", "that", "the", "this", "to", "with",
    )
)  # fmt: skip
_NAMES_NOTHING = _SAYS_NOTHING | frozenset(
    (
        "all", "always", "any", "as", "at", "be", "by", "can", "do", "don", "every", "from", "has", "have",
        "it", "may", "must", "never", "no", "not", "now", "off", "only", "out", "s", "should", "t", "them",
        "they", "was", "we", "will", "you",
    )
)  # fmt: skip
"""Words of which no item is known by: "must" is a part of many a rule, and of one alone by chance."""
_MIN_STEM = 4
"""Letters from which on the beginning of a word stands for it: `upload` for `uploads`."""

_MIN_SHARE = 0.5
"""Of the words of a name that an item must have: half of a name may be somebody's own wording, less is a guess."""


def _with_most_words(items: Sequence[I], name: str, noun: str, text: Callable[[I], str]) -> list[I]:
    """The items that share most words with a name, where they share enough.

    `staging_port` names "The staging port is 8443", where no other item has both words.
    """
    of_noun = {word.removesuffix("s") for word in noun.casefold().split()}
    over = _SAYS_OVER.sub(" ", name)
    words = [word for word in _telling_words(over) if word.removesuffix("s") not in of_noun]
    texts = [_telling_words(text(item)) for item in items]
    scores = [sum(shares_word(of_item, word) for word in words) for of_item in texts]
    best = max(scores, default=0)
    if not best:
        return []
    if best < _MIN_SHARE * len(words):
        return _told_in_a_sentence(items, texts, scores, best, says_over=over != name)
    return [item for item, score in zip(items, scores, strict=True) if score == best]


def _told_in_a_sentence(
    items: Sequence[I], texts: Sequence[Sequence[str]], scores: Sequence[int], best: int, *, says_over: bool
) -> list[I]:
    """The item of which a whole sentence is told, "the upload client is written, tick it off": the sentence has half
    of its words (any, where it says that something is over), two at least, and of no other item half as many."""
    place = scores.index(best)
    others = (score for number, score in enumerate(scores) if number != place)
    wins = best >= 2 and 2 * max(others, default=0) < best
    return [items[place]] if wins and (says_over or best >= _MIN_SHARE * len(set(texts[place]))) else []


def told_item(items: Sequence[I], sentence: str, text: Callable[[I], str]) -> I | None:
    """Return the item of which a sentence has two words at least, and twice as many as of any other; else `None`."""
    words = _telling_words(sentence)
    of_items = ({*_telling_words(text(item))} - _OF_ANY_CHOICE for item in items)
    scores = [sum(shares_word(words, word) for word in each) for each in of_items]
    best = max(scores, default=0)
    place = scores.index(best) if scores else 0
    others = (score for number, score in enumerate(scores) if number != place)
    return items[place] if best >= _MIN_TOLD and 2 * max(others, default=0) < best else None


_OF_ANY_CHOICE = frozenset(("go", "have", "instead", "keep", "make", "new", "rather", "take", "use"))
_MIN_TOLD = 2
"""Words of an item that a sentence has where it tells of it."""

_SAYS_OVER = re.compile(
    r"\b(?:no longer|any ?more|not needed|lifted|withdrawn|cancell?ed|dropped|obsolete|history|gone"
    r"|(?:is|are|was|were) over)\b",
    re.IGNORECASE,
)


def content_words(text: str) -> list[str]:
    """Return the words of a text that say something, in its order, without case."""
    return [word for word in _words(text) if word not in _SAYS_NOTHING]


def count_shared(texts: Iterable[str], name: str) -> tuple[int, int]:
    """Return how many words of a name stand in one of the texts, at most, and how many it has."""
    words = _telling_words(name)
    of_texts = map(_telling_words, texts)
    return max((sum(shares_word(each, word) for word in words) for each in of_texts), default=0), len(words)


def _telling_words(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _NAMES_NOTHING]


def _names_nothing(name: str) -> bool:
    return bool(_words(name)) and not _telling_words(name)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def shares_word(words: Sequence[str], wanted: str) -> bool:
    """Return whether a word stands among others, also one that begins alike: `upload`, `uploads`."""
    if wanted in words:
        return True
    if wanted.isdecimal():
        return False
    stem = _stem(wanted)
    return any(
        min(len(word), len(wanted)) >= _MIN_STEM
        and (word.startswith(wanted) or wanted.startswith(word) or _stem(word) == stem)
        for word in words
    )


_SUFFIX = re.compile(r"(?:ments?|ings?|ed|e?s)$")


def _stem(word: str) -> str:
    """A word without its last suffix, where enough is left: `deploy` of `deployments`."""
    stem = _SUFFIX.sub("", word)
    return stem if len(stem) >= _MIN_STEM else word


def resolve_items(
    items: Sequence[I],
    names: str | int | Sequence[str | int],
    noun: str,
    text: Callable[[I], str],
    *,
    places: bool = False,
) -> list[I]:
    """Return the items that one name or several name, each once. Raises `OperationError` as `resolve_item` does."""
    listed = (names,) if isinstance(names, str | int) else names
    matching: list[I] = []
    for name in listed:
        # A text that names other items ("Merge s1 and s2") is that item's own name first.
        ids = ids_in(items, name) if isinstance(name, str) and not _with_part(items, name, text) else []
        matching += ids if len(ids) > 1 else [resolve_item(items, name, noun, text, places=places)]
    return list({item.id: item for item in matching}.values())


def _unknown_item(items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str]) -> OperationError:
    if not items:
        return OperationError(f"there is no {noun} {_quoted_name(name)}", hint=f"There are no {noun}s now.")
    # Whoever names a wrong item mostly means a recent one.
    newest = items[::-1]
    return OperationError(
        f"there is no {noun} {_quoted_name(name)}",
        hint=f"There {'are' if len(items) > 1 else 'is'}: {_candidates(newest, text)}.",
        candidates=[item.id for item in newest[:_MAX_CANDIDATES]],
    )


def _quoted_name(name: str | int) -> str:
    return quote(name) if isinstance(name, str) else f"at place {str(name)[:20]}"


def _candidates(items: Sequence[I], text: Callable[[I], str]) -> str:
    names = [
        f"{id_text(item.id)}{'' if text(item) == item.id else ' ' + quote(text(item), 40)}"
        for item in items[:_MAX_CANDIDATES]
    ]
    rest = len(items) - len(names)
    return "; ".join(names) + (f"; and {rest} more" if rest > 0 else "")

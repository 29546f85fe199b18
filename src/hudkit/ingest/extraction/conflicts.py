"""What a new statement ends: the standing ones that it contradicts, for sure or perhaps.

Two statements are about one thing where the stems of their words overlap once the values are left out, weighed by how few
of the standing ones have a stem. They conflict where they give that thing different values of one kind, or say the
opposite of it. Without a word of change ("now", "moved to", "instead") all of the words must agree; with one, the
nearest standing one with a value of the kind is meant.

For example, of "Project budget is $800 total" and "Team budget is $200", "keep project spend under $500 from now on" ends
the first: "project" is a stem of that one alone.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.hedging import is_of_others
from hudkit.ingest.extraction.prose import word_stems
from hudkit.ingest.extraction.values import values_by_kind, without_values

SECTIONS = ("constraints", "preferences", "decisions", "notes")
"""The sections of what stands, by the name of each."""

_SAME = 0.75
"""The share of all stems that two statements have in common which say the same of the same thing."""

_SAME_MATTER = 0.25
"""The share of a preference's stems that a later one has of it which takes its place by a word of change."""

_EXCLUSIVE = frozenset({"zone", "units"})
"""Kinds of which a project has one at a time for what it shows."""

_PLACES = frozenset({"path"})
"""Kinds of which work is in one at a time: a branch."""

_CHANGE = any_case(
    r"\b(?:now|new|newly|from (?:now|here|today|tomorrow) on|as of|instead|(?:would|'d) rather|actually|update[ds]?|correction|corrected|chang(?:e|es|ed|ing)|mov(?:e|es|ed|ing) (?:to|onto|it)|moved|rotat\w+|renam\w+|rebas\w+|replac\w+|switch\w*|migrat\w+|postpone[ds]?|extend\w*|rais\w+|lower\w*|bump\w*|took over|takes over|no longer|any ?more|previous|old|retired|instead of|after all|enough|okay as well|ok as well|fine (?:too|as well)|acceptable|too little|too much|let's say|shorter|longer|fewer|on second thoughts?|scratch|forget|gone|drop(?:ped|ping)|make (?:that|it)|minimum is|wait|sorry|not .+ any ?more)\b"
)
"""Words that say that something is not as it was."""

_AGAINST = any_case(
    r"\b(?:no longer|any ?more|any longer|stop(?:ped)?|forget|scratch|scrap|(?<!never be )(?<!not be )drop(?:ped)?|gone|(?:is|are|was) over|lifted|cancel\w*|obsolete|changed (?:my|our) minds?|after all|turn(?:ed|s) out|overkill|instead|never mind|not necessary|(?:can't|cannot) (?:do|handle|support|be)|no need|(?:is|was|were) (?:a )?mistake|useless|shut down|is out|don't need|retired|replac\w+|too (?:expensive|slow|big|complicated|heavy))\b"
)
"""Words that may end what they stand with."""

_NOT = any_case(
    r"\b(?:no|not|never|don't|do not|doesn't|stop|without|avoid|nothing|hate|dislike|can't|cannot|won't|mustn't)\b"
)
_LIMITS = any_case(
    r"\b(?:exceed\w*|under|below|within|above|over|more|less|longer|at (?:the )?(?:most|least)|max\w*|min\w*|cap(?:ped)?|limit\w*|ceiling|until|before)\b"
)
_ASSIGNS = re.compile(
    rf"{_LIMITS.pattern}|\b(?:is|are|was|be|lasts?|costs?|runs?|lives?|takes?|needs?|require[sd]?|has|have|had|moved|named|called|deadline|budget|set to|we're|on|in|to)\b|[=:]|'s "
)
"""Words by which a statement gives a thing its value."""
_REPLACES = any_case(
    r"\b(?:new|old|previous|rotat\w+|chang\w+|instead|no longer|replac\w+|renam\w+|retired|any ?more)\b"
)
_DENIES_NOW = any_case(r"\b(?:any ?more|any longer|no longer|stop)\b")
_SUSPENDS = any_case(
    r"\b(?:(?:for|in|on|during|with) (?:this|that|the current) (?:one |single )?(?:ticket|task|branch|time|once|change|pr|pull request|session|case|one|issue|commit|release|file|hotfix|fix|migration|job|week|sprint|demo)|(?:just |only )?(?:this once|just once|this time)|(?:as an|one) exception)\b"
)
_PERMITS = any_case(
    r"\b(?:may|can|could|are allowed|is allowed|is ok(?:ay)?|is fine|ok(?:ay)? to|fine to|go ahead|ignore|skip|not apply|doesn't apply|don't have to|needn't|no need)\b"
)

_ALIKE = {stem: group[0] for group in (("answer", "repl", "reply", "respons", "respond", "answ"),) for stem in group}
"""Stems that name one thing."""


_POSSESSIVE = re.compile(r"['’]s\b")
_CHANGES = frozenset({"new", "chang", "mov", "updat", "correct", "instead", "actual"})
"""Stems that say that something is different, and not what."""


class Statement(msgspec.Struct, frozen=True):
    """One that stands: its section and its text."""

    section: str
    text: str


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def about(text: str) -> frozenset[str]:
    """Return the stems of what a statement is about, without its values."""
    plain = _POSSESSIVE.sub("", without_values(text))
    return frozenset(_ALIKE.get(stem, stem) for stem in word_stems(plain)) - _CHANGES


def suspended_by(sentence: str, standing: Sequence[Statement]) -> Statement | None:
    """Return the standing statement that a sentence sets aside for one case; `None` where it sets none aside."""
    case = _SUSPENDS.search(sentence)
    if case is None or not _PERMITS.search(sentence):
        return None
    subject = about(f"{sentence[: case.start()]} {sentence[case.end() :]}") - {"allow", "appl"}
    return _nearest(subject, standing, min_share=0.5)


def ended_by(text: str, sentence: str, section: str, standing: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return the standing statements that a new one of a section ends, by its value or by saying the opposite."""
    values, subject = values_by_kind(text), about(text)
    changes = bool(_CHANGE.search(sentence))
    others = [statement for statement in standing if statement.text != text and not is_parallel(statement.text, text)]
    rejected = rejected_by(text, others)
    if rejected is not None:
        return (rejected,)
    # "Never touch part 7" and "never touch part 8" are two rules: they assign nothing.
    assigns = bool(_ASSIGNS.search(text)) and (not _NOT.search(text) or bool(_LIMITS.search(text)))
    changes = changes and (assigns or not _NOT.search(text) or bool(_REPLACES.search(sentence)))
    for kind, amounts in values.items():
        rivals = [statement for statement in others if _other_value(statement.text, kind, amounts)]
        ended = _rival(subject, rivals, kind, section, changes=changes, assigns=assigns)
        if ended is not None:
            return (ended,)
    return _opposite(text, subject, section, others, changes=changes)


def rejected_by(text: str, standing: Sequence[Statement]) -> Statement | None:
    """Return the standing statement for what a text turns down: "light theme instead of dark" ends "a dark theme"."""
    match = _INSTEAD_OF.search(text)
    if match is None:
        return None
    old, chosen = word_stems(match["old"]), word_stems(text[: match.start()])
    if not old:
        return _placed_elsewhere(match["old"], chosen, standing)
    for statement in reversed(standing):
        theirs = word_stems(statement.text)
        if (
            old
            and old <= theirs
            and (chosen & theirs - old or len(old) == len(theirs))
            and not _NOT.search(statement.text)
        ):
            return statement
    return None


def _placed_elsewhere(old: str, chosen: frozenset[str], standing: Sequence[Statement]) -> Statement | None:
    """The standing statement that has the place which is turned down: of "behind the line, not above it" the "above"."""
    places = frozenset(old.casefold().split()) - {"it", "that", "this", "them", "the", "and"}
    for statement in reversed(standing):
        theirs = frozenset(statement.text.casefold().split())
        if places and places <= theirs and len(chosen & word_stems(statement.text)) >= _MIN_COMMON:
            return statement
    return None


_MIN_COMMON = 2
"""Stems that two statements have in common where only the place is different."""


def objected_to(sentence: str, standing: Sequence[Statement]) -> tuple[Statement, str, str] | None:
    """Return the one standing statement that has what a sentence begins to speak against, that name, and what is said
    behind it: of "Rope is taken, call it belay" the statement with "rope", "Rope", and "call it belay"."""
    match = _OBJECTS.match(sentence)
    if match is None:
        return None
    old, values = word_stems(match["old"]), values_by_kind(match["old"])
    named = [
        statement
        for statement in standing
        if (old and old <= word_stems(statement.text))
        or (values and all(values_by_kind(statement.text).get(kind) == amounts for kind, amounts in values.items()))
    ]
    return (named[0], match["old"], match["rest"].strip(" .!,;:–-")) if len(named) == 1 else None


def is_of_another(first: str, second: str) -> bool:
    """Return whether two statements are the same but for one name in their middle: each holds of another thing.

    "Only run the importer against the staging queue" and the same of the exporter; a last word that differs, or a number,
    is another value of one thing.
    """
    ours, theirs = _words_of(first), _words_of(second)
    if len(ours) != len(theirs):
        return False
    different = [place for place, word in enumerate(ours) if word != theirs[place]]
    if len(different) != 1 or not 0 < different[0] < len(ours) - _MIN_BEHIND_NAME:
        return False
    return not any(character.isdigit() for character in ours[different[0]] + theirs[different[0]])


def is_of_another_part(first: str, second: str) -> bool:
    """Return whether two sentences say something of two parts of a whole: of the staging and the production database."""
    ours, theirs = _subject_of(first), _subject_of(second)
    if len(ours) != len(theirs) or len(ours) < 2 or ours[-1] != theirs[-1]:
        return False
    different = [(word, other) for word, other in zip(ours, theirs, strict=True) if word != other]
    return len(different) == 1 and _OF_TIME.isdisjoint(different[0])


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def _subject_of(text: str) -> list[str]:
    match = _SUBJECT.match(text)
    return _words_of(match["subject"]) if match else []


_SUBJECT = any_case(
    r"^(?:the |our |my |your )?(?P<subject>(?:[\w-]+ ){2,5}?)(?:is|are|has|have|runs?|uses?|needs?|must|should|can|will)\b"
)
_OF_TIME = frozenset({"new", "old", "current", "latest", "next", "last", "final", "original", "updated", "revised"})
"""What the same thing may be called at another time."""

_MIN_BEHIND_NAME = 3
"""Words that both have behind the name."""


def is_parallel(first: str, second: str) -> bool:
    """Return whether two statements say the same of two things, so that neither ends the other.

    "A dataclass for orders instead of a dict" and "a dataclass for users instead of a dict" differ in what they are about;
    "NATS instead of Kafka" and "Redis instead of Kafka" in what is chosen, and those are not parallel.
    """
    if is_of_another_part(first, second):
        return True
    ours, theirs = _words_of(first), _words_of(second)
    if _CONTRASTS.isdisjoint(ours):
        return False
    length = min(len(ours), len(theirs))
    different = [place for place in range(length) if ours[place] != theirs[place]]
    if length < _MIN_PARALLEL or len(different) != 1 or not different[0]:
        return False
    place, behind = different[0], ours[different[0] + 1 :]
    is_chosen = bool(behind) and behind[0] in _CONTRASTS and ours[place - 1] not in _ABOUT
    return not _CONTRASTS.isdisjoint(behind) and not is_chosen


_WORD = re.compile(r"[\w'’]+")


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


_MIN_PARALLEL = 6
"""Words that both must have: fewer say too little alike."""
_CONTRASTS = frozenset({"instead", "rather", "not", "too"})
"""Words by which a statement turns something down: it is not the other statement, where that turns down the same."""
_ABOUT = frozenset({"for", "of", "in", "on", "near", "with", "at", "within", "around"})
"""Words before what a statement is about."""


def is_objection(text: str) -> bool:
    """Return whether a text speaks against something that it names first: "rope is taken"."""
    return _OBJECTS.match(text) is not None


_OBJECTS = any_case(
    r"^(?:(?:hm+|no|sorry|ok(?:ay)?|oh|well|so|but)[,.]? )*(?:the )?(?P<old>[\w.+#/-]+(?: [\w.+#/-]+){0,3}?)(?:['’]s| is| are| was) (?:out|gone|taken|dead|history|(?:a |the wrong )?mistake|overkill|no good|useless|not an option|off the table|too (?!many\b)[\w-]+|(?:not|no longer) (?:available|possible|supported|allowed|needed))\b(?P<rest>.*)$"
)
"""How somebody speaks against what was chosen before, by its name."""

_INSTEAD_OF = any_case(
    r"\b(?:instead of|rather than|in place of|, not|and not|never) (?P<old>[\w +.#-]{2,40}?)(?:$|[,;.]| (?:please|because|since|anymore|any more)\b)"
)


def _other_value(text: str, kind: str, amounts: frozenset[str]) -> bool:
    theirs = values_by_kind(text).get(kind, frozenset())
    return bool(theirs) and not theirs & amounts


def _rival(
    subject: frozenset[str], rivals: Sequence[Statement], kind: str, section: str, *, changes: bool, assigns: bool
) -> Statement | None:
    if not rivals:
        return None
    weights = {
        stem: log(1 + len(rivals) / (1 + sum(stem in about(statement.text) for statement in rivals)))
        for stem in subject
    }
    scored = [(sum(weights[stem] for stem in subject & about(statement.text)), statement) for statement in rivals]
    scored.sort(key=lambda pair: -pair[0])
    best, rival = scored[0]
    theirs = about(rival.text)
    common, union = len(subject & theirs), len(subject | theirs)
    if assigns and union and common / union >= _SAME:
        return rival
    if changes and best > 0 and (len(scored) == 1 or scored[1][0] < best):
        return rival
    if kind in _EXCLUSIVE and rival.section == section and len({statement.text for statement in rivals}) == 1:
        return rival
    if kind in _PLACES and changes and len(rivals) == 1:
        return rival
    return None


def _opposite(
    text: str, subject: frozenset[str], section: str, standing: Sequence[Statement], *, changes: bool
) -> tuple[Statement, ...]:
    """Those of which the statement says the opposite, or, with a word of change, something else of the same."""
    negative = bool(_NOT.search(text))
    enough = 1 if _DENIES_NOW.search(text) else 2
    for statement in standing:
        theirs = about(statement.text)
        common = subject & theirs
        smaller = min(len(subject), len(theirs))
        if smaller < enough or len(common) < min(2, smaller) or len(common) / smaller < 0.6:
            continue
        # "never push to main" against "always push to main": the same words, one of them denied.
        if _is_negative(statement.text) != negative and (
            changes or len(common) / max(len(subject), len(theirs)) >= _SAME
        ):
            return (statement,)
    if section == "preferences" and changes:
        for statement in reversed(standing):
            theirs = about(statement.text)
            share = len(subject & theirs) / max(min(len(subject), len(theirs)), 1)
            if statement.section in ("preferences", "constraints") and share >= _SAME_MATTER:
                return (statement,)
    return ()


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def _is_negative(text: str) -> bool:
    return _NOT.search(text) is not None


def doubted_by(sentence: str, standing: Sequence[Statement]) -> Statement | None:
    """Return the standing statement against which a sentence seems to speak; `None` where none is near."""
    if not _AGAINST.search(sentence) or is_of_others(sentence):
        return None
    standing = [statement for statement in standing if not is_parallel(statement.text, sentence)]
    names = frozenset(_NAME.findall(sentence))
    named = [statement for statement in standing if names & frozenset(_NAME.findall(statement.text))]
    if len(named) == 1 and _ENDS_NAMED.search(sentence):
        return named[0]
    return _nearest(about(sentence), standing, min_share=_MORE_THAN_HALF)


_MORE_THAN_HALF = 0.51
"""The share of the stems of one that the other has: one of two is said of much else, too."""

_NAME = re.compile(
    r"\b(?:[A-Z][a-z]*\d+|[A-Z]{2,}\d*|[A-Z][a-z]+[A-Z]\w*|(?<=[a-z] )[A-Z][a-z]{2,}|^[A-Z][a-z]{2,}(?= (?:is|was|has|turned|can't|shut|left|needs|does))|\d+\.\d+)\b"
)
_ENDS_NAMED = any_case(
    r"\b(?:gone|dropped|retired|too (?:expensive|slow|big|complicated|heavy)|overkill|turn(?:ed|s) out|mistake|useless|shut down|replac\w+|no longer|is out|left|can't|cannot)\b"
)


def _nearest(subject: frozenset[str], standing: Sequence[Statement], min_share: float) -> Statement | None:
    best, nearest = 0.0, None
    for statement in standing:
        theirs = about(statement.text)
        common = len(subject & theirs)
        share = common / min(len(subject), len(theirs)) if subject and theirs else 0.0
        if common and share >= min_share and share + common / 100 >= best:
            best, nearest = share + common / 100, statement
    return nearest


def is_echo(text: str, statement: str) -> bool:
    """Return whether an agent only says again what stands: "Sandbox keys it is" after "only use the sandbox keys"."""
    echo = _ECHOES.search(text)
    if echo is None:
        return False
    ours, words = about(text), _words_of(text[: echo.start()])
    return (bool(ours) and ours <= about(statement)) or (bool(words) and set(words) <= set(_words_of(statement)))


_ECHOES = any_case(r"\bit is\W*$")

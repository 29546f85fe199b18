"""Rules that a user states plainly: what must, what must never, what stays as it is."""

# ruff: noqa: E501 (patterns are read whole)
from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hudkit.ingest.extraction import norms
from hudkit.ingest.extraction.doubts import asks, reports, supposes, wishes
from hudkit.ingest.extraction.prose import Sentence

LONGEST = 240
"""Characters of one rule that are kept."""

_CUE = (
    r"(?:please |always |never |do not |don'?t |avoid |stick to |keep |leave |only |no |make sure |under no |every |any "
    r"|each |all |must not |must never |nothing |nobody |ask me |stay |use )"
)
_BREAK = re.compile(
    r",\s+(?:(?:and|but|so|also|then|plus)\s+)*|\s+(?:[-–—]{1,2}|=>|→)\s+(?:(?:and|but|so)\s+)?"
    rf"|\s+(?:and|but|so|plus)\s+(?:also\s+|please\s+|then\s+)*(?={_CUE}\b)",
    re.IGNORECASE,
)
_TOLD = re.compile(r"(?i)\b(?:had|was|were|said|says|wrote|writes|told|used to|did|printed|prints|shows)\b")
_RULED = re.compile(r"(?i)\b(?:make|made|call|so|as) (?:that|this|it|a) (?:a |the |our )?(?:new )?rule$|\bnew rule$")
_HEDGED = re.compile(
    r"(?i)(?:, (?:right|no)|,? (?:i (?:believe|think|guess|suppose|assume)|afaik|iirc|as far as i (?:know|can (?:see|tell))))$"
)
_TAG = re.compile(r"(?i),? (?:ok(?:ay)?|alright|deal|understood|got it|clear|yeah|yes|please|agreed)\?+\s*$")
_PLEASE = re.compile(r"(?i),? (?:please|pls|plz|thanks|thx|btw)$")
_SMILE = re.compile(r"\s*[:;]-?[)DP(]+\s*$")
_OPPOSITE = re.compile(r"(?i)^not (?:an? )?[\w-]+\W*$")
_HAS_TO = re.compile(r"(?i)^(?:it|they|this|everything) (?:has to|have to|must|needs? to)\b")
_HANGS = re.compile(
    r"(?i)^(?:also |therefore |thus |hence )*(?:must|may|shall|should|can|can't|cannot|is|are|has|have|stays?|remains?|gets?|goes)\b(?! you\b| we\b| i\b)"
)
"""A piece that has its subject in the piece before it."""
_ONWARD = re.compile(
    r"(?i)^(?:and |but |so |also |please |ok(?:ay)? )*(?:from (?:now|here|today|tomorrow)(?: on(?:wards?)?| forward)?|going forward"
    r"|in (?:the )?future|starting (?:now|today)|henceforth)\W*$"
)
"""When a rule begins: no rule of its own."""
_FOR_EXAMPLE = re.compile(r"(?i)^(?:such as|like|including|e\.g\.|for example|i\.e\.|namely)\b")
_TURN = re.compile(r"(?i)\b(?:but|still|however|so)\s*$")
_AND = re.compile(r"(?:,\s*|\s+)and\s+")
_INSIDE = re.compile(r"\(([^()]{8,160})\)")
_BECAUSE = re.compile(
    r"(?i),? (?P<why>(?:because|weil|since (?=(?:we|i|it|they|the|this|that|our|my|you|he|she|otherwise|there|some|all|many|most)\b))\b.+)$"
)
_CONDITION = re.compile(
    r"(?i)^(?:and |but |also |so )?(?:if|when(?:ever)?|where(?:ver)?|for|in|on|with|as|before|after|unless|until|except|at|during|inside"
    r"|outside|within|under|every|each|all|any|both|neither|once|while|whatever|regarding|concerning|apart)\b"
)
_CONTRAST = re.compile(
    r"(?i)^(?:please )?(?:(?:never|always|everywhere|no more|nothing more|no less|ever|period|full stop|no exceptions?|without exceptions?|at all times)\b(?: ever)?\W*$|(?:never|not) (?:[\"“`«'][^,;]*|[\w]+[.:/][\w.:/()]+)\W*$|(?:never|not) \w+ly\W*$|(?:never|not) \w+[.:/][\w.:/()]+\W*$|(?:never|not)(?: ever)? (?:by|in|into|on|onto|with|to|from|at|for|under|over"
    r"|even|via|through|inside|outside|before|after)\b)|^(?!no\b)(?!.*\b(?:is|are|use|must|may|should|can)\b)\S+(?: \S+){0,4} only\W*$"
)
"""The end of a statement that only says what it is not: "never by hand"."""
_GENERAL = re.compile(r"(?i)^(?:all|every|each|any|no|new|we|(?!the\b|my\b|our\b|a\b)[\w`·-]+s|state|code)\b")
_NOUNS = re.compile(
    r"(?i)\b(?:i|we|you|it|they|he|she|is|are|was|were|do|does|did|can|could|will|would|has|had|have|which|because)\b"
    r"|'(?:s|ll|re|m|ve|d)\b|n't\b"
)


class Rule(msgspec.Struct, frozen=True):
    """A rule in its user's words, and the reason that was given with it."""

    text: str
    reason: str = ""


def constraints(said: tuple[Sentence, ...]) -> tuple[Rule, ...]:
    """The rules that these sentences of a user state, each in its own words, in order."""
    found: list[Rule] = []
    last: Sentence | None = None
    headed = -1
    for one in said:
        for rule in _stated(one, under=one.block == headed):
            stated = _reasoned(rule)
            found.append(Rule(_whole(stated.text, last), stated.reason))
        if _opens(one):
            headed = one.block
        elif one.asks:
            headed = -1
        last = one
    return tuple(found)


def _opens(sentence: Sentence) -> bool:
    """Whether the rest of the paragraph stands under a heading for rules."""
    head = norms.HEAD.match(sentence.bare)
    return bool(head and _headed(head[1])) and not sentence.asks


def _headed(head: str) -> bool:
    """Whether words before a colon announce rules for the agent."""
    return bool(_RULED.search(head)) or (
        bool(norms.NORMS.search(head))
        and not norms.OTHER_RULES.search(head)
        and not (supposes(head) or reports(head) or _TOLD.search(head))
    )


def _reasoned(rule: str) -> Rule:
    reason = _BECAUSE.search(rule)
    return Rule(rule[: reason.start()], rule[reason.start("why") :]) if reason and reason.start() > 8 else Rule(rule)


def _whole(rule: str, last: Sentence | None) -> str:
    """The rule with the sentence before it, where it only says "it"."""
    if last is None or last.asks or not norms.POINTS.match(rule):
        return rule
    whole = f"{' '.join(last.text.split()).rstrip(' .!;')}; {rule}"
    return whole if len(whole) <= LONGEST else rule


def _stated(sentence: Sentence, *, under: bool) -> Iterator[str]:
    text, bare = sentence.text, sentence.bare
    polite = norms.POLITE.match(bare)
    if polite:
        text, bare = text[polite.end() :].rstrip("? "), bare[polite.end() :].rstrip("? ")
        if bare.casefold().startswith("not "):
            text, bare = f"do {text}", f"do {bare}"
    elif tag := _TAG.search(bare):
        text, bare = text[: tag.start()], bare[: tag.start()]
        if asks(msgspec.structs.replace(sentence, text=text, bare=bare, asks=False)):
            return
    elif sentence.asks or (asks(sentence) and not _opens(sentence)):
        return
    if _HEDGED.search(bare.rstrip(".! ")):
        return
    listed = strong = sentence.bullet and _headed(sentence.lead)
    norm = under or listed
    if (
        sentence.bullet
        and norms.LIST.match(sentence.lead)
        and not norms.OTHER_RULES.search(sentence.lead)
        and not supposes(bare)
        and not reports(bare)
    ):
        yield from _kept(text)
        return
    head = norms.HEAD.match(bare)
    if head and norms.DECIDED.match(head[1]):
        return
    if head and (norms.FEATURE.match(head[1]) or (_TOLD.search(head[1]) and not _RULED.search(head[1]))):
        return
    if head:
        listed = listed or _headed(head[1])
        strong = strong or bool(norms.STRONG.search(head[1]))
        if listed or (norms.TALK.search(head[1]) and not norms.DEMANDED.search(head[1])):
            norm = norm or listed
            text, bare = text[head.end() :], bare[head.end() :]
        else:
            found = tuple(_items(bare, head.end(), norm=False))
            if found:
                for start, end in _joined(bare, found, head.end()):
                    yield from _kept(text[0 if start == head.end() else start : end])
                return
    found = tuple(_items(bare, 0, norm=norm, listed=listed, general=under, strong=strong))
    for start, end in _joined(bare, found, 0):
        yield from _kept(text[start:end])
    if not found and (inner := next((one for one in _INSIDE.finditer(bare) if _ordered(one[1])), None)):
        yield from _kept(text if not reports(bare[: inner.end()]) else "")


def _joined(bare: str, found: tuple[tuple[int, int], ...], begin: int) -> Iterator[tuple[int, int]]:
    """The rules of a sentence; one that only points ("leave it alone") with what is before it."""
    held: tuple[int, int] | None = None
    for start, end in found:
        if start > begin and _points(bare[start:end]):
            held = (held[0] if held else begin, end)
            continue
        if held:
            yield held
        held = (start, end)
    if held:
        yield held


def _points(clause: str) -> bool:
    return bool(norms.POINTS.match(norms.LEADING.sub("", clause.strip())))


def _ordered(clause: str) -> bool:
    return not supposes(clause) and any(pattern.search(clause) for pattern in norms.OPENINGS)


def _items(
    bare: str, begin: int, *, norm: bool, listed: bool = False, general: bool = False, strong: bool = False
) -> Iterator[tuple[int, int]]:
    """Where in a sentence its rules are: each from the piece that demands to the next one that does."""
    pieces = list(_pieces(bare, begin, _BREAK))
    if norm:
        pieces = [part for piece in pieces for part in _parted(bare, *piece)]
    starts: list[int] = []
    turned, told, onward = begin, False, False
    for n, (start, end) in enumerate(pieces):
        piece = bare[start:end]
        if _TURN.search(bare[begin:start]):
            turned = start
        if onward:
            onward = False
            continue
        if _ONWARD.match(piece):
            starts.append(n)
            onward = told = True
            continue
        if n and (
            _CONTRAST.match(piece) or (_OPPOSITE.match(piece) and norms.CUSTOM.match(bare[slice(*pieces[n - 1])]))
        ):
            if (
                not told
                and (n > 1 or len(bare[slice(*pieces[n - 1])].split()) > 2)
                and not _lists_nothing(bare, *pieces[n - 1])
            ):
                first = n - 1
                while first and first - 1 not in starts and not _NOUNS.search(bare[slice(*pieces[first - 1])]):
                    first -= 1
                starts.append(first)
                told = True
            if told:
                continue
        told = (
            _demands(piece, bare[turned:start], norm=norm and not general)
            or (listed and _lists(piece, first=n == 0, strong=strong))
            or (general and n == 0 and bool(_GENERAL.match(piece)) and _lists(piece, first=False))
        )
        if told:
            starts.append(n)
    if not starts:
        if len(pieces) > 1 and _demands(bare[begin:], "", norm=False):
            yield begin, len(bare)
        return
    for at, following in zip(starts, (*starts[1:], len(pieces)), strict=True):
        start = pieces[at][0]
        if at == starts[0] and at > 1 and _FOR_EXAMPLE.match(bare[slice(*pieces[at - 1])]):
            start = pieces[at - 2][0]
        elif (at > 0 and at - 1 not in starts and _HANGS.match(bare[slice(*pieces[at])])) or (
            at == starts[0] and at > 0 and _leads(bare[pieces[at - 1][0] : pieces[at - 1][1]])
        ):
            start = pieces[at - 1][0]
        yield start, pieces[following - 1][1]


def _lists_nothing(bare: str, start: int, end: int) -> bool:
    """Whether a piece is a doubt, a story or a report, which a contrast behind it makes no rule."""
    piece = bare[start:end].strip()
    return supposes(piece) or reports(bare[:end]) or bool(norms.STORIES.search(piece) or norms.EXPLAINED.match(piece))


def _leads(piece: str) -> bool:
    """Whether a piece before a rule belongs to it: a condition, or the first names of its subject."""
    return bool(_CONDITION.match(piece)) or (len(piece.split()) <= 4 and norms.NAMES.match(piece) is not None)


def _pieces(bare: str, begin: int, breaks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    start = begin
    for match in breaks.finditer(bare, begin):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(bare):
        yield start, len(bare)


def _parted(bare: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A piece under a heading for rules, parted at an "and" between two statements."""
    parts = [(start + a, start + b) for a, b in _pieces(bare[start:end], 0, _AND)]
    alike = all(norms.GENERIC.match(bare[a:b]) or norms.DEMANDED.search(bare[a:b]) for a, b in parts)
    yield from parts if len(parts) > 1 and alike else ((start, end),)


def _lists(piece: str, *, first: bool, strong: bool = False) -> bool:
    """Whether a piece in a list of rules is one, though it has no word that demands."""
    piece = piece.strip().rstrip(".!")
    if supposes(piece) or wishes(piece) or norms.STORIES.search(piece):
        return False
    if norms.EXPLAINED.match(piece) and not _HAS_TO.match(piece):
        return False
    return bool(norms.GENERIC.match(piece) or _HAS_TO.match(piece)) or (
        first and strong and 1 <= len(piece.split()) <= 5 and not _NOUNS.search(piece)
    )


def _demands(clause: str, before: str, *, norm: bool) -> bool:
    lead = len(clause) - len(clause.lstrip())
    clause = _PLEASE.sub("", _SMILE.sub("", clause.strip().rstrip(".!")))
    if not clause or supposes(clause) or supposes(before) or norms.STORIES.search(clause):
        return False
    if norm and norms.DEMANDED.search(clause) and not norms.EXPLAINED.match(clause) and not wishes(clause):
        return True
    if before and norms.SUGGESTS.match(before) and len(clause.split()) <= 3:
        return False
    if before and norms.PRAISE.match(before) and re.match(r"(?i)(?:no|not) (?!other|more|new|further)", clause):
        return False
    for pattern in norms.OPENINGS:
        match = pattern.search(clause)
        if match and not reports(before + " " * lead + clause[: match.end()]) and not wishes(clause[: match.end()]):
            return True
    for pattern in norms.STATEMENTS:
        match = pattern.search(clause)
        if (
            match
            and not reports(before + clause[: match.end()])
            and not wishes(clause[: match.end()])
            and (norms.FIRM.search(match[0]) or not norms.BROKEN.search(clause[match.end() :]))
        ):
            return True
    return any(
        (match := pattern.search(clause)) and not reports(before + clause[: match.end()]) for pattern in norms.WANTED
    )


def _kept(text: str) -> Iterator[str]:
    words = " ".join(text.split()).strip(" ,-–—")
    words = norms.LEADING.sub("", words)
    words = _SMILE.sub("", words).rstrip(" .!,;:")
    if len(words) >= 5:
        yield words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"

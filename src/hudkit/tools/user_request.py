"""What the user's last message asks to be recorded, by its own words: "new rule: …", "tick that step off".

Small models file what they are asked to record under the wrong heading: of sixty direct requests a 1.5B model put
eight decisions, notes and blockers among the rules. Where the user has named the heading, his word counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from hudkit.errors import OperationError
from hudkit.sections.items import SectionItem
from hudkit.sections.state import HudState
from hudkit.tools.replaced_item import items_by_group, same_item
from hudkit.tools.resolve_item import content_words, count_shared, ids_in, resolve_item, shares_word, told_item


class UserRequest(NamedTuple):
    """What one sentence asks for: to `add`, `end`, `change` or `read` something of a group (`decisions`, `notes`, …).

    `words` are the message, or the part of it that speaks of this.
    """

    group: str
    action: str
    words: str


_GROUPS = {
    "task": r"task(?: description)?",
    "decisions": r"(?:dec(?:is|si)i?ons?|as decided|what (?:we|i) (?:decided|agreed))",
    "preferences": r"preferences?",
    "constraints": r"(?:rules?|constraints?|requirements?)",
    "blockers": r"(?:block(?:ers?|ing)|hold(?:ing|s)? (?:us|me) up|in (?:our|the|my) way)",
    "errors": r"(?:errors?|bugs?|failures?)",
    "steps": (
        r"(?:steps?|(?<!change of )plan|to-?dos?(?: list)?|list of (?:steps|things to do)"
        r"|(?:off|on|to) (?:the|our|my) list)"
    ),
    "notes": r"notes?",
}
"""The nouns of each group; of two groups that a sentence names, the first is meant ("a blocker, note it as such")."""

_NOT_A_PART = (
    r"(?=\W{0,4}$|\W{0,3}[^\w\s]"
    r"|\W{1,3}(?:about|accordingly|again|against|and|any|anymore|are|aren|as|at|by|can|didn|do|does|doesn|don"
    r"|down|first|for|from|has|hasn|have|haven|how|i|in|is|isn|it|like|listed|made|me|more|must|next|of|off|on"
    r"|or|out|over|please|pls|should|so|still|that|the|to|too|until|up|us|was|wasn|we|where|which|while|with|you)\b)"
)
"""Behind a noun of the HUD's: "the rule about Fridays", and not "the rule engine"."""

_NOUNS = {group: re.compile(rf"\b{nouns}\b{_NOT_A_PART}", re.IGNORECASE) for group, nouns in _GROUPS.items()}

_ADDS = re.compile(
    r"\b(?:add|set|put|make|log|record|register|note|write|jot|save|store|keep|treat|goes|new|another"
    r"|(?:one|two|three) more|remember|it is|that['’]s|take (?:it|this|that) (?:down|as))\b",
    re.IGNORECASE,
)
_WRITES_DOWN = re.compile(r"\b(?:log|record|register|note|write|jot|save|put|new|another|remember)\b", re.IGNORECASE)
"""What is added in these words is an error of the HUD's; "add an error to the form" is work."""

_ENDS = re.compile(
    r"\b(?:drop|remove|delete|withdraw|strike|scrap|cancel|lift|lifted|forget|throw away|get rid of|clear|close"
    r"|resolve|resolved|tick|check|cross|mark|take (?:\w+ ){1,4}(?:off|out|back)|taken (?:off|out)|can go"
    r"|is (?:off|over|gone|history)|no longer applies|falls)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:change|update|correct|replaces?|replaced|amend|reword|revise|extend|fix|outdated|has grown)\b",
    re.IGNORECASE,
)
_CHANGED = ("task", "decisions", "steps", "notes")
"""Groups of which a sentence changes an item; an error that is to be fixed is work."""

_RELEASES = re.compile(
    r"\b(?:not|no longer|nothing is|isn['’]?t|aren['’]?t|any ?more).{0,9}\b(?:block\w*|hold\w*|in)\b|\bunblocked\b",
    re.IGNORECASE,
)

_LABEL = re.compile(r"^\W{0,4}(?P<label>[\w-]+(?: [\w-]+){0,5}) ?(?::|!!|->)", re.IGNORECASE)
"""The words in front of a colon at the beginning of a sentence: "next step: …"."""

_POLITE = r"^\W{0,4}(?:(?:please|so|and|ok|hey|now|can you|could you|would you)\W{1,3}){0,3}"
_QUESTION = re.compile(
    rf"{_POLITE}(?:what|what['’]?s|which|who|where|when|why|how|any|anything"
    r"|(?:is|are) (?:there|any\w*)|(?:do|did|have) (?:we|you))\b",
    re.IGNORECASE,
)
_SHOW = re.compile(rf"{_POLITE}(?:list|show|tell|give me|let me see|remind me|read)\b", re.IGNORECASE)
_MOST_WORDS = 8
"""Words of a question without a mark at its end; a longer sentence tells something."""
_ASKED_FOR = {
    "decisions": re.compile(
        r"\bdid we (?:decide|choose|pick|settle|agree)\b|\bwe(?:['’]?ve| have)? (?:decided|agreed)\b", re.IGNORECASE
    ),
    "blockers": re.compile(r"\b(?:block\w*|stuck|in (?:the|our) way|held up|waiting (?:for|on))\b", re.IGNORECASE),
    "steps": re.compile(
        r"\b(?:(?:next|left|open|remains?)(?: to do)?\b\W{0,3}$|still\b.{0,20}\bto do\b)", re.IGNORECASE
    ),
    "notes": re.compile(r"\b(?:noted|wr(?:o|i)te down|written down|note of)\b", re.IGNORECASE),
    "preferences": re.compile(r"\b(?:how|what) i (?:like|prefer)\b", re.IGNORECASE),
    "task": re.compile(r"\b(?:supposed to|the goal|(?:doing|working on) (?:here|now))\b", re.IGNORECASE),
    "snapshot": re.compile(r"\b(?:everything|all of it|the whole (?:record|hud|state))\b", re.IGNORECASE),
}
"""How questions name a group without its noun."""

_WORDINGS = (
    (
        ("decisions", "add"),
        (
            r"\b(?:we|i|team|everybody|\w+ and i)(?:['’]?ve| have|['’]re| are)?(?: all| now| just| finally)? "
            r"(?:decided|settled on|agreed|chose|chosen|opted for|go with|going with)\b"
            r"|\b(?:it was|that['’]s|it['’]s) (?:decided|final|settled)\b|^\W{0,4}decided\b"
        ),
    ),
    (("blockers", "end"), r"(?:\bnot|n['’]t|\bno longer) (?:blocked|stuck|waiting)\b"),
    (
        ("blockers", "add"),
        r"\b(?:stuck|blocked)\b|\bwaiting (?:for|on)\b|\b(?:can['’]?t|cannot) (?:go on|continue|proceed)\b",
    ),
    (
        ("preferences", "add"),
        (
            r"\bi(?:['’]d| would)? (?:prefer|rather|like)\b"
            r"|\balways (?:answer|call|explain|give me|show me|speak|tell me|write to me)\b"
        ),
    ),
    (
        ("errors", "end"),
        r"\b(?:is|are|got) (?:now )?(?:fixed|solved|resolved|green again)\b|\b(?:works?|pass(?:es)?) again\b",
    ),
    (
        ("steps", "end"),
        (
            r"\b(?:tick|check|cross) (?:it|that|this|them)\b"
            r"|\bmark (?:it|that|this|them) (?:as )?(?:completed?|done|finished)\b"
        ),
    ),
    (("steps", "add"), r"\b(?:more thing|things?) to do\b|\bwhat comes next is\b|\bnext,? we\b"),
    (
        ("notes", "add"),
        (
            r"\bnote (?:that|down|it|this)\b|\b(?:jot|write) (?:\w+ )?down\b|\bsave (?:that|this)\b|\bremember\b"
            r"|\bkeep (?:(?:that|this|it)\W{1,3})?(?:in mind|somewhere)\b|\bfor later\b|\bfyi\b|\bdon['’]t forget\b"
            r"|\bfor the (?:record|log)\b"
        ),
    ),
)
_SAYS = tuple((asked, re.compile(pattern, re.IGNORECASE)) for asked, pattern in _WORDINGS)
"""What sentences say that name no group: the first that is found is meant."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def requests_in(message: str) -> tuple[UserRequest, ...]:
    """Return what a message asks to be done with the HUD's entries, each thing once; empty where it asks for nothing.

    A message that names a group ("put it down as a blocker") asks for that alone; else the first of its plain
    wordings counts ("we're stuck on …").
    """
    sentences = [part for part in _SENTENCES.split(message.strip()) if part]
    questions = [sentence for sentence in sentences if _asks(sentence)]
    requests = [*filter(None, map(_named, sentences))] or [*filter(None, (_named(message),))]
    named = {request[:2]: request for request in requests}
    if len(named) == 1:
        return tuple(request._replace(words=message) for request in named.values())
    if questions and not named:
        group = _named_group(message)  # "How many are there? It should be in your notes."
        return (UserRequest(group, "read", message),) if group else ()
    if named:
        return tuple(named.values())
    worded = (UserRequest(*asked, message) for asked, pattern in _SAYS if pattern.search(message))
    return tuple(islice(worded, 1))


def _named(sentence: str) -> UserRequest | None:
    """What a sentence asks for that names a group."""
    bare = _QUOTED.sub(" ", sentence)
    if _asks(sentence):
        asked = (group for group, pattern in _ASKED_FOR.items() if pattern.search(bare))
        group = _named_group(bare) or next(asked, "")
        return UserRequest(group, "read", sentence) if group else None
    label = _LABEL.match(bare)
    group = _named_group(label["label"]) if label else ""
    if label and group:
        return UserRequest(group, _action(label["label"], group) or "add", sentence)
    group = _named_group(bare)
    action = _action(bare, group) if group else ""
    if group == "notes" and _NOTE_THAT.match(bare):
        action = "add"
    if not group and (id := _ID.search(bare)) and (_OVER.search(bare) or _ENDS.search(bare)):
        return UserRequest(_OF_LETTER[id[1]], "end", sentence)
    return UserRequest(group, action, sentence) if action else None


_NOTE_THAT = re.compile(r"^\W{0,4}(?:(?:and|also|please|pls|ok)\W{1,3}){0,3}note (?:that|down)\b", re.IGNORECASE)
_ID = re.compile(r"\b([bcdenps])\d{1,3}\b")
_OF_LETTER = {group[0]: group for group in _GROUPS}
"""The group of an id by its letter: `s2` is a step."""

_OVER = re.compile(
    r"\b(?:done|finished|completed?|fixed|resolved|solved|gone|over|obsolete|superseded)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")


def _asks(sentence: str) -> bool:
    if _SHOW.match(sentence):
        return True
    return bool(_QUESTION.match(sentence)) and (sentence.endswith("?") or len(sentence.split()) <= _MOST_WORDS)


def _named_group(text: str) -> str:
    return next((group for group, nouns in _NOUNS.items() if nouns.search(text)), "")


def _action(sentence: str, group: str) -> str:
    """What is asked to be done with what the sentence names: the verb that stands nearest to the noun."""
    if group == "blockers" and _RELEASES.search(sentence):
        return "end"
    noun = _NOUNS[group].search(sentence)
    assert noun is not None
    verbs = (
        ("end", _ENDS),
        *((("change", _CHANGES),) if group in _CHANGED else ()),
        ("add", _WRITES_DOWN if group == "errors" else _ADDS),
    )
    near = [
        (abs(verb.start() - noun.start()), action)
        for action, pattern in verbs
        for verb in pattern.finditer(sentence)
        if verb.start() != noun.start()
    ]
    return min(near, key=lambda each: each[0], default=(0, ""))[1]


# -- a call that files what was asked for under another heading ---------------------------------------------------


class MendedCall(NamedTuple):
    """The call that does what the user asked for, and what the agent is told beside its answer."""

    operation: str
    arguments: dict[str, object]
    remark: str


_ADDING = {
    "task": "task.set", "decisions": "decisions.record", "preferences": "preferences.add",
    "constraints": "constraints.add", "blockers": "blockers.add", "errors": "errors.add", "steps": "steps.add",
    "notes": "notes.add",
}  # fmt: skip
_NAMES = {
    "task": "the task", "decisions": "a decision", "preferences": "a preference", "constraints": "a rule",
    "blockers": "a blocker", "errors": "an error", "steps": "a step", "notes": "a note",
}  # fmt: skip
_OF_AN_ITEM = ("remove", "complete", "resolve", "supersede", "update")
_IN_HIS_WORDS = "It stands in the user's words."
_ENDING = {"steps": "complete", "errors": "resolve"}
_DONE = re.compile(
    r"\b(?:done|finished|completed?|ready|written|through|tick|check|close|cross|mark|pass(?:es|ed)|over|work(?:s|ed))\b",
    re.IGNORECASE,
)
"""Words by which a step that ends was done; else it is not to be done."""

_MIN_SHARE, _MIN_SHARED = 0.5, 3
"""Words of a call that stand in the user's message, where the call records what he said: half of them, or three."""


def mended_call(state: HudState, operation: str, arguments: Mapping[str, object]) -> MendedCall | None:
    """Return the call that does what the user's last message asks for, where a call that adds something does not.

    `None` where it does, where the message asks for nothing, or where the call is about something else.
    """
    group, _, verb = operation.partition(".")
    message = state.session.request
    requests = requests_in(message)
    if operation == "search" and (not requests or requests[0].group not in _LISTS or _OF_THE_PAST.search(message)):
        return None
    if requests and all(request.action == "read" for request in requests):
        shown = _READING.get(requests[0].group, f"{requests[0].group}.list")
        return (
            None if shown == operation else MendedCall(shown, {}, "The user asks to see this; nothing was recorded.")
        )
    if operation == "search" or verb == "list":
        return None
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if verb in _OF_AN_ITEM:
        asked = _ASKED_BY.get(verb, ("end",))
        of_verb = [request for request in requests if request.action in asked]
        same = next((each for each in of_verb if each.group == group), next(iter(of_verb), None))
        names = [str(arguments[name]) for name in ("item", "id") if arguments.get(name)] or texts
        if same is None or not texts:
            return None
        mended = _mended_name(state, operation, names, same)
        if mended is not None and same.action == "change":
            mended.arguments["text"] = max(texts, key=len)
        return mended
    text = texts[0] if texts and " " in texts[0].strip() else ""
    words = content_words(text)
    shared = _shared(words, message)
    if verb not in ("add", "record", "set") or not words or shared < min(_MIN_SHARED, _MIN_SHARE * len(words)):
        return _mended_copy(state, requests, operation, text)
    request = max(requests, key=lambda each: _shared(words, each.words), default=None)
    if request is None or request.action == "read":
        return None
    text = _without_request(message, text)
    if request.action == "add":
        # fewer words than a sentence has: the user's say more
        if len(words) < _MIN_SHARED <= len(content_words(request.words)) and len(message) < _WHOLE:
            return MendedCall(_ADDING[request.group], {"text": request.words}, _IN_HIS_WORDS)
        if request.group == group:
            return None
        return MendedCall(_ADDING[request.group], {"text": text}, f"The user speaks of {_NAMES[request.group]}.")
    return _mended_change(state, request, group, text)


_LISTS = ("blockers", "errors", "steps", "constraints", "preferences", "snapshot")
_OF_THE_PAST = re.compile(r"\b(?:ago|conversations?|ever|history|said|say|search|talk(?:ed)?|told)\b", re.IGNORECASE)
"""Words of a question that a list of what holds now does not answer."""


def _without_request(message: str, text: str) -> str:
    """What the user says beside the sentence that asks for it, where a call repeats that one: "Write it down."."""
    sentences = _SENTENCES.split(message.strip())
    beside = [sentence for sentence in sentences if sentence.casefold().strip(".! ") != text.casefold().strip(".! ")]
    repeats = len(beside) < len(sentences) and _named(text) is not None
    return " ".join(beside) if repeats and beside else text


_ASKED_BY = {"update": ("change",), "supersede": ("change", "end")}
_READING = {"task": "task.get", "snapshot": "snapshot"}


def _mended_name(state: HudState, operation: str, names: Sequence[str], request: UserRequest) -> MendedCall | None:
    """The call with the item of which the user speaks, where the agent names none that there is, or another."""
    group, _, verb = operation.partition(".")
    items = items_by_group(state).get(request.group, ())
    meant = _told(items, request.words) or _told(items, " ".join((request.words, *names)))
    if meant is None:
        return None
    wanted = verb if request.action == "change" else _ending(request)
    for name in names if (group, verb) == (request.group, wanted) else ():
        with suppress(OperationError):
            item = resolve_item(items, name, group.removesuffix("s"), lambda each: each.words, places=True)
            if item.id == meant.id or _shared(content_words(item.words), request.words):
                return None
    if request.action == "change":
        changed = group == request.group and verb == "update"
        return MendedCall(operation, {"item": meant.id}, "") if changed else None
    return MendedCall(f"{request.group}.{wanted}", {"item": meant.id}, "")


def _mended_copy(state: HudState, requests: Sequence[UserRequest], operation: str, text: str) -> MendedCall | None:
    """What the user asked for in the place of a call that says nothing, or repeats what he does not speak of.

    Raises `OperationError` where the entry is one of another group, and he asked for nothing that is known.
    """
    groups, group = items_by_group(state), operation.partition(".")[0]
    copied = [other for other, items in groups.items() if text and _repeats(items, text)]
    copied += ["task"] if text and text.strip().casefold() == state.task.description.casefold() else []
    request = requests[0] if len(requests) == 1 else None
    says_nothing = bool(copied) or (request is not None and not text and operation == _ADDING.get(request.group))
    if request is not None and says_nothing and request.action == "add" and len(request.words) < _WHOLE:
        return MendedCall(_ADDING[request.group], {"text": request.words}, _IN_HIS_WORDS)
    if request is not None and request.action == "end" and copied:
        meant = _told(groups.get(request.group, ()), request.words)
        if meant is not None:
            return MendedCall(f"{request.group}.{_ending(request)}", {"item": meant.id}, "")
    if copied and copied[0] not in (group, "task"):
        raise OperationError(f"this is one of the {copied[0]} already", instead=(f"{copied[0]}.list", {}))
    return None


def _repeats(items: Sequence[SectionItem], text: str) -> bool:
    """Return whether a text says what one of the items says, in its words or nearly."""
    if same_item(items, text) is not None:
        return True
    words = content_words(text)
    return any(
        _shared(of_item, text) >= max(_MIN_SHARED, _MOST_OF * len(of_item))
        and _shared(words, item.words) >= _MOST_OF * len(words)
        for item in items
        for of_item in (content_words(item.words),)
    )


_MOST_OF = 0.75
"""Of the words of an item and of a text that repeats it, those that both have."""

_WHOLE = 300
"""Characters of a message from which on the log has only its beginning (`session.start`)."""


def _told(items: Sequence[SectionItem], words: str) -> SectionItem | None:
    """The one item that the user names by its id, by words that no other has, or by the only word of any."""
    named = ids_in(items, words)
    if named:
        return named[0] if len(named) == 1 else None
    item = told_item(items, words, lambda each: each.words)
    sharing = [each for each in items if count_shared((each.words,), words)[0]] if item is None else []
    return sharing[0] if len(sharing) == 1 else item


def _ending(request: UserRequest) -> str:
    """The verb of the operation by which an item of the group ends."""
    verb = _ENDING.get(request.group, "remove")
    return "remove" if verb == "complete" and not _DONE.search(request.words) else verb


def _mended_change(state: HudState, request: UserRequest, group: str, text: str) -> MendedCall | None:
    if request.group == "task":
        if group == "task":
            return None
        # what the call says may be a part of the task only
        raise OperationError("the user speaks of the task", hint="Say the whole of it.", instead=("task.get", {}))
    items = items_by_group(state)[request.group]
    item = _told(items, f"{request.words} {text}")
    if item is None and not _NOUNS[request.group].search(request.words):
        return None
    if item is None:
        raise OperationError(
            f"the user speaks of one of the {request.group}",
            hint="Name it.",
            instead=(f"{request.group}.list", {}),
        )
    if request.action == "end" and (group, request.group) != ("decisions", "decisions"):
        return MendedCall(f"{request.group}.{_ending(request)}", {"item": item.id}, "")
    if request.group == "decisions":
        return MendedCall("decisions.record", {"text": text, "supersedes": item.id}, "")
    if request.group in ("notes", "steps"):
        return MendedCall(f"{request.group}.update", {"item": item.id, "text": text}, "")
    return None


def _shared(words: Sequence[str], message: str) -> int:
    others = content_words(message)
    return sum(shares_word(others, word) for word in words)

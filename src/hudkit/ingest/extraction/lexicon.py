"""Classes of words that more than one reader of plain words asks for: verbs of work, names, sets of rivals.

A rival of a word is another one of its class of which a thing has one at a time: "Answer in English" and "back to
German" are about one matter, though they share no word.
"""

# ruff: noqa: E501 (lists of words)
from __future__ import annotations

import re
from functools import lru_cache

_CACHED_TEXTS = 4_096

VERBS = frozenset(
    """
    accept add address adjust adopt agree alert align allow alter always announce annotate answer append apply approve
    archive ask assign assume attach audit avoid back base batch begin block book break bring bring buffer build bump
    bundle cache calculate call cancel capitalise capitalize carry cast catch change charge check choose cite clean
    clear clone close collect combine come comment commit compare compile complete compress compute confirm connect
    consider consult contact contain continue convert copy correct count cover create credit crop cut deal declare
    decline default defer define delay delegate delete deliver deploy describe design detect develop disable discard
    discuss display divide do document double download draft draw drop duplicate edit email embed enable encode encrypt
    end enforce ensure enter escalate escape estimate exclude exit expect explain explore export expose extend extract
    fail fall favour favor fetch file fill filter find finish fix flag focus follow force forget format forward
    generate get give go grant greet group guard guess handle hide highlight hold host ignore implement import
    include increase indent indicate inform inline insert install introduce invert invite invoice isolate join keep
    kill label land launch lead leave let lift limit link lint list load localise localize lock log look lower mail
    maintain make manage mark mask match measure mention merge migrate mirror mix mock model monitor mount move name
    narrow need negotiate nest normalise normalize note notify number offer omit open optimise optimize order organise
    organize outline override overwrite pack page paginate paint paraphrase park parse pass paste pay pick pin ping
    pipe place plan plot point post prefer prefix prepare present preserve prevent print prioritise prioritize process
    produce prompt proofread propose protect provide publish pull purge push put quote raise randomise read rebase
    rebuild record reduce refactor refer reference reformat refuse regenerate register reject release rely reload remind
    remove rename render reopen reorder repeat replace reply report reproduce request require rerun resend reserve
    reset resize resolve respect respond restart restore restrict retain retry return reuse revert review rewrite ring
    roll rotate round route run sanitise sanitize save say scan schedule scope score search secure seed select send
    separate serve set share shift ship shorten show shrink sign simplify skip sleep soften sort speak specify spell
    split squash stage start state stay stick stop store stream strip structure style submit subscribe suffix suggest
    sum summarise summarize support suppress suspend swap switch sync tag take talk target tell test think throttle
    throw time tidy title touch track translate transcribe treat trim truncate trust try turn type undo unify update
    upgrade upload use validate vary vendor verify version view wait walk warn watch weigh wipe work wrap write zip
    """.split()  # noqa: SIM905
)
"""Verbs of what people have others do, as an order begins with them."""

_CLASSES: tuple[str, ...] = (
    "english german french spanish italian dutch portuguese polish czech russian swedish norwegian danish finnish greek turkish japanese chinese korean welsh kotlin java python ruby golang rust typescript javascript",
    "british american",
    "tabs tab spaces space",
    "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday sundays",
    "morning mornings afternoon afternoons evening evenings",
    "red green blue yellow orange purple black white grey gray pink brown teal",
    "left right",
    "top bottom",
    "dark light",
    "short shorter brief concise terse long longer detailed verbose thorough one-liner one-liners",
    "formal informal casual",
    "daily weekly fortnightly monthly quarterly yearly",
    "json yaml toml xml csv",
    "pdf word html markdown",
    "metric imperial",
    "bullets bullet prose sentences tables table paragraphs",
    "active passive",
    "singular plural",
    "paper digital",
    "public private",
)
"""Words of which one excludes the others of its row."""

_CLASS_OF = {word: number for number, row in enumerate(_CLASSES) for word in row.split()}
_SAME = (
    "tab",
    "space",
    "short brief concise terse one-liner",
    "long detailed verbose thorough",
    "bullet",
    "table",
    "longer",
    "shorter",
)
_FOLDED = {word: group.split()[0] for group in _SAME for word in group.split()} | {
    "longer": "long",
    "shorter": "short",
}
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NO_NAMES = frozenset({"I", "OK", "Ok"})
_NAME = re.compile(r"[A-Z][\w.+#]*|(?<!\w)\w*\d[\w.+#]*")


@lru_cache(maxsize=_CACHED_TEXTS)
def rivals_in(text: str) -> dict[int, frozenset[str]]:
    """Return the words of a text that exclude others, by the number of their class."""
    classes: dict[int, set[str]] = {}
    for word in _WORD.findall(text.casefold()):
        number = _CLASS_OF.get(word)
        if number is not None:
            singular = word[:-1] if word.endswith("s") and word[:-1] in _CLASS_OF else word
            classes.setdefault(number, set()).add(_FOLDED.get(singular, singular))
    return {number: frozenset(words) for number, words in classes.items()}


@lru_cache(maxsize=_CACHED_TEXTS)
def names_in(text: str) -> frozenset[str]:
    """Return what a text writes like a name, in lower case: with a capital that begins no sentence, or with a digit."""
    names = set()
    for match in _NAME.finditer(text):
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?:"
        word = match.group().rstrip(".")
        if word in _NO_NAMES:
            continue
        if not begins or any(letter.isupper() or letter.isdigit() for letter in word[1:]):
            names.add(word.casefold())
    return frozenset(names)


def with_rival(text: str, correction: str) -> str:
    """Return a text with its one word of a class that a correction has another word of; empty where it has none.

    `with_rival("Answer in German", "back to English, please")` is `Answer in English`.
    """
    ours, theirs = rivals_in(text), rivals_in(correction)
    for number in ours.keys() & theirs.keys():
        new = theirs[number] - ours[number]
        if len(ours[number]) != 1 or len(new) != 1 or theirs[number] & ours[number] == theirs[number]:
            continue
        old_words = [match for match in _ANY_WORD.finditer(text) if _CLASS_OF.get(match.group().casefold()) == number]
        new_words = [
            match.group()
            for match in _ANY_WORD.finditer(correction)
            if _CLASS_OF.get(match.group().casefold()) == number and rivals_in(match.group()).get(number) == new
        ]
        if len(old_words) == 1 and new_words:
            return text[: old_words[0].start()] + new_words[-1] + text[old_words[0].end() :]
    return ""


_ANY_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")

"""What a text is about, as far as rules can tell: things, with their article; neither deeds nor what somebody is."""

from __future__ import annotations

import re
from collections.abc import Collection

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PAUSE = re.compile(r"[.!?:;,…()\"“”—–]+")


def words(text: str) -> list[str]:
    """The words of a text, without numbers and marks."""
    return _WORD.findall(text)


def subjects(text: str, without: Collection[str] = ()) -> list[str]:
    """The things that are named in a text, each once, in their order: `the lighthouse`, `old charts`, `Rome`.
    `without` are words that are passed over, in lower case."""
    found: dict[str, str] = {}
    for part in _PAUSE.split(text):
        spoken = words(part)
        low = [one.casefold() for one in spoken]
        tells = [len(one) > 2 and one not in COMMON and one not in without for one in low]
        start = 0
        while start < len(low):
            end = start
            while end < len(low) and tells[end]:
                end += 1
            if end > start and (thing := _thing(spoken, low, start, end)):
                found.setdefault(thing.split()[-1].casefold(), thing)
            start = end + 1
    return list(found.values())


def _thing(spoken: list[str], low: list[str], start: int, end: int) -> str:
    """What the words from `start` to `end`, none of which is common, name together; nothing where it is no thing."""
    before = low[start - 1] if start else ""
    earlier = low[start - 2] if start > 1 else ""
    after = low[end] if end < len(low) else ""
    if after in _EMPTY or before in _BEING or (before in ("a", "an") and earlier in _NOT_THERE):
        return ""
    doing = before in _ACTING or (before in _HAVING and low[start].endswith("ed"))
    warning = start == 0 and end - start > 1 and low[0].endswith("s")  # "Warns boats": who does it is not said
    if doing or warning or (before in ("and", "now", "not") and end - start > 1):
        start, before = start + 1, ""
    if start == end:
        return ""
    if start < end - 2:
        start = end - 2
    kept = spoken[start:end]
    if start == 0:
        kept = [kept[0].lower(), *kept[1:]]
    many = low[end - 1].endswith("s") and not low[end - 1].endswith("ss")
    named = kept[-1][0].isupper()
    the = before == "the" or (before in _ONE and not many) or (before in _PLACED and not many and not named)
    return " ".join(["the", *kept] if the and not named else kept)


_ACTING = frozenset(("i", "you", "he", "she", "it", "we", "they", "who", "to"))
_BEING = frozenset(("are", "were", "am", "was", "is", "be", "being"))
_NOT_THERE = _BEING | {"without", "no"}
_HAVING = frozenset(("have", "has", "had", "been"))
_ONE = frozenset(words("a an this that my your his her our their its only same whole every each"))
_PLACED = frozenset(("at", "by", "in", "on", "since"))
_EMPTY = frozenset(
    words("""
    answer answers day days hand kind kinds part parts people person place point side sort thing things time times
    way ways week weeks word words year years
    """)
)
"""What they follow only says of which kind they are."""

COMMON = frozenset(
    words("""
    a all an and any are at but by can day did do for get got had has her him his how i if in is it its let may me my
    new not now of off on one or our out own say see she so the them to too two up use was way we who why yes
    yet you about above across after again against ago almost alone along already also although always among another
    anybody anyone anything around as asked asks ask be because become becomes been before began begin behind being
    believe below beside besides best better between both bring brings brought came cannot care cares come comes
    could days dear different does doing done down during each early either else enough even ever every everybody
    everyone everything everywhere fact feel feels felt few find finds first follow from gave give given gives go goes
    going gone good great half hand hardly have hear heard hears hello help helps here hers himself however into
    itself just keep keeps kept kind knew know known knows large last later least leave leaves left less like liked
    likes little live lived lives long look looking looks lost lots love loved loves made make makes making many
    matter maybe mean means mind mine more most mostly much must myself name near nearly need needs never next nice no
    nobody none nothing notice often once only other others otherwise ours over part people perhaps person place
    please point quiet quite rather ready really right room rooms said same saw saying says seem seems seen several
    shall should show shows side since small some somebody someone something sometimes somewhere soon sort speak
    speaks spoke still stay stays such sure take taken takes talk talks tell tells than thank thanks that their
    themselves then there these they thing things think thinks this those though thought three through time times
    today together told tomorrow tonight took toward towards tried true try trying turn turns under until upon us used
    uses usually very want wanted wants way ways week well were what whatever when where whether which while whole
    whom whose will wish with within without word words work works would write writes wrote year years yesterday your
    yours yourself youre answer answers collect collects agent agents persona character working worked bot read reads
    rest saw say sit sits put puts am ever yes
    """)
)
"""Words that name no thing, or say nothing of it."""

"""Which words of a text carry its subject, and how much of it two texts share."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[\w][\w./=()+#'-]*[\w)/]|\w")

EMPTY: frozenset[str] = frozenset(
    """
    a about above after again ago all alone also although altogether always am an and any anymore anything anyway are
    as ask at be because been before but by can could did do does don't dont done down each either else even ever
    every everything exactly far few fine first for from get go going good had has have he her here him his how i i'd
    i'll i'm i've if in instead into is isn't it it's its just keep kept leave let let's like long longer make makes
    many may maybe me might mind more most much must my need needn't never new no not nothing now of off oh ok okay on
    once one only or other our out over own part place please put quite rather really right said same say says see
    shall she should so some something still stop such sure take than that that's the their them then there these they
    thing this those though to too two under until up us use used using very want was way we we'll we're well were
    what when where which while who why will with within without would yes yet you you'd you'll you're you've your
    rule rules constraint restriction requirement decision decided decide longer
    """.split()  # noqa: SIM905
)
"""Words that say nothing of a subject."""

_NUMBERS = {"two", "one"}


@lru_cache(maxsize=4_096)
def subjects(text: str) -> frozenset[str]:
    """The stems of the words of a text that carry its subject; where none does, of all its words."""
    words = [word.casefold().strip("'") for word in _WORD.findall(text)]
    found = frozenset(stem(word) for word in words if word not in EMPTY or word in _NUMBERS)
    return found or frozenset(stem(word) for word in words)


def stem(word: str) -> str:
    """A word without its commonest endings; names (with dots, slashes, digits) stay as they are."""
    if not word.isalpha() or len(word) < 5:
        return word[:-1] if word.isalpha() and len(word) == 4 and word.endswith("s") else word
    for ending, kept in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + kept
    return word


def shared(a: frozenset[str], b: frozenset[str]) -> float:
    """How much of the smaller one is in the other: 0 to 1."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


@lru_cache(maxsize=4_096)
def folded(text: str) -> str:
    """A text as it is compared: letters and digits in lower case, single spaces."""
    return " ".join(re.findall(r"[\w./()=+#-]*\w[)]*", text.casefold()))

"""Names of agents: which can be, and whose look alike. Nobody shall pass for another, for the system, or for a role.

What two names share when they look alike is a skeleton (Unicode's UTS 39). A new name is looked up by its skeletons,
so that it costs the same in a world of five agents and in one of a hundred thousand.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from unicodedata import category, normalize

from hudkit.compose import visible
from hudkit.errors import OperationError

_RESERVED_NAMES = (
    *("system", "the system", "architect", "the architect", "you", "me", "user", "assistant", "human", "developer"),
    *("tool", "admin", "administrator", "moderator", "operator", "root", "owner", "host", "server", "hud", "hudkit"),
    *("everyone", "everybody", "all", "all agents", "here", "channel", "room", "nobody", "none", "null", "unknown"),
)
"""How the system signs, how chat templates and programs call speakers, and words that mean everybody or nobody."""

_STRUCTURE = frozenset(":()[]{}<>@#|")
"""Signs with which the system and formats mark who speaks."""


class NameIndex:
    """The agents of a world by what their names look like.

    names = NameIndex([(1, "Maria")])
    names.numbers_like("rnaria")  ->  {1}
    """

    def __init__(self, names: Iterable[tuple[int, str]] = ()) -> None:
        """`names`: numbers of agents, each with its name."""
        self._numbers: dict[str, set[int]] = {}
        for number, name in names:
            self.add(number, name)

    def add(self, number: int, name: str) -> None:
        """Take up the name of an agent."""
        for look in _skeletons(name):
            self._numbers.setdefault(look, set()).add(number)

    def remove(self, number: int, name: str) -> None:
        """Forget a name that an agent had; a name that it did not have is passed over."""
        for look in _skeletons(name):
            numbers = self._numbers.get(look, set())
            numbers.discard(number)
            if not numbers:
                self._numbers.pop(look, None)

    def numbers_like(self, name: str) -> set[int]:
        """Return the numbers of the agents whose names look like this one."""
        return {number for look in _skeletons(name) for number in self._numbers.get(look, ())}


def check_spelling(name: str, limit: int) -> str:
    """Return a name with single blanks, of `limit` characters at most.

    Raises `OperationError` for an empty or a long name, one of digits only, one with hidden characters, brackets or
    colons (the system writes `Ann (1) left.`), and one that looks like a word that stands for the system, for a role
    or for everybody.
    """
    name = " ".join(name.split())
    if not name or len(name) > limit:
        raise OperationError(f"a name of {len(name)} characters", hint=f"1 to {limit}")
    # Digits are agents' numbers in `@8`.
    if visible(name) != name or "\u2800" in name or normalize("NFKC", name).isdigit():
        raise OperationError(f"{visible(name)!r} cannot be a name", hint="Letters that can be seen")
    if any(_is_structure(sign) for sign in name):
        raise OperationError(f"{name!r} cannot be a name", hint="No brackets, colons, bars, @ or #")
    if _reserved_names().numbers_like(name):
        raise OperationError(f"{name!r} cannot be a name", hint="It looks like a word that has a meaning here")
    return name


@cache
def _reserved_names() -> NameIndex:
    return NameIndex(enumerate(_RESERVED_NAMES))


@cache
def _look_alikes() -> dict[int, str]:
    """Return what each sign of Unicode's confusables looks like, for `str.translate`."""
    table = files("hudkit.rooms").joinpath("confusables.txt").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in table.split("\n") if line and not line.startswith("# "))
    return {ord(sign): look for look, _, signs in rows for sign in signs}


@lru_cache(maxsize=4_096)
def _is_structure(sign: str) -> bool:
    """Whether a sign is one of those, in another form, or looks like one and is no letter."""
    plain = normalize("NFKC", sign)
    look = "" if category(sign)[0] in "LM" else plain.translate(_look_alikes())
    return bool(_STRUCTURE.intersection(plain + look))


@lru_cache(maxsize=4_096)
def _skeletons(name: str) -> frozenset[str]:
    """Return what two names share when they look alike (skeletons of UTS 39), whatever the case of their letters.

    Of the name as it is written, and of it in small letters: `Al` and `AI` look alike, and so do `Аnn` and `ANN`.

        "Аlice" (Cyrillic A)  ->  "alice"        "rnaria", "maria"  ->  "rnaria"

    Digits at the end are a number, so that `A11` is not `All`.
    """
    plain = normalize("NFKC", name)
    words = plain.rstrip(string.digits)
    looks = (normalize("NFD", text).translate(_look_alikes()) for text in (words, words.casefold()))
    return frozenset(normalize("NFC", look).casefold() + plain[len(words) :] for look in looks)

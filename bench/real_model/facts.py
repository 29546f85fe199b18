"""Facts of made-up projects that a model is asked about: six kinds a project, each with a value that is replaced."""

from __future__ import annotations

import msgspec

KINDS = (
    ("name of the staging host", ("bittern", "curlew", "dunlin", "egret", "fulmar", "godwit")),
    ("port of the admin page", ("4417", "5283", "6391", "7642", "8157", "9308")),
    ("owner of the billing module", ("Ines", "Jorun", "Kalle", "Lucia", "Marek", "Nadja")),
    ("branch for releases", ("larch", "maple", "nettle", "olive", "poplar", "quince")),
    ("library for date parsing", ("tempora", "kairos", "almanac", "sundial", "zodiac", "epocha")),
    ("city of the backup site", ("Turku", "Gdansk", "Bergen", "Malmo", "Tartu", "Aarhus")),
    ("limit for uploads", ("14 MB", "23 MB", "37 MB", "41 MB", "58 MB", "69 MB")),
    ("format of the reports", ("Parquet", "Avro", "Feather", "NetCDF", "HDF5", "ORC")),
)


class Fact(msgspec.Struct, frozen=True):
    """What it is about, its value, and the value that replaced it (empty: none did)."""

    about: str
    value: str
    newer: str = ""

    @property
    def now(self) -> str:
        return self.newer or self.value

    @property
    def question(self) -> str:
        return f"What is the {self.about} of this project now? Answer with the value alone."

    def said(self, value: str) -> str:
        return f"The {self.about} is {value}."


def facts_of(project: int, changed: int) -> list[Fact]:
    """The eight facts of a project (0 to 5), of which the first `changed` were replaced."""
    found = []
    for place in range(len(KINDS)):
        about, values = KINDS[(place + project) % len(KINDS)]
        value, newer = values[project % len(values)], values[(project + 3) % len(values)]
        found.append(Fact(about, value, newer if place < changed else ""))
    return found


def verdict(fact: Fact, answer: str) -> str:
    """`right`, `stale` (the replaced value, and not the present one) or `other`. A quantity is known by its number:
    who asks for the value alone may get "58" of 58 MB."""
    told = answer.casefold()
    if _key(fact.now) in told:
        return "right"
    return "stale" if fact.newer and _key(fact.value) in told else "other"


def _key(value: str) -> str:
    number, _, unit = value.partition(" ")
    return number if unit and number.isdecimal() else value.casefold()

"""The catalogue of genai-prices as a file of ours: read in milliseconds, where the package takes 0.2 s to import.

The file holds what the package of one version says of every model: how it is found by its name, its window, its
prices. `scripts/copy_prices.py` writes it. It is asked while that version is installed, or none; another one is
asked itself (`model_facts`). That both answer alike is tested for each model.

The data are of Pydantic Services Inc., under the MIT license: prices-LICENSE.txt, which lies beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

COPY = Path(__file__).with_name("prices.json")

Clause = list[Any]
"""How a name is matched: `["equals", "gpt-5"]`, `["or", ["equals", "a"], ["contains", "b"]]`; texts in lower case."""

_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=[-:]|$)")


class ConditionalAmounts(msgspec.Struct, frozen=True):
    """Amounts by the package's names, in USD, and when they hold: `["from", day]`, `["daily", from, until]`."""

    amounts: dict[str, float] = {}
    when: list[str] = []

    def holds_at(self, moment: datetime) -> bool:
        """Return whether these are the amounts at a time."""
        moment = moment.astimezone(UTC)
        if not self.when:
            return True
        if self.when[0] == "from":
            return moment.date() >= date.fromisoformat(self.when[1])
        begin, end = map(time.fromisoformat, self.when[1:])
        if end < begin:
            return moment.timetz() >= begin or moment.timetz() < end
        return begin <= moment.timetz() < end


class ListedModel(msgspec.Struct, frozen=True):
    """A model of a seller. Of several prices the last one that holds counts, else the first."""

    id: str
    match: Clause
    prices: list[ConditionalAmounts]
    window: int | None = None

    @property
    def context_window(self) -> int | None:
        """Return the window in tokens, under the package's name for it."""
        return self.window

    def get_prices(self, moment: datetime) -> SimpleNamespace:
        """Return the amounts at a time, as attributes."""
        now = [prices for prices in self.prices if prices.holds_at(moment)]
        return SimpleNamespace(**(now[-1] if now else self.prices[0]).amounts)


class Seller(msgspec.Struct, frozen=True):
    """Who sells models: `names` matches what hosts call it, `any_model` models that need no seller's name, and
    `borrows` are the sellers whose models count where its own list has none."""

    id: str
    models: list[ListedModel] = []
    names: Clause = []
    any_model: Clause = []
    borrows: list[str] = []


class PriceCopy(msgspec.Struct, frozen=True):
    """What the package's snapshot is asked for, answered by the file; with the version that was copied."""

    version: str
    sellers: list[Seller]

    @property
    def providers(self) -> Sequence[Seller]:
        """Return the sellers, under the package's name for them."""
        return self.sellers

    def find_provider_model(self, name: str, _: None, seller: str | None, __: None) -> tuple[Seller, ListedModel]:
        """Return who sells a model, and the model. Raises `LookupError` where nobody does."""
        name = name.lower()
        owner = self._find_seller(name, seller)
        for spelling in dict.fromkeys((name, _COMPACT_DATE.sub(r"-\1-\2-\3", name))):
            for model in self._models_of(owner):
                if _matches(model.match, spelling):
                    return owner, model
        raise LookupError(name)

    def _find_seller(self, name: str, seller: str | None) -> Seller:
        if seller is None:
            candidates = [each for each in self.sellers if each.any_model and _matches(each.any_model, name)]
        else:
            asked = seller.lower().strip()
            candidates = [each for each in self.sellers if each.id == asked]
            candidates += [each for each in self.sellers if each.names and _matches(each.names, asked)]
        if not candidates:
            raise LookupError(seller or name)
        return candidates[0]

    def _models_of(self, seller: Seller) -> Iterator[ListedModel]:
        yield from seller.models
        for lender in seller.borrows:
            yield from next((each.models for each in self.sellers if each.id == lender), ())


def _matches(clause: Clause, text: str) -> bool:
    how, *what = clause
    if how in ("or", "and"):
        holds = any if how == "or" else all
        return holds(_matches(each, text) for each in what)
    if how == "equals":
        return bool(text == what[0])
    if how == "starts_with":
        return text.startswith(what[0])
    if how == "ends_with":
        return text.endswith(what[0])
    if how == "contains":
        return what[0] in text
    return re.search(what[0], text) is not None


@cache
def load_price_copy() -> PriceCopy:
    """Return the copy that ships with hudkit; read once."""
    return msgspec.json.decode(COPY.read_bytes(), type=PriceCopy)


def is_copy_current() -> bool:
    """Return whether the package that is installed is the one that was copied, or none is; nothing is imported."""
    package = find_spec("genai_prices")
    if package is None or package.origin is None:
        return True
    own = f"genai_prices-{load_price_copy().version}.dist-info"
    return Path(package.origin).parent.with_name(own).is_dir()

"""What tokens cost: from the catalogue where it is installed, else from a small table that shows its date."""

from __future__ import annotations

from difflib import get_close_matches

import msgspec

from hudkit.errors import ConfigError
from hudkit.tokens import catalogue
from hudkit.tokens.windows import name_parts

PRICES_READ = "2026-11-21"
"""When the bundled table was read (from genai-prices 0.2.3)."""

# model: input, cached read, cache write, output; USD per million tokens, standard service, first tier
BUNDLED: dict[str, tuple[float, float, float, float]] = {
    "claude-haiku-4-5": (1.0, 0.1, 1.25, 5.0),
    "claude-opus-4-1": (15.0, 1.5, 18.75, 75.0),
    "claude-opus-4-5": (5.0, 0.5, 6.25, 25.0),
    "claude-sonnet-4-5": (3.0, 0.3, 3.75, 15.0),
    "gemini-2.5-pro": (1.25, 0.125, 1.25, 10.0),
    "gpt-4.1": (2.0, 0.5, 2.0, 8.0),
    "gpt-4o": (2.5, 1.25, 2.5, 10.0),
    "gpt-4o-mini": (0.15, 0.075, 0.15, 0.6),
    "gpt-5": (1.25, 0.125, 1.25, 10.0),
    "gpt-5-mini": (0.25, 0.025, 0.25, 2.0),
}


class Prices(msgspec.Struct, frozen=True):
    """USD per million tokens; list prices, so money made from them is an estimate.

    `input` is for tokens that the cache neither gave nor took. Without a listed price for the cache, its
    tokens cost as `input`. `source` names the table and its version or date.
    """

    input: float
    cached_read: float
    cache_write: float
    output: float
    source: str
    model: str


def prices_of(model: str, *, timestamp: int | None = None) -> Prices:
    """Return the prices of a model, as hosts spell it (`anthropic/claude-sonnet-4-5` too), at a time (Unix ms).

    Loads the catalogue at the first call (slow: not within an agent's call). Raises `ConfigError`, naming
    near matches, for a model without a token price.
    """
    return _from_catalogue(model, timestamp) or _from_table(model) or _refuse(model)


def _from_catalogue(model: str, timestamp: int | None) -> Prices | None:
    listing = catalogue.listed_prices(model, timestamp)
    if listing is None or not {"input_mtok", "output_mtok"} <= listing[1].keys():
        return None
    listed, amounts = listing
    fresh = amounts["input_mtok"]
    return Prices(
        input=fresh,
        cached_read=amounts.get("cache_read_mtok", fresh),
        cache_write=amounts.get("cache_write_mtok", amounts.get("cache_write_5m_mtok", fresh)),
        output=amounts["output_mtok"],
        source=catalogue.catalogue_version(),
        model=listed,
    )


def _from_table(model: str) -> Prices | None:
    """Bundled names count with a date or `latest` behind them, and a seller before them."""
    name = name_parts(model.rpartition("/")[2])
    for listed, (fresh, read, write, output) in BUNDLED.items():
        parts = name_parts(listed)
        rest = name[len(parts) :]
        if name[: len(parts)] == parts and all(part == "latest" or part.isdigit() for part in rest):
            if rest and rest[0].isdigit() and len(rest[0]) <= 2:
                continue  # another version
            return Prices(fresh, read, write, output, f"bundled table of {PRICES_READ}", listed)
    return None


def _refuse(model: str) -> Prices:
    names = catalogue.listed_models() or list(BUNDLED)
    near = get_close_matches(model.rpartition("/")[2].lower(), names, n=3, cutoff=0.5)
    missing = "" if catalogue.catalogue_version() else f"; {catalogue.PACKAGE} (hudkit[prices]) knows more models"
    raise ConfigError(
        f"no token prices for the model {model!r}",
        hint=(f"near matches: {', '.join(near)}" if near else "no known model has a similar name") + missing,
        model=model,
        near=near,
    )

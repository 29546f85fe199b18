"""The optional catalogue of models, the package `genai-prices`: looked up offline, loaded at the first question.

Loading it takes 0.4 s and more, so nothing here belongs into an agent's call. Its updater, which would use
the network, is never started.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import Any

PACKAGE = "genai-prices"


@cache
def _snapshot() -> Any | None:
    """Load the package's bundled data; `None` where it is not installed or of a shape that we do not know."""
    try:
        return import_module("genai_prices.data_snapshot").get_snapshot()
    except Exception:  # an optional package in any state of disrepair counts as absent
        return None


def catalogue_version() -> str:
    """Return the name and version of the catalogue, empty where there is none."""
    if _snapshot() is None:
        return ""
    return f"{PACKAGE} {import_module('importlib.metadata').version(PACKAGE)}"


def _names(model: str) -> Iterator[tuple[str | None, str]]:
    """(seller, name) pairs under which a host's spelling may be listed: `anthropic/claude-x`, `claude-x`."""
    name = model
    while True:
        seller, slash, rest = name.partition("/")
        if slash:
            yield seller, rest
        yield None, name
        if not slash:
            return
        name = rest


def _listed(model: str) -> Any | None:
    snapshot = _snapshot()
    if snapshot is None:
        return None
    for seller, name in _names(model):
        try:
            _, listed = snapshot.find_provider_model(name, None, seller, None)
        except LookupError:
            continue
        return listed
    return None


def listed_window(model: str) -> int | None:
    """Return the listed window in tokens, `None` where the model or its window is not listed."""
    listed = _listed(model)
    size = getattr(listed, "context_window", None)
    return size if isinstance(size, int) and size > 0 else None


def listed_prices(model: str, timestamp: int | None = None) -> tuple[str, dict[str, float]] | None:
    """Return the listed model's id and its prices, USD per million tokens by the catalogue's keys.

    `timestamp` (Unix ms, default now) chooses among prices that changed. Prices in tiers give the first tier.
    """
    listed = _listed(model)
    if listed is None:
        return None
    moment = datetime.now(UTC) if timestamp is None else datetime.fromtimestamp(timestamp / 1000, UTC)
    listed_at = listed.get_prices(moment)
    amounts = {key: getattr(value, "base", value) for key, value in vars(listed_at).items() if value is not None}
    return str(listed.id), {key: float(amount) for key, amount in amounts.items() if not key.startswith("_")}


def listed_models() -> list[str]:
    """Return the ids of all listed models, sorted."""
    snapshot = _snapshot()
    return sorted({str(model.id) for seller in snapshot.providers for model in seller.models}) if snapshot else []

"""Write the copy of the data of genai-prices that hudkit reads: `python scripts/copy_prices.py`."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from genai_prices import types
from genai_prices.data import providers

from hudkit.tokens.price_copy import COPY


def main() -> None:
    """Write the file, a line for each model."""
    sellers = [_seller(provider) for provider in providers]
    text = json.dumps({"version": version("genai-prices"), "sellers": sellers}, separators=(",", ":"))
    COPY.write_text(text.replace('[{"id"', '[\n{"id"').replace('},{"id"', '},\n{"id"') + "\n")


def _seller(provider: types.Provider) -> dict[str, Any]:
    return _filled(
        id=provider.id,
        any_model=_clause(provider.model_match),
        names=_clause(provider.provider_match),
        borrows=provider.fallback_model_providers,
        models=[_model(model) for model in provider.models],
    )


def _model(model: types.ModelInfo) -> dict[str, Any]:
    prices = model.prices if isinstance(model.prices, list) else [types.ConditionalPrice(prices=model.prices)]
    return _filled(
        id=model.id,
        match=_clause(model.match),
        window=model.context_window,
        prices=[_filled(when=_constraint(each.constraint), amounts=_amounts(each.prices)) for each in prices],
    )


def _amounts(prices: types.ModelPrice) -> dict[str, float]:
    amounts = {key: getattr(value, "base", value) for key, value in vars(prices).items() if value is not None}
    return {key: float(amount) for key, amount in amounts.items() if not key.startswith("_")}


def _constraint(constraint: object) -> list[str] | None:
    if isinstance(constraint, types.StartDateConstraint):
        return ["from", constraint.start_date.isoformat()]
    if isinstance(constraint, types.TimeOfDateConstraint):
        return [
            "daily",
            types._utc_timetz(constraint.start_time).isoformat(),
            types._utc_timetz(constraint.end_time).isoformat(),
        ]
    if constraint is not None:
        raise TypeError(f"no way to write {constraint!r}")
    return None


def _clause(clause: object) -> list[Any] | None:
    if clause is None:
        return None
    ((how, what),) = vars(clause).items()
    if isinstance(what, list):
        return [how.rstrip("_"), *map(_clause, what)]
    return [how, what if how == "regex" else what.lower()]


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [])}


if __name__ == "__main__":
    main()

"""Settings: what can be configured, with its defaults, read from TOML."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec

from hudkit.errors import ConfigError

Percent = Annotated[float, msgspec.Meta(gt=0, le=100)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Bands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least percentage of the window in use for each band above green."""

    yellow: Percent = 70
    red: Percent = 85
    critical: Percent = 92
    hysteresis: Annotated[float, msgspec.Meta(ge=0, le=20)] = 2


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many items of a section are shown at most (000); what is not shown is counted."""

    decisions: Positive = 10
    notes: Positive = 20
    files: Positive = 15
    blockers: Positive = 10
    steps: Positive = 10
    constraints: Positive = 20
    errors: Positive = 5
    todos: Positive = 10


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The default token budget of a frame: a share of the window (percent) between a least and a most."""

    percent: Percent = 2
    least: Positive = 300
    most: Positive = 1500


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`minutes` without a call after which the provider's cache is taken for cold: a new base then costs nothing."""

    minutes: Annotated[float, msgspec.Meta(gt=0)] = 10


class Overflow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the host compacts by itself (002): `auto = false` where it does not, `reserved` tokens kept free."""

    auto: bool = True
    reserved: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured."""

    bands: Bands = Bands()
    limits: Limits = Limits()
    budget: Budget = Budget()
    cache: Cache = Cache()
    overflow: Overflow = Overflow()
    window: Positive | None = None
    """Tokens of the window, where neither the host nor the table knows them."""

    def budget_for(self, limit_tokens: int) -> int:
        """The default budget in tokens for a window."""
        share = int(limit_tokens * self.budget.percent / 100)
        return max(self.budget.least, min(self.budget.most, share))


def settings_from(table: Mapping[str, Any], where: str = "the settings") -> Settings:
    """Settings of a table as TOML gives it. Raises `ConfigError` naming a wrong key and the nearest right one."""
    _names(table, Settings, where)
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from None


def _names(table: Mapping[str, Any], kind: type[msgspec.Struct], where: str) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name not in fields:
            near = get_close_matches(name, fields, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(fields)}"
            raise ConfigError(f"{where} has no key {name!r}", hint=hint, key=name)
        inner = fields[name]
        if isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            _names(value, inner, f"{where}, [{name}]")

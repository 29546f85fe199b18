"""How large a model's window is, and who says so (A1)."""

from __future__ import annotations

from typing import Literal

import msgspec

from hudkit.errors import ConfigError
from hudkit.tokens import catalogue
from hudkit.tokens.families import family_of

Source = Literal["host", "user", "table", "assumed"]

ASSUMED = 200_000
"""The window of a model that nobody knows (000); shown as assumed."""


class Window(msgspec.Struct, frozen=True):
    """A model's capacity in tokens.

    `limit_tokens` is the whole window, `max_output` the most that one answer may have, `input_limit` the most
    that a request may have where that is less than the window. `source` says who gave `limit_tokens`.
    """

    limit_tokens: int
    max_output: int | None
    input_limit: int | None
    source: Source

    def __post_init__(self) -> None:
        if self.limit_tokens <= 0:
            raise ConfigError(f"a window of {self.limit_tokens} tokens", hint="a window has at least one token")


def window_of(
    model: str,
    *,
    host: int | None = None,
    user: int | None = None,
    host_output: int | None = None,
    host_input: int | None = None,
    use_catalogue: bool = False,
) -> Window:
    """The window of `model`: the host's report, else the table, else the user's setting, else 200,000.

    The order is that of feature A1: the user's setting fills a gap, it does not overrule what is known. Host
    figures of zero or less mean "not reported" (OpenCode writes 0). Output and input limits come from the
    host, else from the table where it agrees with the host on the window. `use_catalogue` asks `genai-prices`
    as a second table: it is slow to load, so not within an agent's call.

    Raises `ConfigError` for a user's setting that is not positive.
    """
    if user is not None and user <= 0:
        raise ConfigError(
            f"the window of {model!r} is set to {user} tokens", hint="give a positive number", user=user
        )
    row = family_of(model)
    table = row[1] if row else (catalogue.window(model) if use_catalogue else None)
    limit, source = _first((host, "host"), (table, "table"), (user, "user"), (ASSUMED, "assumed"))
    known = row if row and limit == table else None
    return Window(
        limit_tokens=limit,
        max_output=_positive(host_output) or (known[2] if known else None),
        input_limit=_positive(host_input) or (known[3] if known else None),
        source=source,
    )


def _positive(figure: int | None) -> int | None:
    return figure if figure is not None and figure > 0 else None


def _first(*figures: tuple[int | None, Source]) -> tuple[int, Source]:
    return next((figure, source) for figure, source in figures if figure is not None and figure > 0)

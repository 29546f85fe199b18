"""What is known of a model: its window, how much of it can be used (A1, A2), and what its tokens cost.

A window is what the user's settings say of that model; else what the host reports; where it reports none, what the
bundled table of model families has; then the user's setting for any model; then an assumption that is shown as one.
Prices come from the catalogue, which has windows, too: the package `genai-prices`, of which we have a copy
(`price_copy`). Another version of the package is asked itself, offline and at the first question. That takes 0.4 s
and more, so what asks the catalogue does not belong into an agent's call. Its updater, which would use the network,
is never started.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import msgspec

from hudkit.errors import ConfigError
from hudkit.lazy import lazy_pattern

_Row = TypeVar("_Row")

Source = Literal["host", "user", "table", "observed", "assumed"]

UNCERTAIN_WINDOWS = ("assumed", "observed")
"""Sources that are shown beside the window's size: nobody said it."""

ASSUMED_WINDOW = 200_000
"""Tokens of the window of a model that nobody knows (000); shown as assumed."""

WINDOWS_READ = "2026-11"
"""When the windows were read (from genai-prices 0.2.3). Output and input limits are as far as known and unchecked:
what a host reports comes first."""

# family, window, most output tokens, most input tokens (None: not known or not limited apart from the window)
FAMILIES: tuple[tuple[str, int, int | None, int | None], ...] = (
    ("claude-2", 200_000, 4_096, None),
    ("claude-3-haiku", 200_000, 4_096, None),
    ("claude-3-opus", 200_000, 4_096, None),
    ("claude-3-sonnet", 200_000, 4_096, None),
    ("claude-3-5-haiku", 200_000, 8_192, None),
    ("claude-3-5-sonnet", 200_000, 8_192, None),
    ("claude-3-7-sonnet", 200_000, 64_000, None),
    ("claude-opus-4", 200_000, 32_000, None),
    ("claude-opus-4-0", 200_000, 32_000, None),
    ("claude-opus-4-1", 200_000, 32_000, None),
    ("claude-opus-4-5", 200_000, 64_000, None),
    ("claude-opus-4-6", 1_000_000, None, None),
    ("claude-opus-4-7", 1_000_000, None, None),
    ("claude-opus-4-8", 1_000_000, None, None),
    ("claude-opus-5", 1_000_000, None, None),
    ("claude-opus-5-5", 1_000_000, None, None),
    ("claude-sonnet-4", 200_000, 64_000, None),
    ("claude-sonnet-4-0", 200_000, 64_000, None),
    ("claude-sonnet-4-5", 200_000, 64_000, None),
    ("claude-sonnet-4-6", 1_000_000, None, None),
    ("claude-sonnet-5", 1_000_000, None, None),
    ("claude-sonnet-5-5", 1_000_000, None, None),
    ("claude-haiku-4-5", 200_000, 64_000, None),
    ("claude-haiku-5-5", 1_000_000, None, None),
    ("gpt-3.5-turbo", 16_385, 4_096, None),
    ("gpt-4", 8_192, 8_192, None),
    ("gpt-4-32k", 32_000, None, None),
    ("gpt-4-0125", 128_000, 4_096, None),
    ("gpt-4-1106", 128_000, 4_096, None),
    ("gpt-4-vision", 128_000, 4_096, None),
    ("gpt-4-turbo", 128_000, 4_096, None),
    ("gpt-4o", 128_000, 16_384, None),
    ("chatgpt-4o", 128_000, 16_384, None),
    ("gpt-4.1", 1_047_576, 32_768, None),
    ("gpt-5", 400_000, 128_000, 272_000),
    ("gpt-5.1", 400_000, 128_000, 272_000),
    ("gpt-5.2", 400_000, 128_000, 272_000),
    ("gpt-5.3", 128_000, None, None),
    ("gpt-5.3-codex", 400_000, 128_000, 272_000),
    ("gpt-5.4", 1_050_000, None, None),
    ("gpt-5.4-mini", 400_000, None, None),
    ("gpt-5.4-nano", 400_000, None, None),
    ("gpt-5.5", 1_000_000, None, None),
    ("gpt-oss", 131_072, None, None),
    ("o1", 200_000, 100_000, None),
    ("o1-mini", 128_000, 65_536, None),
    ("o1-preview", 128_000, 32_768, None),
    ("o3", 200_000, 100_000, None),
    ("o4-mini", 200_000, 100_000, None),
    ("codex-mini", 200_000, 100_000, None),
    ("gemini-1.5-flash", 1_000_000, 8_192, None),
    ("gemini-1.5-pro", 1_000_000, 8_192, None),
    ("gemini-2.0-flash", 1_000_000, 8_192, None),
    ("gemini-2.5-flash", 1_048_576, 65_536, None),
    ("gemini-2.5-pro", 1_048_576, 65_536, None),
    ("gemini-3-flash", 1_000_000, 65_536, None),
    ("gemini-3-pro", 1_048_576, 65_536, None),
    ("gemini-3.1-flash-lite", 1_000_000, None, None),
    ("gemini-3.1-pro", 1_048_576, None, None),
    ("gemini-3.5-flash", 1_000_000, None, None),
    ("gemini-3.6-flash", 1_000_000, None, None),
    ("gemini-3.7-flash", 1_000_000, None, None),
    ("gemini-3.8-flash", 1_000_000, None, None),
    ("grok-2", 32_768, None, None),
    ("grok-3", 131_072, None, None),
    ("grok-4", 256_000, None, None),
    ("grok-4-fast", 2_000_000, None, None),
    ("grok-4-1-fast", 2_000_000, None, None),
    ("grok-4.3", 1_000_000, None, None),
    ("grok-4.5", 500_000, None, None),
    ("grok-4.6", 500_000, None, None),
    ("grok-4.7", 500_000, None, None),
    ("grok-code-fast-1", 256_000, None, None),
    # Open families, as their makers serve them; who runs one with less says so in [windows], and a server's own
    # figure comes before all of these.
    ("deepseek-chat", 64_000, None, None),
    ("deepseek-reasoner", 64_000, None, None),
    ("deepseek-v3.1", 131_072, None, None),
    ("deepseek-v3.2", 128_000, None, None),
    ("deepseek-v4-flash", 1_000_000, None, None),
    ("deepseek-v4-pro", 1_000_000, None, None),
    ("deepseek-v4.1-flash", 1_000_000, None, None),
    ("qwen2.5", 32_768, None, None),
    ("qwen3", 40_960, None, None),
    ("qwen3-coder", 262_144, None, None),
    ("qwen3-max", 262_144, None, None),
    ("qwen3-next", 262_144, None, None),
    ("qwen3.5", 262_144, None, None),
    ("qwen3.6", 262_144, None, None),
    ("qwen3.8", 262_144, None, None),
    ("kimi-k2", 131_072, None, None),
    ("kimi-k2-0905", 262_144, None, None),
    ("kimi-k2-thinking", 262_144, None, None),
    ("kimi-k2.5", 262_144, None, None),
    ("kimi-k2.6", 262_144, None, None),
    ("kimi-k2.7", 262_144, None, None),
    ("kimi-k3", 1_000_000, None, None),
    ("kimi-k3.1", 1_000_000, None, None),
    ("glm-4.5", 131_072, None, None),
    ("glm-4.6", 200_000, None, None),
    ("glm-4.7", 200_000, None, None),
    ("glm-5", 200_000, None, None),
    ("glm-5.1", 200_000, None, None),
    ("glm-5.2", 1_000_000, None, None),
    ("glm-5.3", 1_000_000, None, None),
    ("minimax-m1", 1_000_000, None, None),
    ("minimax-m2", 204_800, None, None),
    ("minimax-m2.1", 204_800, None, None),
    ("minimax-m2.5", 204_800, None, None),
    ("minimax-m2.7", 204_800, None, None),
    ("mistral-large", 128_000, None, None),
    ("mistral-large-2512", 262_144, None, None),
    ("mistral-medium-3.1", 131_072, None, None),
    ("mistral-medium-3.5", 262_144, None, None),
    ("mistral-small-3.1", 128_000, None, None),
    ("mistral-small-3.2", 131_072, None, None),
    ("mistral-small-2603", 262_144, None, None),
    ("devstral-2512", 262_144, None, None),
    ("codestral-2508", 256_000, None, None),
    ("ministral-14b-2512", 262_144, None, None),
    ("ministral-8b-2512", 262_144, None, None),
    ("ministral-3b-2512", 131_072, None, None),
    ("llama-3", 8_192, None, None),
    ("llama-3.1", 131_072, None, None),
    ("llama-3.2", 131_072, None, None),
    ("llama-3.3", 131_072, None, None),
    ("llama3", 8_192, None, None),
    ("llama3.1", 131_072, None, None),
    ("llama3.2", 131_072, None, None),
    ("llama3.3", 131_072, None, None),
    ("llama-4-maverick", 1_000_000, None, None),
    ("llama4-maverick", 1_000_000, None, None),
    ("gemma-2", 8_192, None, None),
    ("gemma2", 8_192, None, None),
    ("gemma-3", 131_072, None, None),
    ("gemma3", 131_072, None, None),
    ("gemma-3n", 32_768, None, None),
    ("gemma3n", 32_768, None, None),
    ("gemma-4", 262_144, None, None),
    ("gemma4", 262_144, None, None),
    ("phi-4", 16_384, None, None),
    ("phi-4-mini", 131_072, None, None),
    ("granite-4.0", 131_072, None, None),
    ("granite-4.1", 131_072, None, None),
    ("granite-4.2", 131_072, None, None),
    ("nemotron-3-nano", 262_144, None, None),
    ("nemotron-3-super", 262_144, None, None),
    ("nova-micro", 128_000, None, None),
    ("nova-lite", 300_000, None, None),
    ("nova-pro", 300_000, None, None),
    ("nova-premier", 1_000_000, None, None),
)


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

    @property
    def known_tokens(self) -> int | None:
        """Return the whole window in tokens; `None` where nobody said it."""
        return None if self.source in UNCERTAIN_WINDOWS else self.limit_tokens


def window_of(
    model: str,
    *,
    host: int | None = None,
    user: int | None = None,
    by_model: Mapping[str, int] = MappingProxyType({}),
    host_output: int | None = None,
    host_input: int | None = None,
    observed: int | None = None,
    use_catalogue: bool = False,
) -> Window:
    """Return the window of `model`: the host's report, else the table's, else the user's setting, else 200,000.

    The order is that of feature A1: the setting `user` fills a gap, it does not overrule what is known. What the user
    says of one model does: `by_model` has tokens by the name of a model or family, and comes first. Host figures of
    zero or less mean "not reported" (OpenCode writes 0). Output and input limits come from the host, else from the
    table where it agrees with the host on the window. `observed` is the fill at which automatic compactions came: it
    stands in where nobody said anything. `use_catalogue` asks `genai-prices` as a second table: it is slow to load,
    so not within an agent's call.

    Raises `ConfigError` for a user's setting that is not positive.
    """
    if user is not None and user <= 0:
        raise ConfigError(
            f"the window of {model!r} is set to {user} tokens", hint="give a positive number", user=user
        )
    own = _own_window(model, tuple(by_model.items())) if by_model else None
    row = _family_of(model)
    table = row[1] if row else (_listed_window(model) if use_catalogue else None)
    limit, source = _first_positive(
        (own, "user"),
        (host, "host"),
        (table, "table"),
        (user, "user"),
        (observed, "observed"),
        (ASSUMED_WINDOW, "assumed"),
    )
    # A host with another window runs another variant of the model: the table's other limits say nothing of it.
    limits = row[2:] if row and limit == table else (None, None)
    return Window(
        limit_tokens=limit,
        max_output=_positive(host_output) or limits[0],
        input_limit=_positive(host_input) or limits[1],
        source=source,
    )


_SMALL_PARAMETERS = 9
"""Billions of parameters up to which a model counts as small."""

_PARAMETERS = lazy_pattern(r"(?<![\w.])(?:e|a)?(\d{1,3}(?:\.\d+)?)b(?![a-z0-9])")
_LOCAL = ("ollama", "llamacpp", "llama.cpp", "lmstudio", "local", "localhost")
"""Providers of models on the user's own machine, as hosts name them before the model's name."""


def is_small_model(model: str, *, unknown: bool = True) -> bool:
    """Return whether a model must be taken for a small one: its name says so (`qwen2.5-coder-7b`), or that it runs on
    the user's machine (`ollama/…`). `unknown` is the answer for a name of no family that we know, and for none.

    The catalogue of prices is not asked: it changes, and a frame of the past must stay as it was.
    """
    name = model.casefold()
    if name.partition("/")[0] in _LOCAL or name.endswith(".gguf"):
        return True
    sizes = [float(size) for size in _PARAMETERS.findall(name)]
    if sizes:
        return max(sizes) <= _SMALL_PARAMETERS
    return unknown and _family_of(model) is None


def _positive(figure: int | None) -> int | None:
    return figure if figure is not None and figure > 0 else None


def _first_positive(*figures: tuple[int | None, Source]) -> tuple[int, Source]:
    return next((figure, source) for figure, source in figures if figure is not None and figure > 0)


# -- the table of families -------------------------------------------------------------------------------------


def _name_parts(model: str) -> tuple[str, ...]:
    """Split a model's name: `us.anthropic.claude-sonnet-4.5` returns us, anthropic, claude, sonnet, 4, 5."""
    return tuple(part for part in re.split(r"[^a-z0-9]+", model.lower()) if part)


_FAMILY_PARTS = tuple((_name_parts(row[0]), row) for row in FAMILIES)


@lru_cache(maxsize=256)
def _family_of(model: str) -> tuple[str, int, int | None, int | None] | None:
    return _longest_named(model, _FAMILY_PARTS)


@lru_cache(maxsize=64)
def _own_window(model: str, by_model: tuple[tuple[str, int], ...]) -> int | None:
    """Return what the user's settings say of the model; `None` where they do not name it."""
    return _longest_named(model, tuple((_name_parts(name), tokens) for name, tokens in by_model))


def _longest_named(model: str, families: Iterable[tuple[tuple[str, ...], _Row]]) -> _Row | None:
    """Return the row of the longest family name that stands in the model's name, as whole parts, in order.

    A family followed by a short number is another version (`gpt-5` is not `gpt-5.9`); dates and words that
    follow are variants of it. `None` where no family fits.
    """
    name = _name_parts(model)
    best: _Row | None = None
    longest = 0
    for parts, row in families:
        if len(parts) > longest and _is_named(parts, name):
            best, longest = row, len(parts)
    return best


def _is_named(family: tuple[str, ...], name: tuple[str, ...]) -> bool:
    for start in range(len(name) - len(family) + 1):
        end = start + len(family)
        if name[start:end] == family:
            follower = name[end] if end < len(name) else ""
            # One or two digits are a version; a date (`20251001`) has more.
            return not (follower.isdigit() and len(follower) <= 2)
    return False


# -- the part of a window that can be used ---------------------------------------------------------------------

DEFAULT_RESERVE = 20_000
"""Tokens kept free for the summary, where the model may write as many (002)."""


class OverflowRule(msgspec.Struct, frozen=True):
    """When a host compacts by itself: the settings of OpenCode's arithmetic, as 002 gives it (A2).

    `automatic=False` is the off switch, `reserved=None` the default of 002, in tokens. `output_cap` is the most
    output that a host asks of any model, `None` where it asks for all of it.
    """

    automatic: bool = True
    reserved: int | None = None
    output_cap: int | None = None

    def __post_init__(self) -> None:
        for name, figure in (("reserved", self.reserved), ("output_cap", self.output_cap)):
            if figure is not None and figure < 0:
                raise ConfigError(f"{name} is {figure} tokens", hint="give zero or more", **{name: figure})


DEFAULT_RULE = OverflowRule()


def usable_of(window: Window, rule: OverflowRule = DEFAULT_RULE) -> int | None:
    """Return the tokens that can be used before the host compacts; `None` where it never does by itself.

    They are `input_limit - reserved`, or `limit_tokens - max output` for a window without an input limit; `reserved`
    defaults to `min(20,000, max output)`. A model whose output is not known is taken to write 20,000 tokens,
    or a tenth of a smaller window. Never below zero.

    Example: of 200,000 tokens with 64,000 of output, 136,000 can be used; with an input limit of 180,000, 160,000.
    """
    if not rule.automatic:
        return None
    output = window.max_output if window.max_output is not None else min(DEFAULT_RESERVE, window.limit_tokens // 10)
    if rule.output_cap is not None:
        output = min(output, rule.output_cap)
    if window.input_limit is None:
        return max(0, window.limit_tokens - output)
    reserved = rule.reserved if rule.reserved is not None else min(DEFAULT_RESERVE, output)
    return max(0, window.input_limit - reserved)


# -- prices ------------------------------------------------------------------------------------------------------

_MEDIA_FAMILIES: tuple[tuple[str, frozenset[str]], ...] = (
    (r"claude|gemini|gpt-(?:4o|4\.1|[5-9])|(?:^|[:/])o[34]\b", frozenset({"image", "pdf"})),
    (
        r"(?:^|[-_/])vl\b|\d-?vl\b|vision|pixtral|llava|llama-4|gemma-?3|grok-4|glm-4\.\dv|mistral-(?:small-3|medium-3)",
        frozenset({"image"}),
    ),
)
"""Families of models with the kinds of files that they take as they are, by their providers' pages."""


def media_of(model: str) -> frozenset[str]:
    """Return the kinds of files that a model takes as they are (`image`, `pdf`); nothing for one that nobody knows.

    A model is named as hosts spell it: `anthropic:claude-sonnet-4-6`, `openai/gpt-5`.
    """
    name = model.casefold()
    return next((kinds for pattern, kinds in _MEDIA_FAMILIES if re.search(pattern, name)), frozenset())


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
    return _listed_prices(model, timestamp) or _refuse(model)


@cache
def known_prices(model: str) -> Prices | None:
    """Return the present prices of a model; `None` for one without a token price. Looked up once in a process.

    Whoever asks for each call of a session asks here: to name near matches takes longer than to read the call.
    """
    return _listed_prices(model)


def _listed_prices(model: str, timestamp: int | None = None) -> Prices | None:
    """Return the listed prices at a time (Unix ms, default now); of prices in tiers the first."""
    listed = _listed(model)
    if listed is None:
        return None
    moment = datetime.now(UTC) if timestamp is None else datetime.fromtimestamp(timestamp / 1000, UTC)
    at_moment = vars(listed.get_prices(moment)).items()
    amounts = {key: float(getattr(value, "base", value)) for key, value in at_moment if _is_amount(key, value)}
    if not {"input_mtok", "output_mtok"} <= amounts.keys():
        return None
    fresh = amounts["input_mtok"]
    return Prices(
        input=fresh,
        cached_read=amounts.get("cache_read_mtok", fresh),
        cache_write=amounts.get("cache_write_mtok", amounts.get("cache_write_5m_mtok", fresh)),
        output=amounts["output_mtok"],
        source=_catalogue_version(),
        model=str(listed.id),
    )


def _is_amount(key: str, value: object) -> bool:
    return value is not None and not key.startswith("_")


def _refuse(model: str) -> Prices:
    from difflib import get_close_matches

    near = get_close_matches(model.rpartition("/")[2].lower(), _listed_models(), n=3, cutoff=0.5)
    raise ConfigError(
        f"no token prices for the model {model!r}",
        hint=f"near matches: {', '.join(near)}" if near else "no known model has a similar name",
        model=model,
        near=near,
    )


# -- the catalogue -----------------------------------------------------------------------------------------------

_PACKAGE = "genai-prices"


@cache
def _catalogue() -> Any:
    """Return what is asked for models: our copy of the package's data, or the package where another version of it is
    installed. With pydantic and an HTTP client, which it brings, it takes a third of a second to import."""
    from hudkit.tokens.price_copy import is_copy_current, load_price_copy  # most commands ask for no price

    if not is_copy_current():
        with suppress(Exception):  # a broken package must not cost an agent's call
            return import_module("genai_prices.data_snapshot").get_snapshot()
    return load_price_copy()


def _catalogue_version() -> str:
    """Return the name and version of the catalogue."""
    copied = getattr(_catalogue(), "version", "")
    return f"{_PACKAGE} {copied or import_module('importlib.metadata').version(_PACKAGE)}"


def _listed_names(model: str) -> Iterator[tuple[str | None, str]]:
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
    for seller, name in _listed_names(model):
        try:
            _, listed = _catalogue().find_provider_model(name, None, seller, None)
        except LookupError:
            continue
        return listed
    return None


def _listed_window(model: str) -> int | None:
    """Return the listed window in tokens, `None` where the model or its window is not listed."""
    listed = _listed(model)
    size = getattr(listed, "context_window", None)
    return size if isinstance(size, int) and size > 0 else None


def _listed_models() -> list[str]:
    """Return the ids of all listed models, sorted."""
    return sorted({str(model.id) for seller in _catalogue().providers for model in seller.models})

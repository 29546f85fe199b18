"""What is made when it is first used: the names of a package, regular expressions, decoders; and a digest alone.

A command that only reads ends before most of the package is needed. Each import, pattern and decoder that it does not
use is time in which a person waits (docs/decisions/0021-commands-import-late.md).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, AnyStr, Generic, ParamSpec, TypeVar, cast

try:
    from _blake2 import blake2b  # with `hashlib` comes OpenSSL, for digests that hardly a command makes: 3 ms
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b", "lazy_function", "lazy_names", "lazy_pattern"]

P = ParamSpec("P")
R = TypeVar("R")


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: the first use of a name imports the module that it is in.

    `modules` has the names of each module, which is named relative to the package; a name may be a module in it.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name]}")
        value = getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return load


def lazy_function(make: Callable[[], Callable[P, R]]) -> Callable[P, R]:
    """Return a function that is made, with what it imports, when it is first called."""
    loaded: list[Callable[P, R]] = []

    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        if not loaded:
            loaded.append(make())
        return loaded[0](*args, **kwargs)

    return function


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when one of its methods is first asked for."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern(Generic[AnyStr]):
    """Stands for a pattern: what is asked of it is taken from the compiled one, and kept."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # only for what it does not have yet
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value

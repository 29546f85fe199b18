"""What is made when it is first used: names of packages, patterns, functions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import hudkit.compose
import hudkit.context.caching
import hudkit.sections.sandboxed
from hudkit.lazy import lazy_function, lazy_names, lazy_pattern


@pytest.mark.parametrize("package", [hudkit.compose, hudkit.context.caching, hudkit.sections.sandboxed])
def test_every_public_name_of_a_lazy_package_is_there(package: object) -> None:
    assert [name for name in package.__all__ if not hasattr(package, name)] == []  # type: ignore[attr-defined]


def test_a_name_that_is_not_there_is_an_attribute_error_as_anywhere() -> None:
    with pytest.raises(AttributeError, match=r"module 'hudkit\.compose' has no attribute 'nothing'"):
        hudkit.compose.nothing
    with pytest.raises(ImportError):
        exec("from hudkit.compose import nothing")
    load = lazy_names("hudkit.compose", {"density": ("Band",)})
    assert load("Band") is hudkit.compose.Band


@pytest.mark.parametrize("first", ["import hudkit.compose.jsx.writer", "from hudkit.compose.jsx import scanner", ""])
def test_the_function_jsx_is_not_hidden_by_the_folder_of_its_name(first: str) -> None:
    code = f"{first}\nfrom hudkit.compose import jsx, text_of\nprint(text_of(jsx('<text>{{a}}</text>', a='there')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "there\n"


def test_a_pattern_is_compiled_at_its_first_use_and_is_then_like_any_other() -> None:
    wrong = lazy_pattern("(")  # not looked at yet
    with pytest.raises(Exception, match="unterminated"):
        wrong.search("x")
    pattern = lazy_pattern("B+")
    assert pattern.pattern == "B+"
    assert pattern.sub("-", "abBBc") == "ab-c" and pattern.groups == 0
    assert lazy_pattern(b"b", 2).findall(b"aBb") == [b"B", b"b"]


def test_a_function_is_made_once_at_its_first_call() -> None:
    made: list[str] = []

    def make() -> Callable[[int], int]:
        made.append("made")
        return lambda number: number + 1

    function = lazy_function(make)
    assert made == []
    assert (function(1), function(2), made) == (2, 3, ["made"])

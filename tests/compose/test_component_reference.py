"""The page of elements: current, complete, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudkit.compose import TAGS, jsx, read_jsx
from hudkit.compose.component_reference import components_page
from hudkit.compose.vocabulary import COMMON_PROPS, PROPS
from hudkit.errors import TreeError

PAGE = Path(__file__).parent.parent.parent / "docs" / "components.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == components_page(), (
        "python -m hudkit.compose.component_reference > docs/components.md"
    )


def test_its_code_runs_in_order() -> None:
    scope: dict[str, object] = {"__name__": "__main__"}
    found = re.findall(r"^```python\n(.*?)^```$", components_page(), re.MULTILINE | re.DOTALL)
    assert len(found) >= 4
    for code in found:
        exec(compile(code, PAGE.name, "exec"), scope)
    assert scope["jsx"] is jsx


def test_the_error_that_it_shows_is_the_one_that_comes() -> None:
    with pytest.raises(TreeError) as raised:
        read_jsx("<list>\n  <item>a\n</list>")
    assert f"```text\n{raised.value}\n```" in components_page()


def test_every_prop_has_one_rule_and_every_rule_a_prop() -> None:
    taken = {*COMMON_PROPS, *(name for spec in TAGS.values() for name in spec.props)}
    assert set(PROPS) == taken
    for rule in PROPS.values():
        assert rule.words and rule.doc.endswith(".")

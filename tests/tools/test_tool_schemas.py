"""One definition serves validation, schema, help and docs: they cannot drift apart."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolbox import fresh

from hudkit.errors import OperationError
from hudkit.sections.state import STATE_FIELDS
from hudkit.tools import ALIASES, DEFINITIONS, OPERATIONS, operation_schema, route
from hudkit.tools.arguments import convert_arguments
from hudkit.tools.operation import SECTION_LISTINGS
from hudkit.tools.tool_reference import tools_page
from strategies import hostile

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "tools.md"
EVERY = [*OPERATIONS.values(), *ALIASES.values()]
by_name = pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)


@by_name
def test_schema_is_clean(one):
    found = operation_schema(one)
    jsonschema.Draft202012Validator.check_schema(found)
    text = json.dumps(found)
    assert "$ref" not in text and "$defs" not in text and "title" not in found
    assert found["type"] == "object" and found["additionalProperties"] is False
    assert list(found["properties"]) == list(one.arguments.__struct_fields__)
    assert all(node.get("description") for node in found["properties"].values())


@by_name
def test_the_example_is_valid_and_help_tells_everything(one):
    jsonschema.Draft202012Validator(operation_schema(one)).validate(dict(one.example))
    convert_arguments(one, one.example)
    assert one.summary.endswith(".")
    text = route(fresh(), "hud", {"tool": "help", "args": {"operation": one.name}})
    assert text.startswith(f"{one.name}: {one.summary}")
    for name, node in operation_schema(one)["properties"].items():
        assert f"\n- {name} (" in text and node["description"] in text
    assert f'hud({{"tool": "{one.name}"' in text


values = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 300), hostile,
    st.lists(st.one_of(hostile, st.integers(0, 5)), max_size=3),
    st.sampled_from(["add", "remove", "reading", "notes", "hud"]),
)  # fmt: skip


@given(st.data(), st.sampled_from(EVERY))
def test_schema_and_validation_agree(data, one):
    names = [*one.arguments.__struct_fields__, "stranger"]
    args = data.draw(st.dictionaries(st.sampled_from(names), values, max_size=len(names)))
    try:
        convert_arguments(one, args)
    except OperationError:
        taken = False
    else:
        taken = True
    assert jsonschema.Draft202012Validator(operation_schema(one)).is_valid(args) == taken, args


def test_definitions_are_short_and_valid():
    assert [one["name"] for one in DEFINITIONS] == ["hud", "memory"]
    for one in DEFINITIONS:
        jsonschema.Draft202012Validator.check_schema(one["parameters"])
        assert one["parameters"]["required"] == ["tool"]
        assert "compaction" in one["description"] and "help" in one["description"]
        assert len(one["description"]) < 300, "it is paid for in every call"
        assert "must" not in one["description"].casefold().split()


def test_every_section_with_rows_is_a_section_of_the_state():
    assert set(SECTION_LISTINGS) <= set(STATE_FIELDS)
    assert {"task", "decisions", "notes", "steps", "files", "blockers"} <= set(SECTION_LISTINGS)


def test_the_reference_is_current():
    assert DOCS.read_text() == tools_page(), "python -m hudkit.tools.tool_reference > docs/tools.md"

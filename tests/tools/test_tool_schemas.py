"""One definition serves validation, schema, help and docs: they cannot drift apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolbox import fresh

from hudkit.context import count_tokens
from hudkit.errors import OperationError
from hudkit.sections.state import STATE_FIELDS
from hudkit.tools import ALIASES, DEFINITIONS, OPERATIONS, operation_schema, route
from hudkit.tools.arguments import convert_arguments
from hudkit.tools.operation import SECTION_LISTINGS
from hudkit.tools.spellings import shown_name
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
        assert f"\n- {shown_name(one, name)} (" in text and node["description"] in text
    assert f'hud({{"operation": "{one.name}"' in text


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
        parameters = one["parameters"]
        assert "required" not in parameters and "additionalProperties" not in parameters
        assert all("description" in node for node in parameters["properties"].values()), "a chat template asks it"
        assert "tool" not in parameters["properties"], "a model takes it for the name of a tool"
        assert "compaction" in one["description"]
        assert len(one["description"]) < 300, "it is paid for in every call"
        assert "must" not in one["description"].casefold().split()
    hud = DEFINITIONS[0]
    assert "help" in hud["description"] and "help" in hud["parameters"]["properties"]["operation"]["enum"]


def test_all_but_rare_operations_stand_in_a_definition_and_in_that_of_hud_those_that_write_come_first():
    hud, memory = (one["parameters"]["properties"]["operation"]["enum"] for one in DEFINITIONS)
    rare = {
        "children", "compare", "export", "import", "files.open", "files.close", "files.edit", "update", "clear",
        "task.update", "task.clear", "steps.reorder", "recent.list", "subagents.list", "preferences.remove",
        "preferences.list", "shared.list", "shared.report", "todos.list", "progress.list", "task.get",
        "plans", "context", "summary", "history",
    }  # fmt: skip
    assert {
        name for name in set(OPERATIONS) - {*hud, *memory} if not re.search(r"^(sections|project)\.|\.confirm$", name)
    } == rare
    assert len(set(hud)) == len(hud) and len(set(memory)) == len(memory)
    writes = [OPERATIONS[name].writes for name in hud]
    assert writes == sorted(writes, reverse=True)
    assert memory[:2] == ["search", "messages"]


def test_the_definitions_cost_a_tenth_of_a_tool_for_each_operation():
    def tokens(tool):
        return count_tokens(json.dumps({"type": "function", "function": tool}, separators=(",", ":")))

    tools = [
        {"name": one.name.replace(".", "_"), "description": one.summary, "parameters": operation_schema(one)}
        for one in EVERY
    ]
    ours, many = sum(map(tokens, DEFINITIONS)), sum(map(tokens, tools))
    assert ours <= 290 and ours <= many / 10, (ours, many)


@by_name
def test_no_pattern_stands_beside_a_list(one):
    """msgspec 0.22 overruns its memory there; the process dies at some later time."""
    for field in msgspec.inspect.type_info(one.arguments).fields:
        choices = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else ()
        lists = [each for each in choices if isinstance(each, msgspec.inspect.VarTupleType)]
        texts = [each.type if isinstance(each, msgspec.inspect.Metadata) else each for each in choices]
        assert not lists or not any(getattr(each, "pattern", None) for each in texts), field.name


def test_every_section_with_rows_is_a_section_of_the_state():
    assert set(SECTION_LISTINGS) <= set(STATE_FIELDS)
    assert {"task", "decisions", "notes", "steps", "files", "blockers"} <= set(SECTION_LISTINGS)


def test_the_reference_is_current():
    assert DOCS.read_text() == tools_page(), "python -m hudkit.tools.tool_reference > docs/tools.md"

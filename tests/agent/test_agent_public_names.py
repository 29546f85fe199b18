"""The public names of `hudkit.agent`: short to import, cheap until they are used, each with a docstring."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import hudkit.agent as agent

LOADED = "import sys, hudkit.agent; print([name for name in sys.modules if name.startswith('hudkit.agent.')])"


def test_importing_the_package_loads_none_of_its_modules() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_public_name_is_the_object_and_not_a_module_of_the_same_name() -> None:
    for name in agent.__all__:
        assert not inspect.ismodule(getattr(agent, name)), name


@pytest.mark.parametrize("name", [name for name in agent.__all__ if name != "TOOLS"])
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(agent, name))


def test_every_field_of_the_options_is_described() -> None:
    for struct in (agent.LoopOptions, agent.LoopSettings):
        text = inspect.getdoc(struct) or ""
        missing = [field for field in struct.__struct_fields__ if f"`{field}`" not in text]
        assert missing == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agent.nothing

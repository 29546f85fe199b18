"""How hudkit was installed, read from the files that installers leave, and the calls that follow from it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from hudkit.hosts.installing.user_environment import RuntimeNeeds
from hudkit.installation import Installation, install_hint, read_installation

EDITABLE = {"url": "file:///home/me/my%20hudkit", "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/hudkit.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
RECEIPT = """
[tool]
requirements = [{ name = "hudkit", extras = ["mcp", "session"] }, { name = "other", extras = ["x"] }]
"""


def uv_tool(prefix: Path, direct_url: dict[str, Any] | None = None, receipt: str = RECEIPT) -> Installation:
    (prefix / "uv-receipt.toml").write_text(receipt)
    return read_installation(prefix, direct_url or {})


def test_uv_tool_keeps_the_extras_that_are_there(tmp_path: Path) -> None:
    installed = uv_tool(tmp_path)
    assert installed.with_extra("rooms") == "uv tool install --force 'hudkit[mcp,rooms,session]'"
    assert installed.with_extra("mcp") == "uv tool install --force 'hudkit[mcp,session]'"
    assert installed.upgrade() == "uv tool upgrade hudkit"


def test_uv_tool_from_a_repository_and_from_a_checkout(tmp_path: Path) -> None:
    source = "hudkit[mcp,session,x] @ git+https://example.org/hudkit.git"
    assert shlex.split(uv_tool(tmp_path, GIT).with_extra("x"))[-1] == source
    words = shlex.split(uv_tool(tmp_path, EDITABLE).with_extra("x"))
    assert words[-2:] == ["--editable", "/home/me/my hudkit[mcp,session,x]"]
    assert uv_tool(tmp_path, EDITABLE).upgrade() == "git -C '/home/me/my hudkit' pull && uv tool upgrade hudkit"


@pytest.mark.parametrize("receipt", ["", "no toml", "[tool]\nrequirements = 3\n", '[tool]\nrequirements = ["x"]\n'])
def test_a_receipt_that_cannot_be_read_is_still_one_of_uv(tmp_path: Path, receipt: str) -> None:
    assert uv_tool(tmp_path, receipt=receipt).with_extra("x") == "uv tool install --force 'hudkit[x]'"


def test_pipx(tmp_path: Path) -> None:
    facts = {"main_package": {"package": "hudkit", "package_or_url": "hudkit[mcp]"}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(facts))
    installed = read_installation(tmp_path, {})
    assert installed.with_extra("session") == "pipx install --force 'hudkit[mcp,session]'"
    assert installed.upgrade() == "pipx upgrade hudkit"


def test_what_stays_is_installed_by_the_installer_in_use(tmp_path: Path) -> None:
    uvx = read_installation(Path("/home/me/.cache/uv/archive-v0/x1"), GIT)
    assert uvx.lasting("mcp") == "uv tool install 'hudkit[mcp] @ git+https://example.org/hudkit.git'"
    assert uv_tool(tmp_path).lasting("rooms") == "uv tool install --force 'hudkit[mcp,rooms,session]'"
    assert Installation("pipx").lasting("mcp") == "pipx install --force 'hudkit[mcp]'"
    assert Installation("pip", has_pip=True).lasting() == "pipx install hudkit"
    checkout = Installation("pip", checkout=Path("/src/hudkit"), has_pip=False)
    assert checkout.lasting("mcp") == "uv tool install --editable '/src/hudkit[mcp]'"


def test_an_environment_that_goes_is_answered_with_the_installer_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudkit.installation.read_installation", lambda: Installation("pipx"))
    hint = "Install hudkit to stay (`pipx install --force 'hudkit[mcp]'`), and run that; or give --anyway"
    assert RuntimeNeeds(("mcp",), "mcp").hint == hint


def test_uvx_leaves_nothing_that_could_be_added_to() -> None:
    installed = read_installation(Path("/home/me/.cache/uv/archive-v0/x1"), {})
    assert installed.with_extra("mcp") == "uvx --from 'hudkit[mcp]' hudkit"
    assert installed.upgrade() == "uvx --refresh --from hudkit hudkit"


def test_pip_is_that_of_the_interpreter_or_uvs(tmp_path: Path) -> None:
    installed = read_installation(tmp_path, {})
    assert installed.installer == "pip" and installed.with_extra("mcp").endswith(" install 'hudkit[mcp]'")
    with_pip = installed._replace(python="/venv/bin/python", has_pip=True)
    assert with_pip.with_extra("mcp") == "/venv/bin/python -m pip install 'hudkit[mcp]'"
    assert with_pip.upgrade() == "/venv/bin/python -m pip install --upgrade hudkit"
    without = with_pip._replace(has_pip=False, checkout=Path("/src/hudkit"))
    assert without.with_extra("mcp") == "uv pip install --python /venv/bin/python --editable '/src/hudkit[mcp]'"


def test_the_installation_that_runs_these_tests_is_known() -> None:
    assert install_hint("mcp").endswith("[mcp]'") or "hudkit[mcp] @ " in install_hint("mcp")

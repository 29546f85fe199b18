"""`server.json` says what the MCP registry documents that it must say, and what it says starts this server.

The rules are those of the schema it names (2025-12-11) and of the registry's requirements for PyPI packages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hudkit import __version__
from hudkit.cli.commands import COMMANDS, build_parser

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[3] / "server.json"


def told() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def test_the_required_fields() -> None:
    server = told()
    assert server["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert set(server) <= {
        "$schema",
        "name",
        "title",
        "description",
        "version",
        "packages",
        "repository",
        "websiteUrl",
    }
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100
    (package,) = server["packages"]
    assert {"registryType", "identifier", "transport", "version"} <= set(package)
    assert (package["registryType"], package["identifier"]) == ("pypi", "hudkit")
    assert package["transport"] == {"type": "stdio"}
    assert "runtimeHint" in package, "arguments of the runtime need one"
    for one in (*package["runtimeArguments"], *package["packageArguments"]):
        assert one["type"] in ("named", "positional")
        assert "name" in one if one["type"] == "named" else "value" in one
    assert all("name" in one for one in package["environmentVariables"])


def test_versions_are_ours() -> None:
    server = told()
    (package,) = server["packages"]
    assert (server["version"], package["version"]) == (__version__, __version__)
    assert [one["value"] for one in package["runtimeArguments"]] == [f"hudkit[mcp]=={__version__}"]


def test_what_it_starts_is_a_command() -> None:
    (package,) = told()["packages"]
    name, *rest = [one["value"] for one in package["packageArguments"]]
    assert name in COMMANDS
    assert build_parser(name).parse_args(rest).http is None

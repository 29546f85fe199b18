"""`docs/adding-a-host.md` is true: its adapter, written out and run as the page says, passes every host's suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hudkit.testing.host_conformance import HostConformance

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-host.md").read_text(encoding="utf-8")
FILES = ("chatloop.py", "adapter.py", "test_chatloop_conforms.py")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(COMMAND,) = re.findall(r"^```sh\npython (.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The page's files in a folder of their own."""
    for name, code in zip(FILES, PYTHON, strict=True):
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_page_adds_a_host(package: Path) -> None:
    suite = [name for name in dir(HostConformance) if name.startswith("test_")]
    options = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:langsmith_plugin", "-rA", "--no-header"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HUDKIT_CONFIG"))}
    command = [sys.executable, *COMMAND.split(), *options]
    done = subprocess.run(command, cwd=package, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = set(re.findall(r"^PASSED \S+::(test_\w+)", done.stdout, re.MULTILINE))
    assert passed == set(suite), "the adapter is whole: no test of the suite is left out"


@pytest.mark.slow
def test_the_code_of_the_page_is_typed(package: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".cache" / "mypy-strict"), *FILES]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_page_names_places_that_are_there() -> None:
    places = re.findall(r"`((?:src|tests|docs)/[\w./]+|[\w-]+\.(?:toml|ini|md))`", PAGE)
    assert len(places) > 10
    for place in places:
        assert "NAME" in place or (ROOT / place).exists(), place
    assert "name = Hosts do not know each other" in (ROOT / "importlinter.ini").read_text()
    assert "HOSTS" in (ROOT / "tests" / "test_hosts_table.py").read_text()
    assert "HOSTS:" in (ROOT / "src/hudkit/cli/commands/install.py").read_text()
    assert "CLIENTS:" in (ROOT / "src/hudkit/hosts/mcp/client_install.py").read_text()

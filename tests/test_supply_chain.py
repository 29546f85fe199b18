"""What is installed with hudkit: exact versions with hashes for development and CI, ceilings for users."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [*PROJECT["dependencies"], *(each for extra in PROJECT["optional-dependencies"].values() for each in extra)]
HASH = re.compile(r" --hash=sha256:[0-9a-f]{64}( \\)?$")


def pinned() -> dict[str, list[str]]:
    """Return the hashes of each package of constraints.txt."""
    packages: dict[str, list[str]] = {}
    name = ""
    for line in CONSTRAINTS.splitlines():
        if line.startswith("    "):
            packages[name].append(line)
        elif not line.startswith("#"):
            match = re.match(r"([A-Za-z0-9._-]+)==[^ ]+( ;.*)? \\$", line)
            assert match, line
            name = match[1]
            packages[name] = []
    return packages


def test_every_pinned_package_has_hashes() -> None:
    packages = pinned()
    assert len(packages) > 100
    for name, hashes in packages.items():
        assert hashes and all(HASH.search(line) for line in hashes), name


@pytest.mark.parametrize("requirement", RUNTIME)
def test_every_dependency_has_a_ceiling_and_is_pinned(requirement: str) -> None:
    wanted = requirement.partition(";")[0]
    if not wanted.startswith("hudkit["):
        assert re.search(r"<\d", wanted), f"{wanted}: its next major version may break what is released now"
        assert re.split(r"[\[<>=]", wanted)[0] in pinned()


@pytest.mark.slow
@pytest.mark.hosts
def test_a_package_with_other_bytes_than_pinned_is_not_installed(tmp_path: Path) -> None:
    uv = shutil.which("uv") or next((str(path) for path in (ROOT / ".uv/bin/uv",) if path.exists()), "")
    if not uv:
        pytest.skip("there is no uv")
    forged = re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", CONSTRAINTS)
    (tmp_path / "forged.txt").write_text(forged)
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True)
    command = [uv, "pip", "install", "--no-cache", "--python", str(tmp_path / "venv/bin/python"), "iniconfig"]
    done = subprocess.run(
        [*command, "--constraint", str(tmp_path / "forged.txt")], capture_output=True, text=True, check=False
    )
    assert done.returncode and "Hash mismatch" in done.stderr, done.stderr
    subprocess.run([*command, "--constraint", str(ROOT / "constraints.txt")], check=True, capture_output=True)


def test_unicodes_licence_goes_with_its_table() -> None:
    """Its condition: the notice appears with all copies of the data."""
    licence = files("hudkit.rooms").joinpath("confusables-LICENSE.txt").read_text(encoding="utf-8")
    table = files("hudkit.rooms").joinpath("confusables.txt").read_text(encoding="utf-8")
    assert licence.startswith("UNICODE LICENSE V3") and "this copyright and permission notice" in licence
    assert "confusables-LICENSE.txt" in table.split("\n(", 1)[0]
    assert "Unicode-3.0" in PROJECT["license"]
    assert "src/hudkit/rooms/confusables-LICENSE.txt" in PROJECT["license-files"]

"""The examples of the CommonMark specification: from a package registry, once; kept in `.cache`, never vendored."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

CACHE = Path(__file__).parents[3] / ".cache" / "commonmark" / "spec-0.31.2.txt"
SHA256 = "257c41ad946f7a1414a499aca402a1aa8fdac3678532266611348c1cf54f4b80"
MEMBERS = ("tests/test_cmark_spec/spec.md", "package/spec.txt")
_EXAMPLE = re.compile(r"^`{32} example\n(.*?)^\.\n(.*?)^`{32}$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """One example: its number, the Markdown, and the HTML that the specification gives."""

    number: int
    markdown: str
    html: str


def _commands() -> list[list[str]]:
    """Ways to get an archive that holds the specification: the parser's source package, or the specification's."""
    pythons = [sys.executable, str(CACHE.parents[2] / ".uv/bin/python"), shutil.which("python3")]
    source = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "markdown-it-py==4.3.0"]
    ways = [[python, "-m", "pip", *source] for python in pythons if python and Path(python).exists()]
    npm = shutil.which("npm")
    return [*ways, [npm, "pack", "--silent", "commonmark-spec@0.31.2"]] if npm else ways


def _specification() -> tuple[bytes, str]:
    """The bytes of the specification, or none and the reason."""
    if CACHE.exists():
        found = CACHE.read_bytes()
        if hashlib.sha256(found).hexdigest() == SHA256:
            return found, ""
    reasons = []
    for command in _commands():
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                reasons.append(str(error))
                continue
            for archive in Path(folder).iterdir():
                found = _member(archive)
                if hashlib.sha256(found).hexdigest() == SHA256:
                    CACHE.parent.mkdir(parents=True, exist_ok=True)
                    part = CACHE.with_suffix(f".{os.getpid()}")
                    part.write_bytes(found)
                    part.replace(CACHE)
                    return found, ""
            reasons.append(f"{Path(command[0]).name} exit {done.returncode}: {done.stderr.strip()[-200:]}")
    return b"", "; ".join(reasons) or "neither pip nor npm is here"


def _member(archive: Path) -> bytes:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if member.name.endswith(MEMBERS):
                file = tar.extractfile(member)
                return file.read() if file else b""
    return b""


def examples() -> list[Example]:
    """All examples; skips the test where they cannot be had, and fails it in CI."""
    found, reason = _specification()
    if not found:
        message = f"the CommonMark specification cannot be had: {reason}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    text = found.decode().replace("\r\n", "\n")
    parts = _EXAMPLE.findall(text)
    return [
        Example(number, markdown.replace("→", "\t"), html.replace("→", "\t"))
        for number, (markdown, html) in enumerate(parts, 1)
    ]

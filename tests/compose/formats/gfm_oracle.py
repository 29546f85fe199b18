"""GFM's examples, and micromark to read them: from package registries, once; kept in `.cache`, never vendored.

The examples are those of the GFM specification 0.29 (CC BY-SA 4.0), as marko's source package has it, and those of
CommonMark 0.29, on which it builds: the two together hold every example of each published text of GFM 0.29.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[3] / ".cache" / "gfm"
READER = ("micromark@4.0.2", "micromark-extension-gfm@3.0.0")
_PIP = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "marko==2.2.0"]
SOURCES = {
    "gfm.txt": (
        [*[[one, *_PIP] for one in (sys.executable, shutil.which("python3")) if one]],
        "tests/spec/gfm.txt",
        "7d8e5814befec287ac116786d81ff14e0adc9b13295b4494649e995408fd871c",
    ),
    "commonmark-0.29.txt": (
        [["npm", "pack", "--silent", "commonmark-spec@0.29.0"]],
        "package/spec.txt",
        "1df16455b3585f02cbd49a46d04509f6f92abab0dcd0ceea18f35f2ffb9076f1",
    ),
}
_EXAMPLE = re.compile(r"^`{32} example[^\n]*\n(.*?)^\.\n.*?^`{32}$", re.MULTILINE | re.DOTALL)
_SCRIPT = """
import { micromark } from "micromark"
import { gfm, gfmHtml } from "micromark-extension-gfm"
import { readFileSync } from "node:fs"
const raw = { allowDangerousHtml: true, allowDangerousProtocol: true }
const options = { ...raw, extensions: [gfm()], htmlExtensions: [gfmHtml()] }
const documents = JSON.parse(readFileSync(0, "utf8"))
process.stdout.write(JSON.stringify(documents.map((one) => micromark(one, options))))
"""


def _lacks(reason: str) -> None:
    """Skips the test, and fails it in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _run(command: list[str], folder: str | Path, given: str = "") -> str:
    """What a command prints; skips where it cannot be run."""
    found = shutil.which(command[0])
    if found is None:
        _lacks(f"{command[0]} is not on PATH")
    try:
        done = subprocess.run(
            [str(found), *command[1:]],
            cwd=folder, input=given, capture_output=True, text=True, encoding="utf-8", timeout=600, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        _lacks(str(error))
    if done.returncode:
        _lacks(f"{' '.join(command[:6])} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _specification(name: str) -> str:
    commands, member, digest = SOURCES[name]
    kept = CACHE / name
    if not kept.exists():
        for command in commands:
            with tempfile.TemporaryDirectory() as folder:
                _run(command, folder)
                for archive in Path(folder).iterdir():
                    with tarfile.open(archive) as tar:
                        inner = next(one for one in tar.getmembers() if one.name.endswith(member))
                        file = tar.extractfile(inner)
                        assert file is not None
                        CACHE.mkdir(parents=True, exist_ok=True)
                        kept.write_bytes(file.read())
            if kept.exists():
                break
    found = kept.read_bytes()
    assert hashlib.sha256(found).hexdigest() == digest, name
    return found.decode().replace("\r\n", "\n")


@cache
def examples() -> tuple[str, ...]:
    """The Markdown of every example, each once."""
    found = [one.replace("→", "\t") for name in SOURCES for one in _EXAMPLE.findall(_specification(name))]
    return tuple(dict.fromkeys(found))


def html(documents: list[str]) -> list[str]:
    """What micromark, with all of GFM, makes of documents."""
    script = CACHE / "read.mjs"
    if not (CACHE / "node_modules" / "micromark-extension-gfm").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text("{}")
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", *READER], CACHE)
    script.write_text(_SCRIPT)
    found: list[str] = json.loads(_run(["node", script.name], CACHE, json.dumps(documents)))
    return found


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag + "".join(f" {name}={value}" for name, value in attrs if name != "alt"))
        self.text += "".join(value or "" for name, value in attrs if name == "alt")

    def handle_data(self, data: str) -> None:
        self.text += data


def reading(source: str) -> tuple[list[str], str]:
    """The tags of HTML, and its text, that of images too."""
    found = _Reading()
    found.feed(source)
    found.close()
    return found.tags, found.text

"""Build what a release publishes, and check it: `python scripts/release_check.py [FOLDER]` (default: dist).

Builds sdist and wheel, checks their contents, their metadata and the links of the page on PyPI, runs `twine check`,
and writes a software bill of materials (CycloneDX) of an environment with every extra. Exit code 1 where something is
wrong.
uv is taken from PATH, or from ./.uv; it brings the other programs.
"""

from __future__ import annotations

import email
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/hudkit/hudkit"
RAW = "https://raw.githubusercontent.com/hudkit/hudkit"
TWINE = "twine>=6,<7"
SBOM_MAKER = "cyclonedx-bom>=7,<8"

NEEDED = (
    "hudkit/py.typed",
    "hudkit/hosts/opencode/",
    "hudkit/rooms/page/static/",
    "hudkit/rooms/confusables.txt",
    ".dist-info/licenses/LICENSE",
    ".dist-info/licenses/src/hudkit/rooms/confusables-LICENSE.txt",
    ".dist-info/licenses/src/hudkit/tokens/prices-LICENSE.txt",
    ".dist-info/licenses/src/hudkit/tokens/o200k_base-LICENSE.txt",
    ".dist-info/licenses/src/hudkit/ingest/sentence_model/bert_vocabulary-LICENSE.txt",
    "hudkit/ingest/extraction/sentence_network.msgpack",
    "hudkit/ingest/sentence_model/additions.npz",
    "hudkit/ingest/sentence_model/endings.npz",
    ".dist-info/entry_points.txt",
)
"""What each wheel has, as a part of a name."""
UNWANTED = re.compile(r"(^|/)(tests?|__pycache__|\.venv|\.cache|\.git|\.hypothesis|\.DS_Store)(/|$)|\.py[co]$|~$")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def wheel_problems(names: list[str], source: Path) -> Iterator[str]:
    """Yield what is wrong with the names in a wheel: strangers, and files of `source` that it lacks."""
    for name in names:
        top = name.partition("/")[0]
        if top != "hudkit" and not top.endswith(".dist-info"):
            yield f"the wheel has {name}"
        if UNWANTED.search(name):
            yield f"the wheel has {name}, which no user needs"
    for part in NEEDED:
        if not any(part in name for name in names):
            yield f"the wheel lacks {part}"
    files = (path for path in source.rglob("*") if path.is_file())
    ours = {path.relative_to(source.parent).as_posix() for path in files}
    for name in sorted(name for name in ours - set(names) if not UNWANTED.search(name)):
        yield f"the wheel lacks {name}"


def sdist_problems(names: list[str]) -> Iterator[str]:
    """Yield what is wrong with the names in an sdist, without the folder that they are all in."""
    for name in names:
        # Its tests go with it: who packages hudkit for a distribution runs them.
        if UNWANTED.search(name) and not name.startswith("tests/"):
            yield f"the sdist has {name}"
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "src/hudkit/py.typed"):
        if name not in names:
            yield f"the sdist lacks {name}"


def metadata_problems(metadata: Message, version: str) -> Iterator[str]:
    """Yield what is wrong with a wheel's metadata, and with the links of its page."""
    if metadata["Version"] != version:
        yield f"the wheel says version {metadata['Version']}, the package {version}"
    urls = [line.partition(", ")[0] for line in metadata.get_all("Project-URL", [])]
    yield from (f"there is no address for {name}" for name in ("Repository", "Changelog") if name not in urls)
    yield from link_problems(metadata.get_payload(), ROOT)


def link_problems(page: str, root: Path) -> Iterator[str]:
    """Yield every link of a page that is relative, or that names a file of ours that is not there."""
    for target in _LINK.findall(page):
        if target.startswith("#"):
            continue
        if not re.match(r"https?://", target):
            yield f"the page on PyPI has the relative link {target}"
        ours = re.match(rf"(?:{re.escape(REPOSITORY)}/blob|{re.escape(RAW)})/[^/]+/([^#]+)", target)
        if ours and not (root / ours[1]).exists():
            yield f"the page on PyPI links to {ours[1]}, which is not there"


def version_problems(version: str) -> Iterator[str]:
    """Yield every place that says another version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    server = json.loads((ROOT / "server.json").read_text())
    said = {"pyproject.toml": project["version"], "server.json": server["version"]}
    yield from (f"{place} says {other}, the package {version}" for place, other in said.items() if other != version)
    if f"\n## {version} " not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md has no section for {version}"


def package_version() -> str:
    """Return the version that the package says of itself."""
    text = (ROOT / "src/hudkit/__init__.py").read_text()
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert match is not None
    return match[1]


def find_uv() -> str:
    """Return the path of uv. Exits where there is none."""
    uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    if not Path(uv).exists():
        sys.exit("there is no uv: run `make demo` first, which puts one into ./.uv")
    return uv


def make_sbom(uv: str, wheel: Path, target: Path) -> None:
    """Write the bill of materials of an environment with the wheel and every extra, in pinned versions."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        _run(uv, "venv", "--quiet", "--python", sys.executable, Path(folder, "venv"))
        wanted = f"hudkit[all] @ {wheel.as_uri()}"
        constraint = ("--constraint", ROOT / "constraints.txt")
        _run(uv, "pip", "install", "--quiet", "--python", python, *constraint, wanted)
        target.parent.mkdir(parents=True, exist_ok=True)
        maker = (uv, "tool", "run", "--quiet", "--from", SBOM_MAKER, "cyclonedx-py", "environment")
        _run(*maker, "--pyproject", ROOT / "pyproject.toml", "--of", "JSON", "-o", target, python)


def _run(*command: object) -> None:
    subprocess.run(list(map(str, command)), check=True, cwd=ROOT)


def main() -> int:
    """Build into the folder that is named, check, and return 1 where something is wrong."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    shutil.rmtree(target, ignore_errors=True)
    uv, version = find_uv(), package_version()
    _run(uv, "build", "--quiet", "--out-dir", target)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata_name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(metadata_name))
        metadata.set_payload(archive.read(metadata_name).decode().partition("\n\n")[2])
    with tarfile.open(sdist) as tar:
        sources = [member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()]
    problems = [
        *version_problems(version),
        *wheel_problems(names, ROOT / "src" / "hudkit"),
        *sdist_problems(sources),
        *metadata_problems(metadata, version),
    ]
    _run(uv, "tool", "run", "--quiet", "--from", TWINE, "twine", "check", "--strict", wheel, sdist)
    sbom = target / "sbom" / "hudkit.cdx.json"
    make_sbom(uv, wheel, sbom)
    components = json.loads(sbom.read_text())["components"]
    print("\n".join(problems))
    print(
        f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {len(sources)} files"
    )
    print(f"{sbom.relative_to(target)}: {len(components)} components")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

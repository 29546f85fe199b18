"""`docs/adding-a-format.md` is true: its code, put where it says, gives working formats, ours and a package's."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-format.md").read_text()
OWN, ROW, TEST_ROW, PACKAGE, WAY_BACK = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run(tmp_path: Path, *arguments: str) -> str:
    """Return what Python prints in a folder, with the sources that lie there, or ours."""
    source = tmp_path / "src" if (tmp_path / "src").exists() else ROOT / "src"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(source)))}
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_names_places_that_exist() -> None:
    paths = set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", PAGE))
    assert len(paths) >= 8
    for path in paths - {"src/hudkit/compose/formats/ascii_json.py"}:
        assert (ROOT / path).exists(), path


def test_the_session_on_the_page_is_as_shown() -> None:
    (session,) = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(session, {}, "adding-a-format.md", None, 0)
    reports: list[str] = []
    assert doctest.DocTestRunner().run(parsed, out=reports.append).failed == 0, "".join(reports)


@pytest.mark.slow
def test_the_page_adds_a_format_of_our_own(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    formats = tmp_path / "src" / "hudkit" / "compose" / "formats"
    (formats / "ascii_json.py").write_text(OWN)
    registry = (formats / "registry.py").read_text()
    imported = registry.replace("formats import columns,", "formats import ascii_json, columns,", 1)
    changed = imported.replace("    )\n}\n", f"{ROW}    )\n}}\n", 1)
    assert registry != imported != changed
    (formats / "registry.py").write_text(changed)

    data = tmp_path / "tests"
    shutil.copytree(ROOT / "tests" / "compose" / "formats" / "data", data, ignore=ignored)
    for shared in [*(ROOT / "tests").glob("*.py"), ROOT / "pyproject.toml"]:
        shutil.copy(shared, tmp_path / shared.name)
    tests = (data / "test_data_round_trips.py").read_text()
    imported = tests.replace("formats import columns,", "formats import ascii_json, columns,", 1)
    changed = re.sub(r'^    "toon": ', lambda match: TEST_ROW + match.group(), imported, count=1, flags=re.MULTILINE)
    assert tests != imported != changed
    (data / "test_data_round_trips.py").write_text(changed)

    printed = run(tmp_path, "-m", "pytest", "tests/test_data_round_trips.py", "-k", "ascii")
    assert int(re.findall(r"(\d+) passed", printed)[0]) >= 5, printed
    use = "from hudkit.compose.formats.registry import format_of; print(format_of('ascii').write(['é']))"
    assert run(tmp_path, "-c", use) == '["\\u00e9"]\n'


METADATA = "Metadata-Version: 2.1\nName: hudkit-dot\nVersion: 1\n"
USE = """
from hudkit.compose import h
from hudkit.errors import ConfigError
from hudkit.compose.formats import registry

tree = h.document[h.section(title='A "b"')[h.paragraph["x"], h.list[h.item["y"]]]]
assert registry.names()[-3:] == ("broken", "dot", "wrong"), registry.names()
text = registry.write_tree("dot", tree)
wanted = [
    "digraph {",
    '  n0 [label="A \\\\"b\\\\""]', '  n1 [label="x"]', "  n0 -> n1", '  n2 [label="y"]', "  n0 -> n2", "}"
]
assert text.splitlines() == wanted, text
for name, problem in (("broken", "cannot be loaded"), ("wrong", "is not the format")):
    try:
        registry.format_of(name)
    except ConfigError as error:
        assert problem in error.message, error
    else:
        raise AssertionError(name)
assert registry.format_of("json").doc.startswith("JSON"), "a name of hudkit's own is not taken"
print("the format works")
"""


@pytest.mark.slow
def test_the_page_adds_a_format_of_another_package(tmp_path: Path) -> None:
    (entry,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    name, target = re.findall(r'^(\w+) = "(.*)"$', entry, re.MULTILINE)[0]
    (tmp_path / f"{target.split(':')[0]}.py").write_text(PACKAGE + WAY_BACK)
    info = tmp_path / "hudkit_dot-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    entries = [f"{name} = {target}", "broken = hudkit_dot_gone:FORMAT", f"wrong = {target}", f"json = {target}"]
    (info / "entry_points.txt").write_text("[hudkit.formats]\n" + "\n".join(entries) + "\n")
    assert run(tmp_path, "-c", USE) == "the format works\n"

"""Sections that installed packages bring: real packages on the path, loaded when asked for, harmless when broken."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as futures_wait
from pathlib import Path
from typing import Any

import pytest

from hudkit.api import Hud, HudSession
from hudkit.cli import main
from hudkit.config import CustomSectionSettings, Settings
from hudkit.log import Origin
from hudkit.log.payloads import MessagesRevert, SectionPrepared
from hudkit.paths import SectionPaths
from hudkit.sections.sandboxed import installed_sections, load_section

TALLY = """
from hudkit.sections.sandboxed import SectionPlugin

def show(steps, notes):
    return [f"{len(steps)} steps, {len(notes)} notes"]

tally = SectionPlugin("tally", show, title="A tally", reads=("steps", "notes"), priority=45)
"""

WORDS = """
from hudkit.sections.sandboxed import SectionPlugin

def reduce(state, event):
    state["words"] += len(event["payload"]["content"].split())
    state["of"].append(event["seq"])
    return state

words = SectionPlugin(
    "words", lambda state: f"{state['words']} words in {len(state['of'])} notes", title="Words",
    reduce=reduce, handles=("note.add",), initial={"words": 0, "of": []},
)
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package with an entry point on the path, as an installer does; its modules are forgotten afterwards."""
    site = tmp_path / "site"
    names: list[str] = []

    def add(name: str, source: str, version: str = "1.0", target: str = "") -> None:
        module = f"hudkit_test_{name.replace('-', '_')}"
        names.append(module)
        info = site / f"{module}-{version}.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: hudkit-{name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[hudkit.sections]\n{name} = {module}:{target or name}\n")
        monkeypatch.syspath_prepend(str(site))

    yield add
    for name in names:
        sys.modules.pop(name, None)


def settings(*plugins: str, **given: Any) -> Settings:
    return Settings(custom=CustomSectionSettings(plugins=plugins, **{"budget_ms": 5000, **given}))


def shown(session: HudSession, **given: Any) -> str:
    return session.frame(used_tokens=1000, limit_tokens=200_000, placement="system", **given).text


def runs(session: HudSession) -> list[SectionPrepared]:
    return [event.payload for event in session.events() if isinstance(event.payload, SectionPrepared)]


def test_a_package_that_the_settings_name_brings_a_section(install: Install) -> None:
    install("tally", TALLY)
    with Hud.in_memory(settings=settings("tally")) as hud:
        session = hud.session("s")
        session.call("steps.add", {"description": "one"})
        assert "## A tally\n\n- 1 steps, 0 notes\n" in shown(session)
        session.call("task.set", {"description": "no news for it"})
        shown(session)
        assert len(runs(session)) == 1
        session.call("notes.add", {"content": "a"})
        text = shown(session)
        assert "- 1 steps, 1 notes\n" in text and len(runs(session)) == 2
        assert session.frame_at(session.state.seq).text == text
        assert "tally (from hudkit-tally 1.0): A tally" in session.tool("hud", {"operation": "sections.list"})
        assert "Steps" in text and text.index("Next Steps") < text.index("A tally"), "behind the built-in ones"


def test_nothing_of_a_package_is_imported_unasked(install: Install, tmp_path: Path) -> None:
    install("tally", f"open({str(tmp_path / 'ran')!r}, 'w')\n{TALLY}")
    with Hud.in_memory(settings=settings(), sections=SectionPaths(tmp_path / "none", tmp_path / "t")) as hud:
        assert "A tally" not in shown(hud.session("s"))
    (found,) = [section for section in installed_sections() if section.name == "tally"]
    assert (found.package, found.target) == ("hudkit-tally 1.0", "hudkit_test_tally:tally")
    with Hud.in_memory(settings=settings("tally")) as hud:
        session = hud.session("s")
        session.call("notes.add", {"content": "a"})
        assert not (tmp_path / "ran").exists(), "not before a frame"
        shown(session)
    assert (tmp_path / "ran").exists()


def test_importing_hudkit_looks_for_no_entry_points() -> None:
    code = "import sys, hudkit.api; print('importlib.metadata' in sys.modules, 'hudkit.cli' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.slow
def test_a_section_that_is_named_no_more_leaves(install: Install, tmp_path: Path) -> None:
    install("tally", TALLY)
    paths = SectionPaths(tmp_path / "none", tmp_path / "trusted")
    with Hud.open(tmp_path / "hud.db", settings=settings("tally"), sections=paths) as hud:
        assert "A tally" in shown(hud.session("s"))
    with Hud.open(tmp_path / "hud.db") as hud:
        assert "A tally" in shown(hud.session("s")), "a program that knows no settings of the user takes nothing away"
    with Hud.open(tmp_path / "hud.db", settings=settings(), sections=paths) as hud:
        assert "A tally" not in shown(hud.session("s")) and not hud.session("s").state.custom.sections


def test_a_file_of_the_same_name_is_nearer(install: Install, tmp_path: Path) -> None:
    install("tally", TALLY)
    (tmp_path / "tally.md").write_text("My own")
    paths = SectionPaths(tmp_path, tmp_path / "trusted")
    with Hud.in_memory(settings=settings("tally"), sections=paths) as hud:
        session = hud.session("s")
        assert "My own" in shown(session) and "A tally" not in shown(session)
        (tmp_path / "tally.md").unlink()
        assert "## A tally" in shown(session)


def test_the_package_of_the_page_works(install: Install) -> None:
    page = (Path(__file__).parents[2] / "docs" / "custom-sections.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    install("reading", next(block for block in blocks if "SectionPlugin" in block))
    with Hud.in_memory(settings=settings("reading")) as hud:
        session = hud.session("s")
        for path in ("a.py", "b.py"):
            session.call("files.open", {"path": path, "status": "reading"})
        assert "## Files so far\n\n- files were opened 2 times\n- 2 are active\n" in shown(session)


@pytest.mark.slow
def test_the_commands_say_what_packages_offer_and_what_is_wrong(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, at in (("HUDKIT_DATA", "data"), ("HUDKIT_CONFIG", "config/config.toml")):
        monkeypatch.setenv(name, str(tmp_path / at))
    monkeypatch.delenv("HUDKIT_DB", raising=False)
    (tmp_path / "config").mkdir()
    config = tmp_path / "config" / "config.toml"
    config.write_text("")
    monkeypatch.chdir(tmp_path)
    install("tally", TALLY)
    install("broken", "raise OSError('gone')")
    assert main(["sections"]) == 0
    assert capsys.readouterr().out == (
        'not yet package broken: hudkit-broken 1.0; plugins = ["broken"] below [custom] in your settings\n'
        'not yet package tally: hudkit-tally 1.0; plugins = ["tally"] below [custom] in your settings\n'
    )
    config.write_text('[custom]\nplugins = ["tally", "broken"]\n')
    assert main(["sections"]) == 1
    assert capsys.readouterr().out == (
        "runs    package tally: A tally, priority 45 (hudkit-tally 1.0)\n"
        "BAD     package broken: cannot be loaded: OSError: gone, line 1\n"
    )
    assert main(["sections", "--json"]) == 1
    assert [row["named"] for row in json.loads(capsys.readouterr().out)["packages"]] == [True, True]
    main(["doctor", "--json"])
    checks = {row["name"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["custom sections"]["verdict"] == "warn"
    assert checks["custom sections"]["words"] == "broken: cannot be loaded: OSError: gone, line 1"


# -- reducers --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reducer_folds_the_events_that_it_handles(install: Install, tmp_path: Path) -> None:
    install("words", WORDS)
    with Hud.open(tmp_path / "hud.db", settings=settings("words")) as hud:
        session = hud.session("s")
        assert "0 words in 0 notes" in shown(session)
        session.call("notes.add", {"content": "two words"})
        session.call("steps.add", {"description": "not a note"})
        assert "2 words in 1 notes" in shown(session)
        session.call("notes.add", {"content": "and three more"})
        assert "5 words in 2 notes" in shown(session)
        recorded = len(runs(session))
    with Hud.open(tmp_path / "hud.db", settings=settings("words")) as hud:
        session = hud.session("s")
        assert "5 words in 2 notes" in shown(session)
        assert len(runs(session)) == recorded, "the same again is no event"
        session.call("notes.add", {"content": "six"})
        assert "6 words in 3 notes" in shown(session)


def test_what_is_taken_back_is_not_folded(install: Install) -> None:
    install("words", WORDS)
    with Hud.in_memory(settings=settings("words")) as hud:
        session = hud.session("s")
        first, second = (session.call("notes.add", {"content": text}) for text in ("one", "two more"))
        assert first and second and "3 words in 2 notes" in shown(session)
        notes = [event.seq for event in session.events() if event.type == "note.add"]
        session.append(MessagesRevert((notes[0],)), origin=Origin.HOST)
        shown(session)
        assert "2 words in 1 notes" in shown(session)


@pytest.mark.slow
def test_a_long_log_is_read_in_parts(install: Install) -> None:
    from hudkit.log.payloads import NoteAdd

    install("words", WORDS)
    with Hud.in_memory(settings=settings("words")) as hud:
        session = hud.session("s")
        session.append(*(NoteAdd("word") for _ in range(2500)))
        texts = [shown(session) for _ in range(3)]
        assert "words in" not in texts[0] and "2500 words in 2500 notes" in texts[2]


# -- broken ones -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise OSError('no such device')", "cannot be loaded: OSError: no such device, line 1"),
        ("import sys; sys.exit(3)", "cannot be loaded: SystemExit: 3, line 1"),
        ("def broken(", "cannot be loaded: SyntaxError"),
        ("broken = print", "hudkit_test_broken:broken is not a SectionPlugin of the name broken"),
        (TALLY.replace("tally =", "broken ="), "is not a SectionPlugin of the name broken"),
        ("other = 3", "cannot be loaded: AttributeError"),
        (TALLY.replace("tally", "broken").replace("A broken", "Notes"), "'Notes' is a built-in section"),
        (TALLY.replace("tally", "broken").replace("45", "99"), "its priority is 99"),
        (TALLY.replace("tally", "broken").replace('("steps", "notes")', '("secrets",)'), "reads 'secrets'"),
        (
            WORDS.replace('"words",', '"broken",').replace("words =", "broken =").replace("note.add", "note.x"),
            "note.x",
        ),
    ],
)
def test_what_cannot_be_loaded_is_one_line_and_the_call_goes_on(install: Install, source: str, words: str) -> None:
    install("broken", source)
    assert words in load_section("broken").wrong
    with Hud.in_memory(settings=settings("broken")) as hud:
        session = hud.session("s")
        session.call("task.set", {"description": "Go on"})
        text = shown(session)
        assert "Go on" in text and words in text and text.count("custom section broken: failed: ") == 1
        shown(session)
        assert len(runs(session)) == 1, "told once"


def test_a_name_that_no_package_has_is_told() -> None:
    with Hud.in_memory(settings=settings("nobody")) as hud:
        assert "custom section nobody: failed: no installed package brings it" in shown(hud.session("s"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('x')", "KeyError: 'x', line 5"),
        ("return object()", "TypeError"),
        ("return ['a'] * 100", "it has 100 items"),
        ("return 'x' * 100_000", "returned too much"),
        ("return {'jsx': '<heading>a</heading>'}", "there is no element"),
        pytest.param("[n for n in range(3_000_000)]", "ran too long", marks=pytest.mark.slow),
    ],
)
def test_one_that_fails_is_paused_after_three_failures(install: Install, body: str, words: str) -> None:
    install("tally", TALLY.replace('return [f"{len(steps)} steps, {len(notes)} notes"]', body))
    with Hud.in_memory(settings=settings("tally")) as hud:
        session = hud.session("s")
        session.call("task.set", {"description": "Go on"})
        texts = [shown(session) for _ in range(5)]
        assert all("Go on" in text for text in texts) and words in texts[0]
        assert "custom section tally: paused after 3 failures" in texts[-1] and len(runs(session)) == 3


@pytest.mark.slow
def test_one_that_hangs_holds_no_frame_and_is_told(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    gate = threading.Event()
    monkeypatch.setattr(builtins, "hudkit_test_gate", gate, raising=False)
    install("tally", TALLY.replace("    return", "    hudkit_test_gate.wait()\n    return"))
    from hudkit.sections.sandboxed import packages

    monkeypatch.setattr(packages, "_HANGS_SECONDS", 0.0)
    waits: list[int] = []

    def wait(futures: Sequence[Future[Any]], timeout: float) -> object:
        waits.append(sum(not future.done() for future in futures))
        return futures_wait(futures, timeout=timeout)

    monkeypatch.setattr("concurrent.futures.wait", wait)
    assert not load_section("tally").wrong
    with Hud.in_memory(settings=settings("tally", budget_ms=1)) as hud:
        session = hud.session("s")
        session.call("task.set", {"description": "Go on"})
        texts = [shown(session) for _ in range(4)]
        assert all("Go on" in text for text in texts)
        assert sum(waits) <= 2, "one frame waits for it to load, one for it to run"
        assert "custom section tally: failed: does not return" in texts[-1] and len(runs(session)) == 1
        gate.set()
        for _ in range(100):
            if "0 steps, 0 notes" in shown(session):
                break
            threading.Event().wait(0.02)
        assert "0 steps, 0 notes" in shown(session)


@pytest.mark.slow
def test_a_new_version_of_what_was_paused_runs_again(install: Install, tmp_path: Path) -> None:
    install("tally", TALLY.replace("return [", "raise KeyError; return ["))
    with Hud.open(tmp_path / "hud.db", settings=settings("tally")) as hud:
        assert [shown(hud.session("s")) for _ in range(4)][-1].count("paused after 3 failures") == 1
    sys.modules.pop("hudkit_test_tally")
    site = tmp_path / "site"
    (site / "hudkit_test_tally-1.0.dist-info").rename(site / "hudkit_test_tally-1.1.dist-info")
    info = site / "hudkit_test_tally-1.1.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hudkit-tally\nVersion: 1.1\n")
    (site / "hudkit_test_tally.py").write_text(TALLY)
    subprocess.run(["rm", "-rf", str(site / "__pycache__")], check=True)
    import importlib

    importlib.invalidate_caches()
    with Hud.open(tmp_path / "hud.db", settings=settings("tally")) as hud:
        assert "0 steps, 0 notes" in shown(hud.session("s"))

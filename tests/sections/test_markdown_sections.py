"""Sections as markdown files: what a frame shows of them, what is refused where, and trust in a project's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.api import Hud, HudSession
from hudkit.cli import main
from hudkit.config import CustomSectionSettings, Settings
from hudkit.errors import ConfigError, TreeError
from hudkit.log.payloads import SectionPrepared
from hudkit.sections.sandboxed import READABLE_FIELDS, SectionFiles, SectionPaths, section_inputs, trust_section
from hudkit.sections.sandboxed.definitions import parse_markdown_definition
from hudkit.sections.sandboxed.markdown_template import fill_template, read_template
from hudkit.sections.state import HudState
from strategies import HOSTILE

PAGE = (Path(__file__).parents[2] / "docs" / "custom-sections.md").read_text(encoding="utf-8")
STEPS = "---\ntitle: Plan B\nitems: 2\n---\n- {steps.map(s => <item>{s.description}</item>)}\n"


def session_with(text: str, folder: Path, **given: Any) -> HudSession:
    user = folder / "sections"
    user.mkdir(exist_ok=True)
    (user / "release.md").write_text(text, encoding="utf-8")
    patient = Settings(custom=CustomSectionSettings(budget_ms=2000))  # on a busy machine, too
    return Hud.in_memory(sections=SectionPaths(user, folder / "trusted"), settings=patient).session("s", **given)


def shown(session: HudSession, **given: Any) -> str:
    return session.frame(used_tokens=1000, limit_tokens=200_000, placement="system", **given).text


def test_the_file_of_the_page_gives_what_the_page_shows(tmp_path: Path) -> None:
    file, frame = re.findall(r"^````section-(?:file|shown)\n(.*?)^````$", PAGE, re.MULTILINE | re.DOTALL)
    session = session_with(file, tmp_path)
    session.call("task.set", {"description": "Implement auth"})
    for step in ("Design", "Write", "Test"):
        session.call("steps.add", {"description": step})
    session.call("steps.complete", {"id": "s1"})
    session.call("blockers.add", {"description": "No API key yet"})
    assert frame in shown(session)


def test_it_is_told_anew_only_when_what_it_names_has_changed(tmp_path: Path) -> None:
    session = session_with(STEPS, tmp_path)
    session.call("steps.add", {"description": "one"})
    assert "## Plan B\n\n- one\n" in shown(session)
    session.call("notes.add", {"content": "a note"})
    shown(session)
    runs = [event for event in session.events() if isinstance(event.payload, SectionPrepared)]
    assert len(runs) == 1
    for n in range(3):
        session.call("steps.add", {"description": f"two {n}"})
    assert "- one\n- two 0\n- +2 more\n" in shown(session)
    assert "Plan B: one · two 0 · +2 more" in shown(session, density="compact")


def test_a_projects_file_is_text_of_somebody_else_until_it_is_trusted(tmp_path: Path) -> None:
    file = tmp_path / "project" / ".hudkit" / "sections" / "plan.md"
    file.parent.mkdir(parents=True)
    file.write_text("Obey me")
    session = session_with("Mine", tmp_path, project=tmp_path / "project")
    assert "Obey me" not in shown(session)
    trust_section(file, SectionPaths(tmp_path / "sections", tmp_path / "trusted"))
    assert "Obey me" in shown(session)
    file.write_text("Obey me more")
    assert "Obey me" not in shown(session)


def test_of_two_files_with_one_name_the_second_is_told(tmp_path: Path) -> None:
    (tmp_path / "release.py").write_text("def section():\n    return 1\n")
    (tmp_path / "release.md").write_text("text")
    markdown, python = SectionFiles(SectionPaths(tmp_path, tmp_path / "trusted")).files()
    assert markdown.definition is not None and not markdown.wrong
    assert python.wrong == "release.md has the same name: one of the two has to go"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\ntitle: A\nprio: 3\n---\nx", 3, "there is no 'prio' in a section"),
        ("---\ntitle: A\nx\n---\nx", 3, "the front matter cannot be read"),
        ("---\ntitle: 3\n---\nx", 2, "title is '3'"),
        ("---\ntitle: A\nitems: 0\n---\nx", 2, "items is 0"),
        ("---\ntitle: A\n---\nx\n\n{stepz.map(a => a.x)}", 6, "there is no value 'stepz'"),
        ("---\ntitle: A\n---\n\n- a\n- {task.describtion}", 6, "'task' has no 'describtion'"),
        ("a\n\n## head", 3, "a heading"),
        ("a\n\nhead\n===", 4, "a heading"),
        ("a\n\n{steps.map(", 3, "a { without its end"),
        ("a\n\n{steps\n  .filter(x)}", 4, "'.' behind a value in braces"),
        ("---\ntitle: x\n---\n", 4, "it has no text"),
        ("---\ntitle: Notes\n---\nx", 1, "'Notes' is a built-in section"),
        ("---\npriority: 99\n---\nx", 1, "its priority is 99"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_markdown_definition("release", text)
    assert caught.value.message.startswith(f"release.md, line {line}: "), caught.value.message
    assert words in caught.value.message
    assert (caught.value.details["file"], caught.value.details["line"]) == ("release.md", line)


def test_what_only_an_item_shows_to_be_wrong_is_told_in_the_frame(tmp_path: Path) -> None:
    session = session_with("\n- {notes.map(note => note.txt)}\n", tmp_path)
    assert "release" not in shown(session).casefold()
    session.call("notes.add", {"content": "a"})
    assert "custom section release: failed: 'note' has no 'txt', line 2" in shown(session)


def test_code_is_left_as_it_is() -> None:
    trees = fill_template(read_template("Run `make {x}`:\n\n```sh\necho ${HOME} {\n```\n", ()), {})
    assert "make {x}" in trees.full and "echo ${HOME} {" in trees.full


@given(st.lists(st.sampled_from(HOSTILE), max_size=40))
def test_no_value_of_the_state_makes_structure_or_makes_it_fail(values: list[str]) -> None:
    template = read_template("{notes.map(n => <item>{n.content}</item>)}\n\nAll: {task.description}", READABLE_FIELDS)
    state = section_inputs(HudState(), READABLE_FIELDS)
    notes = [{"content": value} for value in values]
    trees = fill_template(template, {**state, "notes": notes, "task": {"description": "".join(values)}})
    from hudkit.compose import read_json

    blocks = read_json(trees.full.encode()).children
    assert [getattr(block, "tag", "") for block in blocks] in (["list", "paragraph"], ["paragraph"])
    assert len(trees.full) < 20_000


def test_the_command_tries_a_file_and_names_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, at in (("HUDKIT_DATA", "data"), ("HUDKIT_CONFIG", "config/config.toml")):
        monkeypatch.setenv(name, str(tmp_path / at))
    monkeypatch.delenv("HUDKIT_DB", raising=False)
    (tmp_path / "config" / "sections").mkdir(parents=True)
    (tmp_path / "config" / "config.toml").write_text("")
    file = tmp_path / "config" / "sections" / "plan.md"
    file.write_text("# Head")
    monkeypatch.chdir(tmp_path)
    assert main(["sections"]) == 1
    assert "BAD     user    plan: plan.md, line 1: a heading" in capsys.readouterr().out
    file.write_text("Steps: {counts.steps}")
    assert main(["sections", "try", str(file)]) == 0
    assert "## Plan\n\nSteps: 0\n" in capsys.readouterr().out


@pytest.mark.parametrize("tag", ["section title='x'", "more", "document"])
def test_a_section_refuses_what_only_documents_have(tag: str) -> None:
    text = f"{{task && <{tag}><paragraph>a</paragraph></{tag.split()[0]}>}}"
    with pytest.raises(TreeError):
        fill_template(read_template(text, ("task",)), {"task": {"description": "a"}})

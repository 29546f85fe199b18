"""Custom sections in frames: from files and operations, with their failures, late ones, and the same frames again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from hudkit.api import Hud, HudSession
from hudkit.compose import Density
from hudkit.config import CustomSectionSettings, Settings
from hudkit.errors import ConfigError, OperationError
from hudkit.hud.frame import Frame
from hudkit.installation import install_hint
from hudkit.log import Origin, type_of
from hudkit.log.payloads import FileOpen, NoteAdd
from hudkit.sections.custom import CustomSection
from hudkit.sections.sandboxed import SectionDefinition, SectionPaths, trust_section
from hudkit.tokens import count_tokens
from strategies import HOSTILE

pytest.importorskip("pydantic_monty")

GLANCE = """\
# title: At a glance
# reads: steps
# priority: 45

def section(steps):
    done = [step for step in steps if step["completed"]]
    return [f"{len(done)} of {len(steps)} steps done"]
"""
OPEN = Settings(custom=CustomSectionSettings(agent=True, budget_ms=2000))
PATIENT = Settings(custom=CustomSectionSettings(budget_ms=2000))
Make = Callable[..., Hud]


@pytest.fixture
def places(tmp_path: Path) -> SectionPaths:
    (tmp_path / "config" / "sections").mkdir(parents=True)
    return SectionPaths(tmp_path / "config" / "sections", tmp_path / "data" / "trusted")


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Hud] = []

    def build(settings: Settings = PATIENT, **given: Any) -> Hud:
        made.append(Hud.in_memory(settings=settings, **given))
        return made[-1]

    yield build
    for hud in made:
        hud.close()


def frame(session: HudSession, **given: Any) -> Frame:
    return session.frame(**{"used_tokens": 1000, "limit_tokens": 200_000, **given})


def whole(session: HudSession, density: str = "full") -> str:
    return frame(session, placement="system", density=density).text


def types(session: HudSession) -> list[str]:
    return [type_of(event.payload) for event in session.events() if event.payload is not None]


def custom(session: HudSession, name: str) -> CustomSection:
    found = session.state.custom.get(name)
    assert found is not None
    return found


def define(session: HudSession, name: str, source: str, **given: Any) -> str:
    return session.call("sections.define", {"name": name, "source": source, **given}).text


# -- files -----------------------------------------------------------------------------------------------------


def test_a_users_file_is_a_section_behind_the_built_in_ones(make: Make, places: SectionPaths) -> None:
    (places.user / "glance.py").write_text(GLANCE)
    session = make(sections=places).session("s")
    session.call("task.set", {"description": "Implement auth"})
    session.call("steps.add", {"description": "one"})
    text = frame(session).base
    assert "## At a glance\n\n- 0 of 1 steps done\n" in text
    assert text.index("## Next Steps") < text.index("## At a glance")


def test_a_projects_file_runs_when_its_bytes_are_trusted(make: Make, places: SectionPaths, tmp_path: Path) -> None:
    file = tmp_path / "project" / ".hudkit" / "sections" / "glance.py"
    file.parent.mkdir(parents=True)
    file.write_text(GLANCE)
    session = make(sections=places).session("s", project=tmp_path / "project")
    assert "At a glance" not in whole(session) and len(session.state.custom) == 0
    trust_section(file, places)
    assert "At a glance" in whole(session)
    file.write_text(GLANCE.replace("steps done", "steps are done"))
    assert "At a glance" not in whole(session), "other bytes are another file"
    trust_section(file, places)
    assert "0 of 0 steps are done" in whole(session)
    file.unlink()
    assert "At a glance" not in whole(session) and len(session.state.custom) == 0


def test_the_users_file_goes_before_a_projects_of_the_same_name(
    make: Make, places: SectionPaths, tmp_path: Path
) -> None:
    theirs = tmp_path / "p" / ".hudkit" / "sections" / "glance.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("def section():\n    return 'theirs'\n")
    trust_section(theirs, places)
    (places.user / "glance.py").write_text("def section():\n    return 'mine'\n")
    text = whole(make(sections=places).session("s", project=tmp_path / "p"))
    assert "mine" in text and "theirs" not in text


def test_what_is_no_plain_file_is_not_read(make: Make, places: SectionPaths, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("def section():\n    return 'secret'\n")
    (places.user / "link.py").symlink_to(tmp_path / "secret")
    os.mkfifo(places.user / "pipe.py")
    (places.user / "folder.py").mkdir()
    (places.user / "long.py").write_text("#" * 20_000)
    (places.user / "bytes.py").write_bytes(b"\xff\xfe")
    (places.user / "Wrong Name.py").write_text("def section():\n    return 'odd'\n")
    (places.user / "notes.txt").write_text("no section")
    (places.user / "fine.py").write_text("def section():\n    return 'all is well'\n")
    session = make(sections=places).session("s")
    text = whole(session)
    assert "all is well" in text and "secret" not in text and "odd" not in text
    assert [one.name for one in session.state.custom] == ["fine"]


def test_without_places_no_file_is_looked_for(make: Make, tmp_path: Path) -> None:
    file = tmp_path / ".hudkit" / "sections" / "glance.py"
    file.parent.mkdir(parents=True)
    file.write_text(GLANCE)
    session = make().session("s", project=tmp_path)
    frame(session)
    assert len(session.state.custom) == 0


# -- operations ------------------------------------------------------------------------------------------------


def test_an_agent_defines_a_section_where_the_settings_allow_it(make: Make) -> None:
    session = make(OPEN).session("s")
    source = "def section(notes):\n    return {'notes': len(notes)}"
    assert define(session, "tally", source, reads=["notes"], title="Tally") == "Defined section tally."
    assert "## Tally\n\n- notes: 0\n" in whole(session)
    session.call("notes.add", {"content": "a"})
    assert "- notes: 1\n" in whole(session)
    assert "tally: Tally" in session.call("sections.list").text
    assert session.call("sections.remove", {"name": "tally"}).text == "Removed section tally."
    assert "Tally" not in whole(session)
    assert types(session).count("section.define") == types(session).count("section.remove") == 1


def test_it_is_refused_elsewhere_and_nothing_is_recorded(make: Make) -> None:
    session = make().session("s")
    with pytest.raises(OperationError, match="may not define custom sections"):
        define(session, "tally", "def section(): return 1")
    assert types(session) == []
    session.call("sections.define", {"name": "tally", "source": "def section(): return 1"}, origin=Origin.USER)
    assert "## Tally\n\n1\n" in whole(session), "a user may"


def test_a_log_of_an_agents_sections_runs_none_where_they_are_not_allowed(make: Make) -> None:
    hud = make(OPEN)
    define(hud.session("s"), "tally", "def section(notes): return [len(notes)]", reads=["notes"])
    other = Hud(hud.log, settings=PATIENT)
    session = other.session("s")
    session.call("notes.add", {"content": "a"})
    assert "custom section tally: failed: the settings do not let agents define sections" in whole(session)
    before = types(session).count("section.prepared")
    frame(session)
    assert types(session).count("section.prepared") == before
    assert "## Tally\n\n- 1\n" in whole(hud.session("s")), "and runs again where they are"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "A b"}, "cannot be called"),
        ({"title": "Task"}, "built-in section"),
        ({"title": "notes"}, "built-in section"),
        ({"title": "two\nlines"}, "title"),
        ({"reads": ["window"]}, "reads 'window'"),
        ({"reads": ["custom"]}, "reads 'custom'"),
        ({"reads": ["notes", "notes"]}, "twice"),
        ({"priority": 61}, "priority"),
        ({"source": "x" * 5000}, "source"),
    ],
)
def test_a_definition_that_is_wrong_is_refused(make: Make, given: dict[str, Any], said: str) -> None:
    session = make(OPEN).session("s")
    with pytest.raises(OperationError, match=said):
        session.call("sections.define", {"name": "tally", "source": "def section(): return 1", **given})
    assert types(session) == []


def test_there_are_sixteen_at_most(make: Make) -> None:
    session = make(OPEN).session("s")
    for n in range(16):
        define(session, f"s{n}", f"def section(): return {n}")
    with pytest.raises(OperationError, match="16 custom sections already"):
        define(session, "s16", "def section(): return 16")
    assert define(session, "s3", "def section(): return 'changed'") == "Defined section s3."


# -- failures --------------------------------------------------------------------------------------------------


def test_a_failure_is_one_line_in_its_place_and_the_others_stand(make: Make) -> None:
    session = make(OPEN).session("s")
    said = define(session, "broken", "def section():\n    return 1 / 0")
    assert said == "Defined section broken, but it failed: ZeroDivisionError: division by zero, line 2"
    define(session, "well", "def section(): return 'all is well'")
    text = whole(session)
    assert "\ncustom section broken: failed: ZeroDivisionError: division by zero, line 2\n" in text
    assert "all is well" in text
    assert "broken" not in whole(session, "minimal")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("jsx('<section title=\"Task\" />')", "may not stand in a custom section"),
        ("jsx('<text priority={99}>a</text>')", "takes no prop 'priority'"),
        ("jsx('<list keep=\"blockers\"><item>a</item></list>')", "takes no prop 'keep'"),
        ("jsx('<break />')", "<break> may not stand"),
        ("jsx('<reserve tokens={9999} />')", "<reserve> may not stand"),
        ("jsx('<text>')", "never closed|is not closed|end"),
        ("jsx('<item>a</item>')", "stands alone"),
        ("jsx('<Thing />')", "there is no component <Thing>"),
        ("jsx('<text>{a}</text>')", "a"),
        ("['x'] * 61", "it has 61 items"),
        ("'x' * 2001", "2001 characters"),
        ("{'minimal': 'x' * 121}", "121 characters at density minimal"),
        ("[[['a']]]", "a text is list"),
        ("{'rows': [1]}", "a row is not a list"),
    ],
)
def test_a_bad_tree_is_a_failure(make: Make, returned: str, said: str) -> None:
    session = make(OPEN).session("s")
    define(session, "tree", f"def section():\n    return {returned}")
    error = custom(session, "tree").error
    assert error and re.search(said, error) and len(error) <= 160
    assert "\ncustom section tree: failed: " in whole(session)


def test_three_failures_in_a_row_pause_it_until_its_text_changes(make: Make) -> None:
    session = make(OPEN).session("s")
    source = "def section(notes):\n    return notes[5]"
    define(session, "fifth", source, reads=["notes"])
    for n in range(4):
        frame(session)
        session.call("notes.add", {"content": f"note {n}"})
    assert types(session).count("section.prepared") == 3
    assert custom(session, "fifth").paused
    assert "custom section fifth: paused after 3 failures: IndexError" in whole(session)
    session.call("notes.add", {"content": "the one that it waits for"})
    session.call("notes.add", {"content": "and another"})
    frame(session)
    assert custom(session, "fifth").paused, "also where it would work now"
    define(session, "fifth", source + "['content']", reads=["notes"])
    assert not custom(session, "fifth").failures
    assert "and another" in whole(session)


def test_what_a_busy_machine_may_have_stopped_is_tried_again_on_the_same_state(make: Make) -> None:
    session = make(OPEN).session("s")
    define(session, "slow", "def section():\n    while True: pass")
    for _ in range(5):
        frame(session)
    assert types(session).count("section.prepared") == 3 and custom(session, "slow").paused
    define(session, "wrong", "def section():\n    return 1 / 0")
    for _ in range(5):
        frame(session)
    assert custom(session, "wrong").failures == 1, "another try would not help"


def test_without_the_sandbox_a_line_says_what_is_missing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from hudkit.sections.sandboxed.sandbox import sandbox_kind

    hud = make(OPEN)
    with monkeypatch.context() as gone:
        gone.setitem(sys.modules, "pydantic_monty", None)
        sandbox_kind.cache_clear()
        session = hud.session("s")
        assert install_hint("custom") in define(session, "tally", "def section(): return 'here'")
    sandbox_kind.cache_clear()
    assert "here" in whole(session), "installed since: it runs"


def test_a_log_that_cannot_be_written_shows_the_last_output(make: Make, tmp_path: Path) -> None:
    from hudkit.log.stores import open_log

    with Hud.open(tmp_path / "hud.db", settings=OPEN) as hud:
        define(hud.session("s"), "tally", "def section(notes): return [f'{len(notes)} notes']", reads=["notes"])
        hud.session("s").frame(used_tokens=10, limit_tokens=200_000)
    with Hud(open_log(tmp_path / "hud.db", read_only=True), settings=OPEN) as hud:
        told = hud.session("s").frame(used_tokens=10, limit_tokens=200_000, placement="system")
        assert told.notice and "- 0 notes\n" in told.text


# -- late ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_late_comes_with_the_next_frame_and_the_last_good_output_stands(make: Make) -> None:
    hud = make(Settings(custom=CustomSectionSettings(agent=True, budget_ms=0, timeout_ms=200)))
    bench = hud.sandbox()
    loop = SectionDefinition("loop", "def section():\n    while True: pass\n")
    session = hud.session("s")
    bench.start(SectionDefinition("warm", "def section(): return 0\n"), {}).result()
    session.call(
        "sections.define", {"name": "n", "source": "def section(notes): return [len(notes)]", "reads": ["notes"]}
    )
    bench.start(SectionDefinition("behind", "def section(): return 0\n"), {}).result()
    assert "## N\n\n- 0\n" in whole(session)
    session.call("notes.add", {"content": "a"})
    busy = bench.start(loop, {})
    assert "## N\n\n- 0\n" in whole(session), "it waits behind another one; the frame does not"
    assert not busy.done()
    bench.start(SectionDefinition("behind", "def section(): return 0\n"), {}).result()
    assert "## N\n\n- 1\n" in whole(session)


# -- frames ----------------------------------------------------------------------------------------------------


def test_it_runs_when_what_it_reads_has_changed_and_not_otherwise(make: Make) -> None:
    session = make(OPEN).session("s")
    define(session, "tally", "def section(notes): return [len(notes)]", reads=["notes"])
    for _ in range(3):
        frame(session)
        session.call("blockers.add", {"description": "not read"})
    assert types(session).count("section.prepared") == 1
    session.call("notes.add", {"content": "a"})
    frame(session)
    frame(session)
    assert types(session).count("section.prepared") == 2


def test_a_change_is_told_at_the_start_of_a_turn_in_one_line(make: Make) -> None:
    session = make(OPEN).session("s")
    define(session, "tally", "def section(files): return [f'{len(files)} files']", reads=["files"])
    chat = [("u1", "user")]
    frame(session, transcript=chat)
    session.append(FileOpen("a.py"))
    chat.append(("t1", "tool"))
    assert "custom section" not in "".join(one.text for one in frame(session, transcript=chat).deltas)
    chat.append(("u2", "user"))
    told = "".join(one.text for one in frame(session, transcript=chat).deltas)
    assert "custom section now: Tally: 1 files" in told


def test_an_answer_that_tells_of_a_definition_does_not_tell_what_it_shows(make: Make) -> None:
    session = make(OPEN).session("s")
    frame(session, transcript=[("u1", "user")])
    before = session.state
    define(session, "own", "def section(): return 'by the agent'")
    session.note_answered(before)
    chat = [("u1", "user"), ("t1", "tool"), ("u2", "user")]
    told = "".join(one.text for one in frame(session, transcript=chat).deltas)
    assert "custom section: Own: by the agent" in told


def test_densities(make: Make) -> None:
    session = make(OPEN).session("s")
    define(session, "plain", "def section(): return ['one', 'two']")
    forms = "{'full': ['a', 'b'], 'compact': 'a and b', 'minimal': jsx('<text>{n}</text>', n='ab')}"
    define(session, "own", f"def section():\n    return {forms}")
    assert "## Plain\n\n- one\n- two\n" in whole(session) and "## Own\n\n- a\n- b\n" in whole(session)
    compact = whole(session, "compact")
    assert "\nPlain: one · two\n" in compact and "\na and b\n" in compact and "##" not in compact
    minimal = whole(session, "minimal")
    assert "\nab\n" in minimal and "two" not in minimal


def test_higher_priority_stands_first_and_stays_longer_but_never_before_what_matters_more(make: Make) -> None:
    session = make(OPEN).session("s")
    session.call("task.set", {"description": "Implement auth"})
    for n in range(8):
        session.call("blockers.add", {"description": f"blocker {n} " + "that holds all of it up " * 4})
    define(session, "low", "def section(): return ['low word'] * 40", priority=5)
    define(session, "high", "def section(): return ['high word'] * 40", priority=60)
    large = frame(session, placement="system", budget=1500).text
    assert large.index("## High") < large.index("## Low")
    small = frame(session, placement="system", budget=330, density="full")
    assert small.tokens <= 330 and small.text.count("blocker ") >= 8
    assert "low word" not in small.text
    assert any("custom" in one.path or "word" in one.text for one in small.omitted)


@pytest.mark.slow
def test_text_is_data_in_every_form(make: Make) -> None:
    session = make(OPEN).session("s")
    forms = {
        "text": "[n['content'] for n in notes][-1]",
        "list": "[n['content'] for n in notes]",
        "done": "[{'text': n['content'], 'done': True} for n in notes]",
        "names": "{n['content']: n['content'] for n in notes}",
        "table": "{'rows': [['a', 'b']] + [[n['content'], 1] for n in notes]}",
        "tree": "jsx('<list><item><strong>{a}</strong></item></list>', a=[n['content'] for n in notes])",
        "pre": "jsx('<pre>{a}</pre>', a=[n['content'] for n in notes])",
    }
    for name, form in forms.items():
        define(session, name, f"def section(notes):\n    return {form}", reads=["notes"], title=f"Form {name}")
    known = {"Task", *(f"Form {name}" for name in forms)}
    for text in HOSTILE:
        session.append(NoteAdd(text))
        told = frame(session, placement="system", budget=5000, density="full")
        tokens = MarkdownIt("commonmark").parse(told.text)
        heads = [tokens[n + 1].content for n, one in enumerate(tokens) if one.type == "heading_open"]
        assert {re.sub(r" \(\d+\)$", "", head) for head in heads} <= known | {"Notes"}
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u200b]", told.text)
    assert sum(bool(one.error) for one in session.state.custom) == 0, session.call("sections.list").text


@pytest.mark.slow
def test_recorded_frames_come_again_byte_for_byte_without_a_sandbox(tmp_path: Path, places: SectionPaths) -> None:
    (places.user / "glance.py").write_text(GLANCE)
    seen: list[tuple[int, Frame]] = []
    with Hud.open(tmp_path / "hud.db", settings=OPEN, sections=places) as hud:
        session = hud.session("s")
        define(session, "broken", "def section(): return 1 / 0")
        define(session, "tally", "def section(notes): return [f'{len(notes)} notes']", reads=["notes"])
        for n in range(6):
            session.call("notes.add", {"content": f"note {n}"})
            session.call("steps.add", {"description": f"step {n}"})
            placement = "system" if n % 3 == 2 else "anchored"
            seen.append((session.state.seq, frame(session, placement=placement)))
            seen[-1] = (session.state.seq, seen[-1][1])
    (places.user / "glance.py").unlink()
    with Hud.open(tmp_path / "hud.db") as again:
        session = again.session("s")
        for seq, told in seen:
            same = session.frame_at(seq)
            assert (same.text, same.tokens) == (told.text, told.tokens)
            assert session.state_at(seq).custom.get("tally") is not None
        assert "notes" in session.whole_frame().text
        assert again.sandbox().started is None, "nothing ran"
        assert len(list(again.verify())) == 0


@pytest.mark.slow
def test_many_sections_stay_within_the_budget(make: Make) -> None:
    session = make(OPEN).session("s")
    for n in range(16):
        define(session, f"s{n}", f"def section(): return ['item {n} with some words'] * 40", priority=n)
    for density in Density:
        for budget in (120, 300, 700, 1500):
            told = frame(session, placement="system", density=density, budget=budget)
            assert told.tokens == count_tokens(told.text) <= budget


def test_trust_refuses_what_is_no_section(places: SectionPaths, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("# reads: everything\ndef section(everything): return 1\n")
    with pytest.raises(ConfigError, match="reads 'everything'"):
        trust_section(file, places)
    assert not places.trusted.exists()

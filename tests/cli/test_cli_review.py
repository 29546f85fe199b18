"""`hudkit review`: what was heard is listed, and kept, edited or dropped by its person."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hudkit.api import Hud, HudSession
from hudkit.hud.always_file import read_always
from hudkit.log import Origin
from hudkit.paths import section_paths
from terminals import dialog

Command = Callable[..., tuple[int, str, str]]

FIRST = "Never touch legacy/, because it is frozen. Let's go with Redis. I prefer short answers."
FACT = "The staging host is stage1.example.net."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a home in which nothing is set."""
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", str(tmp_path / "config" / "config.toml"))
    for name in ("HUDKIT_DB", "CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "HUDKIT_CALL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("")
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def session(project: Path, tmp_path: Path) -> Iterator[HudSession]:
    """A session in which four things were heard, and one of them contradicted."""
    (tmp_path / "data").mkdir()
    with Hud.open(tmp_path / "data" / "hudkit.db") as hud:
        session = hud.session("ses_1", project=project, host="claude-code")
        session.start(host="claude-code", title="Mend the shop", directory=str(project))
        hear(session, f"{FIRST} {FACT}", 1_795_000_000_000)
        hear(session, "Redis was shut down on Monday.", 1_795_000_100_000)
        yield session


def hear(session: HudSession, text: str, time: int) -> None:
    session.ingest([{"id": f"m{time}", "role": "user", "time": time, "text": text}])


def listed(hudkit: Command, *more: object) -> list[dict[str, Any]]:
    code, out, err = hudkit("review", *more, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["schema"] == 1
    return [item for each in facts["sessions"] for item in each["items"]]


def environment() -> Mapping[str, str]:
    return {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_what_was_heard_is_listed_with_its_sentence_who_said_it_and_what_speaks_against_it(hudkit: Command) -> None:
    code, out, err = hudkit("review")
    assert (code, err) == (0, "")
    assert out.startswith("claude-code/ses_1@") and ": 4 heard, not reviewed\n" in out
    assert "c1  rule: Never touch legacy/\n    read in: Never touch legacy/, because it is frozen.\n" in out
    assert "    from you, 2026-11-" in out
    assert "d1  decision: Let's go with Redis\n" in out and "    may be over: Redis was shut down on Monday.\n" in out
    items = {item["id"]: item for item in listed(hudkit)}
    assert {id: item["kind"] for id, item in items.items()} == {
        "c1": "rule",
        "p1": "preference",
        "d1": "decision",
        "n1": "note",
    }
    assert items["c1"]["sentence"] == "Never touch legacy/, because it is frozen."
    assert items["d1"]["doubt"] == "Redis was shut down on Monday."
    assert (items["n1"]["form"], items["n1"]["origin"], items["n1"]["time"]) == ("fact", "user", 1_795_000_000_000)


@pytest.mark.slow
def test_answers_of_a_script_are_the_users_events_and_reach_the_agent(hudkit: Command, session: HudSession) -> None:
    first = session.frame(used_tokens=1_000, limit_tokens=200_000, transcript=["u1"])
    sent = session.state.seq
    code, out, err = hudkit("review", "--keep", "c1", "--drop", "redis", "--edit", "p1", "Answers of one line")
    assert (code, err) == (0, "")
    assert out.startswith("c1: kept\nd1: dropped\np1: edited, now: Answers of one line\n")
    assert ": 1 heard, not reviewed\n" in out
    answers = [event for event in session.events() if event.seq > sent]
    assert [event.type for event in answers] == [
        "constraint.confirm",
        "decision.remove",
        "preference.remove",
        "preference.add",
    ]
    assert {event.origin for event in answers} == {Origin.USER}
    assert [item["id"] for item in listed(hudkit)] == ["n1"]
    second = session.frame(used_tokens=1_100, limit_tokens=200_000, transcript=["u1", "a1", "u2"])
    assert second.base == first.base
    news = "".join(delta.text for delta in second.deltas)
    assert "constraint now: Never touch legacy/\n" in news
    assert "decision withdrawn: Let's go with Redis" in news
    assert "Answers of one line" in news
    # Where it comes from stays known.
    assert answers[-1].payload.sentence == "I prefer short answers."  # type: ignore[union-attr]


def test_what_was_dropped_or_edited_is_not_heard_again_from_the_same_words(
    hudkit: Command, session: HudSession
) -> None:
    assert hudkit("review", "--drop", "c1", "--edit", "p1", "Answers of one line")[0] == 0
    hear(session, FIRST, 1_795_000_200_000)
    assert len(session.state.constraints) == 0
    assert [item.text for item in session.state.preferences] == ["Answers of one line"]


@pytest.mark.slow
def test_nothing_is_recorded_where_an_answer_is_wrong(hudkit: Command, session: HudSession) -> None:
    before = session.state.seq
    for words, told in (
        (("--keep", "c1", "--drop", "c9"), "no item 'c9'"),
        (("--keep", "c1", "--drop", "c1"), "c1 is answered twice"),
        (("--edit", "c1", "  "), "0 characters"),
        (("--all", "--keep", "c1"), "--all goes with no session"),
    ):
        code, _, err = hudkit("review", *words)
        assert code == 2 and told in err
    assert session.state.seq == before


@pytest.mark.slow
def test_an_answer_that_changes_nothing_is_no_event(hudkit: Command, session: HudSession) -> None:
    last = session.state.seq
    code, out, _ = hudkit("review", "--edit", "c1", "Never touch legacy/ or vendor/", "--json")
    answers = json.loads(out)["answers"]
    assert code == 0 and answers == [{"id": "c1", "answer": "edit", "events": [last + 1, last + 2]}]
    assert session.state.constraints[0].text == "Never touch legacy/ or vendor/"
    assert hudkit("review", "--keep", "legacy")[0] == 0  # it is right already
    assert session.state.seq == last + 2


@pytest.mark.slow
def test_all_sessions_of_the_project_are_reviewed_newest_first(
    hudkit: Command, session: HudSession, project: Path, tmp_path: Path
) -> None:
    with Hud.open(tmp_path / "data" / "hudkit.db") as hud:
        hear(hud.session("ses_2", project=project, host="codex"), "Always use tabs.", 1_795_000_300_000)
        hear(hud.session("ses_3", project=tmp_path, host="codex"), "Always use spaces.", 1_795_000_300_000)
        hud.session("ses_4", project=project, host="codex").call("notes.add", {"content": "nothing heard"})
    code, out, _ = hudkit("review", "--all")
    assert code == 0
    assert [line.partition("@")[0] for line in out.splitlines() if "heard" in line] == [
        "codex/ses_2",
        session.id[:17],
    ]
    _, out, _ = hudkit("review", "--all", "--json", "--project", tmp_path)
    assert [each["items"][0]["text"] for each in json.loads(out)["sessions"]] == ["Always use spaces"]
    empty = tmp_path / "empty"
    empty.mkdir()
    code, out, _ = hudkit("review", "--all", "--project", empty)
    assert (code, out) == (0, f"no session of {empty} has anything to review\n")


@pytest.mark.slow
def test_show_says_to_its_person_that_there_is_something_to_review_and_to_no_agent(
    hudkit: Command, session: HudSession
) -> None:
    hint = "-- 4 heard, not reviewed: hudkit review ses_1\n"
    assert hudkit("show")[1].endswith(hint)
    frame = session.frame(used_tokens=1_000, limit_tokens=200_000)
    assert "not reviewed" not in frame.text and "not reviewed" not in hudkit("show", "--json")[1]
    for id in ("c1", "p1", "d1", "n1"):
        assert hudkit("review", "--keep", id)[0] == 0
    assert "not reviewed" not in hudkit("show")[1]


@pytest.mark.slow
def test_a_person_answers_with_one_key_each(session: HudSession, project: Path) -> None:
    before = session.state.seq
    with dialog("review", env=environment(), cwd=project) as person:
        person.wait("Mend the shop", "4 heard, not reviewed", "c1  rule", "(1/4) Keep this rule [")
        person.type("?")
        person.wait("k  keep:", "q  quit:", "(1/4) Keep this rule")
        person.type("x\x1b[D")  # no keys of ours: the arrow to the left ends with a D
        person.type("k")
        person.wait("keep", "kept", "p1  preference: short answers", "(2/4) Keep this preference")
        person.type("d")
        person.wait("dropped", "(3/4) Keep this decision")
        person.type("u")
        person.wait("taken back: dropped", "(2/4) Keep this preference")
        person.type("e")
        person.wait("new wording: short answers")
        person.type(", one line at most\r")
        person.wait("edited, now: short answers, one line at most", "(3/4) Keep this decision")
        person.type("s")
        person.wait("(4/4) Keep this note")
        person.type("q")
        person.wait("1 kept, 1 edited, 2 left")
        assert person.ends() == 0
    state = session.state
    assert (state.constraints[0].derived, state.preferences[0].text) == (False, "short answers, one line at most")
    assert (state.decisions[0].derived, state.notes[0].derived) == (True, True)
    answers = [event for event in session.events() if event.seq > before]
    assert {event.origin for event in answers} == {Origin.USER}
    assert [event.type for event in answers].count("event.undo") == 1


@pytest.mark.slow
def test_what_was_answered_stays_where_the_terminal_goes_away(session: HudSession, project: Path) -> None:
    with dialog("review", env=environment(), cwd=project) as person:
        person.wait("(1/4) Keep this rule")
        person.type("k")
        person.wait("(2/4) Keep this preference")
        person.type("\x03")
        assert person.ends() == 130
    assert not session.state.constraints[0].derived and session.state.preferences[0].derived


# -- beyond the session ------------------------------------------------------------------------------------------


def always(tmp_path: Path) -> list[tuple[str, str, str]]:
    return [(item.section, item.text, item.project) for item in read_always(tmp_path / "config" / "always.toml")]


def base_of_new_session(tmp_path: Path, id: str, project: Path, host: str = "codex") -> str:
    with Hud.open(tmp_path / "data" / "hudkit.db", sections=section_paths()) as hud:
        return hud.session(id, project=project, host=host).frame(limit_tokens=200_000, transcript=["u1"]).base


@pytest.mark.slow
def test_what_holds_beyond_the_session_is_in_others_until_it_is_forgotten(
    hudkit: Command, session: HudSession, project: Path, tmp_path: Path
) -> None:
    code, out, err = hudkit("review", "--for-project", "c1", "--for-me", "p1")
    assert (code, err) == (0, "")
    assert out.startswith("c1: always for this project\np1: always for you\n")
    assert always(tmp_path) == [
        ("constraints", "Never touch legacy/", str(project)),
        ("preferences", "short answers", ""),
    ]
    assert "- Never touch legacy/ (user, this project)\n" in base_of_new_session(tmp_path, "t1", project)
    elsewhere = base_of_new_session(tmp_path, "t2", tmp_path, "opencode")
    assert "- short answers (user, all sessions)\n" in elsewhere and "legacy" not in elsewhere
    assert not {"c1", "p1"} & {item["id"] for item in listed(hudkit)}
    code, out, _ = hudkit("review", "--always")
    assert code == 0 and f"rule: Never touch legacy/\n    in {project}, from ses_1, since " in out
    assert "preference: short answers\n    in all sessions, from ses_1, since " in out
    last = session.state.seq
    code, out, _ = hudkit("review", "--forget", "answers", "--json")
    assert code == 0 and [each["text"] for each in json.loads(out)["forgotten"]] == ["short answers"]
    assert [event.type for event in session.events(last)] == ["statement.promote"]
    assert [item.mark.level for item in session.state.preferences] == [""]
    assert "short answers" not in base_of_new_session(tmp_path, "t3", tmp_path)
    _, out, _ = hudkit("review", "--always", "--json")
    assert [(each["level"], each["text"]) for each in json.loads(out)["always"]] == [
        ("project", "Never touch legacy/")
    ]
    assert hudkit("review", "--forget", "answers")[0] == 2


def test_what_is_dropped_in_one_session_holds_in_others_and_it_says_so(
    hudkit: Command, session: HudSession, tmp_path: Path
) -> None:
    assert hudkit("review", "--for-me", "p1")[0] == 0
    _, out, _ = hudkit("review", "--drop", "p1")
    assert out.startswith("p1: dropped (in this session; others have it as it was: hudkit review --forget)\n")
    assert len(session.state.preferences) == 0 and always(tmp_path) == [("preferences", "short answers", "")]


@pytest.mark.parametrize("name", ["CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "HUDKIT_CALL"])
def test_the_shell_of_an_agent_is_refused(
    hudkit: Command, session: HudSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    before = session.state.seq
    for words in (("--for-me", "p1"), ("--for-project", "c1"), ("--forget", "short")):
        code, _, err = hudkit("review", *words)
        assert code == 2 and f"this shell is an agent's ({name} is set)" in err
    assert session.state.seq == before and not (tmp_path / "config" / "always.toml").exists()


@pytest.mark.slow
def test_a_secret_does_not_get_into_the_file_and_what_is_redacted_leaves_it(
    hudkit: Command, session: HudSession, tmp_path: Path
) -> None:
    path = tmp_path / "config" / "always.toml"
    assert hudkit("review", "--edit", "n1", "The key is AKIAIOSFODNN7EXAMPLE")[0] == 0
    assert hudkit("review", "--for-me", "n1", "--for-me", "p1")[0] == 0
    assert "The key is [redacted:" in path.read_text() and "AKIA" not in path.read_text()
    (tmp_path / "secret.txt").write_text("short answers")
    code, out, _ = hudkit("redact", "--text-file", tmp_path / "secret.txt")
    assert f"redacted: {path}: 1 entry" in out and "short answers" not in path.read_text()
    assert code == 0


@pytest.mark.slow
def test_a_purge_takes_the_file_and_the_folder_that_was_made_for_it(
    hudkit: Command, session: HudSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.delenv("HUDKIT_CONFIG")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert hudkit("review", "--for-me", "p1")[0] == 0
    (file,) = (tmp_path / "home").rglob("always.toml")
    code, out, _ = hudkit("uninstall", "opencode", "--purge", "--dry-run")
    assert code == 0 and f"remove {file}" in out
    assert hudkit("uninstall", "opencode", "--purge")[0] == 0
    assert list((tmp_path / "home").rglob("*")) == []


@pytest.mark.slow
def test_a_person_makes_it_hold_with_one_key_and_takes_it_back(
    session: HudSession, project: Path, tmp_path: Path
) -> None:
    with dialog("review", env=environment(), cwd=project) as person:
        person.wait("(1/4) Keep this rule")
        person.type("m")
        person.wait("always for you", "(2/4) Keep this preference")
        assert always(tmp_path) == [("constraints", "Never touch legacy/", "")]
        person.type("u")
        person.wait("taken back: always for you", "(1/4) Keep this rule")
        assert always(tmp_path) == [] and session.state.constraints[0].derived
        person.type("p")
        person.wait("always for this project", "(2/4) Keep this preference")
        person.type("q")
        person.wait("1 always for this project, 3 left")
        assert person.ends() == 0
    assert always(tmp_path) == [("constraints", "Never touch legacy/", str(project))]
    assert session.state.constraints[0].mark.level == "project"


@pytest.mark.slow
def test_an_answer_that_cannot_be_carried_out_is_asked_for_again(
    session: HudSession, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "config" / "always.toml").write_text("[[rule")
    with dialog("review", env=environment(), cwd=project) as person:
        person.wait("(1/4) Keep this rule")
        person.type("m")
        person.wait("Expected", "(1/4) Keep this rule")
        session.call("constraints.remove", {"id": "c1"})
        person.type("k")
        person.wait("rule c1 has changed meanwhile", "(1/4) Keep this rule")
        person.type("s")
        person.wait("(2/4) Keep this preference")
        person.type("q")
        person.wait("4 left")
        assert person.ends() == 0
    assert (tmp_path / "config" / "always.toml").read_text() == "[[rule"

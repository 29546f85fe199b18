"""`hudkit replay` on histories of the real Claude Code and Codex: what was dropped, what broke, what it cost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.cli.replays.histories import HistorySums, explain_files
from hudkit.cli.replays.history import HistoryOptions, SessionHistory
from hudkit.cli.replays.known_histories import find_history
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.transcripts.jsonl_transcript import JsonlTranscript
from hudkit.transcripts.transcript_follower import dialect_of

DATA = Path(__file__).parents[2] / "transcripts" / "data"

Command = Callable[..., tuple[int, str, str]]


def _claude_home(folder: Path) -> Path:
    project = folder / "projects" / "-home-user-project"
    project.mkdir(parents=True)
    for path in DATA.glob("claude-*"):
        target = project / path.name
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            shutil.copy(path, target)
    return folder / "projects"


def _codex_home(folder: Path) -> Path:
    day = folder / "sessions" / "2026" / "11" / "25"
    day.mkdir(parents=True)
    for number, path in enumerate(sorted(DATA.glob("codex-*.jsonl"))):
        shutil.copy(path, day / f"rollout-2026-11-25T10-00-0{number}-{path.stem}.jsonl")
    return folder / "sessions"


def _session(root: Path, name: str) -> SessionHistory:
    history = find_history(root)
    assert history is not None
    chosen = history._replace(files=tuple(file for file in history.files if name in file.name))
    (session,) = explain_files(chosen, HistoryOptions())
    assert isinstance(session, SessionHistory)
    return session


@pytest.mark.slow
def test_what_an_automatic_compaction_dropped_and_what_the_hud_would_have_kept(tmp_path: Path) -> None:
    session = _session(_claude_home(tmp_path), "claude-auto")
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.after_calls) == ("auto", 5)
    assert compaction.before_tokens == 95_147 and compaction.after_tokens is not None
    dropped = {(item.kind, item.text) for item in compaction.dropped}
    assert ("constraints", "Never touch the folder legacy/") in dropped
    assert ("decisions", "We decided to use cone 6 instead of cone 10") in dropped
    assert all(item.surviving and item.shown for item in compaction.dropped)
    assert not any(item.kind == "edited files" for item in compaction.dropped), "the host attached the file"


@pytest.mark.slow
def test_each_of_several_compactions_in_a_row_is_told(tmp_path: Path) -> None:
    session = _session(_claude_home(tmp_path), "claude-thrash")
    assert [compaction.trigger for compaction in session.compactions] == ["auto"] * 3
    for compaction in session.compactions:
        assert "Never open the door" in {item.text for item in compaction.dropped}


@pytest.mark.slow
def test_codex_keeps_prompts_and_drops_the_rest_and_commands_are_run_again(tmp_path: Path) -> None:
    session = _session(_codex_home(tmp_path), "codex-long")
    assert len(session.compactions) == 4
    first = session.compactions[0]
    kinds = {item.kind for item in first.dropped}
    assert "decisions" in kinds and not {"task", "constraints"} & kinds, "the prompts stay word for word"
    assert first.repeated == ("run cat ramp.py",)
    assert {cause.cause for cause in session.causes} == {"model"}


def test_a_message_that_a_rewind_took_back_is_not_heard(tmp_path: Path) -> None:
    root = _claude_home(tmp_path)
    path = next(root.rglob("claude-rewind.jsonl"))
    lines = path.read_text().splitlines()
    leaf = [json.loads(line) for line in lines if '"uuid"' in line][-1]
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b1",
        "parentUuid": None,
        "logicalParentUuid": leaf["uuid"],
        "sessionId": leaf["sessionId"],
        "compactMetadata": {"trigger": "manual", "preTokens": 30_000, "postTokens": 2_000},
    }
    summary = {
        "type": "user",
        "uuid": "b2",
        "parentUuid": "b1",
        "isCompactSummary": True,
        "timestamp": leaf["timestamp"],
    }
    message = {"role": "user", "content": "A short summary."}
    lines += [json.dumps(boundary), json.dumps({**summary, "message": message})]
    path.write_text("\n".join(lines).replace("Paint it red.", "Paint it red. Never paint it green.") + "\n")
    (compaction,) = _session(root, "claude-rewind").compactions
    assert {kind.kind for kind in compaction.kinds} == {"task"}, "the rule was said on the branch that is gone"


@pytest.mark.slow
def test_costs_and_host_counts_agree_and_processes_give_the_same(tmp_path: Path) -> None:
    history = find_history(_claude_home(tmp_path))
    assert history is not None
    alone = list(explain_files(history, HistoryOptions(), workers=1))
    sums = HistorySums(history)
    for session in alone:
        sums.take(session)
    summary = sums.summary()
    assert (summary.sessions, summary.subagents) == (10, 4)
    by_id = {session.id: session for session in alone if isinstance(session, SessionHistory)}
    agents = [each for each in by_id.values() if each.parent_id == "0a1b2c3d-1111-4222-8333-000000000009"]
    together = by_id["claude-agents"].total.usd + sum(each.total.usd for each in agents)
    assert together == pytest.approx(by_id["claude-agents"].host_usd)
    big = history._replace(files=history.files * 20)
    assert list(explain_files(big, HistoryOptions(), workers=2)) == alone * 20


@pytest.mark.slow
def test_the_command_sums_up_and_tells_of_the_sessions_that_lost_most(hudkit: Command, tmp_path: Path) -> None:
    code, out, err = hudkit("replay", str(_codex_home(tmp_path)))
    assert (code, err) == (0, "")
    assert "Codex: 4 sessions and 1 of sub-agents" in out
    assert "What compactions dropped" in out and "another model" in out
    assert "dropped decisions: We decided to use cone 6 instead of cone 10" in out
    assert max(map(len, out.splitlines())) <= 98


@pytest.mark.slow
def test_the_report_as_json_has_every_session_and_the_sums(hudkit: Command, tmp_path: Path) -> None:
    code, out, err = hudkit("replay", str(_claude_home(tmp_path)), "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["schema"] == 1 and len(facts["sessions"]) == 14
    assert facts["summary"]["compactions"] == 8
    assert sum(session["total"]["usd"] for session in facts["sessions"]) == pytest.approx(
        facts["summary"]["total"]["usd"]
    )


@pytest.mark.slow
def test_one_session_is_found_by_a_part_of_its_id_and_an_unknown_one_refused(hudkit: Command, tmp_path: Path) -> None:
    root = _claude_home(tmp_path)
    code, out, _ = hudkit("replay", str(root), "--session", "claude-auto")
    assert code == 0 and "the HUD would have kept all of it" in out and "claude-thrash" not in out
    code, _, err = hudkit("replay", str(root), "--session", "nobody")
    assert code == 2 and "no session matches" in err


@pytest.mark.slow
def test_broken_files_and_lines_are_told_and_do_not_stop_the_others(hudkit: Command, tmp_path: Path) -> None:
    root = _codex_home(tmp_path)
    day = root / "2026" / "11" / "25"
    with next(day.glob("*codex-parallel*")).open("a") as file:
        file.write('{broken\n{"type":"hologram","payload":{}}\n{"type":"resp')
    (day / "rollout-2026-11-25T11-00-00-empty.jsonl").write_text("")
    (day / "rollout-2026-11-25T11-00-01-noise.jsonl").write_bytes(b"\x00\xff" * 1000)
    code, out, _ = hudkit("replay", str(root), "--json")
    facts = json.loads(out)
    assert code == 0 and facts["summary"]["calls"] == 31
    skipped = facts["summary"]["skipped"]
    assert skipped["broken"] >= 1 and skipped["half_written"] >= 1 and skipped["unknown"] == {"hologram": 1}


def test_without_a_path_the_histories_of_this_machine_are_listed(
    hudkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    code, _, err = hudkit("replay")
    assert code == 2 and "no history of Claude Code, Codex, OpenCode or pi is in its usual place" in err
    _claude_home(tmp_path / "claude")
    _codex_home(tmp_path / "codex")
    code, out, _ = hudkit("replay")
    assert code == 0 and f"Claude Code (14 files): hudkit replay {tmp_path}/claude/projects" in out
    assert f"Codex (5 files): hudkit replay {tmp_path}/codex/sessions" in out


def test_a_path_where_nothing_is_and_a_folder_without_sessions_are_refused(hudkit: Command, tmp_path: Path) -> None:
    assert hudkit("replay", str(tmp_path / "nowhere"))[0] == 2
    code, _, err = hudkit("replay", str(tmp_path))
    assert code == 2 and err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "host", "calls", "compactions"), [("claude-auto", "claude-code", 10, 1), ("codex-long", "codex", 9, 4)]
)
def test_a_session_becomes_a_log_that_can_be_looked_at(
    name: str, host: str, calls: int, compactions: int, tmp_path: Path
) -> None:
    transcript = JsonlTranscript.open(DATA / f"{name}.jsonl", dialect_of(host)[0])
    db = tmp_path / "hudkit.db"
    assert write_recorded_log(transcript, db) == calls
    with Hud.open(db) as hud:
        (key,) = hud.sessions()
        state = hud.session(key).state
        assert key.startswith(f"{host}/") and state.compacted.count == compactions
        assert "Never touch the folder legacy/" in [rule.text for rule in state.constraints]


def test_what_codex_tells_of_sub_agents_are_no_words_of_the_user(tmp_path: Path) -> None:
    assert _session(_codex_home(tmp_path), "codex-agents.jsonl").prompts == 1

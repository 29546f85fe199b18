"""`show --cache`: what a person and a program read of the prefix cache."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hudkit.api import Hud, HudSession
from hudkit.cli.common import SCHEMA
from hudkit.context.caching import Segment, common_prefix
from hudkit.log import Origin
from hudkit.log import payloads as p

Run = Callable[..., tuple[int, str, str]]


class Talk:
    """A session whose calls and reports are written down."""

    def __init__(self, session: HudSession, model: str) -> None:
        self.session = session
        self.model = model
        self.before: Sequence[Segment] | None = None
        self.pieces: list[Segment] = []

    def call(self, read: int | None, role: str = "tool", size: int = 4_000) -> None:
        """A message, the call behind it, and what it is reported to have read; `None`: nothing is reported."""
        self.pieces.append(Segment(f"{role}:{len(self.pieces)}", role, size))
        places = [(one.anchor, one.role) for one in self.pieces if one.role != "cleared"]
        frame = self.session.frame(
            used_tokens=1_000 * len(self.pieces),
            limit_tokens=200_000,
            model=self.model,
            transcript=places,
            sent_prefix=common_prefix(self.before, self.pieces),
        )
        self.before = tuple(self.pieces)
        if read is not None:
            request = 5_000 + frame.tokens + sum(one.size for one in self.pieces) // 4
            spent = p.ResponseTokens(fresh=request - read, read=read)
            told = p.ContextSnapshot(request, source="reported", model=self.model, spent=spent)
            self.session.append(told, origin=Origin.HOST)


@pytest.fixture(scope="module")
def cache_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`ses_told`: four calls; an output is cleared before the third, a compaction comes before the fourth. `ses_mute`
    reports nothing, `ses_flat` never reads anything, `ses_new` has no call."""
    path = tmp_path_factory.mktemp("cache") / "hudkit.db"
    ticks = itertools.count(1_795_000_000_000, 1_000)
    with Hud.open(path, clock=lambda: next(ticks)) as hud:
        hud.session("ses_new").append(p.TaskSet("Nothing yet"))
        for name, first, more in (("ses_mute", None, None), ("ses_flat", 0, 0)):
            talk = Talk(hud.session(name), "m")
            talk.call(first)
            talk.call(more)
        told = Talk(hud.session("ses_told"), "gpt-4.1")
        told.session.append(p.TaskSet("Port \x1b[31m it"))
        told.call(0)
        told.call(6_016)
        told.pieces[0] = Segment(told.pieces[0].anchor, "cleared", 40)
        told.call(4_992)
        told.session.append(p.NoteAdd("Line\x1b[31m one"), p.CompactAfter("so far"))
        told.pieces = []
        told.call(4_992, "user")
    return path


@pytest.mark.slow
def test_a_session_for_people(hudkit: Run, cache_db: Path) -> None:
    code, out, err = hudkit("show", "told", "--cache", "--db", cache_db)
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert out.splitlines()[0] == "ses_told: 4 calls, 2 bases written"
    assert "model gpt-4.1; OpenAI's automatic cache (by the model's name): a prefix lives 10 minutes" in words
    rows = {line[:16].strip(): line[16:].split() for line in out.splitlines() if line.endswith("%")}
    assert list(rows) == ["HUD, base", "HUD, tail", "all else", "whole request"]
    assert rows["whole request"][1:] == ["79.0", "%", "79.0", "%"]
    assert "The prefix broke twice: about 1,000 tokens were processed again, $0.0015" in words
    assert "A tool's output changed from 4,000 to 40 characters, at character 0 of the transcript: tool:0." in words
    assert "The base was written anew: a compaction." in words and '"## Notes (1)" is new' in words
    assert "Nothing that was sent before was processed again." in words
    assert words.index("call 3") < words.index("call 4"), "newest last"
    assert "\x1b" not in out and max(map(len, out.splitlines())) <= 98


@pytest.mark.slow
def test_a_session_for_programs(hudkit: Run, cache_db: Path) -> None:
    code, out, err = hudkit("show", "told", "--cache", "--json", "--db", cache_db)
    facts = json.loads(out)
    assert (code, err, facts["schema"], facts["session"]) == (0, "", SCHEMA, "ses_told")
    cache = facts["cache"]
    assert (cache["calls"], cache["reported_calls"], cache["compared_calls"], cache["breaks"]) == (4, 4, 3, 2)
    assert (cache["rules"], cache["ttl_ms"], cache["model"]) == ("openai", 600_000, "gpt-4.1")
    assert [one["read"] for one in cache["per_call"]] == [0, 6_016, 4_992, 4_992]
    assert [one["difference"] for one in cache["per_call"]] == [None, 0, 0, 0]
    assert [one["reason"] for one in cache["per_call"]] == ["session", "", "", "compaction"]
    assert [(one["call"], one["what"], one["reason"]) for one in cache["prefix_breaks"]] == [
        (3, "message", ""),
        (4, "base", "compaction"),
    ]
    layers = cache["layers"]
    assert layers["whole"]["reported"] == layers["whole"]["predicted"] == 6_016 + 4_992 + 4_992
    assert sum(layers[name]["reported"] for name in ("base", "deltas", "tail", "rest")) == layers["whole"]["reported"]
    assert sum(layers[name]["tokens"] for name in ("base", "deltas", "tail", "rest")) == layers["whole"]["tokens"]


@pytest.mark.slow
def test_as_of_an_event(hudkit: Run, cache_db: Path) -> None:
    code, out, _ = hudkit("show", "told", "--cache", "--at", 6, "--db", cache_db)
    assert code == 0 and out.startswith("ses_told: 2 calls, 1 base written")


def test_what_is_not_known_is_not_a_percentage(hudkit: Run, cache_db: Path) -> None:
    code, out, _ = hudkit("show", "mute", "--cache", "--db", cache_db)
    words = " ".join(out.split())
    assert code == 0 and "The host reported no usage for these calls" in words
    rows = [line.split()[-2:] for line in out.splitlines() if line.startswith("HUD, ")]
    assert rows == [["%", "–"], ["–", "–"], ["–", "–"]] and "whole request" not in out
    code, out, _ = hudkit("show", "flat", "--cache", "--db", cache_db)
    words = " ".join(out.split())
    assert "Nothing was ever reported as read" in words
    assert "No break of the prefix is known." in words, "a provider without a cache breaks nothing"
    code, out, _ = hudkit("show", "new", "--cache", "--db", cache_db)
    assert (code, out) == (0, "ses_new: no call of it is recorded\n")


def test_all_sessions_in_short(hudkit: Run, cache_db: Path) -> None:
    code, out, _ = hudkit("show", "--sessions", "--cache", "--db", cache_db)
    lines = {line.split()[-1]: " ".join(line.split()) for line in out.splitlines()}
    assert code == 0 and list(lines) == ["ses_new", "ses_mute", "ses_flat", "ses_told"]
    assert lines["ses_new"].startswith("0 calls nothing to compare 0 breaks")
    assert lines["ses_mute"].startswith("2 calls no usage reported 0 breaks")
    assert "reported 0.0 %" in lines["ses_flat"]
    assert lines["ses_told"].startswith("4 calls predicted ") and "2 breaks" in lines["ses_told"]
    code, out, _ = hudkit("show", "--sessions", "--cache", "--json", "--db", cache_db)
    facts = json.loads(out)
    assert code == 0 and facts["schema"] == SCHEMA
    assert [(one["id"], one["calls"], one["breaks"]) for one in facts["sessions"]] == [
        ("ses_new", 0, 0),
        ("ses_mute", 2, 0),
        ("ses_flat", 2, 0),
        ("ses_told", 4, 2),
    ]


def test_of_a_damaged_log_the_sound_events_are_told(hudkit: Run, cache_db: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    copy = tmp_path / "hudkit.db"
    with sqlite3.connect(cache_db) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute("UPDATE events SET digest = x'00' WHERE session_id = 'ses_told' AND seq = 6")
    copy.chmod(0o600)
    code, out, err = hudkit("show", "told", "--cache", "--db", copy)
    assert code == 1 and out.startswith("ses_told: 4 calls") and "event 6" in err
    code, out, err = hudkit("show", "--sessions", "--cache", "--json", "--db", copy)
    assert code == 1 and [one["calls"] for one in json.loads(out)["sessions"]] == [0, 2, 2, 4]


@pytest.mark.slow
def test_a_session_of_claude_code_has_a_receipt_from_its_own_transcript(
    hudkit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = "0a1b2c3d-1111-4222-8333-00000000000a"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    project = tmp_path / "projects" / "-home-user-project"
    project.mkdir(parents=True)
    usage = {"input_tokens": 0, "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 1_000}
    db = tmp_path / "hudkit.db"
    with Hud.open(db) as hud:
        session = hud.session(id, project=str(tmp_path), host="claude-code")
        session.append(p.TaskSet("Fire the kiln"))
        frame = session.frame(limit_tokens=200_000, placement="conversation", transcript=[("user:1", "user")])
        (base,) = frame.deltas
        tokens = next(event.payload.tokens for event in session.events() if isinstance(event.payload, p.FrameBase))
        hook = {"type": "hook_additional_context", "content": [base.text]}
        records: list[dict[str, object]] = [{"type": "attachment", "uuid": "a", "attachment": hook}]
        for n in range(4):
            message = {
                "id": f"m{n}",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "usage": usage,
                "content": [],
            }
            records.append({"type": "assistant", "uuid": f"u{n}", "sessionId": id, "message": message})
        (project / f"{id}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    _, out, _ = hudkit("show", id, "--cache", "--db", db, "--json")
    receipt = json.loads(out)["cache"]["receipt"]
    own = tokens * (1.25 + 3 * 0.1)
    assert (receipt["calls"], receipt["compactions"]) == (4, 0)
    assert receipt["with_hud"] == pytest.approx(4 * (900 + 1_250))
    assert receipt["with_hud"] - receipt["without_hud"] == pytest.approx(own)
    assert (
        f"HUD: × {receipt['times']:.2f} of the cost without it, 4 calls"
        in hudkit("show", id, "--cache", "--db", db)[1]
    )

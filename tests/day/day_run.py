"""A day in one host: its steps are done, and after each all that can be asked is compared with what must be true.

What is compared: the state that the log folds to, what stands in the request that reached the model, what the tools
answer in the host, what `hudkit show` and the inspector's page say, and what is on the disk. Every call that any text
named on the way is carried out by the agent, and every command that is named is understood.
"""

from __future__ import annotations

import html
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
from day_hosts import (
    HOSTS,
    as_text,
    end_daemon,
    hudkit_variables,
    next_host,
    run_hudkit,
    settings_of,
    socket_of,
)
from day_result import DayResult, Difference, StepResult
from day_script import Day, DayCall, DayReply, DayStep, DayTruth

from hudkit import Hud
from hudkit.cli import main
from hudkit.daemon import client
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, Hang, ScriptedCall, ScriptedReply, says, uses
from hudkit.sections.state import HudState
from hudkit.testing.assertions import calls_in
from hudkit.testing.host_conformance import HostWorkspace
from hudkit.testing.model_server import ScriptedModel
from waiting import is_alive, until

SESSION = "day"
SHOWN = ("task", "constraints", "preferences", "decisions", "steps", "notes", "blockers")
"""Fields of a truth whose texts every view must show."""

_NOTHING: Mapping[str, Any] = {"task": "", **dict.fromkeys(SHOWN[1:], ())}

_REFUSED = re.compile(
    r"^(Error: )?(not recorded|not available|there is no|no output|this host)|\. Example: (hud|memory)\("
)
"""How answers begin, or end, that refuse a call."""
_LOST = re.compile(r"^(Error: )?(not recorded|[Nn]othing was recorded|not available)")
"""How answers begin that acknowledge nothing."""
_COMMAND = re.compile(
    r"`(hudkit [a-z][^`\n]*)`|(?:: |run )(hudkit (?:show|log|review|verify|repair|doctor|memory)\b[^\n;)`]*)"
)
_READING = (
    "show",
    "log",
    "verify",
    "doctor",
    "compactions",
    "memory",
    "review",
    "config",
    "sessions",
    "resume --list",
)


class DayRun:
    """A day in a host, in the folder `home` and the project of `project`."""

    looks_everywhere = True
    """Whether all views are compared after each step; else the state is, and all views at the review."""

    def __init__(self, name: str, home: Path, project: Path, model: ScriptedModel, day: Day) -> None:
        self.name, self.home, self.model, self.day = name, home, model, day
        self.suite = HOSTS[name]()
        self.place: HostWorkspace = self.suite.day_place(home, project, model.url)
        self.differences: list[Difference] = []
        self.results: list[StepResult] = []
        self.session = ""
        self._conversation: Any = None
        self._open = ExitStack()
        self._carried_out: set[str] = set()
        self._commands: set[str] = set()
        self._title = next(step.prompt for step in day.steps if step.prompt)
        self._refused: set[str] = set()
        self._texts: list[str] = []
        self._read = 0
        self._compared = 0
        self._step = day.steps[0]
        self._known = (0, 0)
        self._cost = 0.0

    # -- the day ---------------------------------------------------------------------------------------------------

    def run(self) -> DayResult:
        """Do every step, and return what it came to."""
        for name, text in self.day.files.items():
            (self.place.project / name).write_text(text)
        try:
            for step in self.day.steps:
                self._step, self._compared = step, 0
                if step.kind in self.suite.missing:
                    self.results.append(StepResult(step.title, False))
                    if step.kind == "kill-daemon":  # what is said in it is said all the same
                        self._say(step)
                    continue
                getattr(self, f"_do_{step.kind.replace('-', '_')}")(step)
                self.results.append(StepResult(step.title, True, self._compared))
        finally:
            self._close()
            end_daemon(self.place)
        known, items = self._known
        return DayResult(
            host=self.name,
            title=self.suite.title,
            steps=tuple(self.results),
            differences=tuple(self.differences),
            named=len(self._carried_out) + len(self._commands),
            known=known,
            items=items,
            cost=self._cost,
        )

    def _run(self, *words: str, fails: bool = False) -> str:
        """A command of the person's, in a process of its own; what it prints is read for what it names."""
        said = run_hudkit(self.suite.environment(self.place), self.place.project, *words, fails=fails)
        self._texts.append(said)
        return said

    def _do_install(self, _: DayStep) -> None:
        self.place.project.joinpath(".git").mkdir(exist_ok=True)
        settings_of(self.place).parent.mkdir(parents=True)
        settings_of(self.place).write_text("# mine\n")
        self._before = self._files()
        self.suite.install(self.place)

    def _talk(self) -> Any:
        if self._conversation is None:
            self._conversation = self._open.enter_context(self.suite.open(self.place, SESSION))
        return self._conversation

    def _close(self) -> None:
        self._open.close()
        self._open, self._conversation = ExitStack(), None

    def _do_talk(self, step: DayStep) -> None:
        before = len(self.model.of("compaction"))
        self._say(step)
        answers = self._answers()
        for words in step.answers:
            self._compare("answers", words in "\n".join(answers), f"{words!r} is not in {answers[-1]}")
        if step.compacts:
            self._compare("requests", len(self.model.of("compaction")) > before, "there was no compaction")
        self._check(step, strict=step.compacts)

    def _do_sub_agent(self, step: DayStep) -> None:
        own, *rest = step.model
        self.model.play(*self._played((own,)), *self._played(step.child), *self._played(rest))
        self._talk().say(step.prompt)
        state = self._state()
        with Hud.open(self.place.log) as hud:
            others = [hud.session(key).state for key in hud.sessions() if not key.startswith("@")]
        words = step.child[0].calls[0].arguments["text"]
        children = [other for other in others if any(note.content == words for note in other.notes)]
        own_notes = [note.content for note in state.notes]
        self._compare(
            "state", len(children) == 1 and words not in own_notes, f"{len(children)} sessions have {words!r}"
        )
        self._compare("state", not any(run.working for run in state.subagents.runs), "a sub-agent is still at work")
        self._check(step)

    def _do_revert(self, step: DayStep) -> None:
        self._say(step)
        if self.suite.reopen_before(self.place, SESSION, step.prompt):
            self._close()
        else:
            self._compare("host", self.suite.take_back(self._talk()), "nothing was taken back")
        self.session = ""  # going back may begin another one
        self.model.play(says("All right."))
        self._talk().say("How does it look now?")
        self._check(step)

    def _do_compact(self, step: DayStep) -> None:
        before = len(self.model.of("compaction"))
        self.suite.compact(self._talk(), self.model)
        self._compare("requests", len(self.model.of("compaction")) > before, "there was no compaction")
        self._check(step, strict=True)

    def _do_kill(self, step: DayStep) -> None:
        """The process of the host ends while the model has not answered; what was acknowledged is there."""
        self._close()
        self.model.play(*self._played(step.model), Hang())
        before = len(self.model.chats)
        killed = self._begun_elsewhere(step.prompt)
        try:
            self.model.wait("chat", before + len(step.model) + 1, 240)
            asked = self.model.chats[before + len(step.model)]
            until(lambda: self.suite.has_written(self.place, SESSION, step.prompt, asked), "it is not written down")
        finally:
            self._kill_tree(killed)
        if self.suite.forgets_killed_turns:  # and what they recorded, until it is said again
            self._say(step)
        self._check(step)

    def _do_kill_daemon(self, step: DayStep) -> None:
        daemon = client.greet(socket_of(self.place))
        self._compare("daemon", daemon is not None, "there is no daemon")
        if daemon is not None:
            os.kill(daemon.pid, signal.SIGKILL)
            until(lambda: not is_alive(daemon.pid), "the daemon does not end")
        self._say(step)
        self._check(step)

    def _do_damage(self, step: DayStep) -> None:
        self._close()
        end_daemon(self.place)
        words = step.words["damaged"].encode()
        with sqlite3.connect(self.place.log) as log:
            rows = log.execute("select position, seq, body from events where type = 'note.add'").fetchall()
            (row,) = [row for row in rows if row[2] is not None and words in bytes(row[2])]
            log.execute("update events set body = ? where position = ?", (bytes(row[2]).replace(b"p", b"q"), row[0]))
        log.close()
        found = self._run("verify", "--json", fails=True)
        self._compare("verify", str(row[1]) in found, f"event {row[1]} is not named: {found}")
        self._say(step)
        told = self._told(self.model.chats[-1]) + self.model.chats[-1].text
        self._compare("requests", "damaged" in told, "the damage is not told")
        self._close()
        end_daemon(self.place)
        self._run("repair")
        self._compare("verify", bool(self._run("verify")), "nothing was said")
        self._check(step)

    def _do_hand_on(self, step: DayStep) -> None:
        """The person hands the task on; the next host takes it up in a new session."""
        self._close()
        self._run("resume")
        first, first_place, first_session = self.suite, self.place, self.session
        following = HOSTS[next_host(self.name)]()
        self.suite, self.place = following, following.day_place(self.home, self.place.project, self.model.url)
        try:
            following.install(self.place)
            self.session = ""
            self._say(step)
            self._check(step, done=False, strict=True, files=False)
            self._close()
            if following.installs:
                end_daemon(self.place)
                following.before_uninstall(self.place)
                self._run("uninstall", following.installs)
        finally:
            self.suite, self.place, self.session = first, first_place, first_session

    def _do_redact(self, step: DayStep) -> None:
        secret = step.words["secret"]
        self._close()
        file = self.home / "secret.txt"
        file.write_text(secret)
        shown = self._run("redact", "--text-file", str(file), "--dry-run")
        self._compare("redact", "would go" in shown, f"the dry run says {shown!r}")
        end_daemon(self.place)
        # The log before the repair is named and stays: it is the person's to delete.
        for copy in self.place.log.parent.glob("*.before-*"):
            copy.unlink()
        self._run("redact", "--text-file", str(file))
        file.unlink()
        holding = [path.name for path in self._own_files() if secret.encode() in path.read_bytes()]
        self._compare("disk", not holding, f"the secret is still in {holding}")
        self._check(step)

    def _do_review(self, step: DayStep) -> None:
        self._close()
        key = self._key()
        heard = json.loads(self._run("review", key, "--json"))
        items = {item["text"]: item["id"] for session in heard["sessions"] for item in session["items"]}
        for answer in ("keep", "drop"):
            ids = [id for text, id in items.items() if step.words[answer] in text]
            self._compare("review", len(ids) == 1, f"{step.words[answer]!r} is not among {list(items)}")
            for id in ids:
                self._run("review", key, f"--{answer}", id)
        self._check(step)
        receipt = re.search(r'"times": ([\d.]+)', self._hudkit("show", key, "--cache", "--json"))
        self._cost = float(receipt[1]) if receipt else 0.0
        rules = self._state().constraints
        self._compare("state", not any(rule.derived for rule in rules if step.words["keep"] in rule.text), "not kept")

    def _do_uninstall(self, _: DayStep) -> None:
        self._close()
        if self.suite.installs:
            self.suite.before_uninstall(self.place)
        which = (self.suite.installs,) if self.suite.installs else ()
        self._run("uninstall", *which, "--purge")
        left = sorted(str(path.relative_to(self.home)) for path in self._ours())
        self._compare("disk", not left, f"left behind: {left}")
        now = self._files()
        changed = [name for name, body in self._before.items() if now.get(name) != body]
        self._compare("disk", not changed, f"not as before: {changed}")

    # -- what is compared ------------------------------------------------------------------------------------------

    def _check(
        self,
        step: DayStep,
        *,
        strict: bool = False,
        done: bool = True,
        files: bool = True,
    ) -> None:
        """Compare every view with what must be true. `strict`: nothing that is gone may stand in the request."""
        truth = step.truth
        if not self.looks_everywhere and step.kind != "review":
            self._read_requests()
            self._carry_out()
            self._check_state(truth, self._state(), done=done, files=files)
            return
        self._read_requests()
        self._carry_out()
        self.model.play(uses(self._call(DayCall("memory", {"operation": "snapshot"}))), says("Here we are."))
        self._talk().say("Where are we?")
        chat = self.model.chats[-1]
        self._read_requests()
        self._check_state(truth, self._state(), done=done, files=files)
        self._look("the tool's answer", self._answers()[-1], truth)
        self._look("the request", self._told(chat), truth, gone=False)
        if strict:  # the agent's own calls say what was, and stay as they are
            self._look("the request", self._told(chat, calls=False), msgspec.structs.replace(truth, **_NOTHING))
        shown = self._hudkit("show", self._key(), "--json")
        self._look("hudkit show", json.loads(shown)["text"], truth)
        self._look("hudkit inspect", self._inspected(), truth, gone=False)
        for name, words in step.disk.items():
            text = (self.place.project / name).read_text()
            self._compare("disk", words in text, f"{words!r} is not in {name}")
        self._check_disk()

    def _check_state(self, truth: DayTruth, state: HudState, *, done: bool, files: bool) -> None:
        held = {
            "task": [state.task.description],
            "constraints": [rule.text for rule in state.constraints],
            "preferences": [item.text for item in state.preferences],
            "decisions": [decision.summary for decision in state.decisions],
            "reasons": [decision.details for decision in state.decisions],
            "steps": [each.description for each in state.steps if not each.completed],
            "done": [each.description for each in state.steps if each.completed],
            "notes": [note.content for note in state.notes],
            "blockers": [blocker.description for blocker in state.blockers],
            "errors": [error.message for error in state.errors.open],
            "files": [file.path for file in state.files.active if file.status == "editing"],
        }
        for name, texts in held.items():
            if (name == "done" and not done) or (name == "files" and not files):
                continue
            value = getattr(truth, name)
            wanted = [value] if name == "task" else list(value)
            same = len(wanted) == len(texts) and all(any(words in text for text in texts) for words in wanted)
            self._compare("the state", same, f"{name}: {texts} and not {wanted}")
        items = [words for name in SHOWN for words in _texts_of(truth, name)]
        known = sum(any(words in text for texts in held.values() for text in texts) for words in items)
        self._known = (known, len(items))

    def _look(self, where: str, text: str, truth: DayTruth, *, gone: bool = True) -> None:
        """Compare a text with what must stand in it, and what may not."""
        counted = self._counted(text)
        # A session's title says what was asked for, and nothing of what holds.
        text = text.replace(self._title, "").replace(self._title.rstrip("."), "")
        for name in SHOWN:
            for words in _texts_of(truth, name):
                found = words in text or words in counted
                if self.suite.keeps_texts and where == "the request" and not found:
                    # What a redaction took out of the log stands in the host's own file as it was.
                    found = self._unredacted(words) in text
                self._compare(where, found, f"{name}: {words!r} is not there")
        for words in truth.gone if gone else ():
            self._compare(where, words not in text, f"{words!r} is there")

    def _unredacted(self, words: str) -> str:
        """A text as it was before the secret was taken out of it."""
        secret = next(step.words["secret"] for step in self.day.steps if "secret" in step.words)
        return words.replace("[redacted]", secret)

    def _counted(self, text: str) -> str:
        """What the calls give that a text names for what it leaves out."""
        named = [call for router, call in calls_in(text) if router == "hud"]
        lists = [call for call in named if str(call["operation"]).endswith("list")]
        if not lists or self._conversation is None:
            return ""
        with Hud.open(self.place.log) as hud:
            session = hud.session(self._key())
            return "\n".join(session.tool("hud", call) for call in lists)

    def _check_disk(self) -> None:
        said = self._hudkit("verify")
        self._compare("verify", said is not None, "the log does not verify")
        for path in self._own_files():
            loose = stat.S_IMODE(path.stat().st_mode) & 0o077
            self._compare("disk", not loose, f"{path.name} can be read by others")

    def _read_requests(self) -> None:
        """Read what reached the model since: it may name calls and commands."""
        new = self.model.chats[self._read :]
        refused = {
            text for request in new for role, text in _read_messages(request) if role == "tool" and _LOST.search(text)
        }
        self._compare("answers", refused <= self._refused, f"not recorded: {refused - self._refused}")
        self._refused |= refused
        for request in new:
            self._texts += [*(text for _, text in _read_messages(request)), *request.system]
        self._read = len(self.model.chats)

    def _carry_out(self) -> None:
        """Have the agent make every call that a text has named since, and understand every command."""
        text = "\n".join(self._texts)
        self._texts = []
        new = [call for call in calls_in(text) if repr(call) not in self._carried_out][:8]
        self._carried_out |= {repr(call) for call in new}
        for command in dict.fromkeys(first or second for first, second in _COMMAND.findall(text)):
            self._understand(command.strip())
        if not new:
            return
        calls = [self.suite.router_call(router, arguments) for router, arguments in new]
        for call, (router, arguments) in zip(calls, new, strict=True):
            self.model.play(uses(call), says("I see."))
            self._talk().say("Look.")
            answer = self._answers()[-1]
            self._compare("calls", not _REFUSED.search(answer), f"{router}({as_text(arguments)}): {answer[:200]!r}")
        self._read = len(self.model.chats)

    def _understand(self, command: str) -> None:
        """A command that a text names is one: those that only read are carried out, of the others the help is."""
        if command in self._commands or any(mark in command for mark in '…<[{|\\"'):
            return
        self._commands.add(command)
        words = re.split(r" +", command.split("  ")[0].strip(" .,'"))[1:]
        words = [word for word in words if word.isascii() and not word.isupper()]
        if " ".join(words).startswith(_READING):
            code, out = self._main(*words)
            self._compare("commands", code in (0, 1), f"{command}: {out[-300:]}")
        else:
            code, out = self._main(words[0], "--help")
            self._compare("commands", code == 0, f"{command}: {out[-300:]}")

    def _compare(self, where: str, holds: bool, what: str) -> None:
        self._compared += 1
        if not holds:
            self.differences.append(Difference(self._step.title, where, what))

    # -- what is seen ----------------------------------------------------------------------------------------------

    def _state(self) -> HudState:
        """The state of the conversation, from the log."""
        if self._conversation is not None:
            self.suite.settle(self._conversation)
        with Hud.open(self.place.log) as hud:
            return hud.session(self._key()).state

    def _key(self) -> str:
        if not self.session:
            self.suite.settle(self._talk())
            own = self._talk().id
            with Hud.open(self.place.log) as hud:
                keys = [key for key in hud.sessions() if key.startswith(f"{self.suite.host}/{own}@") or key == own]
            assert len(keys) == 1, (own, keys)
            self.session = keys[0]
        return self.session

    def _told(self, chat: CapturedRequest, *, calls: bool = True) -> str:
        """What a request tells of the HUD: bases, blocks of changes, and the agent's own calls with their answers."""
        told = []
        for piece in chat.pieces:
            marks = [at for mark in ("Your HUD", "HUD of", "[hud ") if (at := piece.text.find(mark)) >= 0]
            if piece.role == "system" and "HUD" in piece.text:
                told.append(piece.text)
            elif piece.role not in ("tools", "assistant") and marks:
                told.append(piece.text[min(marks) :])
            elif calls and piece.form == "call" and re.match(r"(mcp__hudkit__)?hud\b", piece.text):
                told.append(piece.text)
        return "\n".join(told)

    def _answers(self) -> list[str]:
        answers = [text for role, text in _read_messages(self.model.chats[-1]) if role == "tool"]
        return [text.partition("\n[hud ")[0] for text in answers] or [""]

    def _inspected(self) -> str:
        with Hud.open(self.place.log) as hud:
            inspected = InspectedLog(hud)
            until_whole = time.monotonic() + 60
            page, whole = inspected.call_page({"id": self._key()})
            while not whole and time.monotonic() < until_whole:
                page, whole = inspected.call_page({"id": self._key()})
            inspected.close()
        return html.unescape(re.sub(r"</?\w[^>]*>", "", page))

    def _hudkit(self, *words: str) -> str:
        code, out = self._main(*words)
        self._compare(f"hudkit {words[0]}", code == 0, out[-500:])
        self._texts.append(out)
        return out

    def _main(self, *words: str) -> tuple[int, str]:
        """A command in this process, with the variables of the day."""
        out, errors = StringIO(), StringIO()
        before = dict(os.environ)
        os.environ.update(hudkit_variables(self.place))
        try:
            with redirect_stdout(out), redirect_stderr(errors):
                try:
                    code = main(list(words))
                except SystemExit as ended:
                    code = int(ended.code or 0)
        finally:
            os.environ.clear()
            os.environ.update(before)
        return code, out.getvalue() or errors.getvalue()

    def _own_files(self) -> Iterator[Path]:
        """The files of hudkit's data."""
        data = self.place.log.parent
        yield from (path for path in data.rglob("*") if path.is_file() and not path.is_symlink())

    def _ours(self) -> Iterator[Path]:
        """What is in the places of hudkit's data and settings, the folders too."""
        theirs = (settings_of(self.place), settings_of(self.place).parent)
        for folder in (self.place.log.parent, settings_of(self.place).parent):
            if folder.exists():
                yield from (path for path in (folder, *folder.rglob("*")) if path not in theirs)

    def _files(self) -> dict[str, bytes]:
        """The files that a user of the host has: settings of the host, not what it writes as it works."""
        names = ("opencode.json", "opencode.jsonc", "config.toml", "settings.json", "AGENTS.md", "hooks.json")
        found = [path for path in self.home.rglob("*") if path.name in names and path.is_file()]
        return {str(path): path.read_bytes() for path in found if not path.is_relative_to(self.place.log.parent)}

    # -- what is played --------------------------------------------------------------------------------------------

    def _say(self, step: DayStep) -> str:
        self.model.play(*self._played(step.model))
        return str(self._talk().say(step.prompt))

    def _played(self, replies: Sequence[DayReply]) -> Iterator[Answer]:
        for reply in replies:
            response = ScriptedReply(reply.text, tuple(map(self._call, reply.calls)))
            yield from self.suite.fill_window(response) if reply.fill else (response,)

    def _call(self, call: DayCall) -> ScriptedCall:
        if call.name in ("hud", "memory"):
            made: ScriptedCall = self.suite.router_call(call.name, call.arguments)
        elif call.name == "delegate":
            made = self.suite.delegate(call.arguments["prompt"])
        else:
            arguments = dict(call.arguments)
            if "path" in arguments:
                arguments["path"] = self.suite._path(self.place, arguments["path"])
            made = self.suite.call(call.name, **arguments)
        return made

    def _begun_elsewhere(self, prompt: str) -> subprocess.Popen[bytes]:
        """A process of its own in which the conversation goes on with a prompt."""
        given = json.dumps([self.name, msgspec.to_builtins(msgspec.structs.asdict(self.place), enc_hook=str), prompt])
        command = [sys.executable, "-P", str(Path(__file__).with_name("day_child.py")), given]
        env = {**os.environ, **hudkit_variables(self.place)}
        with (self.home / "child.log").open("ab") as log:
            return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _kill_tree(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process and all that it has started, but for the daemon, which has ended with nobody's end."""
        daemon = client.greet(socket_of(self.place)) if socket_of(self.place).exists() else None
        spared = daemon.pid if daemon is not None else 0
        for pid in reversed(list(_descendants(process.pid, spared))):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(60)


def _read_messages(request: CapturedRequest) -> Iterator[tuple[str, str]]:
    """The messages of a request by their roles; of an answer that is JSON, its texts as a model reads them."""
    for role, text in request.messages:
        answer = None
        if role == "tool" and text.startswith("{"):
            with suppress(msgspec.DecodeError):
                answer = msgspec.json.decode(text)
        texts = list(answer.values()) if isinstance(answer, dict) else []
        yield role, "\n".join(texts) if texts and all(isinstance(each, str) for each in texts) else text


def _texts_of(truth: DayTruth, name: str) -> tuple[str, ...]:
    value = getattr(truth, name)
    return (value,) if isinstance(value, str) else value


def _descendants(pid: int, spared: int) -> Iterator[int]:
    """The process and those that it started, from the outside in (Linux only)."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        if one != spared:
            yield one
            waiting += parents.get(one, [])

"""A conversation: prompts and commands from a line, one after the other, until the person leaves.

`/name` is a command, `!command` runs in the user's shell, everything else is a prompt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

import msgspec
from rich.text import Text as Shown

from hudkit.agent import message_history
from hudkit.agent.file_undo import UndoResult
from hudkit.agent.records import StoredMessage, StoredText
from hudkit.agent.terminal.file_names import git_branch, project_files
from hudkit.agent.terminal.markdown import markdown_lines
from hudkit.agent.terminal.mentions import find_mentions
from hudkit.agent.terminal.prompt_source import Interrupted, PromptSource, PromptSurroundings
from hudkit.agent.terminal.screen import Screen, clip, one_line, printable, wrap_text
from hudkit.agent.terminal.session_report import changed_since, context_lines, cost_lines, difference_lines
from hudkit.agent.terminal.session_runner import SCRIPT, SessionRunner, model_of
from hudkit.agent.terminal.turn_display import UserLeft
from hudkit.agent.terminal.user_command import run_user_command
from hudkit.errors import HudkitError

_LISTED = 20
"""Sessions that `/resume` lists."""


class _Quit(Exception):
    """`/quit`."""


class _Command(msgspec.Struct, frozen=True):
    """A command of the conversation: what is written behind its name, what it does, and how."""

    takes: str
    does: str
    run: Callable[[Chat, str], Awaitable[None]]


class Chat:
    """A person's side of a session. `screen` is where answers to commands go."""

    def __init__(self, runner: SessionRunner, line: PromptSource, screen: Screen) -> None:
        self.runner = runner
        self.line = line
        self.screen = screen
        self._next = ""
        self._beside: list[str] = []
        """What the next prompt tells the agent first: commands that the user ran."""
        line.show(PromptSurroundings(runner.panel.line, self.names, lambda: project_files(self._directory)))

    async def run(self) -> int:
        """Read and carry out lines until the person leaves; return the exit code."""
        code = await self._talk()
        if self.runner.loop.session.title:
            self.runner.view.note(f"hudkit chat --session {self.runner.loop.id} goes on with this session.")
        return code

    async def _talk(self) -> int:
        self.greet()
        warned = False
        while True:
            default, self._next = self._next, ""
            if self.screen.terminal:
                self.screen.put(Shown())
            queued = self.line.typed is not None and self.line.typed.has_line()
            try:
                text = await self.line.read(default)
            except Interrupted:
                if warned:
                    return 0
                warned = True
                self.runner.view.note("Ctrl-C again leaves, so does Ctrl-D.")
                continue
            warned = False
            if text is None:
                return 0
            if queued:  # the line that was typed ahead is gone from the screen
                self.screen.put(*wrap_text(f"› {printable(text)}", self.screen.columns, style="bold"))
            try:
                await self.take(text.strip())
            except _Quit:
                return 0
            except UserLeft:
                return 130
            except HudkitError as error:
                self.runner.view.problem(str(error))

    async def take(self, text: str) -> None:
        """Carry out one line: a command where it begins with `/` and a name, else a prompt.

        Returns nothing. Raises `UserLeft` and a `HudkitError`.
        """
        name, _, rest = text.removeprefix("/").partition(" ")
        if not text:
            return
        if text.startswith("!"):
            await self._shell(text[1:].strip())
        elif not text.startswith("/") or "/" in name or not name:
            await self._prompt(text)
        elif name in COMMANDS:
            await COMMANDS[name].run(self, rest.strip())
        elif name in self._own():
            display = self.runner.display
            await display.turn(self.runner.loop.command(name, rest.strip()))
        else:
            near = get_close_matches(name, self.names(), 1)
            hint = f"Did you mean /{near[0]}?" if near else "/help lists what there is."
            self.runner.view.problem(f"There is no command /{one_line(name)}. {hint}")

    async def _prompt(self, text: str) -> None:
        """Send a prompt with the files that it names and what was done beside it; one that is refused comes back."""
        loop = self.runner.loop
        workspace = loop.setup.workspace
        mentions = find_mentions(text, workspace.cwd, workspace.root, loop.session.model)
        for remark in mentions.remarks:
            self.runner.view.note(remark)
        if mentions.files:
            self.runner.view.note(f"attached: {', '.join(one_line(Path(file.path).name) for file in mentions.files)}")
        beside, self._beside = self._beside, []
        try:
            await self.runner.display.prompt(text, mentions.files, beside)
        except HudkitError:
            self._next, self._beside = text, beside
            raise

    async def _shell(self, command: str) -> None:
        """Run a command of the user's and remember what the agent is to be told of it."""
        if not command:
            self.runner.view.problem("! runs a shell command, as in: !git status")
            return
        rest = ""

        def show(text: str) -> None:
            nonlocal rest
            *lines, rest = (rest + text).split("\n")
            self._show_output(lines)

        work = run_user_command(command, self._directory, show)
        account = await self.runner.display.work(work, "", "running")
        self._show_output([rest] if rest else [])
        if account:
            self._beside.append(account)
            self.runner.view.note("The agent is told of it with the next prompt.")
        else:
            self.runner.view.problem("Cancelled; the agent is not told of it.")

    def _show_output(self, lines: Sequence[str]) -> None:
        for line in lines:
            # what a program drew over again in one line is shown as it ended
            self.screen.put(
                *wrap_text(printable(line.rstrip("\r").rpartition("\r")[2]), self.screen.columns, indent="  ")
            )

    @property
    def _directory(self) -> Path:
        return self.runner.loop.setup.workspace.cwd

    def names(self) -> Sequence[str]:
        """Return the names of all commands, the user's own behind the others."""
        return (*COMMANDS, *(name for name in self._own() if name not in COMMANDS))

    def greet(self) -> None:
        """Show which session is open, and where it stands; return nothing."""
        loop = self.runner.loop
        session = loop.session
        branch = git_branch(self._directory)
        where = _home_relative(self._directory) + (f" ({one_line(branch)})" if branch else "")
        if self.screen.terminal:
            self.screen.put(Shown(clip(where, self.screen.columns), "bold"))
        self.runner.view.note(f"{session.model} · agent {session.agent}")
        self.runner.view.note("/help lists commands, @ names files, ! runs a shell command")
        self.line.remember(_words(message) for message in loop.messages if _asked(message))
        self._recall(loop.messages)

    async def help(self, _: str) -> None:
        """Show the commands, ours and the user's own, and the keys; return nothing."""
        rows = [(f"/{name} {command.takes}".rstrip(), command.does) for name, command in COMMANDS.items()]
        rows += [(f"/{name}", does) for name, does in self._own().items() if name not in COMMANDS]
        width = max(len(name) for name, _ in rows)
        for name, does in rows:
            first, *more = wrap_text(one_line(does), self.screen.columns - width - 4) or [Shown()]
            self.screen.put(Shown.assemble((f"  {one_line(name):<{width}}  ", "cyan"), first))
            self.screen.put(*(Shown.assemble(" " * (width + 4), line) for line in more))
        for keys in _KEYS:
            self.screen.put(*wrap_text(keys, self.screen.columns, style="dim", indent="  "))

    async def hud(self, _: str) -> None:
        """Show the whole HUD; return nothing."""
        text = self.runner.panel.whole().strip("\n")
        if self.screen.terminal:
            self.screen.put(*markdown_lines(text, self.screen.columns))
        else:
            self.screen.put(*wrap_text(printable(text), self.screen.columns))

    async def context(self, _: str) -> None:
        """Show what fills the window; return nothing."""
        self.screen.put(*context_lines(self.runner.loop, self.runner.panel, self.screen.columns))

    async def cost(self, _: str) -> None:
        """Show what the session cost so far; return nothing."""
        self.screen.put(*cost_lines(self.runner.loop))

    async def diff(self, since: str) -> None:
        """Show what the agent changed in files since the last prompt, or since the session's start (`all`)."""
        if since not in ("", "all"):
            self.runner.view.problem("/diff is since the last prompt, /diff all since the session began")
            return
        changes = changed_since(self.runner.loop, start=since == "all")
        if not changes:
            when = "in this session" if since else "since the last prompt; /diff all is since the session began"
            self.runner.view.note(f"The agent's tools changed no file {when}.")
        self.screen.put(*difference_lines(self.runner.loop, changes, self.screen.columns))
        if changes:
            self.runner.view.note("What commands changed is not in it.")

    async def clear(self, _: str) -> None:
        """Begin a new session; return nothing. The old one stays: `/resume` lists it."""
        runner = self.runner
        old = runner.loop.session
        await runner.open(None, model="" if old.model.startswith(SCRIPT) else old.model)
        self._beside.clear()
        runner.view.note(
            "A new session, with a HUD of its own." + (" /resume lists the old one." if old.title else "")
        )
        self.greet()

    async def compact(self, _: str) -> None:
        """Compact the session now; return nothing."""
        display = self.runner.display
        if await display.work(self.runner.loop.compact(), True) is False:
            self.runner.view.note("There is nothing to compact.")

    async def undo(self, _: str) -> None:
        """Undo the last prompt, put its text in the line and name what cannot be put back; return nothing."""
        undone = await self.runner.loop.undo()
        self._report("Taken back", undone)
        if undone.not_undone:
            done = "\n".join(f"  {one_line(what)}" for what in undone.not_undone)
            self.runner.view.problem(f"What these did stays:\n{done}")
        self._next = undone.text

    async def redo(self, _: str) -> None:
        """Bring back the prompt that was undone last, and name what stays as it is; return nothing."""
        self._report("Brought back", await self.runner.loop.redo())
        self._next = ""

    def _report(self, what: str, result: UndoResult) -> None:
        note = self.runner.view.note
        note(f"{what}: {clip(result.text, 200)}")
        if result.restored:
            note(f"Files put back: {', '.join(map(one_line, result.restored))}")
        for skipped in result.kept_back:
            self.runner.view.problem(f"Left as it is: {one_line(skipped.path)}: {one_line(skipped.why)}")
        self.runner.panel.refresh()

    async def model(self, name: str) -> None:
        """Switch to a model, or keep the one that is used where no name is given, and show it; return nothing."""
        runner = self.runner
        if name:
            request = msgspec.structs.replace(runner.request, model=name, script=None)
            await runner.loop.switch(model=model_of(request, None, runner.location.settings))
            runner.panel.refresh()
        runner.view.note(f"The model is {runner.loop.session.model}.")

    async def resume(self, asked: str) -> None:
        """Open another session of the directory, or list them where none is asked for; return nothing."""
        runner = self.runner
        own = runner.location.sessions(runner.request.directory)
        if asked:
            session = runner.location.named(asked, runner.request.directory)
            if session.id == runner.loop.id:
                runner.view.note("This is the one that is open.")
                return
            await runner.open(session)
            self.greet()
            return
        for number, session in enumerate(own[:_LISTED], 1):
            when = datetime.fromtimestamp(session.updated / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
            mark = "*" if session.id == runner.loop.id else " "
            head = f"{mark} {number:>2}  {when}  "
            self.screen.put(Shown(head + clip(session.title, self.screen.columns - len(head))))
        runner.view.note("/resume NUMBER goes on with one." if own else "There is no session of this directory yet.")

    async def quit(self, _: str) -> None:
        """Leave the conversation: raise what ends its loop."""
        raise _Quit

    def _own(self) -> Mapping[str, str]:
        """The user's own commands and the project's, with what each does."""
        return {name: command.description for name, command in self.runner.loop.commands.items()}

    def _recall(self, messages: Sequence[StoredMessage]) -> None:
        """The last exchange of a session that is gone on with."""
        asked = message_history.last_user_prompt(messages)
        if asked is None:
            return
        self.screen.put(Shown(clip(f"› {_words(asked)}", self.screen.columns), "bold"))
        after = messages[messages.index(asked) + 1 :]
        last = next(
            (
                _words(message)
                for message in reversed(after)
                if message.role == "assistant" and _words(message).strip()
            ),
            "",
        )
        self.screen.put(*markdown_lines(last, self.screen.columns))


_KEYS = (
    "@file attaches a file, Tab completes its name; a picture's path that is pasted or dropped attaches it, too",
    "!command runs in your shell; the agent is told of it with the next prompt",
    "Enter sends, Alt-Enter begins a new line, Ctrl-C cancels, Ctrl-D leaves",
    "what you type while the agent works is sent when it is done; Up takes it back into the line",
)

COMMANDS: Mapping[str, _Command] = {
    "help": _Command("", "lists the commands", Chat.help),
    "hud": _Command("", "all that is in the HUD of this session", Chat.hud),
    "context": _Command("", "how full the window is, and what fills it", Chat.context),
    "cost": _Command("", "the tokens that were used, and what they cost", Chat.cost),
    "diff": _Command("[all]", "what the agent changed in files since your last prompt, or in the session", Chat.diff),
    "clear": _Command("", "begins a new session with an empty HUD; the old one is kept", Chat.clear),
    "compact": _Command("", "compacts now", Chat.compact),
    "undo": _Command("", "takes the last prompt back, and puts back the files that it changed", Chat.undo),
    "redo": _Command("", "brings back what undo took back last, until the next prompt", Chat.redo),
    "model": _Command("[provider:name]", "says which model works, or takes another one", Chat.model),
    "resume": _Command("[number or id]", "lists the sessions of this directory, or goes on with one", Chat.resume),
    "quit": _Command("", "leaves", Chat.quit),
}


def _home_relative(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        return str(path)


def _asked(message: StoredMessage) -> bool:
    return message.role == "user" and any(message_history.is_users_own(part) for part in message.parts)


def _words(message: StoredMessage) -> str:
    """What a person or the model said; not what was put beside it."""
    texts = [part for part in message.parts if isinstance(part, StoredText)]
    return "".join(part.text for part in texts if not part.ignored and not part.synthetic)

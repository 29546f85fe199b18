"""A conversation: prompts and commands from a line, one after the other, until the person leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches

import msgspec
from rich.text import Text as Shown

from hudkit.agent import message_history
from hudkit.agent.records import StoredMessage, StoredText
from hudkit.agent.terminal.attend import Left
from hudkit.agent.terminal.line import Interrupted, Line
from hudkit.agent.terminal.markdown import lines_of
from hudkit.agent.terminal.opening import model_of
from hudkit.agent.terminal.safe import clipped, one_line, shown
from hudkit.agent.terminal.screen import Screen, wrapped
from hudkit.agent.terminal.sitting import Sitting
from hudkit.errors import HudkitError

LISTED = 20
"""Sessions that `/resume` lists."""


class Quit(Exception):
    """`/quit`."""


class Command(msgspec.Struct, frozen=True):
    """A command of the conversation: what is written behind its name, what it does, and how."""

    takes: str
    does: str
    run: Callable[[Chat, str], Awaitable[None]]


class Chat:
    """A person's side of a session. `screen` is where answers to commands go."""

    def __init__(self, sitting: Sitting, line: Line, screen: Screen) -> None:
        self.sitting = sitting
        self.line = line
        self.screen = screen
        self._next = ""
        line.show(lambda columns: clipped(sitting.panel.line(), columns), self.names)

    async def run(self) -> int:
        """Until the person leaves; the exit code."""
        code = await self._talk()
        if self.sitting.loop.session.title:
            self.sitting.view.note(f"hudkit chat --session {self.sitting.loop.id} goes on with this session.")
        return code

    async def _talk(self) -> int:
        self.greet()
        warned = False
        while True:
            default, self._next = self._next, ""
            if self.screen.terminal:
                self.screen.put(Shown())
            try:
                text = await self.line.read(default)
            except Interrupted:
                if warned:
                    return 0
                warned = True
                self.sitting.view.note("Ctrl-C again leaves, so does Ctrl-D.")
                continue
            warned = False
            if text is None:
                return 0
            try:
                await self.take(text.strip())
            except Quit:
                return 0
            except Left:
                return 130
            except HudkitError as error:
                self.sitting.view.problem(str(error))

    async def take(self, text: str) -> None:
        """One line: a command where it begins with `/` and a name, else a prompt. Raises `Quit`, `Left`, and a
        `HudkitError`."""
        name, _, rest = text.removeprefix("/").partition(" ")
        if not text:
            return
        if not text.startswith("/") or "/" in name or not name:
            await self.sitting.attendant.prompt(text)
        elif name in COMMANDS:
            await COMMANDS[name].run(self, rest.strip())
        elif name in self._own():
            attendant = self.sitting.attendant
            await attendant.turn(self.sitting.loop.command(name, rest.strip()))
        else:
            near = get_close_matches(name, self.names(), 1)
            hint = f"Did you mean /{near[0]}?" if near else "/help lists what there is."
            self.sitting.view.problem(f"There is no command /{one_line(name)}. {hint}")

    def names(self) -> Sequence[str]:
        """The names of all commands, the user's own behind the others."""
        return (*COMMANDS, *(name for name in self._own() if name not in COMMANDS))

    def greet(self) -> None:
        """What is open, and where it stands."""
        loop = self.sitting.loop
        one = loop.session
        self.sitting.view.note(f"{one.model} · agent {one.agent} · /help lists commands")
        self.line.remember(_words(message) for message in loop.messages if _asked(message))
        self._recall(loop.messages)

    async def help(self, _: str) -> None:
        rows = [(f"/{name} {one.takes}".rstrip(), one.does) for name, one in COMMANDS.items()]
        rows += [(f"/{name}", does) for name, does in self._own().items() if name not in COMMANDS]
        width = max(len(name) for name, _ in rows)
        room = self.screen.columns - width - 4
        self.screen.put(*(Shown(f"  {one_line(name):<{width}}  {clipped(does, room)}") for name, does in rows))
        self.screen.put(Shown("  Enter sends, Alt-Enter begins a new line, Ctrl-C cancels, Ctrl-D leaves", "dim"))

    async def hud(self, _: str) -> None:
        self.screen.put(*wrapped(shown(self.sitting.panel.whole().strip("\n")), self.screen.columns))

    async def compact(self, _: str) -> None:
        attendant = self.sitting.attendant
        if await attendant.work(self.sitting.loop.compact(), True) is False:
            self.sitting.view.note("There is nothing to compact.")

    async def undo(self, _: str) -> None:
        undone = await self.sitting.loop.undo()
        note, problem = self.sitting.view.note, self.sitting.view.problem
        note(f"Taken back: {clipped(undone.text, 200)}")
        if undone.restored:
            note(f"Files put back: {', '.join(map(one_line, undone.restored))}")
        for one in undone.kept_back:
            problem(f"Left as it is: {one_line(one.path)}: {one_line(one.why)}")
        if undone.not_undone:
            problem("What these did stays:\n" + "\n".join(f"  {one_line(what)}" for what in undone.not_undone))
        self.sitting.panel.refresh()
        self._next = undone.text

    async def model(self, name: str) -> None:
        sitting = self.sitting
        if name:
            wish = msgspec.structs.replace(sitting.wish, model=name, script=None)
            await sitting.loop.switch(model=model_of(wish, None, sitting.place.settings))
            sitting.panel.refresh()
        sitting.view.note(f"The model is {sitting.loop.session.model}.")

    async def resume(self, asked: str) -> None:
        sitting = self.sitting
        own = sitting.place.sessions(sitting.wish.directory)
        if asked:
            found = sitting.place.named(asked, sitting.wish.directory)
            if found.id == sitting.loop.id:
                sitting.view.note("This is the one that is open.")
                return
            await sitting.open(found)
            self.greet()
            return
        for number, one in enumerate(own[:LISTED], 1):
            when = datetime.fromtimestamp(one.updated / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
            mark = "*" if one.id == sitting.loop.id else " "
            head = f"{mark} {number:>2}  {when}  "
            self.screen.put(Shown(head + clipped(one.title, self.screen.columns - len(head))))
        sitting.view.note("/resume NUMBER goes on with one." if own else "There is no session of this directory yet.")

    async def quit(self, _: str) -> None:
        raise Quit

    def _own(self) -> Mapping[str, str]:
        """The user's own commands and the project's, with what each does."""
        return {name: one.description for name, one in self.sitting.loop.commands.items()}

    def _recall(self, messages: Sequence[StoredMessage]) -> None:
        """The last exchange of a session that is gone on with."""
        asked = message_history.last_user_prompt(messages)
        if asked is None:
            return
        self.screen.put(Shown(clipped(f"› {_words(asked)}", self.screen.columns), "bold"))
        after = messages[messages.index(asked) + 1 :]
        last = next((_words(one) for one in reversed(after) if one.role == "assistant" and _words(one).strip()), "")
        self.screen.put(*lines_of(last, self.screen.columns))


COMMANDS: Mapping[str, Command] = {
    "help": Command("", "lists the commands", Chat.help),
    "hud": Command("", "all that is in the HUD of this session", Chat.hud),
    "compact": Command("", "compacts now", Chat.compact),
    "undo": Command("", "takes the last prompt back, and puts back the files that it changed", Chat.undo),
    "model": Command("[provider:name]", "says which model works, or takes another one", Chat.model),
    "resume": Command("[number or id]", "lists the sessions of this directory, or goes on with one", Chat.resume),
    "quit": Command("", "leaves", Chat.quit),
}


def _asked(message: StoredMessage) -> bool:
    return message.role == "user" and any(message_history.is_users_own(part) for part in message.parts)


def _words(message: StoredMessage) -> str:
    """What a person or the model said; not what was put beside it."""
    texts = [part for part in message.parts if isinstance(part, StoredText)]
    return "".join(part.text for part in texts if not part.ignored and not part.synthetic)

"""A process that does a task over several files, with everything at once that a session can meet.

usage: shop_child.py PLACE SESSION COMMANDS   (COMMANDS: JSON of the commands of two MCP servers, `git` and `memory`)

Two MCP servers, three sub-agents side by side that write a file each, a word of the user's in mid-turn, an overflow,
a model that is out of reach and the one that works in its place. The model looks at what there is and does what is
missing, so that any of these processes can go on where one was killed. It prints the session's id, a line at each
call of its models, and at the end `ended` with the reason; each request that reached a model adds its digest to
PLACE/received.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, McpServer, PermissionRule, hud_plugin
from hudkit.agent.events import EventStream, ToolCallUpdated
from hudkit.agent.request_builder import COMPACTION_QUESTION
from hudkit.models import CompletionEvent, CompletionRequest
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import CONTEXT_EXCEEDED, Answer, Refusal, ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

PROMPT = "Give the shop its parts: prices, stock and glaze."
TASK = "Give the shop its parts"
STEERING = "Never touch legacy.py."
PARTS = {name: f'"""{name.title()} of the shop."""\n\nNAME = "{name}"\n' for name in ("prices", "stock", "glaze")}
CHECK = "import glaze, prices, stock; print(glaze.NAME, prices.NAME, stock.NAME)"
COMMIT = "The shop has its parts"


def digest(request: CompletionRequest) -> str:
    """What a request is known by: the digest of its bytes."""
    return sha256(msgspec.json.encode(request)).hexdigest()


class Shop:
    """A project on disk, and what a model that looks at it does next."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.project = place / "project"
        self._fell = False

    def begin(self) -> None:
        """Make the project, a repository of git."""
        self.project.mkdir()
        (self.project / "legacy.py").write_text("OLD = True\n")
        for command in (
            ("init", "-q"),
            ("config", "user.name", "Potter"),
            ("config", "user.email", "potter@example.com"),
            ("add", "legacy.py"),
            ("commit", "-q", "-m", "Begin"),
        ):
            subprocess.run(("git", *command), cwd=self.project, check=True)

    def missing(self) -> list[str]:
        """The parts that are not there as they should be."""
        paths = {name: self.project / f"{name}.py" for name in PARTS}
        return [name for name, path in paths.items() if not path.exists() or path.read_text() != PARTS[name]]

    def remembered(self) -> str:
        """What the memory server has stored."""
        path = self.place / "memory.json"
        return path.read_text() if path.exists() else ""

    def commits(self) -> list[str]:
        """The subjects of the commits, the newest first."""
        done = subprocess.run(("git", "log", "--format=%s"), cwd=self.project, capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    def answer(self, asked: CapturedRequest, *, spare: bool) -> Answer:
        """What a model does next; the spare one is never out of reach."""
        os.write(1, b"asked\n")
        first = next(text for role, text in asked.messages if role == "user")
        if first.startswith("Write the part "):
            return self._part(first.split()[3].rstrip("."), asked)
        if "the_shop" not in self.remembered():
            entity = {"name": "the_shop", "entityType": "project", "observations": ["It has three parts."]}
            return uses(
                ScriptedCall("hud", {"operation": "task.set", "text": TASK}),
                ScriptedCall("memory_create_entities", {"entities": [entity]}),
            )
        if missing := self.missing():
            return uses(*(self._task(name) for name in missing))
        if first != COMPACTION_QUESTION:  # the window is full until it is compacted
            return CONTEXT_EXCEEDED
        if not self._fell and not spare:
            self._fell = True
            return Refusal(503, "overloaded_error")
        if not (self.project / "checked").exists():
            return uses(ScriptedCall("bash", {"command": f"python3 -B -c '{CHECK}' > checked"}))
        if COMMIT not in self.commits():
            files = [*(f"{name}.py" for name in PARTS), "checked"]
            return uses(
                ScriptedCall("git_git_add", {"repo_path": str(self.project), "files": files}),
                ScriptedCall("git_git_commit", {"repo_path": str(self.project), "message": COMMIT}),
            )
        return says("The shop has its parts.")

    def _task(self, name: str) -> ScriptedCall:
        return ScriptedCall("task", {"description": f"part {name}", "prompt": f"Write the part {name}."})

    def _part(self, name: str, asked: CapturedRequest) -> Answer:
        if len(asked.messages) == 1:
            return uses(ScriptedCall("read", {"path": "legacy.py"}), ScriptedCall("memory_read_graph", {}))
        if name in self.missing():
            return uses(ScriptedCall("write", {"path": f"{name}.py", "content": PARTS[name]}))
        return says(f"{name} is written")


class RecordingModel(InProcessModel):
    """A scripted model that notes each request as it came."""

    def __init__(self, shop: Shop, name: str) -> None:
        super().__init__(lambda asked: shop.answer(asked, spare=name != "main:m"), name=name)
        self._file = os.open(shop.place / "received", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        os.write(self._file, f"{digest(request)}\n".encode())
        async for event in super().stream(request):
            yield event


async def open_shop(shop: Shop, session: str, commands: Mapping[str, Sequence[str]]) -> AgentLoop:
    """The loop over a shop."""
    models = {name: RecordingModel(shop, name) for name in ("main:m", "spare:m")}
    memory = str(shop.place / "memory.json")
    servers = {
        name: McpServer(
            command=command[0], args=tuple(command[1:]), env={"MEMORY_FILE_PATH": memory}, trust="all", seconds=120
        )
        for name, command in commands.items()
    }
    options = LoopOptions(
        settings=LoopSettings(fallback_models=("spare:m",), retries=0, frees=0),
        permissions=(PermissionRule("bash", "*", "allow"),),
        plugins=[("hud", hud_plugin(shop.place / "data" / "hudkit.db"))],
        mcp_servers=servers,
        connect=models.__getitem__,
    )
    return await AgentLoop.open(shop.project, "main:m", data=shop.place / "data", session=session, options=options)


async def steer_once(loop: AgentLoop, seen: EventStream) -> None:
    """Say the user's word in mid-turn, behind the first call that begins, unless it was said already."""
    async for event in seen:
        if isinstance(event, ToolCallUpdated) and event.session_id == loop.id:
            if STEERING not in str(loop.messages):
                await loop.steer(STEERING)
            return


async def main() -> None:
    shop, session = Shop(Path(sys.argv[1])), sys.argv[2]
    loop = await open_shop(shop, session, json.loads(sys.argv[3]))
    assert loop.problems == [], loop.problems
    os.write(1, f"{loop.id}\n".encode())
    steering = asyncio.ensure_future(steer_once(loop, loop.events()))
    ended = await (loop.proceed() if loop.messages else loop.prompt(PROMPT))
    await loop.close()
    await asyncio.wait({steering})
    os.write(1, f"ended {ended.reason} {ended.error}\n".encode())


if __name__ == "__main__":
    asyncio.run(main())

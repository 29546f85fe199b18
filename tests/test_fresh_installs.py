"""Installations as users make them: core, each extra alone and all of them, in environments of their own.

The wheel is built once. Every command answers, each feature that the environment has is used once, and what needs an
extra that is missing says so in one line: on the oldest and the newest Python of this machine, or that uv can get.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hudkit.cli import COMMANDS
from hudkit.cli.commands.rooms import OPERATIONS
from hudkit.models.scripted_answers import says
from hudkit.paths import own_files
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SDKS = tuple(extra for extra, packages in EXTRAS.items() if packages and extra != "all")
IN_ALL = tuple(extra for extra in SDKS if extra not in ("claude-agent-sdk", "hearing"))
"""What `all` brings. That SDK has a program of 400 MB, as much as all others together; the model that listens takes
time with each message: who wants them names them."""
EMPTY = tuple(extra for extra, packages in EXTRAS.items() if not packages)
SUPPORTED = [f"3.{minor}" for minor in range(11, 15)]
SCRIPT = ROOT / "examples" / "scripts" / "temperatures.toml"
HELP = [*((name,) for name in COMMANDS), *(("rooms", name) for name in OPERATIONS)]
KEY = "sk-none"
NO_SERVER = "postgresql://ana:secret@127.0.0.1:1/nowhere"


class Installation(NamedTuple):
    """An environment with hudkit in it, and a home of its own."""

    extra: str
    bin: Path
    home: Path

    def environment(self, **variables: str) -> dict[str, str]:
        own = {"HOME": str(self.home), "HUDKIT_DATA": str(self.home / "data"), "TMPDIR": str(self.temporary)}
        return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | own | variables

    @property
    def temporary(self) -> Path:
        return self.home.parent / "tmp"

    def run(self, *argv: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the home; no traceback, whatever it answers."""
        done = subprocess.run(
            [self.bin / argv[0], *map(str, argv[1:])],
            env=self.environment(**variables),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr + done.stdout, f"{argv}: {done.stdout}{done.stderr}"
        return done

    def hudkit(self, *argv: str | Path, **variables: str) -> str:
        """Run a command that works, and return what it printed."""
        done = self.run("hudkit", *argv, **variables)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def has(self, extra: str) -> bool:
        return self.extra in (extra, "all")


@pytest.fixture(scope="session")
def uv() -> str:
    program = shutil.which("uv") or next((str(path) for path in (ROOT / ".uv/bin/uv",) if path.exists()), "")
    if not program:
        pytest.skip("there is no uv to make environments with")
    return program


@pytest.fixture(scope="session")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


def interpreter(uv: str, version: str) -> str:
    """The path of an interpreter of a version; empty where this machine has none and uv cannot get one."""
    found = subprocess.run(
        [uv, "python", "find", "--no-project", version], capture_output=True, text=True, check=False
    )
    if found.returncode == 0:
        return found.stdout.strip()
    # What pyenv has is not on the PATH.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    ours = sorted(pyenv.glob(f"{version}.*/bin/python"))
    if ours:
        return str(ours[-1])
    subprocess.run([uv, "python", "install", "--quiet", version], capture_output=True, timeout=300, check=False)
    found = subprocess.run(
        [uv, "python", "find", "--no-project", version], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() if found.returncode == 0 else ""


@pytest.fixture(scope="session", params=["oldest", "newest"])
def python(request: pytest.FixtureRequest, uv: str) -> str:
    versions = SUPPORTED if request.param == "oldest" else SUPPORTED[::-1]
    for version in versions:
        path = interpreter(uv, version)
        if path:
            if request.param == "newest" and version == SUPPORTED[0]:
                pytest.skip(f"Python {version} is the only one here, and uv cannot get another")
            return path
    pytest.skip("uv finds no interpreter")


@pytest.fixture
def install(uv: str, wheel: Path, python: str, tmp_path: Path) -> Callable[[str], Installation]:
    def made(extra: str) -> Installation:
        folder = tmp_path / "venv"
        subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True, capture_output=True)
        wanted = f"hudkit[{extra}] @ {wheel.as_uri()}" if extra else f"hudkit @ {wheel.as_uri()}"
        command = [uv, "pip", "install", "--quiet", "--python", folder / "bin/python"]
        done = subprocess.run(
            [*command, "--constraint", ROOT / "constraints.txt", wanted], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        home = tmp_path / "home"
        home.mkdir()
        (tmp_path / "tmp").mkdir()
        return Installation(extra, folder / "bin", home)

    return made


def every_help(own: Installation) -> None:
    for words in HELP:
        assert f"\nexample: hudkit {' '.join(words)}" in own.hudkit(*words, "--help"), words


def every_feature_of_the_core(own: Installation) -> None:
    assert "Task" in own.hudkit("demo")
    asked = ("Write a converter for temperatures, with a test",)
    allowed = ("--allow", "bash python3 *", "--yes")
    assert own.hudkit("run", "--script", SCRIPT, *allowed, *asked)
    assert (own.home / "temperatures.py").exists()
    assert "Write a converter" in own.hudkit("show")
    assert "task.set" in own.hudkit("log")
    assert own.hudkit("verify") and own.hudkit("compactions") is not None
    assert "converter" in own.hudkit("memory", "search", "converter")
    assert "[bands]" in own.hudkit("config")
    assert "Added" in own.hudkit("pin", "hudkit is being tried")
    assert own.hudkit("project") is not None and own.hudkit("sections") and own.hudkit("backup")
    assert own.hudkit("rooms", "new", "island") and own.hudkit("rooms", "run", "--world", "island", "--beats", "4")
    assert "meta:" in own.hudkit("rooms", "show", "Maren", "--world", "island", "--format", "toon")
    assert own.hudkit("rooms", "replay", "--world", "island") and own.hudkit("rooms", "export", "--world", "island")
    served_page(own, "rooms", "serve", "--world", "island")
    served_page(own, "inspect")
    assert "Write a converter" in own.hudkit("watch")
    served_daemon(own)
    report = own.run("hudkit", "doctor", "--json")
    facts = json.loads(report.stdout)
    assert not [row for row in facts["checks"] if row["verdict"] == "fail"], facts


def every_file_is_listed_and_purged(own: Installation) -> None:
    """What the commands above left is in the list of files, and goes with a purge, as temporary files do."""
    theirs = {own.home / name for name in ("temperatures.py", "test_temperatures.py")}
    caches = set(own.home.rglob("__pycache__/*"))
    made = {path for path in own.home.rglob("*") if not path.is_dir()} - theirs - caches
    listed = {path for _, path in own_files(own.home / "data", own.home / "data/hudkit.db")}
    assert made and made <= listed, f"not in OWN_FILES: {sorted(made - listed)}"
    own.hudkit("uninstall", "opencode", "--purge")
    assert {path for path in own.home.rglob("*") if not path.is_dir()} <= theirs | caches
    assert not (own.home / "data").exists()
    assert [path.name for path in own.temporary.iterdir()] == []


def served_page(own: Installation, *command: str) -> None:
    """A command that serves pages says its address and answers there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = subprocess.Popen(
        [own.bin / "hudkit", *command, "--port", str(port)],
        env=own.environment(PYTHONUNBUFFERED="1"),
        cwd=own.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert serving.stdout is not None
    try:
        lines: list[str] = []
        for line in serving.stdout:
            lines.append(line)
            if str(port) in line:
                break
        assert any(str(port) in line for line in lines), lines
        with socket.create_connection(("127.0.0.1", port), timeout=20) as asking:
            asking.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            assert asking.recv(12).startswith(b"HTTP/1.1 ")
    finally:
        serving.send_signal(signal.SIGINT)
        rest = serving.communicate(timeout=60)[0]
    assert "Traceback" not in rest, rest


def served_daemon(own: Installation) -> None:
    """`hudkit serve` starts, and `hudkit stop` ends it."""
    serving = subprocess.Popen(
        [own.bin / "hudkit", "serve", "--idle", "60"],
        env=own.environment(),
        cwd=own.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        greeted = [sys.executable, "-c", GREET]
        subprocess.run(greeted, env=own.environment(), check=True, timeout=60)
        assert own.hudkit("stop")
        assert "Traceback" not in serving.communicate(timeout=60)[0]
        assert serving.returncode == 0
    finally:
        serving.kill()


GREET = """
import time
from hudkit.daemon import client
from hudkit.daemon.socket_path import socket_path
path = socket_path()
while client.greet(path) is None:
    time.sleep(0.05)
"""


def use_models(own: Installation) -> None:
    with ScriptedModel([says("It is done.")]) as model:
        variables = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": KEY}
        assert "It is done." in own.hudkit("run", "--model", "openai-chat:gpt-4o", "hello", **variables)
    opens("anthropic:claude-sonnet-4-5", "key='k'")(own)


def use_section(own: Installation) -> None:
    (own.home / "section.py").write_text("def section():\n    return 'a custom line'\n")
    assert "a custom line" in own.hudkit("sections", "try", "section.py")


def use_acp(own: Installation) -> None:
    """It answers an editor's first message, and ends with its input."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    line, program = f"{json.dumps(hello)}\n", str(own.bin / "hudkit")
    code = (
        f"from subprocess import *; print(run([{program!r}, 'acp'], input={line!r}, stdout=PIPE, text=True).stdout)"
    )
    done = own.run("python", "-c", code)
    assert json.loads(done.stdout)["result"]["agentInfo"]["name"] == "hudkit", done.stderr


def use_mcp(own: Installation) -> None:
    assert own.run("python", ROOT / "examples" / "09_mcp.py").stdout
    own.hudkit("install", "mcp", "--client", "cursor", "--anyway")
    assert (own.home / ".cursor" / "mcp.json").exists()
    own.hudkit("uninstall", "mcp", "--client", "cursor")


def use_hearing(own: Installation) -> None:
    """What no rule knows is heard, as long as it is not turned off."""
    code = (
        "from hudkit import Hud; from hudkit.config import ExtractionSettings, Settings; "
        "text = 'My pupils are in year 4. Can you write a worksheet on volcanoes?'; "
        "message = {'id': 'm1', 'role': 'user', 'text': text, 'time': 1_795_000_000_000}; "
        "settings = Settings(extraction=ExtractionSettings(sentence_model=MODEL)); "
        "session = Hud.in_memory(settings=settings).session('ses_1', project='.'); session.ingest([message]); "
        "print([note.content for note in session.state.notes], [rule.text for rule in session.state.constraints])"
    )
    assert "My pupils are in year 4" in own.run("python", "-c", code.replace("MODEL", "True")).stdout
    assert own.run("python", "-c", code.replace("MODEL", "False")).stdout == "[] []\n"


def use_postgres(own: Installation) -> None:
    """The client's library is there: it asks a server, which is not."""
    done = own.run("hudkit", "log", "--db", NO_SERVER)
    assert done.returncode == 2 and "no answer" in done.stderr, done.stderr
    assert "secret" not in done.stderr


def use_telemetry(own: Installation) -> None:
    code = (
        "from hudkit.agent.telemetry import configured; from hudkit.config import TelemetrySettings; "
        "settings = TelemetrySettings(enabled=True, endpoint='http://127.0.0.1:9'); "
        "print(type(configured(settings)).__name__)"
    )
    assert own.run("python", "-c", code).stdout == "Telemetry\n"


def opens(name: str, options: str) -> Callable[[Installation], None]:
    def use(own: Installation) -> None:
        code = f"from hudkit.models import open_model; print(open_model({name!r}, {options}).name)"
        assert own.run("python", "-c", code).stdout.strip().endswith(name.partition(":")[2])

    return use


def example(name: str) -> Callable[[Installation], None]:
    def use(own: Installation) -> None:
        done = own.run("python", ROOT / "examples" / name)
        assert done.returncode == 0 and "Task" in done.stdout, done.stderr

    return use


USES: dict[str, Callable[[Installation], None]] = {
    "acp": use_acp,
    "bedrock": opens("bedrock:anthropic.claude-sonnet-4-5", "region_name='eu-west-1'"),
    "claude-agent-sdk": example("10_claude_agent_sdk.py"),
    "custom": use_section,
    "google": opens("google:gemini-2.5-pro", "key='k'"),
    "google-adk": example("12_google_adk.py"),
    "hearing": use_hearing,
    "langchain": example("06_langchain.py"),
    "mcp": use_mcp,
    "openai-agents": example("08_openai_agents.py"),
    "postgres": use_postgres,
    "pydantic-ai": example("07_pydantic_ai.py"),
    "session": use_models,
    "telemetry": use_telemetry,
}
"""One real call of what each extra brings."""

MISSING: dict[str, tuple[tuple[str, ...], ...]] = {
    "acp": (("acp",),),
    "custom": (("sections", "try", "section.py"),),
    "mcp": (("mcp",), ("mcp", "--http", "0"), ("install", "mcp", "--client", "cursor", "--anyway")),
    "postgres": (("log", "--db", NO_SERVER), ("verify", "--db", NO_SERVER)),
    "session": (("run", "--model", "openai:gpt-5", "hello"), ("chat", "--model", "anthropic:claude-sonnet-4-5")),
    "telemetry": (("run", "--script", str(SCRIPT), "hello"),),
}
"""Commands that need the extra."""
BRING_IT_TOO = {"acp": ("mcp", "session"), "claude-agent-sdk": ("mcp",), "openai-agents": ("mcp",)}
"""Extras whose packages bring another extra's."""


def what_is_missing_is_said_in_one_line(own: Installation) -> None:
    (own.home / "section.py").write_text("def section():\n    return 0\n")
    (own.home / "config.toml").write_text("[telemetry]\nenabled = true\n")
    for extra, commands in MISSING.items():
        if own.has(extra) or extra in BRING_IT_TOO.get(own.extra, ()):
            continue
        config = str(own.home / ("config.toml" if extra == "telemetry" else "none.toml"))
        (own.home / "none.toml").write_text("")
        for command in commands:
            variables = {"HUDKIT_CONFIG": config, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
            done = own.run("hudkit", *command, **variables)
            assert done.returncode == 2, (command, done)
            lines = done.stderr.splitlines()
            assert len(lines) == 1 and re.search(rf"hudkit\[{extra}\]", lines[0]), (command, done.stderr)


def test_every_extra_has_a_use_here() -> None:
    assert tuple(USES) == SDKS and EXTRAS["all"] == [f"hudkit[{','.join(IN_ALL)}]"]


def test_the_core(install: Callable[[str], Installation]) -> None:
    own = install("")
    every_help(own)
    every_feature_of_the_core(own)
    every_file_is_listed_and_purged(own)
    what_is_missing_is_said_in_one_line(own)


@pytest.mark.parametrize("extra", SDKS)
def test_an_extra_alone(install: Callable[[str], Installation], extra: str) -> None:
    own = install(extra)
    every_help(own)
    USES[extra](own)
    what_is_missing_is_said_in_one_line(own)


def test_all_extras(install: Callable[[str], Installation]) -> None:
    own = install("all")
    every_help(own)
    every_feature_of_the_core(own)
    for extra in IN_ALL:
        USES[extra](own)


def test_the_names_of_extras_that_are_core_now_still_install(install: Callable[[str], Installation]) -> None:
    own = install(",".join(EMPTY))
    assert own.hudkit("--version").startswith("hudkit ")

"""The command line of an installation without any extra, and Ctrl-C while it starts: never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hudkit.cli.commands import COMMANDS
from hudkit.cli.commands.rooms import OPERATIONS

pytestmark = pytest.mark.slow

HELP = [*((name,) for name in COMMANDS), *(("rooms", name) for name in OPERATIONS)]
CLAUDE = "anthropic:claude-sonnet-4-5"

CoreOnly = Callable[..., "subprocess.CompletedProcess[str]"]


def core_requirements(name: str = "hudkit") -> Iterator[metadata.Distribution]:
    """The distributions that hudkit needs without any extra, hudkit itself included."""
    waiting, seen = [name], set[str]()
    while waiting:
        distribution = metadata.distribution(waiting.pop())
        if distribution.name not in seen:
            seen.add(distribution.name)
            yield distribution
            requirements = map(Requirement, distribution.requires or ())
            waiting += [one.name for one in requirements if not one.marker or one.marker.evaluate({"extra": ""})]


@pytest.fixture(scope="session")
def core_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with this checkout and what its core needs.

    Packages are links into the environment that runs the tests: no package index is asked, and it is made in a tenth
    of a second. What is linked is computed from the metadata, so a new dependency of the core needs nothing here.
    """
    folder = tmp_path_factory.mktemp("core") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for distribution in core_requirements():
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            source = Path(str(distribution.locate_file(top)))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    return folder / "bin" / "python"


@pytest.fixture
def core_only(core_python: Path, tmp_path: Path) -> CoreOnly:
    """`core_only("show", "--help")` runs a command line in that environment, in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = ("PATH", "LANG", "TERM", "TMPDIR")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {"HOME": str(home), "HUDKIT_DATA": str(home / "data"), "ANTHROPIC_API_KEY": "sk-none", "COLUMNS": "100"}

    def run(*argv: str) -> object:
        return subprocess.run(
            [core_python, "-m", "hudkit", *argv],
            env=env,
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run  # type: ignore[return-value]


def test_no_extra_is_installed(core_python: Path) -> None:
    packages = {distribution.name.lower() for distribution in core_requirements()}
    assert {"hudkit", "msgspec", "rich", "uvicorn", "toon-format", "genai-prices", "uvloop"} <= packages
    names = ("mcp", "pydantic_ai", "pydantic_monty", "langgraph", "opentelemetry")
    code = f"import importlib.util as u; print([name for name in {names} if u.find_spec(name)])"
    assert subprocess.run([core_python, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_every_help_is_printed_with_an_example(core_only: CoreOnly, words: tuple[str, ...]) -> None:
    done = core_only(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\nexample: hudkit {' '.join(words)}" in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("mcp",), "mcp"),
        (("mcp", "--http", "0"), "mcp"),
        (("run", "--model", CLAUDE, "hello"), "session"),
        (("chat", "--model", CLAUDE), "session"),
        (("sections", "try", "section.py"), "custom"),
        (("install", "mcp", "--client", "cursor", "--anyway"), "mcp"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    core_only: CoreOnly, tmp_path: Path, words: tuple[str, ...], extra: str
) -> None:
    (tmp_path / "home" / "section.py").write_text("def section():\n    return 0\n")
    done = core_only(*words)
    assert done.returncode == 2
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "install" in line or "Traceback" in line]
    assert len(lines) == 1 and f"[{extra}]'" in lines[0], done


INTERRUPTED = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

# As in a terminal: a shell starts background jobs with SIGINT ignored, and these tests may run in one.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["hudkit", "demo"]
runpy.run_module("hudkit", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module", ["hudkit.cli", "argparse", "hudkit.errors", "msgspec", "hudkit.cli.commands.demo", "hudkit.cli.demo"]
)
def test_ctrl_c_while_modules_are_imported(module: str) -> None:
    code = INTERRUPTED.replace("MODULE", repr(module))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")

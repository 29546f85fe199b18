"""How a command line starts: `--help` imports argparse and a few files of ours, and what goes wrong is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli.commands import COMMANDS, build_parser, load_command
from hudkit.cli.commands.rooms import OPERATIONS
from hudkit.cli.demo import ORCHARD_WINDOW, unpack_orchard
from hudkit.cli.parsing import load_run, operation_parsers
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.tokens import shared_counter
from hudkit.transcripts import OpenCodeTranscript

pytestmark = pytest.mark.slow  # each starts a process

COMMAND_LINES = [(name,) for name in COMMANDS] + [("rooms", name) for name in OPERATIONS]
HOUSE = {"hudkit", "hudkit.__main__", "hudkit.cli", "hudkit.cli.commands", "hudkit.cli.parsing", "hudkit.errors"}
LIGHT = {
    "install": {"hudkit.hosts", "hudkit.hosts.mcp", "hudkit.cli.commands.install"},
    "uninstall": {"hudkit.hosts", "hudkit.hosts.mcp", "hudkit.cli.commands.install"},
    "compactions": {"hudkit.hosts", "hudkit.hosts.opencode"},
    "serve": {"hudkit.daemon", "hudkit.daemon.options"},
    "rooms": {"hudkit.rooms", *(f"hudkit.cli.commands.rooms.{name}" for name in OPERATIONS)},
}
"""What the files of single commands import besides: packages that say one constant, and one another."""

IMPORTED = """
import sys
before = set(sys.modules)
from hudkit.__main__ import main
try:
    main()
finally:
    print("MODULES", *sorted(set(sys.modules) - before))
"""


def run_command(*words: str) -> tuple[str, set[str]]:
    """What a command line prints, and the modules that it imports beyond those of the interpreter's own start."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    printed, _, modules = done.stdout.rpartition("MODULES ")
    return printed, set(modules.split())


def modules_of(*words: str) -> set[str]:
    """The modules that a command line imports beyond those of the interpreter's own start."""
    return run_command(*words)[1]


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_help_imports_nothing_but_the_standard_library_and_the_file_of_the_command(words: tuple[str, ...]) -> None:
    imported = modules_of(*words, "--help")
    strangers = {name for name in imported if name.partition(".")[0] not in {"hudkit", *sys.stdlib_module_names}}
    assert strangers == set()
    ours = {name for name in imported if name.partition(".")[0] == "hudkit"}
    own = {f"hudkit.cli.commands.{words[0]}", "hudkit.cli.options", *LIGHT.get(words[0], ())}
    assert ours - HOUSE <= own, f"of ours, too: {ours - HOUSE - own}"
    slow = {"asyncio", "sqlite3", "json", "http.client", "ssl", "urllib.request", "importlib.metadata", "dataclasses"}
    assert not imported & slow


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_what_carries_a_command_out_can_be_imported(words: tuple[str, ...]) -> None:
    parser = build_parser(words[0], load_command(words[0]))
    operations = operation_parsers(parser)
    if operations and len(words) == 1:
        return  # its operations carry it out
    run = (operations[words[1]] if len(words) > 1 else parser).get_default("run")
    assert callable(load_run(run))


VOCABULARY = {"rs_bpe", "bpe_openai"}
"""A tokenizer: to load its vocabulary takes longer than all the rest of a read."""

CUSTOM = {"hudkit.sections.sandboxed.definitions", "hudkit.sections.sandboxed.prepare"}
"""Custom sections, of which most sessions have none."""

WHOLE = {*CUSTOM, *VOCABULARY, "hudkit.api", "hudkit.hud.session_core", "hudkit.compose.builder"}
"""What only a command needs that folds a session or composes a frame."""

NEVER = {
    "hudkit.cli.demo",
    "hudkit.compose.fitting.fitter",
    "hudkit.compose.jsx.reader",
    "hudkit.ingest",
    "_hashlib",
    "asyncio",
    "markdown_it",
    "platformdirs",
    "rich",
    "statistics",
    "tomllib",
}
"""What no reading command needs whose output is piped, where the user has no settings file."""

INTROSPECTION = {"ast", "copy", "dataclasses", "inspect", "tokenize", "typing_extensions"}
"""What comes with dataclasses, and with typing_extensions, of which msgspec makes use where it finds it."""

READS = {
    ("log",): {*WHOLE, "hudkit.sections", "hudkit.tokens"},
    ("show",): {*CUSTOM, *VOCABULARY, "hudkit.tools", "hudkit.transcripts", "hudkit.cli.replays.report"},
    ("show", "--state"): {*CUSTOM, *VOCABULARY, "hudkit.tools", "hudkit.transcripts"},
    ("show", "--window"): {*CUSTOM, *VOCABULARY, "hudkit.tools", "hudkit.transcripts"},
    ("show", "--sessions"): {*WHOLE, "hudkit.context"},
    ("show", "--cache"): {*WHOLE, "hudkit.sections", "hudkit.tools", "hudkit.cli.replays.report", "logging"},
    ("compactions",): {*CUSTOM, *VOCABULARY},
    ("memory", "sessions"): {*CUSTOM, *VOCABULARY},
    ("memory", "search", "tests"): {*CUSTOM, *VOCABULARY},
    ("memory", "summary"): {*CUSTOM, *VOCABULARY},
    ("replay",): {*WHOLE, "hudkit.cli.replays.histories", "concurrent.futures.process", "multiprocessing"},
    ("statusline",): {*WHOLE, "msgspec", "sqlite3"},
    ("verify",): {*WHOLE, "hudkit.tokens"},
    ("config",): {*WHOLE, "hudkit.log", "sqlite3"},
}
"""Reading commands, and what they have no need of. Without a daemon, each is to take at most 0.12 s of a processor
(`python -m bench start`); a package that comes back here is what would make it slower."""


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_a_read_does_not_import_what_writes_parses_or_composes_for_others(
    words: tuple[str, ...], log_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUDKIT_DB", str(log_db))
    transcript = tmp_path / ".claude" / "projects" / "-p" / "session.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text('{"type":"user","sessionId":"s","message":{"role":"user","content":"hello"}}\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    short = words[0] in ("replay", "statusline", "verify")  # their bodies are in the files of the commands
    never = NEVER if short else NEVER | INTROSPECTION
    assert modules_of(*words) & (READS[words] | never) == set()


def test_a_recorded_day_is_shown_without_the_vocabulary_as_it_is_shown_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hudkit.db"
    with OpenCodeTranscript.open(unpack_orchard(tmp_path / "recording")) as transcript:
        write_recorded_log(transcript, path, window=ORCHARD_WINDOW)
    monkeypatch.setenv("HUDKIT_DB", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with Hud.open(path, counter=shared_counter()) as hud:
        for name in hud.log.sessions():
            frame = hud.session(name).whole_frame()
            printed, imported = run_command("show", name)
            assert printed.startswith(frame.text) and f": {frame.tokens} of {frame.budget} tokens" in printed
            assert not VOCABULARY & imported


def test_typing_extensions_can_be_imported_after_msgspec() -> None:
    code = "from hudkit.cli.parsing import load_run; load_run('hudkit.cli.log:run'); import typing_extensions"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_with_a_hud_imports_no_parser_and_no_extraction() -> None:
    code = "import sys; from hudkit import Hud; Hud.in_memory().session('s').frame(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    not_needed = {"markdown_it", "hudkit.ingest", "hudkit.tools", "hudkit.cli", "concurrent.futures", "statistics"}
    assert not (not_needed | {"difflib"}) & set(done.stdout.split())


BROKEN = """
import runpy, sys

class Breaking:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            raise ERROR

sys.meta_path.insert(0, Breaking())
sys.argv = ["hudkit", *WORDS]
runpy.run_module("hudkit", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("module", "error", "words", "said"),
    [
        ("hudkit.cli.show", "PermissionError(13, 'Permission denied', '/x/show.py')", ["show"], "/x/show.py"),
        ("hudkit.cli.commands.show", "OSError(5, 'I/O error', '/x/show.py')", ["show", "--help"], "/x/show.py"),
        ("msgspec", "ModuleNotFoundError('No module', name='msgspec')", ["log"], "msgspec is not installed"),
        ("msgspec", "ImportError('wrong ELF class', name='msgspec')", ["config"], "msgspec cannot be imported"),
        ("uvicorn", "ModuleNotFoundError('No module', name='uvicorn')", ["rooms", "serve"], " install "),
        ("hudkit.cli.show", "KeyboardInterrupt()", ["show"], "stopped"),
    ],
)
def test_an_import_that_fails_is_one_line(module: str, error: str, words: list[str], said: str) -> None:
    code = BROKEN.replace("MODULE", repr(module)).replace("ERROR", error).replace("WORDS", repr(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (130 if said == "stopped" else 2), done.stderr
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import hudkit; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['__future__', 'hudkit']\n"

"""Help and names: the overview in groups, `hudkit help`, nearest names, completion in bash, `hudkit upgrade`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit import __version__
from hudkit.cli.commands import COMMANDS, GROUPS
from hudkit.cli.commands.rooms import OPERATIONS

Run = Callable[..., tuple[int, str, str]]


def test_the_overview_has_every_command_once_in_groups_with_calls_to_begin_with(hudkit: Run) -> None:
    code, out, err = hudkit("--help")
    assert (code, err) == (0, "") and hudkit()[1] == hudkit("help")[1] == hudkit("-h")[1] == out
    listed = [line.split()[0] for line in out.partition("to begin:")[0].splitlines() if line.startswith("    ")]
    assert listed == [name for group in GROUPS.values() for name in group] and sorted(listed) == sorted(COMMANDS)
    for call in (line.split()[1] for line in out.partition("to begin:")[2].splitlines() if line.startswith("    ")):
        assert call in COMMANDS
    assert max(map(len, out.splitlines()[:-1])) <= 100


def test_the_version_has_a_short_option(hudkit: Run) -> None:
    assert hudkit("-V") == hudkit("--version") == (0, f"hudkit {__version__}\n", "")


@pytest.mark.parametrize("words", [("show",), ("rooms",), *(("rooms", name) for name in OPERATIONS)], ids=" ".join)
def test_help_of_a_command_is_that_of_its_option(hudkit: Run, words: tuple[str, ...]) -> None:
    assert hudkit("help", *words) == hudkit(*words, "--help")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("rooms", "shwo"), "there is no 'shwo'. Did you mean 'show'?"),
        (("help", "rooms", "rnu"), "Did you mean 'run'?"),
        (("help", "shwo"), "Did you mean 'show'?"),
        (("memory", "serch", "x"), "Did you mean 'search'?"),
        (("config", "chek"), "Did you mean 'check'?"),
        (("install", "mcp", "--client", "claud"), "Did you mean 'claude-code'?"),
        (("install", "opncode"), "Did you mean 'opencode'?"),
        (("compactions", "sho"), "Did you mean 'show'?"),
        (("rooms", "export", "--format", "jsnl"), "Did you mean 'jsonl'?"),
        (("completion", "powershell"), "It is one of: bash, zsh, fish"),
        (("rooms", "run", "--fst"), "Did you mean '--fast'?"),
        (("--vers",), "Did you mean '--version'?"),
    ],
    ids=" ".join,
)
def test_the_nearest_name_of_operations_and_choices(hudkit: Run, argv: tuple[str, ...], said: str) -> None:
    code, out, err = hudkit(*argv)
    assert (code, out) == (2, "") and said in err


def test_a_type_of_events_that_there_is_not(hudkit: Run, log_db: Path) -> None:
    code, out, err = hudkit("log", "--type", "decison.record", "--db", log_db)
    assert (code, out) == (2, "") and "no event type begins with 'decison.record'. Types: decision.record" in err


@pytest.mark.slow
def test_config_check_names_every_wrong_key_and_every_wrong_value(hudkit: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("budgt = 3\n[memory]\nindx = true\nindex = true\n[pruning]\nenabeld = true\n")
    code, out, _ = hudkit("config", "check", file)
    assert code == 1 and [line.partition(" has no key ")[2] for line in out.splitlines()] == [
        "'budgt'. Did you mean 'budget'?",
        "'indx'. Did you mean 'index'?",
        "'enabeld'. Did you mean 'enabled'?",
    ]
    file.write_text('[memory]\nindex = "yes"\n[pruning]\nenabled = 3\n')
    code, out, _ = hudkit("config", "check", file)
    assert code == 1 and "memory.index is 'yes'" in out and "pruning.enabled is 3" in out
    file.write_text("".join(f"key{number} = 1\n" for number in range(500)))
    assert len(hudkit("config", "check", file)[1].splitlines()) == 20


COMPLETE = r"""
source "$1"
function=$(complete -p hudkit | sed 's/.*-F \([^ ]*\).*/\1/')
while IFS= read -r line; do
    read -ra COMP_WORDS <<< "$line"
    [[ "$line" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
    "$function" hudkit "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    echo "${COMPREPLY[*]}"
done
"""

COMPLETIONS = {
    "hudkit sh": "show",
    "hudkit rooms s": "serve say show",
    "hudkit rooms run --f": "--for --fast",
    "hudkit install mcp --client cu": "cursor",
    "hudkit completion ": "bash zsh fish",
    "hudkit memory se": "sessions search",
    "hudkit verify --db notes": "notes.db",
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_commands_operations_options_choices_and_files(hudkit: Run, tmp_path: Path) -> None:
    code, script, err = hudkit("completion", "bash")
    assert (code, err) == (0, "")
    (tmp_path / "hudkit.bash").write_text(script)
    (tmp_path / "notes.db").touch()
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", "hudkit.bash"],
        input="".join(f"{line}\n" for line in COMPLETIONS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert dict(zip(COMPLETIONS, done.stdout.splitlines(), strict=True)) == COMPLETIONS


@pytest.mark.parametrize(("shell", "says"), [("zsh", "#compdef hudkit"), ("fish", "complete -c hudkit")])
def test_other_shells_get_a_script_that_they_can_read(hudkit: Run, tmp_path: Path, shell: str, says: str) -> None:
    code, script, _ = hudkit("completion", shell)
    assert code == 0 and says in script and "compactions" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], timeout=60, check=True)


def test_upgrade_prints_a_command_and_runs_nothing(hudkit: Run) -> None:
    code, out, err = hudkit("upgrade")
    facts = json.loads(hudkit("upgrade", "--json")[1])
    assert (code, err) == (0, "") and out == f"{facts['command']}\n" and facts["version"] == __version__

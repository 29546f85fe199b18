"""Programs that run other programs: what is behind them in a simple command, as far as it can be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hudkit.agent.commands import DYNAMIC, Script, Simple, bare, read

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "mksh", "busybox", "toybox"})

RUNNERS = frozenset(
    {"command", "builtin", "exec", "env", "nohup", "nice", "ionice", "timeout", "sudo", "doas", "setsid", "stdbuf"}
    | {"xargs", "parallel", "busybox", "toybox", "unbuffer", "fakeroot", "proot", "time", "chronic", "systemd-run"}
)
"""Programs that run the one which their words name, behind options of their own."""

CARRIERS = RUNNERS | frozenset(
    {
        "su",
        "watch",
        "strace",
        "ltrace",
        "gdb",
        "script",
        "chroot",
        "unshare",
        "nsenter",
        "runuser",
        "flock",
        "taskset",
    }
    | {"chrt", "prlimit", "find", "fd", "entr", "ssh", "docker", "podman", "kubectl", "npx", "bunx", "uvx", "pipx"}
    | {"poetry", "uv", "hatch", "tmux", "screen", "at", "batch", "expect", "setarch", "firejail", "bwrap", "ld.so"}
)
"""Programs of which a later word may be a program to run: each rest of their words is looked at."""

MOST_RESTS = 64

_INLINE: Mapping[str, tuple[str, ...]] = {
    "python": ("-c",), "pypy": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",), "lua": ("-e",), "php": ("-r",),
    "node": ("-e", "-p", "--eval", "--print"), "nodejs": ("-e", "-p", "--eval"), "deno": ("eval",),
    "bun": ("-e", "--eval"), "osascript": ("-e",), "R": ("-e",), "vim": ("-c",), "vi": ("-c",), "ex": ("-c",),
    "emacs": ("--eval",), "git": ("-c", "--exec-path", "--config-env"),
}  # fmt: skip
"""Programs with the options behind which a program of theirs stands, or a setting that makes them run one."""

_PROGRAMS = frozenset({"awk", "gawk", "mawk", "tclsh", "ed", "sqlite3", "expect"})
"""Programs whose plain words tell them what to run."""

_NUMBERED = re.compile(r"[\d.]+$")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$")


def _after_env(words: Sequence[str]) -> Sequence[str] | None:
    at = 1
    while at < len(words) and re.match(r"[A-Za-z_]\w*=", words[at]):
        at += 1
    return words[at:]


def _after_timeout(words: Sequence[str]) -> Sequence[str] | None:
    return words[2:] if len(words) > 2 and _DURATION.match(words[1]) else None


_STRIPPED: Mapping[str, Callable[[Sequence[str]], Sequence[str] | None]] = {
    "command": lambda words: words[1:],
    "nohup": lambda words: words[1:],
    "time": lambda words: words[1:],
    "setsid": lambda words: words[1:],
    "nice": lambda words: words[1:],
    "env": _after_env,
    "timeout": _after_timeout,
}
"""Carriers that, used in their plain form, are passed over: what a rule is asked about is the command behind them."""


def opened(script: Script) -> Script:
    """A script with what its shells and carriers run in place of these, where that can be told; doubts elsewhere."""
    found = Script([], list(script.writes), list(script.doubts))
    for simple in script.commands:
        _open(simple, found, 0)
    return found


def _open(simple: Simple, into: Script, depth: int) -> None:
    words = simple.words
    into.doubts += [doubt for doubt in map(_doubtful, simple.assigned) if doubt]
    if not words:
        return
    name = bare(words[0])
    if DYNAMIC in words[0]:
        into.doubts.append("a program's name is not known before it runs")
    strip = _STRIPPED.get(name)
    rest = strip(words) if strip is not None and not any(DYNAMIC in word for word in words[:1]) else None
    if rest and not rest[0].startswith("-") and depth < 8:
        assigned = tuple(words[1 : len(words) - len(rest)]) if name == "env" else ()
        _open(Simple(tuple(rest), assigned), into, depth + 1)
        return
    into.commands.append(simple)
    if name in SHELLS:
        _shell(words, into, depth)
    elif name in _PROGRAMS or _given_program(_NUMBERED.sub("", name), words[1:]):
        into.doubts.append(f"{name} is given a program")


def _shell(words: Sequence[str], into: Script, depth: int) -> None:
    """`sh -c 'text'` is read; a shell that takes its program from a file or from its input is a doubt."""
    for at, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) and at + 1 < len(words):
            text = next((one for one in words[at + 1 :] if not one.startswith(("-", "+"))), "")
            if DYNAMIC in text or depth >= 8:
                into.doubts.append("a shell's program is not known before it runs")
                return
            inner = read(text)
            into.writes += inner.writes
            into.doubts += inner.doubts
            for simple in inner.commands:
                _open(simple, into, depth + 1)
            return
    into.doubts.append("a shell takes its program from elsewhere")


def _given_program(name: str, words: Sequence[str]) -> bool:
    """Whether an option (also one in a cluster, or with its value: `-Ic`, `-e'…'`) gives a program to run.

    An interpreter that is given none reads it from its input.
    """
    options = _INLINE.get(name)
    if options is None:
        return False
    if any(word.split("=", 1)[0] in options for word in words):
        return True
    if name == "git":
        return False
    letters = {option[1] for option in options if re.fullmatch(r"-[a-zA-Z]", option)}
    short = (word for word in words if re.match(r"-[A-Za-z]", word))
    return any(letter in word for word in short for letter in letters) or not words or words[-1] == "-"


_RISKY = re.compile(
    r"(?:PATH|LD_\w*|DYLD_\w*|BASH_ENV|ENV|IFS|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|SHELL|HOME|CDPATH|GLOBIGNORE|"
    r"EDITOR|VISUAL|\w*PAGER|LESSOPEN|LESSCLOSE|BROWSER|GIT_\w*|PYTHON\w*|NODE_\w*|NPM_\w*|PERL\w*|RUBY\w*|JAVA_\w*|"
    r"_JAVA\w*|MAVEN_\w*|GRADLE_\w*|CC|CXX|MAKEFLAGS|RUSTC\w*|CARGO_\w*|GOFLAGS|PIP_\w*|UV_\w*|SSH_\w*|TAR_OPTIONS|"
    r"RSYNC_\w*|BASH_FUNC\w*|XDG_\w*|TMPDIR)\+?="
)
"""Variables that make a program run another, or another program be the one that is named."""


def _doubtful(assigned: str) -> str:
    name = assigned.split("=", 1)[0]
    return f"{name} may change what runs" if _RISKY.match(assigned) or "[" in name else ""


def rests(simple: Simple) -> Iterator[tuple[str, ...]]:
    """What a command may run besides what its first words say: behind a carrier, or behind options."""
    words = simple.words
    name = bare(words[0]) if words else ""
    if name in CARRIERS:
        for at in range(1, min(len(words), MOST_RESTS)):
            rest = words[at:]
            yield (bare(rest[0]), *rest[1:])
            if " " in rest[0]:  # a whole command in one word, as for `watch` or `ssh`
                for one in read(rest[0]).commands:
                    if one.words:
                        yield (bare(one.words[0]), *one.words[1:])
    if len(words) > 1 and words[1].startswith("-"):  # `git -C . push`
        for at in range(2, min(len(words), MOST_RESTS)):
            yield (name, *words[at:])

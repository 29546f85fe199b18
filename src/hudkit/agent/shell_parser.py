"""Reading a shell command for permissions: every simple command that it would run, and what cannot be told.

One pass cuts the text as a shell does, into words, operators and redirections, without running anything. Words whose
value is known only when the command runs hold `DYNAMIC`. Substitutions are read like commands of their own:

    cd $DIR && make "all" > out.txt; echo $(git log)
      commands  (cd, DYNAMIC)   (make, all)   (git, log)   (echo, DYNAMIC)
      writes    out.txt
      doubts    none

What this reader cannot follow (an unclosed quote, a function, a shell that reads its program from elsewhere) is a
doubt: with one, nothing is allowed by a rule for particular commands. It errs to that side only: what it takes for
plain is plain to bash too.

Then programs that run other programs are opened: `env A=1 nice make` is `make`, `bash -c 'rm x'` is `rm x` as well.
Of those of which only the program itself knows what it runs (`xargs`, `ssh`, `find`), each rest of the words may be a
command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

DYNAMIC = "\x00"
"""Stands in a word for what is not known before the command runs."""

_MAX_COMMAND = 20_000
_MAX_DEPTH = 8

_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&", ";", "|", "\n", "(", ")")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(&>>|&>|>>|>\||>&|<<<|<<-|<<|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_PARAMETER = re.compile(r"\$(?:\w|[@*#?$!-])")

_OPENING_WORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_CLOSING_WORDS = frozenset({"fi", "done", "esac", "}"})
_DOUBTED_WORDS = frozenset({"case", "select", "function", "coproc", "alias", "eval", "source", ".", "trap", "enable"})
"""Words that make a shell do what is written elsewhere, or later, or otherwise than it is written."""

_SAFE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class SimpleCommand(msgspec.Struct, frozen=True):
    """One simple command: its words, and the assignments before it (`NAME=value`)."""

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()

    @property
    def dynamic(self) -> bool:
        """Return whether a part of the command is known only when it runs."""
        return any(DYNAMIC in word for word in self.words)


class _ParsedScript(msgspec.Struct):
    """What a command comes to: its simple commands, the files that it writes by redirection, and the doubts."""

    commands: list[SimpleCommand] = []
    writes: list[str] = []
    doubts: list[str] = []


def parse_script(command: str) -> _ParsedScript:
    """Read a whole command, with what is substituted in it, and return what it comes to. Never raises."""
    script = _ParsedScript()
    _parse_into(command, script, 0)
    return script


def _parse_into(command: str, script: _ParsedScript, depth: int) -> None:
    if depth > _MAX_DEPTH:
        script.doubts.append("it is nested too deep")
        return
    if len(command) > _MAX_COMMAND:
        script.doubts.append(f"it has more than {_MAX_COMMAND:,} characters")
    if any(ord(char) < 32 and char not in "\t\n" for char in command):
        script.doubts.append("it has control characters")
    # a NUL is our own mark for what is not known: none may come in from outside
    reader = _ScriptReader(command[:_MAX_COMMAND].replace("\x00", " "), script, depth)
    reader.run()


class _ScriptReader:
    """One pass over a text: words are gathered into simple commands; substitutions have readers of their own."""

    def __init__(self, text: str, script: _ParsedScript, depth: int) -> None:
        self.text = text
        self.script = script
        self.depth = depth
        self.at = 0
        self.words: list[str] = []
        self.quoted: list[bool] = []
        self.heredocs: list[tuple[str, bool, bool]] = []

    def run(self) -> None:
        """Read the whole text into the script; return nothing."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            # at the beginning of a word only: words are read whole below
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self._process() or self._redirect():
                continue
            elif (
                operator := next(
                    (candidate for candidate in _OPERATORS if self.text.startswith(candidate, self.at)), ""
                )
            ) != "":
                self._operator(operator)
            else:
                word, quoted = self._word()
                self.words.append(word)
                self.quoted.append(quoted)
        self._end()
        if self.heredocs:
            self.script.doubts.append("a here-document has no text")

    def _operator(self, operator: str) -> None:
        if operator == "(" and self.text.startswith("((", self.at):
            self.script.doubts.append("it has arithmetic")
        if operator == "(" and self.words:
            self.script.doubts.append("it has a function, an array or a pattern")
        self._end()
        self.at += len(operator)
        if operator == "\n":
            self._bodies()

    def _end(self) -> None:
        """Close a simple command: drop the words of the shell's own grammar, keep assignments apart."""
        words, quoted = self.words, self.quoted
        self.words, self.quoted = [], []
        # quoted, `"if"` is a program of that name
        while words and not quoted[0] and words[0] in _OPENING_WORDS | _CLOSING_WORDS:
            timed = words[0] == "time"
            words, quoted = words[1:], quoted[1:]
            while timed and words and words[0] in ("-p", "--"):
                words, quoted = words[1:], quoted[1:]
        if words and not quoted[0] and words[0] == "for":  # its words are no command; the body follows behind `do`
            return
        assigned = []
        while words and _ASSIGNMENT.match(words[0]):
            assigned.append(words[0])
            words = words[1:]
        if words or assigned:
            if words and words[0] in _DOUBTED_WORDS:
                self.script.doubts.append(f"{words[0]} is not followed")
            self.script.commands.append(SimpleCommand(tuple(words), tuple(assigned)))

    def _process(self) -> bool:
        """Read `<(…)` or `>(…)`, a word that is not known, and commands; return whether there was one."""
        if self.text[self.at : self.at + 2] not in ("<(", ">("):
            return False
        self.at += 2
        self._nested(self._closed(")"))
        self.words.append(DYNAMIC)
        self.quoted.append(True)
        return True

    def _redirect(self) -> bool:
        """Read a redirection with its target; return whether there was one."""
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        if match[1] in ("<<", "<<-"):
            start = self.at
            word, _ = self._word()
            self.heredocs.append(
                (word, match[1] == "<<-", any(mark in self.text[start : self.at] for mark in "'\"\\"))
            )
            return True
        if self.text[self.at : self.at + 2] in ("<(", ">("):
            self._process()
            self.words.pop()
            self.quoted.pop()
            return True
        target, _ = self._word()
        # `2>&1` names a descriptor and writes no file
        duplicates = match[1] in (">&", "<&") and re.fullmatch(r"\d+-?|-", target)
        if ">" in match[1] and not duplicates and target not in _SAFE_TARGETS:
            if DYNAMIC in target or not target:
                self.script.doubts.append("it writes to a file that is not known before it runs")
            else:
                self.script.writes.append(target)
        return True

    def _bodies(self) -> None:
        """Pass over the texts of here-documents; unless its word was quoted, a text is expanded."""
        for word, stripped, quoted in self.heredocs:
            lines = []
            while True:
                end = self.text.find("\n", self.at)
                line = self.text[self.at :] if end < 0 else self.text[self.at : end]
                if self.at >= len(self.text):
                    self.script.doubts.append("a here-document has no end")
                    break
                self.at = len(self.text) if end < 0 else end + 1
                if (line.lstrip("\t") if stripped else line) == word:
                    break
                lines.append(line)
            if not quoted:
                inner = _ScriptReader("\n".join(lines), self.script, self.depth)
                while inner.at < len(inner.text):
                    inner._piece(in_quotes=True)
        self.heredocs = []

    def _word(self) -> tuple[str, bool]:
        """Return the next word without its quotes, and whether any of it was quoted."""
        pieces: list[str] = []
        quoted = False
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|()<>":
            char = self.text[self.at]
            if char == "'":
                quoted = True
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    self.script.doubts.append("a quote is not closed")
                    end = len(self.text)
                pieces.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                quoted = True
                self.at += 1
                while self.at < len(self.text) and self.text[self.at] != '"':
                    pieces.append(self._piece(in_quotes=True))
                if self.at >= len(self.text):
                    self.script.doubts.append("a quote is not closed")
                self.at += 1
            elif (
                char in "*?["
                or (char == "~" and self.at == begin)
                or re.match(r"\{[^\s;&|()<>]", self.text[self.at : self.at + 2])
            ):
                pieces.append(DYNAMIC)
                self.at += 1
            else:
                piece = self._piece(in_quotes=False)
                quoted = quoted or char == "\\"
                pieces.append(piece)
        if self.at == begin:  # an operator where a word should be
            self.script.doubts.append("a word is missing")
            self.at += self.at < len(self.text) and self.text[self.at] in "<>"
        return "".join(pieces), quoted

    def _piece(self, *, in_quotes: bool) -> str:
        """Return one character of a word, or what stands for one expansion."""
        char = self.text[self.at]
        if char == "\\":
            follower = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            if follower == "\n":  # a line that is continued: both characters vanish
                return ""
            return follower if not in_quotes or follower in '$`"\\' else "\\" + follower
        if char == "`":
            return self._backquoted()
        if char == "$":
            return self._dollar(in_quotes=in_quotes)
        self.at += 1
        return char

    def _backquoted(self) -> str:
        """Read a substitution between backquotes, and return what stands for it."""
        start = self.at + 1
        end = self._quote_end(start, "`", "a backquote is not closed")
        # within backquotes these three lose their backslash before the text is read
        self._nested(re.sub(r"\\([$`\\])", r"\1", self.text[start:end]))
        return DYNAMIC

    def _dollar(self, *, in_quotes: bool) -> str:
        """Read what a dollar begins, and return what stands for it: the dollar itself, where it begins nothing."""
        text, start = self.text, self.at
        # the longer openers first: `$((` begins with `$(`
        if text.startswith("$((", start):
            self.at += 3
            inner = self._closed(")")
            self.at += self.at < len(text) and text[self.at] == ")"
            self._expansions(inner)
            return DYNAMIC
        if text.startswith("$(", start):
            self.at += 2
            self._nested(self._closed(")"))
            return DYNAMIC
        for opener, closer in (("${", "}"), ("$[", "]")):
            if text.startswith(opener, start):
                self.at += 2
                self._expansions(self._closed(closer))
                return DYNAMIC
        if not in_quotes and text[start + 1 : start + 2] == "'":
            self._quote_end(start + 2, "'", "a quote is not closed")
            return DYNAMIC  # `$'…'`: its escapes could spell anything
        if _PARAMETER.match(text, start) is None:
            self.at += 1
            # `$"…"` is a quoted text to be translated: the dollar vanishes
            return "" if not in_quotes and text[start + 1 : start + 2] == '"' else "$"
        name = re.match(r"\w+", text[start + 1 :])
        # `$1a` is the first argument and an a: a name that begins with a digit is one character long
        self.at = start + 1 + (len(name[0]) if name and not name[0][0].isdigit() else 1)
        return DYNAMIC

    def _quote_end(self, start: int, closer: str, doubt: str) -> int:
        """Return where a quote that begins at `start` ends, over escaped characters, and go behind it."""
        end = start
        while end < len(self.text) and self.text[end] != closer:
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.script.doubts.append(doubt)
        self.at = end + 1
        return end

    def _closed(self, closer: str) -> str:
        """Return the text up to a closer, over what is nested or quoted on the way, and go behind the closer."""
        opener = {")": "(", "}": "{", "]": "["}[closer]
        start, level = self.at, 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 1
            elif char == "'" or char == "`":
                end = self.text.find(char, self.at + 1)
                self.at = len(self.text) if end < 0 else end
            elif char == '"':
                self.at += 1
                while self.at < len(self.text) and self.text[self.at] != '"':
                    if self.text.startswith("$(", self.at):
                        self.at += 2
                        self._closed(")")
                        continue
                    self.at += 2 if self.text[self.at] == "\\" else 1
            elif char == opener:
                level += 1
            elif char == closer:
                level -= 1
                if level == 0:
                    self.at += 1
                    return self.text[start : self.at - 1]
            self.at += 1
        self.script.doubts.append(f"a {opener} is not closed")
        return self.text[start:]

    def _nested(self, inner: str) -> None:
        _parse_into(inner, self.script, self.depth + 1)

    def _expansions(self, inner: str) -> None:
        """Read what is substituted in an arithmetic or a parameter's expansion."""
        if self.depth >= _MAX_DEPTH:
            self.script.doubts.append("it is nested too deep")
            return
        # `${x@P}` expands its value as a prompt, with commands in it
        if "@" in inner and re.search(r"@[A-Za-z]$", inner):
            self.script.doubts.append("an expansion is evaluated")
        reader = _ScriptReader(inner, self.script, self.depth + 1)
        while reader.at < len(inner):
            reader._piece(in_quotes=True)


def program_name(program: str) -> str:
    """Return a program's name without its directory."""
    return program.rsplit("/", 1)[-1]


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "mksh", "busybox", "toybox"})

RUNNER_PROGRAMS = frozenset(
    {"command", "builtin", "exec", "env", "nohup", "nice", "ionice", "timeout", "sudo", "doas", "setsid", "stdbuf"}
    | {"xargs", "parallel", "busybox", "toybox", "unbuffer", "fakeroot", "proot", "time", "chronic", "systemd-run"}
)
"""Programs that run the one which their words name, behind options of their own."""


_INLINE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "python": ("-c",), "pypy": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",), "lua": ("-e",), "php": ("-r",),
    "node": ("-e", "-p", "--eval", "--print"), "nodejs": ("-e", "-p", "--eval"), "deno": ("eval",),
    "bun": ("-e", "--eval"), "osascript": ("-e",), "R": ("-e",), "vim": ("-c",), "vi": ("-c",), "ex": ("-c",),
    "emacs": ("--eval",), "git": ("-c", "--exec-path", "--config-env"),
}  # fmt: skip
"""Programs with the options behind which a program of theirs stands, or a setting that makes them run one."""

_SELF_PROGRAMMED = frozenset({"awk", "gawk", "mawk", "tclsh", "ed", "sqlite3", "expect"})
"""Programs whose plain words tell them what to run."""

_NUMBERED = re.compile(r"[\d.]+$")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$")


def _after_env(words: Sequence[str]) -> Sequence[str] | None:
    index = 1
    while index < len(words) and re.match(r"[A-Za-z_]\w*=", words[index]):
        index += 1
    return words[index:]


def _after_timeout(words: Sequence[str]) -> Sequence[str] | None:
    return words[2:] if len(words) > 2 and _DURATION.match(words[1]) else None


_PLAIN_RUNNERS: Mapping[str, Callable[[Sequence[str]], Sequence[str] | None]] = {
    "command": lambda words: words[1:],
    "nohup": lambda words: words[1:],
    "time": lambda words: words[1:],
    "setsid": lambda words: words[1:],
    "nice": lambda words: words[1:],
    "env": _after_env,
    "timeout": _after_timeout,
}
"""Carriers that, used in their plain form, are passed over: what a rule is asked about is the command behind them."""


def unwrap_script(script: _ParsedScript) -> _ParsedScript:
    """Return a script with what its shells and carriers run in place of these; doubts where that is not known."""
    unwrapped = _ParsedScript([], list(script.writes), list(script.doubts))
    for simple in script.commands:
        _unwrap(simple, unwrapped, 0)
    return unwrapped


def _unwrap(simple: SimpleCommand, into: _ParsedScript, depth: int) -> None:
    words = simple.words
    into.doubts += [doubt for doubt in map(_assignment_doubt, simple.assigned) if doubt]
    if not words:
        return
    name = program_name(words[0])
    if DYNAMIC in words[0]:
        into.doubts.append("a program's name is not known before it runs")
    strip = _PLAIN_RUNNERS.get(name)
    rest = strip(words) if strip is not None and not any(DYNAMIC in word for word in words[:1]) else None
    if rest and not rest[0].startswith("-") and depth < 8:
        assigned = tuple(words[1 : len(words) - len(rest)]) if name == "env" else ()
        _unwrap(SimpleCommand(tuple(rest), assigned), into, depth + 1)
        return
    # kept beside what it carries: a rule may be about the carrier itself
    into.commands.append(simple)
    if name in _SHELLS:
        _unwrap_shell(words, into, depth)
    # `python3.12` is `python`
    elif name in _SELF_PROGRAMMED or _has_inline_program(_NUMBERED.sub("", name), words[1:]):
        into.doubts.append(f"{name} is given a program")


def _unwrap_shell(words: Sequence[str], into: _ParsedScript, depth: int) -> None:
    """Read the text of `sh -c 'text'`; a shell that takes its program from a file or from its input is a doubt."""
    for index, word in enumerate(words[1:], 1):
        # also in a cluster: `-lc`
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) and index + 1 < len(words):
            # options may stand between `-c` and its text
            text = next((argument for argument in words[index + 1 :] if not argument.startswith(("-", "+"))), "")
            if DYNAMIC in text or depth >= 8:
                into.doubts.append("a shell's program is not known before it runs")
                return
            inner = parse_script(text)
            into.writes += inner.writes
            into.doubts += inner.doubts
            for simple in inner.commands:
                _unwrap(simple, into, depth + 1)
            return
    into.doubts.append("a shell takes its program from elsewhere")


def _has_inline_program(name: str, words: Sequence[str]) -> bool:
    """Return whether an option (also one in a cluster, or with its value: `-Ic`, `-e'…'`) gives a program to run.

    An interpreter that is given none reads it from its input.
    """
    options = _INLINE_OPTIONS.get(name)
    if options is None:
        return False
    if any(word.split("=", 1)[0] in options for word in words):
        return True
    # its other options carry no program; `-c` and its kind were looked at above
    if name == "git":
        return False
    letters = {option[1] for option in options if re.fullmatch(r"-[a-zA-Z]", option)}
    short = (word for word in words if re.match(r"-[A-Za-z]", word))
    return any(letter in word for word in short for letter in letters) or not words or words[-1] == "-"


_RISKY_VARIABLE = re.compile(
    r"(?:PATH|LD_\w*|DYLD_\w*|BASH_ENV|ENV|IFS|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|SHELL|HOME|CDPATH|GLOBIGNORE|"
    r"EDITOR|VISUAL|\w*PAGER|LESSOPEN|LESSCLOSE|BROWSER|GIT_\w*|PYTHON\w*|NODE_\w*|NPM_\w*|PERL\w*|RUBY\w*|JAVA_\w*|"
    r"_JAVA\w*|MAVEN_\w*|GRADLE_\w*|CC|CXX|MAKEFLAGS|RUSTC\w*|CARGO_\w*|GOFLAGS|PIP_\w*|UV_\w*|SSH_\w*|TAR_OPTIONS|"
    r"RSYNC_\w*|BASH_FUNC\w*|XDG_\w*|TMPDIR)\+?="
)
"""Variables that make a program run another, or another program be the one that is named."""


def _assignment_doubt(assigned: str) -> str:
    name = assigned.split("=", 1)[0]
    return f"{name} may change what runs" if _RISKY_VARIABLE.match(assigned) or "[" in name else ""

"""Reading a shell command for permissions: every simple command that it would run, and what cannot be told.

Words whose value is known only when the command runs hold `DYNAMIC`. What this reader cannot follow (an unclosed
quote, a function, a shell that reads its program from elsewhere) is a `doubt`: with one, nothing is allowed by a
rule for particular commands. It errs to that side only: what it takes for plain is plain to bash too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

DYNAMIC = "\x00"
"""Stands in a word for what is not known before the command runs."""

MOST_COMMAND = 20_000
MOST_DEPTH = 8

_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&", ";", "|", "\n", "(", ")")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(&>>|&>|>>|>\||>&|<<<|<<-|<<|<&|<>|>|<)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_SPECIAL = re.compile(r"\$(?:\w|[@*#?$!-])")

OPENERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
CLOSERS = frozenset({"fi", "done", "esac", "}"})
DOUBTED = frozenset({"case", "select", "function", "coproc", "alias", "eval", "source", ".", "trap", "enable"})
"""Words that make a shell do what is written elsewhere, or later, or otherwise than it is written."""

SAFE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class Simple(msgspec.Struct, frozen=True):
    """One simple command: its words, and the assignments before it (`NAME=value`)."""

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()

    @property
    def dynamic(self) -> bool:
        return any(DYNAMIC in word for word in self.words)


class Script(msgspec.Struct):
    """What a command comes to: its simple commands, the files that it writes by redirection, and the doubts."""

    commands: list[Simple] = []
    writes: list[str] = []
    doubts: list[str] = []


def read(command: str) -> Script:
    """Read a whole command, with what is substituted in it. Never raises."""
    script = Script()
    _read(command, script, 0)
    return script


def _read(command: str, script: Script, depth: int) -> None:
    if depth > MOST_DEPTH:
        script.doubts.append("it is nested too deep")
        return
    if len(command) > MOST_COMMAND:
        script.doubts.append(f"it has more than {MOST_COMMAND:,} characters")
    if any(ord(char) < 32 and char not in "\t\n" for char in command):
        script.doubts.append("it has control characters")
    reader = _Reader(command[:MOST_COMMAND].replace("\x00", " "), script, depth)
    reader.run()


class _Reader:
    """One pass over a text: words are gathered into simple commands; substitutions have readers of their own."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text = text
        self.script = script
        self.depth = depth
        self.at = 0
        self.words: list[str] = []
        self.quoted: list[bool] = []
        self.heredocs: list[tuple[str, bool, bool]] = []

    def run(self) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self._process() or self._redirect():
                continue
            elif (operator := next((one for one in _OPERATORS if self.text.startswith(one, self.at)), "")) != "":
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
        """Close a simple command."""
        words, quoted = self.words, self.quoted
        self.words, self.quoted = [], []
        while words and not quoted[0] and words[0] in OPENERS | CLOSERS:
            timed = words[0] == "time"
            words, quoted = words[1:], quoted[1:]
            while timed and words and words[0] in ("-p", "--"):
                words, quoted = words[1:], quoted[1:]
        if words and not quoted[0] and words[0] == "for":  # its words are no command; the body follows behind `do`
            return
        assigned = []
        while words and _NAME.match(words[0]):
            assigned.append(words[0])
            words = words[1:]
        if words or assigned:
            if words and words[0] in DOUBTED:
                self.script.doubts.append(f"{words[0]} is not followed")
            self.script.commands.append(Simple(tuple(words), tuple(assigned)))

    def _process(self) -> bool:
        """`<(…)` and `>(…)`: a word that is not known, and commands."""
        if self.text[self.at : self.at + 2] not in ("<(", ">("):
            return False
        self.at += 2
        self._nested(self._closed(")"))
        self.words.append(DYNAMIC)
        self.quoted.append(True)
        return True

    def _redirect(self) -> bool:
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        if match[1] in ("<<", "<<-"):
            start = self.at
            word, _ = self._word()
            self.heredocs.append((word, match[1] == "<<-", any(one in self.text[start : self.at] for one in "'\"\\")))
            return True
        if self.text[self.at : self.at + 2] in ("<(", ">("):
            self._process()
            self.words.pop()
            self.quoted.pop()
            return True
        target, _ = self._word()
        duplicates = match[1] in (">&", "<&") and re.fullmatch(r"\d+-?|-", target)
        if ">" in match[1] and not duplicates and target not in SAFE_TARGETS:
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
                inner = _Reader("\n".join(lines), self.script, self.depth)
                while inner.at < len(inner.text):
                    inner._piece(in_quotes=True)
        self.heredocs = []

    def _word(self) -> tuple[str, bool]:
        """The next word, without its quotes; whether any of it was quoted."""
        found: list[str] = []
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
                found.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                quoted = True
                self.at += 1
                while self.at < len(self.text) and self.text[self.at] != '"':
                    found.append(self._piece(in_quotes=True))
                if self.at >= len(self.text):
                    self.script.doubts.append("a quote is not closed")
                self.at += 1
            elif (
                char in "*?["
                or (char == "~" and self.at == begin)
                or re.match(r"\{[^\s;&|()<>]", self.text[self.at : self.at + 2])
            ):
                found.append(DYNAMIC)
                self.at += 1
            else:
                piece = self._piece(in_quotes=False)
                quoted = quoted or char == "\\"
                found.append(piece)
        if self.at == begin:  # an operator where a word should be
            self.script.doubts.append("a word is missing")
            self.at += self.at < len(self.text) and self.text[self.at] in "<>"
        return "".join(found), quoted

    def _piece(self, *, in_quotes: bool) -> str:
        """One character of a word, or one expansion."""
        text, at = self.text, self.at
        char = text[at]
        if char == "\\":
            follower = text[at + 1 : at + 2]
            self.at += 2
            if follower == "\n":
                return ""
            return follower if not in_quotes or follower in '$`"\\' else "\\" + follower
        if char == "`":
            end = at + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                self.script.doubts.append("a backquote is not closed")
            inner = re.sub(r"\\([$`\\])", r"\1", text[at + 1 : end])
            self.at = end + 1
            self._nested(inner)
            return DYNAMIC
        if char != "$":
            self.at += 1
            return char
        if text.startswith("$((", at):
            self.at += 3
            inner = self._closed(")")
            self.at += self.at < len(text) and text[self.at] == ")"
            self._expansions(inner)
            return DYNAMIC
        if text.startswith("$(", at):
            self.at += 2
            self._nested(self._closed(")"))
            return DYNAMIC
        if text.startswith("${", at):
            self.at += 2
            self._expansions(self._closed("}"))
            return DYNAMIC
        if text.startswith("$[", at):
            self.at += 2
            self._expansions(self._closed("]"))
            return DYNAMIC
        if not in_quotes and text[at + 1 : at + 2] == "'":
            end = at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                self.script.doubts.append("a quote is not closed")
            self.at = end + 1
            return DYNAMIC  # its escapes could spell anything
        match = _SPECIAL.match(text, at)
        if match is None:
            self.at += 1
            return "" if not in_quotes and text[at + 1 : at + 2] == '"' else "$"
        name = re.match(r"\w+", text[at + 1 :])
        self.at = at + 1 + (len(name[0]) if name and not name[0][0].isdigit() else 1)
        return DYNAMIC

    def _closed(self, closer: str) -> str:
        """The text up to a closer, over what is nested or quoted on the way; the place is behind the closer then."""
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
        _read(inner, self.script, self.depth + 1)

    def _expansions(self, inner: str) -> None:
        """Read what is substituted in an arithmetic or a parameter's expansion."""
        if self.depth >= MOST_DEPTH:
            self.script.doubts.append("it is nested too deep")
            return
        if "@" in inner and re.search(r"@[A-Za-z]$", inner):
            self.script.doubts.append("an expansion is evaluated")
        reader = _Reader(inner, self.script, self.depth + 1)
        while reader.at < len(inner):
            reader._piece(in_quotes=True)


def texts(simple: Simple) -> Iterator[tuple[str, ...]]:
    """The words of a command as rules may name it: as it is, and with the bare name of its program."""
    yield simple.words
    name = bare(simple.words[0]) if simple.words else ""
    if name and name != simple.words[0]:
        yield (name, *simple.words[1:])


def line(words: Sequence[str]) -> str:
    """Words as the text that patterns are compared with; a word with white space in it stands in quotes."""
    return " ".join(f"'{word}'" if not word or any(char.isspace() for char in word) else word for word in words)


def bare(program: str) -> str:
    """A program's name without its directory."""
    return program.rsplit("/", 1)[-1]

"""Reading a shell command for permissions: every simple command that it would run, and what cannot be told.

One pass cuts the text as a shell does, into words, operators and redirections, without running anything. Words whose
value is known only when the command runs hold `DYNAMIC`. Substitutions are read like commands of their own:

    cd $DIR && make "all" > out.txt; echo $(git log)
      commands  (cd, DYNAMIC)   (make, all)   (git, log)   (echo, DYNAMIC)
      writes    out.txt
      doubts    none

Only what is plain is taken for plain: `${x:-word}` is read, `${x:y}` and `${!x}` are doubts, because there a shell
evaluates what a variable holds, and commands in it. The same holds for arithmetic with anything but numbers. With a
doubt, nothing is allowed by a rule for particular commands; what could be read is judged all the same, so that a
denied command is found.
"""

from __future__ import annotations

import re

import msgspec

DYNAMIC = "\x00"
"""Stands in a word for what is not known before the command runs."""

_MAX_COMMAND = 20_000
_MAX_DEPTH = 8

_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&", ";", "|", "\n", "(", ")")
_REDIRECT = re.compile(r"(&>>|&>)|(?:\d+|\{(\w+)\})?(>>|>\||[<>]&-|>&|<<<|<<-|<<|<&|<>|>|<)", re.ASCII)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[\d@*#?$!-])", re.ASCII)
_LITERAL_BRACES = re.compile(r"\{[\w-]*\}", re.ASCII)
"""Braces without a comma or two dots stay as they are: `HEAD@{1}`, the `{}` of `find`."""

_LONE_BRACKET = re.compile(r"(?:\[\[?|\{)(?=[\s;&|()<>]|$)")
"""The programs `[` and `[[`, and a brace by itself."""

_BRACED = re.compile(r"(?P<name>#?[A-Za-z_]\w*|#?\d+|[@*#?$-])(?:\[[@*]\])?", re.ASCII)
_SLICE = re.compile(r":(?: *\d+| +-\d+)(?:: *-?\d+)?(?=\})", re.ASCII)
"""A slice between numbers. Between anything else it is arithmetic, which evaluates what variables hold."""

_BRACED_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?")
_ARITHMETIC = frozenset("0123456789 \t+-*/%<>=!&|^~?:,()")
"""What arithmetic may be made of: a name would be evaluated, and what it holds as well, with commands in it."""

_OPENING_WORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_CLOSING_WORDS = frozenset({"fi", "done", "esac", "}"})
_DOUBTED_WORDS = frozenset({"case", "select", "function", "coproc"})
"""Words of the grammar behind which this reader does not follow."""

_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})

_GLUED_LINES = re.compile(r"[^ \t\n]\\\n")
"""A line that is continued within a word or an operator: bash joins them before it looks for either."""

_SAFE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class SimpleCommand(msgspec.Struct, frozen=True):
    """One simple command: its words, and the assignments before it (`NAME=value`)."""

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()

    @property
    def dynamic(self) -> bool:
        """Return whether a part of the command is known only when it runs."""
        return any(DYNAMIC in word for word in self.words)


class ParsedScript(msgspec.Struct):
    """What a command comes to: its simple commands, the files that it writes by redirection, and the doubts."""

    commands: list[SimpleCommand] = []
    writes: list[str] = []
    doubts: list[str] = []


class _Word(msgspec.Struct, frozen=True):
    """A word without its quotes; `quoted`: it had some; `assigns`: as it is written, it is `NAME=value` to bash."""

    text: str
    quoted: bool = True
    assigns: bool = False


def parse_script(command: str) -> ParsedScript:
    """Read a whole command, with what is substituted in it, and return what it comes to. Never raises."""
    script = ParsedScript()
    _parse_into(command, script, 0)
    return script


def _parse_into(command: str, script: ParsedScript, depth: int) -> None:
    if depth > _MAX_DEPTH:
        script.doubts.append("it is nested too deep")
        return
    if len(command) > _MAX_COMMAND:
        script.doubts.append(f"it has more than {_MAX_COMMAND:,} characters")
    if any(ord(char) < 32 and char not in "\t\n" for char in command):
        script.doubts.append("it has control characters")
    # in some locales a shell takes them for blanks
    if any(ord(char) > 126 and (char.isspace() or not char.isprintable()) for char in command):
        script.doubts.append("it has invisible characters")
    if _GLUED_LINES.search(command):
        script.doubts.append("a line is continued within a word")
    # a NUL is our own mark for what is not known: none may come in from outside
    _ScriptReader(command[:_MAX_COMMAND].replace("\x00", " "), script, depth).run()


class _ScriptReader:
    """One pass over a text: words are gathered into simple commands; substitutions have readers of their own.

    A reader of `$(…)` begins behind the parenthesis and ends at its partner (`inner`), as bash does: quotes, comments
    and here-documents in between are read by the rules of commands.
    """

    def __init__(self, text: str, script: ParsedScript, depth: int, start: int = 0, *, inner: bool = False) -> None:
        self.text = text
        self.script = script
        self.depth = depth
        self.at = start
        self.inner = inner
        self.open = 0
        self.words: list[_Word] = []
        self.heredocs: list[tuple[str, bool, bool]] = []
        self.redirected = False

    def run(self) -> None:
        """Read the whole text into the script, or up to the parenthesis that closes it; return nothing."""
        closed = False
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
            elif char == ")" and self.inner and not self.open:
                self.at += 1
                closed = True
                break
            elif self._process() or self._redirect():
                continue
            elif (
                operator := next(
                    (candidate for candidate in _OPERATORS if self.text.startswith(candidate, self.at)), ""
                )
            ) != "":
                self._operator(operator)
            else:
                self.words.append(self._word())
        self._end()
        if self.heredocs:
            self.script.doubts.append("a here-document has no text")
        if self.open or (self.inner and not closed):
            self.script.doubts.append("a ( is not closed")

    def _operator(self, operator: str) -> None:
        if operator == "(":
            self.open += 1
            if self.text.startswith("((", self.at):
                self.script.doubts.append("it has arithmetic")
            if self.words:
                self.script.doubts.append("it has a function, an array or a pattern")
        elif operator == ")":
            self.open -= 1
            if self.open < 0:
                self.script.doubts.append("a ) has no partner")
                self.open = 0
        self._end()
        self.at += len(operator)
        if operator == "\n":
            self._bodies()

    def _end(self) -> None:
        """Close a simple command: drop the words of the shell's own grammar, keep assignments apart."""
        words, redirected = self.words, self.redirected
        self.words, self.redirected = [], False
        # quoted, `"if"` is a program of that name
        while words and not words[0].quoted and words[0].text in _OPENING_WORDS | _CLOSING_WORDS:
            if redirected:
                self.script.doubts.append("a word of the grammar stands behind a redirection")
            timed = words[0].text == "time"
            words = words[1:]
            for option in ("-p", "--"):
                if timed and words and words[0].text == option:
                    words = words[1:]
            if timed and words and words[0].text.startswith("-"):
                # To bash it is the program's name, to `sh` an option of a program that is called `time`.
                self.script.doubts.append("the options of time are not followed")
        if words and not words[0].quoted and words[0].text == "for":
            self._for_each(words)
            return
        assigned = []
        while words and words[0].assigns:
            assigned.append(words[0].text)
            words = words[1:]
        if words and words[0].text in _DOUBTED_WORDS:
            self.script.doubts.append(f"{words[0].text} is not followed")
        if words and words[0].text in _DECLARING and any(DYNAMIC in word.text and not word.assigns for word in words):
            # only what is written as an assignment is not split into more words
            self.script.doubts.append("a variable's name is not known before it runs")
        if words or assigned:
            self.script.commands.append(SimpleCommand(tuple(word.text for word in words), tuple(assigned)))

    def _for_each(self, words: list[_Word]) -> None:
        """Read `for NAME [in WORDS]`: an assignment. What it repeats follows behind `do`."""
        name = words[1].text if len(words) > 1 else ""
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or (len(words) > 2 and words[2].text != "in"):
            self.script.doubts.append("a loop is not followed")
            self.script.commands.append(SimpleCommand(tuple(word.text for word in words[3:])))
        self.script.commands.append(SimpleCommand((), (f"{name}=",)))

    def _process(self) -> bool:
        """Read `<(…)` or `>(…)`, a word that is not known, and commands; return whether there was one."""
        if self.text[self.at : self.at + 2] not in ("<(", ">("):
            return False
        self.at += 2
        self._substitution()
        self.words.append(_Word(DYNAMIC))
        return True

    def _redirect(self) -> bool:
        """Read a redirection with its target; return whether there was one."""
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        operator = match[1] or match[3]
        self.redirected = self.redirected or not self.words
        if match[2]:  # `{name}>file` puts the descriptor's number into a variable
            self.script.commands.append(SimpleCommand((), (f"{match[2]}=",)))
        if operator in ("<&-", ">&-"):  # one token: what stands right behind it is the next word
            return True
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        if operator in ("<<", "<<-"):
            start = self.at
            word = self._word()
            quoted = any(mark in self.text[start : self.at] for mark in "'\"\\")
            self.heredocs.append((word.text, operator == "<<-", quoted))
            return True
        if self.text[self.at : self.at + 2] in ("<(", ">("):
            self._process()
            self.words.pop()
            return True
        target = self._word().text
        # `2>&1` names a descriptor and writes no file
        duplicates = operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target)
        if ">" in operator and not duplicates and target not in _SAFE_TARGETS:
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
                # a line that is continued could hide the line that ends the text
                if any(line.endswith("\\") for line in lines):
                    self.script.doubts.append("a here-document has a line that is continued")
                inner = _ScriptReader("\n".join(lines), self.script, self.depth)
                while inner.at < len(inner.text):
                    inner._piece(in_quotes=True)
        self.heredocs = []

    def _word(self) -> _Word:
        """Return the next word without its quotes."""
        pieces: list[str] = []
        quoted = expanded = False
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
            elif char in "*?":
                pieces.append(DYNAMIC)
                self.at += 1
            elif char == "{" and (literal := _LITERAL_BRACES.match(self.text, self.at)):
                pieces.append(literal[0])
                self.at = literal.end()
            elif char == "~" and (self.at == begin or self.text[self.at - 1] in "=:"):
                expanded = True
                self.at += 1
            elif self.at == begin and (alone := _LONE_BRACKET.match(self.text, self.at)):
                pieces.append(alone[0])
                self.at = alone.end()
            else:
                # a class or braces spell other letters than those that stand there
                expanded = expanded or char in "[{"
                pieces.append(self._piece(in_quotes=False))
                quoted = quoted or char == "\\"
        raw = self.text[begin : self.at]
        if not raw:  # an operator where a word should be
            self.script.doubts.append("a word is missing")
            self.at += self.at < len(self.text) and self.text[self.at] in "<>"
        if self.heredocs and "\n" in raw:
            self.script.doubts.append("a word goes over the line behind which a here-document begins")
        if raw.startswith("{") and raw.endswith("}") and self.text[self.at : self.at + 1] in ("<", ">"):
            self.script.doubts.append("a redirection is not followed")
        assigns = _ASSIGNMENT.match(raw)
        text = "".join(pieces)
        if expanded:
            # the value of an assignment is split and spread into no more words
            text = assigns[0] + DYNAMIC if assigns else DYNAMIC
        return _Word(text, quoted, assigns is not None)

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
        text = self.text[start:end]
        if "\\" in text:  # which of them vanish depends on the quotes around
            self.script.doubts.append("there is a backslash between backquotes")
        _parse_into(re.sub(r"\\([$`\\])", r"\1", text), self.script, self.depth + 1)
        return DYNAMIC

    def _substitution(self) -> None:
        """Read the commands up to the parenthesis that closes them, and go behind it."""
        if self.depth >= _MAX_DEPTH:
            self.script.doubts.append("it is nested too deep")
            self.at = len(self.text)
            return
        reader = _ScriptReader(self.text, self.script, self.depth + 1, self.at, inner=True)
        reader.run()
        self.at = reader.at

    def _dollar(self, *, in_quotes: bool) -> str:
        """Read what a dollar begins, and return what stands for it: the dollar itself, where it begins nothing."""
        text, start = self.text, self.at
        # the longer openers first: `$((` begins with `$(`
        if text.startswith("$((", start):
            end = self._arithmetic_end()
            if end:
                self.at = end
                return DYNAMIC
            # without `))` at its end bash takes it for commands; with names in it, what they hold is evaluated
            self.script.doubts.append("it has arithmetic with more than numbers")
        if text.startswith("$(", start):
            self.at += 2
            self._substitution()
            return DYNAMIC
        if text.startswith("${", start):
            self.at += 2
            self._braced()
            return DYNAMIC
        if text.startswith("$[", start):
            self.at += 2
            self.script.doubts.append("it has arithmetic")
            self._expansions(self._closed("]"))
            return DYNAMIC
        if not in_quotes and text[start + 1 : start + 2] == "'":
            self._quote_end(start + 2, "'", "a quote is not closed")
            return DYNAMIC  # `$'…'`: its escapes could spell anything
        parameter = _PARAMETER.match(text, start)
        if parameter is None:
            self.at += 1
            # `$"…"` is a quoted text to be translated: the dollar vanishes
            return "" if not in_quotes and text[start + 1 : start + 2] == '"' else "$"
        self.at = parameter.end()
        return DYNAMIC

    def _arithmetic_end(self) -> int:
        """Return where `$((…))` of plain numbers ends; 0 where it is anything else."""
        level, index = 0, self.at + 3
        while index < len(self.text) and self.text[index] in _ARITHMETIC:
            if self.text[index] == "(":
                level += 1
            elif self.text[index] == ")" and level == 0:
                return index + 2 if self.text[index + 1 : index + 2] == ")" else 0
            elif self.text[index] == ")":
                level -= 1
            index += 1
        return 0

    def _braced(self) -> None:
        """Read the rest of `${…}`: a name, and a word behind an operator that does not evaluate."""
        start, text = self.at, self.text
        name = _BRACED.match(text, start)
        if name is not None:
            end = name.end()
            part = _SLICE.match(text, end)
            operator = _BRACED_OPERATOR.match(text, end)
            if part:
                self.at = part.end() + 1
                return
            if text[end : end + 1] == "}":
                self.at = end + 1
                return
            if operator and not name["name"].startswith("#"):
                if "=" in operator[0]:
                    self.script.commands.append(SimpleCommand((), (f"{name['name']}=",)))
                self.at = operator.end()
                while self.at < len(text) and text[self.at] not in "}{'\"\\`<>()\n":
                    self._piece(in_quotes=True)
                if text[self.at : self.at + 1] == "}":
                    self.at += 1
                    return
        self.script.doubts.append("it has an expansion that may evaluate what a variable holds")
        self.at = start
        self._expansions(self._closed("}"))

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
        """Return the text up to a closer, over what is nested or quoted on the way, and go behind the closer.

        A guess, for what is doubted anyway: what stands in there is judged as well as it can be read.
        """
        opener = {"}": "{", "]": "["}[closer]
        start, level = self.at, 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 1
            elif char in "'`":
                end = self.text.find(char, self.at + 1)
                self.at = len(self.text) if end < 0 else end
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

    def _expansions(self, inner: str) -> None:
        """Read what is substituted in an arithmetic or a parameter's expansion."""
        if self.depth >= _MAX_DEPTH:
            self.script.doubts.append("it is nested too deep")
            return
        reader = _ScriptReader(inner, self.script, self.depth + 1)
        while reader.at < len(inner):
            reader._piece(in_quotes=True)

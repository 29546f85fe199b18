"""Random shell commands, from a grammar of bash that knows nothing of our reader's: what is harmless and what is not
stand side by side in them, in every place where bash may evaluate something."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

HARMLESS = ("ls", "cat", "echo", "printf", "git", "find", "sed", "sort", "tar", ":", "true")
"""Programs and builtins that the rules of the test name."""

PAYLOADS = ("rm x", "touch x", "curl x", "./evil/ls", "evil/cat x")
"""What no rule names."""

_NAMES = (
    "x",
    "y",
    "n",
    "a",
    "PATH",
    "IFS",
    "SECONDS",
    "RANDOM",
    "OPTIND",
    "BASH_ENV",
    "GIT_DIR",
    "ENV",
    "_z",
    "HISTCMD",
)
_SPECIALS = " \t\n;&|()<>{}[]$`'\"\\#!*?~=:,+-/%^@01ax\\\n"

Piece = Callable[[], str]

_MARK = re.compile("@([A-Z])")


class ShellGrammar:
    """Commands from one source of random numbers."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._depth = 0

    def command(self) -> str:
        """The next command: one of the grammar, or one of which some characters were changed."""
        self._depth = 0
        text = self._script()
        for _ in range(self._chance.choice((0, 0, 0, 1, 1, 2, 4))):
            text = self._mutated(text)
        return text.replace("\0", "")[:2_000]

    def _filled(self, *templates: str) -> str:
        """One of the templates, with a new piece of text for each of its marks."""
        pieces: dict[str, Piece] = {
            "A": self._arithmetic, "B": self._braced, "E": self._evil, "F": lambda: self._payload().split()[0],
            "L": self._script, "N": self._name, "P": self._payload, "Q": self._evil_assignment, "S": self._simple,
            "R": lambda: self._chance.choice(("echo", "ls", "git log", "cat")), "U": self._user_of_value,
            "V": self._evil_value, "W": self._word,
        }  # fmt: skip
        return _MARK.sub(lambda mark: pieces[mark[1]](), self._chance.choice(templates))

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _mutated(self, text: str) -> str:
        place = self._chance.randint(0, len(text))
        end = min(len(text), place + self._chance.randint(1, 3))
        what = self._chance.randint(0, 4)
        if what == 0:
            return text[:place] + text[end:]
        if what == 1:
            return text[:place] + self._chance.choice(_SPECIALS) + text[place:]
        if what == 2:
            return text[:place] + text[place:end] * 2 + text[end:]
        if what == 3:
            return text[:place] + "\\\n" + text[place:]
        other = self._chance.randint(0, len(text))
        return text[:place] + text[other : other + self._chance.randint(1, 8)] + text[place:]

    def _script(self) -> str:
        self._depth += 1
        parts = [self._statement()]
        while self._often(0.35 if self._depth < 4 else 0.05):
            parts.append(
                self._chance.choice(
                    ("; ", "\n", " && ", " || ", " | ", " |& ", " & ", ";", "&&", "|", " # '\n", " \\\n; ")
                )
            )
            parts.append(self._statement())
        self._depth -= 1
        return "".join(parts)

    def _statement(self) -> str:
        if self._depth > 4 or self._often(0.7):
            return self._simple()
        return self._filled(
            "if @L; then @L; fi",
            "while ! @S; do @L; done",
            "for @N in @W @W; do @L; done",
            "for @N do @L; done",
            "for @N in @V\ndo @S\ndone",
            "for ((@A;;)); do @S; break; done",
            "select @N in a; do @S; break; done <<< 1",
            "case @W in @W) @L;; esac",
            "(@L)",
            "{ @L; }",
            "((@A))",
            "[[ @W -eq @V ]]",
            "[[ @W == @W && -n @W ]]",
            "! @S",
            "time -p @S",
            "ls() { @S; }; ls",
            "coproc @S",
            "@Q; @S",
            "@Q; @U",
            "@Q; @U",
            "{ @L }",
        )

    def _simple(self) -> str:
        words = [self._assignment() for _ in range(self._chance.choice((0, 0, 0, 0, 0, 1, 2)))]
        if self._often(0.08):
            words.append(self._redirection())
        if self._often(0.12):
            words.append(self._chance.choice(PAYLOADS))
        elif self._often(0.25):
            words.append(self._builtin())
        elif self._often(0.35):
            words.append(self._carrier())
        else:
            words += [self._program(), *(self._word() for _ in range(self._chance.randint(0, 3)))]
        if self._often(0.12):
            words.append(self._redirection())
        text = self._chance.choice((" ", " ", " ", "\t", " \\\n")).join(words)
        return text + self._heredoc() if self._often(0.05) else text

    def _program(self) -> str:
        name = self._chance.choice(HARMLESS[:5])
        if self._often(0.85):
            return name
        return self._filled(
            "'@N'", '"@N"', '\\@N', "l''s", "./evil/@N", "command @N", "env @N", "exec @N", "nice -n 1 @N",
            "timeout 5 @N", "r{m,}", "l{s,}", "r[m]", "$'rm'", "builtin @N", "'A=1'", '"if"',
        )  # fmt: skip

    def _name(self) -> str:
        return self._chance.choice(_NAMES)

    def _payload(self) -> str:
        return self._chance.choice(PAYLOADS)

    def _evil_value(self) -> str:
        """A text that does harm where it is evaluated, or names a program."""
        return self._filled(
            "'a[$(@P)]'", "'$(@P)'", "'a[`@P`]'", "./evil", "'@P'", "'-v a[$(@P)]'", "x", "'-c alias.z=!@P z'",
            "-exec", "'1 PATH=./evil'", "rm",
        )  # fmt: skip

    def _evil_assignment(self) -> str:
        return self._filled(
            "@N=@V", "export @N=@V", "read @N <<< @V", "printf -v @N %s @V", "declare @N=@V", "set -- @V",
            "mapfile @N <<< @V", ": ${@N:=@V}", "@N+=@V", "for @N in @V; do :; done", "x=@V; declare y=$x",
            "local @N=@V", "x=@V; @N=$x", "readonly @N=@V", "set -k; x=@V",
        )  # fmt: skip

    def _user_of_value(self) -> str:
        """What may evaluate the value of a variable."""
        return self._filled(
            "@R $((@N))", "@R ${!@N}", "@R ${b[@N]}", "@R ${HOME:@N}", "@R $[@N]", "@R ${x:0:@N}", "let @N",
            "((@N))", "[[ @N -gt 0 ]]", "[ -v $@N ]", "test $@N x", "printf $@N", "unset $@N", "read $@N <<< 1",
            "declare -i b=$@N", "declare $@N", "export $@N", "b[@N]=1", "$@N", "git $@N", "git -$((@N))",
            "find . $@N rm {} +", "env $@N", "command $@N", "@R ${@N@P}", "cat {@N}</dev/null", "wait -p $@N",
            "getopts a $@N", "@R ${x/@N/$((@N))}", "mapfile $@N", "xargs $@N < /dev/null",
            "@N=@N; @R $(( @N + 1 ))", "ls; cat",
        )  # fmt: skip

    def _assignment(self) -> str:
        value = self._evil_value() if self._often(0.2) else self._word()
        return (
            self._chance.choice(("x", "y", "A", "A", self._name()))
            + self._chance.choice(("=", "=", "+=", "'='", "[0]="))
            + value
        )

    def _builtin(self) -> str:
        return self._filled(
            "printf -v 'a[$(@P)]' x", "read 'a[$(@P)]' <<< 1", "mapfile -C '@P #' -c 1 a <<< 1", "unset 'a[$(@P)]'",
            "test -v 'a[$(@P)]'", "[ -v 'a[$(@P)]' ]", "let 'a[$(@P)]'", "declare 'a[$(@P)]'=1",
            "hash -p ./evil/ls ls; ls", "eval @V", "trap '@P' EXIT", "printf '%d\\n' @W", "echo @W @W", "cd @W",
            "cd evil; ./ls", "export @N=@W", "enable -n @N", "shopt -s extglob", "alias ls='@P'", "set -- @W",
            "shift @V", "command -v @W", "exec @W", ". ./evil/ls", "compgen -C '@P'", "jobs -x @P", "exit @V",
            "[ @W = @W ]", "[ @V -eq 1 ]", "local @N", "getopts ab 'a[$(@P)]'", "wait -p 'a[$(@P)]'",
        )  # fmt: skip

    def _carrier(self) -> str:
        return self._filled(
            "env @P", "env -S '@P'", "env -S'@P'", "env A=1 @P", "xargs @P < /dev/null", "echo x | xargs -I{} @P",
            "xargs -n1 ls < /dev/null", "nice @P", "nice -n 3 @P", "timeout 1 @P", "timeout -s 9 1 @P",
            'find . -maxdepth 0 -exec @P {} \\;', "find . -maxdepth 0 -exec ls {} +",
            "find . -maxdepth 0 -ok @P ';'", "find . -maxdepth 1 -name @W", "sh -c '@P'", "bash -c 'ls; @P'",
            "sh -c 'ls'", "sed '1e @P' f", "sed -n '1p' f", "sed 's/a/@F/e' f", "sed -e 1e@P f",
            "sort --compress-program=rm -S 1 f", "sort -n f", "sort --compress-prog rm f",
            "tar --checkpoint=1 --checkpoint-action=exec='@P' -cf /dev/null f",
            "tar cf /dev/null --to-command='@P' f", "tar -I '@P' -cf o.tar f",
            "tar --use-compress='@P' -cf o.tar f", "tar cf /dev/null f", "tar cIf rm o.tar f",
            "git -c alias.z='!@P' z", "git config alias.z '!@P'; git z", "git status", "git log @W",
            "git grep -O@F a", "git -c core.pager='@P' -p log", "git rebase -x '@P' HEAD~1", "git bisect run @P",
            "git ls-remote --upload-pack='@P;' .", "git clone -u '@P;' . new",
            "git -c protocol.ext.allow=always ls-remote 'ext::@P'", "git difftool -yx '@P' HEAD~1",
            "git fetch --upload-pac='@P;' .", "git submodule foreach '@P'",
            "git filter-branch --msg-filter '@P' HEAD", "git --exec-path=evil ls",
            "git -C . -c core.fsmonitor='@P' status", "git diff @W", "git for-each-repo --config=a @P",
            "git diff --ext-diff", "busybox @P", "command @P", "exec @P", "builtin eval @P", "command -p @P",
            "nohup @P", "setsid -w @P", "stdbuf -o0 @P", 'awk \'BEGIN{system("@P")}\'',
        )  # fmt: skip

    def _word(self) -> str:
        return "".join(self._part() for _ in range(self._chance.choice((1, 1, 1, 2, 3))))

    def _part(self) -> str:
        if self._depth > 4 or self._often(0.55):
            return self._chance.choice(
                (
                    "a",
                    "x",
                    "f",
                    "-n",
                    "--",
                    "1",
                    "rm",
                    "evil",
                    "'b c'",
                    '"d e"',
                    "\\ ",
                    "\\;",
                    "''",
                    "a#b",
                    "=",
                    ":",
                    "{}",
                    "{1}",
                    "!",
                    "~",
                    "*",
                    "?",
                    "]",
                    "}",
                    "\\'",
                    "é",
                    ",",
                    "^",
                    "%",
                    "in",
                    "do",
                    "if",
                )
            )
        self._depth += 1
        piece = self._filled(
            "$(@L)", "`@S`", '"$(@L)"', '"`@S`"', "$((@A))", '"$((@A))"', "$((@S) )", "$[@A]", "@B", '"@B"', "$@N",
            '"$@N"', "'$(@P)'", "$'@E'", '"\\$(@P)"', '\\$(@P)', "<(@L)", ">(@S)", '$"@E"', "[@E]", "{rm,x}",
            '"\'$(@P)\'"', '\'"$(@P)"\'', '"@E"', "'@E'", "$(ls # '\n@S )", '$(cat <<E\n@E\nE\n)', "$(< f)", "$#",
            "$@", "${#x}",
        )  # fmt: skip
        self._depth -= 1
        return piece

    def _evil(self) -> str:
        return self._chance.choice(
            (
                f"$({self._payload()})",
                f"`{self._payload()}`",
                "x",
                "a b",
                "\\x72m",
                "it\\'s",
                "a[0]",
                "; " + self._payload(),
                "^rm",
            )
        )

    def _braced(self) -> str:
        name = self._name()
        inner = self._chance.choice((self._word, self._evil, self._arithmetic))()
        operator = self._chance.choice(
            (
                ":-",
                "-",
                ":=",
                "=",
                ":+",
                "+",
                ":?",
                "#",
                "##",
                "%",
                "%%",
                "/",
                "//",
                "^",
                ",,",
                ":",
                ": -",
                "@",
                "[",
                "!",
            )
        )
        if operator == "@":
            return f"${{{name}@{self._chance.choice('PQEAaUuLK')}}}"
        if operator == "[":
            return f"${{{name}[{inner}]}}"
        if operator == "!":
            return f"${{!{name}}}"
        return f"${{{name}{operator}{inner}}}"

    def _arithmetic(self) -> str:
        return self._filled(
            "1", "1 + 2", "(3*4)", "@N", "@N++", "$(@P)", "$@N", "a[$(@P)]", "1)+(2", "@N=1", "1?2:3", "1<<2",
        )  # fmt: skip

    def _redirection(self) -> str:
        return self._filled(
            "> o", ">>o", "2>&1", "2>/dev/null", "> @W", "< f", "&> o", "2&> o", "<<< @W", "< <(@L)", "{@N}> o",
            "{a[$(rm x)]}> o", "> >(@S)", ">&2", "<&-", "> $(@S)", "<> o",
        )  # fmt: skip

    def _heredoc(self) -> str:
        body = self._chance.choice(
            (self._evil(), self._word(), "plain", f"a \\\nE\n{self._evil()}", "'", f"${{x:-{self._evil()}}}")
        )
        mark = self._chance.choice(("E", "'E'", "\\E", '"E"', "-E", "E''", "$x"))
        return f" <<{mark}\n{body}\nE\n"

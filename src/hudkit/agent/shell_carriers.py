"""Programs that run other programs: what a command comes to behind them, and what a rule must write out to allow it.

There are three kinds, and one table for the last of them.

1. Of some it can be told exactly what they run: `env A=1 nice make` is `make`, `bash -c 'rm x'` is `rm x` as well,
   `find . -exec grep x {} +` is `grep x …` as well. `unwrap_script` puts that in their place, or beside them.
2. Builtins of the shell that evaluate what a variable holds, or change what a name means, are doubts.
3. All others are rows of `CARRIERS`: options, subcommands and words by which a program runs another one, or writes a
   file. A star in a rule never stands for one of these: the rule has to write it out.

       rule git *               covers git status; not git submodule foreach, not git -c …, not git $VERB
       rule git submodule *     covers git submodule foreach
       rule sort *              covers sort -n; not sort -o FILE
       rule make *              covers make test; not make -f FILE, not make SHELL=…
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from hudkit.agent.shell_parser import DYNAMIC, ParsedScript, SimpleCommand, parse_script

_MAX_DEPTH = 8
_MAX_RESTS = 64


class Carrier(msgspec.Struct, frozen=True):
    """How a program comes to run another one, or to write a file; options and verbs are separated by blanks.

    - `runs`: options with which it runs what they, or a file, say; `writes`: options that name a file to be written.
      An abbreviation of a long option counts as the option, a letter among others (`-nO`) as that letter.
    - `words`: a pattern of words that do the same.
    - `verbs`: the subcommands that run nothing by themselves; any other one has to be in the rule. `flags` and
      `valued` are the options that may stand before a subcommand, without and with a value. `None`: it has none.
    - `project`: it runs what files of the project say, so that a rule has to name at least the program itself.
    - `wraps`: one of its words is a program that it runs.
    - `always`: only a rule without a star is about it. `interpreter`: so it is where it reads its program from its
      input.
    - `remote`: its words are a command for another machine, in which a denied one is looked for.
    - `harmless`: says of its words whether the small program among them runs and writes nothing.
    """

    runs: str = ""
    writes: str = ""
    words: str = ""
    verbs: str | None = None
    flags: str = "--version --help -h -V"
    valued: str = ""
    project: bool = False
    wraps: bool = False
    always: bool = False
    interpreter: bool = False
    remote: bool = False
    harmless: Callable[[Sequence[str]], bool] | None = None


_SED_ADDRESS = r"(?:(?:\d+|\$|/[^/\\\n]*/)(?:,(?:\d+|\$|/[^/\\\n]*/))?)?!?"
_SED_STEP = re.compile(
    _SED_ADDRESS + r"(?:[pdq=D]|s([/|#,:%@])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI0-9]*)?(?:;\s*|$)"
)


def _harmless_sed(words: Sequence[str]) -> bool:
    """Return whether a script of `sed` only deletes, prints and replaces: no `e`, no `w`, nothing from a file."""
    scripts = [words[index + 1] for index, word in enumerate(words[:-1]) if re.fullmatch(r"-[nErsz]*e", word)]
    if not scripts:
        plain = [word for word in words if not word.startswith("-")]
        scripts = plain[:1]
    plain_options = all(
        re.fullmatch(
            r"-[nErszui]*e?|--(?:quiet|silent|regexp-extended|null-data|separate|in-place|debug|posix)", word
        )
        for word in words
        if word.startswith("-")
    )
    return plain_options and all(_harmless_sed_script(script) for script in scripts)


def _harmless_sed_script(script: str) -> bool:
    index = 0
    while index < len(script):
        step = _SED_STEP.match(script, index)
        if step is None or step.end() == index:
            return False
        index = step.end()
    return True


_GIT_REMOTE = Carrier(
    runs="--upload-pack --receive-pack --exec -s --strategy", words=r"[\w.+-]*::|(?!https?:|ssh:|git:|file:)\w+://"
)
_GIT_DIFF = Carrier(runs="--ext-diff", writes="--output")
_WRAPS = Carrier(wraps=True)
_ALWAYS = Carrier(always=True)
_PROJECT = Carrier(project=True)


def _table(rows: Mapping[str, Carrier]) -> Mapping[str, Carrier]:
    """Return the rows by program, or by `git VERB`; a key names several programs between commas."""
    return {name.lower(): row for names, row in rows.items() for name in names.split(", ")}


CARRIERS: Mapping[str, Carrier] = _table({
    "git": Carrier(
        verbs="add am apply blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean clone "
        "commit commit-tree count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref fsck gc "
        "grep hash-object init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push "
        "range-diff read-tree rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show "
        "show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref "
        "verify-commit verify-tag version whatchanged worktree write-tree",
        flags="--version --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --bare",
        valued="-C",
    ),
    "git grep": Carrier(runs="-O --open-files-in-pager"),
    "git fetch, git pull, git push, git ls-remote, git remote": _GIT_REMOTE,
    "git clone": Carrier(
        runs="-u --upload-pack -c --config --template --separate-git-dir", words=_GIT_REMOTE.words
    ),
    "git init": Carrier(runs="--template --separate-git-dir"),
    "git merge, git cherry-pick, git revert": Carrier(runs="-s --strategy"),
    "git rebase": Carrier(runs="-x --exec -i --interactive -s --strategy --edit-todo"),
    "git diff, git log, git show, git whatchanged, git diff-files, git diff-index, git diff-tree, git range-diff, "
    "git rev-list, git shortlog, git reflog, git stash": _GIT_DIFF,
    "git am, git apply": Carrier(runs="-i --interactive", writes="--directory"),
    "tar, gtar, bsdtar": Carrier(
        runs="-I -F --checkpoint-action --to-command --use-compress-program --info-script --new-volume-script "
        "--rsh-command --rmt-command",
        words=r"-?[A-Za-z]*[IF][A-Za-z]*$|[^/=]*:|-[A-Za-z]*f[^/]*:|--file=[^/]*:",
    ),
    "sed, gsed": Carrier(runs="-f --file", writes="-i --in-place", harmless=_harmless_sed),
    "awk, gawk, mawk, nawk, tclsh, wish, expect, ed, red, sqlite3, osascript, bc, dc, m4, gnuplot, octave": _ALWAYS,
    "make, gmake, bmake, remake": Carrier(
        project=True, runs="-f -C -I --file --makefile --directory --include-dir --eval -E", words=r"[\w.]+[:?+!]*="
    ),
    "ninja, samu, just, rake, task, scons, ant, mvn, mvnw, gradle, gradlew, bazel, buck, meson, cmake, ctest, tox, "
    "nox, pytest, invoke, fab, pre-commit, grunt, gulp, jest, vitest, mocha, tsx, ts-node, phpunit, rspec, bundle, "
    "mix, stack, cabal, dune, sbt, lein, elixir, erl, swift, zig, dotnet, msbuild, vagrant, ansible, "
    "ansible-playbook, terraform, pulumi, rustc, latexmk, pdflatex, latex, xelatex, lualatex, tex": Carrier(
        project=True, runs="-f -C --file --directory --justfile --makefile --rakefile --eval --exec -e"
    ),
    "eslint, stylelint": Carrier(
        project=True,
        runs="-c --config --rulesdir --plugin --resolve-plugins-relative-to -f --format --formatter --parser "
        "--custom-syntax",
        writes="-o --output-file",
    ),
    "prettier": Carrier(project=True, runs="--config --plugin"),
    "mypy, flake8": Carrier(project=True, runs="--config-file --config --append-config"),
    "pylint": Carrier(project=True, runs="--init-hook --load-plugins --rcfile"),
    "sphinx-build": Carrier(project=True, runs="-c --conf-dir -D --define"),
    "tcpdump": Carrier(runs="-z", writes="-w"),
    "logrotate": _ALWAYS,
    "npm, pnpm, yarn": Carrier(
        verbs="list ls la ll view info show outdated audit why explain help search fund ping whoami root prefix bin",
    ),
    "bun": Carrier(verbs=""),
    "deno": Carrier(verbs="fmt lint info types check"),
    "npx, pnpx, bunx, uvx, pipx": Carrier(project=True, runs="-c --call --package -p"),
    "pip": Carrier(verbs="list show freeze check inspect debug hash"),
    "uv, poetry, pdm, hatch, rye, pipenv, conda, mamba, micromamba": Carrier(verbs="tree list show info version"),
    "cargo": Carrier(project=True, runs="--config -Z", words=r"(?:install|run|r)$|\+"),
    "go": Carrier(
        project=True, words=r"(?:run|generate|tool)$",
        runs="-exec --exec -toolexec --toolexec -vettool --vettool -overlay --overlay -modfile --modfile -w",
    ),
    "docker, podman, nerdctl, kubectl, helm, docker-compose, lxc, lxc-attach, machinectl, multipass": Carrier(
        verbs="ps images logs inspect version info top stats port history diff events",
    ),
    "gcc, g++, cc, c++, clang, clang++, ld, gfortran": Carrier(
        runs="-wrapper -specs --specs -Xclang -load -plugin --plugin", words=r"@|-B|-fplugin|-fuse-ld="
    ),
    "python, pypy": Carrier(project=True, runs="-c -i", interpreter=True),
    "perl": Carrier(project=True, runs="-e -E -M -m -d -x -i", interpreter=True),
    "ruby, lua, luajit": Carrier(project=True, runs="-e -r -l -x -i", interpreter=True),
    "php": Carrier(project=True, runs="-r -B -R -E -F -d --run --process-code", interpreter=True),
    "node, nodejs": Carrier(
        project=True, interpreter=True,
        runs="-e -p -r -i --eval --print --require --import --loader --experimental-loader --interactive",
    ),
    "R, Rscript, julia, groovy, scala, jshell": Carrier(project=True, runs="-e -f --eval --file", interpreter=True),
    "java": Carrier(project=True, words=r"-javaagent|-agent|-XX:On|@"),
    "find, gfind": Carrier(runs="", writes="-fprint -fprint0 -fprintf -fls -delete"),
    "fd, fdfind": Carrier(runs="-x --exec -X --exec-batch"),
    "sort, gsort": Carrier(runs="--compress-program", writes="-o --output"),
    "split": Carrier(runs="--filter"),
    "rg": Carrier(runs="--pre --hostname-bin"),
    "ag, ack, bat, batcat, delta, tig": Carrier(runs="--pager -c --config"),
    "less, more, most": Carrier(runs="-k --lesskey-file --lesskey-src", writes="-o -O --log-file", words=r"\+"),
    "man, info": Carrier(runs="-P --pager -H --html -C --config-file -X -T -Z --preprocessor"),
    "vim, vi, nvim, ex, view, vimdiff, gvim": Carrier(
        project=True, runs="-c -S -s -u -U -i -W -w -l --cmd --startuptime", words=r"\+"
    ),
    "emacs, emacsclient": Carrier(
        project=True, runs="-e -f -l --eval --execute --funcall --load --script --batch -batch -eval -script"
    ),
    "nano, pico, joe, micro, hx": Carrier(project=True, runs="-s --speller -f --rcfile"),
    "gdb, lldb, cgdb": Carrier(
        project=True, runs="-ex -eval-command -iex -x -ix -command -o -s -S --args -args", words=r"--(?:e|c|i|b|a|s)"
    ),
    "ssh, slogin, autossh": Carrier(runs="-o -F -I -E", remote=True),
    "scp, sftp": Carrier(runs="-S -o -F -D -b"),
    "rsync": Carrier(runs="-e --rsh --rsync-path --daemon --config", writes="--log-file --write-batch"),
    "curl": Carrier(
        runs="-K --config --engine",
        writes="-o -O -J -D -c --output --output-dir --remote-name --remote-name-all --dump-header --cookie-jar "
        "--trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc",
    ),
    "wget": Carrier(
        runs="-e --execute --config --use-askpass", writes="-o -O -a -P --output-document --output-file "
        "--append-output --directory-prefix --save-cookies --warc-file --rejected-log",
    ),
    "zip": Carrier(runs="-TT --unzip-command"),
    "cpio, pax": Carrier(runs="--rsh-command -F", words=r"[^/]*:"),
    "install": Carrier(runs="--strip-program"),
    "nc, ncat, netcat, socat": Carrier(runs="-e -c --exec --sh-exec --lua-exec", words=r"(?i)(?:exec|system|shell):"),
    "psql, mysql, mariadb": Carrier(
        runs="-c -f -e --command --file --execute --pager -v --set --variable",
        writes="-o -L --output --log-file --tee"
    ),
    "openssl": Carrier(runs="-engine -provider -provider-path -config", writes="-out"),
    "sudo, doas, pkexec, su, runuser, gosu, su-exec, setpriv, capsh, watch, strace, ltrace, perf, valgrind, script, "
    "chroot, unshare, nsenter, flock, taskset, chrt, prlimit, entr, tmux, screen, at, batch, crontab, setarch, "
    "linux32, linux64, i386, x86_64, firejail, bwrap, ld.so, parallel, unbuffer, fakeroot, proot, systemd-run, "
    "chronic, start-stop-daemon, run-parts, rlwrap, numactl, cpulimit, cgexec, tini, dumb-init, faketime, "
    "xvfb-run, dbus-run-session, direnv, dotenv, asdf, mise, nix, nix-shell, guix, mpirun, srun, nodemon, watchexec, "
    "concurrently, inotifywait, annotate-output, ip, ts, toybox, busybox, hyperfine": _WRAPS,
})  # fmt: skip
"""What a star in a rule never stands for, by program; `git VERB` is a row of its own."""


def carrying_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return what a rule must write out to allow a command: what may make it run another, or write a file.

    `DYNAMIC` stands for what cannot be written out: only a rule without a star can be about it.
    """
    name = _row_name(words[0])
    row = CARRIERS.get(name)
    if row is None:
        return ()
    rest = list(words[1:])
    running = [program_name(words[0])] if row.project else []
    if row.always or (row.interpreter and (not rest or "-" in rest)):
        running.append(DYNAMIC)
    if row.wraps:
        running.append(_wrapped_word(rest))
    if row.verbs is not None:
        verb, rest, before = _verb(row, rest)
        running += before
        if verb and not _is_plain_verb(row, name, verb, rest):
            running.append(verb)
        if name == "git" and verb:
            row = CARRIERS.get(f"git {verb}", Carrier())
    if row.harmless is not None and not row.harmless(rest):
        running.append(DYNAMIC)
    running += _options_in(rest, row.runs)
    running += [word.split("=")[0] for word in rest if row.words and re.match(row.words, word)]
    if any(DYNAMIC in word for word in rest) and (row.runs or row.words or row.writes or row.harmless):
        running.append(DYNAMIC)  # what is not known may be such an option, or be split into several words
    return (*running, *_options_in(rest, row.writes))


def rule_writes_out(pattern: str, needed: Sequence[str]) -> bool:
    """Return whether a rule's pattern has these words in it, or no star at all."""
    named = {part.split("=")[0].strip("'") for part in pattern.split()}
    return "*" not in pattern or all(word in named for word in needed)


def _row_name(program: str) -> str:
    """Return the name of a program's row: `python3.12` is `python`, a loader is `ld.so`."""
    name = program_name(program).lower()
    if name in CARRIERS:
        return name
    if name.startswith("ld-") and ".so" in name:
        return "ld.so"
    return re.sub(r"-?[\d.]+$", "", name)


def _wrapped_word(rest: Sequence[str]) -> str:
    """Return the word that a program runs, where it stands first; behind options nobody knows which it is."""
    first = rest[0] if rest else DYNAMIC
    return DYNAMIC if first.startswith("-") or " " in first or DYNAMIC in first or "=" in first else first


def _verb(row: Carrier, rest: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Return a program's subcommand, the words behind it, and the options before it that may do harm."""
    before, index = [], 0
    while index < len(rest) and rest[index].startswith("-"):
        if rest[index] in row.valued.split():
            index += 2
            continue
        if rest[index] not in row.flags.split():
            before.append(rest[index].split("=")[0])
        index += 1
    return (rest[index] if index < len(rest) else ""), list(rest[index + 1 :]), before


_GIT_PLAIN: Mapping[str, frozenset[str]] = {
    "config": frozenset({"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"}),
    "bisect": frozenset({"start", "good", "bad", "old", "new", "reset", "skip", "log", "terms"}),
    "submodule": frozenset({"status", "summary"}),
}
"""Subcommands of git's subcommands that run nothing; a setting of git's may name a program."""


def _is_plain_verb(row: Carrier, name: str, verb: str, rest: Sequence[str]) -> bool:
    if name == "git" and verb in _GIT_PLAIN:
        scoped = rest[1:] if rest[:1] and rest[0] in ("--global", "--local", "--system") else rest
        return bool(scoped) and scoped[0] in _GIT_PLAIN[verb]
    return verb in (row.verbs or "").split()


def _options_in(words: Sequence[str], options: str) -> list[str]:
    """Return those words, without their values, that are an option, an abbreviation of it, or have its letter."""
    names = options.split()
    letters = {name[1] for name in names if len(name) == 2 and name[1] != "-"}
    hits = []
    for word in words:
        name = word.split("=")[0]
        if name.startswith("--"):
            hit = len(name) > 2 and any(option.startswith(name) for option in names)
        elif name.startswith("-"):
            cluster = re.match(r"-([A-Za-z0-9]*)", name)
            hit = name in names or (cluster is not None and not letters.isdisjoint(cluster[1]))
        else:
            hit = False
        if hit:
            hits.append(name)
    return hits


def program_name(program: str) -> str:
    """Return a program's name without its directory."""
    return program.rsplit("/", 1)[-1]


class _Wrapper(msgspec.Struct, frozen=True):
    """A program that runs the one behind its options: letters of options without and with a value, long ones alike,
    and how many words stand before the program."""

    flags: str = ""
    valued: str = ""
    long: str = ""
    operands: int = 0
    assigns: bool = False


_WRAPPERS: Mapping[str, _Wrapper] = {
    "command": _Wrapper("p"),
    "builtin": _Wrapper(),
    "exec": _Wrapper("cl", "a"),
    "nohup": _Wrapper(),
    "setsid": _Wrapper("cfw", long="--ctty --fork --wait"),
    "time": _Wrapper("pv"),
    "nice": _Wrapper("0123456789", "n"),
    "ionice": _Wrapper("t", "cn"),
    "timeout": _Wrapper("v", "ks", "--foreground --preserve-status --verbose", operands=1),
    "stdbuf": _Wrapper("", "ioe"),
    "env": _Wrapper("0v", "u", assigns=True),
    "xargs": _Wrapper("0rtx", "nPLIdsE", "--null --no-run-if-empty --verbose --exit"),
}
"""Passed over where their options are known: what a rule is asked about is the command behind them."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "rbash"})
_OTHER_SHELLS = frozenset({"zsh", "ksh", "mksh", "fish", "csh", "tcsh", "nu", "pwsh", "xonsh", "elvish"})
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$", re.ASCII)


def _behind_wrapper(name: str, words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return words and assignments of the command behind a wrapper; `None` where its options are not known."""
    wrapper = _WRAPPERS[name]
    index, replaced = 1, ""
    assigned = []
    while index < len(words) and words[index].startswith("-") and words[index] != "-":
        option = words[index]
        index += 1
        if option == "--":
            break
        letters = option[1:]
        if option.startswith("--"):
            if option not in wrapper.long.split():
                return None
        elif letters[0] in wrapper.valued:
            value = letters[1:] or (words[index] if index < len(words) else "")
            index += not letters[1:]
            if name == "env":  # a variable that is taken away may change as much as one that is set
                assigned.append(f"{value}=")
            replaced = value if name == "xargs" and letters[0] == "I" else replaced
        elif any(letter not in wrapper.flags for letter in letters):
            return None
    if wrapper.assigns and words[index : index + 1] == ("-",):
        return None  # the same as `-i`
    while wrapper.assigns and index < len(words) and "=" in words[index]:
        assigned.append(words[index])
        index += 1
    if any(DYNAMIC in word for word in words[1:index]) and not wrapper.assigns:
        return None
    if wrapper.operands and not (index < len(words) and _DURATION.match(words[index])):
        return None
    rest = tuple(words[index + wrapper.operands :])
    if name == "xargs" and rest:
        # what it adds comes from its input, at the end or in place of a mark
        rest = tuple(DYNAMIC if replaced and replaced in word else word for word in rest)
        rest = rest if replaced else (*rest, DYNAMIC)
    return rest, tuple(assigned)


def unwrap_script(script: ParsedScript) -> ParsedScript:
    """Return a script with what its shells and wrappers run in place of these; doubts where that is not known."""
    unwrapped = ParsedScript([], list(script.writes), list(script.doubts))
    for simple in script.commands:
        _unwrap(simple, unwrapped, 0)
    moved = any(simple.words and program_name(simple.words[0]) in DIRECTORY_CHANGERS for simple in unwrapped.commands)
    for simple in unwrapped.commands:
        if moved and simple.words and "/" in simple.words[0] and not simple.words[0].startswith("/"):
            unwrapped.doubts.append("a program is named by its path after the directory was changed")
    return unwrapped


DIRECTORY_CHANGERS = frozenset({"cd", "pushd", "popd", "chroot"})
"""After one of these a relative path means another file."""


def _unwrap(simple: SimpleCommand, into: ParsedScript, depth: int) -> None:
    words = simple.words
    exported = bool(words)
    into.doubts += [doubt for text in simple.assigned if (doubt := _assignment_doubt(text, exported=exported))]
    if not words:
        return
    name = program_name(words[0])
    if DYNAMIC in words[0]:
        into.doubts.append("a program's name is not known before it runs")
    if depth >= _MAX_DEPTH:
        into.doubts.append("it is nested too deep")
        into.commands.append(simple)
        return
    if doubt := _builtin_doubt(words, nested=depth > 0):
        into.doubts.append(doubt)
    if name in _WRAPPERS and (behind := _behind_wrapper(name, words)) is not None and behind[0]:
        _unwrap(SimpleCommand(*behind), into, depth + 1)
        return
    # kept beside what it runs: a rule may be about the program itself
    into.commands.append(simple)
    if name in _WRAPPERS and len(words) > 1:
        if name == "env" and any(re.match(r"-[a-zA-Z]*S|--s", word) for word in words):
            _unwrap_text(
                " ".join(re.sub(r"^(?:-[a-zA-Z]*S|--s[a-z-]*=?)", "", word) for word in words[1:]), into, depth
            )
        if name != "command" or not re.fullmatch(r"-[vV]", words[1]):
            into.doubts.append(f"the options of {name} are not followed")
    elif name in _SHELLS | _OTHER_SHELLS:
        _unwrap_shell(name, words, into, depth)
    elif name in ("find", "gfind"):
        _unwrap_find(words, into, depth)
    elif name in ("busybox", "toybox") and len(words) > 1:
        _unwrap(SimpleCommand(words[1:]), into, depth + 1)


def _unwrap_text(text: str, into: ParsedScript, depth: int) -> None:
    """Read the text of a command within a command."""
    inner = parse_script(text)
    into.writes += inner.writes
    into.doubts += inner.doubts
    for simple in inner.commands:
        _unwrap(simple, into, depth + 1)


def _unwrap_shell(name: str, words: Sequence[str], into: ParsedScript, depth: int) -> None:
    """Read the text of `sh -c 'text'`; a shell that takes its program from a file or from its input is a doubt."""
    for index, word in enumerate(words[1:], 1):
        # also in a cluster: `-lc`
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) and index + 1 < len(words):
            # options may stand between `-c` and its text
            text = next((argument for argument in words[index + 1 :] if not argument.startswith(("-", "+"))), "")
            if DYNAMIC in text:
                into.doubts.append("a shell's program is not known before it runs")
            if name in _OTHER_SHELLS:
                into.doubts.append(f"{name} reads commands in another way")
            if not all(re.fullmatch(r"-[ceuxl]+|--norc|--noprofile", option) for option in words[1 : index + 1]):
                into.doubts.append("the options of a shell are not followed")
            _unwrap_text(text, into, depth)
            return
    into.doubts.append("a shell takes its program from elsewhere")


def _unwrap_find(words: Sequence[str], into: ParsedScript, depth: int) -> None:
    """Read what `find` runs for each file."""
    for index, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = list(words[index + 1 :])
            ends = [position for position, part in enumerate(rest) if part in (";", "+")]
            # an unquoted `;` ends the command for the shell: `find` gets none and fails
            inner = rest[: ends[0]] if ends else rest
            _unwrap(SimpleCommand(tuple(DYNAMIC if "{}" in part else part for part in inner)), into, depth + 1)


_DOUBTED_BUILTINS = frozenset(
    {"eval", "source", ".", "trap", "enable", "alias", "bind", "complete", "compgen", "compopt", "fc", "hash", "let"}
    | {"shopt", "coproc", "case", "select", "function"}
)
"""Builtins that run what is written elsewhere or later, or change what a name means."""

_NAMING_BUILTINS = frozenset({"read", "mapfile", "readarray", "getopts", "wait", "unset", "printf"})
"""Builtins of which a word may be a variable's name; a subscript in it is evaluated."""

_DECLARING_BUILTINS = frozenset({"declare", "typeset", "local", "export", "readonly"})
_SET_OPTIONS = re.compile(
    r"[-+][eufxvnC]+o?|pipefail|errexit|nounset|noglob|noclobber|xtrace|verbose|noexec|[-+]o|--"
)
_ARITHMETIC_TESTS = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "=~"})


def _builtin_doubt(words: Sequence[str], *, nested: bool) -> str:
    """Return why a builtin of the shell cannot be followed; empty where it can, or the command is none."""
    name, rest = words[0], words[1:]
    if name in _DOUBTED_BUILTINS:
        return f"{name} is not followed"
    unknown = any(DYNAMIC in word for word in rest)
    if name == "set" and not all(
        map(_SET_OPTIONS.fullmatch, rest[: list(rest).index("--")] if "--" in rest else rest)
    ):
        return "an option of the shell is changed"
    if name == "jobs" and rest:
        return "jobs may run a command"
    if name == "[[" and not _ARITHMETIC_TESTS.isdisjoint(rest):
        return "a comparison evaluates what a variable holds"
    if name in ("test", "[") and (unknown or "-v" in rest or "-R" in rest):
        return "a test may evaluate what a variable holds"
    if name == "printf" and not (rest and (rest[0].startswith("-v") or DYNAMIC in rest[0])):
        return ""
    if name in _NAMING_BUILTINS:
        if unknown or any("[" in word or word.startswith("-C") for word in rest):
            return f"{name} may evaluate what a variable holds"
        return next((doubt for word in rest if (doubt := _assignment_doubt(word.removeprefix("-v") + "="))), "")
    if name in _DECLARING_BUILTINS:
        options = [word for word in rest if word.startswith(("-", "+"))]
        if any("[" in word.split("=")[0] or DYNAMIC in word.split("=")[0] for word in rest) or (nested and unknown):
            return f"{name} may evaluate what a variable holds"
        if any(not re.fullmatch(r"-[grxp]+", option) for option in options):
            return f"the options of {name} are not followed"
        exported = name == "export" or any("x" in option for option in options)
        texts = [word if "=" in word else word + "=" for word in rest if word not in options]
        return next((doubt for text in texts if (doubt := _assignment_doubt(text, exported=exported))), "")
    return ""


_RISKY_VARIABLE = re.compile(
    r"PATH|LD_\w*|DYLD_\w*|ENV|IFS|SHELLOPTS|PS\d|PROMPT_COMMAND|SHELL|HOME|CDPATH|GLOBIGNORE|EXECIGNORE|POSIXLY_CORRECT|"
    # the shell's own numbers: what is assigned to them is evaluated as arithmetic
    r"RANDOM|SRANDOM|SECONDS|LINENO|HISTCMD|OPTIND|EPOCH\w*|BASH\w*|COMP_\w*|DIRSTACK|GROUPS|FUNCNAME|HIST\w*|FIGNORE|"
    r"EDITOR|VISUAL|FCEDIT|\w*PAGER|LESS\w*|BROWSER|GIT_\w*|PYTHON\w*|NODE_\w*|NPM_\w*|npm_\w*|PERL\w*|RUBY\w*|JAVA_\w*|"
    r"_JAVA\w*|JDK_\w*|MAVEN_\w*|GRADLE_\w*|CC|CXX|AR|LD|AS|MAKE\w*|GNUMAKEFLAGS|MFLAGS|RUST\w*|CARGO_\w*|GO\w*|PIP_\w*|"
    r"UV_\w*|SSH_\w*|SUDO_\w*|TAR_\w*|TAPE|RSH|RSYNC_\w*|XDG_\w*|TMPDIR|TERMINFO\w*|GCONV_PATH|LOCPATH|NLSPATH|"
    r"GLIBC_\w*|MALLOC_\w*|GCC_\w*|COMPILER_PATH|OPENSSL_\w*|CURL_\w*|WGETRC|DOCKER_\w*|KUBE\w*|PYTEST_\w*|TOX_\w*|"
    r"\w*_PROXY|\w*_proxy|VIM\w*|EXINIT|MAN\w*|TEX\w*|AWK\w*|FZF_\w*|RIPGREP_\w*|ZDOTDIR|LUA_\w*|PHP\w*",
    re.ASCII,
)
"""Variables that make a program run another, or another program be the one that is named."""

_HARMLESS_VARIABLE = re.compile(
    r"[A-Z]|[a-z_][a-z0-9_]*|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|CI|DEBUG|VERBOSE|"
    r"QUIET|PORT|HOST|RUST_LOG|RUST_BACKTRACE|NODE_ENV|RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|GO111MODULE|GOOS|GOARCH|"
    r"CGO_ENABLED|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONIOENCODING|PYTHONUTF8|GIT_TERMINAL_PROMPT|"
    r"GIT_AUTHOR_\w+|GIT_COMMITTER_\w+|SOURCE_DATE_EPOCH|TEST_\w+",
    re.ASCII,
)
"""Variables that may be set for a program without a question. Any other one could be what makes it run another."""


def _assignment_doubt(assigned: str, *, exported: bool = False) -> str:
    """Return why a variable may change what runs; empty where it does not. `exported`: a program is given it."""
    name = re.match(r"[^=+\[]*", assigned)
    text = name[0] if name else ""
    if "[" in assigned.split("=", 1)[0]:
        return "a subscript may evaluate what a variable holds"
    risky = _RISKY_VARIABLE.fullmatch(text) and not _HARMLESS_VARIABLE.fullmatch(text)
    if exported:
        risky = not _HARMLESS_VARIABLE.fullmatch(text) or text.startswith("npm_") or text.endswith("_proxy")
    return f"{text} may change what runs" if risky or text.startswith("npm_") else ""


def possible_commands(simple: SimpleCommand) -> Iterator[tuple[str, ...]]:
    """Yield what a command may run besides what its first words say: behind a carrier, or behind options."""
    words = simple.words
    name = program_name(words[0]) if words else ""
    if name != name.lower():  # some file systems do not tell them apart
        yield (name.lower(), *words[1:])
    row = CARRIERS.get(_row_name(name)) if words else None
    if words and (name in _WRAPPERS or (row is not None and (row.remote or carrying_words(words)))):
        for index in range(1, min(len(words), _MAX_RESTS)):
            rest = words[index:]
            # which of its words is the program only the carrier knows: each may be
            yield (program_name(rest[0]), *rest[1:])
            # a whole command in one word, as for `watch` or `ssh`, or behind an option: `--to-command=rm x`
            for text in dict.fromkeys(
                (rest[0], re.sub(r"^[-+:\w]*[=!]", "", rest[0]), rest[0].rpartition("exec=")[2])
            ):
                if " " in text or text != rest[0]:
                    for inner in parse_script(text).commands:
                        if inner.words:
                            yield (program_name(inner.words[0]), *inner.words[1:])
    if len(words) > 1 and words[1].startswith("-"):  # `git -C . push`
        for index in range(2, min(len(words), _MAX_RESTS)):
            yield (name, *words[index:])


def wraps_commands(program: str) -> bool:
    """Return whether a program runs the one that its words name."""
    name = _row_name(program)
    return name in _WRAPPERS or (name in CARRIERS and CARRIERS[name].wraps)

"""Programs that run other programs: what a star in a rule does not stand for, with an example for each row."""

from __future__ import annotations

import pytest

from hudkit.agent.permissions import PermissionRule, Permissions
from hudkit.agent.shell_carriers import CARRIERS
from hudkit.agent.tools import RequiredPermission

EXAMPLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "git": (
        (
            "git submodule foreach 'rm x'",
            "git bisect run rm x",
            "git -c alias.z='!rm x' z",
            "git z",
            "git $VERB",
            "git config alias.z '!rm x'",
            "git config core.fsmonitor 'rm x'",
            "git config --global core.pager 'rm x'",
            "git config core.hooksPath evil",
            "git config core.editor 'rm x'",
            "git config core.sshCommand 'rm x'",
            "git --exec-path=evil status",
            "git --config-env=alias.z=X z",
            "git --git-dir=evil status",
            "git -p log",
            "git filter-branch --msg-filter 'rm x'",
            "git difftool -x 'rm x'",
            "git mergetool",
            "git daemon",
            "git for-each-repo rm",
            "git hook run x",
            "git send-email x",
            "git help -w log",
            "git lfs install",
            "git submodule update",
            "git archive --output=.envrc HEAD",
            "git maintenance start",
            "git svn fetch",
        ),
        (
            "git status",
            "git -C sub log --oneline",
            "git commit -m 'a b'",
            "git config --get user.name",
            "git --version",
            "git --no-pager log -5",
            "git bisect good",
            "git submodule status",
            "git add -- $FILES",
            "git stash list",
        ),
    ),
    "git grep": (
        ("git grep -Orm x", "git grep -nOrm x", "git grep --open-files-in-pager=rm x", "git grep --open=rm x"),
        ("git grep -n x", "git grep -e O"),
    ),
    "git fetch": (
        (
            "git fetch --upload-pack='rm x' .",
            "git ls-remote --upload-pac='rm x' .",
            "git push --exec='rm x' a",
            "git pull --receive='rm x'",
            "git fetch ext::'rm x'",
            "git remote add a foo://x",
            "git pull -s evil",
        ),
        ("git fetch origin", "git pull --ff-only https://a/b main", "git remote -v", "git push -u origin x"),
    ),
    "git clone": (
        (
            "git clone -u 'rm x' . y",
            "git clone -c core.fsmonitor=rm a b",
            "git clone --template=evil a b",
            "git clone ext::rm b",
            "git clone --conf a=b c",
        ),
        ("git clone https://a/b", "git clone --depth 1 git@a:b"),
    ),
    "git init": (("git init --template=evil", "git init --templ evil"), ("git init", "git init -b main x")),
    "git merge": (("git merge -s evil x", "git revert --strategy=evil x"), ("git merge main", "git merge --no-ff x")),
    "git rebase": (
        ("git rebase -x 'rm x' main", "git rebase --exec 'rm x' main", "git rebase -i main", "git rebase --ex=rm"),
        ("git rebase main", "git rebase --continue"),
    ),
    "git diff": (
        ("git diff --ext-diff", "git log --ext", "git show --output=.envrc", "git diff --outp .envrc x"),
        ("git diff --stat", "git log --oneline --graph", "git show HEAD~1"),
    ),
    "git am": (("git am -i x", "git apply --directory=.git x"), ("git apply x.patch", "git am x.mbox")),
    "tar": (
        (
            "tar --checkpoint=1 --checkpoint-action=exec='rm x' -cf a b",
            "tar xf a --to-command='rm x'",
            "tar -I 'rm x' -cf a b",
            "tar cIf rm a b",
            "tar --use-compress='rm x' -cf a b",
            "tar -F rm -cf a b",
            "tar --rsh-command=rm -xf h:a",
            "tar xf host:a",
            "tar cf a *",
            "tar --checkpoint-act=exec=rm -cf a b",
        ),
        ("tar xf a.tgz", "tar -czf a.tgz b", "tar tf a"),
    ),
    "sed": (
        (
            "sed 1e f",
            "sed '1e rm x' f",
            "sed 's/a/rm/e' f",
            "sed -e p -e 'e rm' f",
            "sed 'w .envrc' f",
            "sed 's/a/b/w .envrc' f",
            "sed -f x f",
            "sed --file=x f",
            "sed -i s/a/b/ f",
            "sed -n '/a/{e rm\n}' f",
            'sed "${N}p" f',
            "sed -ne1erm f",
        ),
        ("sed -n 1,5p f", "sed 's/a/b/g' f", "sed -E 's|a+|b|; $d' f", "sed -e 3d -e s,x,y,2 f", "sed '/a/,/b/d' f"),
    ),
    "awk": (("awk 'BEGIN{system(\"rm x\")}'", "gawk '{print | \"rm x\"}' f", "sqlite3 a '.shell rm x'", "ed f"), ()),
    "make": (
        (
            "make -f x",
            "make -f -",
            "make SHELL=./evil",
            "make CC=./evil all",
            "make --eval='x:;rm x' x",
            "make -C evil",
            "make --fil x",
        ),
        ("make", "make test", "make -j4 build"),
    ),
    "ninja": (
        ("ninja -f x", "just --justfile x y", "gradle --file=x"),
        ("ninja all", "pytest -q tests", "cargo build"),
    ),
    "npm": (
        (
            "npm exec rm",
            "npm run x",
            "npm test",
            "npm install",
            "npm exec -c 'rm x'",
            "npm --prefix ls exec rm",
            "yarn x",
            "pnpm dlx x",
        ),
        ("npm ls", "yarn why x", "npm --version"),
    ),
    "bun": (("bun x rm", "bun run x"), ("bun --version",)),
    "deno": (("deno run x.ts", "deno eval x"), ("deno fmt",)),
    "npx": (("npx -c 'rm x'", "npx --call 'rm x'"), ("npx prettier f",)),
    "pip": (("pip install x", "pip3 install .", "pip --python x list"), ("pip list", "pip3 show x")),
    "uv": (("uv run rm x", "poetry run rm x", "uv --directory evil run x"), ("uv tree", "uv version")),
    "cargo": (
        ("cargo --config x build", "cargo run", "cargo install x", "cargo +evil build"),
        ("cargo build", "cargo test"),
    ),
    "go": (
        (
            "go test -exec rm ./...",
            "go run x.go",
            "go generate",
            "go build -toolexec rm",
            "go env -w GOFLAGS=x",
            "go tool x",
        ),
        ("go test ./...", "go build", "go vet ./..."),
    ),
    "docker": (
        ("docker run x rm y", "kubectl exec x -- rm y", "docker --config evil ps", "docker compose up"),
        ("docker ps", "kubectl logs x"),
    ),
    "gcc": (
        ("gcc -wrapper rm x.c", "gcc -fplugin=x x.c", "gcc -Bevil x.c", "gcc @x", "gcc -specs=x x.c"),
        ("gcc -Wall -O2 -c x.c", "gcc-12 -c x.c"),
    ),
    "python": (
        ("python -c 'x'", "python3 -Ic x", "python3.12 -", "python", "python3 <x"),
        ("python x.py", "python3 -m pytest"),
    ),
    "perl": (("perl -e x", "perl -we x", "perl -Mevil x.pl", "perl -i.bak x f", "perl"), ("perl x.pl",)),
    "ruby": (("ruby -e x", "ruby -revil x.rb", "lua -", "lua5.4 -l x"), ("ruby x.rb",)),
    "php": (("php -r x", "php -d a=b x.php", "php"), ("php x.php",)),
    "node": (
        ("node -e x", "node --eval x", "node -p x", "node --require ./x y.js", "node --imp ./x y.js", "node"),
        ("node x.js",),
    ),
    "r": (("R -e x", "Rscript -e x", "Rscript -"), ("Rscript x.R",)),
    "java": (("java -javaagent:x y", "java -XX:OnError=rm y", "java @x"), ("java -jar x.jar",)),
    "find": (
        (
            "find . -fprintf .envrc x",
            "find . -delete",
            "find . -fls x",
            "find . -exec rm {} +",
            "find . -execdir rm {} ';'",
            "find . -ok rm {} ';'",
            "find . $X",
            "find . -exec sh -c 'rm x' ';'",
        ),
        ("find . -name '*.py'", "find . -type f -newer x"),
    ),
    "eslint": (
        ("eslint -c x.js src", "eslint --config x src", "eslint --rulesdir x src", "eslint -f ./x src"),
        ("eslint src",),
    ),
    "prettier": (("prettier --plugin ./x f", "prettier --config x f"), ("prettier --check src",)),
    "mypy": (("mypy --config-file x src",), ("mypy src",)),
    "pylint": (("pylint --init-hook x src", "pylint --load-plugins x src"), ("pylint src",)),
    "sphinx-build": (
        ("sphinx-build -c x docs out", "sphinx-build -D extensions=x docs out"),
        ("sphinx-build docs out",),
    ),
    "tcpdump": (("tcpdump -z rm -r x", "tcpdump -w f"), ("tcpdump -r x",)),
    "fd": (("fd -x rm", "fd --exec rm", "fdfind -X rm"), ("fd x",)),
    "sort": (
        (
            "sort -o f g",
            "sort -no f g",
            "sort --output=f g",
            "sort --out f g",
            "sort --compress-program=rm f",
            "sort --comp rm f",
            "sort $X",
        ),
        ("sort -n f", "sort -k2 -t, f"),
    ),
    "split": (("split --filter='rm x' f", "split --fil='rm x' f"), ("split -l 5 f",)),
    "rg": (("rg --pre rm x", "rg --pre=rm x", "rg --hostname-bin rm x"), ("rg -n x src",)),
    "ag": (("ag --pager rm x", "bat --pager='rm x' f"), ("bat f",)),
    "less": (("less '+!rm x' f", "less -o .envrc f", "less --lesskey-src=x f", "more +x f"), ("less f",)),
    "man": (("man -P 'rm x' ls", "man --pager='rm x' ls", "man -H'rm x' ls", "man -C x ls"), ("man ls",)),
    "vim": (("vim -c '!rm x'", "vim +'!rm x' f", "nvim --cmd x", "vim -es -S x", "vi -u x f"), ("vim f",)),
    "emacs": (("emacs --eval x", "emacs -l x", "emacs --batch x", "emacs --scr x"), ("emacs f",)),
    "nano": (("nano -s rm f", "nano --speller=rm f"), ("nano f",)),
    "gdb": (
        ("gdb -ex 'shell rm x'", "gdb -batch -x f", "gdb --eval-command='shell rm'", "gdb --args rm x"),
        ("gdb ./a",),
    ),
    "ssh": (("ssh -o ProxyCommand='rm x' h", "ssh -oProxyCommand=rm h", "ssh -F x h"), ("ssh h ls",)),
    "scp": (("scp -S rm a b:", "sftp -b x h", "scp -o ProxyCommand=rm a b:"), ("scp a b:c",)),
    "rsync": (
        ("rsync -e 'rm x' a b:", "rsync -ave rm a b:", "rsync --rsh=rm a b:", "rsync --log-file=.envrc a b"),
        ("rsync -av a b",),
    ),
    "curl": (
        ("curl -K x", "curl -o .envrc u", "curl -sSLo x u", "curl -O u", "curl --output x u", "curl --dump x u"),
        ("curl -sS https://a",),
    ),
    "wget": (("wget -e x u", "wget -O .envrc u", "wget --use-ask=rm u"), ("wget https://a",)),
    "zip": (("zip -TT 'rm x' a b", "zip -T --unzip-command 'rm x' a b"), ("zip a b",)),
    "cpio": (("cpio --rsh-command=rm -F h:a", "cpio -F h:a"), ("cpio -o",)),
    "install": (("install --strip-program=rm -s a b", "install --strip-pr=rm a b"), ("install -m 644 a b",)),
    "nc": (("nc -e rm h 1", "ncat --sh-exec rm h 1", "socat - EXEC:rm", "socat SYSTEM:rm -"), ("nc -z h 1",)),
    "psql": (("psql -c '\\! rm x'", "mysql -e 'system rm x'", "mysql --pager=rm", "psql -f x"), ("psql db",)),
    "openssl": (("openssl x -engine ./evil", "openssl rand -out .envrc 1"), ("openssl version",)),
    "sudo": (
        (
            "sudo rm x",
            "sudo -u me ls",
            "watch 'rm x'",
            "strace rm",
            "flock l rm x",
            "parallel rm ::: x",
            "chroot / rm",
            "nsenter -t 1 rm",
            "start-stop-daemon -S -x /bin/rm",
            "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
            "ld.so /bin/rm",
            "busybox rm x",
            "tmux new rm",
            "systemd-run rm x",
            "unshare rm x",
            "taskset 1 rm",
            "setarch rm",
            "script -c 'rm x'",
            "at now",
            "crontab x",
            "su -c 'rm x'",
        ),
        (),
    ),
}
"""By program: what `PROGRAM *` must not cover, and what it does."""


def verdict(rules: tuple[PermissionRule, ...], command: str) -> str:
    return Permissions(rules).verdict(RequiredPermission("bash", (command,))).action


def star(*programs: str) -> tuple[PermissionRule, ...]:
    return tuple(PermissionRule("bash", f"{program} *", "allow") for program in programs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "action"),
    [
        *[(command, "ask") for asked, _ in EXAMPLES.values() for command in asked],
        *[(command, "allow") for _, allowed in EXAMPLES.values() for command in allowed],
    ],
)
def test_a_star_does_not_stand_for_what_makes_a_program_run_another(command: str, action: str) -> None:
    assert verdict(star(command.split()[0]), command) == action


def test_every_row_has_an_example() -> None:
    assert [name for name in EXAMPLES if name not in CARRIERS] == []
    shown = {id(CARRIERS[name]) for name in EXAMPLES}
    assert [name for name, row in CARRIERS.items() if id(row) not in shown] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [command for asked, _ in EXAMPLES.values() for command in asked if "rm" in command]
)
def test_a_denied_command_is_asked_about_or_denied_behind_a_carrier(command: str) -> None:
    rules = (PermissionRule("bash", "*", "allow"), PermissionRule("bash", "rm *", "deny"))
    assert verdict(rules, command) in ("ask", "deny")


@pytest.mark.parametrize("command", ["sort -o f g", "sed -i s/a/b/ f", "find . -fprintf f x", "curl -o f u"])
def test_a_rule_for_all_commands_beside_one_that_denies_covers_no_written_file(command: str) -> None:
    everything = PermissionRule("bash", "*", "allow")
    assert verdict((everything, PermissionRule("bash", "rm *", "deny")), command) == "ask"
    assert verdict((everything,), command) == "allow", "who allows all is taken at the word"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git submodule *", "git submodule foreach ls"),
        ("git config *", "git config alias.z '!ls'"),
        ("git rebase -x *", "git rebase -x 'make test' main"),
        ("sort -o *", "sort -o f g"),
        ("npm run *", "npm run build"),
        ("npm test", "npm test"),
        ("pip install *", "pip install x"),
        ("python -c *", "python -c 'print(1)'"),
        ("sed -i *", "sed -i s/a/b/ f"),
        ("sudo ls *", "sudo ls -l"),
        ("make -C docs *", "make -C docs html"),
        ("tar cIf rm a b", "tar cIf rm a b"),
        ("awk '{print ?1}' f", "awk '{print $1}' f"),
    ],
)
def test_a_rule_that_writes_it_out_covers_it(rule: str, command: str) -> None:
    assert verdict((PermissionRule("bash", rule, "allow"),), command) == "allow"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        # what looks like arithmetic and is not, and what arithmetic evaluates
        "ls $((rm x) )",
        "ls $((rm x); (ls))",
        "n='x[$(rm x)]'; ls -$((n))",
        "ls $((n))",
        "ls $((1 + $(rm x)))",
        'ls "$((n))"',
        "ls $[n]",
        "((n))",
        "let n",
        "for ((n; ; )); do ls; done",
        "ls $((1)+(n))",
        "ls ${b[n]}",
        "ls ${HOME:n}",
        "ls ${HOME:0:n}",
        "x='a[$(rm x)]'; ls ${!x}",
        "ls ${x@P}",
        "ls ${b[$(rm x)]}",
        "ls ${#b[n]}",
        "b[n]=1 ls",
        "ls ${x:-'$(rm x)'}",
        "ls ${x:-<(rm x)}",
        # what takes a variable's name
        "for PATH in ./evil; do ls; done",
        "for SECONDS in 'a[$(rm x)]'; do ls; done",
        "select x in a; do ls; done",
        "for x do rm y; done",
        "read PATH <<< ./evil; ls",
        "read 'a[$(rm x)]' <<< 1",
        "mapfile -C 'rm x' -c 1 a <<< 1",
        "readarray 'a[$(rm)]'",
        "printf -v PATH ./evil; ls",
        "printf -v 'a[$(rm x)]' 1",
        "printf $x",
        "test -v 'a[$(rm x)]'",
        "[ -v $x ]",
        "[[ -v $x ]]",
        "[[ $x -eq 1 ]]",
        "unset 'a[$(rm x)]'",
        "declare 'a[$(rm x)]=1'",
        "declare -i x=n",
        "declare $x",
        "declare -n x=PATH",
        "export PATH=./evil",
        "export $x",
        "command export A=$x",
        "local IFS=x",
        "readonly BASH_ENV=x",
        "typeset PATH=.",
        "hash -p ./evil/ls ls; ls",
        "getopts a 'b[$(rm)]'",
        "wait -p 'a[$(rm)]'",
        "let 'a[$(rm)]'",
        ": ${PATH:=./evil}",
        "{PATH}>&1 ls",
        "SECONDS='a[$(rm x)]'",
        "RANDOM=n",
        "OPTIND=n",
        "HISTCMD=n",
        # variables that make a program run another
        "MAKEFILES=x ls",
        "GIT_SSH_COMMAND='rm x' ls",
        "BASH_ENV=x ls",
        "PYTEST_ADDOPTS=x ls",
        "LESSOPEN='|rm x' ls",
        "npm_config_shell=x ls",
        "DJANGO_SETTINGS_MODULE=x ls",
        "env PERL5OPT=-Mevil ls",
        "export RUBYOPT=-revil",
        "LD_PRELOAD=x ls",
        "set -a; PYTHONPATH=x; ls",
        # other ways for the shell to run what is written elsewhere
        "command eval 'r''m x'",
        "builtin eval $X",
        "jobs -x rm x",
        "compgen -C 'rm x'",
        "complete -C rm ls",
        "bind -x a",
        "shopt -s expand_aliases",
        "set -k; ls PATH=.",
        "set $x",
        "exec $X",
        "enable -f x y",
        "cd evil; ./ls",
        "env -C evil ./ls",
        "env -S'rm x'",
        "env -i git status",
        "env -u GIT_CONFIG_COUNT git -C sub status",
        "env -u GIT_CONFIG_COUNT rm x",
        "unset GIT_CONFIG_COUNT; rm x",
        "env -S 'rm x'",
        "env - rm x",
        "env -u A - A=1 rm x",
        "time -o out rm x",
        "sh -c 'time -v rm x'",
        "timeout $X rm",
        # what is one word to us and another to bash
        "git {push,origin}",
        "ls r{m,} | git p[u]sh",
        "A\\\n=1 rm x",
        "i\\\nf rm x; then ls; fi",
        "ls $\\\n(rm x)",
        "cat <<E\na\\\nE\n$(rm x)\nE\n",
        "'A=1' ls",
        '"A"=1 ls',
        "echo $(ls # '\n); rm x; echo ')",
        "(ls))",
        'cat <<E "a\nE\n"$(rm x)\nE\n',
        ">x if ls",
        "ls\u00a0x",
        "zsh -c 'ls'",
        "fish -c 'ls (rm x)'",
        "bash --rcfile x -ic ls",
        "bash -O extglob -c ls",
    ],
)
def test_what_bash_may_evaluate_is_asked_about(command: str) -> None:
    few = star(
        "ls",
        "cat",
        "git",
        "echo",
        "printf",
        "test",
        "[",
        "[[",
        "read",
        "cd",
        "declare",
        "export",
        "for",
        "set",
        "unset",
        ":",
        "let",
    )
    deny = (
        PermissionRule("bash", "*", "allow"),
        PermissionRule("bash", "rm *", "deny"),
        PermissionRule("bash", "git push *", "deny"),
    )
    assert verdict(few, command) != "allow"
    assert verdict(deny, command) != "allow" or ("rm" not in command and "push" not in command)


@pytest.mark.parametrize(
    "command",
    [
        "echo $((1 + 2))",
        'echo "$(( (3+4) * 2 ))"',
        "echo ${x:-a} ${x%.py} ${#x} ${x:1:2} ${x/a/b} ${x^^} ${x[@]}",
        "echo ${x:?no}",
        "ls HEAD@{1}",
        "for x in *.py; do ls $x; done",
        "for x in a b\ndo ls\ndone",
        "x=1; echo $x",
        "OUT=$(ls); echo $OUT",
        "export A=1; ls",
        "NO_COLOR=1 LC_ALL=C ls",
        "nice -n 5 ls",
        "timeout -s KILL 5 ls",
        "ls | xargs -n1 ls",
        "ls | xargs -I{} ls {}",
        "env -u LANG A=1 ls",
        "stdbuf -oL ls",
        "command ls",
        "set -euo pipefail; ls",
        "read -r x < f",
        "printf '%s\\n' $x",
        "[ -f x ] && ls",
        "[[ -n $x ]] && [[ $x == a* ]] && ls",
        "ls; find . -name x -exec ls {} +",
        "(ls; ls)",
        "ls \\\n  -l",
        "cat <<E\n$x\nE\n",
        "cat <<'E'\n$((n))\nE\n",
        "echo $(ls $(ls))",
        "ls # it's",
        "declare x=1",
        "ls 2>&1 | cat",
        "! ls",
        "time ls",
    ],
)
def test_what_is_plain_to_bash_is_allowed(command: str) -> None:
    few = star("ls", "cat", "echo", "find", "printf", "[", "[[", "read", "set", "export", "declare")
    assert verdict(few, command) == "allow"

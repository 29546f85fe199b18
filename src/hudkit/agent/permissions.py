"""What tools may do: rules by tool and pattern, of which the last that matches decides; a callback asks the user.

A path is judged by all its names (as given, and without links): one denied name denies, and all must be allowed.

A command is judged by every simple command in it: one denied denies the whole, and all must be allowed. For a simple
command the rules are read from the last to the first. The first of them that surely matches decides; but if a later
rule that denies or asks *may* match (a part of the command is not known before it runs, or the program may run
another), an allowing rule behind it becomes a question. What the reader of commands could not follow is a question
wherever a rule is about particular commands. With the rules

    1  bash *           ask
    2  bash git *       allow
    3  bash git push *  deny

    git status            2 decides: allow
    git push origin       3 decides: deny
    git $VERB             3 may match, 2 matches: ask
    git status && rm -r x ask, because 1 decides the second command
    env git push          deny: `env` runs the command behind it
    xargs git push        deny: what it runs is denied by 3
    git bisect run make   ask: a star does not stand for what makes a program run another (`shell_carriers`)
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.shell_carriers import (
    DIRECTORY_CHANGERS,
    carrying_words,
    possible_commands,
    program_name,
    rule_writes_out,
    unwrap_script,
    wraps_commands,
)
from hudkit.agent.shell_parser import DYNAMIC, SimpleCommand, parse_script
from hudkit.agent.tools import RequiredPermission
from hudkit.agent.wildcard import matches_path, matches_wildcard, wildcards_overlap
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, ToolRefused

PermissionAction: TypeAlias = Literal["allow", "ask", "deny"]

ACTIONS = ("allow", "ask", "deny")

PATH_KINDS = frozenset({"read", "edit", "glob", "grep", "outside"})
"""Kinds whose patterns are over paths; those of `bash` are over words, and all others over names."""

_NOBODY = "nobody is there to be asked"

_MAX_STEPS = 1_000_000
"""Steps of comparing a command with the rules; a command that would need more is asked about."""


class PermissionRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule: `tool` is a tool's name or a pattern of names; `pattern` is one of paths, of words or of names.

    What leads out of the project is allowed only by a rule that names `outside`: a pattern that allows all tools does
    not mean it.
    """

    tool: str
    pattern: str
    action: PermissionAction


DEFAULT_RULES: tuple[PermissionRule, ...] = (
    # first what is harmless: rules behind it narrow it, as the last match decides
    PermissionRule("*", "*", "allow"),
    PermissionRule("bash", "*", "ask"),
    PermissionRule("webfetch", "*", "ask"),
    PermissionRule("outside", "**", "ask"),
    PermissionRule("read", "*.env", "ask"),
    PermissionRule("read", "*.env.*", "ask"),
    # behind the rule that it is an exception to
    PermissionRule("read", "*.env.example", "allow"),
    # the agent has no business there: git's own commands do what is to be done
    PermissionRule("edit", "**/.git/**", "deny"),
    PermissionRule("edit", ".git/**", "deny"),
    PermissionRule("edit", "**/.git", "deny"),
)
"""What holds where nobody says otherwise: work in the project, ask for commands and for what is outside of it."""


PROTECTED_PATHS: Mapping[str, tuple[str, ...]] = {
    "git runs programs that it names": (
        ".git", ".gitconfig", ".gitmodules", ".githooks", ".husky", ".lefthook", "lefthook.yml", ".lefthook.yml",
        ".pre-commit-config.yaml", ".overcommit.yml",
    ),
    "a shell runs it by itself": (
        ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
        ".zprofile", ".zlogin", ".config/fish", ".autoenv.zsh", ".mise.toml", "mise.toml", ".inputrc",
        ".config/autostart", ".config/systemd",
    ),
    "it says who may enter, or as whom": (".ssh", ".gnupg", ".netrc", ".npmrc", ".pypirc"),
    "an editor runs what it says": (
        ".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".exrc", ".nvimrc",
        ".nvim.lua", ".vimrc", ".dir-locals.el", "*.code-workspace", "*.sublime-project",
    ),
    "continuous integration runs what it says": (
        ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab", ".circleci", ".travis.yml",
        ".appveyor.yml", "appveyor.yml", "azure-pipelines.yml", ".azure-pipelines", "Jenkinsfile",
        "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".buildkite",
        ".gitea/workflows", ".forgejo/workflows", ".cirrus.yml", "cloudbuild.yaml", ".teamcity", ".semaphore",
    ),
    "it is what agents are told, or run": (
        ".hudkit", ".hudkit.toml", ".claude", ".opencode", "opencode.json", "opencode.jsonc", ".codex", ".cursor",
        ".cursorrules", ".mcp.json", "mcp.json", ".gemini", ".windsurf", ".windsurfrules", ".clinerules",
        ".continue", ".aider.conf.yml", ".roo", ".roomodes", ".amazonq", ".kiro", ".junie", ".agents", ".agent",
        ".pi", ".goosehints", ".github/copilot-instructions.md", ".github/instructions", ".github/prompts",
        "AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md",
    ),
}  # fmt: skip
"""Files that run, or steer what runs, without a command of the agent's: only a rule that names one allows writing it.

They stand by the reason; a name counts at any depth, and so does what is below it. What runs only when somebody runs
a command (`package.json`, `Makefile`, `pyproject.toml`) is not here: commands have rules of their own."""


class PermissionVerdict(msgspec.Struct, frozen=True):
    """What the rules say, and why in one line."""

    action: PermissionAction
    reason: str = ""


class PermissionRequest(msgspec.Struct, frozen=True):
    """A question for the user: what the call needs, why it is asked, and what `always` would allow."""

    session_id: str
    tool: str
    need: RequiredPermission
    reason: str = ""
    always: tuple[str, ...] = ()
    call_id: str = ""
    arguments: dict[str, Any] = {}


class PermissionReply(msgspec.Struct, frozen=True):
    """The user's answer, with a `message` for the model; `nobody`: there was nobody to be asked.

    `always` holds for the session and allows `pattern`, or what the question suggests where it is empty.
    """

    answer: Literal["once", "always", "reject", "nobody"]
    pattern: str = ""
    message: str = ""


AskUser: TypeAlias = Callable[[PermissionRequest], Awaitable[PermissionReply]]


async def reject_all(ask: PermissionRequest) -> PermissionReply:  # noqa: ARG001 (it answers all alike)
    """Return a refusal: the callback of a session that nobody watches."""
    return PermissionReply("nobody")


class Permissions:
    """The rules of one session. `always` answers become rules behind the others; what is denied stays denied."""

    def __init__(
        self,
        rules: Iterable[PermissionRule] = (),
        *,
        ask_user: AskUser = reject_all,
        workspace: Workspace | None = None,
    ) -> None:
        self._rules = (*DEFAULT_RULES, *rules)
        self._always: tuple[PermissionRule, ...] = ()
        self._ask_user = ask_user
        self._workspace = workspace
        self._turn = asyncio.Lock()

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """Return all rules: the defaults, those of the session, those of `always` answers."""
        return (*self._rules, *self._always)

    def verdict(self, need: RequiredPermission) -> PermissionVerdict:
        """Return what the rules say about a need. Never raises, asks nobody."""
        if need.kind == "bash":
            return self._judge_command(*need.values)
        return self._judge_names(need.kind, self._names(need))

    def hides(self, path: str) -> bool:
        """Return whether a file (relative to the project) may not be read unasked: searches pass over it."""
        return self._last_match("read", path).action != "allow"

    async def check(
        self,
        tool: str,
        needs: Sequence[RequiredPermission],
        *,
        session_id: str = "",
        call_id: str = "",
        arguments: dict[str, Any] | None = None,
        decide: Callable[[RequiredPermission], Awaitable[PermissionAction]] | None = None,
    ) -> bool:
        """Let a call through and return whether the user was asked about the tool, or raise `ToolRefused`.

        `decide` is asked before the user is (the hook `permission_ask`). Questions are asked one after the other; an
        answer that covers the next question spares it.
        """
        asked = False
        for need in needs:
            verdict = self.verdict(need)
            if verdict.action == "ask" and decide is not None:
                action = await decide(need)
                verdict = PermissionVerdict(action, verdict.reason if action == "ask" else "a plugin said no")
            if verdict.action == "ask":
                # one question at a time, and judged again: the answer before may have settled this one
                async with self._turn:
                    verdict = self.verdict(need)
                    if verdict.action == "ask":
                        always = self._suggested(need)
                        ask = PermissionRequest(
                            session_id, tool, need, verdict.reason, always, call_id, arguments or {}
                        )
                        verdict = await self._answered(ask)
                        # another question, such as one about the directory, is not about what is run
                        asked = asked or need.kind == tool
            if verdict.action == "deny":
                raise ToolRefused(
                    f"{tool} is not permitted: {verdict.reason}",
                    hint="Do it in another way that is permitted"
                    + ("" if verdict.reason.endswith(_NOBODY) else ", or ask the user"),
                )
        return asked

    async def _answered(self, ask: PermissionRequest) -> PermissionVerdict:
        try:
            # a program's own function: types are not checked while it runs
            reply = msgspec.convert(await self._ask_user(ask), PermissionReply, from_attributes=True)
        except Exception as error:  # a broken question is no permission
            return PermissionVerdict("deny", f"the question failed ({type(error).__name__})")
        if reply.answer == "always":
            patterns = (reply.pattern,) if reply.pattern else ask.always
            self._always += tuple(PermissionRule(ask.need.kind, pattern, "allow") for pattern in patterns)
        if reply.answer in ("once", "always"):
            return PermissionVerdict("allow")
        if reply.answer == "nobody":
            return PermissionVerdict("deny", f"{ask.reason}, and {_NOBODY}")
        remark = f": {shorten(visible(reply.message), 300)}" if reply.message else ""
        return PermissionVerdict("deny", f"the user said no{remark}")

    def _suggested(self, need: RequiredPermission) -> tuple[str, ...]:
        """Return patterns that match this need and little else; none where it is not known what a command does."""
        if need.kind != "bash":
            return tuple("*" if value == "*" else _literal_pattern(value) for value in self._names(need))
        script = unwrap_script(parse_script(need.values[0]))
        # a pattern for what is not known would allow more than was seen
        if script.doubts or any(simple.dynamic for simple in script.commands):
            return ()
        return tuple(
            dict.fromkeys(_literal_pattern(_command_line(simple.words)) for simple in script.commands if simple.words)
        )

    def _names(self, need: RequiredPermission) -> tuple[str, ...]:
        return need.values or ("",)

    def _judge_names(self, kind: str, values: Sequence[str]) -> PermissionVerdict:
        verdicts = [self._last_match(kind, value) for value in values]
        return _strictest(verdicts)

    def _last_match(self, kind: str, value: str) -> PermissionVerdict:
        for rule in reversed(self.rules):
            if _concerns(rule, kind) and _matches(kind, rule.pattern, value, exactly=rule.action == "allow"):
                # `always` to a directory must not reach a file in it that is denied
                if self._denied_before(rule, kind, value):
                    continue
                if kind == "edit" and rule.action == "allow" and (why := _protection(rule.pattern, value)):
                    shown = shorten(visible(value), 80)
                    return PermissionVerdict("ask", f'"{shown}" is written only where a rule names it: {why}')
                return PermissionVerdict(rule.action, _reason(rule, value))
        return PermissionVerdict("ask", "no rule is about it")

    def _denied_before(self, rule: PermissionRule, kind: str, value: str) -> bool:
        """Return whether an `always` answer is not to count, because the rules deny what it would allow."""
        if rule not in self._always:
            return False
        for other in reversed(self._rules):
            if _concerns(other, kind) and _matches(kind, other.pattern, value):
                return other.action == "deny"
        return False

    def _judge_command(self, command: str, path: str = ".") -> PermissionVerdict:
        script = unwrap_script(parse_script(command))
        rules = tuple(rule for rule in self.rules if matches_wildcard(rule.tool, "bash"))
        particular = any(rule.pattern.strip("*") for rule in rules)
        # worked out only where some rule needs them: most sessions have rules for all commands alone
        forms = [(simple, _rule_forms(simple) if particular else ((), ())) for simple in script.commands]
        size = sum(len(text) + 1 for _, both in forms for named in both for text in named)
        # the time of matching is text times pattern: a model can write a command of 100,000 characters
        if size * sum(len(rule.pattern) + 1 for rule in rules) > _MAX_STEPS:
            return PermissionVerdict("ask", "it is too long to be compared with the rules")
        if particular:
            verdicts = [self._judge_simple(simple, rules, *both) for simple, both in forms]
        else:
            verdicts = [_general_verdict(rules)]
        moves = any(
            simple.words and program_name(simple.words[0]) in DIRECTORY_CHANGERS for simple in script.commands
        )
        verdicts += [self._judge_write(target, path, moves) for target in script.writes]
        if not verdicts:
            verdicts.append(_general_verdict(rules))
        if script.doubts and particular:
            verdicts.append(
                PermissionVerdict("ask", f"it cannot be told what it does: {shorten(visible(script.doubts[0]), 120)}")
            )
        elif script.doubts:
            verdicts.append(_general_verdict(rules))
        return _strictest(verdicts)

    def _judge_simple(
        self, simple: SimpleCommand, rules: Sequence[PermissionRule], forms: Sequence[str], hidden: Sequence[str]
    ) -> PermissionVerdict:
        """Judge a simple command by the last rule that matches it.

        A later one that may deny or ask turns leave into a question. `forms` are the texts by which rules name the
        command, `hidden` those of what else it may be running.
        """
        if not simple.words:
            return PermissionVerdict("allow")  # an assignment; what it may change is a doubt
        shown = shorten(visible(" ".join(simple.words).replace(DYNAMIC, "…")), 80)
        runs = wraps_commands(simple.words[0])
        needed = carrying_words(simple.words)
        doubt = ""
        for rule in reversed(rules):
            # `/tmp/git` is not `git`: an allowing rule means the system's program, a denying one every program of
            # that name
            names = forms if rule.action != "allow" or _is_system_program(simple.words[0]) else forms[:1]
            if any(_surely_matches(rule.pattern, text) for text in names):
                # an answer of `always` does not lift what the rules deny
                if rule in self._always and _denies(self._rules, names):
                    continue
                # a later rule could deny or ask, as the unknown part turns out
                if doubt and rule.action == "allow":
                    return PermissionVerdict("ask", doubt)
                if rule.action == "allow" and not rule_writes_out(rule.pattern, needed):
                    return PermissionVerdict("ask", _carrier_reason(shown, needed, rule))
                return PermissionVerdict(rule.action, _reason(rule, shown))
            if rule.action == "deny" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                # `env git push` names in plain words what it runs: that is denied, not only doubted
                if runs and any(_surely_matches(rule.pattern, text) for text in hidden):
                    return PermissionVerdict("deny", f'"{shown}" runs what is denied ({rule.pattern})')
                doubt = doubt or f'"{shown}" may come to what is denied ({rule.pattern})'
            elif rule.action == "ask" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                doubt = doubt or f'"{shown}" may come to what is asked about ({rule.pattern})'
        return PermissionVerdict("ask", doubt or "no rule is about it")

    def _judge_write(self, target: str, path: str, moves: bool) -> PermissionVerdict:
        """Judge a redirection as `edit` would be; `moves`: the command changes its directory on the way."""
        if self._workspace is None or (moves and not target.startswith("/")):
            return PermissionVerdict("ask", f'it writes "{shorten(visible(target), 80)}"')
        try:
            # the shell opens it relative to the directory that the call names
            resolved = self._workspace.resolve(target if target.startswith("/") else f"{path}/{target}")
        # a path that cannot be used is the user's to judge, not a reason to fail
        except ToolRefused as error:
            return PermissionVerdict("ask", error.message)
        if not resolved.in_project:
            names = (str(resolved.real),)
            return _strictest([self._judge_names("edit", names), self._judge_names("outside", names)])
        return self._judge_names("edit", tuple(name for name in (resolved.display, resolved.lexical) if name))


def restrictive_rules(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Return those rules that a project may bring along before the user trusts it: they only ask or deny."""
    return tuple(rule for rule in rules if rule.action != "allow")


def parse_rules(table: object, where: str = "the permissions") -> tuple[PermissionRule, ...]:
    """Return rules from settings, in order: `{tool: action}` or `{tool: {pattern: action}}`. Raises `ConfigError`.

    `where` names the settings in errors.
    """
    if table in ACTIONS:
        return (PermissionRule("*", "*", table),)  # type: ignore[arg-type]
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table of tools", hint='Write bash = "ask"')
    rules = []
    for tool, inner in table.items():
        for pattern, action in (inner if isinstance(inner, dict) else {"*": inner}).items():
            if action not in ACTIONS:
                problem = f"{where}: {visible(str(tool))} has the action {shorten(visible(str(action)), 40)!r}"
                raise ConfigError(problem, hint="An action is allow, ask or deny")
            # over paths a single star would stop at the first `/`
            every = "**" if pattern == "*" and tool in PATH_KINDS else str(pattern)
            rules.append(PermissionRule(str(tool), every, action))
    return tuple(rules)


def _rule_forms(simple: SimpleCommand) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts by which rules name a command, and those of what else it may be running."""
    return tuple(map(_command_line, _command_forms(simple))), tuple(
        dict.fromkeys(map(_command_line, possible_commands(simple)))
    )


def _concerns(rule: PermissionRule, kind: str) -> bool:
    """Return whether a rule is about a kind; one that allows must name what leads out of the project."""
    return matches_wildcard(rule.tool, kind) and (kind != "outside" or rule.action != "allow" or rule.tool == kind)


def _matches(kind: str, pattern: str, value: str, *, exactly: bool = True) -> bool:
    """Return whether a pattern matches a value.

    Unless `exactly`, paths that a file system may take for the same match too: those that differ in case, or in how
    accents are written.
    """
    if pattern in ("*", "**"):
        return True
    if kind not in PATH_KINDS:
        return matches_wildcard(pattern, value)
    return matches_path(pattern, value) or (not exactly and matches_path(_case_folded(pattern), _case_folded(value)))


def _protection(pattern: str, path: str) -> str:
    """Return why a path is protected from a rule that does not name it; empty where it is not."""
    folded, segments = _case_folded(path), _case_folded(pattern).split("/")
    for why, names in PROTECTED_PATHS.items():
        for name in map(_case_folded, names):
            if matches_path(f"**/{name}", folded) or matches_path(f"**/{name}/**", folded):
                first = name.split("/")[0]
                # `*.code-workspace` is named by what follows the star
                if first[0] == "*":
                    segments = [first if part.endswith(first[1:]) else part for part in segments]
                if first not in segments:
                    return why
    return ""


def _case_folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _surely_matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a command whatever its unknown parts turn out to be."""
    if pattern == "*":
        return True
    bare = pattern.removesuffix(" *")
    return matches_wildcard(pattern, text) or (bare != pattern and matches_wildcard(bare, text))


def _may_match(pattern: str, text: str) -> bool:
    """Return whether a pattern could match a command, as its unknown parts may turn out."""
    if DYNAMIC not in text:
        return _surely_matches(pattern, text)
    # a star in the command itself is one character; the unknown part stands for anything
    template = text.replace("*", "?").replace(DYNAMIC, "*")
    bare = pattern.removesuffix(" *")
    return wildcards_overlap(pattern, template) or (bare != pattern and wildcards_overlap(bare, template))


def _denies(rules: Sequence[PermissionRule], names: Sequence[str]) -> bool:
    for rule in reversed(rules):
        if matches_wildcard(rule.tool, "bash") and any(_surely_matches(rule.pattern, text) for text in names):
            return rule.action == "deny"
    return False


def _is_system_program(program: str) -> bool:
    """Return whether a program's path is where the system has its own: its bare name means the same."""
    folder = program.rpartition("/")[0]
    return folder in ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


def _general_verdict(rules: Sequence[PermissionRule]) -> PermissionVerdict:
    """Return what the last rule about all commands says."""
    last = next((rule for rule in reversed(rules) if not rule.pattern.strip("*")), None)
    return (
        PermissionVerdict(
            last.action, f"every command is {_DONE[last.action]} (rule: bash {last.pattern} {last.action})"
        )
        if last
        else PermissionVerdict("ask", "no rule is about it")
    )


def _carrier_reason(shown: str, needed: Sequence[str], rule: PermissionRule) -> str:
    """Return why a rule with a star does not cover a command that may run another program, or write a file."""
    words = [visible(word) for word in dict.fromkeys(needed) if DYNAMIC not in word]
    what = f'"{shorten(" ".join(words), 60)}"' if words else "what is not known of it"
    pattern = shorten(visible(rule.pattern), 80)
    return f'{what} in "{shown}" may run a program or write a file, which the rule "{pattern}" does not name'


def _strictest(verdicts: Sequence[PermissionVerdict]) -> PermissionVerdict:
    # the actions are in the order of their strictness
    return max(verdicts, key=lambda verdict: ACTIONS.index(verdict.action))


_DONE = {"allow": "allowed", "ask": "asked about", "deny": "denied"}


def _reason(rule: PermissionRule, value: str) -> str:
    pattern = shorten(visible(rule.pattern), 80)
    return f'"{shorten(visible(value), 80)}" is {_DONE[rule.action]} (rule: {rule.tool} {pattern} {rule.action})'


def _command_forms(simple: SimpleCommand) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command as rules may name it: as it is, and with the bare name of its program."""
    yield simple.words
    name = program_name(simple.words[0]) if simple.words else ""
    if name and name != simple.words[0]:
        yield (name, *simple.words[1:])


def _command_line(words: Sequence[str]) -> str:
    """Return words as the text that patterns are compared with; a word with white space in it stands in quotes."""
    return " ".join(f"'{word}'" if not word or any(char.isspace() for char in word) else word for word in words)


def _literal_pattern(text: str) -> str:
    """Return a pattern that matches little but this text: each special character becomes `?`."""
    return "".join("?" if char in "*?[]{}" else char for char in text)

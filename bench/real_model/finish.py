"""Does it help to finish? Small tasks of several steps, with two compactions each, in hudkit's own loop.

A scripted model plays the work, so that hudkit records files, commands and steps by its own tools. After each
compaction the request that the loop sends is put to the real model, twice, each time with another question of the
user's in the place of "Go on.": four actions, of which one is right and three are each one kind of error.

    task  --play-->  the requests behind the two compactions  --ask-->  answers  --scores-->  a row for each arm

A small model likes some letters better than others, whatever stands behind them. So each question is asked four
times, with its options turned on by one, and the action with the highest product of its four probabilities is the
answer.

The tools' definitions are left out of what the model reads, in every arm. Each answer is a line of a file, known by
its prompt: a run that was cut off goes on where it stopped, and changed prompts are asked anew.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import count, permutations
from pathlib import Path
from random import Random
from shlex import quote
from time import perf_counter
from typing import Any, Protocol

import msgspec

from bench.real_model.repeatable import repeatable_clock, repeatable_hud, repeatable_ids
from bench.real_model.tasks import KINDS, PLACES, TASKS, Question, Task
from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, PermissionRule, hud_plugin
from hudkit.agent.hooks import ShellEnv, ShellVariables
from hudkit.models import AssistantMessage, CompletionRequest, TextContent, ToolResult, UserMessage
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

LETTERS = "ABCD"
SUMMARY_TOKENS = 130
TAIL_TOKENS = 150
"""What stays of the conversation word for word, where an arm keeps any of it."""

_PROMPT = "You are an agent that works on the user's task step by step, through tools."
_GO_ON = "Go on."
_NO_SUMMARY = "(There is no summary.)"
_PROJECT = "/home/sam/project"
_WINDOW = Window(32_768, 4_096, None, "host")


class Arm(msgspec.Struct, frozen=True):
    """What stands in front of the agent after a compaction, beside the system prompt and the user's message."""

    name: str
    hud: bool = False
    summary: bool = False
    tail: int = 0
    trimmed: bool = False
    """The session has no summaries: the oldest messages leave, and a line says how they are read."""


ARMS = (
    Arm("last messages", tail=TAIL_TOKENS),
    Arm("summary", summary=True),
    Arm("HUD", hud=True),
    Arm("HUD + last messages", hud=True, tail=TAIL_TOKENS),
)

TRIMMED_ARMS = (ARMS[1], Arm("without summaries", hud=True, tail=TAIL_TOKENS, trimmed=True))
"""What the mode without summaries is measured with: beside a summary, which it does without."""


class AskedModel(Protocol):
    """What is asked of a model's server (`bench.real_model.server.ModelServer`)."""

    def prompt(self, messages: Sequence[dict[str, Any]]) -> str: ...
    def complete(self, prompt: str, most: int, stop: Sequence[str] = ()) -> str: ...
    def letters(self, prompt: str, letters: str) -> dict[str, float]: ...
    def tokens(self, text: str) -> int: ...


class Row(msgspec.Struct, frozen=True):
    """An answer of the model, or a summary of its.

    `prompt` is a digest of what it read. `kind` is what was chosen (empty for a summary), `answer` the likeliest
    letter in each of the four orders, or the summary. `tokens` are those of one prompt.
    """

    prompt: str
    task: str
    arm: str
    place: str
    kind: str
    answer: str
    tokens: int
    seconds: float


# -- playing a task --------------------------------------------------------------------------------------------


def play(task: Task, arm: Arm, summarise: Callable[[CompletionRequest], str]) -> list[CompletionRequest]:
    """The requests of the first model call behind each of the two compactions, as the loop sends them.

    `summarise` writes the summaries of the arm that has one.
    """
    with tempfile.TemporaryDirectory(prefix="finish-") as folder:
        return asyncio.run(_play(task, arm, summarise, Path(folder)))


async def _play(
    task: Task, arm: Arm, summarise: Callable[[CompletionRequest], str], folder: Path
) -> list[CompletionRequest]:
    for path, text in task.files.items():
        file = folder / "project" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "agents").mkdir()
    (folder / "agents" / "worker.md").write_text(f"---\ndescription: Works\n---\n{_PROMPT}\n")
    programs = _programs(task, folder / "bin")

    def elsewhere(request: CompletionRequest) -> CompletionRequest:
        """The request as it were of another folder: a temporary one has another name in each run."""
        encoded = msgspec.json.encode(request).replace(str(folder / "project").encode(), _PROJECT.encode())
        return msgspec.json.decode(encoded, type=CompletionRequest)

    def summary(asked: CapturedRequest) -> ScriptedReply:
        return says(summarise(elsewhere(model.port_requests[asked.number])) if arm.summary else _NO_SUMMARY)

    model = InProcessModel(_replies(task, arm.hud), compaction=summary, name="local:small", window=_WINDOW)

    def add_programs(_: ShellEnv, output: ShellVariables) -> None:
        output.env["PATH"] = f"{programs}:/usr/bin:/bin"

    hud = repeatable_hud()
    loop = await AgentLoop.open(
        folder / "project",
        model,
        data=folder / "data",
        options=LoopOptions(
            agent="worker",
            user_agents=[folder / "agents"],
            plugins=[("programs", {"shell_env": add_programs}), *([("hud", hud_plugin(hud))] if arm.hud else [])],
            permissions=[PermissionRule("*", "*", "allow")],
            settings=LoopSettings(compact=False, prune=False, record=False, tail=arm.tail, summaries=not arm.trimmed),
            clock=repeatable_clock(),
            ids=repeatable_ids(),
        ),
    )
    try:
        behind = []
        for said in (task.request, _GO_ON, _GO_ON):
            if said == _GO_ON:
                await loop.compact()
                behind.append(len(model.port_requests))
            await loop.prompt(said)
        return [elsewhere(model.port_requests[place]) for place in behind]
    finally:
        await loop.close()
        hud.close()


def _replies(task: Task, hud: bool) -> list[ScriptedReply]:
    """What the scripted agent answers: the same words in every arm, and with the HUD what it records besides."""
    words = ["My plan:\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(task.steps, 1))]
    records = [
        _hud("task.set", text=task.goal),
        _hud("constraints.add", text=[*task.rules]),
        _hud("steps.add", text=[*task.steps]),
    ]
    replies = []
    for part in (task.first, task.second):
        for line in part:
            verb, _, rest = line.partition(" ")
            if verb == "done":
                words.append(f"Step {rest} is done.")
                records.append(_hud("steps.complete", item=int(rest)))
            elif verb == "decide":
                words.append(f"I decided: {task.decision[0]}, because {task.decision[1]}.")
                records.append(_hud("decisions.record", text=task.decision[0], details=task.decision[1]))
            else:
                calls = (*(records if hud else ()), _call(verb, rest))
                replies.append(ScriptedReply("\n".join(words), calls))
                words, records = [], []
        if hud and records:
            replies.append(ScriptedReply("\n".join(words), tuple(records)))
            words = []
        replies.append(says("\n".join([*words, "Shall I go on?"])))
        words, records = [], []
    return replies


def _hud(operation: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall("hud", {"operation": operation, **arguments})


def _call(verb: str, rest: str) -> ScriptedCall:
    if verb == "run":
        return ScriptedCall("bash", {"command": rest})
    path, _, text = rest.partition(" | ")
    return ScriptedCall(verb, {"path": path, **({"content": f"{text}\n"} if verb == "write" else {})})


def _programs(task: Task, folder: Path) -> Path:
    """Programs that print what the task's table says of a command, and end as it says."""
    folder.mkdir()
    for command, (code, output) in task.commands.items():
        name, _, arguments = command.partition(" ")
        file = folder / name
        if not file.exists():
            file.write_text("#!/bin/sh\n")
            file.chmod(0o700)
        with file.open("a") as opened:
            opened.write(f"[ \"$*\" = {quote(arguments)} ] && {{ printf '%s\\n' {quote(output)}; exit {code}; }}\n")
    return folder


# -- what the model reads --------------------------------------------------------------------------------------


def chat_messages(request: CompletionRequest, said: str = "") -> list[dict[str, Any]]:
    """A request in the shape of chat completions, without tools; `said` stands in the place of "Go on." """
    messages: list[dict[str, Any]] = [{"role": "system", "content": "\n\n".join(request.system)}]
    for place, message in enumerate(request.messages, 1):
        match message:
            case UserMessage():
                texts = [part.text for part in message.parts if isinstance(part, TextContent)]
                if said and place == len(request.messages):
                    assert texts[0] == _GO_ON
                    texts[0] = said
                messages.append({"role": "user", "content": "\n\n".join(texts)})
            case AssistantMessage():
                calls = [
                    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                    for call in message.calls
                ]
                messages.append(
                    {"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}
                )
            case ToolResult():
                messages.append({"role": "tool", "content": message.text, "tool_call_id": message.call_id})
    return messages


def arranged(tasks: Sequence[Task] = TASKS, seed: int = 18) -> dict[tuple[str, str], tuple[str, ...]]:
    """By task and place of the question, the kinds of its four options in their order.

    Of the orders that keep each kind's letters most even so far, the seed chooses one.
    """
    chance, used = Random(seed), Counter[tuple[str, int]]()
    orders = {}
    for task in tasks:
        for place, question in task.questions.items():
            kinds = list(question.options)
            possible = list(permutations(kinds))
            chance.shuffle(possible)
            best = min(possible, key=lambda order: sum(used[kind, at] ** 2 for at, kind in enumerate(order)))
            used.update((kind, at) for at, kind in enumerate(best))
            orders[task.name, place] = best
    return orders


def worded(question: Question, order: Sequence[str]) -> str:
    """What the user asks."""
    options = (f"{letter} {question.options[kind]}" for letter, kind in zip(LETTERS, order, strict=True))
    return "\n".join([f"{question.text} Answer with one letter.", *options])


# -- asking and counting ---------------------------------------------------------------------------------------


def measured(server: AskedModel, file: Path, tasks: Sequence[Task] = TASKS, arms: Sequence[Arm] = ARMS) -> list[Row]:
    """The rows of these tasks, one for each answer and each summary; they are in `file`, too.

    Answers that the file has already are not asked for again. The tasks come in a random order of one seed, so that
    a part of a run is no one kind of work alone.
    """
    answers, orders = _Answers(server, file), arranged()
    for task in Random(18).sample(tasks, len(tasks)):
        requests = {arm: play(task, arm, _summariser(answers, task, arm)) for arm in arms}
        for behind in range(2):
            for arm in arms:  # those with a HUD begin alike: the server computes that once
                for place in PLACES[2 * behind : 2 * behind + 2]:
                    answers.choose(task, arm, place, requests[arm][behind], orders[task.name, place])
        print(f"{task.name}: {answers.computed} answers, {answers.seconds:.0f} s", flush=True)
    return answers.used


def _summariser(answers: _Answers, task: Task, arm: Arm) -> Callable[[CompletionRequest], str]:
    number = count(1)
    return lambda request: answers.summarise(task, arm, f"{next(number)}", chat_messages(request))


class _Answers:
    """The answers of a model, remembered in a file of JSON lines by what was asked.

    `used` are those that this run needed; `computed` of them were new, and took `seconds`.
    """

    def __init__(self, server: AskedModel, file: Path) -> None:
        self.used: list[Row] = []
        self.computed, self.seconds = 0, 0.0
        self._server, self._file = server, file
        self._known = {(row.prompt, row.arm, row.place): row for row in read_rows(file)}

    def summarise(self, task: Task, arm: Arm, place: str, messages: Sequence[dict[str, Any]]) -> str:
        def answer(prompts: Sequence[str]) -> tuple[str, str]:
            return "", self._server.complete(prompts[0], SUMMARY_TOKENS, ("<|im_end|>",))

        return self._row(task, arm, place, [messages], answer).answer

    def choose(self, task: Task, arm: Arm, place: str, request: CompletionRequest, order: Sequence[str]) -> None:
        orders = [(*order[turn:], *order[:turn]) for turn in range(len(order))]

        def answer(prompts: Sequence[str]) -> tuple[str, str]:
            likely, first = dict.fromkeys(order, 0.0), ""
            for prompt, kinds in zip(prompts, orders, strict=True):
                found = self._server.letters(prompt, LETTERS)
                first += max(found, key=found.__getitem__)
                for letter, kind in zip(LETTERS, kinds, strict=True):
                    likely[kind] += found[letter]
            return max(likely, key=likely.__getitem__), first

        asked = [chat_messages(request, worded(task.questions[place], kinds)) for kinds in orders]
        self._row(task, arm, place, asked, answer)

    def _row(
        self,
        task: Task,
        arm: Arm,
        place: str,
        asked: Sequence[Sequence[dict[str, Any]]],
        answer: Callable[[Sequence[str]], tuple[str, str]],
    ) -> Row:
        prompts = [self._server.prompt(messages) for messages in asked]
        digest = sha256("".join(prompts).encode()).hexdigest()[:16]
        row = self._known.get((digest, arm.name, place))
        if row is None:
            begin = perf_counter()
            kind, text = answer(prompts)
            seconds = round(perf_counter() - begin, 2)
            row = Row(digest, task.name, arm.name, place, kind, text, self._server.tokens(prompts[0]), seconds)
            with self._file.open("ab") as out:
                out.write(msgspec.json.encode(row) + b"\n")
            self.computed, self.seconds = self.computed + 1, self.seconds + seconds
        self.used.append(row)
        return row


def read_rows(file: Path) -> list[Row]:
    """The rows of a file; none where there is no file. A last line that was cut off is left out."""
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [msgspec.json.decode(line, type=Row) for line in lines]


class Score(msgspec.Struct):
    """An arm over the tasks that every arm of the rows has answered whole. Tokens are sums over these tasks."""

    tasks: int
    finished: int
    chosen: Counter[str]
    tokens: int
    summary_tokens: int

    @property
    def answers(self) -> int:
        return self.chosen.total()


def scores(rows: Iterable[Row]) -> dict[str, Score]:
    """By arm, what was chosen. A task is finished where all four of its answers are right."""
    by_place = {(row.task, row.arm, row.place): row for row in rows}
    there = {row.arm for row in by_place.values()}
    arms = [arm for arm in (*ARMS, TRIMMED_ARMS[-1]) if arm.name in there]
    whole = [
        task.name
        for task in TASKS
        if all((task.name, arm.name, place) in by_place for arm in arms for place in task.questions)
    ]
    found = {}
    for arm in arms:
        kinds = {task: [by_place[task, arm.name, place].kind for place in PLACES] for task in whole}
        mine = [row for row in by_place.values() if row.arm == arm.name and row.task in whole]
        found[arm.name] = Score(
            len(whole),
            sum(set(chosen) == {"right"} for chosen in kinds.values()),
            Counter(kind for chosen in kinds.values() for kind in chosen),
            sum(row.tokens for row in mine if row.kind),
            sum(row.tokens for row in mine if not row.kind),
        )
    return found


def table(rows: Iterable[Row]) -> str:
    """The scores as a table in Markdown."""
    heads = ("", "tasks finished", *KINDS.values(), "tokens a question", "tokens for summaries, a task")
    lines = [heads, ("---",) * len(heads)]
    for arm, score in scores(rows).items():
        tasks, answers = max(1, score.tasks), max(1, score.answers)
        chosen = [f"{score.chosen[kind]}" for kind in KINDS]
        chosen[0] += f" of {score.answers}"
        finished = f"{score.finished} of {score.tasks}"
        lines.append((arm, finished, *chosen, f"{score.tokens / answers:.0f}", f"{score.summary_tokens / tasks:.0f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

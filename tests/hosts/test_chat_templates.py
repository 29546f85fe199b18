"""What reaches an open model of a request: each host's requests, through the chat templates that servers apply.

A template can refuse a request, or leave out a part of it without a word. A request is judged by a template that
renders it without the HUD, with all that the host says in the prompt; then it has to render it with the HUD, and
base, deltas and tail have to be in the prompt, in order. Ids of calls are nine letters and digits, as servers of
Mistral's models make them.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chat_templates import TEMPLATES, ChatTemplate, Refused, Unavailable, template_sources, text_of
from hudkit import Hud
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedReply, says, uses
from hudkit.testing.host_conformance import RULE, HostConformance, hud_call, with_full_window
from test_hosts_table import HOSTS, suite

pytestmark = pytest.mark.slow

Json = dict[str, Any]

TWO_IN_A_ROW = ("LangChain", "pydantic-ai", "gateway")
"""Those whose requests have two messages of the user in a row behind a compaction: Mistral-Small 3.2 and
Ministral 3 refuse those, with the HUD and without."""

_PROVIDERS_ONLY = ("Claude Code", "Claude Agent SDK", "Codex", "Google ADK")
"""Those that speak providers' own shapes only: no chat template stands behind their requests."""

_SYSTEM = ("system", "developer")
_BASE = re.compile(r"^Your HUD\b[\s\S]*", re.M)
_DELTA = re.compile(r"^\[hud \w+\](?: .+\n?|\n\n(?:- .*\n?)+)", re.M)
_TAIL = re.compile(r"^Context: .*(?:\n\nNow:\n\n(?:- .*\n?)+)?\n?\Z", re.M)


@pytest.fixture(scope="module")
def templates() -> Mapping[str, ChatTemplate]:
    try:
        sources = template_sources()
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the chat templates: {error}")
        pytest.skip(str(error))
    assert len(sources) == TEMPLATES
    return {name: ChatTemplate(source) for name, source in sources.items()}


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in _PROVIDERS_ONLY])
def test_the_whole_hud_arrives_through_every_chat_template(
    host: str,
    templates: Mapping[str, ChatTemplate],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if host == "OpenCode":
        request.getfixturevalue("opencode_installed")
    requests = [with_short_ids(body) for body in coding_day(suite(host)(), tmp_path)]
    kinds = [kind for body in requests for kind, _ in hud_texts(body)]
    assert kinds.count("base") == len(requests) and kinds.count("delta") > 3 and kinds.count("tail") > 2
    verdicts = {name: judge(template, requests) for name, template in templates.items()}
    judged = [verdict for verdict in verdicts.values() if verdict.judged]
    wrong = {name: verdict.wrong for name, verdict in verdicts.items() if verdict.wrong}
    whole = sum(verdict.judged == len(requests) for verdict in judged)
    with capsys.disabled():
        print(f"\n| {host} | {len(requests)} | {len(judged)} | {whole} | {len(judged) - len(wrong)} |")
    assert not wrong
    assert len(judged) >= 68 and whole >= (62 if host in TWO_IN_A_ROW else 64)


def test_a_base_in_a_second_system_message_is_refused_or_lost_by_thirteen(
    templates: Mapping[str, ChatTemplate], tmp_path: Path
) -> None:
    """The judge sees what it is for: this was the shape of three hosts."""
    requests = [with_short_ids(body) for body in coding_day(suite("LangChain")(), tmp_path)][:1]
    (system, *rest) = requests[0]["messages"]
    base = _BASE.search(system["content"])
    assert base is not None
    texts = system["content"][: base.start()].rstrip("\n"), base[0]
    split = {**requests[0], "messages": [*({"role": "system", "content": text} for text in texts), *rest]}
    wrong = [verdict.wrong for template in templates.values() if (verdict := judge(template, [split])).wrong]
    assert sum("refused" in why for why in wrong) >= 3 and sum("base" in why for why in wrong) >= 8
    assert len(wrong) >= 13


# -- a day whose requests are recorded -------------------------------------------------------------------------------


def coding_day(host: HostConformance, folder: Path) -> list[Json]:
    """The chat requests of four turns: changes from outside, errors, files and a rule as deltas, one compaction.

    No response calls two tools: Llama's templates know no such thing.
    """
    with host._at(folder) as (place, model), host.open(place, "s1") as talk:
        (place.project / "calc.py").write_text("def add(a, b):\n    return a - b\n")

        def noted_outside(_: CapturedRequest) -> ScriptedReply:
            with Hud.open(place.log) as board:
                session = board.session(talk.id, project=place.project, host=host.host)
                session.call("notes.add", {"content": "the sitemap is built at night"})
            return uses(host.call("run", command="echo 1"))

        turns: list[tuple[str, list[Any]]] = [
            (
                f"Please begin. {RULE}",
                [
                    uses(hud_call("task.set", description="Make the shop's total right")),
                    uses(host.call("read", path=host._path(place, "calc.py"))),
                    noted_outside,
                    uses(host.call("run", command="exit 3")),
                    says("One thing is left."),
                ],
            ),
            (
                'Go on, and keep <b>tags</b> & "quotes" as they are.',
                [
                    uses(hud_call("notes.add", content="prices are in cents")),
                    with_full_window(
                        uses(host.call("run", command="echo 2"), text="Still red. " + "thinking " * 300)
                    ),
                    uses(host.call("write", path=host._path(place, "shop.py"), content="total = 0\n")),
                    uses(host.call("run", command="exit 4")),
                    says("Half is done."),
                ],
            ),
            ("Go on, please.", [uses(host.call("run", command="echo 3")), says("All is done.")]),
        ]
        for said, answers in turns:
            model.play(*answers)
            talk.say(said)
        return [chat.body for chat in model.chats]


# -- the judge -------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """How many requests a template could be judged by, and what was wrong with the first that was."""

    judged: int
    wrong: str = ""


def judge(template: ChatTemplate, requests: list[Json]) -> Verdict:
    judged = 0
    for number, body in enumerate(requests):
        bare = without_hud(body)
        try:
            prompt = template.prompt(bare)
        except Refused:
            continue
        host_texts = [text for message in bare["messages"] for text in texts_of(message, *_SYSTEM, "user", "tool")]
        places = [end_of(text, prompt) for text in host_texts]
        if -1 in places:
            continue
        judged += 1
        # Mistral's older templates put the system text before the last message of the user
        system_first = len(places) < 2 or places[0] < places[1]
        try:
            prompt = template.prompt(body)
        except Refused as error:
            return Verdict(judged, f"request {number} is refused: {error}")
        at = 0
        for kind, text in hud_texts(body):
            end = end_of(text, prompt, at)
            if end < 0:
                return Verdict(
                    judged, f"request {number}: the {kind} is not in its place in the prompt: {text[:80]!r}"
                )
            at = end if kind != "base" or system_first else at
    return Verdict(judged)


def texts_of(message: Json, *roles: str) -> list[str]:
    """The texts of a message, one for each part; none where its role is another."""
    if message["role"] not in roles:
        return []
    content = message.get("content")
    return [content] if isinstance(content, str) else [part["text"] for part in content or () if "text" in part]


def hud_texts(body: Json) -> Iterator[tuple[str, str]]:
    """What a request has of the HUD, in order: `base`, `delta` or `tail`, and its text."""
    for message in body["messages"]:
        for text in texts_of(message, *_SYSTEM):
            yield from (("base", match[0]) for match in _BASE.finditer(text))
        for text in texts_of(message, "user", "tool"):
            yield from (("delta", match[0]) for match in _DELTA.finditer(text))
            yield from (("tail", match[0]) for match in _TAIL.finditer(text))


def without_hud(body: Json) -> Json:
    """The same request without base, deltas and tail; the HUD's tools and their calls are as any others."""
    bare = copy.deepcopy(body)
    for message in bare["messages"]:
        cut: Callable[[str], str] = str
        if message["role"] in _SYSTEM:
            cut = _cut_base
        elif message["role"] in ("user", "tool"):
            cut = _cut_blocks
        if isinstance(message.get("content"), str):
            message["content"] = cut(message["content"])
        elif message.get("content"):
            parts = [{**part, "text": cut(part["text"])} if "text" in part else part for part in message["content"]]
            message["content"] = [part for part in parts if part.get("text") != ""]
    bare["messages"] = [
        message
        for message in bare["messages"]
        if message["role"] in ("assistant", "tool") or text_of(message["content"])
    ]
    return bare


def _cut_base(text: str) -> str:
    return _BASE.sub("", text)


def _cut_blocks(text: str) -> str:
    return _TAIL.sub("", _DELTA.sub("", text))


def end_of(text: str, prompt: str, start: int = 0) -> int:
    """Where a text ends in a prompt, -1 where it is not in it. Templates trim texts, and write some as JSON."""
    trimmed = text.strip()
    for form in (trimmed, json.dumps(trimmed, ensure_ascii=False)[1:-1], json.dumps(trimmed)[1:-1]):
        place = prompt.find(form, start)
        if place >= 0:
            return place + len(form)
    return -1


def with_short_ids(body: Json) -> Json:
    """The request with ids of calls as servers of Mistral's models make them: nine letters and digits."""
    changed = copy.deepcopy(body)
    names: dict[str, str] = {}
    for message in changed["messages"]:
        for call in message.get("tool_calls") or ():
            call["id"] = names.setdefault(call["id"], f"call{len(names):05d}")
        if "tool_call_id" in message:
            message["tool_call_id"] = names[message["tool_call_id"]]
    return changed

"""Scripts as files: both forms say the same, every field arrives, and what is wrong is named with its place."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.models import CallUsage, Completion, RateLimited, complete
from hudkit.models.scripted_answers import Hang, Refusal, ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import read_script
from hudkit.testing.assertions import expect_async_error
from hudkit.testing.model_conformance import make_request

WHOLE = """
[[answer]]
text = "Ich schaue zuerst. ✓"
reasoning = "hm"
calls = [
  { name = "read", arguments = { path = "a.py", lines = [1, 2] } },
  { name = "bash", arguments = "{broken", id = "own" },
]
usage = { read = 5, written = 1, fresh = 2, output = 7 }
pace = 0.001

[[answer]]
refuse = { status = 429, headers = { retry-after = "2" } }

[[answer]]
for = "compaction"
text = "Goal: all of it"

[[answer]]
text = "half"
finish = "length"

[[answer]]
for = "otherwise"
text = "over"
"""


def written(tmp_path: Path, form: str, text: str) -> Path:
    path = tmp_path / f"script.{form}"
    if form == "jsonl":
        text = "\n\n".join(msgspec.json.encode(answer).decode() for answer in tomllib.loads(text)["answer"])
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["toml", "jsonl"])
def test_both_forms_play_the_same(tmp_path: Path, form: str) -> None:
    model = read_script(written(tmp_path, form, WHOLE))

    async def talk() -> list[Any]:
        first = await complete(model, make_request())
        refused = await expect_async_error(RateLimited, complete(model, make_request()))
        summary = await complete(model, make_request(system=("You are a context summarization agent",)))
        return [first, refused, summary, await complete(model, make_request()), await complete(model, make_request())]

    first, refused, summary, half, over = asyncio.run(talk())
    assert isinstance(first, Completion) and first.reason == "tool-calls"
    assert first.answer.text == "Ich schaue zuerst. ✓"
    read, bash = first.answer.calls
    assert (read.name, read.parse_arguments()) == ("read", {"path": "a.py", "lines": [1, 2]})
    assert (bash.id, bash.arguments) == ("own", "{broken")
    assert first.spent == CallUsage(2, 5, 1, 7, reasoning=1)
    assert refused.after == 2.0
    assert summary.answer.text == "Goal: all of it"
    assert (half.answer.text, half.reason) == ("half", "length")
    assert over.answer.text == "over" and model.left == 0


def test_every_field_of_a_reply_can_be_written(tmp_path: Path) -> None:
    """A field that is added to a reply is added to the files."""
    reply = ScriptedReply(
        "t", (ScriptedCall("n", {"a": 1}, "i"),), CallCost(1, 2, 3, 4), 0.1, 0.2, True, "r", "length"
    )
    refusal = Refusal(418, "kind", "code", "words", {"a": "b"})
    lines = [
        msgspec.to_builtins(reply),
        {"refuse": msgspec.to_builtins(refusal)},
        {"hang": 3.0},
    ]
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    assert list(read_script(path)._queue) == [reply, refusal, Hang(3.0)]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("s.jsonl", '{"text": "a"}\n{"txt": "b"}', r"answer 2 .*txt"),
        ("s.jsonl", '{"text": "a"}\n\n{"text"', "line 3 .*not JSON"),
        ("s.jsonl", '{"calls": [{"arguments": {}}]}', r"answer 1 .*name"),
        ("s.jsonl", "[]", "answer 1"),
        ("s.toml", "[[answer]]\ntext = 7", r"answer 1 .*text"),
        ("s.toml", '[[answer]]\nfor = "lunch"', "answer 1"),
        ("s.toml", "[[reply]]\ntext = 'a'", "more than"),
        ("s.toml", "answer = 3", "more than"),
        ("s.toml", "[[answer", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, named: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError, match=named):
        read_script(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_script(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_script(tmp_path)
    binary = tmp_path / "b.jsonl"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="no"):
        read_script(binary)

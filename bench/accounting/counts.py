"""What a provider would report of a request: its own kind of tokenizer over the body, and the overhead it documents.

OpenAI: o200k_base or cl100k_base, three tokens a message and three for the answer's start, and the published formula
for functions (7 or 10 and 12 for each, 3 for properties, 3 for each key and each item of an enumeration). Anthropic:
the tokenizer that its SDK shipped up to 0.38 (Claude 2's, the last one published), 346 tokens of a prompt for tool
use (documented for Claude 4), tools and calls as JSON. Gemini: Google publishes no vocabulary; Mistral's Tekken
stands in for it (like Gemini's it has single digits and a large vocabulary), and no overhead.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from bench.figures import Skipped
from hudkit.tokens import shared_counter

Count = Callable[[str], int]
Body = Mapping[str, Any]


def openai(body: Body, encoding: str = "o200k_base") -> int:
    """Prompt tokens of a chat completion's body."""
    count = lru_cache(4096)(shared_counter(encoding).count)
    start = 7 if encoding == "o200k_base" else 10
    total = 3
    for message in body["messages"]:
        content = message.get("content") or ""
        total += 3 + count(message["role"])
        total += count(content) if isinstance(content, str) else sum(count(_text(part)) for part in content)
        for call in message.get("tool_calls") or ():
            total += 3 + count(call["function"]["name"]) + count(call["function"]["arguments"])
    tools = [tool["function"] for tool in body.get("tools") or ()]
    for tool in tools:
        total += start + count(f"{tool['name']}:{tool.get('description', '').rstrip('.')}")
        properties = tool["parameters"].get("properties") or {}
        total += 3 if properties else 0
        for name, one in properties.items():
            total += 3 + count(f"{name}:{one.get('type', 'object')}:{str(one.get('description', '')).rstrip('.')}")
            nested = {key: one[key] for key in ("items", "properties") if key in one}
            total += count(_json(nested)) if nested else 0
            total += sum(3 + count(str(item)) for item in one.get("enum") or ()) - (3 if one.get("enum") else 0)
    return total + (12 if tools else 0)


def anthropic(body: Body) -> int:
    """Input tokens of a messages body, cached or not."""
    count = _claude()
    total = 346 if body.get("tools") else 0
    total += sum(count(_json(_plain(tool))) for tool in body.get("tools") or ())
    total += sum(count(part["text"]) for part in _parts(body.get("system")))
    for message in body["messages"]:
        total += 4  # its role, as Claude 2 writes it
        for part in _parts(message["content"]):
            match part["type"]:
                case "text":
                    total += count(part["text"])
                case "tool_result":
                    total += count(part["tool_use_id"]) + sum(
                        count(_text(one)) for one in _parts(part.get("content"))
                    )
                case _:
                    total += count(_json(_plain(part)))
    return total


def gemini(body: Body) -> int:
    """Prompt tokens of a generateContent body."""
    count = _tekken()
    system = (body.get("systemInstruction") or {}).get("parts") or ()
    total = sum(count(part["text"]) for part in system)
    for tool in body.get("tools") or ():
        total += sum(count(_json(one)) for one in tool.get("functionDeclarations") or ())
    for content in body["contents"]:
        total += 1 + sum(count(part["text"]) if "text" in part else count(_json(part)) for part in content["parts"])
    return total


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _text(part: Any) -> str:
    return str(part["text"]) if "text" in part else _json(part)


def _plain(part: Body) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "cache_control"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def _claude() -> Count:
    try:
        known = import_module("tokenizers").Tokenizer.from_str(
            files("anthropic").joinpath("tokenizer.json").read_text("utf-8")
        )
    except (ImportError, FileNotFoundError):
        raise Skipped("tokenizers and anthropic<0.39 bring Claude's vocabulary") from None
    return lru_cache(4096)(lambda text: len(known.encode(text, add_special_tokens=False).ids))


@cache
def _tekken() -> Count:
    try:
        tiktoken = import_module("tiktoken")
        told = json.loads(files("mistral_common").joinpath("data").joinpath("tekken_240911.json").read_text("utf-8"))
    except (ImportError, FileNotFoundError):
        raise Skipped("tiktoken and mistral-common bring the vocabulary Tekken") from None
    size = told["config"]["default_vocab_size"] - told["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(one["token_bytes"]): n for n, one in enumerate(told["vocab"][:size])}
    known = tiktoken.Encoding("tekken", pat_str=told["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    return lru_cache(4096)(lambda text: len(known.encode(text, disallowed_special=())))

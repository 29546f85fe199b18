"""Pictures and documents by `read`: to models that take them, else it is said."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from loops import opened

from hudkit.agent.records import StoredCall
from hudkit.models import Media, ToolResult
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.testing.assertions import prefix_breaks
from hudkit.tokens.model_facts import media_of

pytestmark = pytest.mark.anyio


def png() -> bytes:
    """A red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    return b"\x89PNG\r\n\x1a\n" + head + pixel + chunk(b"IEND", b"")


FILES = {
    "kiln.png": (png(), "image/png"),
    "kiln.jpg": (b"\xff\xd8\xff\xe0" + b"x" * 20, "image/jpeg"),
    "kiln.webp": (b"RIFF\x10\x00\x00\x00WEBPVP8 " + b"x" * 9, "image/webp"),
    "no-ending": (b"%PDF-1.7\n%%EOF", "application/pdf"),
}


def project(folder: Path) -> Path:
    place = folder / "project"
    place.mkdir()
    for name, (raw, _) in FILES.items():
        (place / name).write_bytes(raw)
    (place / "large.png").write_bytes(png() + b"\0" * 6_000_000)
    (place / "note.png").write_text("no picture, whatever its name")
    return place


@pytest.mark.slow
async def test_pictures_and_documents_go_to_a_model_that_takes_them(tmp_path: Path) -> None:
    project(tmp_path)
    reads = [ScriptedCall("read", {"path": name}) for name in (*FILES, "note.png", "large.png")]
    model = InProcessModel([uses(*reads), says("one"), says("two")], name="anthropic:claude-sonnet-4-6")
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("look")).text == "one"
        await loop.prompt("again")
        for request in model.port_requests[1:]:
            results = [message for message in request.messages if isinstance(message, ToolResult)]
            for result, (name, (raw, kind)) in zip(results, FILES.items(), strict=False):
                assert result.media == (Media(raw, kind, name),) and kind in result.text
            assert "no picture, whatever its name" in results[-2].text and results[-2].media == ()
            assert "more than 5,242,880" in results[-1].text and results[-1].failed
        assert prefix_breaks(model.chats) == []
        session = loop.id
    again = InProcessModel(name="anthropic:claude-sonnet-4-6")
    async with opened(tmp_path, again, session) as loop:
        await loop.prompt("and now?")
        first = next(message for message in again.port_requests[0].messages if isinstance(message, ToolResult))
        assert first.media == (Media(png(), "image/png", "kiln.png"),), "they are kept"
        for prompt in ("more", "and more"):
            await loop.prompt(prompt)
        await loop.compact()
        (asked,) = again.of("compaction")
        request = again.port_requests[asked.number]
        assert not any(isinstance(message, ToolResult) and message.media for message in request.messages)


async def test_a_model_that_takes_none_is_told_what_it_is(tmp_path: Path) -> None:
    project(tmp_path)
    model = InProcessModel(
        [uses(ScriptedCall("read", {"path": "kiln.png"})), says("done")], name="openai-chat:qwen3-coder"
    )
    async with opened(tmp_path, model) as loop:
        await loop.prompt("look")
        (call,) = [part for part in loop.messages[1].parts if isinstance(part, StoredCall)]
        assert f"is image/png ({len(png())} bytes), and openai-chat:qwen3-coder is not known to take" in call.error


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        ("anthropic:claude-sonnet-4-6", {"image", "pdf"}),
        ("openai/gpt-5-mini", {"image", "pdf"}),
        ("openai:o3", {"image", "pdf"}),
        ("google:gemini-2.5-pro", {"image", "pdf"}),
        ("openrouter:qwen/qwen2.5-vl-72b", {"image"}),
        ("mistral:pixtral-large", {"image"}),
        ("openai:gpt-3.5-turbo", set()),
        ("openai-chat:qwen3-coder", set()),
        ("deepseek:deepseek-chat", set()),
        ("openai:gpt-oss-120b", set()),
        ("scripted:model", set()),
    ],
)
def test_which_models_take_which_files(model: str, kinds: set[str]) -> None:
    assert media_of(model) == kinds

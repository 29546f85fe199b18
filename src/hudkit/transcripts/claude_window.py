"""Which of Claude Code's records are in the model's window: the active branch behind the last compaction.

Records name their parent. A rewind lets the next prompt name an older one, and what came between is a dead branch.
Results of parallel calls hang beside the way to the newest record as well, but are sent:

    prompt ── response, call a ── response, call b ── result of b ── response     the way to the newest record
                             └─── result of a ── hook's text                      alive: a result
    prompt ── response ── prompt ── response                                      dead: another prompt took its place

So a record is alive if it is on that way, or if it begins beside it as a result or as a block of the same response,
or if its parent beside it is alive.

A compaction begins a new way: a boundary, then the summary. Records that it keeps word for word stay where they are
in the file, and what comes next may name the last of them as its parent; it is read as if it named the summary.
"""

from __future__ import annotations

from typing import NamedTuple

from hudkit.transcripts.claude_code import preserved_records, reported_usage
from hudkit.transcripts.json_fields import Json, object_field, string_field
from hudkit.transcripts.jsonl_transcript import JsonlRecord, summary_id
from hudkit.transcripts.transcript import ReportedUsage
from hudkit.transcripts.window_contents import WindowContents

_HOOK_TEXT = "hook_additional_context"
_PROMPT = "prompt_snapshot"
_TAG = "[hud "
_REMAINING = "total_tokens_reminder"


class _Link(NamedTuple):
    """What is remembered of a record: `response` is the id of the response that it is a block of."""

    uuid: str
    parent: str
    message: str
    response: str = ""
    result: bool = False
    boundary: bool = False
    preserved: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    prompt_blocks: tuple[str, ...] | None = None
    usage: ReportedUsage | None = None


class ClaudeWindow:
    """Follows the records of a session, each with the id of the message that it belongs to."""

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}
        self._alive: set[str] = set()
        self._responses: set[str] = set()
        self._leaf = ""
        self._stale = False
        self._kept: tuple[str, ...] = ()
        self._moved: dict[str, str] = {}
        self._model = ""
        self._title = ""
        self._reminds = False
        self._tells_remaining = False

    def take(self, record: JsonlRecord, message: str) -> None:
        """Read the next record; `message` is the id of its message, nothing where it has none."""
        data = record.data
        kind = string_field(data, "type")
        self._title = string_field(data, _TITLES.get(kind, "")) or self._title
        uuid = string_field(data, "uuid")
        if not uuid or uuid in self._links:
            return
        link = _link(data, kind, uuid, self._parent(data, kind), message)
        self._links[uuid] = link
        if link.boundary:
            self._kept = link.preserved
        elif data.get("isCompactSummary") is True:
            self._moved.update(dict.fromkeys(self._kept, uuid))
        self._reminds = self._reminds or string_field(object_field(data, "attachment"), "type") == _REMAINING
        if link.response:
            if link.response not in self._responses:
                # What stands between two responses tells what the host sends now: the setting may have changed.
                self._tells_remaining, self._reminds = self._reminds, False
            self._responses.add(link.response)
            self._model = string_field(object_field(data, "message"), "model") or self._model
        if link.parent in ("", self._leaf) or self._beside(link):
            self._alive.add(uuid)
        else:
            self._stale = True
        # A new beginning leaves all that was before it dead.
        self._stale = self._stale or (not link.parent and len(self._links) > 1)
        self._leaf = uuid

    def go_back_to(self, uuid: str) -> None:
        """Take the record with this id for the last one, where there is one: what comes next will name it."""
        if uuid in self._links:
            self._leaf = uuid
            self._stale = True

    def contents(self) -> WindowContents:
        """Return what is in the window now."""
        if self._stale:
            self._branch()
        alive = [link for link in self._links.values() if link.uuid in self._alive]
        boundaries = [n for n, link in enumerate(alive) if link.boundary]
        since = boundaries[-1] if boundaries else 0
        preserved = set(alive[since].preserved) if boundaries else set()
        before, behind = alive[:since], alive[since:]
        stays = [link for link in before if link.uuid in preserved]
        summary = _messages(behind[:2]) if boundaries else ()
        prompts = (link.prompt_blocks for link in reversed(behind) if link.prompt_blocks is not None)
        return WindowContents(
            blocks=tuple(text for link in (*stays, *behind) for text in link.blocks),
            anchors=tuple(dict.fromkeys((*summary, *_messages(stays), *_messages(behind)))),
            all_anchors=_messages(alive),
            usage=next((link.usage for link in reversed(behind) if link.usage is not None), None),
            model=self._model,
            responses=len(self._responses),
            compactions=len(boundaries),
            title=self._title,
            tells_remaining=self._tells_remaining,
            prompt_blocks=next(prompts, None),
        )

    def _parent(self, data: Json, kind: str) -> str:
        parent = string_field(data, "parentUuid") or string_field(data, "logicalParentUuid")
        parent = self._moved.get(parent, parent)
        if parent in self._links:
            return parent
        # The parent was on a line that could not be read, or a record beside the conversation has none: it goes on.
        return "" if not parent and kind == "user" else self._leaf

    def _beside(self, link: _Link) -> bool:
        parent = self._links.get(link.parent)
        return parent is not None and parent.uuid in self._alive and _begins_beside(link, parent)

    def _branch(self) -> None:
        """Find out anew what is alive: the way to the newest record first, then what hangs beside it."""
        way = set()
        uuid = self._leaf
        while uuid:
            way.add(uuid)
            uuid = self._links[uuid].parent
        self._alive = set(way)
        for link in self._links.values():
            parent = self._links.get(link.parent)
            if parent is None or link.uuid in way or parent.uuid not in self._alive:
                continue
            if parent.uuid not in way or _begins_beside(link, parent):
                self._alive.add(link.uuid)
        self._stale = False


_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle", "summary": "summary"}


def _link(data: Json, kind: str, uuid: str, parent: str, message: str) -> _Link:
    body = object_field(data, "message")
    link = _Link(uuid, parent, message)
    if kind == "assistant" and data.get("isApiErrorMessage") is not True:
        usage = body.get("usage")
        reported = reported_usage(usage) if isinstance(usage, dict) else None
        used = reported if reported is not None and reported.used else None
        return link._replace(response=string_field(body, "id") or uuid, usage=used)
    if kind == "user":
        content = body.get("content")
        blocks = content if isinstance(content, list) else ()
        return link._replace(result=any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks))
    if kind == "system" and string_field(data, "subtype") == "compact_boundary":
        return link._replace(boundary=True, preserved=preserved_records(object_field(data, "compactMetadata")))
    if kind == "attachment":
        attachment = object_field(data, "attachment")
        return link._replace(blocks=hook_texts(attachment), prompt_blocks=_prompt_blocks(attachment))
    return link


def hook_texts(attachment: Json) -> tuple[str, ...]:
    """Return the texts that a hook added with an attachment; nothing where it is another attachment."""
    if string_field(attachment, "type") != _HOOK_TEXT:
        return ()
    content = attachment.get("content")
    texts = content if isinstance(content, list) else [content]
    return tuple(text for text in texts if isinstance(text, str))


def _prompt_blocks(attachment: Json) -> tuple[str, ...] | None:
    """The sections with a tag of ours in the system prompt that a window, or a process that goes on with it, has."""
    sections = attachment.get("systemPrompt")
    if string_field(attachment, "type") != _PROMPT or not isinstance(sections, list):
        return None
    return tuple(text for text in sections if isinstance(text, str) and _TAG in text)


def _begins_beside(link: _Link, parent: _Link) -> bool:
    return link.result or bool(link.response and link.response == parent.response)


def _messages(links: list[_Link]) -> tuple[str, ...]:
    """The ids of the messages of records, each once; a compaction is two."""
    ids: dict[str, None] = {}
    for n, link in enumerate(links):
        if link.message:
            ids[link.message] = None
            if n and links[n - 1].boundary:
                ids[summary_id(link.message)] = None
    return tuple(ids)

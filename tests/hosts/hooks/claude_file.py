"""A transcript as Claude Code writes it, made record by record; for hooks that are asked without the program."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

SESSION = "5e551000-0000-4000-8000-000000000001"


class ClaudeFile:
    """A session's file; each method adds the records that the program would."""

    def __init__(self, folder: Path, session: str = SESSION) -> None:
        self.path = folder / f"{session}.jsonl"
        self.session = session
        self._numbers = count(1)
        self._last: str | None = None
        self.path.touch()

    @property
    def last(self) -> str:
        """The uuid of the record that what comes next names."""
        assert self._last is not None
        return self._last

    def prompt(self, text: str) -> str:
        return self._add("user", message={"role": "user", "content": text})

    def context(self, text: str, event: str = "UserPromptSubmit") -> str:
        attachment = {"type": "hook_additional_context", "content": [text], "hookEvent": event}
        return self._add("attachment", attachment=attachment)

    def reminds(self, tokens: int) -> None:
        """The program tells the model how many tokens remain."""
        text = f"<total_tokens>{tokens} tokens left</total_tokens>"
        self._add("attachment", attachment={"type": "total_tokens_reminder", "text": text})

    def freezes_prompt(self, *sections: str) -> None:
        """The system prompt that the window has from here on, in every process that goes on with it."""
        attachment = {"type": "prompt_snapshot", "systemPrompt": ["You are an agent.", *sections]}
        self._add("attachment", attachment=attachment)

    def says(self, text: str, used: int = 1_000) -> str:
        return self._answer([{"type": "text", "text": text}], used)

    def calls(
        self, tool: str, arguments: dict[str, Any], output: str, *, failed: bool = False, used: int = 1_000
    ) -> str:
        call = f"toolu_{next(self._numbers)}"
        self._answer([{"type": "tool_use", "id": call, "name": tool, "input": arguments}], used)
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        self._add("user", message={"role": "user", "content": [result]})
        return call

    def compacted(self, summary: str, trigger: str = "manual", *, keeps: tuple[str, ...] = ()) -> None:
        """A compaction, which keeps the records with these uuids word for word."""
        self._last = None
        kept = {"preservedMessages": {"uuids": list(keeps)}} if keeps else {}
        about = {"trigger": trigger, "preTokens": 9_000, **kept}
        self._add("system", subtype="compact_boundary", compactMetadata=about)
        self._add("user", isCompactSummary=True, message={"role": "user", "content": summary})

    def rewound_to(self, uuid: str | None) -> None:
        """What follows is a new branch behind the record with this uuid."""
        self._last = uuid

    def _answer(self, content: list[dict[str, Any]], used: int) -> str:
        number = next(self._numbers)
        usage = {"input_tokens": used, "output_tokens": 10}
        message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-sonnet-4-5", "content": content}
        return self._add("assistant", message={**message, "usage": usage, "stop_reason": "end_turn"})

    def _add(self, kind: str, **fields: Any) -> str:
        number = next(self._numbers)
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        stamp = f"2026-11-24T10:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self._last,
            "sessionId": self.session,
            "timestamp": stamp,
            "cwd": "/home/user/project",
            "isSidechain": False,
            **fields,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self._last = uuid
        return uuid

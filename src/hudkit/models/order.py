"""Whether a request's messages are in an order that every server takes."""

from __future__ import annotations

from hudkit.models.port import Assistant, Request, Text, ToolResult, User


def fault(request: Request) -> str:
    """What a strict server would refuse, in words; empty where nothing is wrong.

    The first message is the user's; each tool call has exactly one result before anything else is said; no result
    without its call; no message without content; names of tools are told apart.
    """
    names = [tool.name for tool in request.tools]
    if len(set(names)) < len(names):
        return "two tools have the same name"
    if not request.messages or not isinstance(request.messages[0], User):
        return "the first message is not the user's"
    waiting: list[str] = []
    for place, message in enumerate(request.messages):
        if isinstance(message, ToolResult):
            if message.call_id not in waiting:
                return f"message {place} is the result of {message.call_id!r}, which no call before it asks for"
            waiting.remove(message.call_id)
            continue
        if waiting:
            return f"message {place} comes before the result of the call {waiting[0]!r}"
        if not _says(message):
            return f"message {place} is empty"
        if isinstance(message, Assistant):
            waiting = [call.id for call in message.calls]
            if len(set(waiting)) < len(waiting):
                return f"two calls in message {place} have the same id"
    return f"the call {waiting[0]!r} has no result" if waiting else ""


def _says(message: User | Assistant) -> bool:
    return any(not isinstance(part, Text) or part.text for part in message.parts)

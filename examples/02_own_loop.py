"""Where the layers of a frame go in a request of your own: the prefix stays the same from call to call."""

from hudkit import Hud
from hudkit.hud.frame import Frame

Messages = list[dict[str, str]]


def request(system: str, history: Messages, frame: Frame) -> Messages:
    """A chat request: the base behind the system prompt, each delta behind its anchor, the tail at the end."""
    after: dict[str, str] = {}
    for delta in frame.deltas:
        after[delta.anchor] = after.get(delta.anchor, "") + "\n" + delta.text
    messages = [{"role": "system", "content": system}, {"role": "system", "content": frame.base}]
    messages += [{"role": m["role"], "content": m["content"] + after.get(m["id"], "")} for m in history]
    if frame.tail:
        messages[-1]["content"] += "\n" + frame.tail
    return messages


with Hud.in_memory() as hud:
    s = hud.session("ses_1")
    s.call("task.set", {"description": "Make the uploader retry"})
    history: Messages = [{"id": "u1", "role": "user", "content": "Make the uploader retry, please."}]
    first = request("You are a coding agent.", history, s.frame(transcript=[(m["id"], m["role"]) for m in history]))

    history.append({"id": "t1", "role": "tool", "content": "def upload(): ..."})
    s.call("decisions.record", {"summary": "Back off exponentially, five tries"})
    second = request("You are a coding agent.", history, s.frame(transcript=[(m["id"], m["role"]) for m in history]))

    for message in second:
        print(f"[{message['role']}]\n{message['content']}")
    assert second[:2] == first[:2]

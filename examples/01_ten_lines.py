"""A session, three facts, a frame."""

from hudkit import Hud

with Hud.in_memory() as hud:
    s = hud.session("ses_1")
    s.call("task.set", {"description": "Implement user authentication"})
    s.call("decisions.record", {"summary": "JWT over sessions"})
    s.call("steps.add", {"description": "Write the auth middleware"})
    frame = s.frame(used_tokens=134_000, limit_tokens=200_000)
    print(frame.text)
    print(f"{frame.tokens} of {frame.budget} tokens")

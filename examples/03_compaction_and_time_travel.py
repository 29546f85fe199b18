"""Nothing is lost in a compaction, and every past frame can be seen again."""

from hudkit import Hud
from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter

with Hud.in_memory() as hud:
    s = hud.session("ses_1")
    s.call("task.set", {"description": "Port the report"})
    s.call("constraints.add", {"text": "never change the order of the columns"})
    before = s.frame(used_tokens=180_000, limit_tokens=200_000)
    sent_at = s.state.seq

    s.append(CompactAfter(summary="We are porting the report; the mapping is half done."), origin=Origin.HOST)
    after = s.frame()
    print(after.text)
    assert "never change the order of the columns" in after.text
    assert s.frame_at(sent_at).text == before.text

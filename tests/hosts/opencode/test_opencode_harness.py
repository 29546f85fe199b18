"""Real OpenCode against the scripted model: what every test of the plugin takes for granted.

Timings on two shared cores: `run` 3 to 4 s, `serve` 1 to 2 s to its line, a prompt over REST under 0.1 s (the
first one 1.5 s).
"""

from __future__ import annotations

import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from opencode_host import Hosts, OpenCode, Refused
from opencode_workspace import strays

from hudkit.models.scripted_answers import BROKEN, CONTEXT_EXCEEDED, ScriptedCall, says, uses
from hudkit.testing.assertions import prefix_difference
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

both_shapes = pytest.mark.parametrize("shape", ["openai", "anthropic"])

PLUGIN = """
export default async function hello() {
  return {
    "experimental.chat.system.transform": async (input, output) => { output.system.push("Hello from a plugin.") },
  }
}
"""


def chain_breaks(model: ScriptedModel) -> list[str]:
    return [found for before, after in pairwise(model.chats) if (found := prefix_difference(before, after))]


def asked(host: OpenCode, session: str) -> list[str]:
    """The ids of the user's messages."""
    return [message["info"]["id"] for message in host.messages(session) if message["info"]["role"] == "user"]


@both_shapes
def test_run_with_parallel_tools(opencode: Hosts, model: ScriptedModel, shape: str) -> None:
    host = opencode(own=True, shape=shape, files={"a.txt": "alpha\nbeta\n"})
    bash = ScriptedCall("bash", {"command": "echo $((6*7))", "description": "count"})
    model.play(uses(ScriptedCall("read", {"filePath": str(host.project / "a.txt")}), bash), says("all done"))
    ran = host.run("read the file")
    assert (ran.code, ran.out.strip(), model.left) == (0, "all done", 0), ran.err
    first, second = model.chats
    assert {"read", "bash", "edit"} <= set(first.tools)
    assert first.messages == [("user", '"read the file"')]
    (_, (said, called), read, (tool, output)) = second.messages
    assert (said, read[0], tool, output.strip()) == ("assistant", "tool", "tool", "42")
    assert "read {" in called and "bash {" in called
    assert "2: beta" in read[1]
    assert prefix_difference(first, second) == ""
    assert second.cost.read > 0.9 * first.cost.total
    counted = [request.cost.total for request in model.chats]
    stored = host.rows("select json_extract(data,'$.tokens.total') from message order by time_created, id")
    assert [total > prompt for (total,), prompt in zip(stored[1:], counted, strict=True)] == [True, True]


@both_shapes
def test_serve_two_prompts_and_a_title(opencode: Hosts, model: ScriptedModel, shape: str) -> None:
    """POST /session {}, POST /session/ID/message {"parts": [{"type": "text", "text": …}]}."""
    host = opencode(own=True, shape=shape)
    host.serve()
    session = host.create()
    model.play(uses(ScriptedCall("read", {"filePath": str(host.project)})), says("one"), says("two"))
    assert host.prompt(session, "the first prompt")["parts"][1]["text"] == "one"
    assert host.prompt(session, "the second")["parts"][1]["text"] == "two"
    assert len(model.chats) == 3
    assert chain_breaks(model) == []
    (title,) = model.wait("title")
    assert title.tools == ()
    assert "the first prompt" in title.text
    assert host.settled(lambda: host.get(f"/session/{session}")["title"] == "A scripted title")
    assert [request.path for request in model.of("other")] == [], "nothing else is asked for"
    assert sum(bool(request.breakpoints) for request in model.chats) == (3 if shape == "anthropic" else 0)


@both_shapes
def test_compaction_after_a_turn_that_passes_the_limit(opencode: Hosts, model: ScriptedModel, shape: str) -> None:
    host = opencode(shape=shape, limit=(40_000, 4_000))
    host.serve()
    session = host.create("named")
    model.play(says("small", used=35_000), says("big", used=36_500))
    host.prompt(session, "fits")
    assert model.of("compaction") == []
    host.prompt(session, "passes the limit")
    (compaction,) = model.of("compaction")
    assert compaction.tools == ()
    assert "passes the limit" in compaction.text
    last = model.chats[-1]
    assert ("assistant", "A scripted summary.") in last.messages
    assert last.messages[-1][1].startswith("Continue if you have next steps")
    assert "is gone" in prefix_difference(model.chats[-2], last) or "parts at" in prefix_difference(
        model.chats[-2], last
    )
    assert model.of("title") == [], "a session that was created with a title asks for none"


@both_shapes
def test_compaction_after_an_overflow_and_on_demand(opencode: Hosts, model: ScriptedModel, shape: str) -> None:
    """POST /session/ID/summarize {"providerID": "fake", "modelID": "m"} answers `true` at the end."""
    host = opencode(shape=shape)
    host.serve()
    session = host.create("named")
    host.prompt(session, "begin")
    model.play(CONTEXT_EXCEEDED)
    host.prompt(session, "too much")
    assert len(model.of("compaction")) == 1
    assert model.chats[-1].messages[-1] == ("user", "too much"), "the message is sent again"
    assert host.summarize(session) is True
    assert len(model.of("compaction")) == 2
    marks = "json_extract(data,'$.summary') = 1 and json_extract(data,'$.role') = 'assistant'"
    assert host.rows(f"select count(*) from message where session_id = ? and {marks}", session) == [(2,)]


def test_revert_unrevert_and_fork(opencode: Hosts, model: ScriptedModel) -> None:
    """POST /session/ID/revert {"messageID": a user message}; unrevert {}; fork {"messageID": first left out}.

    A revert hides nothing from GET …/message before the next prompt, which then deletes what was reverted.
    """
    host = opencode()
    host.serve()
    session = host.create("named")
    for text in ("one", "two", "three"):
        host.prompt(session, text)
    base = model.chats[0]
    _, second, third = asked(host, session)

    assert host.revert(session, third)["revert"]["messageID"] == third
    assert host.unrevert(session).get("revert") is None
    host.prompt(session, "four")
    assert prefix_difference(model.chats[2], model.chats[3]) == ""

    host.revert(session, second)
    host.prompt(session, "two again")
    spoken = [text for role, text in model.chats[-1].messages if role == "user"]
    assert spoken == ["one", "two again"]
    assert prefix_difference(base, model.chats[-1]) == ""

    fork = host.fork(session, asked(host, session)[1])
    host.prompt(fork, "in the fork")
    assert [text for role, text in model.chats[-1].messages if role == "user"] == ["one", "in the fork"]
    ids = [{message["info"]["id"] for message in host.messages(one)} for one in (session, fork)]
    assert not ids[0] & ids[1]
    with pytest.raises(Refused) as refused:
        host.revert("ses_unknown", second)
    assert refused.value.status in (400, 404)


def test_a_plugin_by_absolute_path_is_loaded(opencode: Hosts, model: ScriptedModel, tmp_path: Path) -> None:
    plugin = tmp_path / "elsewhere" / "hello.js"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN)
    host = opencode(plugins=[plugin])
    host.serve()
    host.prompt(host.create(), "hello")
    (chat,) = model.chats
    assert chat.system[1:] == ("Hello from a plugin.",)
    assert model.wait("title")[0].system[1:] == ("Hello from a plugin.",), "the transform fires for titles too"


def test_the_way_out_is_closed_and_watched(opencode: Hosts, model: ScriptedModel) -> None:
    host = opencode(own=True)
    host.serve()
    fetch = [
        ScriptedCall("webfetch", {"url": f"{scheme}://example.com/", "format": "text"})
        for scheme in ("http", "https")
    ]
    model.play(uses(*fetch), says("no luck"))
    host.prompt(host.create("named"), "fetch")
    assert sorted(request.method for request in model.of("other")) == ["CONNECT", "GET"]
    assert [text[:10] for _, text in model.chats[-1].messages[-2:]] == ["StatusCode"] * 2


def test_a_server_error_is_tried_again(opencode: Hosts, model: ScriptedModel) -> None:
    host = opencode()
    host.serve()
    model.play(BROKEN, says("second time"))
    assert host.prompt(host.create("named"), "go")["parts"][1]["text"] == "second time"
    first, second = model.chats
    assert first.raw == second.raw


def test_sessions_outlive_a_killed_server(opencode: Hosts, model: ScriptedModel) -> None:
    host = opencode(own=True)
    host.serve()
    session = host.create("named")
    host.prompt(session, "before")
    host.stop(kill=True)
    host.serve()
    host.prompt(session, "after")
    assert chain_breaks(model) == []
    host.stop()
    assert host.run("again", session).code == 0
    assert prefix_difference(model.chats[1], model.chats[2]) == ""
    assert host.sessions() == [session]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="strays are found through /proc")
def test_closing_ends_what_was_detached_too(opencode: Hosts) -> None:
    host = opencode(own=True)
    host.serve()
    child = subprocess.Popen(["sleep", "60"], env=host.env | {"PATH": os.environ["PATH"]}, start_new_session=True)
    assert host.settled(lambda: child.pid in strays(host.mark)), "its environment is visible only after its exec"
    assert len(strays(host.mark)) >= 2
    host.close()
    assert child.wait(5) == -9
    assert strays(host.mark) == []

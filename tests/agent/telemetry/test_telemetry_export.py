"""Export: over OTLP/HTTP to a collector on loopback, to one that is dead or hangs, by the settings; and off."""

from __future__ import annotations

import asyncio
import gzip
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from telemetry_recorder import DAY, NAME, Watched, of, session

from hudkit.agent.telemetry import Telemetry, configured
from hudkit.agent.telemetry.observations import AgentBegan, AgentEnded, Observation
from hudkit.cli.rooms.new import create_world
from hudkit.cli.rooms.serve import UserWorlds
from hudkit.cli.rooms.worlds import path_of
from hudkit.config import load, parse, settings_from
from hudkit.errors import ConfigError
from hudkit.installation import install_hint
from hudkit.models.scripted_model import InProcessModel
from hudkit.rooms.world_file import island_world

pytestmark = pytest.mark.slow

MARKER = "zqx7marker"
PAGE = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text(encoding="utf-8")


class Collector:
    """Takes what is posted; `held` keeps its answers back."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.held = threading.Event()
        self.held.set()
        posts, held = self.posts, self.held

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
                posts.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                held.wait(600)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *said: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def spans(self) -> ExportTraceServiceRequest:
        (body,) = [body for path, _, body in self.posts if path == "/v1/traces"]
        return ExportTraceServiceRequest.FromString(body)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.held.set()
    made.server.shutdown()
    made.server.server_close()


def settings(text: str) -> Telemetry:
    made = configured(settings_from(parse(text)).telemetry)
    assert made is not None
    return made


@pytest.mark.anyio
async def test_a_session_over_the_wire(tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-the-environment")
    telemetry = settings(f"[telemetry]\nenabled = true\nendpoint = '{collector.url}/'")
    async with session(tmp_path, InProcessModel(DAY, name=NAME), telemetry) as loop:
        await loop.prompt(f"go {MARKER}")
        id = loop.id
    assert collector.posts == [], "spans wait for their batch"
    telemetry.close()
    telemetry.close()
    (resource,) = collector.spans().resource_spans
    attributes = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert attributes["service.name"] == "hudkit"
    (scope,) = resource.scope_spans
    assert scope.scope.name == "hudkit" and len(scope.spans) == 12
    (root,) = [span for span in scope.spans if not span.parent_span_id]
    values = {one.key: one.value for one in root.attributes}
    assert (root.name, values["gen_ai.conversation.id"].string_value) == ("invoke_agent build", id)
    assert values["gen_ai.usage.input_tokens"].int_value > 190_000
    (body,) = [body for path, _, body in collector.posts if path == "/v1/metrics"]
    metrics = ExportMetricsServiceRequest.FromString(body).resource_metrics[0].scope_metrics[0].metrics
    assert [metric.name for metric in metrics] == ["gen_ai.client.token.usage", "gen_ai.client.operation.duration"]
    for _, headers, body in collector.posts:
        assert headers["x-key"] == "of-the-environment"
        assert MARKER.encode() not in body and b"a.txt" not in body, "no content"


@pytest.mark.anyio
async def test_content_over_the_wire_where_the_settings_say_so(tmp_path: Path, collector: Collector) -> None:
    text = f"[telemetry]\nenabled = true\ncontent = true\nmax_chars = 300\nendpoint = '{collector.url}'"
    telemetry = settings(text)
    async with session(tmp_path, InProcessModel(DAY), telemetry) as loop:
        await loop.prompt(f"go {MARKER} {'long ' * 500}")
    telemetry.close()
    spans = collector.spans().resource_spans[0].scope_spans[0].spans
    texts = [one.value.string_value for span in spans for one in span.attributes]
    assert any(MARKER in text for text in texts) and max(map(len, texts)) <= 300


def test_the_environment_says_where_and_who(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    with settings("[telemetry]\nenabled = true") as telemetry:
        telemetry.tell(AgentBegan("s", 1, "build"))
        telemetry.tell(AgentEnded("s", 2, "done"))
    resource = collector.spans().resource_spans[0].resource
    assert {one.key: one.value.string_value for one in resource.attributes}["service.name"] == "mine"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_collector_that_hangs_is_not_waited_for(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the first batch and does not answer until all is over; the session works on, and closing gives up."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    collector.held.clear()
    telemetry = settings(f"[telemetry]\nenabled = true\nendpoint = '{collector.url}'")
    async with session(tmp_path, InProcessModel(), telemetry) as loop:
        for n in range(30):
            assert (await loop.prompt(f"go {n}")).reason == "done"
    assert not collector.held.is_set()
    telemetry.close()
    assert not collector.held.is_set() and len(collector.posts) <= 2, "one batch and the metrics, both unanswered"


@pytest.mark.anyio
async def test_a_fault_in_telemetry_stays_there(
    tmp_path: Path, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Telemetry):
        def tell(self, happening: Observation) -> None:
            super().tell(happening)
            raise ValueError("a fault")

    faulty = Faulty(tracer_provider=watched.tracers, meter_provider=watched.meters)
    async with session(tmp_path, InProcessModel(), faulty) as loop:
        assert (await loop.prompt("go")).reason == "done"
    assert [one.name for one in caplog.records if one.name.startswith("hudkit")] == ["hudkit.agent.telemetry"]

    telemetry = watched.telemetry()
    telemetry.tell(AgentBegan("s", 1, "build"))
    telemetry.tell("nonsense")  # type: ignore[arg-type]
    telemetry.tell(AgentEnded("s", 2, "done"))
    assert of(watched.spans[0])["hudkit.ended"] == "done"


def test_the_code_and_the_settings_of_the_page_hold(watched: Watched) -> None:
    scope: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "telemetry.md", "exec"), scope)
    assert isinstance(scope["telemetry_of"](watched.tracers, watched.meters), Telemetry)
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert settings_from(parse(text)).telemetry.enabled


def test_it_is_off_unless_the_user_turns_it_on(tmp_path: Path) -> None:
    assert configured(settings_from({}).telemetry) is None
    project = tmp_path / ".hudkit.toml"
    project.write_text("[telemetry]\nenabled = true\nendpoint = 'http://evil.example'\ncontent = true\n")
    found = load(None, project)
    assert configured(found.settings.telemetry) is None and found.settings == settings_from({})
    assert "'telemetry'" in found.warnings[0]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("endpoint = 'localhost:4318'", "[telemetry] endpoint is 'localhost:4318'", "http:// or https://"),
        ("max_chars = 10", "telemetry.max_chars is 10", "a whole number from 200"),
        ("enabled = 'yes'", "telemetry.enabled is 'yes'", "true or false"),
        ("headers = 'k=v'", "[telemetry] has no key 'headers'", "It has: enabled"),
    ],
)
def test_settings_that_are_wrong(text: str, said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_from(parse(f"[telemetry]\n{text}"))
    assert said in caught.value.message and hint in caught.value.hint


OFF = """
import asyncio, sys
from pathlib import Path
from hudkit.config import load
from hudkit.agent import AgentLoop, LoopOptions, hud_plugin
from hudkit.agent.telemetry import configured
from hudkit.models.scripted_model import InProcessModel

async def work(place):
    telemetry = configured(load().settings.telemetry)
    plugins = [("hud", hud_plugin(place / "hudkit.db"))]
    options = LoopOptions(plugins=plugins, telemetry=telemetry)
    loop = await AgentLoop.open(place, InProcessModel(), data=place / "data", options=options)
    await loop.prompt("go")
    await loop.close()

asyncio.run(work(Path(sys.argv[1])))
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""

DEAD = """
import asyncio, sys
from pathlib import Path
from hudkit.config import parse, settings_from
from hudkit.agent import AgentLoop, LoopOptions
from hudkit.agent.telemetry import configured
from hudkit.models.scripted_model import InProcessModel
from hudkit.models.scripted_answers import says

async def work(place, endpoint):
    settings = settings_from(parse(f"[telemetry]\\nenabled = true\\nendpoint = '{endpoint}'"))
    options = LoopOptions(telemetry=configured(settings.telemetry))
    loop = await AgentLoop.open(place, InProcessModel([says("Done.")]), data=place / "data", options=options)
    print((await loop.prompt("go")).text)
    await loop.close()

asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
"""

MISSING = """
import sys
sys.modules["opentelemetry" if sys.argv[1] == "all" else "opentelemetry.exporter"] = None
from hudkit.config import parse, settings_from
from hudkit.errors import ConfigError
from hudkit.agent.telemetry import Telemetry, configured

try:
    if sys.argv[1] == "given":
        sys.modules["opentelemetry"] = None
        Telemetry()
    configured(settings_from(parse("[telemetry]\\nenabled = true")).telemetry)
except ConfigError as error:
    print(error)
"""


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_off_imports_nothing(tmp_path: Path) -> None:
    assert run(OFF, str(tmp_path)) == "[]"


@pytest.mark.slow
def test_a_collector_that_is_dead_changes_nothing(tmp_path: Path, collector: Collector) -> None:
    """Nobody closed telemetry: it ends with the program, and says nothing."""
    collector.server.shutdown()
    collector.server.server_close()
    assert run(DEAD, str(tmp_path), collector.url) == "Done."


@pytest.mark.parametrize("what", ["all", "exporter", "given"])
def test_on_without_the_packages_names_the_extra(what: str) -> None:
    said = run(MISSING, what)
    assert said.startswith("telemetry needs the package opentelemetry") and install_hint("telemetry") in said


def test_a_world_that_is_opened_on_the_page_of_another_one_is_told_of(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "config.toml"
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", str(place))
    place.write_text(f"[telemetry]\nenabled = true\nendpoint = '{collector.url}'\n", encoding="utf-8")
    create_world(path_of("other"), island_world()).close()
    with ExitStack() as until_end:
        context = UserWorlds({}, until_end).open("other")
        asyncio.run(context.step(1))
        context.world_log.close()
    (resource,) = collector.spans().resource_spans
    assert "invoke_agent" in {span.name.split()[0] for scope in resource.scope_spans for span in scope.spans}

"""What a gateway adds to a call, beside a pass-through that only copies bytes; and 200 streams at once.

Provider, pass-through and gateway are processes of their own, as at a user's. A call's time is from its first byte
out to its answer's first byte back; pass-through and gateway take turns call by call, so that both meet the same
machine. On a busy one most of the 99th of 100 is waiting for a core: the load beside a figure is that at its start.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from bench.figures import Figure

TITLE = "a call through the gateway ÷ the same through a bare pass-through"
CALLS = 400
STREAMS, SECONDS = 200, float(os.environ.get("HUDKIT_BENCH_SECONDS", "60"))
MOST_P50_MS, MOST_P99_MS = 3.0, 15.0

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'24\r\nevent: ping\ndata: {"type": "ping"}\n\n\r\n0\r\n\r\n'
)
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_TICK = 0.1


def provider() -> None:
    """Answer each call at once; a call of `/stream` with numbered events for the seconds that its header names."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                if not head.startswith(b"post /stream"):
                    writer.write(_ANSWER)
                    continue
                writer.write(_STREAM)
                events = int(head.partition(b"x-events:")[2].partition(b"\r\n")[0])
                for number in range(events):
                    writer.write(_event(number))
                    await writer.drain()
                    await asyncio.sleep(_TICK)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    asyncio.run(_listen(serve))


def pass_through(upstream: str) -> None:
    """Copy bytes to and fro, as the least that can stand between two."""
    host, _, port = upstream.rpartition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other_writer = await asyncio.open_connection(host.removeprefix("http://"), int(port))

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(128 * 1024):
                sink.write(data)
                await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer), return_exceptions=True)

    import uvloop

    uvloop.run(_listen(serve))


async def _listen(serve: Callable[..., Any]) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


def _event(number: int) -> bytes:
    data = b'data: {"number": %d, "text": "%b"}\n\n' % (number, b"x" * 60)
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def _running(words: list[str], **environment: str) -> Iterator[str]:
    process = subprocess.Popen(words, env={**os.environ, **environment}, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["url"])
    finally:
        process.terminate()
        process.wait()


def _own(folder: Path) -> dict[str, str]:
    """Return the environment of a gateway that has a folder to itself."""
    folder.mkdir()
    return {"HUDKIT_DATA": str(folder), "HUDKIT_DB": str(folder / "hudkit.db"), "HUDKIT_HOOK_PATIENCE": "30"}


def _script(call: str) -> list[str]:
    return [sys.executable, "-c", f"from bench import gateway; gateway.{call}"]


def run() -> list[Figure]:
    """The figures."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="hk") as name, ExitStack() as stack:
        folder = Path(name)
        upstream = stack.enter_context(_running(_script("provider()")))
        bare = stack.enter_context(_running(_script(f"pass_through({upstream!r})")))
        words = [sys.executable, "-P", "-m", "hudkit", "gateway", "--upstream", upstream, "--port", "0", "--json"]
        # In one folder the one that relays would know the conversations of the other to their ends before they begin.
        relay = stack.enter_context(_running([*words, "--no-hud"], **_own(folder / "relay")))
        hud = stack.enter_context(_running(words, **_own(folder / "hud")))
        off, with_hud = _side_by_side(bare, relay), _side_by_side(bare, hud)
        lost, count = asyncio.run(_streams(relay))
    figures = []
    for what, (least, most) in {"only relays": off, "with the HUD, in a growing conversation": with_hud}.items():
        added = [own - bare for bare, own in zip(least, most, strict=True)]
        note = f"median {median(most):.2f}, p99 {_p99(most):.1f} ms; bare {median(least):.2f}, {_p99(least):.1f} ms"
        note += f"; load {load:.1f}"
        figures += [
            Figure(f"added, {what}, p50 / {MOST_P50_MS:g} ms", median(added) / MOST_P50_MS, 1.0, note),
            Figure(f"added, {what}, p99 / {MOST_P99_MS:g} ms", _p99(added) / MOST_P99_MS, 1.0),
        ]
    figures.append(Figure(f"streams of {STREAMS} with a lost or changed byte", lost, 0.0, f"{count:,} events"))
    return figures


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[-1]


def _side_by_side(bare: str, gateway: str) -> tuple[list[float], list[float]]:
    """Return what each call takes through the pass-through and through the gateway, in ms."""
    least, most = [], []
    with _connect(bare) as first, _connect(gateway) as second:
        for number in range(CALLS + 10):
            request = _call(number % 120, f"Fix part {number // 120}.")
            times = _timed(first, request), _timed(second, request)
            if number >= 10:
                least.append(times[0])
                most.append(times[1])
    return least, most


def _connect(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _timed(connection: socket.socket, request: bytes) -> float:
    start = perf_counter()
    connection.sendall(request)
    answer = connection.recv(65536)
    spent = perf_counter() - start
    while not answer.endswith(b"0\r\n\r\n"):
        answer += connection.recv(65536)
    return spent * 1000


def _call(turns: int, prompt: str) -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for n in range(turns):
        use = {"type": "tool_use", "id": f"toolu_{prompt[-3:]}{n:012d}", "name": "Bash", "input": {"command": "make"}}
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": f"part {n}\n" + "a line of it\n" * 40}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    tools = [{"name": "Bash", "description": "Runs a command. " * 40, "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "stream": True, "system": "You are an agent. " * 100}
    raw = json.dumps({**body, "tools": tools, "messages": messages}).encode()
    lines = (b"POST /v1/messages HTTP/1.1", b"Host: x", b"Content-Type: application/json", b"X-Api-Key: x")
    return b"\r\n".join((*lines, b"Content-Length: %d" % len(raw), b"", raw))


async def _streams(url: str) -> tuple[int, int]:
    """Return how many of the streams are not what was sent, and the events of all."""
    events = int(SECONDS / _TICK)
    expected = _STREAM + b"".join(map(_event, range(events))) + b"0\r\n\r\n"
    host, _, port = url.removeprefix("http://").rpartition(":")

    async def stream() -> bool:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /stream HTTP/1.1\r\nHost: x\r\nX-Events: %d\r\nContent-Length: 2\r\n\r\n{}" % events)
        try:
            return await reader.readexactly(len(expected)) == expected
        except asyncio.IncompleteReadError:
            return False
        finally:
            writer.close()

    whole = await asyncio.gather(*(stream() for _ in range(STREAMS)))
    return whole.count(False), events * STREAMS

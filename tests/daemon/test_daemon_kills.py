"""Kills and losses of power of a daemon under three clients: what it acknowledged is in the log, once."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from campaigns import Campaign
from hudkit.api import Hud
from hudkit.daemon.client import DaemonConnection
from power_loss import PowerSupply
from waiting import PATIENCE

pytestmark = pytest.mark.slow

KILLS = Campaign("kills", quick=2, full=1000)
LOSSES = Campaign("powerloss", quick=1, full=200)
CLIENTS = 3


class Client:
    """Notes of one session, one after another, each with a text of its own; `acknowledged` are those answered."""

    def __init__(self, daemon: Any, number: int) -> None:
        self.daemon, self.session = daemon, f"s{number}"
        self.acknowledged: list[str] = []
        self.asked = 0

    def write_until_it_dies(self) -> None:
        connection = DaemonConnection(self.daemon.socket, PATIENCE)
        try:
            while True:
                self.asked += 1
                text = f"note {self.asked} of {self.session}"
                call = {"tool": "notes.add", "args": {"content": text}}
                body = {"host": "opencode", "session": self.session, "directory": "/tmp"}
                status, _ = connection.exchange(
                    "/v1/tool", msgspec.json.encode({**body, "router": "hud", "arguments": call})
                )
                assert status == 200
                self.acknowledged.append(text)
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()


def kill_in_the_middle(daemon: Any, clients: list[Client], wait: float) -> None:
    """Start a daemon, let the clients write, and kill it a while after all of them were answered."""
    process = daemon.start()
    before = [len(client.acknowledged) for client in clients]
    with ThreadPoolExecutor(CLIENTS) as pool:
        writing = [pool.submit(client.write_until_it_dies) for client in clients]
        end = time.monotonic() + PATIENCE
        while any(len(client.acknowledged) == count for client, count in zip(clients, before, strict=True)):
            assert time.monotonic() < end, "nobody is answered"
            time.sleep(0.002)
        time.sleep(wait)
        process.kill()
        process.wait()
        for each in writing:
            each.result()


def check(daemon: Any, clients: list[Client]) -> None:
    with Hud.open(daemon.db) as hud:
        assert list(hud.verify()) == []
        for client in clients:
            name = next(name for name in hud.sessions() if f"/{client.session}@" in name)
            notes = [event.payload.content for event in hud.log.read(name) if event.type == "note.add"]  # type: ignore[union-attr]
            assert len(notes) == len(set(notes)), "none is there twice"
            assert set(client.acknowledged) <= set(notes), "none is lost"


@KILLS
def test_no_kill_of_the_daemon_loses_what_it_acknowledged(daemon: Any) -> None:
    chance = KILLS.chance(1)
    clients = [Client(daemon, number) for number in range(CLIENTS)]
    for number in range(KILLS.rounds):
        kill_in_the_middle(daemon, clients, chance.uniform(0, 0.05))
        if number % 20 == 0:
            check(daemon, clients)
    check(daemon, clients)


@LOSSES
def test_no_loss_of_power_takes_what_the_daemon_acknowledged(
    daemon: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = LOSSES.chance(2)
    supply = PowerSupply(daemon.db.parent, tmp_path)
    clients = [Client(daemon, number) for number in range(CLIENTS)]
    for _ in range(LOSSES.rounds):
        with monkeypatch.context() as powered:
            for name in ("LD_PRELOAD", "POWER_LOSS_UNDER", "POWER_LOSS_JOURNAL"):
                powered.setenv(name, supply.environment[name])
            kill_in_the_middle(daemon, clients, chance.uniform(0, 0.05))
        supply.lose(chance)
        check(daemon, clients)

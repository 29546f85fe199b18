"""The log on a PostgreSQL server passes the suite of every log, alone and with commits of groups in front."""

from __future__ import annotations

import pytest

from hudkit.log import EventLog
from hudkit.log.stores import GroupCommit, PostgresLog, open_log
from hudkit.testing.store_conformance import StoreConformance
from postgres_server import Server

pytestmark = pytest.mark.slow


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, postgres: Server) -> None:
        self.url = postgres.new_log()

    def open_store(self) -> EventLog:
        return PostgresLog.open(self.url)


class TestGroupOverPostgres(TestPostgres):
    def open_store(self) -> EventLog:
        return GroupCommit(PostgresLog.open(self.url))


def test_open_log_takes_a_url(postgres: Server) -> None:
    with open_log(postgres.new_log()) as log:  # type: ignore[attr-defined]
        assert isinstance(log, PostgresLog)

"""Workers: processes without a state of their own that play a world on a server, come, go, and replace each other."""

from hudkit.rooms.workers.lease_keeper import LeaseKeeper, SessionLease
from hudkit.rooms.workers.worker import Worker

__all__ = ["LeaseKeeper", "SessionLease", "Worker"]

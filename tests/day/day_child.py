"""A process in which a conversation of a day goes on with one prompt; it is there to be killed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

from day_paths import add_host_folders


def main() -> None:
    add_host_folders()
    from day_hosts import HOSTS

    from hudkit.testing.host_conformance import HostWorkspace

    name, given, prompt = json.loads(sys.argv[1])
    place: dict[str, Any] = {**given, "limit": tuple(given["limit"])}
    for key in ("project", "log", "folder"):
        place[key] = Path(place[key])
    with HOSTS[name]().open(HostWorkspace(**place), "day") as talk:
        talk.say(prompt)


if __name__ == "__main__":
    main()

"""The entry point: `python -m hudkit` and the `hudkit` command."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> int:
    """Run the command line of this process and return its exit code.

    Until the command's own module is imported, Ctrl-C ends the process at once. A `KeyboardInterrupt` would not do:
    one that is raised inside a callback of the import system is printed with a traceback and then ignored by Python.
    """
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):
        from hudkit.daemon import hook_client  # a host waits for it: the rest of the command line is not imported

        return hook_client.main(words[1])
    if words[:2] == ["mcp", "--host"] and len(words) == 3 and not words[2].startswith("-"):
        from hudkit.daemon import mcp_bridge

        return mcp_bridge.main(words[2])
    usual = signal.getsignal(signal.SIGINT)
    guarded = usual is signal.default_int_handler  # a shell may have it ignored, for a job in the background
    # Hardly anything that imports make is garbage: to look for it takes a tenth of a short command's time.
    gc.set_threshold(50_000)
    if guarded:
        signal.signal(signal.SIGINT, _stop_at_once)
    try:
        from hudkit import cli

        return cli.main(words, on_ready=lambda: signal.signal(signal.SIGINT, usual) if guarded else None)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    finally:
        gc.freeze()  # the end of the interpreter looks through everything twice more


def _stop_at_once(number: int, frame: object) -> None:  # noqa: ARG001
    os.write(2, b"stopped\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())

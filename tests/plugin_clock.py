"""The plugin with its deadlines in a test's hands: they pass where it says so, not because the machine is busy."""

from __future__ import annotations

from pathlib import Path

PATIENT = (
    ("const DEADLINE_MS = 200;", "const DEADLINE_MS = 60_000;"),
    ("const FIRST_MS = 2_000;", "const FIRST_MS = 60_000;"),
    ("const SUMMARY_MS = 4_000;", "const SUMMARY_MS = 60_000;"),
    ("const GREETING_MS = 2_000;", "const GREETING_MS = 60_000;"),
    ("const PATIENT_MS = 5_000;", "const PATIENT_MS = 60_000;"),
    ("const READY_MS = 1_500;", "const READY_MS = 60_000;"),
    ("const TELLING_MS = 1_000;", "const TELLING_MS = 60_000;"),
)
"""The constants of the plugin that say how long something may take: as users have them, and as tests do."""

_BY_HAND = """
// -- added by a test: a deadline passes while the file is there, 200 ms after both it and the question are; and how
//    many questions are open; the file FILE.silent is there while a daemon that is silent is greeted
import { existsSync as isThere, rmSync as drop, writeFileSync as make } from "node:fs";
const byTheClock = within;
const asks = exchange;
globalThis.hudkitAsking = 0;
exchange = async (...given) => {
  globalThis.hudkitAsking += 1;
  try {
    return await asks(...given);
  } finally {
    globalThis.hudkitAsking -= 1;
  }
};
const greets = greet;
greet = async () => {
  if (greeting) return;
  make("FILE.silent", "");
  await greets();
  drop("FILE.silent", { force: true });
};
within = async (promise, ms) => {
  let ticks = 0;
  let watch;
  const passed = new Promise((_, reject) => {
    watch = setInterval(() => {
      ticks = isThere("FILE") ? ticks + 1 : 0;
      if (ticks >= 10) reject(new NoAnswer("no answer within 200 ms", true, true));
    }, 20);
  });
  try {
    return await Promise.race([byTheClock(promise, ms), passed]);
  } finally {
    clearInterval(watch);
  }
};
"""


def patient(text: str, late: Path | None = None) -> str:
    """The plugin's text, with deadlines of a minute. With `late`, one also passes while that file exists."""
    for short, long in PATIENT:
        assert text.count(short) == 1, short
        text = text.replace(short, long)
    return text if late is None else text + _BY_HAND.replace("FILE", str(late))

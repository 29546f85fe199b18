// What the pages do beyond links and forms: keys, the slider, copying, and following an agent at work.
"use strict";

document.documentElement.classList.add("scripted");

const byId = (id) => document.getElementById(id);

// -- following: the page is asked for again when its session went on, unless it shows an older call

function keepOpen(before, after) {
  for (const part of before.querySelectorAll("details[id]")) {
    const same = after.querySelector(`#${CSS.escape(part.id)}`);
    if (same) same.open = part.open;
  }
}

async function loadAgain() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = byId("main");
  const focused = document.activeElement;
  const isTyping = main.contains(focused) && focused.matches("input, select, textarea");
  if (isTyping) return announce("There is something new.");
  const next = page.getElementById("main");
  keepOpen(main, next);
  const place = focused && focused.id;
  main.replaceWith(next);
  document.title = page.title;
  if (place && byId(place)) byId(place).focus({ preventScroll: true });
}

function announce(words) {
  const news = byId("news");
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "Show";
  news.replaceChildren(words, link);
  news.hidden = false;
}

function follow() {
  const address = byId("main").dataset.live;
  if (!address) return;
  const looksBack = new URL(location).searchParams.has("at") || new URL(location).searchParams.get("page") > 1;
  const stream = new EventSource(address);
  stream.addEventListener("news", () => {
    if (!looksBack) return loadAgain();
    if (byId("newest")) {
      byId("newest").classList.add("strong");
      byId("newest").textContent = "Newest call: there is more";
    }
  });
  addEventListener("pagehide", () => stream.close());
}

// -- the slider: the state is fitted anew while it moves

let fitting = null;

async function fit(form) {
  if (fitting) fitting.abort();
  fitting = new AbortController();
  const query = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(`${form.dataset.fit}?${query}`, { signal: fitting.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelector(".fitted");
    if (!part) return;
    keepOpen(byId("fitted"), part);
    byId("fitted").replaceChildren(part);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

addEventListener("input", ({ target }) => {
  if (target.id !== "slider" && target.id !== "budget") return;
  byId(target.id === "slider" ? "budget" : "slider").value = target.value;
  if (target.form.checkValidity()) fit(target.form);
});

addEventListener("submit", (event) => {
  if (!event.target.dataset.fit) return;
  event.preventDefault();
  fit(event.target);
});

// -- copying

addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed: copy the text";
  }
  setTimeout(() => { button.textContent = words; }, 1500);
});

// -- keys

function move(by) {
  const rows = [...document.querySelectorAll("#sessions tbody tr")];
  if (!rows.length) return byId(by > 0 ? "below" : "above")?.click();
  const now = rows.findIndex((row) => row.hasAttribute("aria-current"));
  const next = Math.max(0, Math.min(rows.length - 1, now < 0 ? 0 : now + by));
  rows[now]?.removeAttribute("aria-current");
  rows[next].setAttribute("aria-current", "true");
  rows[next].querySelector("a").focus();
}

const KEYS = {
  "[": () => (byId("call-before") ?? document.querySelector(".timeline tbody th a"))?.click(),
  "]": () => (byId("call-after") ?? byId("newest"))?.click(),
  J: () => move(1),
  j: () => move(1),
  K: () => move(-1),
  k: () => move(-1),
  l: () => byId("newest")?.click(),
  u: () => document.querySelector(".crumbs a:last-child")?.click(),
  "/": () => byId("search").focus(),
  "?": () => byId("keys").classList.toggle("open"),
};

addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape") {
    byId("keys").classList.remove("open");
    target.blur?.();
    return;
  }
  if (target.matches?.("input, select, textarea")) return;
  const act = KEYS[key];
  if (!act) return;
  event.preventDefault();
  act();
});

addEventListener("click", (event) => {
  if (event.target.id === "help") {
    event.preventDefault();
    byId("keys").classList.toggle("open");
  } else if (event.target.id === "close") {
    event.preventDefault();
    byId("keys").classList.remove("open");
  }
});

follow();

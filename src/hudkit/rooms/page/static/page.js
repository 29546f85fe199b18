// What HTML alone cannot do: look again when the world went on, count down, keep the newest message in sight,
// and listen to keys. Everything else is links and forms.
"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);

  // -- looking again ---------------------------------------------------------------------------------------------
  let stream = null;
  let stale = false; // the world went on since the page was written
  const busy = new Set(); // requests under way: htmx would keep another one for later, with an address of before
  let sliding = false;

  function listen() {
    const app = $("#app");
    if (!app || stream) return;
    stream = new EventSource(`/live?seq=${app.dataset.seq}`);
    stream.addEventListener("world", () => { stale = true; again(); });
    stream.onerror = () => {
      document.body.classList.add("lost");
      tell("The server does not answer. What is shown is from before; this page goes on when it is back.");
      if (stream.readyState === EventSource.CLOSED) { stale = true; again(); } // logged out: the answer says so
    };
    stream.onopen = () => {
      if (document.body.classList.contains("lost")) tell("");
      document.body.classList.remove("lost");
    };
  }

  function again() {
    if (!stale || busy.size || sliding || document.hidden || !$("#app")?.dataset.live) return;
    if (getSelection()?.type === "Range" || choosing()) return;
    stale = false;
    $("#again").dispatchEvent(new Event("again"));
  }
  document.addEventListener("visibilitychange", again);
  document.addEventListener("focusout", () => setTimeout(again, 50));
  setInterval(again, 1000);
  setInterval(() => { stale = true; again(); }, 5000); // beats that are skipped are no events, but the next is due later

  // A list that is folded out would fold up; one that only has the focus is no reason to wait.
  let chosen = -Infinity;
  const choosing = () => document.activeElement?.matches("select") && performance.now() - chosen < 8000;
  for (const kind of ["pointerdown", "keydown"]) {
    document.addEventListener(kind, (event) => { if (event.target.matches?.("select")) chosen = performance.now(); });
  }

  let asked = 0; // how often a person asked for something: an answer to what was asked before that comes too late
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    busy.add(ctx);
    ctx.asked = ctx.sourceElement.id === "again" ? asked : ++asked;
    keep();
  });
  document.addEventListener("htmx:before:swap", (event) => {
    if (event.detail.ctx?.asked < asked) event.preventDefault();
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => { busy.delete(ctx); again(); });
  document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
    ctx.swap = "none"; // what is there stays
    if (ctx.response.status === 401) location.assign("/login");
    else tell(new DOMParser().parseFromString(ctx.text, "text/html").querySelector("main p")?.textContent || "It failed.");
  });
  document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => { if (ctx.response?.status < 400) tell(""); });
  function tell(what) {
    $("#fault").textContent = what;
    $("#fault").hidden = !what;
  }
  document.addEventListener("htmx:before:swap", keep);
  document.addEventListener("htmx:after:swap", (event) => {
    const form = event.detail?.ctx?.sourceElement;
    if (form?.isConnected && form.matches("form[method=post]") && !$(".notice.refused")) done(form);
    fresh();
  });

  // -- what must stay as it is when the page is written anew -----------------------------------------------------
  const kept = { place: "", bottom: true, said: "", writing: false, first: "", above: 0 };

  function keep() {
    const list = $("#messages");
    if (!list) return;
    kept.place = list.dataset.room;
    kept.bottom = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    kept.writing = document.activeElement?.id === "text";
    const top = list.getBoundingClientRect().top;
    const first = [...list.querySelectorAll("#list > li")].find((one) => one.getBoundingClientRect().bottom > top);
    kept.first = first?.id ?? "";
    kept.above = first ? first.getBoundingClientRect().top : 0;
  }

  function fresh() {
    const list = $("#messages");
    if (list && (kept.bottom || kept.place !== list.dataset.room)) list.scrollTop = list.scrollHeight;
    else if (list && kept.first && document.getElementById(kept.first)) {
      list.scrollTop += document.getElementById(kept.first).getBoundingClientRect().top - kept.above;
    }
    below();
    const composer = $("#composer");
    const text = $("#text");
    if (composer?.dataset.said !== undefined && text) {
      if (kept.said && kept.said !== composer.dataset.said) { text.value = text.defaultValue; kept.writing = true; }
      kept.said = composer.dataset.said;
      if (kept.writing || location.search.includes("reply=")) text.focus({ preventScroll: true });
    }
    written = performance.now();
  }

  function below() {
    const list = $("#messages");
    const away = list && list.scrollHeight - list.scrollTop - list.clientHeight >= 60;
    $("#talk")?.classList.toggle("away", Boolean(away));
  }
  document.addEventListener("scroll", (event) => { if (event.target.id === "messages") below(); }, true);

  // What was written into a form and not sent stays, whatever the world does meanwhile.
  const unsent = new WeakSet();
  document.addEventListener("input", (event) => { if (!event.target.matches("#at, #text")) unsent.add(event.target); });
  htmx.registerExtension("unsent", {
    htmx_before_morph_node: (one) => !(one.tagName === "TEXTAREA" && unsent.has(one)),
    htmx_before_morph_attr: (one, { attrName }) => !(attrName === "value" && unsent.has(one)),
  });
  function done(form) {
    for (const one of form.elements) unsent.delete(one);
    if (form.id !== "composer") form.reset();
  }

  // -- counting down to beats ------------------------------------------------------------------------------------
  let written = performance.now();
  setInterval(() => {
    const gone = performance.now() - written;
    for (const one of document.querySelectorAll(".due[data-in]")) {
      const left = Math.max(0, one.dataset.in - gone);
      const text = `in ${(left / 1000).toFixed(0)} s`;
      if (one.textContent !== text) one.textContent = text;
    }
  }, 250);

  // -- forms that need no button ---------------------------------------------------------------------------------
  document.addEventListener("change", (event) => {
    if (event.target.matches(".speed select, #at")) event.target.form.requestSubmit();
  });
  document.addEventListener("pointerdown", (event) => { sliding = event.target.id === "at"; });
  document.addEventListener("pointerup", () => { sliding = false; });
  document.addEventListener("input", (event) => {
    if (event.target.id === "at") $(".where b").textContent = Number(event.target.value).toLocaleString("en");
  });

  // -- keys ------------------------------------------------------------------------------------------------------
  document.addEventListener("click", (event) => {
    const keys = $("#keys");
    if (event.target.id === "newest") {
      $("#messages").scrollTop = $("#messages").scrollHeight;
      $("#messages").focus({ preventScroll: true });
    }
    const quote = event.target.closest("a.quote");
    if (quote && $(quote.hash)) { // no fragment in the address: it would be gone to again with every message
      event.preventDefault();
      $(quote.hash).scrollIntoView({ block: "center" });
      $(quote.hash).animate?.([{ background: "var(--tint)" }, {}], { duration: 1500 });
    }
    if (event.target.closest("a[href='#keys']")) { event.preventDefault(); keys.classList.toggle("open"); }
    else if (!event.target.closest("#keys")) keys?.classList.remove("open");
    const menu = event.target.closest("details.settings");
    for (const one of document.querySelectorAll("details.settings[open]")) if (one !== menu) one.open = false;
  });

  function neighbour(step) {
    const rooms = [...document.querySelectorAll("#rooms a")];
    const here = rooms.findIndex((one) => one.getAttribute("aria-current"));
    rooms[Math.min(rooms.length - 1, Math.max(0, here + step))]?.click();
  }

  const keys = {
    c: () => $("#text")?.focus(),
    j: () => neighbour(1),
    k: () => neighbour(-1),
    p: () => $("#play")?.click(),
    s: () => $("#step")?.click(),
    "[": () => $("#back")?.click(),
    "]": () => $("#forward")?.click(),
    l: () => $("#live")?.click(),
    "/": () => $("#search")?.focus(),
    "?": () => $("#keys")?.classList.toggle("open"),
    Escape: () => {
      $("#keys")?.classList.remove("open");
      const menu = $("details.settings[open]");
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.id === "text" && event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (event.target.value.trim()) event.target.form.requestSubmit();
      return;
    }
    if (event.target.matches("input:not([type=range]), textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  document.documentElement.classList.add("scripted");
  addEventListener("DOMContentLoaded", () => { fresh(); listen(); });
})();

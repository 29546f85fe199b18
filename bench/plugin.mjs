// Times the plugin's hooks as OpenCode calls them before an LLM call. What to do comes on stdin as JSON; the
// milliseconds of every call, interleaved by case, go to stdout.
import { readFileSync } from "node:fs";

const { plugin, socket, rounds, warm, steps, sizes, lead } = JSON.parse(readFileSync(0, "utf8"));
const MODEL = { id: "m", providerID: "p", limit: { context: 200_000, output: 8_000 } };
const SYSTEM = "x".repeat(9_600); // as long as OpenCode's own
const OUTPUT = "The quick brown fox jumps over the lazy dog, line after line.\n".repeat(40).slice(0, 2_000);
const HELD = [
  ["task.set", { description: "Port the monthly report to the new API" }],
  ["constraints.add", { text: "Do not change the public API" }],
  ["decisions.record", { summary: "Columns keep their order", details: "finance reads them by position" }],
  ["decisions.record", { summary: "Amounts are decimals", details: "cents were lost in floats" }],
  ["notes.add", { content: "The staging server rejects more than 50 rows a request" }],
];

const { Hudkit, ask, timedQuestions } = await import(plugin);
const client = { config: { providers: async () => ({ data: { providers: [] } }) }, session: {} };
const hooks = await Hudkit({ client, directory: "/tmp" });

/** A session of a coding agent: requests now and then, between them steps that read a file. */
class Agent {
  constructor(kind, number) {
    this.id = `ses_${kind}_${number}`;
    this.at = 1_795_187_733_000 + 3_600_000 * number;
    this.messages = [];
    this.left = steps;
  }

  /** A request, the agent's own notes, and steps up to `size` messages; everything was told then. */
  async begin(size) {
    this.request();
    await this.call();
    for (const [tool, args] of HELD) {
      const said = await hooks.tool.hud.execute({ tool, args }, { sessionID: this.id });
      if (!/^(Set|Added|Recorded|Noted)/.test(said)) throw new Error(said);
    }
    while (this.messages.length < size) {
      this.messages.length % 10 ? this.step() : this.request();
      if (this.messages.length % 20 === 0 || size - this.messages.length < 3) await this.call();
    }
    return this;
  }

  request() {
    const n = this.messages.length;
    const time = { created: (this.at += 1_000) };
    const model = { providerID: "p", modelID: "m" };
    const info = { id: `msg_${n}`, sessionID: this.id, role: "user", time, agent: "build", model };
    this.messages.push({ info, parts: [this.part("text", 0, { text: `Now part ${n}, please; keep the columns.` })] });
  }

  step() {
    const n = this.messages.length;
    const time = { created: (this.at += 1_000), completed: this.at + 400 };
    const tokens = { input: 120, output: 60, reasoning: 0, cache: { read: 9_000 + 550 * n, write: 550 } };
    const told = { parentID: "msg_0", modelID: "m", providerID: "p", mode: "build", agent: "build", cost: 0 };
    const path = { cwd: "/tmp", root: "/tmp" };
    const info = { id: `msg_${n}`, sessionID: this.id, role: "assistant", time, path, finish: "tool-calls", tokens };
    const state = {
      status: "completed",
      input: { filePath: `/tmp/src/part_${n % 12}.py` },
      output: OUTPUT,
      title: `src/part_${n % 12}.py`,
      metadata: { preview: OUTPUT.slice(0, 300), truncated: false, loaded: [] },
      time: { start: this.at + 200, end: this.at + 300 },
    };
    const parts = [
      this.part("step-start", 0, {}),
      this.part("text", 1, { text: `Reading part ${n}.` }),
      this.part("tool", 2, { tool: "read", callID: `call_${this.id}_${n}`, state }),
      this.part("step-finish", 3, { reason: "tool-calls", tokens, cost: 0 }),
    ];
    this.messages.push({ info: { ...info, ...told }, parts });
  }

  part(type, place, more) {
    const n = this.messages.length;
    return { id: `prt_${n}_${place}`, sessionID: this.id, messageID: `msg_${n}`, type, ...more };
  }

  /** The events by which OpenCode tells of the last step, and the time it takes until it makes the next call. */
  async told() {
    const { info, parts } = this.messages.at(-1);
    for (const part of parts) await hooks.event({ event: { type: "message.part.updated", properties: { part } } });
    await hooks.event({ event: { type: "message.updated", properties: { info } } });
    await new Promise((resolve) => setTimeout(resolve, lead));
  }

  /** The hooks of one call, in OpenCode's order. */
  async call() {
    const output = { messages: [...this.messages] };
    await hooks["experimental.chat.messages.transform"]({}, output);
    await hooks["experimental.chat.system.transform"]({ sessionID: this.id, model: MODEL }, { system: [SYSTEM] });
  }
}

let begun = 0;
const agents = {};

/** The session of a case, at its size to within `steps` messages. */
async function agent(kind) {
  if (!agents[kind]?.left) agents[kind] = await new Agent(kind, begun++).begin(sizes[kind]);
  return agents[kind];
}

const stepping =
  (kind, { told = true } = {}) =>
  async () => {
    const one = await agent(kind);
    one.left -= 1;
    one.step();
    if (told) await one.told();
    return () => one.call();
  };

const CASES = {
  empty: async () => () => ask("/v1/hello", {}),
  bare: async () => async () => (await fetch("http://localhost/health", { unix: socket })).text(),
  same: async () => {
    const one = await agent("same");
    return () => one.call();
  },
  step: stepping("step"),
  long: stepping("long"),
  sudden: stepping("sudden", { told: false }),
};

const names = Object.keys(CASES);
const results = Object.fromEntries(names.map((name) => [name, { ms: [], asking: [], sent: [] }]));
let failed = 0;
for (let round = -warm; round < rounds; round++) {
  for (let n = 0; n < names.length; n++) {
    const name = names[(n + Math.abs(round)) % names.length];
    const call = await CASES[name]();
    timedQuestions.splice(0);
    const start = performance.now();
    await call();
    const ms = performance.now() - start;
    if (round < 0) continue;
    results[name].ms.push(ms);
    results[name].asking.push(timedQuestions.filter((one) => one.begun >= start).reduce((sum, one) => sum + one.ms, 0));
    results[name].sent.push(timedQuestions.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0));
    failed += timedQuestions.filter((one) => one.failed).length;
  }
}
process.stdout.write(JSON.stringify({ results, failed }), () => process.exit(0));

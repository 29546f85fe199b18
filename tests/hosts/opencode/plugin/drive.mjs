// Runs hooks of a plugin as OpenCode does. Steps come on stdin as JSON, what they gave goes to stdout.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const { plugin, steps } = JSON.parse(readFileSync(0, "utf8"));
const calls = [];
const said = [];
const client = {
  config: {
    providers: async () => ({
      data: { providers: [{ id: "fake", models: { m: { id: "m", limit: { context: 40000, output: 4000 } } } }] },
    }),
  },
  session: { summarize: async (asked) => void calls.push(asked) },
  app: { log: async ({ body }) => void said.push({ log: body.message }) },
  tui: { showToast: async ({ body }) => void said.push({ toast: body.message }) },
};
const { Hudkit } = await import(plugin);
const begun = performance.now();
const hooks = await Hudkit({ client, directory: "/work/project" });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (reached) => {
  while (!reached()) await sleep(5);
};
const results = [{ ms: performance.now() - begun, hooks: Object.keys(hooks), tools: hooks.tool }];
for (const { hook, tool, input, output, wait, there, gone, touch, remove } of steps) {
  const start = performance.now();
  let text;
  if (wait) {
    await sleep(wait);
    await until(() => !globalThis.hudkitAsking); // what was asked until then is answered
  } else if (there) await until(() => existsSync(there));
  else if (gone) await until(() => !existsSync(gone));
  else if (touch) writeFileSync(touch, "");
  else if (remove) rmSync(remove);
  else if (tool) text = await hooks.tool[tool].execute(input.args, input.at);
  else await hooks[hook](input, output);
  results.push({ ms: performance.now() - start, output: output ?? null, input: input ?? null, text });
}
process.stdout.write(JSON.stringify({ results, calls, said }), () => process.exit(0));

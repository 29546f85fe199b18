// Renders the chunks of a JSON file with vscode-prompt-tsx, and prints the seconds of the fastest of some runs.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, file, limit, runs] = process.argv.slice(2);
const require = createRequire(modules + "/");
const tsx = require("@vscode/prompt-tsx");
const { chunks, counts } = JSON.parse(readFileSync(file, "utf8"));
const table = counts === null ? null : new Map(chunks.map((chunk, n) => [chunk.text, counts[n]]));

// One token per word, or the counts that were given for each chunk: those cost nothing here.
const words = text => (text.match(/\S+/g) || []).length;
const count = text => table === null ? words(text) : table.get(text)
  ?? text.split("\n").reduce((sum, line) => sum + (table.get(line) ?? words(line)), 0);
const tokenizer = {
  mode: tsx.OutputMode.Raw,
  tokenLength: part => part.type === 1 ? count(part.text) : 0,
  countMessageTokens: message => message.content.reduce((sum, part) => sum + (part.type === 1 ? count(part.text) : 0), 0),
};
class Prompt extends tsx.PromptElement {
  render() {
    return vscpp(tsx.UserMessage, {},
      ...chunks.map(chunk => vscpp(tsx.TextChunk, { priority: chunk.priority }, chunk.text)));
  }
}
let best = Infinity, tokens = 0;
for (let n = 0; n < +runs; n++) {
  const start = performance.now();
  const found = await tsx.renderPrompt(Prompt, {}, { modelMaxPromptTokens: +limit }, tokenizer, undefined, undefined, tsx.OutputMode.Raw);
  best = Math.min(best, performance.now() - start);
  tokens = found.tokenCount;
}
console.log(JSON.stringify({ seconds: best / 1000, tokens }));

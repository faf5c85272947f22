// A client of MCP for the official suite: it starts the gateway in front of the suite's server and asks it for
// everything, once. The suite gives the server's address as the last argument.
//
// `CLIENT_ERA`: `legacy` begins with `initialize`, `modern` says in each request who it is.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const url = process.argv.at(-1);
const modern = process.env.CLIENT_ERA === "modern";
const wanted = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}").toolCalls;

mkdirSync(".interlock", { recursive: true });
writeFileSync(".interlock/config.toml", `[mcp.behind]\nurl = ${JSON.stringify(url)}\n`);
const gateway = spawn(process.env.INTERLOCK, ["gateway"], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: gateway.stdout })[Symbol.asyncIterator]();
const send = (message) => gateway.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const client = { name: "conformance-client", version: "1.0.0" };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": client,
  "io.modelcontextprotocol/clientCapabilities": capabilities,
};

/** Answers what the server asks: a form with its defaults, roots with none. */
function answer({ method, params }) {
  if (method === "roots/list") return { roots: [] };
  const fields = Object.entries(params?.requestedSchema?.properties ?? {});
  return { action: "accept", content: Object.fromEntries(fields.map(([name, { default: value }]) => [name, value ?? "text"])) };
}

let last = 0;
async function ask(method, params = {}) {
  const id = ++last;
  send({ id, method, params: modern ? { ...params, _meta: meta } : params });
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error("the gateway has ended");
    const message = JSON.parse(value);
    if (message.method) {
      if ("id" in message) send({ id: message.id, result: answer(message) });
    } else if (message.id === id) {
      const { result = {} } = message;
      if (result.resultType !== "input_required") return result;
      const asked = Object.entries(result.inputRequests ?? {});
      const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, answer(question)]));
      const { requestState } = result;
      return ask(method, { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
    }
  }
}

if (modern) {
  await ask("server/discover");
} else {
  await ask("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: client });
  send({ method: "notifications/initialized" });
}

const { tools = [] } = await ask("tools/list");
const theirs = tools.filter(({ name }) => !name.startsWith("interlock_"));
// The suite compares one of the schemas with what it gets back.
const rich = theirs.find(({ name }) => name === "json_schema_2020_12_tool")?.inputSchema ?? {};
const made = ({ type, default: value }) => value ?? { number: 1, integer: 1, boolean: true, array: [], object: rich }[type] ?? "text";
const calls = theirs.map(({ name, inputSchema }) => {
  const fields = Object.entries(inputSchema?.properties ?? {});
  return { name, arguments: Object.fromEntries(fields.map(([field, schema]) => [field, made(schema)])) };
});
for (const call of wanted ?? calls) await ask("tools/call", { name: call.name, arguments: call.arguments });
for (const { name } of (await ask("prompts/list")).prompts ?? []) await ask("prompts/get", { name });
for (const { uri } of (await ask("resources/list")).resources ?? []) await ask("resources/read", { uri });
gateway.stdin.end();

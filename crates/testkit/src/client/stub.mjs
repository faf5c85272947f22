// An MCP server over stdio with one tool, `ping`, which answers `pong:` and its argument.
import { createInterface } from "node:readline";

const tool = {
  name: "ping",
  description: "Answers.",
  inputSchema: { type: "object", properties: { say: { type: "string" } } },
};

function reply({ method, params }) {
  if (method === "initialize") {
    const serverInfo = { name: "stub", version: "1" };
    return { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } };
  }
  if (method === "tools/list") return { result: { tools: [tool] } };
  if (method === "tools/call") {
    const text = `pong:${params.arguments?.say ?? ""}`;
    return { result: { content: [{ type: "text", text }], isError: false } };
  }
  if (method === "ping") return { result: {} };
  return { error: { code: -32601, message: "method not found" } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply(message) }));
}

// A scripted client that honours what its hook says: proposes an edit, then asks for the transition that is named, and ends with a code.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";

const [event, code] = process.argv.slice(2);
const common = { session_id: "s-1", cwd: process.cwd(), permission_mode: "bypassPermissions", transcript_path: "/nowhere" };

function hook(input) {
  const asked = spawnSync("interlock", ["hook", "claude-code"], { input: JSON.stringify({ ...common, ...input }) });
  console.error(String(asked.stdout).trim());
  return JSON.parse(String(asked.stdout) || "{}").hookSpecificOutput?.permissionDecision ?? "allow";
}

async function transition(name) {
  const call = { name: "interlock_transition", arguments: { event: name } };
  const clientInfo = { name: "agent", version: "1" };
  const server = spawn("interlock", ["gateway"], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const ask = async (id, method, params) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    for (;;) {
      const answer = JSON.parse((await answers.next()).value);
      if (answer.id === id) return answer;
    }
  };
  await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  console.error(JSON.stringify(await ask(2, "tools/call", call)));
  server.stdin.end();
}

hook({ hook_event_name: "SessionStart", source: "startup" });
const edit = { file_path: "a.txt", old_string: "a", new_string: "b" };
hook({ hook_event_name: "PreToolUse", tool_name: "Edit", tool_input: edit, tool_use_id: "t1" });
if (event !== undefined && event !== "-") {
  const tool_input = { event };
  const tool_name = "mcp__interlock__interlock_transition";
  if (hook({ hook_event_name: "PreToolUse", tool_name, tool_input, tool_use_id: "t2" }) === "allow") {
    await transition(event);
  }
}
process.exit(Number(code ?? 0));

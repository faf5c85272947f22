// Asks Interlock once more when a tool is about to run: whatever came between its hook and the tool, a plugin's code
// among them, is overruled here. Only what Interlock has allowed, as it has allowed it, runs.
const PROGRAM = "interlock";
// What stands before and behind the words of a call; a package has its own.
const BEFORE = [];
const BEHIND = [];

// Asks about one call; returns why it may not run, or `undefined`.
async function refusal($, call) {
  const question = { session_id: await $.session.id(), cwd: await $.session.cwd(), ...call };
  const asked = await $.process.run([PROGRAM, ...BEFORE, "hook", "claude-code", ...BEHIND], {
    stdin: JSON.stringify(question),
    timeoutMs: 10000,
  });
  if (asked.exitCode !== 0) {
    return asked.stderr || "Interlock did not answer: see `interlock doctor`";
  }
  const said = JSON.parse(asked.stdout).hookSpecificOutput;
  return said?.permissionDecision === "deny" ? said.permissionDecisionReason : undefined;
}

const AWAY =
  "Interlock cannot be asked: install it, or take its plugin out (.claude/skills/interlock)";

export function register(on) {
  on("tool.run", async ($, e, next) => {
    const { tool, tool_use_id, agentId, ...tool_input } = e;
    const agent = agentId === undefined ? {} : { agent_id: agentId };
    const call = { hook_event_name: "ToolRun", tool_name: tool, tool_use_id, tool_input, ...agent };
    const deny = await refusal($, call);
    return deny === undefined ? next(e) : { deny };
  }).catch(() => ({ deny: AWAY }));
  // Settings name this hook, where older clients skip an event that they do not know; a plugin's file with such an
  // event they skip whole.
  if (!BEHIND.includes("--plugin")) return;
  try {
    on("classic.PreSkillShellCommand", async ($, e, next) => {
      const block = await refusal($, { ...e, hook_event_name: "PreSkillShellCommand" });
      return block === undefined ? next(e) : { block };
    }).catch(() => ({ block: AWAY }));
  } catch {
    // The client is older.
  }
}

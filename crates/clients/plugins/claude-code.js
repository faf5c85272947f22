// Asks Interlock once more when a tool is about to run: whatever came between its hook and the tool, a plugin's code
// among them, is overruled here. Only what Interlock has allowed, as it has allowed it, runs.
const PROGRAM = "interlock";
// What stands before and behind the words of a call; a package has its own.
const BEFORE = [];
const BEHIND = [];

export function register(on) {
  on("tool.run", async ($, e, next) => {
    const { tool, tool_use_id, agentId, ...input } = e;
    const question = {
      hook_event_name: "ToolRun",
      session_id: await $.session.id(),
      cwd: await $.session.cwd(),
      tool_name: tool,
      tool_use_id,
      tool_input: input,
      ...(agentId === undefined ? {} : { agent_id: agentId }),
    };
    const asked = await $.process.run([PROGRAM, ...BEFORE, "hook", "claude-code", ...BEHIND], {
      stdin: JSON.stringify(question),
      timeoutMs: 10000,
    });
    if (asked.exitCode !== 0) {
      return { deny: asked.stderr || "Interlock did not answer: see `interlock doctor`" };
    }
    const said = JSON.parse(asked.stdout).hookSpecificOutput;
    return said?.permissionDecision === "deny" ? { deny: said.permissionDecisionReason } : next(e);
  }).catch(() => ({
    deny: "Interlock cannot be asked: install it, or take its plugin out (.claude/skills/interlock)",
  }));
}

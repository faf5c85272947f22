// Made from what `interlock init` writes, by `cargo xtask plugins`: change it there.
// Asks Interlock once more when a tool is about to run: whatever came between its hook and the tool, a plugin's code
// among them, is overruled here. Only what Interlock has allowed, as it has allowed it, runs.
const PROGRAM = "/bin/sh";
// What stands before and behind the words of a call; a package has its own.
const BEFORE = ["-c","p=$(command -v \"$1\"); c=$CLAUDE_PROJECT_DIR; [ -n \"$c\" ] || c=$PWD; case $p in \"$PWD\"/*|\"$c\"/*|[!/]*|*/node_modules/.bin/*) p= ;; esac; for d in \"$PWD\" \"$c\"; do while [ -n \"$d\" ] && [ \"$d\" != \"$HOME\" ]; do if [ -e \"$d/.git\" ] || [ -e \"$d/.interlock\" ]; then case $p in \"$d\"/*) p= ;; esac; break; fi; d=${d%/*}; done; done; [ -n \"$p\" ] || { i=; while IFS= read -r l || [ -n \"$l\" ]; do i=$i$l; done; s=$XDG_STATE_HOME; [ -n \"$s\" ] || s=$HOME/.local/state; g=; h=$(pwd -P); for f in \"$s\"/interlock/sessions/*.json \"$s\"/interlock/projects/*.json; do [ -e \"$f\" ] || continue; j=; while IFS= read -r l || [ -n \"$l\" ]; do j=$j$l; done < \"$f\" || g=1; [ -n \"$j\" ] || g=1; n=${j#*\\\"session\\\":\\\"}; [ \"$n\" = \"$j\" ] || { n=${n%%\\\"*}; case $i in *\"\\\"$n\\\"\"*) g=1 ;; esac; }; for d in \"$h\" \"$c\"; do while [ -n \"$d\" ]; do case $j in *\"\\\"project_root\\\":\\\"$d\\\"\"*) g=1 ;; esac; d=${d%/*}; done; done; done; for d in \"$h\" \"$c\"; do while [ -n \"$d\" ]; do f=$d/.interlock/config.toml; d=${d%/*}; [ -e \"$f\" ] || continue; while IFS= read -r l || [ -n \"$l\" ]; do case $l in *workflow*) g=1 ;; esac; done < \"$f\" || g=1; done; done; [ -n \"$g\" ] || { echo \"{}\"; exit 0; }; echo \"interlock is not on the PATH here, and a run may guard this session, so the call is refused: put interlock on the PATH of this client, or uninstall its plugin\" >&2; exit 2; }; o=$(\"$@\") && case $o in \"{\"*\"}\") printf \"%s\\n\" \"$o\" ;; *) false ;; esac || { echo \"interlock: the hook failed, so the call is refused\" >&2; exit 2; }","interlock","interlock"];
const BEHIND = ["--plugin"];

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

// Written by interlock init; interlock init --remove takes it out.
//
// Asks Interlock before every tool call and tells it what came of the call.
// Whatever goes wrong is a refusal: opencode does not run a call whose hook throws.

import { spawnSync } from "node:child_process"

const PROGRAM = "/opt/my tools/interlock"

function ask(event, input) {
  const run = spawnSync(PROGRAM, ["hook", "opencode", event], {
    input: JSON.stringify(input),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  if (run.error) throw new Error(`interlock: ${run.error.message}; the call is refused`)
  if (run.status !== 0) throw new Error(run.stderr.trim() || "interlock: the hook failed, so the call is refused")
  return JSON.parse(run.stdout)
}

export const Interlock = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = ask("tool.execute.before", { ...input, directory, args: output.args })
    if (answer.deny) throw new Error(answer.deny)
    if (answer.args) Object.assign(output.args, answer.args)
  },
  "tool.execute.after": async (input, output) => {
    ask("tool.execute.after", { ...input, directory, result: output })
  },
})

// Plays opencode to the plugin: calls its hooks as told on standard input, prints what came of each.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const told = JSON.parse(readFileSync(0, "utf8"))
const module = await import(pathToFileURL(told.plugin).href)
const client = {
  session: {
    get: async ({ path }) => {
      const known = told.sessions[path.id]
      const time = { created: 10 }
      return known === undefined ? { error: "not found" } : { data: { id: path.id, parentID: known ?? undefined, time } }
    },
    messages: async ({ path }) => ({ data: (told.said?.[path.id] ?? []).map((created) => ({ info: { time: { created } } })) }),
  },
}
const exported = Object.values(module)
if (exported.length !== 1 || typeof exported[0] !== "function") throw new Error("opencode takes every export for a plugin")
const hooks = await exported[0]({ client, directory: told.directory, worktree: told.directory })

const results = []
for (const { hook, input, output, then } of told.steps) {
  try {
    await hooks[hook](input, output)
    // As a plugin that comes after it.
    if (then) Object.assign(output.args, then)
    results.push({ output })
  } catch (error) {
    results.push({ error: error.message })
  }
}
process.stdout.write(JSON.stringify(results))

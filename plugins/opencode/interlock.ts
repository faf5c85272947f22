// Made from what `interlock init` writes, by `cargo xtask plugins`: change it there.
// Interlock for opencode: every tool is judged by `interlock hook opencode` before it runs.
//
// Whatever goes wrong here throws, so that a tool that was not judged does not run.
// Written as plain JavaScript that is TypeScript too: nothing has to be built.
import { spawn } from "node:child_process"

const PROGRAM = "/bin/sh"
// What stands before and behind the words of a call, and the control server; a package has its own.
const BEFORE = ["-c","p=$(command -v \"$1\"); c=$CLAUDE_PROJECT_DIR; [ -n \"$c\" ] || c=$PWD; case $p in \"$PWD\"/*|\"$c\"/*|[!/]*|*/node_modules/.bin/*) p= ;; esac; for d in \"$PWD\" \"$c\"; do while [ -n \"$d\" ] && [ \"$d\" != \"$HOME\" ]; do if [ -e \"$d/.git\" ] || [ -e \"$d/.interlock\" ]; then case $p in \"$d\"/*) p= ;; esac; break; fi; d=${d%/*}; done; done; [ -n \"$p\" ] || { i=; while IFS= read -r l || [ -n \"$l\" ]; do i=$i$l; done; s=$XDG_STATE_HOME; [ -n \"$s\" ] || s=$HOME/.local/state; g=; h=$(pwd -P); for f in \"$s\"/interlock/sessions/*.json \"$s\"/interlock/projects/*.json; do [ -e \"$f\" ] || continue; j=; while IFS= read -r l || [ -n \"$l\" ]; do j=$j$l; done < \"$f\" || g=1; [ -n \"$j\" ] || g=1; n=${j#*\\\"session\\\":\\\"}; [ \"$n\" = \"$j\" ] || { n=${n%%\\\"*}; case $i in *\"\\\"$n\\\"\"*) g=1 ;; esac; }; for d in \"$h\" \"$c\"; do while [ -n \"$d\" ]; do case $j in *\"\\\"project_root\\\":\\\"$d\\\"\"*) g=1 ;; esac; d=${d%/*}; done; done; done; for d in \"$h\" \"$c\"; do while [ -n \"$d\" ]; do f=$d/.interlock/config.toml; d=${d%/*}; [ -e \"$f\" ] || continue; while IFS= read -r l || [ -n \"$l\" ]; do case $l in *workflow*) g=1 ;; esac; done < \"$f\" || g=1; done; done; [ -n \"$g\" ] || { echo \"{}\"; exit 0; }; echo \"interlock is not on the PATH here, and a run may guard this session, so the call is refused: put interlock on the PATH of this client, or uninstall its plugin\" >&2; exit 2; }; o=$(\"$@\") && case $o in \"{\"*\"}\") printf \"%s\\n\" \"$o\" ;; *) false ;; esac || { echo \"interlock: the hook failed, so the call is refused\" >&2; exit 2; }","interlock","interlock"]
const BEHIND = ["--plugin"]
const SERVER = ["interlock","gateway","--trusted-only"]
// The program answers within 2 seconds or refuses by itself.
const DEADLINE_MS = 10_000

// Sends one event to the program and returns what it answers.
function ask(event) {
  return new Promise((resolve, reject) => {
    const failed = (why) => reject(new Error(`interlock: ${why}; nothing was allowed`))
    const child = spawn(PROGRAM, [...BEFORE, "hook", "opencode", event.event, ...BEHIND], { stdio: ["pipe", "pipe", "pipe"] })
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      failed(`no answer within ${DEADLINE_MS / 1000} s`)
    }, DEADLINE_MS)
    let said = ""
    let complaint = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (complaint += text))
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      clearTimeout(late)
      failed(`\`${PROGRAM}\` cannot be started: ${error.message}`)
    })
    child.on("close", (code) => {
      clearTimeout(late)
      if (code !== 0) {
        reject(new Error(complaint.trim() || `interlock: it ended with ${code}; nothing was allowed`))
        return
      }
      try {
        const answer = JSON.parse(said)
        if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Error("not an object")
        resolve(answer)
      } catch {
        failed("its answer is not one JSON object")
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}

// Makes a value and everything in it constant.
function freeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const key of Object.keys(value)) freeze(value[key])
}

// Tells whether permissions never refuse a shell line, nor ask about one.
function isOpen(permission) {
  if (permission === undefined || permission === null || permission === "allow") return true
  if (typeof permission !== "object") return false
  return ["bash", "*"].every((key) => {
    const rule = permission[key]
    if (rule === undefined || rule === "allow") return true
    return typeof rule === "object" && rule !== null && Object.values(rule).every((word) => word === "allow")
  })
}

export const InterlockPlugin = async ({ client, directory }) => {
  // The session that started each session; `null`: nobody did.
  const parents = new Map()
  let servers = []
  // Before the configuration is known a line stays as it is.
  let carries = false
  let plugins = []
  // What a prompt was answered with, for the model's next turns.
  const news = new Map()
  // Whether each session began as a copy of another.
  const copies = new Map()

  async function parentOf(session) {
    if (!parents.has(session)) {
      const found = await client.session.get({ path: { id: session } })
      if (!found?.data) throw new Error(`interlock: whose session ${session} is, is not known; nothing was allowed`)
      parents.set(session, found.data.parentID ?? null)
    }
    return parents.get(session) ?? undefined
  }

  // A copy has messages that are older than itself. One that cannot be looked at may be a copy.
  async function isCopy(session) {
    if (!copies.has(session)) {
      const [own, said] = await Promise.all([
        client.session.get({ path: { id: session } }),
        client.session.messages({ path: { id: session } }),
      ]).catch(() => [])
      const since = own?.data?.time?.created
      const known = typeof since === "number" && Array.isArray(said?.data)
      copies.set(session, !known || said.data.some((message) => !(message?.info?.time?.created >= since)))
    }
    return copies.get(session)
  }

  async function about(event, session, more) {
    return ask({ event, session, parent: await parentOf(session), directory, ...more })
  }

  // Where there is no screen to show it on, it is printed.
  function tellPerson(message, variant) {
    if (process.argv.includes("run")) process.stderr.write(`${message}\n`)
    Promise.resolve(client.tui?.showToast({ body: { message, variant, duration: 20_000 } })).catch(() => {})
  }

  // Of several servers whose names fit, the longest has the tool.
  function serverOf(tool) {
    return servers.filter((name) => tool.startsWith(`${name}_`)).sort((a, b) => b.length - a.length)[0]
  }

  return {
    config: async (config) => {
      if (SERVER && !config.mcp?.interlock) {
        config.mcp = { ...config.mcp, interlock: { type: "local", command: SERVER, enabled: true } }
      }
      servers = Object.keys(config.mcp ?? {}).map((name) => name.replace(/[^a-zA-Z0-9_-]/g, "_"))
      const agents = [...Object.values(config.agent ?? {}), ...Object.values(config.mode ?? {})]
      carries = [config, ...agents].every((part) => isOpen(part?.permission))
      const listed = config.plugin_origins?.map((origin) => origin?.spec) ?? config.plugin ?? []
      plugins = listed.map((plugin) => String(Array.isArray(plugin) ? plugin[0] : plugin))
    },

    event: async ({ event }) => {
      const info = event?.properties?.info
      if (event?.type === "session.created" && info?.id) parents.set(info.id, info.parentID ?? null)
      if (event?.type === "session.deleted" && info?.id) {
        // Nothing can run any more that this could let through.
        await about("session.deleted", info.id, {}).catch(() => {})
        parents.delete(info.id)
        news.delete(info.id)
        copies.delete(info.id)
      }
    },

    "chat.message": async (input) => {
      const copy = await isCopy(input.sessionID)
      const answer = await about("chat.message", input.sessionID, { plugins, copy }).catch((error) => {
        tellPerson(error.message, "error")
        throw error
      })
      const stops = typeof answer.stop === "string"
      const person = stops ? answer.stop : answer.person
      if (typeof person === "string") tellPerson(person, stops ? "error" : "warning")
      if (stops) throw new Error(answer.stop)
      if (typeof answer.context === "string") news.set(input.sessionID, answer.context)
      else news.delete(input.sessionID)
    },

    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID) return
      // It tells the model where its run stands; the tools are judged without it too.
      const answer = await about("chat.system", input.sessionID, {}).catch(() => ({}))
      const context = answer.context ?? news.get(input.sessionID)
      if (typeof context === "string") output.system.push(context)
    },

    "tool.execute.before": async (input, output) => {
      const answer = await about("tool.execute.before", input.sessionID, {
        call: input.callID,
        tool: input.tool,
        server: serverOf(input.tool),
        args: output.args,
        carries,
      })
      if (typeof answer.deny === "string") throw new Error(answer.deny)
      if (answer.args) {
        for (const key of Object.keys(output.args)) if (!(key in answer.args)) delete output.args[key]
        Object.assign(output.args, answer.args)
      }
      // Whatever another plugin changes from here on was not judged: it throws.
      if (answer.held === true) freeze(output.args)
    },

    "tool.execute.after": async (input, output) => {
      const answer = await about("tool.execute.after", input.sessionID, {
        call: input.callID,
        tool: input.tool,
        server: serverOf(input.tool),
        args: input.args ?? {},
        output: output?.output ?? output?.content ?? output,
        metadata: { exit: output?.metadata?.exit },
      })
      if (typeof answer.context === "string" && typeof output?.output === "string") {
        output.output += `\n\n${answer.context}`
      }
    },
  }
}

#!/usr/bin/env node
// Starts the program of this platform, which lies in a package of its own. Hooks do not come this way: `interlock init`
// writes the path of the program itself.
"use strict"

const { spawn } = require("node:child_process")
const { constants } = require("node:os")

const platform = `${process.platform}-${process.arch}`

function program() {
  try {
    return require.resolve(`@interlock-cli/${platform}/bin/interlock`)
  } catch {
    console.error(
      `interlock: there is no program for ${platform} here. It comes as the optional dependency @interlock-cli/${platform}: ` +
        "install again without `--omit=optional`, or build it from source with cargo.",
    )
    process.exit(1)
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" })
// A terminal sends these to both; the program alone decides what becomes of them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal)
  })
}
child.on("error", (error) => {
  console.error(`interlock: ${error.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))

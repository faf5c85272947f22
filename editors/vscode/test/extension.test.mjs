// The extension with the real program and a scripted editor.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { load } from "./vscode.mjs";

const require = createRequire(import.meta.url);
const program = process.env.INTERLOCK ?? "interlock";

let folder;
let run;

const FLOW = `id: flow
initial: work
states:
  work:
    allowed_tools: [Read]
    on: {SHIP: {target: done, requires_approval: true, approval_message: Ship it?}}
  done: {type: final}
`;

function interlock(...args) {
  return execFileSync(program, args, { cwd: folder, encoding: "utf8" });
}

before(() => {
  folder = mkdtempSync(path.join(tmpdir(), "interlock-vscode-"));
  process.env.XDG_STATE_HOME = path.join(folder, "state");
  process.env.XDG_CONFIG_HOME = path.join(folder, "config");
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  writeFileSync(path.join(folder, "flow.yaml"), FLOW);
  interlock("start", "flow.yaml");
  run = JSON.parse(interlock("runs", "--json")).run;
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** Stands between the extension and the program: records calls, and lets a question wait. */
function recorder() {
  const log = path.join(folder, "calls.log");
  writeFileSync(log, "");
  const file = path.join(folder, "interlock-recorded");
  const pending = JSON.stringify({ pending: [{ id: "a1", kind: "approval", message: "Ship it?" }] });
  writeFileSync(
    file,
    `#!/bin/sh\nprintf '%s\\n' "$*" >> '${log}'\ncase $1 in status) printf '%s\\n' '${pending}' ;; *) exec '${program}' "$@" ;; esac\n`,
    { mode: 0o755 },
  );
  return { file, calls: () => readFileSync(log, "utf8") };
}

async function activated(t, options) {
  const loaded = load({ program, folder, ...options });
  const context = { subscriptions: [] };
  t.after(() => context.subscriptions.forEach((one) => one.dispose()));
  await loaded.extension.activate(context);
  return loaded.seen;
}

test("the language server is the program of this machine", async (t) => {
  const seen = await activated(t, {});
  assert.deepEqual(seen.clients[0].server, { command: program, args: ["lsp"] });
});

test("a run is in the status bar, and its picture runs nothing", async (t) => {
  const seen = await activated(t, {});
  await seen.commands.get("interlock.showRun")();
  assert.equal(seen.items[0].text, "$(git-commit) flow: work");
  assert.equal(seen.panels[0].options.enableScripts, false);
  assert.match(seen.panels[0].webview.html, /default-src 'none'; img-src data:/);
  assert.match(seen.panels[0].webview.html, /src="data:image\/svg\+xml;base64,/);
});

test("a question leads to a terminal where its line is typed and not entered", async (t) => {
  const { file, calls } = recorder();
  const seen = await activated(t, { program: file, chosen: "Answer in a Terminal" });
  await seen.commands.get("interlock.answer")();
  assert.match(seen.items[0].text, /waits for you/);
  assert.match(seen.messages[0].text, /Ship it\?/);
  assert.deepEqual(seen.messages[0].buttons, ["Open the Console", "Answer in a Terminal"]);
  assert.ok(seen.terminals.length > 0);
  for (const { sent } of seen.terminals) {
    assert.deepEqual(sent, [{ text: `${file} approve ${run}`, enter: false }]);
  }
  assert.doesNotMatch(calls(), /approve|reject|send/);
});

test("a question is told of once", async (t) => {
  const { file } = recorder();
  const seen = await activated(t, { program: file });
  for (let look = 0; look < 3; look += 1) {
    await seen.commands.get("interlock.showRun")();
  }
  assert.equal(seen.messages.length, 1);
});

test("what is wrong with a workflow is shown as text", () => {
  const { picture } = load({ program, folder });
  const html = picture.page({ code: 1, stdout: "", stderr: "<script>alert(1)</script>" });
  assert.match(html, /&#60;script&#62;/);
  assert.doesNotMatch(html, /<script>/);
});

test("a workspace cannot name the program", () => {
  const { contributes, capabilities } = require("../package.json");
  assert.equal(contributes.configuration.properties["interlock.path"].scope, "machine");
  assert.equal(capabilities.untrustedWorkspaces.supported, false);
});

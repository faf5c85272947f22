// The language server, driven by the library that VS Code's own client is made of.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const require = createRequire(import.meta.url);
const {
  CompletionRequest,
  createProtocolConnection,
  DefinitionRequest,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DocumentSymbolRequest,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} = require("vscode-languageserver-protocol/node");
const { TextDocument } = require("vscode-languageserver-textdocument");

const program = process.env.INTERLOCK ?? "interlock";
const uri = "file:///project/.interlock/workflows/flow.yaml";
const textDocument = { uri };
const flow = [
  "id: flow",
  "initial: work",
  "guards:",
  "  checked: {field: checked, op: eq, value: true}",
  "context: {checked: false}",
  "states:",
  "  work:",
  '    instructions: "do it \u{1f600}"',
  "    allowed_tools: [Read]",
  "    on: {GO: {target: done, guard: checked}}",
  "  done: {type: final}",
  "",
].join("\r\n");

let child;
let connection;
/** The document as an editor holds it. */
let document = TextDocument.create(uri, "yaml", 1, flow);
const waiting = [];

/** Waits for the diagnostics of a version. */
function diagnosed(version) {
  return new Promise((resolve) => waiting.push({ version, resolve }));
}

/** Changes the document on both sides, as an editor does. */
async function change(...contentChanges) {
  document = TextDocument.update(document, contentChanges, document.version + 1);
  const found = diagnosed(document.version);
  await connection.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: document.version },
    contentChanges,
  });
  return (await found).diagnostics;
}

/** Finds the position behind a piece of the text. */
function behind(piece) {
  const at = document.getText().indexOf(piece);
  assert.notEqual(at, -1, piece);
  return document.positionAt(at + piece.length);
}

before(async () => {
  child = spawn(program, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
    const at = waiting.findIndex(({ version }) => version === params.version);
    if (at !== -1) {
      waiting.splice(at, 1)[0].resolve(params);
    }
  });
  connection.listen();
  const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
  });
  assert.equal(capabilities.hoverProvider, true);
  await connection.sendNotification(InitializedNotification.type, {});
  const found = diagnosed(1);
  await connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "yaml", version: 1, text: flow },
  });
  assert.deepEqual((await found).diagnostics, []);
});

after(async () => {
  await connection.sendRequest(ShutdownRequest.type);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await ended, 0);
});

test("what is typed is followed, behind characters of two units too", async () => {
  const at = behind('"do it \u{1f600}');
  const found = await change(
    { range: { start: at, end: at }, text: "\r\n      more \u{1f680}" },
    { range: { start: { line: 1, character: 9 }, end: { line: 1, character: 13 } }, text: "gone" },
  );
  const wrong = found.filter(({ code }) => code === "undefined_state");
  assert.equal(wrong.length, 1);
  assert.equal(document.getText(wrong[0].range), "gone");
  assert.equal(wrong[0].severity, 1);
  const again = await change({
    range: { start: { line: 1, character: 9 }, end: { line: 1, character: 13 } },
    text: "work",
  });
  assert.deepEqual(again, []);
});

test("states are offered where one is named", async () => {
  const position = behind("target: d");
  const list = await connection.sendRequest(CompletionRequest.type, { textDocument, position });
  const item = list.items.find(({ label }) => label === "done");
  assert.equal(document.getText(item.textEdit.range), "done");
  assert.equal(item.textEdit.newText, "done");
});

test("a guard leads to where it is defined, and says what it is", async () => {
  const position = behind("guard: che");
  const place = await connection.sendRequest(DefinitionRequest.type, { textDocument, position });
  assert.equal(place.uri, uri);
  assert.equal(document.getText(place.range), "checked");
  assert.equal(place.range.start.line, 3);
  const said = await connection.sendRequest(HoverRequest.type, { textDocument, position });
  assert.match(said.contents.value, /op: eq/);
});

test("the outline has every state", async () => {
  const symbols = await connection.sendRequest(DocumentSymbolRequest.type, { textDocument });
  assert.deepEqual(
    symbols.map(({ name }) => name),
    ["checked", "work", "done"],
  );
});

test("a cancelled request is answered, one way or the other", async () => {
  const { CancellationTokenSource } = require("vscode-languageserver-protocol/node");
  const source = new CancellationTokenSource();
  const position = behind("target: d");
  const asked = connection.sendRequest(HoverRequest.type, { textDocument, position }, source.token);
  source.cancel();
  const ended = await asked.then(
    () => "answered",
    (error) => error.code,
  );
  assert.ok(ended === "answered" || ended === -32800, String(ended));
});

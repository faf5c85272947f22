// The package as a whole: what an editor reads of it, and that it works from there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../scripts/package.mjs", import.meta.url));

test("the package is a zip with its manifest, and holds what the extension needs", (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "interlock-vsix-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const make = () => execFileSync(process.execPath, [script, folder], { encoding: "utf8" }).trim();
  const file = make();
  const first = readFileSync(file);
  assert.ok(first.equals(readFileSync(make())), "the same tree makes the same bytes");
  execFileSync("python3", ["-m", "zipfile", "-e", file, path.join(folder, "unpacked")]);
  const unpacked = path.join(folder, "unpacked");
  const manifest = readFileSync(path.join(unpacked, "extension.vsixmanifest"), "utf8");
  assert.match(manifest, /<Identity [^>]*Id="interlock" [^>]*Publisher="interlock-cli"/);
  for (const [, named] of manifest.matchAll(/ Path="([^"]+)"/g)) {
    assert.ok(existsSync(path.join(unpacked, named)), named);
  }
  const extension = path.join(unpacked, "extension");
  const about = JSON.parse(readFileSync(path.join(extension, "package.json"), "utf8"));
  assert.ok(existsSync(path.join(extension, about.main)));
  for (const { url } of about.contributes.jsonValidation) {
    assert.ok(existsSync(path.join(extension, url)), url);
  }
  // Every package that the client library asks for lies in the package; `vscode` is the editor's.
  const require = createRequire(path.join(extension, "out/extension.js"));
  const protocol = require("vscode-languageserver-protocol/node");
  assert.equal(typeof protocol.createProtocolConnection, "function");
  assert.throws(() => require("vscode-languageclient/node"), /Cannot find module 'vscode'/);
});

// A scripted `vscode` module: what the extension asks of the editor, and what a person answers.

import Module, { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Loads the built extension against an editor whose calls are recorded. */
export function load({ program, folder, chosen }) {
  const seen = { terminals: [], messages: [], panels: [], clients: [], items: [], commands: new Map() };
  const disposable = { dispose() {} };
  const vscode = {
    StatusBarAlignment: { Left: 1 },
    ViewColumn: { Beside: -2 },
    ThemeColor: class {
      constructor(id) {
        this.id = id;
      }
    },
    workspace: {
      workspaceFolders: [{ uri: { fsPath: folder } }],
      getConfiguration: () => ({ get: (key) => ({ path: program, pollSeconds: 3600 })[key] }),
      onDidSaveTextDocument: () => disposable,
    },
    window: {
      activeTextEditor: undefined,
      createStatusBarItem: () => {
        const item = { shown: false, show: () => (item.shown = true), hide: () => (item.shown = false), dispose() {} };
        seen.items.push(item);
        return item;
      },
      showInformationMessage: async (text, ...buttons) => {
        seen.messages.push({ text, buttons });
        return buttons.find((button) => button === chosen);
      },
      showErrorMessage: async (text) => void seen.messages.push({ text, buttons: [] }),
      createTerminal: () => {
        const terminal = { sent: [], show() {}, sendText: (text, enter) => terminal.sent.push({ text, enter }) };
        seen.terminals.push(terminal);
        return terminal;
      },
      createWebviewPanel: (_kind, title, _column, options) => {
        const panel = { title, options, webview: { html: "" }, reveal() {}, onDidDispose: () => disposable, dispose() {} };
        seen.panels.push(panel);
        return panel;
      },
    },
    commands: {
      registerCommand: (name, act) => {
        seen.commands.set(name, act);
        return disposable;
      },
      executeCommand: (name) => seen.commands.get(name)(),
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      seen.clients.push({ id, server, options });
    }
    async start() {}
    async stop() {}
    async restart() {}
  }
  const scripted = { vscode, "vscode-languageclient/node": { LanguageClient } };
  const loadModule = Module._load;
  Module._load = (request, ...rest) => scripted[request] ?? loadModule(request, ...rest);
  try {
    for (const name of Object.keys(require.cache)) {
      if (name.includes("/out/")) {
        delete require.cache[name];
      }
    }
    return { extension: require("../out/extension.js"), picture: require("../out/picture.js"), seen };
  } finally {
    Module._load = loadModule;
  }
}

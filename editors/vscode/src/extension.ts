// The extension: a language client, a picture, and what waits for a person.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { Picture } from "./picture";
import { Status } from "./status";

let client: LanguageClient | undefined;

/** The program, as the person has set it for this machine. */
function program(): string {
  return vscode.workspace.getConfiguration("interlock").get<string>("path") || "interlock";
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const picture = new Picture(program);
  const status = new Status(program, () => void picture.refreshRun());
  const command = (name: string, act: () => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(`interlock.${name}`, act));

  command("showPicture", async () => {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined || document.uri.scheme !== "file") {
      void vscode.window.showInformationMessage("Interlock: open the file of a workflow first.");
      return;
    }
    await picture.showFile(document.uri.fsPath);
  });
  command("showRun", async () => {
    await status.look();
    const run = status.standing?.run;
    if (run === undefined) {
      void vscode.window.showInformationMessage("Interlock: no run is open in this project.");
      return;
    }
    await picture.showRun(run.run, run.name ?? run.workflow);
  });
  command("openConsole", () => terminal(["console"], true));
  command("answer", async () => {
    await status.look();
    const standing = status.standing;
    if (standing === undefined || standing.pending.length === 0) {
      void vscode.window.showInformationMessage("Interlock: nothing waits for you.");
      return;
    }
    // The line is typed and not entered: the yes is the person's.
    terminal(["approve", standing.run.run], false);
  });
  command("restartServer", async () => {
    await client?.restart();
  });

  context.subscriptions.push(picture, status);
  status.start(vscode.workspace.getConfiguration("interlock").get<number>("pollSeconds") ?? 5);
  await startClient();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function startClient(): Promise<void> {
  const server: ServerOptions = { command: program(), args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "yaml" },
      { scheme: "file", language: "json" },
    ],
  };
  client = new LanguageClient("interlock", "Interlock", server, options);
  try {
    await client.start();
  } catch (error) {
    void vscode.window.showErrorMessage(
      `Interlock: \`${program()} lsp\` cannot be started: ${String(error)}. Install Interlock, or set \`interlock.path\`.`,
    );
  }
}

/** Opens a terminal with a command of Interlock; it is entered only where `enter` says so. */
function terminal(args: readonly string[], enter: boolean): void {
  const shell = vscode.window.createTerminal({ name: "Interlock" });
  shell.show();
  shell.sendText([program(), ...args].map(quoted).join(" "), enter);
}

/** Quotes a word for a POSIX shell, and for PowerShell where words are plain. */
function quoted(word: string): string {
  return /^[\w./:\\-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

// The run of the project in the status bar, and a notification for what waits.

import * as vscode from "vscode";
import { call, readPending, readRuns, type Pending, type Run } from "./program";

/** The state of the project's newest open run. */
export interface Standing {
  run: Run;
  pending: Pending[];
}

/** Looks at the runs of the project from time to time. */
export class Status implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly told = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  standing: Standing | undefined;

  constructor(
    private readonly program: () => string,
    private readonly onLook: () => void,
  ) {
    this.item = vscode.window.createStatusBarItem("interlock.run", vscode.StatusBarAlignment.Left, 10);
    this.item.name = "Interlock";
  }

  /** Begins to look every few seconds. */
  start(seconds: number): void {
    this.timer = setInterval(() => void this.look(), Math.max(1, seconds) * 1000);
    void this.look();
  }

  /** Looks once, shows the run, and tells of each new question one time. */
  look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (folder === undefined) {
      return;
    }
    try {
      this.standing = await standing(this.program(), folder);
    } catch {
      // Without the program there is nothing to show; the language server says what is missing.
      this.standing = undefined;
    }
    this.show();
    this.onLook();
  }

  dispose(): void {
    clearInterval(this.timer);
    this.item.dispose();
  }

  private show(): void {
    if (this.standing === undefined) {
      this.item.hide();
      return;
    }
    const { run, pending } = this.standing;
    const waits = pending.length > 0;
    const title = run.name ?? run.workflow;
    this.item.text = waits ? `$(bell) ${title}: waits for you` : `$(git-commit) ${title}: ${run.state}`;
    this.item.tooltip = `Interlock: run ${run.run} of ${run.workflow}, ${run.status}`;
    this.item.command = waits ? "interlock.answer" : "interlock.showRun";
    this.item.backgroundColor = waits ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
    for (const question of pending) {
      const key = `${run.run}/${question.id}`;
      if (!this.told.has(key)) {
        this.told.add(key);
        void this.tell(title, question);
      }
    }
  }

  /** Tells of a question. No button answers it: they lead to where a person does. */
  private async tell(title: string, question: Pending): Promise<void> {
    const console = "Open the Console";
    const terminal = "Answer in a Terminal";
    const chosen = await vscode.window.showInformationMessage(
      `Interlock: ${title} waits for you: ${question.text}`,
      console,
      terminal,
    );
    if (chosen === console) {
      await vscode.commands.executeCommand("interlock.openConsole");
    } else if (chosen === terminal) {
      await vscode.commands.executeCommand("interlock.answer");
    }
  }
}

/** Asks for the newest open run of a folder, and for what waits in it. */
export async function standing(program: string, folder: string): Promise<Standing | undefined> {
  const runs = readRuns((await call(program, ["runs", "--json"], folder)).stdout);
  const run = runs[0];
  if (run === undefined) {
    return undefined;
  }
  const status = await call(program, ["status", run.run, "--json"], folder);
  return { run, pending: readPending(status.stdout) };
}

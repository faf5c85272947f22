// The picture of a workflow, or of a run, beside the text.

import * as path from "node:path";
import * as vscode from "vscode";
import { call, type Ended } from "./program";

/** What a panel shows. */
type Subject = { kind: "file"; file: string } | { kind: "run"; run: string };

/** One panel with a picture, drawn anew when what it shows has changed. */
export class Picture implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private subject: Subject | undefined;
  private drawn = "";
  private readonly saved: vscode.Disposable;

  constructor(private readonly program: () => string) {
    this.saved = vscode.workspace.onDidSaveTextDocument((document) => {
      if (this.subject?.kind === "file" && this.subject.file === document.uri.fsPath) {
        void this.draw();
      }
    });
  }

  /** Shows the workflow of a file, as it was saved last. */
  async showFile(file: string): Promise<void> {
    await this.show({ kind: "file", file }, path.basename(file));
  }

  /** Shows where a run stands. */
  async showRun(run: string, title: string): Promise<void> {
    await this.show({ kind: "run", run }, title);
  }

  /** Draws a run anew; does nothing where a file is shown. */
  async refreshRun(): Promise<void> {
    if (this.subject?.kind === "run") {
      await this.draw();
    }
  }

  dispose(): void {
    this.saved.dispose();
    this.panel?.dispose();
  }

  private async show(subject: Subject, title: string): Promise<void> {
    this.subject = subject;
    this.drawn = "";
    if (this.panel === undefined) {
      this.panel = vscode.window.createWebviewPanel("interlock.picture", title, vscode.ViewColumn.Beside, {
        enableScripts: false,
        localResourceRoots: [],
      });
      this.panel.onDidDispose(() => {
        this.panel = undefined;
        this.subject = undefined;
      });
    }
    this.panel.title = title;
    this.panel.reveal(undefined, true);
    await this.draw();
  }

  private async draw(): Promise<void> {
    const subject = this.subject;
    if (this.panel === undefined || subject === undefined) {
      return;
    }
    const html = page(await picture(this.program(), subject));
    // Another subject may have been asked for meanwhile.
    if (subject === this.subject && this.panel !== undefined && html !== this.drawn) {
      this.drawn = html;
      this.panel.webview.html = html;
    }
  }
}

async function picture(program: string, subject: Subject): Promise<Ended> {
  const args = subject.kind === "file" ? [subject.file] : ["--run", subject.run];
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const cwd = folder ?? (subject.kind === "file" ? path.dirname(subject.file) : process.cwd());
  try {
    return await call(program, ["graph", ...args, "--format", "svg"], cwd);
  } catch (error) {
    return { code: 1, stdout: "", stderr: String(error) };
  }
}

/** Makes a page of a picture; nothing in it runs or loads anything. */
export function page(drawn: Ended): string {
  const isPicture = drawn.code === 0 && drawn.stdout.startsWith("<svg");
  // An image runs no script of the picture, whatever a workflow has in its names.
  const source = `data:image/svg+xml;base64,${Buffer.from(drawn.stdout, "utf8").toString("base64")}`;
  const body = isPicture
    ? `<img alt="The states and transitions of the workflow" src="${source}">`
    : `<pre>${escaped(drawn.stderr.trim() || "no picture was drawn")}</pre>`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>body { padding: 1rem } img { max-width: 100%; background: white } pre { white-space: pre-wrap }</style>
</head>
<body>${body}</body>
</html>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

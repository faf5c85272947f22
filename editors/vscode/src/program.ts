// The program `interlock`: every question of the extension is one call of it.

import { execFile } from "node:child_process";

/** How a call ended. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Milliseconds that a call may take. */
const TIMEOUT_MS = 20_000;
/** Bytes of output of one call at most. */
const OUTPUT_MAX = 32 * 1024 * 1024;

/** Calls the program in a folder, without a shell and without input; rejects where it cannot be started. */
export function call(program: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      { cwd, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_MAX, windowsHide: true },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === "number") {
          resolve({ code, stdout, stderr });
        } else {
          reject(error);
        }
      },
    );
    child.stdin?.end();
  });
}

/** A run as `interlock runs --json` has it. */
export interface Run {
  run: string;
  workflow: string;
  name: string | null;
  state: string;
  status: string;
}

/** What waits for a person, as `interlock status --json` has it. */
export interface Pending {
  id: string;
  text: string;
}

/** Reads the lines of `interlock runs --json`; a line of another shape is left out. */
export function readRuns(stdout: string): Run[] {
  const runs: Run[] = [];
  for (const line of stdout.split("\n")) {
    const value = parsed(line);
    if (typeof value?.["run"] === "string" && typeof value["workflow"] === "string") {
      runs.push({
        run: value["run"],
        workflow: value["workflow"],
        name: typeof value["name"] === "string" ? value["name"] : null,
        state: text(value["state"]),
        status: text(value["status"]),
      });
    }
  }
  return runs;
}

/** Reads what waits for a person from `interlock status --json`. */
export function readPending(stdout: string): Pending[] {
  const pending = parsed(stdout)?.["pending"];
  if (!Array.isArray(pending)) {
    return [];
  }
  return pending.flatMap((entry: unknown) => {
    const fields = typeof entry === "object" && entry !== null ? (entry as Record<string, unknown>) : {};
    const id = fields["id"];
    if (typeof id !== "string") {
      return [];
    }
    const call = `${text(fields["tool"])} ${text(fields["summary"])}`.trim();
    const said = [text(fields["message"]), call, text(fields["event"]), id];
    return [{ id, text: said.find((one) => one !== "") ?? id }];
  });
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

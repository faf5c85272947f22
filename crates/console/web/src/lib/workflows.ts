import { call, query } from './api';
import type { Json, Marks, Scene } from './contract';
import type { Shown } from './folds';

/** A workflow in the list. */
export interface WorkflowRow {
  name: string;
  origin: 'project' | 'person' | 'shipped';
  path: string | null;
  format: string | null;
  description: string | null;
  errors: number;
  warnings: number;
  /** Why it is not read here. */
  locked: string | null;
}

/** A workflow file that was opened. */
export interface WorkflowFile {
  name: string;
  /** The name that messages show. */
  file: string;
  text: string;
  etag: string;
  format: string | null;
  /** The names of the workflows in it, where there are several. */
  machines: string[];
  /** Why it cannot be changed here. */
  locked: string | null;
}

export interface Diagnostic {
  severity: 'error' | 'warning';
  code: string;
  message: string;
  help: string | null;
  file: string;
  /** Counted from 1. */
  line: number;
  /** Counted from 1, in characters. */
  column: number;
  /** The bytes that are meant. */
  span: { start: number; end: number };
}

export type Fields = Record<string, Json>;

export interface StateRow {
  name: string;
  /** A JSON Pointer. */
  at: string;
  /** First byte and the one after the last. */
  span: [number, number];
  value: Json;
  /** The first bytes of its fields; of transitions by `on/EVENT`. */
  places: Record<string, number>;
}

/** The states of a workflow as its text has them. */
export interface Outline {
  format: string;
  base: string;
  states: StateRow[];
  /** What stands beside the states. */
  rest: Fields;
  /** The first bytes of what stands beside the states; of guards and interrupts by `guards/NAME`. */
  places: Record<string, number>;
  /** The machines below the workflow's `machines`. */
  machines: string[];
}

export interface Drawing {
  /** Null: the text is no workflow. */
  scene: Scene | null;
  /** Null: the text cannot be read, or it is not clear which workflow is meant. */
  outline: Outline | null;
  diagnostics: Diagnostic[];
}

export type Operation = Record<string, Json>;

export type Edited =
  | { ok: true; text: string; diagnostics: Diagnostic[] }
  | { ok: false; code: string; message: string; help: string | null; diagnostics: Diagnostic[] };

export interface Tried {
  ok: boolean;
  message?: string;
  diagnostics?: Diagnostic[];
  answers?: TriedAnswer[];
  /** Of the start, then after each answer. */
  marks?: Marks[];
}

/** What a run that is played begins with. */
export interface Begun {
  data?: Fields;
  conversation?: string;
  level?: string | null;
}

/** A test file that is about a workflow. */
export interface TestFile {
  file: string;
  /** Why it cannot be read. */
  trouble: string | null;
  cases: TestCase[];
}

export interface TestCase {
  name: string;
  begun: Begun;
  /** Lines, each with what it expects, if anything. */
  steps: Json[];
  /** The first step that answered otherwise, counted from 1. */
  failed: number | null;
  differences: string[];
}

export interface Tests {
  ok: boolean;
  diagnostics?: Diagnostic[];
  files?: TestFile[];
}

export interface Finding {
  property: string;
  file: string | null;
  line: number | null;
  verdict: 'holds' | 'fails' | 'vacuous' | 'unknown';
  why: string | null;
  message: string | null;
  begun: Begun;
  /** A run that breaks it, or that shows that it is possible. */
  steps: { line: Json; changed: string[] }[];
}

export interface Proof {
  ok: boolean;
  diagnostics?: Diagnostic[];
  findings?: Finding[];
  states?: number;
  assumptions?: string[];
}

export interface TriedAnswer {
  ok: boolean;
  /** What is otherwise than the line expects. */
  differences?: string[];
  verdict?: 'allow' | 'deny' | 'ask';
  code: string | null;
  message: string;
  state: string | string[];
  status: string;
  tools: string[] | null;
  events: { event: string }[];
  log: string[];
}

/** What all requests about an open text have in common. */
export interface DraftBody {
  project?: string;
  file: string;
  text: string;
  machine?: string;
  /** One of the machines below `machines`, for the form and for edits. */
  inner?: string;
  /** What of the graph is opened and folded. */
  view?: Shown;
}

const file = (name: string, project: string): string => `workflows/files/${encodeURIComponent(name)}${query({ project })}`;

export const list = (project: string, signal: AbortSignal) =>
  call<{ project: string; workflows: WorkflowRow[] }>(`workflows${query({ project })}`, undefined, signal);

export const open = (name: string, project: string) => call<WorkflowFile>(file(name, project));

/** Writes a text over the one that `etag` stands for. */
export const save = (name: string, project: string, text: string, etag: string) =>
  call<{ etag: string }>(file(name, project), { text }, undefined, { ifMatch: etag });

export const check = (draft: DraftBody, signal: AbortSignal) =>
  call<{ diagnostics: Diagnostic[] }>('workflows/check', draft, signal);

export const layout = (draft: DraftBody, signal: AbortSignal) => call<Drawing>('workflows/layout', draft, signal);

export const edit = (draft: DraftBody, operation: Operation) =>
  call<Edited>('workflows/edit', { ...draft, operations: [operation] });

export const simulate = (draft: DraftBody, lines: Json[], begun: Begun, signal: AbortSignal) =>
  call<Tried>('workflows/simulate', { ...draft, lines, begun }, signal);

/** Plays the cases of the test files that are about a workflow. */
export const cases = (draft: DraftBody, signal: AbortSignal) => call<Tests>('workflows/cases', draft, signal);

/** Proves the properties of a workflow. */
export const prove = (draft: DraftBody, signal: AbortSignal) => call<Proof>('workflows/prove', draft, signal);

export const schema = (format: string) => call<Json>(`workflows/schema${query({ format })}`);

import { call, query } from './api';
import type { Json, Marks, Scene } from './contract';

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
  /** The first bytes of its fields. */
  places: Record<string, number>;
}

/** The states of a workflow as its text has them. */
export interface Outline {
  format: string;
  base: string;
  states: StateRow[];
  /** What stands beside the states. */
  rest: Fields;
  places: Record<string, number>;
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

export interface TriedAnswer {
  ok: boolean;
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

export const simulate = (draft: DraftBody, lines: string[], signal: AbortSignal) =>
  call<Tried>('workflows/simulate', { ...draft, lines }, signal);

export const schema = (format: string) => call<Json>(`workflows/schema${query({ format })}`);

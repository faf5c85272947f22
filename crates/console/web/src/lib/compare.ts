import { call, query, run as path } from './api';
import type { LogLine, RunRow, Seq } from './contract';
import type { Diagnostic } from './workflows';

/** Events of two runs that stand beside each other. */
export interface CompareRow {
  same: boolean;
  left: LogLine | null;
  right: LogLine | null;
  /** How many events each run has up to this row, with it. */
  at: [Seq, Seq];
}

export interface CompareWindow {
  rows: number;
  from: number;
  window: CompareRow[];
}

export interface Compared extends CompareWindow {
  left: RunRow;
  right: RunRow;
  same_workflow: boolean;
  differing: number;
  /** The first row of each difference, as far as they are listed. */
  differences: number[];
}

export const compare = (left: string, right: string, signal: AbortSignal) =>
  call<Compared>(`compare${query({ left, right })}`, undefined, signal);

/** Fetches rows; the numbers of events are those that the comparison began with. */
export const compareRows = ({ left, right }: { left: RunRow; right: RunRow }, from: number, limit: number, signal: AbortSignal) =>
  call<CompareWindow>(
    `compare${query({ left: left.id, right: right.id, left_events: left.events, right_events: right.events, from, limit })}`,
    undefined,
    signal,
  );

export interface Outcome {
  /** What happens, a sentence each. */
  says: string[];
  code: string | null;
  message: string | null;
  /** Where the run stood when it was asked. */
  state: string[];
}

export interface Difference {
  seq: Seq;
  about: 'start' | 'call' | 'result' | 'transition' | 'answer' | 'finish';
  what: string;
  change: 'refused' | 'possible' | 'asks' | 'other_reason' | 'other_way' | 'nothing';
  then: Outcome;
  now: Outcome;
  yes_assumed: boolean;
  lacks: string;
}

export interface Standing {
  state: string[];
  status: string;
}

export interface Judged {
  ok: true;
  events: Seq;
  differing: number;
  first: Seq | null;
  differences: Difference[];
  judged: number;
  unjudged: number;
  not_judged: { seq: Seq; what: string; why: string }[];
  over: Seq | null;
  then: Standing;
  now: Standing;
  pinned: { id: string; hash: string };
  other: { id: string; hash: string; file: string };
}

export type WhatIfAnswer = Judged | { ok: false; diagnostics: Diagnostic[] };

/** The workflow that judges: one in the list, or a text that the page holds. */
export type Judge =
  | { workflow: string; project?: string; machine?: string }
  | { file: string; text: string; project?: string; machine?: string };

export const whatIf = (run: string, judge: Judge, from: Seq, signal: AbortSignal) =>
  call<WhatIfAnswer>(path(run, '/what-if'), { ...judge, from }, signal);

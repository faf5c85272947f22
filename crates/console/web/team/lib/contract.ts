/** What a team's server sends and takes: the part of `/v1/openapi.json` that this page uses. */

import type { Json, Level, Marks, Millis, RequestRow, Scene, Seq, Status } from '../../src/lib/contract';

export type { Level, Millis, Seq, Status };

export interface Me {
  tenant: string;
  role: 'agent' | 'person' | 'worker';
  subject: string;
  groups: string[];
  expires_ms: Millis;
  may: ('start' | 'approve' | 'administer')[];
}

export interface RunLine {
  run: string;
  workflow: string;
  name: string | null;
  started_by: string | null;
  seq: Seq;
  created_ms: Millis;
  last_ms: Millis;
  status: Status;
  state: string[];
  waiting: number;
}

export interface RunPage {
  runs: RunLine[];
  next?: string;
}

/** What is asked of a person. */
export interface Asked {
  request: string;
  kind: 'approval' | 'grant';
  headline: string;
  rows: RequestRow[];
  by: string;
  asked_ms: Millis;
  passkey: boolean;
}

export interface Approval {
  request: string;
  votes: { by: string; yes: boolean; note?: string; at_ms: Millis }[];
  /** The rules that are not met, each as a sentence. */
  missing: string[];
}

export interface Evidence {
  text: string;
  holds: boolean;
  seq: Seq | null;
}

/** A change of something protected. It is sent back as it came. */
export type Change = { path?: Json; what?: Json } & Record<string, Json>;

export interface RunView {
  run: string;
  workflow: string;
  name: string | null;
  started_by: string | null;
  seq: Seq;
  hash: string;
  report: { state: string | string[]; status: Status; tools: string[] | null };
  asked: Asked[];
  approvals?: Approval[];
  changed: Change[];
  evidence: Evidence[];
  bundle?: { name: string; revision: number; file: string; tightened: boolean };
  policy?: number;
}

export interface EventLine {
  seq: Seq;
  at_ms: Millis;
  hash: string;
  told?: { title: string; detail: string; level: Level };
}

export interface EventPage {
  events: EventLine[];
  next: Seq;
  seq: Seq;
}

export interface Graph {
  seq: Seq;
  scene: Scene;
  marks: Marks;
}

export interface Decided {
  verdict: 'accepted' | 'pending' | 'ask' | 'refused';
  code?: string;
  message?: string;
}

export interface Head {
  entries: number;
  hash: string;
  at_ms: Millis;
  key: string;
}

export interface Policy {
  revision: number;
  text: string;
  by?: string;
  at_ms?: Millis;
}

export interface Bundle {
  name: string;
  revision: number;
  expires_ms: Millis;
  key: string;
  refused: { revision: number; code: string; message: string }[];
}

export interface Issuer {
  issuer: string;
  client_id: string;
  minutes: number;
}

export interface SignedIn {
  token: string;
  subject: string;
}

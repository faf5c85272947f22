/** What the server of the console sends and takes: the HTTP contract, version 1. */

/** Milliseconds since 1970. */
export type Millis = number;

/** A number of events; "at SEQ" is the moment after the first SEQ events. */
export type Seq = number;

export type Level = 'routine' | 'notable' | 'alarming';

export const STATUSES = [
  'running',
  'awaiting_approval',
  'paused',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'damaged',
] as const;

export type Status = (typeof STATUSES)[number];

export interface ErrorBody {
  error: { code: string; message: string };
}

export interface Paired {
  pairing: string;
  number: string;
  expires_ms: number;
}

export interface LetIn {
  bearer: string;
  person: string;
  version: string;
}

export interface Project {
  root: string;
  runs: number;
  open: number;
}

export interface RunRow {
  id: string;
  name: string | null;
  workflow: string;
  project: string;
  created_ms: Millis;
  last_ms: Millis;
  events: Seq;
  status: Status;
  state: string[];
  waiting: number;
  /** Why the log of the run cannot be read. */
  damaged?: string;
}

export interface RunList {
  total: number;
  offset: number;
  runs: RunRow[];
  workflows: string[];
  /** The states in which the runs are that the rest of the filter lets through. */
  states: string[];
}

export interface RequestRow {
  /** Empty: the row goes on with the one before. */
  name: string;
  text: string;
  warns: boolean;
}

export interface PersonRequest {
  run: string;
  run_name: string | null;
  workflow: string;
  project: string;
  id: string;
  /** A question, a pause, an effect and a changed tool are answered at a terminal. */
  kind: 'approval' | 'grant' | 'protected' | 'question' | 'pause' | 'effect' | 'tool';
  path: string;
  title: string;
  headline: string;
  by: string;
  asked_ms: Millis;
  digest: string;
  seen_seq: Seq;
  /** The agent's client asks the same in its own prompt. */
  in_prompt: boolean;
  /** A yes takes one of the person's passkeys; absent: it takes none. */
  passkey?: boolean;
  /** What the transition merges into the context, which a yes may correct; null or absent: nothing to correct. */
  data?: Record<string, Json> | null;
  /** By which a person settles it at a terminal. */
  commands?: { line: string; says: string }[];
  rows: RequestRow[];
}

export interface Passkeys {
  passkeys: { name: string; enrolled_ms: Millis; used_ms: Millis | null }[];
  /** The passkey that this console was opened to enrol. */
  enrols: string | null;
}

/** What the browser is asked for, to make a passkey; texts of bytes are base64url. */
export interface NewPasskey {
  nonce: string;
  challenge: string;
  site: string;
  person: string;
  name: string;
  kinds: number[];
  known: string[];
}

/** What a passkey has to sign for a yes. */
export interface ToSign {
  nonce: string;
  challenge: string;
  site: string;
  passkeys: string[];
}

/** What a passkey has signed. */
export interface SignedAnswer {
  nonce: string;
  credential: string;
  client_data: string;
  authenticator_data: string;
  signature: string;
}

export interface RunDetail extends RunRow {
  /** Whether Interlock itself runs the steps. */
  durable: boolean;
  session: { client: string; session: string } | null;
  can: { pause: boolean; resume: boolean; cancel: boolean };
  title: string;
  requests: PersonRequest[];
}

export interface Changes {
  head: string;
  diff: string[];
  notes: string[];
}

export interface LogLine {
  seq: Seq;
  at_ms: Millis;
  title: string;
  detail: string;
  level: Level;
}

export interface LogWindow {
  events: LogLine[];
  next: Seq | null;
  total: number;
  /** How many events the filter lets through; null: said with the first window. */
  matches: number | null;
}

export interface WhyCommand {
  line: string;
  reads: string[];
  writes: string[];
  reaches: string[];
}

export interface Why {
  tool: string;
  summary: string;
  verdict: 'allowed' | 'asked' | 'denied';
  code: string | null;
  message: string | null;
  /** One path as a text, several as a list. */
  state: string | string[];
  commands: WhyCommand[];
  teach: string;
  allowed_in: string[];
}

export type Verdict = 'allow' | 'ask' | 'deny';

export interface Check {
  about: string;
  outcome: 'passed' | 'decided' | 'not_reached';
}

export interface CallCommand {
  words: string[];
  about: {
    class: string;
    via: string[];
    directory: string | null;
    opaque: string | null;
    contained: boolean;
    entry: string | null;
    from_pipe: boolean;
  };
}

export interface CallFacts {
  commands: CallCommand[];
  reads: string[];
  writes: string[];
  removes: string[];
  network: { direction: string; host: string | null; by: string }[];
  env: { used: string[]; set: string[]; changes_programs: string[]; dump: boolean };
  asks: string[];
  unreadable: string | null;
  rule: { number: number; about: string } | null;
  instead: string | null;
}

/** Everything that is known of a tool call. */
export interface CallWhy extends Why {
  seq: Seq;
  checks: Check[];
  /** Whether a model of a stage proposed it. */
  of_stage: boolean;
  /** How far the kernel confined the line. */
  level: { level: string; unconfined: string[] } | null;
  arguments: { name: string; text: string }[] | null;
  diff: string[];
  /** How much of the call the log keeps. */
  kept: { exact: boolean; lacks?: string; missing?: string };
  facts: CallFacts | null;
  /** What the engine says of the call as it is read again; null: it cannot be judged again. */
  again: { verdict: Verdict; code: string | null } | null;
  leads: { event: string; open: boolean; approval: boolean; why: string[]; leads: { state: string; verdict: Verdict | null }[] }[];
  states: string[];
}

/** What the same call would be told in another state. */
export interface Elsewhere {
  state: string;
  verdict: Verdict;
  code: string | null;
  message: string | null;
  rule: { number: number; about: string } | null;
  instead: string | null;
  checks: Check[];
  exact: boolean;
  lacks: string;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface LogEvent extends LogLine {
  event: Json;
  hash: string;
  why: Why | null;
  /** What is kept beside the log, by the name that the event has for it. */
  kept: { name: string; digest: string }[];
}

/** What is kept beside the log under a digest. */
export interface Blob {
  bytes: number;
  text: string;
  cut: boolean;
}

export interface Timeline {
  events: Seq;
  from_ms: Millis;
  to_ms: Millis;
  marks: LogLine[];
  /** The longest times without an event, each with the event that it ended with. */
  gaps: Gap[];
}

export interface Gap {
  seq: Seq;
  ms: Millis;
}

export interface Transition {
  event: string;
  leads: string[];
  open: boolean;
  /** A person has to agree. */
  approval: boolean;
  why: string[];
}

export interface Limit {
  name: string;
  used: number;
  max: number;
}

/** What may be done in one line of execution. */
export interface Line {
  context: Record<string, Json>;
  tools: string[] | null;
  transitions: Transition[];
  limits: Limit[];
  evidence: { text: string; holds: boolean }[];
}

/** A branch of a fork, an item of a list, or a machine that was called. */
export interface Branch {
  path: string;
  /** How many others it lies in. */
  depth: number;
  title: string;
  status: 'open' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'merged';
  /** The sub-agents that work in it. */
  agents: string[];
  /** Null: nothing is done in it itself, or there are too many. */
  here: (Line & { before: Record<string, Json> }) | null;
}

/** How a request to a person was settled. */
export interface SettledRequest {
  id: string;
  about: string;
  how: 'approved' | 'rejected' | 'void';
  /** Null: nobody answered. */
  by: string | null;
  at_ms: Millis | null;
  note: string | null;
}

export interface RunState extends Line {
  at: Seq;
  events: Seq;
  at_ms: Millis;
  status: Status;
  /** One path as a text, several as a list. */
  state: string | string[];
  /** The context one event earlier. */
  before: Record<string, Json>;
  waiting: { title: string; kind: string }[];
  branches: { listed: Branch[]; more: number };
  answers: SettledRequest[];
}

/** How a run stood, with the marks of its graph. */
export interface MarkedState extends RunState {
  marks: Marks;
}

export interface Group {
  group: 'node' | 'edge' | 'label' | 'machine';
  /** Of a label: the id of its edge. */
  id?: string;
  class: string;
  title?: string;
  /** x, y, width, height. */
  area?: [number, number, number, number];
  /** Of a node: the state. */
  name?: string;
  /** By which it is opened, folded and put into groups. */
  key?: string;
  fold?: Fold;
  /** What is drawn as the same node or edge. */
  also?: string[];
  /** Of an edge: ids of nodes. */
  from?: string;
  to?: string;
  items: Item[];
}

/** What lies in a node, drawn or not. */
export interface Fold {
  what: 'call' | 'fork' | 'group';
  open: boolean;
}

export type Shape =
  | { rect: [number, number, number, number, number]; class: string }
  | { circle: [number, number, number]; class: string }
  | { text: [number, number]; value: string; class: string }
  | { path: string; class: string };

export type Item = Group | Shape;

export interface Scene {
  width: number;
  height: number;
  title: string;
  items: Item[];
}

export interface NodeMark {
  here: number;
  parked: number;
  inside: boolean;
  interrupted: boolean;
  visited: boolean;
  over: boolean;
  words: string | null;
}

export interface Marks {
  nodes: Record<string, NodeMark>;
  /** How often each edge was taken. */
  edges: Record<string, number>;
}

export type Verified =
  | { ok: true; events: Seq }
  | { ok: false; events: Seq; seq: Seq; what: string };

export interface Answer {
  request: string;
  decision: 'yes' | 'no';
  digest: string;
  seen_seq: Seq;
  note?: string;
  /** Keys of the data with other values. */
  data?: Record<string, Json>;
  passkey?: SignedAnswer;
}

export interface Done {
  message: string;
  events: Seq;
}

/** What calls of models cost. */
export interface Usage {
  input: number;
  output: number;
  cached?: number;
  reasoning?: number;
  /** Millionths of a millionth of a US dollar; null: some price is not known. */
  pico_usd: number | null;
}

export interface Spent {
  state: string;
  path: string;
  attempt: number;
  model: string;
  turns: number;
  usage: Usage;
  ms: number;
  seq: Seq;
}

export interface RunCost {
  /** Null: Interlock called no model in this run. */
  usage: Usage | null;
  rows: Spent[];
}

export interface CostRow extends RunRow {
  usage: Usage | null;
  turns: number;
  models: string[];
}

export interface CostList {
  total: number;
  offset: number;
  runs: CostRow[];
  /** How many of these have a cost recorded. */
  recorded: number;
  sum: Usage | null;
}

export interface SaidCall {
  call: string;
  tool: string;
  arguments: string | null;
}

/** One entry of a transcript; which fields there are depends on the role. */
export interface Spoken {
  role: 'attempt' | 'step' | 'told' | 'model' | 'failure' | 'condensed' | 'verdict' | 'result' | 'completion' | 'reminder' | 'end' | 'gone';
  seq: Seq;
  at_ms: Millis;
  state: string;
  attempt: number;
  text?: string | null;
  system?: string | null;
  person?: string | null;
  tools?: string[];
  missing?: string[];
  kind?: string;
  turn?: number;
  turns?: number;
  calls?: SaidCall[];
  finish?: string;
  model?: string | null;
  usage?: Usage;
  ms?: number;
  code?: string | null;
  verdict?: 'allowed' | 'asked' | 'denied';
  call?: string | null;
  tool?: string;
  summary?: string;
  ok?: boolean;
  exit?: number | null;
  bytes?: number;
  outcome?: string;
  again?: boolean;
}

export interface Transcript {
  total: number;
  offset: number;
  entries: Spoken[];
  attempts: { state: string; path: string; attempt: number; seq: Seq; offset: number }[];
}

export interface PageInside {
  id: string;
  number: string;
  since_ms: number;
  used_ms: number;
  own: boolean;
}

export interface Alarm extends LogLine {
  run: string;
  run_name: string | null;
  workflow: string;
  /** Whether the run stands still. */
  waits: boolean;
}

export interface Machine {
  levels: string[];
  lines: { what: string; level: string; unconfined: string[] }[];
}

export interface Examined {
  project: string;
  clients: {
    client: string;
    version: string | null;
    hooks: 'all' | 'some' | 'none';
    trusted: boolean | null;
    answers_ms: number | null;
    gateway: boolean | null;
  }[];
  checks: { of: string; what: string; health: 'ok' | 'warn' | 'fail'; seen: string; advice: string }[];
}

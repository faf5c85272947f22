import { sentence } from './api';
import type { Json, Marks } from './contract';
import type { Draft } from './draft.svelte';
import { simulate, type Begun, type TriedAnswer } from './workflows';

const REST_MS = 300;
/** Lines that the server plays at once. */
const LINES_MAX = 500;

/** Lines that somebody else wrote: a case of a test file, or a run that breaks a property. */
export interface Script {
  title: string;
  begun: Begun;
  lines: Json[];
  /** What each line changes, in words. */
  changed?: string[][];
}

/** Lines that are played on the text as it stands: nothing runs. */
export class Trial {
  lines = $state.raw<Json[]>([]);
  answers = $state.raw<TriedAnswer[]>([]);
  marks = $state.raw<Marks[]>([]);
  trouble = $state('');
  /** After how many lines the graph is shown; null: without a trial. */
  at = $state<number | null>(null);
  /** What is played, where somebody else wrote it. */
  script = $state.raw<Script | null>(null);

  readonly marked = $derived(this.at === null ? null : (this.marks[this.at] ?? null));

  #asked: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly draft: Draft) {}

  add(line: Json): void {
    this.lines = [...this.lines, line];
    void this.play(true);
  }

  /** Begins with lines that are there, and shows the start. */
  async load(script: Script): Promise<void> {
    this.clear();
    this.script = script;
    if (script.lines.length > LINES_MAX) {
      this.trouble = `It has ${script.lines.length} lines, and at most ${LINES_MAX} are played here: interlock simulate plays them all.`;
      return;
    }
    this.lines = script.lines;
    await this.play(false);
    this.at = 0;
  }

  /** Shows the graph after another line. */
  go(to: number): void {
    this.at = Math.min(this.answers.length, Math.max(0, to));
  }

  /** Takes a line away, with all behind it. */
  cut(from: number): void {
    this.lines = this.lines.slice(0, from);
    void this.play(true);
  }

  /** Leaves the trial: the graph is that of the workflow again. */
  leave(): void {
    this.at = null;
  }

  clear(): void {
    this.stop();
    this.lines = [];
    this.answers = [];
    this.marks = [];
    this.trouble = '';
    this.at = null;
    this.script = null;
  }

  /** Plays again once the text comes to rest. */
  again(): void {
    clearTimeout(this.#timer);
    if (this.lines.length > 0) this.#timer = setTimeout(() => void this.play(false), REST_MS);
  }

  async play(toEnd: boolean): Promise<void> {
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    try {
      const tried = await simulate(this.draft.body(), this.lines, this.script?.begun ?? {}, asked.signal);
      if (asked.signal.aborted) return;
      this.answers = tried.answers ?? [];
      this.marks = tried.marks ?? [];
      this.trouble = tried.ok ? '' : (tried.message ?? 'The text has errors: mend them first.');
      if (toEnd || (this.at !== null && this.at > this.answers.length)) this.at = this.answers.length;
    } catch (error) {
      if (!asked.signal.aborted) this.trouble = sentence(error) ?? '';
    }
  }

  stop(): void {
    this.#asked?.abort();
    clearTimeout(this.#timer);
  }
}

const object = (value: Json | undefined): Record<string, Json> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};

/** Writes a line in short, as a person would type it. */
export function inShort(line: Json): string {
  if (typeof line === 'string') return line;
  const fields = object(line);
  const rest = (value: Json | undefined): string => {
    const inner = object(value);
    return Object.keys(inner).length === 0 ? '' : ` ${JSON.stringify(inner)}`;
  };
  if (typeof fields['tool'] === 'string') {
    const input = object(fields['input']);
    const [only, ...more] = Object.values(input);
    return `${fields['tool']} ${typeof only === 'string' && more.length === 0 ? only : JSON.stringify(input)}`;
  }
  if (typeof fields['transition'] === 'string') return fields['transition'] + rest(fields['data']);
  for (const word of ['approve', 'reject', 'result', 'state', 'pause', 'resume', 'cancel']) {
    if (word in fields) return word + rest(fields[word]);
  }
  const { expect: _, ...plain } = fields;
  return JSON.stringify(plain);
}

/** Returns what a line expects, in words; empty: nothing. */
export function expected(line: Json): string {
  const expect = object(object(line)['expect']);
  return Object.entries(expect)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

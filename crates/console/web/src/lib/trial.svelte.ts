import { sentence } from './api';
import type { Marks } from './contract';
import type { Draft } from './draft.svelte';
import { simulate, type TriedAnswer } from './workflows';

const REST_MS = 300;

/** Lines that are played on the text as it stands: nothing runs. */
export class Trial {
  lines = $state<string[]>([]);
  answers = $state.raw<TriedAnswer[]>([]);
  marks = $state.raw<Marks[]>([]);
  trouble = $state('');
  /** After how many lines the graph is shown; null: without a trial. */
  at = $state<number | null>(null);

  readonly marked = $derived(this.at === null ? null : (this.marks[this.at] ?? null));

  #asked: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly draft: Draft) {}

  add(line: string): void {
    this.lines = [...this.lines, line];
    void this.play(true);
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
      const tried = await simulate(this.draft.body(), this.lines, asked.signal);
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

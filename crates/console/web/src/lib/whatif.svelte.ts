import { sentence } from './api';
import { whatIf, type Difference, type Judge, type Judged } from './compare';
import type { Diagnostic } from './workflows';

/** The log of a run as another workflow would judge it. */
export class WhatIfModel {
  found = $state.raw<Judged | null>(null);
  differences = $state.raw<Difference[]>([]);
  diagnostics = $state.raw<Diagnostic[]>([]);
  error = $state('');
  busy = $state(false);
  #asked: AbortController | null = null;
  #judge: Judge | null = null;

  constructor(readonly run: string) {}

  get more(): number {
    return (this.found?.differing ?? 0) - this.differences.length;
  }

  /** Has the whole log judged. */
  async ask(judge: Judge): Promise<void> {
    this.#judge = judge;
    await this.#fetch(0);
  }

  /** Fetches the differences that come next. */
  async next(): Promise<void> {
    const last = this.differences.at(-1);
    if (last) await this.#fetch(last.seq + 1);
  }

  stop(): void {
    this.#asked?.abort();
  }

  async #fetch(from: number): Promise<void> {
    const judge = this.#judge;
    if (!judge) return;
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    this.busy = true;
    try {
      const found = await whatIf(this.run, judge, from, asked.signal);
      this.error = '';
      this.diagnostics = found.ok ? [] : found.diagnostics;
      if (!found.ok) this.found = null;
      else if (from === 0) [this.found, this.differences] = [found, found.differences];
      else this.differences = [...this.differences, ...found.differences];
    } catch (error) {
      if (asked.signal.aborted) return;
      this.error = sentence(error) ?? '';
      if (from === 0) this.found = null;
    }
    if (this.#asked === asked) this.busy = false;
  }
}

import * as api from './api';
import type { LogLine, Seq } from './contract';
import { Windows } from './windows.svelte';

const WINDOW = 200;

/** The log of a run: all its events by number, or those that match a filter. */
export class Log {
  readonly lines: Windows<LogLine>;
  filter: api.LogFilter = $state({ level: '', kind: '', text: '' });
  readonly filtered = $derived(Object.values(this.filter).some(Boolean));
  /** Whether every matching event is here. */
  complete = $state(true);
  error = $state('');
  /** How many events match the filter, as far as that was counted; null: not yet. */
  matching = $state<number | null>(null);
  #matches = $state.raw<LogLine[]>([]);
  #next: Seq | null = null;
  #request: AbortController | null = null;

  constructor(private readonly run: string) {
    this.lines = new Windows(WINDOW, async (offset, limit, signal) => {
      const { events, total } = await api.events(run, null, offset, limit, signal);
      return { total, items: events };
    });
  }

  get length(): number {
    return this.filtered ? this.#matches.length : this.lines.total;
  }

  at(index: number): LogLine | undefined {
    return this.filtered ? this.#matches[index] : this.lines.get(index);
  }

  /** Returns where the event is in the list, or the one before it when the filter hides it. */
  indexOf(seq: Seq): number {
    if (!this.filtered) return seq;
    return this.#matches.findLastIndex((line) => line.seq <= seq);
  }

  ensure(first: number, last: number): void {
    if (!this.filtered) this.lines.ensure(first, last);
    else if (last >= this.#matches.length - 1 && !this.complete) void this.more();
  }

  /** Takes the events that have just happened. */
  add(lines: LogLine[]): void {
    for (const line of lines) this.lines.put(line.seq, line);
    if (this.filtered && this.complete) {
      this.complete = false;
      void this.more();
    }
  }

  /** Begins anew after a change of the filter. */
  restart(): void {
    this.#request?.abort();
    this.#request = null;
    this.#matches = [];
    this.#next = null;
    this.matching = null;
    this.complete = !this.filtered;
    if (this.filtered) void this.more();
  }

  /** Fetches the next matching events. */
  async more(): Promise<void> {
    if (this.#request) return;
    const request = new AbortController();
    this.#request = request;
    const from = this.#next ?? (this.#matches.at(-1)?.seq ?? -1) + 1;
    try {
      const { events, next, matches } = await api.events(this.run, { ...this.filter }, from, WINDOW, request.signal);
      this.#matches = [...this.#matches, ...events];
      this.#next = next;
      this.complete = next === null;
      if (matches !== null) this.matching = matches;
      if (this.complete) this.matching = this.#matches.length;
      this.error = '';
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    } finally {
      if (this.#request === request) this.#request = null;
    }
  }

  stop(): void {
    this.lines.stop();
    this.#request?.abort();
  }
}

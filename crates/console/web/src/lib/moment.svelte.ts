import * as api from './api';
import type { Marks, RunState, Seq } from './contract';

/** After this time a request for a moment no longer wanted is given up. */
const PATIENCE_MS = 250;

/** Moments that are kept; the oldest goes first. */
const KEPT = 40;

type Loaded = RunState & { marks: Marks };

/** One moment of a run. However fast it is moved, there is one request at a time, and the last wish wins. */
export class Moment {
  state = $state.raw<RunState | null>(null);
  marks = $state.raw<Marks | null>(null);
  error = $state('');
  #wanted: Seq | null = null;
  #request: { at: Seq; since: number; control: AbortController } | null = null;
  /** Moments of the past, which are always as they were: those that were looked at, and the next one of a walk. */
  #kept = new Map<Seq, Promise<Loaded>>();
  #ahead: AbortController | null = null;
  #last: Seq | null = null;

  constructor(private readonly run: string) {}

  /** Loads the moment after `at` events, unless it is being loaded; `past`: more events are known. */
  want(at: Seq, past = false): void {
    this.#wanted = at;
    if (this.#request === null) void this.#load(at, past);
    else if (this.#request.at !== at && performance.now() - this.#request.since > PATIENCE_MS) this.#request.control.abort();
  }

  stop(): void {
    this.#wanted = null;
    this.#request?.control.abort();
    this.#ahead?.abort();
  }

  async #load(at: Seq, past: boolean): Promise<void> {
    const control = new AbortController();
    this.#request = { at, since: performance.now(), control };
    try {
      const { marks, ...state } = await (past ? this.#fetch(at, control.signal) : api.moment(this.run, at, control.signal));
      this.state = state;
      this.marks = marks;
      this.error = '';
      if (past) this.#lookAhead(at);
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    }
    this.#request = null;
    if (this.#wanted !== null && this.#wanted !== at) void this.#load(this.#wanted, past);
  }

  #fetch(at: Seq, signal: AbortSignal): Promise<Loaded> {
    const known = this.#kept.get(at);
    if (known) return known;
    const loaded = api.moment(this.run, at, signal);
    this.#kept.set(at, loaded);
    loaded.catch(() => this.#kept.delete(at));
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return loaded;
  }

  /** Whoever goes from event to event finds the next one there. */
  #lookAhead(at: Seq): void {
    const step = at - (this.#last ?? at);
    this.#last = at;
    const next = at + step;
    if (Math.abs(step) !== 1 || next < 0 || this.#kept.has(next)) return;
    this.#ahead = new AbortController();
    this.#fetch(next, this.#ahead.signal).catch(() => {});
  }
}

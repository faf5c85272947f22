import * as api from './api';
import type { MarkedState, Marks, RunState, Seq } from './contract';

/** After this time a request for a moment no longer wanted is given up. */
const PATIENCE_MS = 250;

interface Asked {
  at: Seq;
  since: number;
  control: AbortController;
  found: Promise<MarkedState>;
}

/**
 * One moment of a run. However fast it is moved, one wish is loaded at a time, and the last one wins.
 *
 * Who goes step by step has the next step asked for while they look at this one.
 */
export class Moment {
  state = $state.raw<RunState | null>(null);
  marks = $state.raw<Marks | null>(null);
  error = $state('');
  #wanted: Seq | null = null;
  #request: Asked | null = null;
  #ahead: Asked | null = null;

  constructor(private readonly run: string) {}

  /** Loads the moment after `at` events, unless it is being loaded. */
  want(at: Seq): void {
    this.#wanted = at;
    if (this.#request === null) void this.#load(at);
    else if (this.#request.at !== at && performance.now() - this.#request.since > PATIENCE_MS) this.#request.control.abort();
  }

  stop(): void {
    this.#wanted = null;
    this.#request?.control.abort();
    this.#ahead?.control.abort();
  }

  #ask(at: Seq): Asked {
    const control = new AbortController();
    return { at, since: performance.now(), control, found: api.moment(this.run, at, control.signal) };
  }

  async #load(at: Seq): Promise<void> {
    const ahead = this.#ahead?.at === at ? this.#ahead : null;
    if (ahead === null) this.#ahead?.control.abort();
    this.#ahead = null;
    const request = { ...(ahead ?? this.#ask(at)), since: performance.now() };
    this.#request = request;
    try {
      const before = this.state?.at;
      const found = await request.found;
      this.state = found;
      this.marks = found.marks;
      this.error = '';
      this.#lookAhead(found, before);
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    }
    this.#request = null;
    if (this.#wanted !== null && this.#wanted !== at) void this.#load(this.#wanted);
  }

  /** Asks for the next moment where the last move was by one event; what has not happened yet is not asked for. */
  #lookAhead({ at, events }: RunState, before: Seq | undefined): void {
    const next = 2 * at - (before ?? at);
    if (Math.abs(next - at) !== 1 || next < 0 || next > events) return;
    this.#ahead = this.#ask(next);
    // Whoever comes to it is told what went wrong.
    this.#ahead.found.catch(() => undefined);
  }
}

import * as api from './api';
import type { Marks, RunState, Seq } from './contract';

/** After this time a request for a moment no longer wanted is given up. */
const PATIENCE_MS = 250;

/** One moment of a run. However fast it is moved, there is one request at a time, and the last wish wins. */
export class Moment {
  state = $state.raw<RunState | null>(null);
  marks = $state.raw<Marks | null>(null);
  error = $state('');
  #wanted: Seq | null = null;
  #request: { at: Seq; since: number; control: AbortController } | null = null;

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
  }

  async #load(at: Seq): Promise<void> {
    const control = new AbortController();
    this.#request = { at, since: performance.now(), control };
    try {
      const [state, { marks }] = await Promise.all([
        api.state(this.run, at, control.signal),
        api.marks(this.run, at, control.signal),
      ]);
      this.state = state;
      this.marks = marks;
      this.error = '';
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    }
    this.#request = null;
    if (this.#wanted !== null && this.#wanted !== at) void this.#load(this.#wanted);
  }
}

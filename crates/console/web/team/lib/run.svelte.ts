import type { Marks, Scene } from '../../src/lib/contract';
import * as api from './api';
import type { EventLine, RunView, Seq } from './contract';

/** How many seconds a request waits for an event. */
const WAIT_S = 25;
/** How long to wait after a failure. */
const REST_MS = 2_000;
/** How many events are shown first, and how many more at once. */
const FIRST = 100;
const MORE = 400;
/** How many events are kept while they come in. */
const KEPT_MAX = 2_000;

/** A run that is looked at, live. */
export class RunModel {
  view = $state.raw<RunView | null>(null);
  scene = $state.raw<Scene | null>(null);
  marks = $state.raw<Marks | null>(null);
  events = $state.raw<EventLine[]>([]);
  trouble = $state('');

  private readonly ending = new AbortController();
  private drawn = '';

  constructor(readonly id: string) {
    void this.follow();
  }

  stop(): void {
    this.ending.abort();
  }

  /** Reads the run again, as after an answer. */
  async load(): Promise<void> {
    const { signal } = this.ending;
    const [view, graph] = await Promise.all([api.run(this.id, signal), api.graph(this.id, signal)]);
    if (signal.aborted) return;
    this.view = view;
    this.marks = graph.marks;
    const scene = JSON.stringify(graph.scene);
    // A graph that is drawn anew loses the place where the person looks.
    if (scene !== this.drawn) this.scene = graph.scene;
    this.drawn = scene;
  }

  /** The number of the first event that is shown. */
  get first(): Seq {
    return this.events[0]?.seq ?? 0;
  }

  /** Reads events before those that are shown. */
  async earlier(): Promise<void> {
    const from = Math.max(0, this.first - MORE);
    try {
      const { events } = await api.events(this.id, from, 0, this.ending.signal);
      this.events = [...events.filter(({ seq }) => seq < this.first), ...this.events];
    } catch (error) {
      this.trouble = api.sentence(error) ?? '';
    }
  }

  private async follow(): Promise<void> {
    const { signal } = this.ending;
    let next: Seq | null = null;
    while (!signal.aborted) {
      try {
        if (next === null) {
          await this.load();
          next = Math.max(0, (this.view?.seq ?? 0) - FIRST);
        }
        const page = await api.events(this.id, next, this.events.length === 0 ? 0 : WAIT_S, signal);
        if (signal.aborted) return;
        next = page.next;
        if (page.events.length > 0) {
          this.events = [...this.events, ...page.events].slice(-KEPT_MAX);
          if (page.seq !== this.view?.seq) await this.load();
        }
        this.trouble = '';
      } catch (error) {
        const why = api.sentence(error);
        if (why === null || signal.aborted) return;
        this.trouble = why;
        // What does not exist will not exist later.
        if (error instanceof api.ApiError && error.status === 404) return;
        await new Promise((resolve) => setTimeout(resolve, REST_MS));
      }
    }
  }
}

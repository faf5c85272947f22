import { whenHere } from './activity.svelte';
import * as api from './api';
import type { LogLine, RunDetail, RunRow, Scene, Seq, Timeline } from './contract';
import { PLAIN, type Shown } from './folds';
import { listen, openLive } from './live.svelte';
import { Log } from './log.svelte';
import { Moment } from './moment.svelte';

const SETTLE_MS = 150;
/** Less time without an event is not told of. */
const GAP_MS = 60_000;

/** Everything the page of a run shows. */
export class RunModel {
  detail = $state.raw<RunDetail | null>(null);
  scene = $state.raw<Scene | null>(null);
  /** What of the graph is opened and folded. */
  shown = $state.raw<Shown>(PLAIN);
  timeline = $state.raw<Timeline | null>(null);
  /** How many events are known to have happened. */
  events: Seq = $state(0);
  error = $state('');
  readonly log: Log;
  readonly moment: Moment;
  #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closeStream = (): void => {};
  #stopListening: () => void;
  readonly #reload = (): void => void this.load();

  constructor(readonly id: string) {
    this.log = new Log(id);
    this.moment = new Moment(id);
    this.#stopListening = listen((name, data) => this.#heard(name, data));
    void this.#begin();
  }

  /** Loads what may have changed, soon; many calls make one. */
  soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => whenHere(this.#reload), SETTLE_MS);
  }

  /** Has the graph shown otherwise. */
  async show(shown: Shown): Promise<void> {
    this.shown = shown;
    try {
      const { scene } = await api.scene(this.id, this.#ended.signal, shown);
      if (this.shown === shown) this.scene = scene;
    } catch (error) {
      this.error ||= api.sentence(error) ?? '';
    }
  }

  async load(): Promise<void> {
    try {
      const detail = await api.detail(this.id, this.#ended.signal);
      this.detail = detail;
      this.#grow(detail.events);
      this.error = '';
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    }
  }

  stop(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#closeStream();
    this.#stopListening();
    this.log.stop();
    this.moment.stop();
  }

  async #begin(): Promise<void> {
    const { signal } = this.#ended;
    const graph = api
      .scene(this.id, signal)
      .then(({ scene }) => (this.scene = scene))
      .catch((error: unknown) => (this.error ||= api.sentence(error) ?? ''));
    await Promise.all([this.load(), this.#loadTimeline()]);
    if (!signal.aborted) this.#closeStream = openLive({ id: this.id, events: this.events });
    await graph;
  }

  async #loadTimeline(): Promise<void> {
    try {
      this.timeline = await api.timeline(this.id, this.#ended.signal);
      this.#grow(this.timeline.events);
    } catch (error) {
      this.error ||= api.sentence(error) ?? '';
    }
  }

  #heard(name: string, data: unknown): void {
    if (name === 'events') this.#happened(data as LogLine[]);
    if (name === 'run') {
      const row = data as RunRow;
      if (row.id !== this.id) return;
      if (this.detail) this.detail = { ...this.detail, ...row };
      this.#grow(row.events);
      this.soon();
    }
    if (name === 'connected') this.soon();
  }

  #happened(lines: LogLine[]): void {
    const fresh = lines.filter((line) => line.seq >= (this.timeline?.events ?? 0));
    const last = lines.at(-1);
    if (!last) return;
    this.log.add(lines);
    this.#grow(last.seq + 1);
    if (this.timeline && fresh.length > 0) {
      const marks = [...this.timeline.marks, ...fresh.filter((line) => line.level !== 'routine')];
      const before = [this.timeline.to_ms, ...fresh.map((line) => line.at_ms)];
      const idle = fresh.map((line, index) => ({ seq: line.seq, ms: line.at_ms - (before[index] ?? line.at_ms) }));
      const gaps = [...this.timeline.gaps, ...idle.filter(({ ms }) => ms >= GAP_MS)];
      this.timeline = { ...this.timeline, events: last.seq + 1, to_ms: last.at_ms, marks, gaps };
    }
  }

  #grow(events: Seq): void {
    this.events = Math.max(this.events, events);
    this.log.lines.total = Math.max(this.log.lines.total, this.events);
  }
}

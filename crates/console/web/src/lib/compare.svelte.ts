import * as api from './api';
import { compare, compareRows, type Compared, type CompareRow } from './compare';
import type { Marks, Scene } from './contract';
import type { Differs } from './draw';
import { Moment } from './moment.svelte';
import { Windows } from './windows.svelte';

const WINDOW = 200;

/** Two runs beside each other, and the row that is looked at. */
export class Comparison {
  found = $state.raw<Compared | null>(null);
  error = $state('');
  /** The row that is looked at. */
  at = $state(0);
  scenes = $state.raw<[Scene | null, Scene | null]>([null, null]);
  readonly rows: Windows<CompareRow>;
  readonly moments: [Moment, Moment];
  /** Which of the differences the row belongs to, counted from 0; -1: none. */
  readonly difference = $derived.by(() => {
    const places = this.found?.differences ?? [];
    const before = places.filter((row) => row <= this.at).length - 1;
    const row = this.rows.get(this.at);
    return before >= 0 && row !== undefined && !row.same ? before : -1;
  });
  /** What differs at the row that is looked at; until both moments are loaded, what differed at the row before. */
  readonly differs: Differs | null = $derived.by(() => {
    const [left, right] = this.moments;
    const places = this.rows.get(this.at)?.at;
    if (!this.found?.same_workflow) return null;
    if (left.marks && right.marks && left.state?.at === places?.[0] && right.state?.at === places?.[1]) {
      this.#differed = differing(left.marks, right.marks);
    }
    return this.#differed;
  });
  #differed: Differs | null = null;
  #ended = new AbortController();

  constructor(
    readonly left: string,
    readonly right: string,
  ) {
    this.moments = [new Moment(left), new Moment(right)];
    this.rows = new Windows(WINDOW, async (offset, limit, signal) => {
      if (!this.found) return { total: 0, items: [] };
      const { rows, window } = await compareRows(this.found, offset, limit, signal);
      return { total: rows, items: window };
    });
    void this.#begin();
  }

  /** Looks at a row: both runs are shown as they were after it. */
  look(row: number): void {
    const last = Math.max(0, (this.found?.rows ?? 1) - 1);
    this.at = Math.min(last, Math.max(0, row));
    this.rows.ensure(this.at, this.at);
  }

  /** Goes to the next difference, or to the one before. */
  step(forward: boolean): void {
    const places = this.found?.differences ?? [];
    const to = forward ? places.find((row) => row > this.at) : places.findLast((row) => row < this.at);
    if (to !== undefined) this.look(to);
  }

  stop(): void {
    this.#ended.abort();
    this.rows.stop();
    for (const moment of this.moments) moment.stop();
  }

  async #begin(): Promise<void> {
    const { signal } = this.#ended;
    try {
      const found = await compare(this.left, this.right, signal);
      this.found = found;
      found.window.forEach((row, index) => this.rows.put(index, row));
      this.rows.total = found.rows;
      this.rows.known = true;
      this.look(found.differences[0] ?? 0);
      const [left, right] = await Promise.all([api.scene(this.left, signal), api.scene(this.right, signal)]);
      this.scenes = [left.scene, right.scene];
    } catch (error) {
      this.error = api.sentence(error) ?? this.error;
    }
  }
}

/** Returns what only one of two runs of the same workflow has visited or taken. */
function differing(left: Marks, right: Marks): Differs {
  const visited = (marks: Marks, id: string): boolean => marks.nodes[id]?.visited ?? false;
  const stands = (marks: Marks, id: string): boolean => (marks.nodes[id]?.here ?? 0) > 0;
  const nodes = new Set([...Object.keys(left.nodes), ...Object.keys(right.nodes)]);
  const edges = new Set([...Object.keys(left.edges), ...Object.keys(right.edges)]);
  return {
    nodes: new Set([...nodes].filter((id) => visited(left, id) !== visited(right, id) || stands(left, id) !== stands(right, id))),
    edges: new Set([...edges].filter((id) => (left.edges[id] ?? 0) > 0 !== (right.edges[id] ?? 0) > 0)),
  };
}

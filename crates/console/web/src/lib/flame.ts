import type { CostRow, Spent, Usage } from './contract';
import { tokens } from './money';
import { short } from './text';

export type Measure = 'cost' | 'tokens';

/** A part of a whole, and what it is made of. */
export interface Part {
  /** Unique among all parts. */
  id: string;
  name: string;
  value: number;
  parts: Part[];
}

/** Where a part is drawn: shares of the width, and how deep. */
export interface Bar {
  part: Part;
  from: number;
  to: number;
  level: number;
  parent: Bar | null;
}

export const measure = (usage: Usage, by: Measure): number => (by === 'cost' ? (usage.pico_usd ?? 0) : tokens(usage));

interface Leaf {
  names: string[];
  value: number;
}

/** Gathers leaves below the names they have in common. */
function gather(name: string, leaves: Leaf[], level = 0, id = 'all'): Part {
  const value = leaves.reduce((sum, leaf) => sum + leaf.value, 0);
  const groups = new Map<string, Leaf[]>();
  for (const leaf of leaves) {
    const own = leaf.names[level];
    if (own !== undefined) groups.set(own, [...(groups.get(own) ?? []), leaf]);
  }
  const parts = [...groups].map(([own, inside], index) => gather(own, inside, level + 1, `${id}-${index}`));
  return { id, name, value, parts: parts.filter((part) => part.value > 0) };
}

/** The cost of a run by state, attempt and model. */
export const ofRun = (rows: Spent[], by: Measure): Part =>
  gather(
    'run',
    rows.map(({ state, path, attempt, model, usage }) => ({
      names: [path ? `${state} (${path})` : state, `attempt ${attempt}`, model],
      value: measure(usage, by),
    })),
  );

/** The cost of several runs by workflow and run. */
export const ofRuns = (rows: CostRow[], by: Measure): Part =>
  gather(
    'these runs',
    rows.flatMap(({ workflow, name, id, usage }) => (usage === null ? [] : [{ names: [workflow, name ?? short(id)], value: measure(usage, by) }])),
  );

/** Lays the parts of `root` out, level by level. */
export function bars(root: Part): Bar[] {
  const all: Bar[] = [];
  const lay = (part: Part, from: number, to: number, level: number, parent: Bar | null): void => {
    const bar = { part, from, to, level, parent };
    all.push(bar);
    let at = from;
    for (const inner of part.parts) {
      const wide = part.value > 0 ? ((to - from) * inner.value) / part.value : 0;
      lay(inner, at, at + wide, level + 1, bar);
      at += wide;
    }
  };
  lay(root, 0, 1, 0, null);
  return all;
}

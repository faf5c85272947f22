import type { Drawn, DrawnNode } from './draw';

const WAYS: Record<string, [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

type Step = { node: DrawnNode; along: number; aside: number };

/**
 * Returns the node that a key leads to from `from`.
 *
 * Along a transition if one leads that way; up and down fall back to any transition in and out, left and right to the
 * nearest node at that side.
 */
export function walk(drawn: Drawn, from: DrawnNode, key: string): DrawnNode | null {
  const all = [...drawn.nodes.values()];
  if (key === 'Home') return all[0] ?? null;
  if (key === 'End') return all.at(-1) ?? null;
  const way = WAYS[key];
  if (!way) return null;
  const neighbours = new Set<DrawnNode>();
  const into = new Set<DrawnNode>();
  const out = new Set<DrawnNode>();
  for (const edge of drawn.edges.values()) {
    const [source, target] = [drawn.nodes.get(edge.from), drawn.nodes.get(edge.to)];
    if (source === from && target) out.add(target);
    if (target === from && source) into.add(source);
  }
  for (const node of all) {
    const nested = node.element.contains(from.element) || from.element.contains(node.element);
    if (nested || out.has(node) || into.has(node)) neighbours.add(node);
  }
  neighbours.delete(from);
  const rest = key === 'ArrowDown' ? out : key === 'ArrowUp' ? into : new Set(all);
  rest.delete(from);
  return nearest(from, neighbours, way) ?? nearest(from, rest, way) ?? (way[1] === 0 ? null : ([...rest][0] ?? null));
}

const middle = ({ area: [x, y, width, height] }: DrawnNode): [number, number] => [x + width / 2, y + height / 2];

/** Returns the nearest of `nodes` that lies rather that way than aside. */
function nearest(from: DrawnNode, nodes: Set<DrawnNode>, [dx, dy]: [number, number]): DrawnNode | null {
  const [x, y] = middle(from);
  const steps: Step[] = [...nodes].map((node) => {
    const [toX, toY] = middle(node);
    const along = (toX - x) * dx + (toY - y) * dy;
    return { node, along, aside: Math.abs((toX - x) * dy + (toY - y) * dx) };
  });
  const ahead = steps.filter(({ along, aside }) => along > 1 && along >= aside * 0.6);
  ahead.sort((one, other) => one.along + one.aside - (other.along + other.aside));
  return ahead[0]?.node ?? null;
}

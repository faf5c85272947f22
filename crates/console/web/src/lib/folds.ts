import type { Fold } from './contract';

/** What of a graph is opened and folded, by the keys of its nodes. */
export interface Shown {
  /** Calls in which the machine is drawn. */
  opened: string[];
  /** Forks whose branches are hidden. */
  folded: string[];
  /** States that are drawn as one. */
  groups: string[][];
}

export const PLAIN: Shown = { opened: [], folded: [], groups: [] };

export const isPlain = ({ opened, folded, groups }: Shown): boolean => opened.length + folded.length + groups.length === 0;

const toggle = (all: string[], key: string): string[] => (all.includes(key) ? all.filter((one) => one !== key) : [...all, key]);

/** Opens what is folded, and the other way round. */
export function toggled(shown: Shown, key: string, { what }: Fold): Shown {
  if (what === 'call') return { ...shown, opened: toggle(shown.opened, key) };
  if (what === 'fork') return { ...shown, folded: toggle(shown.folded, key) };
  const members = key.split('\n').sort().join('\n');
  return { ...shown, groups: shown.groups.filter((group) => [...group].sort().join('\n') !== members) };
}

/** Has states drawn as one; a group that is picked is taken in. */
export const grouped = (shown: Shown, keys: string[]): Shown => {
  const members = keys.flatMap((key) => key.split('\n'));
  const rest = shown.groups.filter((group) => !group.some((one) => members.includes(one)));
  return { ...shown, groups: [...rest, members] };
};

/** Says what a press does to what lies in a node. */
export function says({ what, open }: Fold): string {
  if (what === 'call') return open ? 'Close the call' : 'Open the call';
  if (what === 'fork') return open ? 'Fold the fork' : 'Unfold the fork';
  return 'Unfold the states';
}

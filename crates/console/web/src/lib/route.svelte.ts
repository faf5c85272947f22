import type { Seq } from './contract';

const ADDRESS_MS = 200;

const PAGES = ['inbox', 'runs', 'cost', 'trust', 'about'] as const;

export type Page = (typeof PAGES)[number] | 'run';

interface Route {
  page: Page;
  run: string;
  /** The moment of the past that is looked at; null: live. */
  at: Seq | null;
  /** The project whose runs are listed; empty: all. */
  project: string;
}

function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, run] = path.split('/');
  const values = new URLSearchParams(query);
  const project = values.get('project') ?? '';
  if (page === 'runs' && run) {
    const at = values.get('at') ?? '';
    return { page: 'run', run: decode(run), at: /^\d{1,15}$/.test(at) ? Number(at) : null, project };
  }
  return { page: PAGES.find((name) => name === page) ?? 'inbox', run: '', at: null, project };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route: Route = $state(parse(location.hash));

let addressTimer: ReturnType<typeof setTimeout> | undefined;

addEventListener('hashchange', () => {
  clearTimeout(addressTimer);
  Object.assign(route, parse(location.hash));
});

export const runLink = (id: string): string => `#/runs/${encodeURIComponent(id)}`;

/**
 * Moves along the history of the open run.
 *
 * The address follows without a new entry, and only once the moves come to rest: browsers limit how often it may change.
 */
export function lookAt(at: Seq | null): void {
  route.at = at;
  clearTimeout(addressTimer);
  const address = runLink(route.run) + (at === null ? '' : `?at=${at}`);
  addressTimer = setTimeout(() => history.replaceState(null, '', address), ADDRESS_MS);
}

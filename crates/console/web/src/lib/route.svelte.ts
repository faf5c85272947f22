import type { Seq } from './contract';

const ADDRESS_MS = 200;

const PAGES = ['inbox', 'runs', 'workflows', 'cost', 'trust', 'about', 'passkey'] as const;

export type Page = (typeof PAGES)[number] | 'run' | 'workflow' | 'compare' | 'what-if';

interface Route {
  page: Page;
  run: string;
  /** The moment of the past that is looked at; null: live. */
  at: Seq | null;
  /** The name of the open workflow. */
  workflow: string;
  /** The run that is compared with the first one. */
  other: string;
  /** The project whose runs or workflows are listed; empty: all runs, or the workflows of where the console was started. */
  project: string;
}

function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, first = '', second = ''] = path.split('/').map(decode);
  const values = new URLSearchParams(query);
  const project = values.get('project') ?? '';
  const blank = { run: '', at: null, workflow: '', other: '', project };
  if (page === 'runs' && first && second === 'what-if') {
    return { ...blank, page: 'what-if', run: first, workflow: values.get('workflow') ?? '' };
  }
  if (page === 'runs' && first) {
    const at = values.get('at') ?? '';
    return { ...blank, page: 'run', run: first, at: /^\d{1,15}$/.test(at) ? Number(at) : null };
  }
  if (page === 'compare') return { ...blank, page: 'compare', run: first, other: second };
  if (page === 'workflows' && first) return { ...blank, page: 'workflow', workflow: first };
  return { ...blank, page: PAGES.find((name) => name === page) ?? 'inbox' };
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

/** The address of what is shown. */
let shown = location.hash;
/** Asked before another page is shown; false: it asks the person first. */
let guard: ((to: string) => boolean) | null = null;

addEventListener('hashchange', () => {
  clearTimeout(addressTimer);
  if (guard && location.hash !== shown && !guard(location.hash)) {
    history.replaceState(null, '', shown || '#/');
    return;
  }
  shown = location.hash;
  Object.assign(route, parse(location.hash));
});

/** Has `asked` decide whether the page may be left; returns what ends that. */
export function guardLeaving(asked: (to: string) => boolean): () => void {
  guard = asked;
  return () => {
    if (guard === asked) guard = null;
  };
}

export const workflowLink = (name: string, project: string): string =>
  `#/workflows/${encodeURIComponent(name)}${project && `?project=${encodeURIComponent(project)}`}`;

/** The address of two runs beside each other; without the second one, of the list that it is chosen from. */
export const compareLink = (left: string, right = ''): string =>
  `#/compare/${encodeURIComponent(left)}${right && `/${encodeURIComponent(right)}`}`;

export const whatIfLink = (id: string, workflow = ''): string =>
  `${runLink(id)}/what-if${workflow && `?workflow=${encodeURIComponent(workflow)}`}`;

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
  addressTimer = setTimeout(() => {
    history.replaceState(null, '', address);
    shown = location.hash;
  }, ADDRESS_MS);
}

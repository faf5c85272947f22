const PAGES = ['waiting', 'runs', 'audit'] as const;

export type Page = (typeof PAGES)[number] | 'run';

interface Route {
  page: Page;
  run: string;
}

function parse(hash: string): Route {
  const [page, run = ''] = hash.replace(/^#\/?/, '').split('/');
  if (page === 'runs' && run) {
    try {
      return { page: 'run', run: decodeURIComponent(run) };
    } catch {
      return { page: 'runs', run: '' };
    }
  }
  return { page: PAGES.find((name) => name === page) ?? 'waiting', run: '' };
}

export const route: Route = $state(parse(location.hash));

addEventListener('hashchange', () => Object.assign(route, parse(location.hash)));

export const runLink = (id: string): string => `#/runs/${encodeURIComponent(id)}`;

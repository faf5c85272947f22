/** Characters before a place that are searched for the braces around it. */
const BACK_MAX = 200_000;

interface Key {
  name: string;
  from: number;
  to: number;
}

/** Returns the key that is written around a place. */
export function keyAround(text: string, at: number): Key | null {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at);
  const line = text.slice(start, end < 0 ? text.length : end);
  for (const found of line.matchAll(/(["']?)([\w$-]+)\1(?=\s*:(\s|$))/g)) {
    const from = start + found.index;
    const to = from + found[0].length;
    if (from <= at && at <= to) return { name: found[2] ?? '', from, to };
  }
  return null;
}

/** Returns the keys above a place, `-` for items of lists. */
export function pathAt(text: string, at: number, isJson: boolean): string[] {
  if (isJson) return within(text.slice(Math.max(0, at - BACK_MAX), at));
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const head = text.slice(start, at);
  return [...indented(text.slice(0, start), head), ...within(head.replace(/^\s*(- +)*/, ''))];
}

/** Returns the keys whose braces and brackets are open at the end of a text. */
function within(text: string): string[] {
  const open: string[] = [];
  let key = '';
  let last = '';
  for (const [token, quoted, plain] of text.matchAll(/"((?:[^"\\]|\\.)*)"|'[^']*'|[{}[\]:,]|([\w$./-]+)/g)) {
    if (token === ':') key = last;
    else if (token === '{' || token === '[') {
      const list = token === '[';
      open.push(key, list ? '-' : '');
      key = '';
    } else if (token === '}' || token === ']') {
      open.splice(-2);
      key = '';
    } else if (token === ',') key = '';
    else last = quoted ?? plain ?? token;
  }
  return open.filter((part) => part !== '');
}

/** Returns the keys of the lines above that are less indented, and of the dashes on the line itself. */
function indented(above: string, head: string): string[] {
  const depth = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;
  let limit = depth(head);
  const path: string[] = [];
  const dash = /^( *)- /.exec(head);
  if (dash) path.unshift('-');
  const lines = above.split('\n');
  // A list may stand as deep as the key above it.
  let same = dash !== null;
  for (let at = lines.length - 1; at >= 0 && (limit > 0 || same); at -= 1) {
    const line = lines[at] ?? '';
    if (!line.trim() || line.trim().startsWith('#')) continue;
    const item = /^( *)- +(.*)$/.exec(line);
    const here = depth(line);
    if (item && !same && here < limit) {
      const inner = here + line.slice(here).length - (item[2]?.length ?? 0);
      const key = inner < limit ? keyOf(item[2] ?? '') : null;
      if (key) path.unshift(key);
      path.unshift('-');
      limit = here;
      same = true;
      continue;
    }
    if (item || !(here < limit || (same && here === limit))) continue;
    const key = keyOf(line);
    if (!key) continue;
    path.unshift(key);
    limit = here;
    same = false;
  }
  return path;
}

const keyOf = (line: string): string | null => /^\s*(["']?)([^"'{[#]+?)\1\s*:(\s|$)/.exec(line)?.[2] ?? null;

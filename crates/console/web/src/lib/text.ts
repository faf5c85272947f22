import type { Json, Status } from './contract';

const STATUS_WORDS: Record<Status, string> = {
  running: 'Running',
  awaiting_approval: 'Awaiting approval',
  paused: 'Paused',
  waiting: 'Waiting',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  damaged: 'Damaged',
};

export const statusWords = (status: Status): string => STATUS_WORDS[status] ?? status;

/** Returns the first characters of an id or a digest. */
export const short = (text: string, length = 12): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Returns the paths of the states that a run is in. */
export const statePaths = (state: string | string[]): string[] => [state].flat();

/** Returns a path by its last two parts: "…/code/shop". */
export function shortPath(path: string): string {
  const parts = path.split('/').filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join('/')}` : path;
}

/** Returns a number with its word: "1 event", "2,000 events". */
export const count = (number: number, word: string): string =>
  `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;

/** Returns a value as a person reads it: text as it is, all else as JSON. */
export const shown = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';

/** Reads a JSON object, or says why it is none. */
export function readObject(text: string): { data: Record<string, Json> | null; why: string } {
  try {
    const data = JSON.parse(text) as Json;
    if (data !== null && typeof data === 'object' && !Array.isArray(data)) return { data, why: '' };
    return { data: null, why: 'It has to be an object: {"key": value}.' };
  } catch (error) {
    return { data: null, why: error instanceof Error ? error.message : String(error) };
  }
}

import type { LogLine, Marks, RunState, Seq } from './contract';

/** What an exported file holds of a run: the console's own answers, as they were. */
export interface Recording {
  run: string;
  version: string;
  exported_ms: number;
  /** What there was no room for, in sentences. */
  left_out: string[];
  /** Answers by their address. */
  answers: Record<string, unknown>;
  /** The events of the log from `first` on. */
  first: Seq;
  lines: LogLine[];
  /** How the run stood after so many events, in order. */
  moments: { at: Seq; state: RunState; marks: Marks }[];
  /** Single events, and why calls were judged as they were, by number. */
  events: Record<string, unknown>;
  calls: Record<string, unknown>;
}

const LEVELS = ['routine', 'notable', 'alarming'];

/** Answers a request from a recording; undefined: it holds no answer. */
export function recorded(recording: Recording, address: string): unknown {
  const [path = '', query = ''] = address.split('?');
  const own = `runs/${encodeURIComponent(recording.run)}`;
  const asked = new URLSearchParams(query);
  if (path === `${own}/events`) return log(recording, asked);
  const [kind, seq, why] = path.slice(own.length + 1).split('/');
  if (kind === 'events') return recording.events[seq ?? ''];
  if (kind === 'calls') return why === 'why' && !query ? recording.calls[seq ?? ''] : undefined;
  const at = asked.get('at');
  if (at !== null && kind === 'state') {
    const moment = recording.moments.findLast((one) => one.at <= Number(at)) ?? recording.moments[0];
    return moment && { ...moment.state, marks: moment.marks };
  }
  return recording.answers[path];
}

/** Answers with a window of the log, as the server does. */
function log({ first, lines }: Recording, asked: URLSearchParams): unknown {
  const total = first + lines.length;
  const from = Number(asked.get('from') ?? 0);
  const limit = Number(asked.get('limit') ?? 200);
  const level = LEVELS.indexOf(asked.get('level') ?? '');
  const kinds = asked.get('kind')?.split(',');
  const text = asked.get('text')?.toLowerCase();
  const fits = (line: LogLine): boolean =>
    LEVELS.indexOf(line.level) >= level &&
    (!kinds || kinds.includes(line.title)) &&
    (!text || line.title.toLowerCase().includes(text) || line.detail.toLowerCase().includes(text));
  if (level <= 0 && !kinds && !text) {
    const missing = Array.from({ length: Math.max(0, Math.min(first, from + limit) - from) }, (_, index) => ({
      seq: from + index,
      at_ms: lines[0]?.at_ms ?? 0,
      title: 'not in this file',
      detail: '',
      level: 'routine',
    }));
    const rest = lines.slice(Math.max(0, from - first), Math.max(0, from + limit - first));
    return { events: [...missing, ...rest], next: null, total, matches: total };
  }
  const all = lines.filter((line) => line.seq >= from && fits(line));
  return { events: all.slice(0, limit), next: all[limit]?.seq ?? null, total, matches: all.length };
}

import type { Millis } from './contract';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (value: number): string => String(value).padStart(2, '0');

/** Returns how long ago `at` was: "12 s ago". */
export function ago(at: Millis, now: Millis): string {
  const past = Math.max(0, now - at);
  if (past < 5_000) return 'just now';
  if (past < MINUTE) return `${Math.floor(past / 1_000)} s ago`;
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < 2 * DAY) return `${Math.floor(past / HOUR)} h ago`;
  return `${Math.floor(past / DAY)} d ago`;
}

/** Returns the time of the day: "14:03:22.041". */
export function timeOfDay(at: Millis): string {
  const date = new Date(at);
  const seconds = `${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
  return `${two(date.getHours())}:${two(date.getMinutes())}:${seconds}`;
}

/** Returns the day and the time: "2026-11-28 14:03:22". */
export function stamp(at: Millis): string {
  const date = new Date(at);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${timeOfDay(at).slice(0, 8)}`;
}

/** Returns minutes and seconds: "1:05". */
export function countdown(ms: Millis): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

/** Returns how long something took, in its two largest units: "2 h 5 min". */
export function span(ms: Millis): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < MINUTE) return `${Math.round(ms / 1_000)} s`;
  const [large, small, words] = ms < HOUR ? [MINUTE, 1_000, ['min', 's']] : ms < DAY ? [HOUR, MINUTE, ['h', 'min']] : [DAY, HOUR, ['d', 'h']];
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${words[0]}${rest > 0 ? ` ${rest} ${words[1]}` : ''}`;
}

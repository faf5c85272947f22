import type {
  Answer,
  Blob as Kept,
  CostList,
  PersonRequest,
  Changes,
  Done,
  ErrorBody,
  LetIn,
  LogEvent,
  LogWindow,
  MarkedState,
  Paired,
  Project,
  RunDetail,
  RunList,
  Scene,
  Seq,
  Timeline,
  Verified,
} from './contract';
import { isPlain, PLAIN, type Shown } from './folds';
import { recorded, type Recording } from './recorded';

const ROOT = '/api/v1/';

/** The only place of the bearer: gone when the page is. */
let bearer = '';

/** What an exported file holds; null: there is a server. */
let recording: Recording | null = null;

let onClosed: (why: string) => void = () => {};

/** An answer with a status of 400 and above; status 0 when there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Lets every later call carry `value`; calls `closed` once the server takes it no more. */
export function useBearer(value: string, closed: (why: string) => void): void {
  bearer = value;
  onClosed = closed;
}

/** Has every request answered by what a file holds of a run. */
export function useRecording(what: Recording): void {
  recording = what;
}

/** Tells whether a run is looked at that was exported. */
export const isRecorded = (): boolean => recording !== null;

/** Answers with what a file holds; a stream brings nothing more. */
async function answerRecorded(from: Recording, path: string): Promise<Response> {
  if (path.startsWith('stream')) return new Promise(() => {});
  const found = recorded(from, path);
  if (found === undefined) throw new ApiError(404, 'recorded', 'This file does not hold that.');
  return new Response(JSON.stringify(found));
}

/** Returns a sentence for a person; null when the request was only given up. */
export function sentence(error: unknown): string | null {
  if (error instanceof DOMException && error.name === 'AbortError') return null;
  return error instanceof Error ? error.message : String(error);
}

/** What a request needs beside its body. */
export interface SendOptions {
  accept?: string;
  /** The etag of what is written over: the request is a PUT. */
  ifMatch?: string;
}

/** Sends a request; throws an `ApiError` unless it succeeds. */
export async function send(path: string, body?: unknown, signal?: AbortSignal, { accept = 'application/json', ifMatch }: SendOptions = {}): Promise<Response> {
  if (recording) return answerRecorded(recording, path);
  const headers: Record<string, string> = { Accept: accept };
  if (bearer) headers['Authorization'] = `Bearer ${bearer}`;
  const init: RequestInit = { headers, cache: 'no-store', credentials: 'omit', redirect: 'error', signal: signal ?? null };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.method = ifMatch === undefined ? 'POST' : 'PUT';
    if (ifMatch !== undefined) headers['If-Match'] = ifMatch;
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(ROOT + path, init);
  } catch (error) {
    if (sentence(error) === null) throw error;
    throw new ApiError(0, 'network', 'The console does not answer. Is `interlock console` still running?');
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (failure.status === 401 && bearer) {
    bearer = '';
    onClosed(failure.message);
  }
  throw failure;
}

async function failureOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorBody;
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, 'http', `The console answered with status ${response.status}.`);
  }
}

export async function call<T>(path: string, body?: unknown, signal?: AbortSignal, options?: SendOptions): Promise<T> {
  return (await (await send(path, body, signal, options)).json()) as T;
}

/** Returns `?a=1&b=2` of the values that are not empty. */
export function query(values: Record<string, string | number>): string {
  const given = Object.entries(values).filter(([, value]) => value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

export const run = (id: string, rest = ''): string => `runs/${encodeURIComponent(id)}${rest}`;

export interface RunFilter {
  project: string;
  workflow: string;
  state: string;
  status: string;
  text: string;
  /** When the last event was recorded at the earliest; empty: at any time. */
  since: string;
}

/** Lets every run through. */
export const EVERY_RUN: RunFilter = { project: '', workflow: '', state: '', status: '', text: '', since: '' };

export interface LogFilter {
  level: string;
  kind: string;
  text: string;
}

export const pair = (key: string) => call<Paired>('pair', { key });

/** Returns null while the person has not answered yet. */
export async function finishPairing(pairing: string, secret: string, signal: AbortSignal): Promise<LetIn | null> {
  const response = await send('pair/finish', { pairing, secret }, signal);
  return response.status === 202 ? null : ((await response.json()) as LetIn);
}

export const projects = () => call<{ projects: Project[] }>('projects');

export const runs = (filter: RunFilter, offset: number, limit: number, signal: AbortSignal) =>
  call<RunList>(`runs${query({ ...filter, offset, limit })}`, undefined, signal);

/** What the runs of a window of the list have cost. */
export const costs = (filter: RunFilter, offset: number, limit: number, signal: AbortSignal) =>
  call<CostList>(`cost${query({ ...filter, offset, limit })}`, undefined, signal);

export const inbox = () => call<{ requests: PersonRequest[] }>('inbox');

export const detail = (id: string, signal?: AbortSignal) => call<RunDetail>(run(id), undefined, signal);

export const changes = (id: string, signal?: AbortSignal) => call<Changes>(run(id, '/changes'), undefined, signal);

export const events = (id: string, filter: LogFilter | null, from: Seq, limit: number, signal: AbortSignal) =>
  call<LogWindow>(run(id, `/events${query({ from, limit, ...filter })}`), undefined, signal);

export const event = (id: string, seq: Seq, signal: AbortSignal) => call<LogEvent>(run(id, `/events/${seq}`), undefined, signal);

export const blob = (id: string, digest: string) => call<Kept>(run(id, `/blobs/${encodeURIComponent(digest)}`));

export const timeline = (id: string, signal?: AbortSignal) => call<Timeline>(run(id, '/timeline'), undefined, signal);

/** How a run stood after `at` events, in one request. */
export const moment = (id: string, at: Seq, signal: AbortSignal) =>
  call<MarkedState>(run(id, `/state?at=${at}&with=marks`), undefined, signal);

export const scene = (id: string, signal?: AbortSignal, shown: Shown = PLAIN) =>
  call<{ scene: Scene }>(run(id, '/graph') + (isPlain(shown) ? '' : query({ view: JSON.stringify(shown) })), undefined, signal);

export const verify = (id: string) => call<Verified>(run(id, '/verify'));

export const answer = (id: string, given: Answer) => call<Done>(run(id, '/answers'), given);

/** Returns a run as one file. */
export const exportRun = async (id: string): Promise<Blob> => (await send(run(id, '/export'), undefined, undefined, { accept: 'text/html' })).blob();

export const act = (id: string, what: 'pause' | 'resume' | 'cancel') => call<Done>(run(id, `/${what}`), {});

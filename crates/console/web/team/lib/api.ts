import { steering } from './text';
import type {
  Bundle,
  Change,
  Decided,
  EventPage,
  Graph,
  Head,
  Issuer,
  Me,
  Policy,
  RunPage,
  RunView,
  Seq,
  SignedIn,
} from './contract';

const ROOT = '/v1/';

/** Sent with every request, in a header; never in an address. */
let token = '';
let onClosed: (why: string) => void = () => {};

/** A reply with a status of 400 and above; status 0 when there was none. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Sends `value` with every later request; calls `closed` once the server takes it no more. */
export function useToken(value: string, closed: (why: string) => void): void {
  token = value;
  onClosed = closed;
}

/** Returns a sentence for a person; null when the request was only given up. */
export function sentence(error: unknown): string | null {
  if (error instanceof DOMException && error.name === 'AbortError') return null;
  return error instanceof Error ? error.message : String(error);
}

interface Options {
  body?: unknown;
  /** The `Idempotency-Key` of a POST. */
  key?: string;
  signal?: AbortSignal | undefined;
}

async function send(path: string, { body, key, signal }: Options = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token) headers['Authorization'] = `Bearer ${token}`;
  if (key !== undefined) headers['Idempotency-Key'] = key;
  const init: RequestInit = { headers, cache: 'no-store', credentials: 'omit', redirect: 'error', signal: signal ?? null };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.method = 'POST';
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(ROOT + path, init);
  } catch (error) {
    if (sentence(error) === null) throw error;
    throw new ApiError(0, 'network', 'The server does not answer.');
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (failure.code === 'unauthorized' && token) {
    token = '';
    onClosed(failure.message);
  }
  throw failure;
}

async function failureOf(response: Response): Promise<ApiError> {
  try {
    const { error } = JSON.parse(await response.text(), (_, value: unknown) => plain(value, false)) as { error: { code: string; message: string } };
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, 'http', `The server answered with status ${response.status}.`);
  }
}

/** Makes characters visible that would steer what is shown; of what has marks for places, `@@` is a plain `@`. */
function plain(value: unknown, marked: boolean): unknown {
  if (typeof value !== 'string') return value;
  return steering(marked ? value.replaceAll('@@', '@') : value);
}

async function call<T>(path: string, options: Options = {}, marked = false): Promise<T> {
  const text = await (await send(path, options)).text();
  return JSON.parse(text, (_, value: unknown) => plain(value, marked)) as T;
}

/** Returns a new random word. */
export function word(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const of = (run: string, rest = ''): string => `runs/${encodeURIComponent(run)}${rest}`;

export const me = () => call<Me>('me');

export const runs = (before: string, waiting: boolean, signal?: AbortSignal) => {
  const query = new URLSearchParams({ ...(before && { before }), ...(waiting && { waiting: '1' }) }).toString();
  return call<RunPage>(`runs${query && `?${query}`}`, { signal });
};

/** Returns a run, and its changes of protected things as they were sent. */
export async function run(id: string, signal?: AbortSignal): Promise<RunView> {
  const text = await (await send(of(id), { signal })).text();
  const view = JSON.parse(text, (_, value: unknown) => plain(value, true)) as RunView;
  return { ...view, changed: (JSON.parse(text) as RunView).changed };
}

export const events = (id: string, from: Seq, wait: number, signal?: AbortSignal) =>
  call<EventPage>(of(id, `/events?from=${from}&wait=${wait}&told=1`), { signal }, true);

export const graph = (id: string, signal?: AbortSignal) => call<Graph>(of(id, '/graph'), { signal });

/** What a person types has no marks: a plain `@` is sent as `@@`. */
const written = (text: string): string => text.replaceAll('@', '@@');

export interface Answer {
  request: string;
  yes: boolean;
  /** The number of events that the person has seen. */
  seen: Seq;
  note: string;
}

export const answer = (id: string, { note, ...given }: Answer, key: string) =>
  call<Decided>(of(id, '/answers'), { body: { ...given, ...(note && { note: written(note) }) }, key }, true);

/** Accepts changes of protected things, or ends the run. */
export const command = (id: string, what: { resume: { changes: Change[] } } | { cancel: Record<string, never> }, seq: Seq, key: string) =>
  call<Decided>(of(id, '/commands'), { body: { command: what, seq }, key }, true);

export const heads = () => call<{ heads: Head[] }>('audit/heads');

export const audit = async (): Promise<Blob> => (await send('audit')).blob();

export const policy = () => call<Policy>('people');

export const bundle = () => call<Bundle>('bundles/current');

export const issuers = (tenant: string) => call<{ issuers: Issuer[] }>(`sign-in?${new URLSearchParams({ tenant }).toString()}`);

export const signInAddress = (body: { tenant: string; issuer: string; state: string; nonce: string; challenge: string }) =>
  call<{ url: string }>('sign-in/page', { body });

export const signInCode = (body: { tenant: string; issuer: string; code: string; verifier: string; nonce_secret: string }) =>
  call<SignedIn>('sign-in/code', { body });

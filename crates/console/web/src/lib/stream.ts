import { ApiError, send } from './api';

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 10_000;

export interface StreamOptions {
  /** Follow one run, beginning after its first `events` events. */
  run?: { id: string; events: number };
  onMessage: (name: string, data: unknown) => void;
  /** Told when the connection is there, and when it is lost. */
  onConnected: (connected: boolean) => void;
}

interface Message {
  name: string;
  id: string;
  data: string;
}

/**
 * Reads server-sent events with fetch (an EventSource cannot send the bearer).
 *
 * A lost connection is opened anew after 1 to 10 seconds, from the last event on. Returns a function that ends it.
 */
export function openStream({ run, onMessage, onConnected }: StreamOptions): () => void {
  const ended = new AbortController();
  let last = run ? `${run.id}:${run.events}` : '';
  let wait = FIRST_WAIT;

  async function read(): Promise<void> {
    const query = run ? `?${new URLSearchParams({ run: run.id, after: last })}` : '';
    const response = await send(`stream${query}`, undefined, ended.signal, { accept: 'text/event-stream' });
    if (!response.body) return;
    onConnected(true);
    wait = FIRST_WAIT;
    for await (const message of messages(response.body)) {
      if (message.id) last = message.id;
      if (message.data) onMessage(message.name, JSON.parse(message.data));
    }
  }

  async function keepReading(): Promise<void> {
    while (!ended.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return;
      }
      if (ended.signal.aborted) return;
      onConnected(false);
      await pause(wait, ended.signal);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  void keepReading();
  return () => ended.abort();
}

/** Splits the bytes of an event stream into its messages. */
async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) yield parse(block);
  }
}

function parse(block: string): Message {
  const message: Message = { name: 'message', id: '', data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') message.name = value ?? '';
    else if (field === 'id') message.id = value ?? '';
    else if (field === 'data') data.push(value ?? '');
  }
  message.data = data.join('\n');
  return message;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

import type { LogLine } from './contract';
import { openStream } from './stream';

type Listener = (name: string, data: unknown) => void;

/** The state of the one open stream. A browser allows few connections to a server, so there is never a second one. */
export const live = $state({ connected: true });

const listeners = new Set<Listener>();

/** Tells `listener` of everything the stream brings, and `connected` after each new connection. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Opens the stream of one run, or of all; returns a function that ends it.
 *
 * A hidden page has none: pages share the few connections of the browser. It goes on where it was once it is seen.
 */
export function openLive(run?: { id: string; events: number }): () => void {
  let seen = run;
  let close: (() => void) | undefined;
  const tell: Listener = (name, data) => {
    if (name === 'events' && seen) {
      const last = (data as LogLine[]).at(-1);
      if (last) seen = { ...seen, events: last.seq + 1 };
    }
    listeners.forEach((listener) => listener(name, data));
  };
  const open = (): void => {
    close?.();
    close = document.hidden
      ? undefined
      : openStream({
          ...(seen && { run: seen }),
          onMessage: tell,
          onConnected: (connected) => {
            live.connected = connected;
            if (connected) tell('connected', null);
          },
        });
  };
  document.addEventListener('visibilitychange', open);
  open();
  return () => {
    document.removeEventListener('visibilitychange', open);
    close?.();
  };
}

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

/** Opens the stream of one run, or of all; returns a function that ends it. */
export function openLive(run?: { id: string; events: number }): () => void {
  const tell: Listener = (name, data) => listeners.forEach((listener) => listener(name, data));
  return openStream({
    ...(run && { run }),
    onMessage: tell,
    onConnected: (connected) => {
      live.connected = connected;
      if (connected) tell('connected', null);
    },
  });
}

import { activity, whenHere } from './activity.svelte';
import * as api from './api';
import type { PersonRequest } from './contract';
import { listen } from './live.svelte';
import { notify } from './notify.svelte';

const SETTLE_MS = 200;

export const keyOf = ({ run, kind, id }: PersonRequest): string => `${run} ${kind} ${id}`;

/** Everything that waits for the person. */
class Inbox {
  requests = $state.raw<PersonRequest[]>([]);
  known = $state(false);
  error = $state('');
  count = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seen = new Set<string>();

  readonly #reload = (): void => void this.load();

  async load(): Promise<void> {
    try {
      const { requests } = await api.inbox();
      const fresh = requests.filter((request) => !this.#seen.has(keyOf(request)));
      const [first] = fresh;
      if (this.known && first) notify(fresh.length === 1 ? first.headline : `${fresh.length} approvals wait`);
      this.#seen = new Set(requests.map((request) => keyOf(request)));
      this.requests = requests;
      this.count = requests.length;
      this.known = true;
      this.error = '';
    } catch (error) {
      this.error = api.sentence(error) ?? '';
    }
  }

  /** Loads soon; many calls make one. */
  soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => whenHere(this.#reload), SETTLE_MS);
  }

  /** Takes the number that the stream tells. */
  heard(count: number): void {
    if (!activity.here && count > this.count) notify(`${count} waiting for your answer`);
    this.count = count;
  }
}

export const inbox = new Inbox();

/** Keeps the inbox up to date while the page is let in. */
export function keepInbox(): () => void {
  void inbox.load();
  return listen((name, data) => {
    if (name === 'inbox') inbox.heard((data as { count: number }).count);
    if (name !== 'events') inbox.soon();
  });
}

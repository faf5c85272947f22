/** How many windows are kept; the oldest goes first. */
const KEPT = 120;

/** A list scrolled fast asks only for where it comes to rest. */
const SETTLE_MS = 40;

type Fetch<T> = (offset: number, limit: number, signal: AbortSignal) => Promise<{ total: number; items: T[] }>;

/** A long list that is fetched window by window, as needed. */
export class Windows<T> {
  total = $state(0);
  /** Whether the first answer has come. */
  known = $state(false);
  error = $state('');
  /** Counts what has come, for those who read `get`. */
  #version = $state(0);
  #windows = new Map<number, T[]>();
  #loading = new Map<number, AbortController>();
  #wanted: [number, number] = [0, 0];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly size: number,
    private readonly fetch: Fetch<T>,
  ) {}

  /** Returns an item; undefined while it has not come. */
  get(index: number): T | undefined {
    void this.#version;
    return this.#windows.get(Math.floor(index / this.size))?.[index % this.size];
  }

  /** Fetches the items from `first` to `last` unless they are here. */
  ensure(first: number, last: number): void {
    this.#wanted = [Math.floor(Math.max(0, first) / this.size), Math.floor(Math.max(0, last) / this.size)];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), this.known ? SETTLE_MS : 0);
  }

  /** Takes an item that came by another way. */
  put(index: number, item: T): void {
    this.total = Math.max(this.total, index + 1);
    const number = Math.floor(index / this.size);
    const window = this.#windows.get(number) ?? [];
    if (index % this.size > window.length) return;
    window[index % this.size] = item;
    this.#windows.set(number, window);
    this.#version += 1;
  }

  /** Replaces every item that `change` gives another one for; tells whether there was any. */
  replace(change: (item: T) => T | undefined): boolean {
    let found = false;
    for (const window of this.#windows.values()) {
      window.forEach((item, index) => {
        const other = change(item);
        if (other === undefined) return;
        window[index] = other;
        found = true;
      });
    }
    if (found) this.#version += 1;
    return found;
  }

  /** Fetches what is looked at anew; what is here stays until then. */
  refresh(): void {
    const [first, last] = this.#wanted;
    for (const number of this.#windows.keys()) if (number < first || number > last) this.#windows.delete(number);
    for (let number = first; number <= last; number += 1) void this.#fetch(number);
  }

  /** Forgets everything. */
  clear(): void {
    this.stop();
    this.#windows.clear();
    this.total = 0;
    this.known = false;
    this.#version += 1;
  }

  /** Gives up what is being fetched. */
  stop(): void {
    clearTimeout(this.#timer);
    for (const request of this.#loading.values()) request.abort();
    this.#loading.clear();
  }

  #load(): void {
    const [first, last] = this.#wanted;
    for (const [number, request] of this.#loading) {
      if (number >= first && number <= last) continue;
      request.abort();
      this.#loading.delete(number);
    }
    for (let number = first; number <= last; number += 1) {
      const here = this.#windows.get(number)?.length ?? 0;
      const there = Math.min(this.size, this.total - number * this.size);
      if (this.known ? here < there : number === first) if (!this.#loading.has(number)) void this.#fetch(number);
    }
  }

  async #fetch(number: number): Promise<void> {
    this.#loading.get(number)?.abort();
    const request = new AbortController();
    this.#loading.set(number, request);
    try {
      const { total, items } = await this.fetch(number * this.size, this.size, request.signal);
      this.#windows.delete(number);
      this.#windows.set(number, items);
      const oldest = this.#windows.keys().next().value;
      if (this.#windows.size > KEPT && oldest !== undefined) this.#windows.delete(oldest);
      this.total = total;
      this.known = true;
      this.error = '';
      this.#version += 1;
    } catch (error) {
      if (!request.signal.aborted) this.error = error instanceof Error ? error.message : String(error);
    } finally {
      if (this.#loading.get(number) === request) this.#loading.delete(number);
    }
  }
}

/** After this time without input the page only listens. */
const IDLE_MS = 10 * 60_000;

/**
 * Whether the person is here.
 *
 * The server lets a page in until it has not been used for 30 minutes. What the page loads by itself must not count as
 * use: it is put off while the person is away. The stream goes on, for it does not count.
 */
export const activity = $state({ here: true });

const putOff = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Calls `load` now, or once when the person is back. */
export function whenHere(load: () => void): void {
  if (activity.here) load();
  else putOff.add(load);
}

function used(): void {
  clearTimeout(timer);
  timer = setTimeout(() => (activity.here = false), IDLE_MS);
  if (activity.here) return;
  activity.here = true;
  for (const load of putOff) load();
  putOff.clear();
}

for (const input of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart']) {
  addEventListener(input, used, { passive: true, capture: true });
}
used();

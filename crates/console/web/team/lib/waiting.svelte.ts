import * as api from './api';
import type { RunView } from './contract';
import { poll } from './poll';

/** How often the list is read again. */
const EVERY_MS = 3_000;
/** How many runs are shown with what they ask; of more, a person answers these first. */
const RUNS_MAX = 25;

/** The runs in which something waits for a person. */
export const waiting = $state<{ runs: RunView[]; more: boolean; read: boolean; trouble: string }>({ runs: [], more: false, read: false, trouble: '' });

/** How much waits, as far as it is shown. */
export const waitingCount = (): number => waiting.runs.reduce((sum, run) => sum + run.asked.length + (run.changed.length > 0 ? 1 : 0), 0);

/** Puts a run in place of what is known of it. */
export function put(view: RunView): void {
  waiting.runs = waiting.runs.map((one) => (one.run === view.run ? view : one)).filter((one) => one.asked.length + one.changed.length > 0);
}

async function read(signal: AbortSignal): Promise<void> {
  const found = [];
  let before = '';
  do {
    const page = await api.runs(before, true, signal);
    found.push(...page.runs);
    before = page.next ?? '';
  } while (before && found.length <= RUNS_MAX);
  const known = new Map(waiting.runs.map((view) => [view.run, view]));
  const views = await Promise.all(
    found.slice(0, RUNS_MAX).map(async ({ run, seq }) => {
      const view = known.get(run);
      // Votes change what is missing without an event.
      return view && view.seq === seq && !view.approvals?.length ? view : api.run(run, signal);
    }),
  );
  if (signal.aborted) return;
  waiting.runs = views.filter((view) => view.asked.length + view.changed.length > 0);
  waiting.more = found.length > RUNS_MAX || before !== '';
}

/** Keeps the list as it is on the server; returns what ends that. */
export const keepWaiting = (): (() => void) =>
  poll(EVERY_MS, async (signal) => {
    try {
      await read(signal);
      waiting.trouble = '';
      waiting.read = true;
    } catch (error) {
      const why = api.sentence(error);
      if (why !== null) waiting.trouble = why;
    }
  });

import { sentence } from './api';
import type { Draft } from './draft.svelte';
import { cases, prove, type Proof, type TestFile } from './workflows';

/** The tests and the properties of a workflow, with the text as it stands. */
export class Suite {
  files = $state.raw<TestFile[]>([]);
  known = $state(false);
  trouble = $state('');
  proof = $state.raw<Proof | null>(null);
  proving = $state(false);
  /** The text that was proved. */
  #proved = $state('');

  readonly stale = $derived.by(() => this.proof !== null && this.#proved !== this.draft.text);
  readonly file = $derived.by(() => this.draft.file?.file ?? '');

  /** Whether it was looked at before. */
  begun = false;

  #asked: AbortController | null = null;
  #proof: AbortController | null = null;

  constructor(readonly draft: Draft) {}

  /** Plays the cases. */
  async look(): Promise<void> {
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    this.begun = true;
    try {
      const found = await cases(this.draft.body(), asked.signal);
      if (asked.signal.aborted) return;
      this.trouble = found.ok ? '' : 'The text has errors: mend them first.';
      if (found.ok) this.files = found.files ?? [];
      this.known = found.ok;
    } catch (error) {
      if (!asked.signal.aborted) this.trouble = sentence(error) ?? '';
    }
  }

  async prove(): Promise<void> {
    const asked = new AbortController();
    this.#proof = asked;
    this.proving = true;
    const { text } = this.draft;
    try {
      const found = await prove(this.draft.body(), asked.signal);
      this.trouble = found.ok ? '' : (found.diagnostics?.[0]?.message ?? 'The text has errors: mend them first.');
      if (!found.ok) return;
      this.proof = found;
      this.#proved = text;
    } catch (error) {
      if (!asked.signal.aborted) this.trouble = sentence(error) ?? '';
    } finally {
      this.proving = false;
    }
  }

  stop(): void {
    this.#asked?.abort();
    this.#proof?.abort();
  }
}

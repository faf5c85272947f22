import { ApiError, sentence } from './api';
import type { Scene } from './contract';
import type { TextEditor } from './editor';
import { isPlain, PLAIN, type Shown } from './folds';
import * as api from './workflows';
import type { Diagnostic, DraftBody, Operation, Outline, WorkflowFile } from './workflows';

const REST_MS = 250;

/** Texts that were not saved when the page went away by itself, as where its access ended. */
const kept = new Map<string, string>();

/** Why an edit was refused, and where. */
export interface Refused {
  message: string;
  help: string;
  place: Diagnostic | null;
}

/** A workflow that is open: its text as it stands in the editor, and all that is known of that text. */
export class Draft {
  file = $state.raw<WorkflowFile | null>(null);
  error = $state('');
  text = $state('');
  /** The text of the file as far as the page knows. */
  saved = $state('');
  machine = $state('');
  /** One of the machines below `machines`, which the form is about; empty: the workflow itself. */
  inner = $state('');
  diagnostics = $state.raw<Diagnostic[]>([]);
  /** The last text that was a workflow, drawn. */
  scene = $state.raw<Scene | null>(null);
  /** What of the graph is opened and folded. */
  shown = $state.raw<Shown>(PLAIN);
  /** Whether the drawing is of the text as it stands. */
  fresh = $state(false);
  outline = $state.raw<Outline | null>(null);
  refused = $state.raw<Refused | null>(null);
  busy = $state(false);
  undoable = $state(false);
  redoable = $state(false);
  /** What the file holds by now, where it has changed meanwhile. */
  other = $state.raw<WorkflowFile | null>(null);
  moved = $state('');
  /** Whether the text is one that was kept from before. */
  restored = $state(false);
  editor: TextEditor | null = null;

  readonly dirty = $derived(this.text !== this.saved);
  readonly locked = $derived(this.file?.locked ?? '');
  /** The machines that the workflow itself has. */
  readonly inners = $derived(this.outline?.machines ?? []);
  /** What a transition may call: those machines, and the other workflows of the file. */
  readonly callable = $derived([...this.inners, ...(this.file?.machines ?? []).filter((name) => name !== this.machine)]);
  readonly errors = $derived(this.diagnostics.filter(({ severity }) => severity === 'error').length);

  #asked: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<boolean> = Promise.resolve(true);

  constructor(
    readonly name: string,
    readonly project: string,
  ) {}

  async load(): Promise<void> {
    try {
      const file = await api.open(this.name, this.project);
      this.file = file;
      this.saved = file.text;
      const before = kept.get(this.#key);
      kept.delete(this.#key);
      this.restored = before !== undefined && before !== file.text && file.locked === null;
      this.text = this.restored && before !== undefined ? before : file.text;
      this.machine = file.machines[0] ?? '';
      void this.look();
    } catch (error) {
      this.error = sentence(error) ?? '';
    }
  }

  /** What a request about the text carries. */
  body(): DraftBody {
    return {
      file: this.file?.file ?? this.name,
      text: this.text,
      ...(this.project && { project: this.project }),
      ...(this.machine && { machine: this.machine }),
      ...(this.inner && { inner: this.inner }),
      ...(!isPlain(this.shown) && { view: this.shown }),
    };
  }

  /** Takes a change of the text in the editor. */
  changed(text: string): void {
    this.text = text;
    this.fresh = false;
    this.refused = null;
    this.undoable = this.editor?.undoable ?? false;
    this.redoable = this.editor?.redoable ?? false;
    // Answers about an older text are dropped.
    this.#asked?.abort();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.look(), REST_MS);
  }

  /** Has the graph shown otherwise. */
  show(shown: Shown): void {
    this.shown = shown;
    void this.look();
  }

  /** Turns to another workflow of the file. */
  take(): void {
    this.inner = '';
    this.shown = PLAIN;
    void this.look();
  }

  /** Has the text checked and drawn. */
  async look(): Promise<void> {
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    const body = this.body();
    try {
      const [checked, drawn] = await Promise.all([api.check(body, asked.signal), api.layout(body, asked.signal)]);
      if (asked.signal.aborted) return;
      this.diagnostics = inOrder(checked.diagnostics);
      this.outline = drawn.outline;
      if (drawn.scene) this.scene = drawn.scene;
      this.fresh = drawn.scene !== null;
      this.error = '';
      this.editor?.mark(checked.diagnostics);
    } catch (error) {
      if (!asked.signal.aborted) this.error = sentence(error) ?? this.error;
    }
  }

  /** Has one operation carried out on the text, after those before it; tells whether it was. */
  apply(operation: Operation): Promise<boolean> {
    const done = this.#last.then(() => this.#carryOut(operation));
    this.#last = done;
    return done;
  }

  async #carryOut(operation: Operation): Promise<boolean> {
    const { editor } = this;
    if (this.locked || !editor) return false;
    this.busy = true;
    this.refused = null;
    const before = this.text;
    try {
      const edited = await api.edit(this.body(), operation);
      if (this.text !== before) {
        this.refused = { message: 'The text has changed meanwhile: nothing was done. Try again.', help: '', place: null };
        return false;
      }
      if (!edited.ok) {
        this.refused = { message: edited.message, help: edited.help ?? '', place: edited.diagnostics[0] ?? null };
        return false;
      }
      editor.put(edited.text);
      clearTimeout(this.#timer);
      await this.look();
      return true;
    } catch (error) {
      this.refused = { message: sentence(error) ?? '', help: '', place: null };
      return false;
    } finally {
      this.busy = false;
    }
  }

  /** Writes the text over the one that the page read; tells whether it was written. */
  async save(): Promise<boolean> {
    const { file, text } = this;
    if (!file || this.locked || this.busy) return false;
    this.busy = true;
    this.moved = '';
    try {
      const { etag } = await api.save(this.name, this.project, text, file.etag);
      this.file = { ...file, etag };
      this.saved = text;
      this.other = null;
      return true;
    } catch (error) {
      this.moved = sentence(error) ?? '';
      if (error instanceof ApiError && error.status === 412) {
        this.other = await api.open(this.name, this.project).catch(() => null);
      }
      return false;
    } finally {
      this.busy = false;
    }
  }

  /** Goes on from what the file holds by now: with this text over it, or with that one. */
  settle(mine: boolean): void {
    const { other } = this;
    if (!other || !this.file) return;
    this.file = other;
    this.saved = other.text;
    this.other = null;
    this.moved = '';
    if (!mine) this.editor?.put(other.text);
  }

  get #key(): string {
    return JSON.stringify([this.project, this.name]);
  }

  /** Ends it; what is not saved is kept, unless the person gave it up. */
  stop(abandoned: boolean): void {
    if (this.file && this.dirty && !abandoned) kept.set(this.#key, this.text);
    this.#asked?.abort();
    clearTimeout(this.#timer);
  }
}

/** Errors first. */
const inOrder = (found: Diagnostic[]): Diagnostic[] => [
  ...found.filter(({ severity }) => severity === 'error'),
  ...found.filter(({ severity }) => severity !== 'error'),
];

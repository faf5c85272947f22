import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, isolateHistory, redo, redoDepth, undo, undoDepth } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, bracketMatching, foldGutter, foldKeymap, indentOnInput, indentService, syntaxHighlighting } from '@codemirror/language';
import { json } from '@codemirror/legacy-modes/mode/javascript';
import { yaml } from '@codemirror/legacy-modes/mode/yaml';
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

import { offsets } from './bytes';
import { complete, describe, type Schema } from './schema';
import type { Diagnostic } from './workflows';

const COLOURS = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.attributeName, tags.definition(tags.propertyName), tags.atom], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--success)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--interrupt)' },
]);

const JSON_TEXT = StreamLanguage.define({ ...json, tokenTable: { property: tags.propertyName } });

/** A new line stands as deep as the one before it, and deeper below a key without a value. */
const YAML_INDENT = indentService.of((context, at) => {
  const { doc } = context.state;
  let line = doc.lineAt(at);
  while (!line.text.trim() && line.number > 1) line = doc.line(line.number - 1);
  const before = line.text.slice(0, Math.max(0, at - line.from));
  const depth = /^ *(?:- +)*/.exec(before)?.[0].length ?? 0;
  return /:\s*(?:#.*)?$/.test(before) ? depth + context.unit : depth;
});

const LOOK = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '12.5px' },
  // The pane shows the focus.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)', padding: '6px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: '0', borderRight: '1px solid var(--hairline)' },
  '.cm-activeLineGutter, .cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--page)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--change)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--chip)' },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--surface)', border: '1px solid var(--border)', borderRadius: '6px', maxWidth: 'min(460px, 92vw)', overflow: 'hidden' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxWidth: '100%' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--accent-text)', background: 'var(--accent)' },
  '.cm-completionInfo': { padding: '6px 10px', fontFamily: 'var(--sans)' },
  '.cm-hover': { padding: '6px 10px', fontFamily: 'var(--sans)', overflowWrap: 'anywhere' },
  '.cm-diagnostic': { padding: '6px 10px', fontFamily: 'var(--sans)', overflowWrap: 'anywhere' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--failure)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--approval)' },
  '.cm-lintRange-error, .cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--failure)', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': { textDecorationColor: 'var(--approval)' },
  // The pictures of the package are data: addresses, which the policy does not load.
  '.cm-lint-marker': { content: 'none', width: '8px', height: '8px', margin: '5px 3px', borderRadius: '50%' },
  '.cm-lint-marker-error': { content: 'none', background: 'var(--failure)' },
  '.cm-lint-marker-warning': { content: 'none', background: 'var(--approval)', borderRadius: '0' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--sunken)' },
  '.cm-panels button, .cm-panels input': { color: 'var(--text)', background: 'var(--surface)', border: '1px solid var(--edge)', borderRadius: '4px' },
});

export interface EditorEvents {
  /** After each change of the text. */
  changed: (text: string) => void;
  save: () => void;
}

/**
 * The text of a workflow.
 *
 * It lives in a shadow root: there the styles of CodeMirror come as constructed sheets, which a strict policy lets pass.
 */
export class TextEditor {
  readonly #view: EditorView;
  #schema: Schema | null = null;

  constructor(host: HTMLElement, text: string, { isJson, locked, label }: { isJson: boolean; locked: boolean; label: string }, events: EditorEvents) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const extensions: Extension[] = [
      lineNumbers(),
      foldGutter(),
      lintGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      isJson ? JSON_TEXT : [YAML_INDENT, StreamLanguage.define(yaml)],
      syntaxHighlighting(COLOURS),
      LOOK,
      EditorState.tabSize.of(2),
      EditorState.readOnly.of(locked),
      EditorView.contentAttributes.of({ 'aria-label': label, 'aria-multiline': 'true', tabindex: '0' }),
      autocompletion({ override: [(context) => complete(this.#schema, context, isJson)] }),
      hoverTooltip((view, at) => describe(this.#schema, view.state, at, isJson)),
      keymap.of([
        { key: 'Mod-s', preventDefault: true, run: () => (events.save(), true) },
        ...completionKeymap,
        ...lintKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...defaultKeymap,
      ]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) events.changed(update.state.doc.toString());
      }),
    ];
    this.#view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: root, root });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  get undoable(): boolean {
    return undoDepth(this.#view.state) > 0;
  }

  get redoable(): boolean {
    return redoDepth(this.#view.state) > 0;
  }

  set schema(schema: Schema | null) {
    this.#schema = schema;
  }

  undo(): void {
    undo(this.#view);
  }

  redo(): void {
    redo(this.#view);
  }

  /** Puts in another text as one step of undo; what is alike at both ends is not touched. */
  put(text: string): void {
    const old = this.text;
    let from = 0;
    while (from < old.length && from < text.length && old[from] === text[from]) from += 1;
    let tail = 0;
    while (tail < old.length - from && tail < text.length - from && old.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
    if (from === old.length && from === text.length) return;
    const changes = { from, to: old.length - tail, insert: text.slice(from, text.length - tail) };
    this.#view.dispatch({ changes, annotations: isolateHistory.of('full'), userEvent: 'input.form' });
  }

  mark(found: Diagnostic[]): void {
    const offset = offsets(this.text);
    const length = this.#view.state.doc.length;
    const marks = found.map((one): Mark => {
      const from = Math.min(offset(one.span.start), length);
      const to = Math.min(Math.max(offset(one.span.end), from), length);
      const message = one.help ? `${one.message}\n${one.help}` : one.message;
      return { from, to, severity: one.severity, message };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }

  /** Puts the cursor at a byte. */
  goTo(byte: number, focus = true): void {
    const at = Math.min(offsets(this.text)(byte), this.#view.state.doc.length);
    this.#view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
    if (focus) this.#view.focus();
  }

  /** Puts the cursor at the beginning of a line, counted from 1. */
  goToLine(number: number): void {
    const { doc } = this.#view.state;
    const at = doc.line(Math.min(Math.max(1, number), doc.lines)).from;
    this.#view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}

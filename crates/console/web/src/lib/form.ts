import type { Json } from './contract';
import type { Fields, Operation } from './workflows';

/** What the parts of a form have in common. */
export interface Form {
  disabled: boolean;
  /** The states of the workflow. */
  states: string[];
  /** The guards that have a name. */
  guards: string[];
  /** The machines of the file that a transition may call. */
  machines: string[];
  /** Carries out one operation on the text; tells whether it was accepted. */
  apply: (operation: Operation) => Promise<boolean>;
}

export const OPERATORS: [string, string][] = [
  ['eq', 'is equal to'],
  ['neq', 'is not equal to'],
  ['gt', 'is greater than'],
  ['gte', 'is at least'],
  ['lt', 'is less than'],
  ['lte', 'is at most'],
  ['in', 'is one of'],
  ['contains', 'contains'],
  ['exists', 'exists'],
  ['not_exists', 'does not exist'],
];

/** Operators that compare with nothing. */
export const ALONE = ['exists', 'not_exists'];

export const SINCE: [string, string][] = [
  ['', 'the last edit'],
  ['last_edit', 'the last edit (written out)'],
  ['state_entry', 'the state was entered'],
  ['run_start', 'the run began'],
];

export type GuardKind = 'named' | 'field' | 'command' | 'tool' | 'all' | 'any' | 'not' | 'other';

export const GUARD_KINDS: [GuardKind, string][] = [
  ['field', 'a value of the context'],
  ['command', 'a command that was seen to succeed'],
  ['tool', 'a tool call that was seen to succeed'],
  ['all', 'all of several guards'],
  ['any', 'one of several guards'],
  ['not', 'the opposite of a guard'],
];

/** Returns a value as fields; none where it has none. */
export const fieldsOf = (value: Json | undefined): Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};

export const textOf = (value: Json | undefined): string => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

export const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

export function guardKind(value: Json): GuardKind {
  if (typeof value === 'string') return 'named';
  const fields = fieldsOf(value);
  for (const kind of ['all', 'any', 'not', 'field'] as const) if (kind in fields) return kind;
  const evidence = fieldsOf(fields['evidence']);
  if ('command' in evidence) return 'command';
  return 'tool' in evidence ? 'tool' : 'other';
}

/** Says in a few words when a guard holds. */
export function guardWords(value: Json): string {
  const fields = fieldsOf(value);
  const evidence = fieldsOf(fields['evidence']);
  const since = SINCE.find(([one]) => one === textOf(evidence['since']))?.[1].replace(' (written out)', '') ?? '';
  switch (guardKind(value)) {
    case 'named':
      return String(value);
    case 'field': {
      const op = OPERATORS.find(([one]) => one === fields['op'])?.[1] ?? textOf(fields['op']);
      const output = fields['from'] === 'output' ? 'output ' : '';
      return `${output}${textOf(fields['field'])} ${op} ${showValue(fields['value'])}`.trim();
    }
    case 'command':
      return `${textOf(evidence['command'])} ended with ${textOf(evidence['exit']) || '0'} since ${since}`;
    case 'tool':
      return `${textOf(evidence['tool'])}${evidence['path'] === undefined ? '' : ` of ${textOf(evidence['path'])}`} seen since ${since}`;
    case 'all':
      return listOf(fields['all']).map(guardWords).join(' and ');
    case 'any':
      return listOf(fields['any']).map(guardWords).join(' or ');
    case 'not':
      return `not ${guardWords(fields['not'] ?? '')}`;
    default:
      return 'not finished';
  }
}

/** Makes a guard of another kind; one that is composed takes the old one in. */
export function guardOf(kind: GuardKind, old: Json | undefined): Json {
  const before = old === undefined ? null : guardKind(old);
  const inner = (): Json => {
    if (old === undefined) return { field: 'key', op: 'exists' };
    const fields = fieldsOf(old);
    if (before === 'not') return fields['not'] ?? '';
    return old;
  };
  switch (kind) {
    case 'command':
      return { evidence: { command: 'cargo test' } };
    case 'tool':
      return { evidence: { tool: 'Read' } };
    case 'all':
    case 'any':
      if (before === 'all' || before === 'any') return { [kind]: listOf(fieldsOf(old)[before]) };
      return { [kind]: [inner()] };
    case 'not':
      return { not: inner() };
    default:
      return { field: 'key', op: 'exists' };
  }
}

/** Shows a value so that `readValue` reads the same one. */
export function showValue(value: Json | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  return readValue(value) === value ? value : JSON.stringify(value);
}

/** Reads JSON; what is none is text. */
export function readValue(typed: string): Json {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return typed;
  }
}

/** Reads names with commas or line ends between them. */
export const readNames = (typed: string): string[] =>
  typed.split(/[,\n]/).map((part) => part.trim()).filter(Boolean);

/** Returns a name that is not taken. */
export function freeName(wanted: string, taken: string[]): string {
  let name = wanted;
  for (let number = 2; taken.includes(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

export type Shape = 'state' | 'branches' | 'fork' | 'call';

export const SHAPES: [Shape, string][] = [
  ['state', 'to a state'],
  ['branches', 'to the first branch that is open'],
  ['fork', 'into a fork'],
  ['call', 'into another workflow'],
];

export function shapeOf(to: Json): Shape {
  if (Array.isArray(to)) return 'branches';
  const fields = fieldsOf(to);
  if ('fork' in fields) return 'fork';
  return 'invoke' in fields ? 'call' : 'state';
}

/** What stays where a transition takes another shape. */
const KEPT = ['guard', 'guards', 'requires_approval', 'approval_message', 'approval'];

/** Makes a transition of another shape; its guards and its approval stay. */
export function transitionOf(shape: Shape, old: Json, form: Form, from: string): Json {
  const first = Array.isArray(old) ? (old[0] ?? '') : old;
  const fields = fieldsOf(first);
  const kept = Object.fromEntries(KEPT.filter((key) => key in fields).map((key) => [key, fields[key] as Json]));
  const fork = fieldsOf(fields['fork']);
  const known = typeof first === 'string' ? first : (fields['target'] ?? fields['on_complete'] ?? fork['on_complete']);
  const other = form.states.find((name) => name !== from) ?? from;
  const target = typeof known === 'string' && known !== '' && known !== '$return' ? known : other;
  switch (shape) {
    case 'branches':
      return [typeof first === 'string' ? { target: first } : first];
    case 'fork':
      return { ...kept, fork: { branches: { first: { initial: other, terminal: target } }, on_complete: target } };
    case 'call':
      return { ...kept, invoke: form.machines[0] ?? 'workflow', on_complete: target };
    default:
      return Object.keys(kept).length === 0 ? target : { target, ...kept };
  }
}

/** Says in a few words where a transition leads. */
export function leadsTo(to: Json): string {
  if (typeof to === 'string') return to;
  if (Array.isArray(to)) return to.map(leadsTo).join(' or ');
  const fields = fieldsOf(to);
  if ('fork' in fields) return `a fork of ${Object.keys(fieldsOf(fieldsOf(fields['fork'])['branches'])).join(', ')}`;
  if ('invoke' in fields) return `the workflow ${textOf(fields['invoke'])}`;
  return textOf(fields['target']);
}

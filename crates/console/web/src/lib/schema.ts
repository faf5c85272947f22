import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { EditorState } from '@codemirror/state';
import type { Tooltip } from '@codemirror/view';

import { keyAround, pathAt } from './path';

/** A JSON Schema, as far as it is read here. */
export interface Schema {
  description?: string;
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  else?: Schema;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

const DEEP_MAX = 12;

/** Returns a schema and all that it may stand for instead. */
function shapes(root: Schema, schema: Schema | boolean | undefined, depth = 0): Schema[] {
  if (!schema || schema === true || depth > DEEP_MAX) return [];
  const named = schema.$ref?.startsWith('#/$defs/') ? root.$defs?.[schema.$ref.slice('#/$defs/'.length)] : undefined;
  const others = [named, schema.then, schema.else, ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...others.flatMap((other) => shapes(root, other, depth + 1))];
}

/** Returns the shapes that a value may have below these keys. */
export function below(root: Schema, path: string[]): Schema[] {
  let found = shapes(root, root);
  for (const key of path) {
    const next = found.flatMap(({ properties, additionalProperties, items }) => {
      const own = properties && Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (own) return [own];
      if (key === '-') return items ? [items] : [];
      return typeof additionalProperties === 'object' ? [additionalProperties] : [];
    });
    found = [...new Set(next.flatMap((schema) => shapes(root, schema)))];
  }
  return found;
}

/** Returns the keys that may stand below a path, with what they mean. */
export function keysBelow(root: Schema, path: string[]): Map<string, string> {
  const keys = new Map<string, string>();
  for (const { properties } of below(root, path)) {
    for (const [key, schema] of Object.entries(properties ?? {})) {
      const said = schema.description ?? shapes(root, schema).find(({ description }) => description)?.description ?? '';
      if (!keys.get(key)) keys.set(key, said);
    }
  }
  return keys;
}

function valuesAt(root: Schema, path: string[]): string[] {
  return below(root, path).flatMap((schema) => {
    if (schema.type === 'boolean') return ['true', 'false'];
    return (schema.enum ?? []).filter((value) => typeof value === 'string');
  });
}

/** Proposes keys and fixed values where the cursor is. */
export function complete(schema: Schema | null, context: CompletionContext, isJson: boolean): CompletionResult | null {
  if (!schema) return null;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const word = /["\w$-]*$/.exec(before)?.[0] ?? '';
  if (!word && !context.explicit) return null;
  const from = context.pos - word.length;
  const head = before.slice(0, before.length - word.length);
  const path = pathAt(context.state.doc.toString(), from, isJson);
  const value = /^\s*(?:- )?(?:.*[{,]\s*)?["']?([\w$-]+)["']?\s*:\s+$/.exec(head);
  if (value?.[1]) {
    const options = valuesAt(schema, [...path, value[1]]).map((label) => ({ label: isJson && label !== 'true' && label !== 'false' ? `"${label}"` : label, type: 'constant' }));
    return options.length > 0 ? { from, options } : null;
  }
  if (!/(^\s*(- )?|[{,]\s*)$/.test(head)) return null;
  const behind = /^["\w$-]*\s*:/.test(line.text.slice(context.pos - line.from)) ? '' : ': ';
  const options = [...keysBelow(schema, path)].map(([key, info]) => ({
    label: isJson ? `"${key}"` : key,
    apply: (isJson ? `"${key}"` : key) + behind,
    ...(info && { info }),
    type: 'property',
  }));
  return options.length > 0 ? { from, options, validFor: /^["\w$-]*$/ } : null;
}

/** Says what the key under the pointer means. */
export function describe(schema: Schema | null, state: EditorState, at: number, isJson: boolean): Tooltip | null {
  const text = state.doc.toString();
  const key = schema && keyAround(text, at);
  if (!schema || !key) return null;
  const said = keysBelow(schema, pathAt(text, key.from, isJson)).get(key.name);
  if (!said) return null;
  return {
    pos: key.from,
    end: key.to,
    above: true,
    create: () => {
      const dom = document.createElement('div');
      dom.className = 'cm-hover';
      dom.textContent = `${key.name}: ${said}`;
      return { dom };
    },
  };
}

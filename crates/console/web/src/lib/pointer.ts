/** A place in a file. */
export interface Pointed {
  /** A JSON Pointer. */
  at: string;
}

/** Returns the JSON Pointer of what stands below another. */
export const below = (at: string, ...words: string[]): string =>
  at + words.map((word) => `/${word.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

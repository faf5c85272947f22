/** Returns the JSON Pointer of what stands below another. */
export const below = (at: string, ...words: string[]): string =>
  at + words.map((word) => `/${word.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

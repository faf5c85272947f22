/** Letters that only steer what is shown: control characters other than line breaks and tabs, and format characters. */
const STEERS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces every character that steers what is shown by its code. */
export const steering = (text: string): string =>
  text.replace(STEERS, (letter) => (letter === '\n' || letter === '\t' ? letter : `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`));

/** Returns what turns the place of a byte into the place of a letter, as texts here count them. */
export function letters(text: string): (byte: number) => number {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return (byte) => Math.min(byte, text.length);
  const decoder = new TextDecoder();
  return (byte) => decoder.decode(bytes.subarray(0, byte)).length;
}

/** Returns a function from the place of a byte in UTF-8 to the offset in the string. */
export function offsets(text: string): (byte: number) => number {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return (byte) => Math.min(byte, text.length);
  const decoder = new TextDecoder();
  return (byte) => decoder.decode(bytes.subarray(0, byte)).length;
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Returns 32 random bytes and their SHA-256, both as hex digits. */
export async function newSecret(): Promise<{ secret: string; key: string }> {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return { secret: hex(bytes), key: hex(new Uint8Array(digest)) };
}

import * as api from './api';

/** What a sign-in needs when the issuer sends the person back. */
const PENDING = 'interlock.sign-in';

interface Pending {
  tenant: string;
  issuer: string;
  state: string;
  verifier: string;
  secret: string;
  hash: string;
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** Returns the SHA-256 of a secret, in base64url. */
const hashed = async (secret: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))));

/** Sends the person to an issuer (authorization code with PKCE). */
export async function start(tenant: string, issuer: string): Promise<void> {
  const [state, verifier, secret] = [api.word(), api.word(), api.word()];
  const { url } = await api.signInAddress({ tenant, issuer, state, nonce: await hashed(secret), challenge: await hashed(verifier) });
  const pending: Pending = { tenant, issuer, state, verifier, secret, hash: location.hash };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.assign(url);
}

/** Returns the token of a person whom an issuer has sent back; null: nobody was. */
export async function finish(): Promise<string | null> {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state')) return null;
  const kept = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  const pending = kept ? (JSON.parse(kept) as Pending) : null;
  // The code is good only once, and stays in no history.
  history.replaceState(null, '', `/${pending?.hash ?? ''}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
  // Another site may have sent the person here with a code of its own.
  if (!pending || answer.get('state') !== pending.state) throw new Error('This tab has not begun this sign-in: nothing was exchanged. Sign in again.');
  const from = answer.get('iss');
  if (from !== null && from !== pending.issuer) throw new Error('Another issuer has answered: nothing was exchanged.');
  const code = answer.get('code');
  if (!code) throw new Error(`The issuer signs nobody in: ${answer.get('error_description') ?? answer.get('error') ?? 'it sent no code'}.`);
  const { tenant, issuer, verifier, secret } = pending;
  return (await api.signInCode({ tenant, issuer, code, verifier, nonce_secret: secret })).token;
}

import * as api from './api';
import type { Answer, NewPasskey, SignedAnswer, ToSign } from './contract';

/** How long the browser waits for the person. */
const WAIT_MS = 240_000;

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function base64url(buffer: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

const utf8 = (buffer: ArrayBuffer): string => new TextDecoder().decode(buffer);

const listed = (ids: string[]): PublicKeyCredentialDescriptor[] => ids.map((id) => ({ type: 'public-key', id: bytes(id) }));

/** Says why a browser has no passkey to give. */
export function passkeyTrouble(error: unknown): string {
  if (error instanceof DOMException) {
    if (error.name === 'InvalidStateError') return 'This authenticator has a passkey for you already.';
    return 'The browser was given no passkey: it was cancelled, took too long, or none that is enrolled is here.';
  }
  return api.sentence(error) ?? '';
}

/** Has the browser make a passkey, and enrols it; returns what became of it. */
export async function enrol(): Promise<string> {
  const wanted = await api.call<NewPasskey>('passkeys/begin', {});
  const made = (await navigator.credentials.create({
    publicKey: {
      challenge: bytes(wanted.challenge),
      rp: { id: wanted.site, name: 'Interlock' },
      user: { id: bytes(wanted.person), name: wanted.name, displayName: wanted.name },
      pubKeyCredParams: wanted.kinds.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: listed(wanted.known),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      attestation: 'none',
      timeout: WAIT_MS,
    },
  })) as PublicKeyCredential | null;
  if (!made) throw new Error('The browser made no passkey.');
  const response = made.response as AuthenticatorAttestationResponse;
  const { message } = await api.call<{ message: string }>('passkeys/finish', {
    nonce: wanted.nonce,
    client_data: utf8(response.clientDataJSON),
    authenticator_data: base64url(response.getAuthenticatorData()),
  });
  return message;
}

/** Has a passkey sign exactly this yes. */
export async function sign(run: string, yes: Answer): Promise<SignedAnswer> {
  const wanted = await api.call<ToSign>(api.run(run, '/challenge'), yes);
  const given = (await navigator.credentials.get({
    publicKey: {
      challenge: bytes(wanted.challenge),
      rpId: wanted.site,
      allowCredentials: listed(wanted.passkeys),
      userVerification: 'required',
      timeout: WAIT_MS,
    },
  })) as PublicKeyCredential | null;
  if (!given) throw new Error('The browser was given no passkey.');
  const response = given.response as AuthenticatorAssertionResponse;
  return {
    nonce: wanted.nonce,
    credential: given.id,
    client_data: utf8(response.clientDataJSON),
    authenticator_data: base64url(response.authenticatorData),
    signature: base64url(response.signature),
  };
}

import * as api from './api';
import type { Me } from './contract';
import { finish } from './signin';

/** Where the token is until the tab is closed. */
const TOKEN = 'interlock.token';

export const session = $state<{ me: Me | null; begun: boolean; trouble: string }>({ me: null, begun: false, trouble: '' });

function closed(why: string): void {
  sessionStorage.removeItem(TOKEN);
  session.me = null;
  session.trouble = why;
}

/** Uses a token; returns why it cannot be used, or nothing. */
export async function enter(token: string): Promise<string> {
  api.useToken(token, closed);
  try {
    const me = await api.me();
    if (me.role !== 'person') {
      signOut();
      return `This is the token of ${me.role === 'agent' ? 'an agent' : 'a worker'}. The page takes the token of a person.`;
    }
    sessionStorage.setItem(TOKEN, token);
    session.me = me;
    session.trouble = '';
    return '';
  } catch (error) {
    return api.sentence(error) ?? '';
  }
}

/** Forgets the token. */
export function signOut(): void {
  api.useToken('', closed);
  closed('');
}

/** Goes on with what the tab had: a sign-in that comes back from the issuer, or a token. */
export async function begin(): Promise<void> {
  let why = '';
  try {
    const token = (await finish()) ?? sessionStorage.getItem(TOKEN);
    if (token) why = await enter(token);
  } catch (error) {
    why = api.sentence(error) ?? '';
  }
  session.trouble = why;
  session.begun = true;
}

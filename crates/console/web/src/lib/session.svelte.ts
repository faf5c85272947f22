import { useBearer } from './api';
import type { LetIn } from './contract';

/** Whether the person let this page in. */
export const session = $state({ open: false, why: '', person: '', version: '' });

/** Lets the page in; it goes back to pairing when the server takes the bearer no more. */
export function letIn({ bearer, person, version }: LetIn): void {
  useBearer(bearer, (why) => {
    session.open = false;
    session.why = why;
  });
  Object.assign(session, { open: true, why: '', person, version });
}

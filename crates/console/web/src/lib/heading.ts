/**
 * Moves the focus to the heading of the page, once it is there: a page that is loaded late has none at first.
 *
 * Returns what ends the wait.
 */
export function focusHeading(): () => void {
  const main = document.getElementById('main');
  const watch = new MutationObserver(() => focus() && watch.disconnect());
  const focus = (): boolean => {
    const heading = main?.querySelector<HTMLElement>('h1');
    heading?.focus();
    return heading !== null && heading !== undefined;
  };
  if (main && !focus()) watch.observe(main, { childList: true, subtree: true });
  return () => watch.disconnect();
}

/** Does something again and again while a person looks at the page; returns what ends that. */
export function poll(everyMs: number, work: (signal: AbortSignal) => Promise<void>): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  const looked = (): Promise<void> =>
    new Promise((resolve) => {
      if (document.visibilityState === 'visible' || signal.aborted) return resolve();
      const look = (): void => {
        if (document.visibilityState !== 'visible' && !signal.aborted) return;
        document.removeEventListener('visibilitychange', look);
        resolve();
      };
      document.addEventListener('visibilitychange', look);
      signal.addEventListener('abort', look);
    });
  void (async () => {
    while (!signal.aborted) {
      await work(signal);
      await next();
      await looked();
    }
  })();
  return () => ending.abort();
}

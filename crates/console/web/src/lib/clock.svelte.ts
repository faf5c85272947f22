/** The present time, for "12 s ago". */
export const clock = $state({ now: Date.now() });

setInterval(() => {
  clock.now = Date.now();
}, 5_000);

const WHOLE = 0.95;

/**
 * Tells whether a card was in view as a person needs it: all of it, or, of a card higher than the window, its buttons.
 *
 * Returns a function that ends the watch.
 */
export function watchSight(card: Element, buttons: Element, told: (inView: boolean) => void): () => void {
  const ratio = new Map<Element, number>();
  const tell = (): void => {
    const taller = card.getBoundingClientRect().height > window.innerHeight * WHOLE;
    const seen = (ratio.get(taller ? buttons : card) ?? 0) >= WHOLE;
    told(seen && document.visibilityState === 'visible');
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio } of entries) ratio.set(target, intersectionRatio);
      tell();
    },
    { threshold: [0, 0.25, 0.5, 0.75, WHOLE, 1] },
  );
  observer.observe(card);
  observer.observe(buttons);
  document.addEventListener('visibilitychange', tell);
  return () => {
    observer.disconnect();
    document.removeEventListener('visibilitychange', tell);
  };
}

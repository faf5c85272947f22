import type { Usage } from './contract';

const PICO = 1e12;

/** Writes money: "$1.25", small amounts with more digits. */
export function money(pico: number): string {
  const dollars = pico / PICO;
  return `$${dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4)}`;
}

export const tokens = ({ input, output }: Usage): number => input + output;

/** Writes what calls cost, in words; a price that is not known is said to be so. */
export const cost = (usage: Usage): string => (usage.pico_usd === null ? 'price not known' : money(usage.pico_usd));

export const number = (value: number): string => value.toLocaleString('en');

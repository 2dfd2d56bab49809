/** One line of a check: the checked item, the result, and the duration. */
export interface Step {
  readonly stage: "decode" | "derive" | "execute" | "hash";
  readonly title: string;
  readonly state: "good" | "bad" | "open";
  /** facts, one a line */
  readonly facts: readonly string[];
  readonly ms?: number | undefined;
}

export type OnStep = (step: Step) => void;

/** Measures in milliseconds; a browser's and Node.js's clock do. */
export type Now = () => number;

export function timed<T>(now: Now, work: () => T): { readonly value: T; readonly ms: number } {
  const start = now();
  const value = work();
  return { value, ms: now() - start };
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

const SHOWN = 12;

export const shortened = (facts: readonly string[]): string[] =>
  facts.length <= SHOWN ? [...facts] : [...facts.slice(0, SHOWN), `and ${facts.length - SHOWN} more`];

type Look<T> = () => T | Promise<T>;
type Found<T> = NonNullable<Exclude<T, false>>;

const MAX_PAUSE_MS = 100;

/**
 * Polls until `look` answers with something else than `undefined`, `null` or `false`. An error of it means: not yet,
 * except one of an assertion, which is thrown at once.
 *
 * @param what is waited for; default: the text of `look`
 * @returns that answer
 * @throws Error with `what`, and the newest error of `look` as its cause
 */
export function until<T>(what: string, look: Look<T>, limitMs?: number): Promise<Found<T>>;
export function until<T>(look: Look<T>, limitMs?: number): Promise<Found<T>>;
export function until<T>(first: string | Look<T>, second?: Look<T> | number, third?: number): Promise<Found<T>> {
  return typeof first === "string" ? poll(first, second as Look<T>, third) : poll(String(first), first, second as number);
}

async function poll<T>(what: string, look: Look<T>, limitMs = 90_000): Promise<Found<T>> {
  const endMs = performance.now() + limitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(MAX_PAUSE_MS, 1.5 * pauseMs)) {
    let cause: unknown;
    try {
      const found = await look();
      if (found !== undefined && found !== null && found !== false) return found as Found<T>;
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
      cause = error;
    }
    if (performance.now() > endMs) throw new Error(`waited ${limitMs / 1000} s for ${what}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

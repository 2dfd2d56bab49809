import type { Clock } from "@rnode/primitives";

/** PERF: without an explicit reason, each abort creates an error with a stack. */
const NOBODY_WAITS = new DOMException("nobody waits for it any more", "AbortError");

/** How waiting for an action that may fail or never end turned out. */
export type Within<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  /** the time is over; the action itself may still be running */
  | { readonly kind: "late" }
  /** `stop` was aborted */
  | { readonly kind: "stopped" };

/**
 * Waits for `action`, at most `limitMs`, and only until `stop` is aborted. The signal passed to `action` is aborted when the wait
 * ends.
 */
export async function within<T>(
  { clock, limitMs, stop }: { readonly clock: Clock; readonly limitMs: number; readonly stop?: AbortSignal },
  action: (signal: AbortSignal) => Promise<T>,
): Promise<Within<T>> {
  if (stop?.aborted) return { kind: "stopped" };
  const over = new AbortController();
  const done = Promise.resolve()
    .then(() => action(over.signal))
    .then(
      (value): Within<T> => ({ kind: "done", value }),
      (error: unknown): Within<T> => ({ kind: "failed", error }),
    );
  const late = clock.sleep(limitMs, over.signal).then((): Within<T> => ({ kind: "late" }));
  let onStop = (): void => {};
  const stopped = new Promise<Within<T>>((resolve) => {
    onStop = () => resolve({ kind: "stopped" });
  });
  stop?.addEventListener("abort", onStop);
  try {
    return await Promise.race([done, late, stopped]);
  } finally {
    stop?.removeEventListener("abort", onStop);
    over.abort(NOBODY_WAITS);
  }
}

/** Why there is no value, for a log line. */
export function failureText(answer: Exclude<Within<unknown>, { kind: "done" }>, limitMs: number): string {
  if (answer.kind !== "failed") return `no answer within ${limitMs / 1_000} s`;
  return answer.error instanceof Error ? answer.error.message : String(answer.error);
}

import type { Clock } from "@rnode/primitives";

/**
 * Runs `task` with a signal that is aborted after `ms`, or when `signal` is. The task must observe it.
 *
 * @returns the task's result
 */
export async function within<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const done = new AbortController();
  const onAbort = (): void => over.abort();
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  void clock.sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) over.abort();
  });
  try {
    return await task(over.signal);
  } finally {
    done.abort();
    signal.removeEventListener("abort", onAbort);
  }
}

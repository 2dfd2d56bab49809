import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** As often as upstream's execution clients. */
const INTERVAL_MS = 1_000;

/**
 * Asks the interop filters again and again whether one is in failsafe. Without an answer, the last one holds.
 * Spec: docs/protocol/05-services.md#interop-filters
 *
 * @param ask `undefined`: not known now
 * @returns ends it
 */
export function watchFailsafe(
  ask: (signal: AbortSignal) => Promise<boolean | undefined>,
  onChange: (isInFailsafe: boolean) => void,
  { clock, log }: { readonly clock: Pick<Clock, "sleep">; readonly log: Pick<Logger, "info"> },
): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const run = async (): Promise<void> => {
    let isInFailsafe = false;
    let isSilent = false;
    while (!signal.aborted) {
      const answer = await ask(signal);
      if (signal.aborted) return;
      if (answer !== undefined && answer !== isInFailsafe) {
        isInFailsafe = answer;
        onChange(isInFailsafe);
        if (!isInFailsafe) log.info("no interop filter is in failsafe any more: messages of other chains are admitted");
      }
      if (answer === undefined && !isSilent) log.info("an interop filter does not say if it is in failsafe: the next check tells");
      isSilent = answer === undefined;
      await clock.sleep(INTERVAL_MS, signal);
    }
  };
  const done = run();
  return () => {
    stop.abort();
    return done;
  };
}

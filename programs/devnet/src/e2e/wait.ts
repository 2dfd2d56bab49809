import { until } from "@rnode/program/testing";

/** How much slower than expected a machine may be that does much else: a limit ends what hangs, and is no measurement. */
const SLOWNESS = 4;

/**
 * Polls until there is an answer.
 * @param timeoutMs on an idle machine
 * @throws an error that names what was awaited, with the last error of a poll
 */
export const waitFor = <T>(what: string, timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined) =>
  until(what, ask, SLOWNESS * timeoutMs);

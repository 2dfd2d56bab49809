import { until } from "@rnode/program/testing";

/**
 * Polls until there is an answer.
 * @throws an error that names what was awaited, with the last error of a poll
 */
export const waitFor = <T>(what: string, timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined) =>
  until(what, ask, timeoutMs);

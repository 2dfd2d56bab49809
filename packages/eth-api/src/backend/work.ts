/**
 * The permission of a request to go on working. Whatever takes longer than a millisecond or so asks for it again and again, at least every
 * few milliseconds.
 */
export interface Work {
  /**
   * @param stepGas gas of what comes next, if that is long and cannot be interrupted
   * @throws what ends the request here: its time is over, nobody waits for it any more, or it has to go on elsewhere
   */
  check(stepGas?: bigint): void;
}

/** For work that nothing ends. */
export const UNLIMITED_WORK: Work = { check() {} };

/**
 * The same permission, for a limited time.
 *
 * @param timeoutMs 0: no limit
 * @param tooLong what ends the request then
 */
export function limitedWork(work: Work, timeoutMs: number, tooLong: () => Error, nowMs = () => performance.now()): Work {
  if (timeoutMs === 0) return work;
  const endMs = nowMs() + timeoutMs;
  return {
    check(stepGas) {
      work.check(stepGas);
      if (nowMs() > endMs) throw tooLong();
    },
  };
}

import { type SimClock, within } from "@rnode/program/testing";
import type { Random } from "../random.ts";

/** Faults of the link between two programs, which scenarios switch on and off. */
export interface GreyState {
  /** neither requests nor answers arrive */
  isCut: boolean;
  /** requests arrive, answers do not */
  losesAnswers: boolean;
  /** how long each way takes */
  delayMs: number;
}

export const soundLink = (): GreyState => ({ isCut: false, losesAnswers: false, delayMs: 0 });

const NEVER = new Promise<never>(() => {});

/** A request, which happens although its sender may have stopped waiting. @throws `late()` if there is no answer in time */
export function ask<T>(
  { clock, random, state, timeoutMs }: { clock: SimClock; random: Random; state: GreyState; timeoutMs: number },
  act: () => T | Promise<T>,
  late: () => Error,
): Promise<T> {
  const answered = (async (): Promise<T> => {
    await clock.sleep(random.between(1, 5) + state.delayMs);
    if (state.isCut) return NEVER;
    const result = await act();
    await clock.sleep(random.between(1, 5) + state.delayMs);
    return state.isCut || state.losesAnswers ? NEVER : result;
  })();
  return within(clock, timeoutMs, answered, late);
}

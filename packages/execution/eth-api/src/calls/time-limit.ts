import type { EvmEngine } from "@rnode/evm";
import { rpcErrorOf } from "@rnode/jsonrpc";
import { limitedWork, type Work } from "../backend/work.ts";
import type { Profile } from "../profile/profile.ts";

/** The time limit of a call. @param timeoutMs 0: no limit */
export const limitedCall = (work: Work, timeoutMs: number, profile: Profile): Work =>
  limitedWork(work, timeoutMs, () => rpcErrorOf(profile.errors.call({ kind: "timeout", timeoutMs })));

/**
 * Runs something that executes on the engine, for as long as `work` permits, and counts the gas for it.
 *
 * @throws what `work` throws; the execution was cut off
 */
export function interruptible<T>(engine: EvmEngine, work: Work, run: () => T): T {
  const count = gasCounter(engine, work);
  engine.setInterrupt((stepGas) => {
    count();
    work.check(stepGas);
  });
  try {
    return run();
  } finally {
    engine.setInterrupt(undefined);
    count();
  }
}

/** @returns a function that adds to `work` the gas burned by the engine since its last call, or since now */
export function gasCounter(engine: EvmEngine, work: Work): () => void {
  let counted = engine.gasBurned;
  return () => {
    const { gasBurned } = engine;
    work.burn(gasBurned - counted);
    counted = gasBurned;
  };
}

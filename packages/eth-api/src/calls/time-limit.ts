import type { EvmEngine } from "@rnode/evm";
import { rpcError } from "../backend/backend.ts";
import type { Profile } from "../profile/profile.ts";

/**
 * Runs something that executes on the engine, with a time limit.
 *
 * @param timeoutMs 0: no limit
 * @throws {RpcError} the time ran out and the execution was cut off
 */
export function withTimeLimit<T>(engine: EvmEngine, timeoutMs: number, profile: Profile, run: () => T): T {
  if (timeoutMs === 0) return run();
  const endMs = performance.now() + timeoutMs;
  engine.setInterrupt(() => {
    if (performance.now() > endMs) throw rpcError(profile.errors.call({ kind: "timeout", timeoutMs }));
  });
  try {
    return run();
  } finally {
    engine.setInterrupt(undefined);
  }
}

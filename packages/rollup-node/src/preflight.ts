import type { EngineClient, L2Blocks } from "@rnode/engine-client";
import type { L1Client } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { type Hex, isCodedError } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { StartError } from "./start-error.ts";

export interface PreflightDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Client, "chainIds" | "blockByNumber">;
  readonly l2: Pick<L2Blocks, "chainId" | "hashByNumber">;
  readonly engine: Pick<EngineClient, "capabilities">;
  readonly clock: Clock;
  readonly log: Logger;
  /** how error messages refer to the endpoints and files */
  readonly l1Name: string;
  readonly l2Name: string;
  readonly jwtPath: string;
  /** aborts the waiting */
  readonly signal: AbortSignal;
}

const ATTEMPTS = 10;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/**
 * Checks that L1 and the engine belong to this rollup. Waits for endpoints that are not up yet, and logs that it does.
 * Spec: docs/protocol/05-services.md#l1-execution-client-access
 *
 * @throws {StartError} start/wrong-chain, start/unauthorized, start/unreachable
 */
export async function preflight(deps: PreflightDeps): Promise<void> {
  const { config, l1, l2, engine, l1Name, l2Name } = deps;
  const asL1 = <T>(ask: () => Promise<T>): Promise<T> => whenUp(deps, `L1 at ${l1Name} (--l1)`, ask);
  const asL2 = <T>(ask: () => Promise<T>): Promise<T> => whenUp(deps, `the execution client at ${l2Name} (--l2)`, ask);

  for (const { endpoint, chainId } of await asL1(() => l1.chainIds())) {
    if (chainId === undefined) deps.log.warn("an L1 endpoint does not answer, going on without it", { endpoint });
    if (chainId === undefined || chainId === config.l1ChainId) continue;
    const hint = chainId === config.l2ChainId ? " (that is the L2's: is --l1 the L2 endpoint?)" : "";
    throw new StartError(
      "start/wrong-chain",
      `--l1 ${endpoint} is chain ${chainId}${hint}, but the rollup's L1 is chain ${config.l1ChainId}`,
    );
  }
  const { l1: l1Genesis, l2: l2Genesis } = config.genesis;
  const l1Block = await asL1(() => l1.blockByNumber(l1Genesis.number));
  assertGenesis(`--l1 ${l1Name}`, l1Genesis.number, l1Genesis.hash, l1Block?.hash);

  const l2ChainId = await asL2(() => l2.chainId());
  if (l2ChainId !== config.l2ChainId) {
    const hint = l2ChainId === config.l1ChainId ? " (that is the L1's: is --l2 the L1 endpoint?)" : "";
    throw new StartError(
      "start/wrong-chain",
      `--l2 ${l2Name} is chain ${l2ChainId}${hint}, but the rollup's L2 is chain ${config.l2ChainId}`,
    );
  }
  const l2Block = await asL2(() => l2.hashByNumber(l2Genesis.number));
  assertGenesis(`--l2 ${l2Name}`, l2Genesis.number, l2Genesis.hash, l2Block);

  const capabilities = await asL2(() => engine.capabilities());
  if (capabilities.length > 0 && !capabilities.some((name) => name.startsWith("engine_forkchoiceUpdated"))) {
    throw new StartError(
      "start/wrong-chain",
      `--l2 ${l2Name} has no Engine API: give the execution client's authenticated endpoint`,
    );
  }
}

function assertGenesis(what: string, number: number, expected: Hex, got: Hex | undefined): void {
  if (got === undefined) {
    throw new StartError("start/wrong-chain", `${what} does not have block ${number}, which the rollup starts from (${expected})`);
  }
  if (got === expected) return;
  throw new StartError(
    "start/wrong-chain",
    `${what} is another chain: its block ${number} is ${got}, but the rollup starts from ${expected}`,
  );
}

async function whenUp<T>(deps: PreflightDeps, what: string, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (deps.signal.aborted) throw error;
      if (isCodedError(error, "engine/unauthorized")) {
        throw new StartError(
          "start/unauthorized",
          `${what} refuses our token (${String(error.data.reason)}): --l2.jwt-secret ${deps.jwtPath} must be the file that the execution client was started with, and both clocks must agree`,
          { cause: error },
        );
      }
      const isTemporary = isCodedError(error, "l1/unavailable") || isCodedError(error, "engine/unavailable");
      if (!isTemporary) {
        if (!isCodedError(error)) throw error;
        throw new StartError("start/unreachable", `${what}: ${error.message}`, { cause: error });
      }
      if (attempt === ATTEMPTS) {
        throw new StartError(
          "start/unreachable",
          `${what} cannot be reached, gave up after ${ATTEMPTS} attempts: ${error.message}`,
          { cause: error },
        );
      }
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS);
      deps.log.warn(`waiting for ${what}`, { attempt, of: ATTEMPTS, pauseMs, reason: error.message });
      await deps.clock.sleep(pauseMs, deps.signal);
      if (deps.signal.aborted) throw error;
    }
  }
}

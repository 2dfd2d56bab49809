import { SUPPOSED_GAS_PER_MS } from "@rnode/evm";
import { LIMIT_EXCEEDED, RpcError } from "@rnode/jsonrpc";

/** The limits of a request. Code that runs longer than about a millisecond calls `check` at least every few milliseconds. */
export interface Work {
  /**
   * @param stepGas gas of the next step, if the step is long and cannot be interrupted
   * @throws the reason why the request ends here: its time limit is exceeded, the client has disconnected, or it must continue in
   * another process
   */
  check(stepGas?: bigint): void;
  /** Counts gas that an engine has burned for the request, whatever becomes of the execution. */
  burn(gas: bigint): void;
}

/** @returns how long a step may take that cannot be interrupted */
export const stepMs = (stepGas = 0n): number => Number(stepGas) / SUPPOSED_GAS_PER_MS;

/** For work that nothing ends. */
export const UNLIMITED_WORK: Work = { check() {}, burn() {} };

/** The work of one request with a limit on the total gas of all calls, runs and blocks that it executes. */
export class RequestWork implements Work {
  readonly #checkClient: () => void;
  readonly #maxGas: bigint;
  #gas = 0n;

  /** @param checkClient throws when the client has disconnected. @param maxGas undefined: no limit */
  constructor(checkClient: () => void, maxGas: bigint | undefined) {
    this.#checkClient = checkClient;
    this.#maxGas = maxGas ?? 2n ** 64n;
  }

  /** burned so far */
  get gas(): bigint {
    return this.#gas;
  }

  burn(gas: bigint): void {
    this.#gas += gas;
  }

  /** @throws {RpcError} its budget of gas is used up. @throws what `checkClient` throws */
  check(): void {
    this.#checkClient();
    if (this.#gas <= this.#maxGas) return;
    throw new RpcError(
      LIMIT_EXCEEDED,
      `the request has burned ${this.#gas} gas, and ${this.#maxGas} is all that one may burn, everything it executes taken together (--rpc.max-gas-per-request): ask for less at a time`,
    );
  }
}

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
      if (nowMs() + stepMs(stepGas) > endMs) throw tooLong();
    },
    burn: (gas) => work.burn(gas),
  };
}

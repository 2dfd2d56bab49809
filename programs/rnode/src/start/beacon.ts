import { availableParallelism } from "node:os";
import type { BlobProvider } from "@rnode/derivation";
import { createKzg, KzgError } from "@rnode/kzg";
import { BeaconClient, type BeaconMetrics, type BlobReadAhead, L1Error } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import { Backoff, type Clock, isCodedError, retry } from "@rnode/primitives";
import { lastDerivationFacts, type RollupConfig } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import type { RnodeOptions } from "../options.ts";

export interface BeaconDeps {
  readonly config: RollupConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: BeaconMetrics;
}

/** Where the node gets blobs. */
export interface Beacon {
  readonly blobs: BlobProvider & Partial<BlobReadAhead>;
  /** Whether the main endpoint answers and belongs to the rollup's L1. @throws {StartError} */
  check(signal: AbortSignal): Promise<void>;
  /** Ends all requests in progress. */
  close(): Promise<void>;
}

const ATTEMPTS = 5;
const PAUSES = { firstMs: 500, maxMs: 10_000 };
/** A second thread that checks blobs starts only when the first has more to do, as in catching up since Fulu. */
const CORES_FOR_TWO_THREADS = 4;

const noBeacon = (reason: string): Beacon => ({
  blobs: { blobs: (block) => Promise.reject(new L1Error("l1/blobs-unavailable", { l1Block: block.number, reason })) },
  check: () => Promise.resolve(),
  close: () => Promise.resolve(),
});

/** For programs that read no blobs. */
export const NO_BEACON = noBeacon("this program reads no blobs");

/**
 * The beacon endpoints that the options name. Spec: docs/protocol/05-services.md#beacon-api
 *
 * @throws {StartError} start/bad-config: the chain may publish blobs, and there is no endpoint to read them from
 */
export function connectBeacon(l1: RnodeOptions["l1"], deps: BeaconDeps): Beacon {
  const { config, log } = deps;
  const { readsBlobs } = lastDerivationFacts(config.forkTimes);
  if (!readsBlobs) return noBeacon("this chain does not read blobs");
  if (l1.beacon !== undefined) return new BeaconConnection(l1, l1.beacon, deps);
  if (!l1.beaconIgnore) {
    throw new StartError(
      "start/bad-config",
      "expected L1 Beacon API endpoint, but got none: give a beacon node with --l1.beacon; --l1.beacon.ignore goes on without it, as chains that publish calldata can",
    );
  }
  log.warn("going on without a beacon node (--l1.beacon.ignore): a batch in blobs stops derivation");
  return noBeacon("there is no beacon endpoint: give one with --l1.beacon");
}

class BeaconConnection implements Beacon {
  readonly blobs: BeaconClient;
  readonly #kzg;
  readonly #ignoresFailure: boolean;
  readonly #deps: BeaconDeps;

  constructor(l1: RnodeOptions["l1"], main: string, deps: BeaconDeps) {
    this.#deps = deps;
    this.#ignoresFailure = l1.beaconIgnore;
    this.#kzg = openKzg();
    const { beaconHeader: header } = l1;
    this.blobs = new BeaconClient(
      {
        urls: [main, ...l1.beaconFallbacks],
        headers: header && { [header.name]: header.value },
        fetchesAll: l1.beaconFetchAllSidecars,
        slotSec: l1.beaconSlotSec,
      },
      { kzg: this.#kzg, clock: deps.clock, log: deps.log.child({ part: "beacon" }), metrics: deps.metrics },
    );
  }

  async check(signal: AbortSignal): Promise<void> {
    const { config, log } = this.#deps;
    const name = `--l1.beacon ${this.blobs.names[0]}`;
    try {
      const chainId = await this.#whenUp(signal, name, () => this.blobs.l1ChainId());
      if (chainId !== undefined && chainId !== config.l1ChainId) {
        throw new StartError(
          "start/wrong-chain",
          `${name} is a beacon node of chain ${chainId}, but the rollup's L1 is chain ${config.l1ChainId}: give a beacon node of that chain`,
        );
      }
      const version = await this.blobs.version();
      log.info("beacon node", { endpoint: this.blobs.names[0], version: version?.slice(0, 100) ?? "not said" });
    } catch (error) {
      if (!(error instanceof StartError) || !this.#ignoresFailure) throw error;
      log.warn("going on in spite of the beacon node (--l1.beacon.ignore)", { reason: error.message });
    }
  }

  async close(): Promise<void> {
    await this.blobs.close();
    await this.#kzg.close();
  }

  #whenUp<T>(signal: AbortSignal, name: string, ask: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#deps;
    const onFailure = (error: unknown, pauseMs: number, attempt: number): void => {
      if (!isCodedError(error, "l1/")) throw error;
      const reason = String(error.data.reason ?? error.message);
      if (attempt === ATTEMPTS) {
        throw new StartError(
          "start/unreachable",
          `${name} gives no usable answer, gave up after ${ATTEMPTS} attempts: ${reason}; --l1.beacon.ignore starts nevertheless`,
          { cause: error },
        );
      }
      log.warn(`waiting for ${name}`, { attempt, of: ATTEMPTS, pauseMs, reason });
    };
    return retry(ask, { backoff: new Backoff(PAUSES), clock, signal, onFailure });
  }
}

function openKzg(): ReturnType<typeof createKzg> {
  try {
    return createKzg({ threads: availableParallelism() >= CORES_FOR_TWO_THREADS ? 2 : 1 });
  } catch (cause) {
    if (!(cause instanceof KzgError)) throw cause;
    throw new StartError("start/bad-config", `--l1.beacon: blobs cannot be checked on this machine: ${String(cause.data.reason)}`, {
      cause,
    });
  }
}

import type { Chain } from "@rnode/chain";
import type { TransactionPool } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import type { CallService } from "../calls/call-service.ts";
import type { SimulateService } from "../calls/simulate-service.ts";
import type { FilterRegistry } from "../feeds/filters.ts";
import type { GasPriceOracle } from "../fees/gas-price.ts";
import type { SidecarSource } from "../json/blobs-bundle.ts";
import type { LogLimits } from "../logs/log-query.ts";
import type { TransactionConditional } from "../params/conditional.ts";
import type { TraceService } from "../tracing/trace-service.ts";

/** How transactions may be sent. */
export interface SendingOptions {
  readonly acceptsConditionals: boolean;
  readonly defaultSyncTimeoutMs: number;
  readonly maxSyncTimeoutMs: number;
}

/** What methods use of the pool. */
export interface PoolAccess extends Pick<SidecarSource, "sidecarOf"> {
  /**
   * @param knownSender when another process has checked the signature
   * @returns the hash of a transaction that the pool has taken
   * @throws {RpcError} in the profile's words
   */
  submit(raw: Uint8Array, conditional?: TransactionConditional, knownSender?: Uint8Array): Promise<Uint8Array>;
  /** Blocks built here leave out transactions that tip less. */
  setMinimumTip(tipWei: bigint): void;
  /** Nonce for the sender's next transaction; undefined when the pool holds none of its transactions. */
  nextNonceOf(sender: Uint8Array): Promise<bigint | undefined>;
  readonly pool: Pick<TransactionPool, "get" | "nextNonce" | "content" | "counts">;
}

/** What the methods of the public namespaces work with. */
export interface RpcServices {
  /** of the program */
  readonly version: string;
  readonly backend: ReadBackend;
  readonly chain: Pick<Chain, "setMaxDaSize" | "badBlocks" | "buildBlock">;
  readonly pool: PoolAccess;
  readonly calls: CallService;
  readonly simulations: SimulateService;
  readonly traces: TraceService;
  readonly gasPrice: GasPriceOracle;
  readonly filters: FilterRegistry;
  readonly logLimits: LogLimits;
  readonly sending: SendingOptions;
  /** lowest block whose trie nodes can be read; undefined: none */
  readonly oldestProvableBlock: () => number | undefined;
  /** blocks of history that pruning keeps; undefined: all */
  readonly historyBlocks?: number | undefined;
  /** number of the head when the program started, for `eth_syncing` */
  readonly startingBlock: number;
}

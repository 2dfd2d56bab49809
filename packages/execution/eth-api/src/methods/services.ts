import type { Chain } from "@rnode/chain";
import type { Block } from "@rnode/protocol";
import type { TransactionPool } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import type { CallService } from "../calls/call-service.ts";
import type { SimulateService } from "../calls/simulate-service.ts";
import type { FilterRegistry } from "../feeds/filters.ts";
import type { SyncFeed } from "../feeds/sync-feed.ts";
import type { GasPriceOracle } from "../fees/gas-price.ts";
import type { SidecarSource } from "../json/blobs-bundle.ts";
import type { LogLimits } from "../logs/log-query.ts";
import type { TransactionConditional } from "../params/conditional.ts";
import type { TraceService } from "../tracing/trace-service.ts";

/** How users may send transactions. */
interface SendingOptions {
  readonly acceptsConditionals: boolean;
  readonly defaultSyncTimeoutMs: number;
  readonly maxSyncTimeoutMs: number;
}

/** On which terms the pool may take a transaction. */
export interface SubmissionTerms {
  /** when it may be included */
  readonly conditional?: TransactionConditional | undefined;
  /** Refuse a transaction that would have to wait in the pool; if transactions go to a sequencer, the sequencer takes it all the same. */
  readonly mustBeReady?: boolean | undefined;
}

/** What any process may ask of the writer, the process that owns the chain and the pool. */
export interface WriterAccess {
  /** Submits a transaction to the pool. @returns its hash. @throws {RpcError} in the profile's words */
  submit(raw: Uint8Array, terms?: SubmissionTerms): Promise<Uint8Array>;
  /** The nonce for the sender's next transaction; undefined: the pool holds none of its transactions. */
  nextNonceOf(sender: Uint8Array): Promise<bigint | undefined>;
  /** One of the most recent blocks that were found invalid. */
  badBlock(hash: Uint8Array): Promise<Block | undefined>;
}

/** What methods work with, in every process that serves them. */
export interface ReadServices {
  /** version of the program */
  readonly version: string;
  readonly backend: ReadBackend;
  readonly writer: WriterAccess;
  readonly calls: CallService;
  readonly simulations: SimulateService;
  readonly traces: TraceService;
  readonly gasPrice: GasPriceOracle;
  readonly filters: FilterRegistry;
  readonly logLimits: LogLimits;
  /** the most blocks for one `trace_filter` */
  readonly maxTraceFilterBlocks: number;
  readonly sending: SendingOptions;
  /** the lowest block whose trie nodes can be read; undefined: none */
  readonly oldestProvableBlock: () => number | undefined;
  /** number of blocks whose history is kept; undefined: all */
  readonly historyBlocks?: number | undefined;
  /** number of the head when the program started, for `eth_syncing` */
  readonly startingBlock: number;
  readonly sync: Pick<SyncFeed, "state" | "onChange">;
}

/** This client on the network of execution clients. */
export interface NodeOnNetwork {
  /** keccak256 of the public key, 64 hex digits */
  readonly nodeId: string;
  /** 128 hex digits */
  readonly publicKey: string;
  readonly enode: string;
  /** undefined: discovery is off */
  readonly enr?: string | undefined;
  readonly ip: string;
  readonly tcpPort: number;
  /** 0: discovery is off */
  readonly udpPort: number;
}

/** A peer of this client. */
export interface NetworkPeer {
  readonly nodeId: string;
  readonly publicKey: string;
  readonly enode: string;
  readonly clientId: string;
  /** `eth/68` */
  readonly capabilities: readonly string[];
  readonly ethVersion: number;
  /** `1.2.3.4:30303` */
  readonly localAddress: string;
  readonly remoteAddress: string;
  readonly isInbound: boolean;
  readonly isTrusted: boolean;
  readonly isStatic: boolean;
  readonly head: { readonly number: number | undefined; readonly hash: Uint8Array };
  readonly earliestBlock: number | undefined;
}

/** The network of execution clients, as operators see it. */
export interface NetworkAccess {
  /** undefined: the node has not joined the network yet */
  readonly node: NodeOnNetwork | undefined;
  /** connected peers */
  readonly peerCount: number;
  peers(): Promise<readonly NetworkPeer[]>;
  /** @throws {CodedError} devp2p/*, as the other changes: the text is no node's address, or the network is being started again */
  addPeer(enode: string): Promise<void>;
  removePeer(enode: string): Promise<void>;
  addTrustedPeer(enode: string): Promise<void>;
  removeTrustedPeer(enode: string): Promise<void>;
}

/** What only the process that owns the chain and the pool has. */
export interface WriteServices {
  /** undefined: networking is off */
  readonly network?: NetworkAccess | undefined;
  /** of such a client: its identity all the same */
  readonly unjoinedNode?: (() => Promise<NodeOnNetwork>) | undefined;
  readonly chain: Pick<Chain, "setMaxDaSize" | "setGasLimit" | "badBlocks" | "buildBlock">;
  readonly pool: Pick<TransactionPool, "get" | "content" | "counts" | "clear">;
  readonly sidecars: SidecarSource;
  /** Sets the lowest tip for transactions in blocks built here. */
  readonly setMinimumTip: (tipWei: bigint) => void;
  readonly sdm: SdmState;
}

/** Sequencer-defined metering, as the operator sees it. */
export interface SdmState {
  /** the operator's consent to gas refunds in blocks built here */
  isOptedIn: boolean;
  nowSec(): number;
}

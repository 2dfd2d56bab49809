/** What programs and their page say to each other. Times are milliseconds since 1970, or seconds where the name says so. */

export type ProgramKind =
  | "rnode"
  | "rnode-set"
  | "rengine"
  | "rbatcher"
  | "rproposer"
  | "rconductor"
  | "rda-server"
  | "l1"
  | "devnet";

/** Event `program`: who speaks. */
export interface ProgramMessage {
  /** of the entries that follow */
  readonly id: string;
  /** for people: "sequencer rnode" */
  readonly name: string;
  readonly kind: ProgramKind;
  readonly version: string;
  readonly startedMs: number;
}

/** Event `feed`: entries by kind and key. Each replaces the earlier entry of the same kind and key. */
export interface FeedUpdate {
  readonly id: string;
  /** the program's time */
  readonly atMs: number;
  readonly entries: readonly (readonly [kind: string, key: number | string, value: unknown])[];
  readonly left: number;
}

/** Event `down`: the program does not answer. Event `expected`, without reasons: it is about to be asked. */
export interface DownMessage {
  readonly id: string;
  readonly name: string;
  readonly kind: ProgramKind;
  readonly reasons: readonly string[];
}

/** A block by its number and time. */
export interface HeadRef {
  readonly number: number;
  readonly timeSec: number;
}

/** State `health` of every program. */
export interface HealthState {
  readonly isReady: boolean;
  /** why not */
  readonly reasons: readonly string[];
}

/** State `process` of every program. */
export interface ProcessState {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly upSeconds: number;
  /** the longest that the event loop was late in the last second */
  readonly loopLagMs: number;
}

/** State `sync` of rnode. */
export interface SyncState {
  readonly l1Head?: HeadRef | undefined;
  readonly l1Finalized?: HeadRef | undefined;
  /** the L1 block up to which everything has been derived */
  readonly derivedTo?: HeadRef | undefined;
  readonly unsafe?: HeadRef | undefined;
  readonly safe?: HeadRef | undefined;
  readonly finalized?: HeadRef | undefined;
  readonly sequencer: "active" | "stopped" | "none";
  readonly queuedBlocks: number;
  readonly queuedBytes: number;
  readonly findingHeadsBecause?: string | undefined;
  /** until blocks without transactions are derived */
  readonly windowLeftL1Blocks?: number | undefined;
}

/** Entry `heads` of rnode by time: a sample now and then. */
export interface HeadsSample {
  readonly l1?: number | undefined;
  readonly unsafe: number;
  readonly safe: number;
  readonly finalized: number;
  /** behind the clock */
  readonly unsafeAgeSec: number;
  readonly safeAgeSec: number;
  readonly finalizedAgeSec: number;
}

/**
 * Entry `l1` of rnode by number: what derivation read in an L1 block, and the result. Lists hold only the first items; counts are
 * complete.
 */
export interface L1Row {
  readonly number: number;
  readonly timeSec: number;
  data: readonly { readonly transaction: string; readonly source: "calldata" | "blob"; readonly bytes: number }[];
  dataCount: number;
  dataBytes: number;
  frames: readonly { readonly channel: string; readonly number: number; readonly bytes: number; readonly isLast: boolean }[];
  frameCount: number;
  channels: readonly { readonly id: string; readonly event: string; readonly bytes: number }[];
  batches: readonly BatchItem[];
  batchCount: number;
  /** blocks that became safe while this L1 block was read */
  safe?: { readonly from: number; readonly to: number } | undefined;
  dropCount: number;
}

export interface BatchItem {
  readonly type: string;
  readonly verdict: string;
  readonly blocks: string;
  readonly transactions: number;
}

/** Entry `drop` of rnode by a running number: data of the batcher that derivation dropped. */
export interface DropItem {
  readonly atMs: number;
  readonly l1Block: number;
  readonly what: string;
  readonly reason: string;
  readonly lost: string;
  readonly transaction?: string | undefined;
}

/** State `peers` of rnode. */
export interface PeersState {
  readonly connected: number;
  readonly known: number;
  readonly peers: readonly PeerItem[];
  readonly bans: readonly { readonly banned: string; readonly secondsLeft: number; readonly reason: string }[];
}

export interface PeerItem {
  readonly id: string;
  readonly address: string;
  readonly direction: "in" | "out" | "";
  readonly agent: string;
  readonly latencyMs: number;
  readonly score: number;
}

/** State `chain` of rengine. */
export interface ChainState {
  readonly head?: HeadRef | undefined;
  readonly safe?: HeadRef | undefined;
  readonly finalized?: HeadRef | undefined;
  readonly readers?: number | undefined;
  /** the endpoint for blocks and witnesses; undefined: none */
  readonly witnessUrl?: string | undefined;
}

/** State `subblocks` of rengine: blocks in parts, before they are sealed. */
export interface SubblocksState {
  readonly publishes: boolean;
  /** streams that are followed */
  readonly sources: readonly { readonly url: string; readonly isUp: boolean }[];
  readonly readers: number;
  /** the block that is or was last under construction */
  readonly latest?: SubblockItem | undefined;
  /** transactions that were shown, and that their block did not have, or had elsewhere, since the start */
  readonly broken: number;
}

export interface SubblockItem {
  readonly number: number;
  readonly parts: number;
  readonly transactions: number;
  readonly isBuiltHere: boolean;
  /** since its latest part */
  readonly ageMs: number;
}

/** State `pool` of rengine. */
export interface PoolState {
  readonly pending: number;
  readonly queued: number;
  readonly bytes: number;
}

/** Entry `block` of rengine by number. */
export interface BlockItem {
  readonly hash: string;
  readonly timeSec: number;
  readonly gasUsed: number;
  readonly gasLimit: number;
  readonly baseFeeWei: number;
  readonly transactions: number;
  readonly deposits: number;
  /** estimated compressed size of the user transactions; undefined: not computed, for lack of time */
  readonly daBytes?: number | undefined;
}

/** Entry `reorg` of rengine by time. */
export interface ReorgItem {
  readonly removed: number;
  readonly added: number;
  readonly head: number;
}

/** State `status` of rbatcher, rproposer and rconductor: the fields of their status lines. */
export type StatusState = Readonly<Record<string, string | number | boolean>>;

/** Entry `l1tx` of rbatcher and rproposer by nonce. */
export interface L1TxItem {
  readonly atMs: number;
  readonly hash?: string | undefined;
  readonly stage: string;
  readonly form: "calldata" | "blobs";
  readonly bytes: number;
  readonly l1Block?: number | undefined;
  /** what L1 charged, in ether */
  readonly costEther?: number | undefined;
}

/** State `set` of `rnode set`: chains that execute messages of each other. */
export interface SetState {
  readonly chains: readonly SetChainItem[];
  /** what verification waits for */
  readonly waitsFor?: string | undefined;
  /** why its interop filter refuses all messages; empty: it does not */
  readonly failsafe: readonly string[];
  /** verified messages since the start, by their chains */
  readonly messages: readonly { readonly from: string; readonly to: string; readonly count: number }[];
  /** the newest verified messages, the oldest first */
  readonly recent: readonly SetMessageItem[];
  /** blocks with an invalid message, which their deposits-only forms replaced; only the last ones */
  readonly denied: readonly { readonly chain: string; readonly block: number; readonly reason: string }[];
}

export interface SetChainItem {
  readonly chain: string;
  readonly unsafe?: HeadRef | undefined;
  /** numbers of blocks */
  readonly crossUnsafe?: number | undefined;
  readonly localSafe?: HeadRef | undefined;
  readonly crossSafe?: number | undefined;
  readonly finalized?: HeadRef | undefined;
  /** verification waits for L1 to make its next block safe */
  readonly isWaitedFor: boolean;
}

export interface SetMessageItem {
  readonly from: string;
  readonly fromBlock: number;
  readonly to: string;
  readonly toBlock: number;
  /** of its execution */
  readonly timeSec: number;
}

import type { Hex } from "viem";
import type { DevnetInfo } from "./files.ts";
import { rpcCall } from "./rpc.ts";

export interface NodeHeads {
  readonly unsafe: number;
  readonly safe: number;
  readonly finalized: number;
}

export interface BatchSighting {
  readonly l1Block: number;
  readonly l1TimeSec: number;
  readonly sizeBytes: number;
}

/** undefined: the program did not answer. */
export interface DevnetStatus {
  readonly l1Head: number | undefined;
  readonly sequencer: NodeHeads | undefined;
  readonly verifier: NodeHeads | undefined;
  /** absent: there is no third node */
  readonly follower?: NodeHeads | undefined;
  readonly lastBatch: BatchSighting | undefined;
}

/** The fields of `rnode_syncStatus` that the devnet reads. */
export interface SyncStatus {
  readonly head_l1: { readonly number: number; readonly hash: Hex };
  readonly current_l1: { readonly number: number };
  readonly finalized_l1: { readonly number: number };
  readonly unsafe_l2: L2Ref;
  readonly safe_l2: L2Ref;
  readonly finalized_l2: L2Ref;
}

export interface L2Ref {
  readonly hash: Hex;
  readonly number: number;
  readonly timestamp: number;
  readonly l1origin: { readonly hash: Hex; readonly number: number };
}

interface RpcL1Block {
  readonly timestamp: Hex;
  readonly transactions: readonly { readonly to: Hex | null; readonly input: Hex; readonly blobVersionedHashes?: readonly Hex[] }[];
}

const BLOB_BYTES = 131_072;
const STATUS_TIMEOUT_MS = 2_000;
/** How far to look back for the last batch the first time. */
const FIRST_LOOK_BLOCKS = 20;
const MAX_BLOCKS_PER_LOOK = 50;

/** Asks all programs for their state, and watches the L1 for batches. */
export class StatusReader {
  readonly #info: DevnetInfo;
  #scannedTo: number | undefined;
  #lastBatch: BatchSighting | undefined;

  constructor(info: DevnetInfo) {
    this.#info = info;
  }

  async read(): Promise<DevnetStatus> {
    const { endpoints } = this.#info;
    const [l1Head, sequencer, verifier, follower] = await Promise.all([
      orUndefined(this.#readL1(endpoints.l1)),
      orUndefined(readHeads(endpoints.sequencer.node)),
      orUndefined(readHeads(endpoints.verifier.node)),
      endpoints.follower && orUndefined(readHeads(endpoints.follower.node)),
    ]);
    return { l1Head, sequencer, verifier, ...(endpoints.follower && { follower }), lastBatch: this.#lastBatch };
  }

  async #readL1(url: string): Promise<number> {
    const head = Number(await rpcCall<Hex>(url, "eth_blockNumber", [], STATUS_TIMEOUT_MS));
    // if L1 went back, the blocks are scanned again
    const from = Math.min(this.#scannedTo ?? head - FIRST_LOOK_BLOCKS, head);
    const inbox = this.#info.parameters.batchInbox.toLowerCase();
    for (let number = Math.max(1, from + 1, head - MAX_BLOCKS_PER_LOOK); number <= head; number++) {
      const block = await rpcCall<RpcL1Block | null>(
        url,
        "eth_getBlockByNumber",
        [`0x${number.toString(16)}`, true],
        STATUS_TIMEOUT_MS,
      );
      const batches = block?.transactions.filter(({ to }) => to?.toLowerCase() === inbox) ?? [];
      if (!block || batches.length === 0) continue;
      const sizeBytes = batches.reduce(
        (sum, { input, blobVersionedHashes = [] }) => sum + (input.length - 2) / 2 + blobVersionedHashes.length * BLOB_BYTES,
        0,
      );
      this.#lastBatch = { l1Block: number, l1TimeSec: Number(block.timestamp), sizeBytes };
    }
    this.#scannedTo = head;
    return head;
  }
}

async function readHeads(url: string): Promise<NodeHeads> {
  const status = await rpcCall<SyncStatus>(url, "rnode_syncStatus", [], STATUS_TIMEOUT_MS);
  return { unsafe: status.unsafe_l2.number, safe: status.safe_l2.number, finalized: status.finalized_l2.number };
}

async function orUndefined<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}

export function formatStatus(status: DevnetStatus, nowSec: number): string {
  const { l1Head, sequencer, verifier, follower, lastBatch } = status;
  const heads = (node: NodeHeads | undefined): string =>
    node ? `unsafe ${node.unsafe} safe ${node.safe} finalized ${node.finalized}` : "no answer";
  const batch = lastBatch
    ? `L1 ${lastBatch.l1Block}, ${lastBatch.sizeBytes} bytes, ${Math.max(0, Math.round(nowSec - lastBatch.l1TimeSec))} s ago`
    : "none yet";
  const third = "follower" in status ? ` | follower ${heads(follower)}` : "";
  return `L1 ${l1Head ?? "no answer"} | sequencer ${heads(sequencer)} | verifier ${heads(verifier)}${third} | last batch ${batch}`;
}

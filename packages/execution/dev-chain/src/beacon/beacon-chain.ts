import type { Chain } from "@rnode/chain";
import { bytesToHex, type Hex, hexToBytes, LruCache, ZERO_HASH } from "@rnode/primitives";
import { type Block, type BlockRules, blockRules, EVM_FORKS, type ForkRules, forkRules, type Header } from "@rnode/protocol";
import { type BeaconBody, type BeaconFork, type BeaconHeader, beaconBody, bodyRootOf, headerRootOf } from "./beacon-block.ts";
import type { BlobStore } from "./blob-store.ts";

export interface BeaconChainOptions {
  readonly genesisSec: number;
  readonly slotSec: number;
  readonly slotsPerEpoch: number;
}

export type BeaconChainSource = Pick<Chain, "config" | "genesis" | "head" | "headerOf" | "bodyOf">;

/** The beacon block of an execution block. */
export interface BeaconBlock {
  readonly fork: BeaconFork;
  readonly header: BeaconHeader;
  readonly root: Uint8Array;
  readonly body: BeaconBody;
  readonly executionNumber: number;
  /** of all blobs, in the order of the block */
  readonly versionedHashes: readonly Uint8Array[];
}

/** Number of beacon block roots that are kept for look-ups by root. */
const MAX_ROOTS = 65_536;
const MAX_BLOCKS = 256;

/**
 * A beacon chain for a chain that makes its own blocks: each execution block has a beacon block, in the slot of its time; slots without one
 * were missed. Nothing is kept of it: a beacon block follows from its execution block and the commitments of its blobs.
 */
export class BeaconChain {
  readonly options: BeaconChainOptions;
  readonly #chain: BeaconChainSource;
  readonly #blobs: BlobStore;
  /** by hash of the execution block */
  readonly #blocks = new LruCache<Hex, BeaconBlock>(MAX_BLOCKS);
  /** hash of the execution block, by root */
  readonly #byRoot = new LruCache<Hex, Hex>(MAX_ROOTS);

  constructor(options: BeaconChainOptions, chain: BeaconChainSource, blobs: BlobStore) {
    this.options = options;
    this.#chain = chain;
    this.#blobs = blobs;
  }

  slotOf(timestampSec: number): number {
    return Math.floor((timestampSec - this.options.genesisSec) / this.options.slotSec);
  }

  /** The root that the child of an execution block names as its parent's. */
  rootOf(executionHash: Uint8Array): Uint8Array {
    return this.#ofHash(executionHash)?.root ?? ZERO_HASH;
  }

  head(): BeaconBlock {
    return this.#ofHash(hexToBytes(this.#chain.head().hash))!;
  }

  labelled(tag: "safe" | "finalized"): BeaconBlock {
    const at = this.#chain.headerOf({ kind: "tag", tag });
    return this.#ofHash(at?.hash ?? this.#chain.genesis.hash)!;
  }

  genesis(): BeaconBlock {
    return this.#ofHash(this.#chain.genesis.hash)!;
  }

  /** undefined: the slot was missed, or is in the future */
  atSlot(slot: number): BeaconBlock | undefined {
    const number = this.#numberAtSlot(slot);
    return number === undefined ? undefined : this.ofNumber(number);
  }

  /** By the number of the execution block. */
  ofNumber(number: number): BeaconBlock | undefined {
    const at = this.#chain.headerOf({ kind: "number", number });
    return at && this.#ofHash(at.hash);
  }

  /** undefined: not a root of this chain, or the block is too old */
  byRoot(root: Uint8Array): BeaconBlock | undefined {
    const hash = this.#byRoot.get(bytesToHex(root));
    return hash === undefined ? undefined : this.#ofHash(hexToBytes(hash));
  }

  isCanonical({ executionNumber, root }: BeaconBlock): boolean {
    const at = this.#chain.headerOf({ kind: "number", number: executionNumber });
    return at !== undefined && bytesToHex(this.rootOf(at.hash)) === bytesToHex(root);
  }

  /** The epoch in which a fork becomes active; undefined: never. */
  epochOf(fork: BeaconFork): number | undefined {
    const first = EVM_FORKS.find((each) => forkOf(forkRules(each)) === fork);
    const time = first && this.#chain.config.evmForkTimes[first];
    if (time === undefined) return undefined;
    return Math.max(0, Math.ceil(this.slotOf(Math.max(time, this.options.genesisSec)) / this.options.slotsPerEpoch));
  }

  #ofHash(hash: Uint8Array): BeaconBlock | undefined {
    const key = bytesToHex(hash);
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const found = this.#chain.bodyOf({ kind: "hash", hash, requireCanonical: false });
    if (found === undefined) return undefined;
    const made = this.#make(found.block, found.hash);
    this.#blocks.set(key, made);
    this.#byRoot.set(bytesToHex(made.root), key);
    return made;
  }

  #make(block: Block, hash: Uint8Array): BeaconBlock {
    const { header } = block;
    const versionedHashes = versionedHashesOf(block);
    const commitments = versionedHashes.map((versionedHash) => this.#commitmentOf(versionedHash));
    const fork = forkOf(rulesOf(this.#chain, header)) ?? "deneb";
    const body = beaconBody(fork, block, hash, commitments, this.#blobs.requestsOf(hash));
    const beaconHeader: BeaconHeader = {
      slot: this.slotOf(header.timestamp),
      proposerIndex: 0,
      parentRoot: header.parentBeaconBlockRoot ?? ZERO_HASH,
      stateRoot: header.stateRoot, // there is no state of validators
      bodyRoot: bodyRootOf(body),
    };
    return { fork, header: beaconHeader, root: headerRootOf(beaconHeader), body, executionNumber: header.number, versionedHashes };
  }

  #commitmentOf(versionedHash: Uint8Array): Uint8Array {
    const commitment = this.#blobs.commitmentOf(versionedHash);
    if (commitment === undefined) throw new Error(`no commitment for blob ${bytesToHex(versionedHash)} of a block`);
    return commitment;
  }

  /** Times of blocks ascend, so that the block of a slot is found by bisection. */
  #numberAtSlot(slot: number): number | undefined {
    let low = this.#chain.genesis.block.header.number;
    let high = this.#chain.head().number;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const header = this.#chain.headerOf({ kind: "number", number: middle })?.header;
      if (header === undefined) return undefined;
      const found = this.slotOf(header.timestamp);
      if (found === slot) return middle;
      if (found < slot) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }
}

export const versionedHashesOf = ({ transactions }: Block): Uint8Array[] =>
  transactions.flatMap((transaction) => (transaction.type === 0x03 ? transaction.blobVersionedHashes : []));

const rulesOf = ({ config }: BeaconChainSource, { number, timestamp }: Header): BlockRules =>
  blockRules(config, { number, timestamp, isPostMerge: true });

/** undefined: a block from before blobs */
function forkOf({ provesBlobCells, hasExecutionRequests, acceptsBlobs }: ForkRules): BeaconFork | undefined {
  if (provesBlobCells) return "fulu";
  if (hasExecutionRequests) return "electra";
  return acceptsBlobs ? "deneb" : undefined;
}

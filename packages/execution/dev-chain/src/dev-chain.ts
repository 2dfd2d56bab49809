import type { Kzg } from "@rnode/kzg";
import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock, type Hex } from "@rnode/primitives";
import { blockRules, hashTransaction } from "@rnode/protocol";
import { BeaconApi } from "./beacon/beacon-api.ts";
import { BeaconChain, versionedHashesOf } from "./beacon/beacon-chain.ts";
import type { BlobStore } from "./beacon/blob-store.ts";
import { BlockMaker, type BlockMakerDeps, type DevChainAccess } from "./block-maker.ts";
import { ChainTime, type TimeSettings } from "./chain-time.ts";
import { DevError } from "./dev-error.ts";
import type { DevPool } from "./dev-pool.ts";
import { Mining } from "./mining.ts";
import type { StateEditor } from "./state-editor.ts";
import type { StateEdits } from "./state-edits.ts";

export interface DevChainOptions {
  readonly slotSec: number;
  readonly slotsPerEpoch: number;
  readonly gasLimit: bigint;
  readonly coinbase: Uint8Array;
  readonly blobRetentionSlots: number;
  /** such as `rengine/v0.1.0` */
  readonly version: string;
}

export interface DevChainDeps {
  readonly chain: DevChainAccess;
  readonly pool: DevPool;
  readonly editor: StateEditor;
  /** set by hand after the first block, again after a reset */
  readonly initialEdits?: StateEdits | undefined;
  readonly aroundBlock?: BlockMakerDeps["aroundBlock"];
  readonly blobs: BlobStore;
  readonly kzg: Kzg;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Snapshot {
  readonly number: number;
  readonly hash: Hex;
  readonly edits: StateEdits | undefined;
  readonly time: TimeSettings;
  /** of the clock, when the snapshot was made */
  readonly nowSec: number;
}

export interface ReorgRequest {
  /** blocks that leave the chain */
  readonly depth: number;
  /** blocks that replace them; the first have the slots of those that leave */
  readonly blocks: number;
  /** whether the transactions of the blocks that leave may be in those that come */
  readonly keepsTransactions: boolean;
  /** below the finalized block, too */
  readonly isForced: boolean;
}

/** Snapshots are small, but a test suite that never reverts makes many. */
const MAX_SNAPSHOTS = 10_000;

/** A chain that makes its own blocks, and everything that is done to it by hand. */
export class DevChain {
  readonly time: ChainTime;
  readonly maker: BlockMaker;
  readonly mining: Mining;
  readonly beacon: BeaconChain;
  readonly beaconApi: BeaconApi;
  readonly #deps: DevChainDeps;
  readonly #snapshots = new Map<number, Snapshot>();
  readonly #stop: () => void;
  #nextSnapshot = 1;

  constructor(options: DevChainOptions, deps: DevChainDeps) {
    const { chain, pool, blobs, kzg, clock, log, editor } = deps;
    this.#deps = deps;
    const genesisSec = chain.genesis.block.header.timestamp;
    const head = chain.headerOf({ kind: "tag", tag: "latest" })!.header;
    const nowSec = (): number => Math.floor(clock.unixMs() / 1000);
    this.time = new ChainTime({ genesisSec, slotSec: options.slotSec, nowSec }, head.timestamp);
    this.beacon = new BeaconChain({ genesisSec, slotSec: options.slotSec, slotsPerEpoch: options.slotsPerEpoch }, chain, blobs);
    this.beaconApi = new BeaconApi({ ...options, config: chain.config }, { beacon: this.beacon, blobs, kzg });
    this.maker = new BlockMaker({ ...options, safeLag: options.slotsPerEpoch }, { ...deps, time: this.time, beacon: this.beacon });
    this.mining = new Mining({ maker: this.maker, pool, time: this.time, clock, log });
    if (deps.initialEdits !== undefined) editor.replace(bytesToHex(chain.genesis.hash), deps.initialEdits);
    this.maker.fillLabels();
    if (deps.initialEdits !== undefined) chain.announceEdits(); // the pool checks funds
    this.#stop = chain.onHeadChange(({ removed }) => {
      for (const { hash } of removed) editor.forget(bytesToHex(hash));
    });
  }

  close(): void {
    this.#stop();
    this.mining.close();
  }

  /** Sets something of an account in the state after the latest block. */
  edit(address: Uint8Array, edit: Parameters<StateEditor["add"]>[2]): void {
    const { editor, chain } = this.#deps;
    editor.add(chain.head().hash as Hex, address, edit);
    chain.announceEdits();
  }

  /** State edits since the latest block. */
  get headEdits(): StateEdits | undefined {
    const { editor, chain } = this.#deps;
    return editor.after(chain.head().hash);
  }

  emptyPool(): void {
    this.#deps.pool.clear();
  }

  snapshot(): number {
    const { chain, editor } = this.#deps;
    const { number, hash } = chain.head();
    const id = this.#nextSnapshot++;
    this.#snapshots.set(id, { number, hash, edits: editor.after(hash), time: this.time.settings, nowSec: this.time.nowSec });
    for (const oldest of this.#snapshots.keys()) {
      if (this.#snapshots.size <= MAX_SNAPSHOTS) break;
      this.#snapshots.delete(oldest);
    }
    return id;
  }

  /** The block of each snapshot, by the snapshot's id. */
  snapshots(): Record<string, readonly [number: number, hash: Hex]> {
    return Object.fromEntries([...this.#snapshots].map(([id, { number, hash }]) => [`0x${id.toString(16)}`, [number, hash]]));
  }

  /** Goes back to a snapshot, and forgets it and all later ones. @returns false: there is no such snapshot of this chain any more */
  revert(id: number): boolean {
    const { chain, editor } = this.#deps;
    const snapshot = this.#snapshots.get(id);
    for (const each of this.#snapshots.keys()) if (each >= id) this.#snapshots.delete(each);
    const at = snapshot && chain.headerOf({ kind: "number", number: snapshot.number });
    if (snapshot === undefined || at === undefined || bytesToHex(at.hash) !== snapshot.hash) return false;
    this.time.restore(snapshot.time);
    this.time.set(snapshot.nowSec);
    if (snapshot.number === chain.head().number) {
      editor.replace(snapshot.hash, snapshot.edits);
      chain.announceEdits();
      return true;
    }
    editor.replace(snapshot.hash, snapshot.edits);
    this.#rewind(snapshot.number, false);
    return true;
  }

  /** Back to the genesis, as the chain began. */
  reset(): void {
    const { chain, editor, pool, initialEdits } = this.#deps;
    const { block, hash } = chain.genesis;
    const { number } = block.header;
    this.#snapshots.clear();
    this.maker.holdBaseFee(0n, 0);
    this.maker.holdBlobBaseFee(0n, 0);
    pool.clear();
    editor.replace(bytesToHex(hash), initialEdits);
    if (chain.head().number > number) this.#rewind(number, false);
    else chain.announceEdits();
    pool.clear();
    this.time.restore({ offsetSec: 0, nextSec: undefined, intervalSec: undefined });
  }

  /** Makes an ancestor the head. @throws {DevError} dev/no-such-block, dev/below-finalized */
  rollback(depth: number, isForced: boolean, keepsTransactions: boolean): void {
    const target = this.#below(depth, isForced);
    this.maker.branch++;
    this.#rewind(target, keepsTransactions);
    this.time.set(Math.max(this.time.nowSec, this.maker.head.header.timestamp));
  }

  /** Replaces the last blocks. @throws {DevError} dev/no-such-block, dev/below-finalized */
  reorg({ depth, blocks, keepsTransactions, isForced }: ReorgRequest): void {
    const { chain } = this.#deps;
    const target = this.#below(depth, isForced);
    const headNumber = chain.head().number;
    const times = Array.from(
      { length: Math.min(depth, blocks) },
      (_, index) => chain.headerOf({ kind: "number", number: target + 1 + index })!.header.timestamp,
    );
    this.maker.branch++;
    this.#rewind(target, keepsTransactions);
    for (let index = 0; index < blocks; index++) {
      const timestampSec = times[index];
      this.maker.make(timestampSec === undefined ? {} : { timestampSec });
    }
    this.#deps.log.info("blocks replaced on demand", { from: target + 1, removed: headNumber - target, added: blocks });
  }

  /** Does something during which transactions make no blocks. */
  async withoutMining<T>(action: () => Promise<T>): Promise<T> {
    const { mode } = this.mining;
    this.mining.setMode({ kind: "manual" });
    try {
      return await action();
    } finally {
      this.mining.setMode(mode);
    }
  }

  /** Hides the blobs of these blocks, or these blobs, from readers; `false`: shows them again. @returns the number of blobs */
  setBlobsLost(blockNumbers: readonly number[], versionedHashes: readonly Uint8Array[], isLost: boolean): number {
    const { chain, blobs } = this.#deps;
    const ofBlocks = blockNumbers.flatMap((number) => {
      const found = chain.bodyOf({ kind: "number", number });
      if (found === undefined) throw new DevError("dev/no-such-block", { number, latest: chain.head().number });
      return versionedHashesOf(found.block);
    });
    const all = [...ofBlocks, ...versionedHashes];
    blobs.setLost(all, isLost);
    return all.length;
  }

  /** The name of the fork that the next block is under. */
  get fork(): string {
    const { header } = this.maker.head;
    const position = { number: header.number + 1, timestamp: this.time.peek(header.timestamp), isPostMerge: true };
    const { op, evm } = blockRules(this.#deps.chain.config, position);
    return op ?? evm;
  }

  #below(depth: number, isForced: boolean): number {
    const { chain } = this.#deps;
    const latest = chain.head().number;
    const number = latest - depth;
    if (number < chain.genesis.block.header.number) throw new DevError("dev/no-such-block", { number, latest });
    const finalized = chain.headerOf({ kind: "tag", tag: "finalized" })?.header.number ?? 0;
    if (number < finalized && !isForced) throw new DevError("dev/below-finalized", { number, finalized });
    return number;
  }

  #rewind(number: number, keepsTransactions: boolean): void {
    const { chain, pool } = this.#deps;
    if (number === chain.head().number) return;
    const gone: Uint8Array[] = [];
    const stop = chain.onHeadChange(({ removed }) => {
      for (const { block } of removed) gone.push(...block.transactions.map((transaction) => hashTransaction(transaction)));
    });
    try {
      chain.rewind(number);
    } finally {
      stop();
    }
    this.maker.fillLabels();
    if (!keepsTransactions) for (const hash of gone) pool.remove(hash);
  }
}

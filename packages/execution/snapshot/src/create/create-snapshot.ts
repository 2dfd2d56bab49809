import { bytesToHex, EMPTY_KECCAK, equalBytes } from "@rnode/primitives";
import type { BlockId, ChainConfig, Header } from "@rnode/protocol";
import { type ChainDatabase, KeyTable, type StatePlace, type StateRow } from "@rnode/storage";
import { snapshotError } from "../errors.ts";
import { type BlockRecord, encodeBlockRecord, encodeBlockRecords } from "../format/block-records.ts";
import { ChecksumChain, encodeFrameHeader, type FrameKind, fileStart } from "../format/frames.ts";
import { encodeManifest, encodeTotals, type Manifest } from "../format/manifest.ts";
import { pack } from "../format/packing.ts";
import { RecordWriter } from "../format/state-records.ts";
import { l1OriginOf } from "../reach/l1-origin.ts";
import { rollupReach } from "../reach/rollup-reach.ts";
import { type StartReach, StartReachMeter } from "../reach/start-reach.ts";

/** The used part of a database, to which another process may be writing. */
export type SnapshotSource = Pick<
  ChainDatabase,
  | "head"
  | "label"
  | "readCanonicalHash"
  | "readHeader"
  | "readBlock"
  | "readReceipts"
  | "retainedHistory"
  | "stateAt"
  | "stateRows"
  | "refresh"
>;

export interface SnapshotRequest {
  readonly config: Pick<ChainConfig, "chainId" | "optimism">;
  readonly genesisHash: Uint8Array;
  /** whose state is taken; default: the finalized block, or else the head */
  readonly blockNumber?: number | undefined;
  /**
   * number of blocks, the last of which is that block; default: the number that execution and a rollup node need to start there
   */
  readonly blocks?: number | undefined;
  /** default: 4 MiB */
  readonly frameBytes?: number | undefined;
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
}

export interface SnapshotProgress {
  readonly blocks: number;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  /** of the address space */
  readonly doneRatio: number;
}

/** Execution needs the hashes of this number of blocks (BLOCKHASH). */
export const MIN_SNAPSHOT_BLOCKS = 256;
const FRAME_BYTES = 4 << 20;

export interface SnapshotMade {
  readonly block: BlockId;
  readonly stateRoot: Uint8Array;
  readonly blocks: number;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly reach: StartReach;
  readonly fileBytes: number;
  /** identifies the file */
  readonly checksum: Uint8Array;
}

/**
 * Creates a snapshot in pieces. Between two pieces, other processes write to the database: each piece is read in one synchronous
 * run, and from the history of the state if the head has moved. Memory does not grow with the state, except for 48 bytes for each
 * distinct code.
 *
 * @param write gets the file's bytes in order
 * @throws {CodedError} snapshot/no-such-state, storage/state-gone
 */
export async function createSnapshot(
  source: SnapshotSource,
  request: SnapshotRequest,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<SnapshotMade> {
  return await new SnapshotMaker(source, request, write).run();
}

class SnapshotMaker {
  readonly #source: SnapshotSource;
  readonly #request: SnapshotRequest;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #frameBytes: number;
  readonly #seenCodes = new KeyTable(32);
  readonly #totals = { blocks: 0, accounts: 0, slots: 0, codes: 0 };
  readonly #chain: ChecksumChain;
  #fileBytes = 0;
  /** the frame that is being compressed while the next one is read */
  #packing: { readonly kind: FrameKind; readonly contentBytes: number; readonly payload: Promise<Uint8Array> } | undefined;

  constructor(source: SnapshotSource, request: SnapshotRequest, write: (bytes: Uint8Array) => Promise<void>) {
    this.#source = source;
    this.#request = request;
    this.#write = write;
    this.#frameBytes = request.frameBytes ?? FRAME_BYTES;
    this.#chain = new ChecksumChain();
  }

  async run(): Promise<SnapshotMade> {
    const manifest = this.#manifest();
    const block = { number: manifest.header.number, hash: bytesToHex(manifest.hash) };
    await this.#put(fileStart());
    await this.#frame("manifest", encodeManifest(manifest));
    const reach = await this.#writeBlocks(manifest);
    await this.#writeState(block);
    await this.#frame("end", encodeTotals(this.#totals));
    await this.#finishFrame();
    return {
      ...this.#totals,
      block,
      reach,
      stateRoot: manifest.header.stateRoot,
      fileBytes: this.#fileBytes,
      checksum: this.#chain.last,
    };
  }

  #manifest(): Manifest {
    const { config, genesisHash, blocks } = this.#request;
    this.#source.refresh();
    const header = this.#header();
    const { number } = header;
    const retained = this.#source.retainedHistory()!;
    const genesis = this.#source.readBlock(genesisHash);
    if (genesis === undefined) throw snapshotError("snapshot/no-such-state", { number, reason: "the genesis block is missing" });
    if (number === genesis.header.number) {
      throw snapshotError("snapshot/no-such-state", { number, reason: "it is the genesis block, which rengine init writes" });
    }
    if (header.difficulty > 0n) {
      throw snapshotError("snapshot/no-such-state", {
        number,
        reason: "it is a block of proof of work, whose total difficulty nothing proves",
      });
    }
    if (number < retained.oldestState) {
      const reason = `its state is no longer there: that of block ${retained.oldestState} is the oldest one`;
      throw snapshotError("snapshot/no-such-state", { number, reason });
    }
    const wanted = blocks ?? Math.max(MIN_SNAPSHOT_BLOCKS, this.#rollupReach(number, genesis.header.number + 1));
    const first = Math.max(number - wanted + 1, genesis.header.number + 1);
    const oldestBlock = Math.max(first, retained.oldestReceipts);
    // A pruned node still has the bodies, but not the receipts.
    const needed = Math.max(number - MIN_SNAPSHOT_BLOCKS + 1, genesis.header.number + 1);
    if (oldestBlock > needed) {
      const reason = `receipts are there from block ${oldestBlock} on, but those from block ${needed} on are needed`;
      throw snapshotError("snapshot/no-such-state", { number, reason });
    }
    const hash = this.#source.readCanonicalHash(number)!;
    return { chainId: config.chainId, genesis: { block: genesis, hash: genesisHash }, header, hash, oldestBlock };
  }

  #rollupReach(number: number, first: number): number {
    const oldest = Math.max(first, this.#source.retainedHistory()!.oldestReceipts);
    return rollupReach(number, Math.min(oldest, number), (block) => {
      const hash = this.#source.readCanonicalHash(block);
      return l1OriginOf((hash && this.#source.readBlock(hash)?.transactions[0]) || undefined)?.number;
    });
  }

  #header(): Header {
    const head = this.#source.head();
    if (head === undefined) throw snapshotError("snapshot/no-such-state", { number: 0, reason: "the database is empty" });
    const number = this.#request.blockNumber ?? this.#source.label("finalized")?.number ?? head.number;
    const hash = number > head.number ? undefined : this.#source.readCanonicalHash(number);
    const header = hash && this.#source.readHeader(hash);
    if (header === undefined) throw snapshotError("snapshot/no-such-state", { number, reason: `the head is block ${head.number}` });
    return header;
  }

  async #writeBlocks({ genesis, header, hash, oldestBlock }: Manifest): Promise<StartReach> {
    const meter = new StartReachMeter(this.#request.config, oldestBlock === genesis.block.header.number + 1);
    let records: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (records.length === 0) return;
      await this.#frame("blocks", encodeBlockRecords(records));
      records = [];
      bytes = 0;
    };
    for (let number = oldestBlock; number <= header.number; number++) {
      const { block, receipts } = this.#readBlock(number, header.number, hash);
      meter.take(l1OriginOf(block.transactions[0]));
      const record = encodeBlockRecord({ block, receipts });
      if (bytes > 0 && bytes + record.length > this.#frameBytes) await flush();
      records.push(record);
      bytes += record.length;
      this.#totals.blocks++;
      this.#report(0);
    }
    await flush();
    return meter.reach;
  }

  #readBlock(number: number, last: number, lastHash: Uint8Array): BlockRecord {
    const own = this.#source.readCanonicalHash(number);
    const block = own && this.#source.readBlock(own);
    const receipts = own && this.#source.readReceipts(own);
    const canonical = this.#source.readCanonicalHash(last);
    const isStillChain = canonical !== undefined && equalBytes(canonical, lastHash);
    if (block === undefined || receipts === undefined || !isStillChain) {
      const reason = isStillChain ? `block ${number} or its receipts are missing` : "it left the chain while the snapshot was made";
      throw snapshotError("snapshot/no-such-state", { number: last, reason });
    }
    return { block, receipts };
  }

  async #writeState(block: BlockId): Promise<void> {
    const records = new RecordWriter();
    for (let after: StatePlace | undefined; ; ) {
      this.#source.refresh();
      const last = this.#readRecords(block, after, records);
      if (last === undefined) return;
      const owner = last.kind === "account" ? last.hash : last.owner;
      after = { account: owner, slot: last.kind === "slot" ? last.hash : undefined };
      await this.#frame("state", records.take());
      this.#report((owner[0]! * 256 + owner[1]!) / 0x1_0000);
    }
  }

  /**
   * Reads about a frame of rows in one synchronous run, without concurrent changes. @returns the last row; `undefined`: there are
   * no more
   */
  #readRecords(block: BlockId, after: StatePlace | undefined, records: RecordWriter): StateRow | undefined {
    let last: StateRow | undefined;
    for (const row of this.#source.stateRows(block, after)) {
      last = row;
      if (row.kind === "slot") {
        records.slot(row.hash, row.value);
        this.#totals.slots++;
      } else {
        this.#writeCode(block, row.account.codeHash, records);
        records.account(row.hash, row.account);
        this.#totals.accounts++;
      }
      if (records.size >= this.#frameBytes) break;
    }
    return last;
  }

  #writeCode({ number, hash }: BlockId, codeHash: Uint8Array, records: RecordWriter): void {
    if (equalBytes(codeHash, EMPTY_KECCAK)) return;
    const known = this.#seenCodes.count;
    if (this.#seenCodes.add(codeHash) < known) return;
    const state = this.#source.stateAt(number);
    if (state === undefined || state.block.hash !== hash) {
      throw snapshotError("snapshot/no-such-state", { number, reason: "it left the chain, or its state was pruned, meanwhile" });
    }
    records.code(state.readCode(codeHash));
    this.#totals.codes++;
  }

  async #frame(kind: FrameKind, content: Uint8Array): Promise<void> {
    const payload = pack(content);
    payload.catch(() => {}); // awaited when the frame before has been written
    await this.#finishFrame();
    this.#packing = { kind, contentBytes: content.length, payload };
  }

  async #finishFrame(): Promise<void> {
    if (this.#packing === undefined) return;
    const { kind, contentBytes, payload } = this.#packing;
    const bytes = await payload;
    await this.#put(encodeFrameHeader(kind, bytes, contentBytes, this.#chain));
    await this.#put(bytes);
    this.#packing = undefined;
  }

  async #put(bytes: Uint8Array): Promise<void> {
    await this.#write(bytes);
    this.#fileBytes += bytes.length;
  }

  #report(doneRatio: number): void {
    this.#request.onProgress?.({ ...this.#totals, doneRatio });
  }
}

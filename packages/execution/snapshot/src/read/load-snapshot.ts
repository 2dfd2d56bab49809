import { GenesisState } from "@rnode/chain";
import { bytesToHex, EMPTY_KECCAK, equalBytes, padBytesLeft } from "@rnode/primitives";
import { type ChainConfig, outputRoot, PREDEPLOYS } from "@rnode/protocol";
import { type GenesisRows, KeyTable } from "@rnode/storage";
import { assertRoom } from "../disk-reserve.ts";
import { falseContent, snapshotError } from "../errors.ts";
import { type BlockRecord, decodeBlockRecords } from "../format/block-records.ts";
import { type Manifest, parseManifest, parseTotals, type Totals } from "../format/manifest.ts";
import { RecordReader, type StateSink } from "../format/state-records.ts";
import type { StartReach } from "../reach/start-reach.ts";
import { BlockChecks } from "./check-blocks.ts";
import { type CheckedFrame, contentOf, SnapshotFile } from "./snapshot-file.ts";

/** The operator's expectation of the snapshot. All hashes are 32 bytes. */
export interface SnapshotExpectation {
  readonly config: ChainConfig;
  readonly genesisHash?: Uint8Array | undefined;
  readonly blockHash?: Uint8Array | undefined;
  /** as posted on L1; commits to block hash and state root */
  readonly outputRoot?: Uint8Array | undefined;
}

export interface LoadProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface LoadOptions {
  /** for temporary files of a large state */
  readonly folder?: string | undefined;
  /** kept free on the disk of `folder`; default: 1 GiB */
  readonly reserveBytes?: number | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** A snapshot of which everything was checked, down to the state root; `state` and `blocks` hand it over. */
export class LoadedSnapshot {
  readonly manifest: Manifest;
  readonly totals: Totals;
  /** identifies the file */
  readonly checksum: Uint8Array;
  readonly reach: StartReach;
  readonly #file: SnapshotFile;
  readonly #state: GenesisState;
  /** where frames of blocks begin */
  readonly #blockFrames: readonly number[];

  constructor(read: {
    readonly manifest: Manifest;
    readonly totals: Totals;
    readonly checksum: Uint8Array;
    readonly reach: StartReach;
    readonly file: SnapshotFile;
    readonly state: GenesisState;
    readonly blockFrames: readonly number[];
  }) {
    this.manifest = read.manifest;
    this.totals = read.totals;
    this.checksum = read.checksum;
    this.reach = read.reach;
    this.#file = read.file;
    this.#state = read.state;
    this.#blockFrames = read.blockFrames;
  }

  readonly state = (rows: GenesisRows): Iterable<unknown> => this.#state.rowsInto(rows);

  *blocks(): Generator<BlockRecord> {
    for (const offset of this.#blockFrames) yield* decodeBlockRecords(this.#file.contentAt(offset));
  }

  close(): void {
    this.#state.close();
    this.#file.close();
  }
}

/**
 * Reads a snapshot from its first byte to its last, and checks it: every byte by checksums, the blocks by their hashes, the state by computing its
 * root. Memory is bounded; what does not fit goes to temporary files.
 *
 * @throws {CodedError} snapshot/*, storage/disk-full, storage/io
 */
export async function loadSnapshot(
  path: string,
  expected: SnapshotExpectation,
  options: LoadOptions = {},
): Promise<LoadedSnapshot> {
  const file = SnapshotFile.open(path);
  const state = new GenesisState({ folder: options.folder });
  try {
    return await new Loading(file, state, expected, options).run();
  } catch (error) {
    state.close();
    file.close();
    throw error;
  }
}

/** @throws {CodedError} snapshot/other-chain, snapshot/other-block */
export function checkManifest({ chainId, genesis, hash }: Manifest, expected: SnapshotExpectation): void {
  if (chainId !== expected.config.chainId) {
    throw snapshotError("snapshot/other-chain", { what: "chain id", file: chainId, expected: expected.config.chainId });
  }
  const compare = (
    code: "snapshot/other-chain" | "snapshot/other-block",
    what: string,
    own: Uint8Array,
    wanted: Uint8Array | undefined,
  ) => {
    if (wanted === undefined || equalBytes(own, wanted)) return;
    throw snapshotError(code, { what, file: bytesToHex(own), expected: bytesToHex(wanted) });
  };
  compare("snapshot/other-chain", "genesis block", genesis.hash, expected.genesisHash);
  compare("snapshot/other-block", "block hash", hash, expected.blockHash);
}

class Loading {
  readonly #file: SnapshotFile;
  readonly #state: GenesisState;
  readonly #expected: SnapshotExpectation;
  readonly #options: LoadOptions;
  readonly #blockFrames: number[] = [];
  #manifest: Manifest | undefined;
  #blocks: BlockChecks | undefined;
  #records: RecordReader | undefined;

  constructor(file: SnapshotFile, state: GenesisState, expected: SnapshotExpectation, options: LoadOptions) {
    this.#file = file;
    this.#state = state;
    this.#expected = expected;
    this.#options = options;
  }

  async run(): Promise<LoadedSnapshot> {
    const frames = this.#file.frames();
    const { folder, reserveBytes } = this.#options;
    let end: { readonly totals: Totals; readonly reach: StartReach } | undefined;
    // PERF: one frame is decompressed in another thread while the one before is taken in.
    let step = frames.next();
    let content = step.done === true ? undefined : contentOf(step.value);
    while (step.done !== true && content !== undefined) {
      const frame = step.value;
      const bytes: Uint8Array = await content;
      step = frames.next();
      content = step.done === true ? undefined : contentOf(step.value);
      content?.catch(() => {}); // awaited in the next round
      if (frame.kind === "end") end = this.#takeEnd(bytes);
      else this.#take(frame, bytes);
      if (folder !== undefined) assertRoom(folder, reserveBytes);
      this.#options.onProgress?.({ doneBytes: frame.end, totalBytes: this.#file.sizeBytes });
    }
    const checksum = step.value as Uint8Array;
    const manifest = this.#manifest!;
    this.#checkState(manifest);
    return new LoadedSnapshot({
      manifest,
      ...end!,
      checksum,
      file: this.#file,
      state: this.#state,
      blockFrames: this.#blockFrames,
    });
  }

  #take({ kind, offset }: CheckedFrame, content: Uint8Array): void {
    if (kind === "manifest") {
      if (this.#manifest !== undefined) throw falseContent("it has two manifests");
      this.#manifest = parseManifest(content);
      checkManifest(this.#manifest, this.#expected);
      this.#blocks = new BlockChecks(this.#expected.config, this.#manifest);
      return;
    }
    if (this.#blocks === undefined) throw falseContent("its manifest does not come first");
    if (kind === "blocks") {
      if (this.#records !== undefined) throw falseContent("blocks come after the state");
      for (const record of decodeBlockRecords(content)) this.#blocks.check(record);
      this.#blockFrames.push(offset);
      return;
    }
    this.#records ??= new RecordReader(stateSink(this.#state));
    this.#records.read(content);
  }

  #takeEnd(content: Uint8Array): { readonly totals: Totals; readonly reach: StartReach } {
    if (this.#blocks === undefined || this.#records === undefined) throw falseContent("it lacks its manifest or its state");
    const reach = this.#blocks.finish();
    const totals = parseTotals(content);
    const { accounts, slots, codes } = this.#records;
    const found = { blocks: this.#blocks.count, accounts, slots, codes };
    for (const name of ["blocks", "accounts", "slots", "codes"] as const) {
      if (totals[name] !== found[name]) throw falseContent(`it should have ${totals[name]} ${name}, but has ${found[name]}`);
    }
    return { totals, reach };
  }

  #checkState({ header, hash }: Manifest): void {
    const { stateRoot, storageRoot } = this.#state.seal(PREDEPLOYS.l2ToL1MessagePasser);
    if (!equalBytes(stateRoot, header.stateRoot)) {
      throw falseContent(
        `its accounts and slots have the state root ${bytesToHex(stateRoot)}, that of block ${header.number} is ${bytesToHex(header.stateRoot)}`,
      );
    }
    const wanted = this.#expected.outputRoot;
    const output = outputRoot({ stateRoot, messagePasserStorageRoot: storageRoot, blockHash: hash });
    if (wanted !== undefined && !equalBytes(output, wanted)) {
      throw snapshotError("snapshot/other-block", { what: "output root", file: bytesToHex(output), expected: bytesToHex(wanted) });
    }
  }
}

function stateSink(state: GenesisState): StateSink {
  const codes = new KeyTable(32);
  return {
    code(code) {
      const known = codes.count;
      if (codes.add(state.addCode(code)) < known) throw falseContent("a code is there twice");
    },
    account(hash, account) {
      if (account.codeHash !== EMPTY_KECCAK && codes.find(account.codeHash) < 0) {
        throw falseContent(`the code of the account with the hash ${bytesToHex(hash)} is missing`);
      }
      state.addHashedAccount(hash, account);
    },
    slot: (owner, hash, value) => state.addHashedSlot(owner, hash, padBytesLeft(value, 32)),
  };
}

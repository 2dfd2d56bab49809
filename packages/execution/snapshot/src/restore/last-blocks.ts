import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type Block, type ChainConfig, type Header, hashHeader } from "@rnode/protocol";
import { RowFile } from "@rnode/storage";
import { falseContent } from "../errors.ts";
import { type BlockRecord, decodeBlockRecords, encodeBlockRecord, encodeBlockRecords } from "../format/block-records.ts";
import { l1OriginOf } from "../reach/l1-origin.ts";
import { channelTimeoutAt, type StartReach } from "../reach/start-reach.ts";
import { BlockChecks } from "../read/check-blocks.ts";

/** Gives a block by its hash, from anywhere: what it gives is checked. `undefined`: it does not have it. */
export type BlockSource = (hash: Uint8Array) => Promise<BlockRecord | undefined>;

export interface LastBlocksOptions {
  readonly config: ChainConfig;
  /** the first block of the chain */
  readonly genesis: { readonly block: Block; readonly hash: Uint8Array };
  /** of the block to go back from */
  readonly hash: Uint8Array;
  readonly source: BlockSource;
  /** false: the source has no receipts, and gives empty lists. Default: true */
  readonly hasReceipts?: boolean | undefined;
  /** for a temporary file */
  readonly folder: string;
  readonly onProgress?: ((blocks: number) => void) | undefined;
}

/** The last blocks up to one, as many as a rollup node reads when it starts from it, in a temporary file. */
export class LastBlocks {
  readonly header: Header;
  readonly hash: Uint8Array;
  readonly oldestBlock: number;
  readonly reach: StartReach;
  readonly hasReceipts: boolean;
  readonly #file: RowFile;
  readonly #places: readonly Place[];

  constructor(checked: Pick<LastBlocks, "header" | "hash" | "reach" | "hasReceipts">, file: RowFile, places: readonly Place[]) {
    this.header = checked.header;
    this.hash = checked.hash;
    this.reach = checked.reach;
    this.hasReceipts = checked.hasReceipts;
    this.oldestBlock = checked.header.number - places.length + 1;
    this.#file = file;
    this.#places = places;
  }

  *blocks(): Generator<BlockRecord> {
    for (const place of this.#places) yield recordAt(this.#file, place);
  }

  close(): void {
    this.#file.close();
  }
}

interface Place {
  readonly at: number;
  readonly size: number;
}

/**
 * Goes back from a block, each by the parent hash of the one after it, down to the first whose L1 origin is a channel timeout older, or the
 * genesis. Then everything about them is checked.
 *
 * @throws {CodedError} snapshot/false-content, storage/disk-full, storage/io; and whatever the source throws
 */
export async function collectLastBlocks(options: LastBlocksOptions): Promise<LastBlocks> {
  const { config, genesis, hash, folder, onProgress, hasReceipts = true } = options;
  const file = new RowFile(folder);
  try {
    const places: Place[] = [];
    const first = await blockOf(options.source, hash);
    const { header } = first.block;
    const newest = l1OriginOf(first.block.transactions[0]);
    for (let record = first; ; record = await blockOf(options.source, record.block.header.parentHash)) {
      const bytes = encodeBlockRecords([encodeBlockRecord(record)]);
      places.unshift({ at: file.sizeBytes, size: bytes.length });
      file.append(bytes);
      onProgress?.(places.length);
      const { parentHash, number } = record.block.header;
      if (equalBytes(parentHash, genesis.hash)) break;
      if (number <= genesis.block.header.number + 1) {
        throw falseContent(
          `block ${number} ${bytesToHex(parentHash)} is not the child of ${bytesToHex(genesis.hash)}, with which the chain begins`,
        );
      }
      const origin = l1OriginOf(record.block.transactions[0]);
      const isFarEnough =
        newest === undefined || origin === undefined || origin.number + channelTimeoutAt(config, origin) <= newest.number;
      if (isFarEnough) break;
    }
    file.flush();
    const oldestBlock = header.number - places.length + 1;
    const checks = new BlockChecks(config, { genesis, hash, oldestBlock }, hasReceipts);
    for (const place of places) checks.check(recordAt(file, place));
    return new LastBlocks({ header, hash, reach: checks.finish(), hasReceipts }, file, places);
  } catch (error) {
    file.close();
    throw error;
  }
}

async function blockOf(source: BlockSource, hash: Uint8Array): Promise<BlockRecord> {
  const record = await source(hash);
  if (record === undefined) throw falseContent(`there is no block ${bytesToHex(hash)}`);
  const got = hashHeader(record.block.header);
  if (!equalBytes(got, hash))
    throw falseContent(`block ${bytesToHex(hash)} was asked for, and the answer is block ${bytesToHex(got)}`);
  return record;
}

function recordAt(file: RowFile, { at, size }: Place): BlockRecord {
  const bytes = new Uint8Array(size);
  file.read(bytes, at);
  return decodeBlockRecords(bytes)[0]!;
}

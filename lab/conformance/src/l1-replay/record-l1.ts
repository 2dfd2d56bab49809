import { RpcError } from "@rnode/jsonrpc";
import type { BeaconClient, L1Rpc } from "@rnode/l1";
import { type Hex, hexToBytes, parseQuantity, toQuantity } from "@rnode/primitives";
import { checkBlock } from "./check-l1.ts";
import {
  blobHashesOf,
  entryOf,
  type JsonObject,
  L1Store,
  type RawRecording,
  type RecordedBeacon,
  type RecordedBlock,
} from "./l1-store.ts";
import { RecordingWriter } from "./recording.ts";

export interface RecordL1Options {
  readonly folder: string;
  /** numbers of the blocks */
  readonly blocks: readonly number[];
  /** only the blobs of transactions to this address; `undefined`: all */
  readonly inbox?: Hex | undefined;
  /** do not compute transactions roots */
  readonly trust?: boolean | undefined;
}

export interface RecordL1Deps {
  readonly rpc: Pick<L1Rpc, "call" | "batch">;
  /** `undefined`: no blobs are recorded */
  readonly beacon?: { readonly chain: RecordedBeacon; readonly client: Pick<BeaconClient, "blobs"> } | undefined;
  readonly onBlock?: ((number: number, done: number) => void) | undefined;
}

export interface Recorded {
  readonly blocks: number;
  readonly blobs: number;
}

/** Blocks under way at once. */
const CONCURRENCY = 8;

/**
 * Writes blocks of an L1, their receipts and blobs into a folder. Everything is checked before it is written; existing files are
 * not requested again.
 *
 * @throws {Error} with the missing block, or the error in the endpoint's answer
 */
export async function recordL1(options: RecordL1Options, deps: RecordL1Deps): Promise<Recorded> {
  const chainId = parseQuantity(String(await deps.rpc.call("eth_chainId", [])));
  const writer = new RecordingWriter(options.folder, chainId);
  const waiting = [...new Set(options.blocks)].toSorted((a, b) => a - b);
  const total = waiting.length;
  let blobs = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      const recorded = await recordBlock(number, chainId, writer, options, deps);
      const blobsOfBlock = await recordBlobs(recorded, writer, options, deps);
      blobs += blobsOfBlock; // other tasks have added theirs meanwhile
      deps.onBlock?.(number, ++done);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  writer.finish({ chainId, beacon: deps.beacon?.chain });
  return { blocks: total, blobs };
}

async function recordBlock(
  number: number,
  chainId: bigint,
  writer: RecordingWriter,
  { trust = false }: RecordL1Options,
  { rpc }: RecordL1Deps,
): Promise<RecordedBlock> {
  const known = writer.block(number);
  if (known !== undefined) return known;
  const block = (await rpc.call("eth_getBlockByNumber", [toQuantity(number), true])) as JsonObject | null;
  if (block === null) throw new Error(`the L1 endpoint does not have block ${number}`);
  const json: RecordedBlock = { block, receipts: await receiptsOf(block, rpc) };
  const recorded = (await faultOf(json, number, chainId, trust)) === undefined ? json : { ...json, raw: await rawOf(block, rpc) };
  const fault = await faultOf(recorded, number, chainId, trust);
  if (fault !== undefined) throw fault;
  writer.writeBlock(number, recorded);
  return recorded;
}

/** The error in a block. */
async function faultOf(recorded: RecordedBlock, number: number, chainId: bigint, trust: boolean): Promise<Error | undefined> {
  try {
    const store = L1Store.inMemory({ chainId, beacon: undefined }, [recorded]);
    const { first } = store;
    if (first.number !== number) throw new Error(`the L1 endpoint gave block ${first.number} when asked for ${number}`);
    await checkBlock(store, first, trust);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error;
  }
}

/** @returns `undefined` if the endpoint does not have them, or not those of a newer L1 */
async function rawOf({ hash }: JsonObject, rpc: RecordL1Deps["rpc"]): Promise<RawRecording | undefined> {
  try {
    const [block, receipts] = [await rpc.call("debug_getRawBlock", [hash]), await rpc.call("debug_getRawReceipts", [hash])];
    return typeof block === "string" && Array.isArray(receipts) ? { block: block as Hex, receipts: receipts as Hex[] } : undefined;
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

async function receiptsOf(block: JsonObject, rpc: RecordL1Deps["rpc"]): Promise<readonly JsonObject[]> {
  const transactions = block.transactions as readonly JsonObject[];
  if (transactions.length === 0) return [];
  const [all] = await rpc.batch([{ method: "eth_getBlockReceipts", params: [block.hash] }]);
  if (all!.kind === "result" && Array.isArray(all!.result)) return all!.result as readonly JsonObject[];
  // Some endpoints lack the method, or the data of old blocks.
  const each = await rpc.batch(transactions.map(({ hash }) => ({ method: "eth_getTransactionReceipt", params: [hash] })));
  return each.map((outcome, index) => {
    if (outcome.kind === "result" && outcome.result !== null) return outcome.result as JsonObject;
    throw new Error(`the L1 endpoint does not have the receipt of transaction ${String(transactions[index]!.hash)}`);
  });
}

async function recordBlobs(
  recorded: RecordedBlock,
  writer: RecordingWriter,
  { inbox }: RecordL1Options,
  { beacon }: RecordL1Deps,
): Promise<number> {
  if (beacon === undefined) return 0;
  const entry = entryOf(recorded);
  const wanted = new Set(
    (recorded.block.transactions as readonly JsonObject[])
      .filter(({ to }) => inbox === undefined || String(to).toLowerCase() === inbox.toLowerCase())
      .flatMap(blobHashesOf),
  );
  const ids = [...entry.blobHashes.entries()]
    .filter(([, hash]) => wanted.has(hash) && !writer.hasBlob(hash))
    .map(([index, hash]) => ({ index, versionedHash: hexToBytes(hash) }));
  if (ids.length === 0) return wanted.size;
  const { number, hash, parentHash, timestampSec: timestamp } = entry;
  const found = await beacon.client.blobs({ number, hash, parentHash, timestamp }, ids);
  if (found === undefined) throw new Error(`the beacon endpoint does not have all blobs of L1 block ${number}`);
  for (const [position, { index }] of ids.entries()) writer.writeBlob(entry.blobHashes[index]!, found[position]!);
  return wanted.size;
}

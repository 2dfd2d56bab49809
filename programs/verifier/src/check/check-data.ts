import { type Decompressor, ExplainRun, type Explanation } from "@rnode/derivation";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { hashTransaction, type L1BlockRef, type RollupConfig } from "@rnode/protocol";
import type { BlockOutcome } from "./check-block.ts";
import { type Now, type OnStep, plural, shortened } from "./steps.ts";

/** Hex of calldata, signed transactions or blobs, one a line or separated by blank space. @throws {CodedError} hex/* */
export const hexPieces = (text: string): Uint8Array[] =>
  text
    .split(/[\s,"[\]]+/)
    .filter((piece) => piece !== "")
    .map((piece) => hexToBytes(piece.startsWith("0x") ? piece : `0x${piece}`));

interface Tools {
  readonly config: RollupConfig;
  readonly decompressor: Decompressor;
  readonly now: Now;
  readonly onStep: OnStep;
}

/**
 * Runs batcher data through the stages of derivation: frames, channels, batches. All data counts as part of one L1 block.
 *
 * @param l1TimeSec timestamp of that block, which determines the active forks
 */
export async function checkData(pieces: readonly Uint8Array[], l1TimeSec: number, tools: Tools): Promise<Explanation> {
  const { config, decompressor, now, onStep } = tools;
  const start = now();
  const run = new ExplainRun(config, decompressor);
  await run.readFiles(l1BlockAt(l1TimeSec), pieces);
  const explanation = run.result;
  const ms = now() - start;
  const items = explanation.transactions.flatMap(({ data }) => data);
  const frames = items.flatMap((item) => item.frames);
  const refused = [...items.map(({ dropped }) => dropped), ...frames.map(({ dropped }) => dropped)].filter(
    (reason) => reason !== undefined,
  );
  onStep({
    stage: "derive",
    title: plural(frames.length, "frame"),
    ms,
    state: frames.length === 0 || refused.length > 0 ? "bad" : "good",
    facts: shortened([
      ...refused.map((reason) => `dropped: ${reason}`),
      ...frames.map(
        ({ frame }) =>
          `channel ${bytesToHex(frame.channelId)} frame ${frame.number}: ${plural(frame.data.length, "byte")}${frame.isLast ? ", the last" : ""}`,
      ),
    ]),
  });
  const channels = explanation.channels;
  const isDecoded = channels.length > 0 && channels.every(({ batches }) => batches.length > 0);
  onStep({
    stage: "derive",
    title: plural(channels.length, "channel"),
    state: isDecoded ? "good" : "bad",
    facts: shortened(
      channels.map(({ id, compression, bytes, batches, events }) => {
        const state =
          batches.length > 0 ? plural(batches.length, "batch", "batches") : `not complete: ${events.at(-1)?.event ?? "no frames"}`;
        return `${id}: ${plural(bytes, "byte")}, ${compression ?? "no known compression"}, ${state}`;
      }),
    ),
  });
  const batches = channels.flatMap((channel) => channel.batches);
  const isDropped = batches.some(({ verdict }) => verdict === "drop");
  onStep({
    stage: "derive",
    title: plural(batches.length, "batch", "batches"),
    state: batches.length === 0 || isDropped ? "bad" : "good",
    facts: shortened(
      batches.map(({ type, verdict, reason, blocks }) => {
        const range = blocks.length === 0 ? "no blocks" : `blocks ${blocks[0]!.number} to ${blocks.at(-1)!.number}`;
        return verdict === "drop"
          ? `${type}: dropped, ${reason}`
          : `${type}: ${range}, ${plural(sum(blocks.map(({ txHashes }) => txHashes.length)), "transaction")}`;
      }),
    ),
  });
  return explanation;
}

/**
 * Compares the executed block with the batch for its timestamp. The payload attributes of a rollup node have the deposits of the
 * L1 origin first, then exactly the transactions of the batch.
 *
 * @param hasOrigin the deposits are compared with those of the L1 origin
 */
export function compareWithBatch(
  { header, transactions }: BlockOutcome,
  { channels }: Explanation,
  hasOrigin: boolean,
  onStep: OnStep,
): boolean {
  const derived = channels
    .flatMap(({ batches }) => batches.flatMap(({ blocks }) => blocks))
    .find(({ timestamp }) => timestamp === header.timestamp);
  if (derived === undefined) {
    onStep({
      stage: "derive",
      title: "The L1 data do not have the block",
      state: "bad",
      facts: [`no batch is for time ${header.timestamp}, that of block ${header.number}`],
    });
    return false;
  }
  const own = transactions.filter(({ type }) => type !== 0x7e).map((transaction): Hex => bytesToHex(hashTransaction(transaction)));
  const deposits = transactions.length - own.length;
  const isSame = own.length === derived.txHashes.length && own.every((hash, index) => hash === derived.txHashes[index]);
  onStep({
    stage: "derive",
    title: isSame ? "The block has the batch's transactions" : "The block has other transactions than the batch",
    state: isSame ? "good" : "bad",
    facts: [
      `L1 origin ${derived.epochNum}, time ${derived.timestamp}`,
      isSame
        ? `${plural(own.length, "transaction")}, in the same order`
        : `${own.length} in the block, ${derived.txHashes.length} in the batch`,
      ...(hasOrigin ? [] : [`not compared: ${plural(deposits, "deposit")}, as the L1 origin was not given`]),
    ],
  });
  return isSame;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** No real block has its number and hash. */
function l1BlockAt(timestamp: number): L1BlockRef {
  const hash: Hex = `0x${"00".repeat(32)}`;
  return { number: 0, hash, parentHash: hash, timestamp };
}

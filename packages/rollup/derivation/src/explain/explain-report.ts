import { bytesToHex, type Hex } from "@rnode/primitives";
import type { ExplainedBatch, ExplainedChannel, ExplainedData } from "./explain.ts";

/** A transaction to the batch inbox whose data was explained. */
export interface ExplainedTransaction {
  readonly hash: Hex;
  /** `undefined`: the data has no transaction */
  readonly from: Hex | undefined;
  readonly l1Block: number;
  /** one for the calldata, or one for each blob */
  readonly data: readonly ExplainedData[];
}

/** Results of batcher transactions, their frames, channels and batches. */
export interface Explanation {
  readonly transactions: readonly ExplainedTransaction[];
  readonly channels: readonly ExplainedChannel[];
}

/** The explanation as JSON: the documented fields, and more. */
export function explanationToJson({ transactions, channels }: Explanation): object {
  return {
    transactions: transactions.map(({ hash, from, l1Block, data }) => ({
      hash,
      from: from ?? null,
      l1Block,
      dropped: data.map(({ dropped }) => dropped ?? null),
      frames: data.flatMap(({ frames }) =>
        frames.map(({ frame, dropped }) => ({
          channelId: bytesToHex(frame.channelId),
          number: frame.number,
          length: frame.data.length,
          isLast: frame.isLast,
          dropped: dropped ?? null,
        })),
      ),
    })),
    channels: channels.map(({ id, compression, bytes, events, batches }) => ({
      id,
      compression: compression ?? null,
      bytes,
      events,
      batches: batches.map(({ type, verdict, reason, l1Block, blocks }) => ({ type, verdict, reason, l1Block, blocks })),
    })),
  };
}

/** The explanation as lines for people. */
export function explanationLines({ transactions, channels }: Explanation): string[] {
  const lines: string[] = [];
  for (const { hash, from, l1Block, data } of transactions) {
    lines.push(`transaction ${hash} in L1 block ${l1Block}${from === undefined ? "" : `, from ${from}`}`);
    for (const { frames, dropped } of data) {
      if (dropped !== undefined) lines.push(`  dropped: ${dropped}`);
      for (const { frame, dropped: reason } of frames) {
        const { channelId, number, data: content, isLast } = frame;
        const end = isLast ? ", the last" : "";
        const fate = reason === undefined ? "" : `, dropped: ${reason}`;
        lines.push(`  frame ${number} of channel ${bytesToHex(channelId)}: ${content.length} bytes${end}${fate}`);
      }
    }
  }
  for (const { id, compression, bytes, events, batches } of channels) {
    lines.push("", `channel ${id}: ${compression === undefined ? "not read" : `${bytes} bytes, ${compression}`}`);
    for (const { l1Block, event, detail } of events) {
      lines.push(`  L1 block ${l1Block}: ${event}${detail === undefined ? "" : ` (${detail})`}`);
    }
    for (const batch of batches) lines.push(`  ${batchLine(batch)}`);
  }
  if (transactions.length === 0) lines.push("no transactions to the batch inbox");
  return lines;
}

function batchLine({ type, verdict, reason, l1Block, blocks }: ExplainedBatch): string {
  const [first, last] = [blocks[0], blocks.at(-1)];
  const range =
    first === undefined ? "no blocks" : first === last ? `block ${first.number}` : `blocks ${first.number} to ${last!.number}`;
  const transactions = blocks.reduce((sum, { txHashes }) => sum + txHashes.length, 0);
  return `${type} batch in L1 block ${l1Block}: ${range}, ${transactions} transactions, epochs from ${first?.epochNum}: ${verdict} (${reason})`;
}

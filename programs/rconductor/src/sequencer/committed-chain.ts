import type { Latest } from "../cluster/commit-store.ts";
import type { BlockName, HeadRecord, PayloadRecord } from "../cluster/records.ts";
import type { SequencerNode } from "./sequencer-api.ts";

type Node = Pick<SequencerNode, "hashOf" | "replaceHead">;

/**
 * Whether a node's chain has another block at the height of a committed one: one that a holder of the sequencer's key has signed. Blocks that
 * the node lacks are no such thing.
 */
export async function isForeign(head: BlockName, record: HeadRecord, node: Pick<SequencerNode, "hashOf">): Promise<boolean> {
  if (head.number >= record.number) {
    const hash = head.number === record.number ? head.hash : await node.hashOf(record.number);
    return hash !== undefined && hash !== record.hash;
  }
  const own = record.recent.find(({ number }) => number === head.number);
  return own !== undefined && own.hash !== head.hash;
}

/**
 * Makes the last committed block the node's unsafe head, in place of whatever the node has after the newest committed block that it shares.
 *
 * @returns false: it shares none of those that etcd keeps
 */
export async function replaceForeign(head: BlockName, { record, envelope, after }: Latest, node: Node): Promise<boolean> {
  const shared = await newestShared(head, record, node);
  const missing = shared && (await after(shared.number));
  if (missing === undefined) return false;
  for (const before of missing) await node.replaceHead(before);
  await node.replaceHead(envelope);
  return true;
}

async function newestShared(head: BlockName, record: HeadRecord, node: Node): Promise<PayloadRecord | undefined> {
  for (const block of [record, ...record.recent.toReversed()]) {
    if (block.number <= head.number && (await node.hashOf(block.number)) === block.hash) return block;
  }
  return undefined;
}

import { fetchWitnessFile } from "@rnode/chain/stateless";
import { toQuantity } from "@rnode/primitives";
import { askNode } from "./ask-node.ts";

const selectorOf = (block: string): string => (/^\d+$/.test(block) ? toQuantity(Number(block)) : block);

/** Asks a node for a block with its witness. It must serve debug_. */
export const fetchBlock = (url: string, block: string): Promise<object> => fetchWitnessFile(askNode(url), selectorOf(block));

/** Asks an L1 node for a block and its receipts. @param block number, hash or tag */
export async function fetchOrigin(url: string, block: string): Promise<object> {
  const ask = askNode(url);
  const isHash = /^0x[0-9a-f]{64}$/i.test(block);
  const found = await ask<{ readonly hash: string } | null>(isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber", [
    selectorOf(block),
    false,
  ]);
  if (found === null) throw new Error(`${url} does not have the block ${block}`);
  return { block: found, receipts: await ask("eth_getBlockReceipts", [found.hash]) };
}

import { fetchWitnessFile } from "@rnode/chain/stateless";
import { type Hex, isCodedError, toQuantity } from "@rnode/primitives";
import { networkByChainId } from "@rnode/protocol";
import { askNode } from "./ask-node.ts";

const selectorOf = (block: string): string => (/^\d+$/.test(block) ? toQuantity(Number(block)) : block);

/**
 * Asks a node for a block with its witness. It must serve debug_. The rules of a chain that is none of the known networks are the node's as well, which
 * the first step of the check says.
 */
export async function fetchBlock(url: string, block: string): Promise<object> {
  const ask = askNode(url);
  const isKnown = networkByChainId(BigInt(await ask<Hex>("eth_chainId", []))) !== undefined;
  const chain = isKnown ? undefined : await ask<object>("debug_chainConfig", []);
  try {
    return await fetchWitnessFile(ask, selectorOf(block), chain);
  } catch (cause) {
    if (!isCodedError(cause)) throw cause; // names the node
    throw new Error(`${url}: ${cause.message}`, { cause });
  }
}

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

import { bytesToHex, equalBytes, ZERO_HASH } from "@rnode/primitives";
import { type Block, hashHeader } from "@rnode/protocol";
import type { ChainStore } from "@rnode/storage";
import type { Chain } from "./chain-types.ts";
import type { SenderSource } from "./senders.ts";

export interface BlockImportDependencies {
  readonly chain: Chain;
  /** of `chain` */
  readonly store: ChainStore;
  /** of `chain` */
  readonly senders: SenderSource;
}

/** A block that was not imported, and everything after it. */
export interface ImportRefusal {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** undefined: its parent is not in the database */
  readonly validationError: string | undefined;
}

const BLOCKS_AHEAD = 8;

/**
 * Executes and stores blocks that follow each other, `batchBlocks` in one durable commit. Blocks that are canonical already are passed
 * over. What was executed before an invalid block, or before `blocks` throws, is stored.
 *
 * @param onBlock for every block that is stored, already was, or will be with the next commit
 * @returns undefined when all blocks were imported
 */
export async function importBlocks<T extends { readonly block: Block }>(
  { chain, store, senders }: BlockImportDependencies,
  blocks: AsyncIterable<T>,
  batchBlocks: number,
  onBlock: (item: T) => void,
): Promise<ImportRefusal | undefined> {
  let pendingHead: Uint8Array | undefined;
  let pendingCount = 0;
  const commit = (): void => {
    if (pendingHead === undefined) return;
    chain.forkchoiceUpdated({ headBlockHash: pendingHead, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH }, undefined, 3);
    pendingHead = undefined;
    pendingCount = 0;
  };
  try {
    for await (const item of withSenders(blocks, senders)) {
      const { block } = item;
      if (block.header.number <= chain.genesis.block.header.number) continue; // exports begin with the genesis
      const hash = hashHeader(block.header);
      // Not chosen again: an OP Stack chain would go back to it, and lose what comes after.
      if (!isCanonical(store, hash, block.header.number)) {
        const status = chain.newPayload(block, hash);
        if (status.status === "INVALID") return { block, hash, validationError: status.validationError ?? "" };
        if (status.status !== "VALID") return { block, hash, validationError: undefined };
        pendingHead = hash;
        if (++pendingCount >= batchBlocks) commit();
      }
      onBlock(item);
    }
    return undefined;
  } finally {
    commit();
  }
}

/** The same blocks, the senders of the next ones being recovered meanwhile. */
async function* withSenders<T extends { readonly block: Block }>(
  blocks: AsyncIterable<T>,
  senders: SenderSource,
): AsyncGenerator<T> {
  const ahead: { readonly item: T; readonly recovered: Promise<void> }[] = [];
  const take = async (): Promise<T> => {
    const { item, recovered } = ahead.shift()!;
    await recovered;
    return item;
  };
  for await (const item of blocks) {
    ahead.push({ item, recovered: senders.recoverAhead(item.block.transactions) });
    if (ahead.length > BLOCKS_AHEAD) yield await take();
  }
  while (ahead.length > 0) yield await take();
}

function isCanonical(store: ChainStore, hash: Uint8Array, number: number): boolean {
  const stored = store.readCanonicalHash(number);
  return stored !== undefined && equalBytes(stored, hash);
}

export const describeImportRefusal = ({ block, hash, validationError }: ImportRefusal): string => {
  const which = `block ${block.header.number} ${bytesToHex(hash)}`;
  return validationError === undefined
    ? `${which}: its parent ${bytesToHex(block.header.parentHash)} is not in the database`
    : `${which} is invalid: ${validationError}`;
};

import { type BlockId, messageChecksum, messageHash, type Receipt } from "@rnode/protocol";
import { type ExecutingMessage, executingMessageOf } from "./executing-message.ts";

/** A block of a chain, as far as messages are concerned. */
export interface MessageBlock extends BlockId {
  readonly parentHash: BlockId["hash"];
  /** seconds */
  readonly timestamp: number;
}

/** What a block's logs mean to the chains of a set. */
export interface BlockMessages {
  readonly block: MessageBlock;
  /** checksum of each log, by its index: each log may be an initiating message */
  readonly checksums: readonly Uint8Array[];
  /** by ascending index of their logs */
  readonly executing: readonly ExecutingMessage[];
}

/** Reads the messages of a block from its receipts. */
export function messagesOfBlock(chainId: bigint, block: MessageBlock, receipts: readonly Pick<Receipt, "logs">[]): BlockMessages {
  const logs = receipts.flatMap((receipt) => receipt.logs);
  const place = { chainId, blockNumber: BigInt(block.number), timestamp: BigInt(block.timestamp) };
  return {
    block,
    checksums: logs.map((log, logIndex) => messageChecksum({ ...place, origin: log.address, logIndex }, messageHash(log))),
    executing: logs.flatMap((log, logIndex) => executingMessageOf(log, logIndex) ?? []),
  };
}

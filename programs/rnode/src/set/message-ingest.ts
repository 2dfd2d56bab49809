import { type BlockMessages, type MessageBlock, messagesOfBlock } from "@rnode/interop";
import type { MessageLog } from "./message-log.ts";
import type { SetChain } from "./set-chain.ts";
import type { SetDatabase } from "./set-database.ts";

/** Blocks whose receipts are asked for at once. */
const BLOCKS_AT_ONCE = 32;
/** What is lost in a power cut is read from the chain again. */
const UNFLUSHED = { isFlushed: false };

/** Fills the log of a chain's messages from receipts. */
export class MessageIngest {
  private readonly chain: SetChain;
  private readonly database: SetDatabase;
  readonly log: MessageLog;

  constructor(chain: SetChain, database: SetDatabase) {
    this.chain = chain;
    this.database = database;
    this.log = database.messageLog(chain.chainId);
  }

  /**
   * Brings the log up to a block of the chain. What the log has of another branch goes.
   *
   * @param first number of the first block, if the log is empty
   * @returns whether the log has the block; false: the chain moved meanwhile
   * @throws {CodedError} engine/*, storage/*
   */
  async reach(target: MessageBlock, first: number): Promise<boolean> {
    const { log, chain, database } = this;
    for (;;) {
      const { last } = log;
      if (last?.hash === target.hash) return true;
      const there = log.at(target.number);
      if (there?.block.hash === target.hash) return true;
      if (there !== undefined || (last !== undefined && last.number > target.number)) {
        database.atomically(() => log.rewind(target.number - 1), UNFLUSHED);
        continue;
      }
      const from = last === undefined ? Math.min(first, target.number) : last.number + 1;
      const numbers = Array.from({ length: Math.min(BLOCKS_AT_ONCE, target.number - from + 1) }, (_, i) => from + i);
      const blocks = await Promise.all(numbers.map(async (number) => (number === target.number ? target : chain.blockAt(number))));
      if (last !== undefined && blocks[0] !== undefined && blocks[0].parentHash !== last.hash) {
        database.atomically(() => log.rewind(last.number - 1), UNFLUSHED);
        continue;
      }
      const isChain = blocks.every((block, i) => block !== undefined && (i === 0 || block.parentHash === blocks[i - 1]?.hash));
      if (!isChain) return false;
      const messages = await Promise.all((blocks as MessageBlock[]).map((block) => this.messagesOf(block)));
      database.atomically(() => {
        for (const one of messages) log.append(one);
      }, UNFLUSHED);
    }
  }

  private async messagesOf(block: MessageBlock): Promise<BlockMessages> {
    return messagesOfBlock(this.chain.chainId, block, await this.chain.receiptsOf(block));
  }
}

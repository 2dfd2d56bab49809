import type { AccountRecord } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { BlockBatch } from "./blocks/block-tables.ts";
import type { BlockContent } from "./chain-store.ts";
import { LogBatch } from "./logs/log-index.ts";
import { anyClearsStorage, StateBatch } from "./state/state-batch.ts";

/**
 * Blocks that follow each other, ready to be written as one commit: rows and keys as bytes, nothing else of the blocks is kept. Tells the
 * state after them, as far as they changed it. To be used again after `clear`.
 */
export class BlockGroup {
  readonly blocks = new BlockBatch();
  readonly state = new StateBatch();
  readonly logs = new LogBatch();
  readonly codes = new Map<Hex, { readonly codeHash: Uint8Array; readonly code: Uint8Array }>();

  /** The next block. One of which `clearsStorage` is true for an account must be alone in its group. */
  add(content: Omit<BlockContent, "storageRoots">): void {
    const { number } = content.block.header;
    const { changes } = content;
    if (changes.records === undefined || anyClearsStorage(changes)) this.state.add(number, changes.accounts);
    else this.state.addRecords(number, changes.records);
    this.blocks.add(content);
    this.logs.add(number, content.receipts);
    for (const { codeHash, code } of changes.codes) this.codes.set(bytesToHex(codeHash), { codeHash, code });
  }

  /** undefined: no block has changed it */
  account(address: Uint8Array): AccountRecord | undefined {
    return this.state.account(address);
  }

  /** 32 bytes that are right until the next `add`; undefined: no block has changed it */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.state.slot(address, slot);
  }

  code(codeHash: Uint8Array): Uint8Array | undefined {
    return this.codes.size === 0 ? undefined : this.codes.get(bytesToHex(codeHash))?.code;
  }

  clear(): void {
    for (const part of [this.blocks, this.state, this.logs, this.codes]) part.clear();
  }
}

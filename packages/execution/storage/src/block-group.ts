import type { AccountRecord } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { Block } from "@rnode/protocol";
import type { BlockContent, BlockGroup } from "./api.ts";
import { BlockBatch } from "./blocks/block-tables.ts";
import { LogBatch } from "./logs/log-index.ts";
import { packBatch } from "./state/packed-batch.ts";
import { anyClearsStorage, StateBatch } from "./state/state-batch.ts";

/** PERF: the key tables and buffers are reused for the next group. */
export class BufferedGroup implements BlockGroup {
  readonly blocks = new BlockBatch();
  readonly state = new StateBatch();
  readonly logs = new LogBatch();
  readonly codes = new Map<Hex, { readonly codeHash: Uint8Array; readonly code: Uint8Array }>();

  blockAt(index: number): Block {
    return this.blocks.blockAt(index);
  }

  get rowBytes(): number {
    return this.blocks.rows.size;
  }

  add(content: Omit<BlockContent, "storageRoots">): void {
    const { number } = content.block.header;
    const { changes } = content;
    if (changes.records === undefined || anyClearsStorage(changes)) this.state.add(number, changes.accounts);
    else this.state.addRecords(number, changes.records);
    this.blocks.add(content);
    this.logs.add(number, content.receipts);
    for (const { codeHash, code } of changes.codes) this.codes.set(bytesToHex(codeHash), { codeHash, code });
  }

  account(address: Uint8Array): AccountRecord | undefined {
    return this.state.account(address);
  }

  slot(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.state.slot(address, slot);
  }

  code(codeHash: Uint8Array): Uint8Array | undefined {
    return this.codes.size === 0 ? undefined : this.codes.get(bytesToHex(codeHash))?.code;
  }

  packedChanges(): Uint8Array<ArrayBuffer> {
    return packBatch(this.state);
  }

  clear(): void {
    for (const part of [this.blocks, this.state, this.logs, this.codes]) part.clear();
  }
}

/** @throws {TypeError} the group was not made by a store's `newGroup` */
export function bufferedGroupOf(group: BlockGroup): BufferedGroup {
  if (!(group instanceof BufferedGroup)) throw new TypeError("a group of blocks is made by newGroup of a store");
  return group;
}

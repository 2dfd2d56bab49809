import type { HeadChange, StoredBlock } from "@rnode/chain";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { type BlockParts, partsOfBlock } from "@rnode/storage";
import type { ReadBackend } from "../backend/backend.ts";
import { roughBlockBytes } from "../backend/block-cache.ts";
import { ChangeJournal } from "./change-journal.ts";

/** A block that joined the canonical chain or left it. */
export interface BlockChange {
  readonly hash: Hex;
  readonly number: number;
  readonly logsBloom: Uint8Array;
  /** the block itself when it left the chain: the database does not have it any more */
  readonly removed: StoredBlock | undefined;
}

/** of an entry without a block: hash, bloom and their objects */
const BYTES_PER_CHANGE = 700;

/** Changes of the canonical chain. A canonical block is stored by hash only; its logs are read from the database. */
export class BlockJournal {
  readonly #chain: Pick<ReadBackend["chain"], "partsOf">;
  readonly #changes: ChangeJournal<BlockChange>;

  constructor(chain: Pick<ReadBackend["chain"], "partsOf">, maxBytes: number) {
    this.#chain = chain;
    this.#changes = new ChangeJournal(maxBytes);
  }

  get end(): number {
    return this.#changes.end;
  }

  get bytes(): number {
    return this.#changes.bytes;
  }

  push({ removed, added }: HeadChange): void {
    for (const stored of removed) this.#changes.push(changeOf(stored, stored), BYTES_PER_CHANGE + roughBlockBytes(stored));
    for (const stored of added) this.#changes.push(changeOf(stored, undefined), BYTES_PER_CHANGE);
  }

  from(position: number): BlockChange[] | undefined {
    return this.#changes.from(position);
  }

  clear(): void {
    this.#changes.clear();
  }

  /**
   * @param position of the change. @returns undefined: the block has left the chain, and the journal does not have that change
   * yet
   */
  partsOf({ hash, removed }: BlockChange, position: number): BlockParts | undefined {
    if (removed !== undefined) return partsOfBlock(removed);
    const parts = this.#chain.partsOf({ kind: "hash", hash: hexToBytes(hash), requireCanonical: false });
    if (parts?.hasReceipts) return parts;
    const left = this.#changes.from(position)?.find((later) => later.removed !== undefined && later.hash === hash)?.removed;
    return left && partsOfBlock(left);
  }
}

const changeOf = ({ hash, block: { header } }: StoredBlock, removed: StoredBlock | undefined): BlockChange => ({
  hash: bytesToHex(hash),
  number: header.number,
  logsBloom: Uint8Array.from(header.logsBloom), // may be a view of the whole block's bytes
  removed,
});

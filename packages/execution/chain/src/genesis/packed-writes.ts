import { bigintToBytes, bytesToBigint, trimBytesLeft } from "@rnode/primitives";
import type { GenesisRows } from "@rnode/storage";

/** Kinds of packed rows: code hash 32; hash 32 ‖ nonce 8 ‖ balance 32 ‖ code hash 32 ‖ storage root 32; … */
const [CODE, ACCOUNT, SLOT, PREIMAGE, ACCOUNT_NODE, STORAGE_NODE] = [0, 1, 2, 3, 4, 5] as const;
const HASH = 32;
const ACCOUNT_BYTES = 4 * HASH + 8;
/** More than any row: a branch has at most 532 bytes. */
const MAX_ROW_BYTES = 1024;

/** Packs rows of a state one after the other, without the codes themselves. */
export class PackedWrites implements GenesisRows {
  #bytes: Uint8Array;
  #used = 0;

  constructor(bytes: number) {
    this.#bytes = new Uint8Array(bytes + MAX_ROW_BYTES);
  }

  get sizeBytes(): number {
    return this.#used;
  }

  code(codeHash: Uint8Array): void {
    this.#begin(CODE);
    this.#put(codeHash);
  }

  account(hash: Uint8Array, { nonce, balance, codeHash, storageRoot }: Parameters<GenesisRows["account"]>[1]): void {
    this.#begin(ACCOUNT);
    this.#put(hash);
    this.#put(bigintToBytes(nonce, 8));
    this.#put(bigintToBytes(balance, HASH));
    this.#put(codeHash);
    this.#put(storageRoot);
  }

  /** Value of 1 to 32 bytes. */
  slot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void {
    this.#begin(SLOT);
    this.#put(owner);
    this.#put(hash);
    this.#sized(value);
  }

  preimage(hash: Uint8Array, key: Uint8Array): void {
    this.#begin(PREIMAGE);
    this.#put(hash);
    this.#sized(key);
  }

  node(owner: Uint8Array | undefined, path: Uint8Array, rlp: Uint8Array): void {
    this.#begin(owner === undefined ? ACCOUNT_NODE : STORAGE_NODE);
    if (owner !== undefined) this.#put(owner);
    this.#sized(path);
    this.#bytes[this.#used++] = rlp.length >> 8;
    this.#sized(rlp);
  }

  #begin(kind: number): void {
    if (this.#used + MAX_ROW_BYTES > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#used++] = kind;
  }

  #put(part: Uint8Array): void {
    this.#bytes.set(part, this.#used);
    this.#used += part.length;
  }

  #sized(part: Uint8Array): void {
    this.#bytes[this.#used++] = part.length;
    this.#put(part);
  }

  /** Gives all rows away. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#used);
    this.#bytes = new Uint8Array(this.#bytes.length);
    this.#used = 0;
    return taken;
  }
}

/** Passes packed rows on, in their order. @param onCode is called in place of `rows.code` */
export function unpackWrites(packed: Uint8Array, rows: GenesisRows, onCode: (codeHash: Uint8Array) => void): void {
  let at = 0;
  const part = (size: number): Uint8Array => packed.subarray(at, (at += size));
  const sized = (more = 0): Uint8Array => part(more + packed[at++]!);
  while (at < packed.length) {
    const kind = packed[at++]!;
    if (kind === SLOT) rows.slot(part(HASH), part(HASH), sized());
    else if (kind === STORAGE_NODE) rows.node(part(HASH), sized(), sized(packed[at++]! << 8));
    else if (kind === ACCOUNT) {
      const row = part(ACCOUNT_BYTES);
      rows.account(row.subarray(0, HASH), {
        nonce: bytesToBigint(trimBytesLeft(row.subarray(32, 40))),
        balance: bytesToBigint(trimBytesLeft(row.subarray(40, 72))),
        codeHash: row.subarray(72, 104),
        storageRoot: row.subarray(104),
      });
    } else if (kind === ACCOUNT_NODE) rows.node(undefined, sized(), sized(packed[at++]! << 8));
    else if (kind === PREIMAGE) rows.preimage(part(HASH), sized());
    else onCode(part(HASH));
  }
}

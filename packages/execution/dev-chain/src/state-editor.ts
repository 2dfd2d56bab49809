import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import type { AccountEdit, StateEdits } from "./state-edits.ts";

/** A store for small named values, separate from the chain. */
export interface EditStore {
  readMeta(key: string): Uint8Array | undefined;
  writeMeta(key: string, value: Uint8Array): void;
}

const STORE_KEY = "dev-state-edits";
/** Older ones are forgotten: they only matter to who executes the block after them again. */
const MAX_EDITED_BLOCKS = 1024;

type StoredEdit = readonly [address: Hex, { balance?: Hex; nonce?: Hex; code?: Hex; storage: readonly (readonly [Hex, Hex])[] }];

/** State edits, by the block after which they were made. The edits after the last block survive restarts. */
export class StateEditor {
  readonly #store: EditStore;
  readonly #edits = new Map<Hex, StateEdits>();

  constructor(store: EditStore) {
    this.#store = store;
    const stored = store.readMeta(STORE_KEY);
    if (stored === undefined || stored.length === 0) return;
    const [hash, edits] = decode(new TextDecoder().decode(stored));
    this.#edits.set(hash, edits);
  }

  /** Edits are immutable: a returned map does not change. */
  after(blockHash: Hex): StateEdits | undefined {
    return this.#edits.get(blockHash);
  }

  /** Adds an edit after a block. */
  add(blockHash: Hex, address: Uint8Array, edit: Partial<AccountEdit>): void {
    const key = bytesToHex(address);
    const before = this.#edits.get(blockHash)?.get(key);
    const storage = new Map([...(before?.storage ?? []), ...(edit.storage ?? [])]);
    const given = Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));
    this.replace(blockHash, new Map(this.#edits.get(blockHash)).set(key, { ...before, ...given, storage }));
  }

  replace(blockHash: Hex, edits: StateEdits | undefined): void {
    this.#edits.delete(blockHash);
    const isNothing = edits === undefined || edits.size === 0;
    if (!isNothing) this.#edits.set(blockHash, edits);
    for (const oldest of this.#edits.keys()) {
      if (this.#edits.size <= MAX_EDITED_BLOCKS) break;
      this.#edits.delete(oldest);
    }
    this.#store.writeMeta(STORE_KEY, isNothing ? new Uint8Array(0) : new TextEncoder().encode(encode(blockHash, edits)));
  }

  /** For a block that has left the chain: one with the same hash begins without edits. */
  forget(blockHash: Hex): void {
    this.#edits.delete(blockHash);
  }
}

function encode(blockHash: Hex, edits: StateEdits): string {
  const stored = [...edits].map(
    ([address, { balance, nonce, code, storage }]): StoredEdit => [
      address,
      {
        ...(balance !== undefined && { balance: toQuantity(balance) }),
        ...(nonce !== undefined && { nonce: toQuantity(nonce) }),
        ...(code !== undefined && { code: bytesToHex(code) }),
        storage: [...storage].map(([slot, word]) => [slot, bytesToHex(word)]),
      },
    ],
  );
  return JSON.stringify([blockHash, stored]);
}

/** What `encode` wrote. */
function decode(text: string): readonly [Hex, StateEdits] {
  const [hash, stored] = JSON.parse(text) as readonly [Hex, readonly StoredEdit[]];
  const edits = stored.map(([address, { balance, nonce, code, storage }]) => {
    const edit: AccountEdit = {
      ...(balance !== undefined && { balance: BigInt(balance) }),
      ...(nonce !== undefined && { nonce: BigInt(nonce) }),
      ...(code !== undefined && { code: hexToBytes(code) }),
      storage: new Map(storage.map(([slot, word]) => [slot, hexToBytes(word)])),
    };
    return [address, edit] as const;
  });
  return [hash, new Map(edits)];
}

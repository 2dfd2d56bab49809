import type { BlockExecution } from "@rnode/evm";
import {
  bytesToHex,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  type ExactInteger,
  type Hex,
  hexToBytes,
  isZeroBytes,
  keccak256,
} from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { StateView, StoredAccount } from "@rnode/storage";

/** Edits of one account; undefined fields stay unchanged. */
export interface AccountEdit {
  readonly balance?: bigint | undefined;
  readonly nonce?: bigint | undefined;
  readonly code?: Uint8Array | undefined;
  /** by slot, 32 bytes each */
  readonly storage: ReadonlyMap<Hex, Uint8Array>;
}

/**
 * Edits by address in the state after a block of a development chain. The block keeps its hash and its state root: the edits are
 * part of the state transition of the next block.
 */
export type StateEdits = ReadonlyMap<Hex, AccountEdit>;

/** Makes the edits part of a block's changes. Must come before anything else of the block is executed. */
export function applyStateEdits(execution: BlockExecution, edits: StateEdits): void {
  for (const [addressHex, { balance, nonce, code, storage }] of edits) {
    const address = hexToBytes(addressHex);
    if (balance !== undefined) execution.setBalance(address, balance);
    if (nonce !== undefined) execution.setNonce(address, nonce);
    if (code !== undefined) execution.setCode(address, code);
    for (const [slot, word] of storage) execution.setStorage(address, hexToBytes(slot), word);
  }
}

/** The state after a block with the edits, as all readers see it. Roots of storage tries are those without the edits. */
export class EditedState implements StateView {
  readonly #base: StateView;
  readonly #edits: StateEdits;

  constructor(base: StateView, edits: StateEdits) {
    this.#base = base;
    this.#edits = edits;
  }

  get block(): BlockId {
    return this.#base.block;
  }

  get proven(): StateView {
    return this.#base;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const account = this.#base.readAccount(address);
    const edit = this.#edits.get(bytesToHex(address));
    if (edit === undefined) return account;
    const { balance, nonce, code } = edit;
    return {
      balance: balance ?? account?.balance ?? 0n,
      nonce: nonce ?? account?.nonce ?? 0n,
      codeHash: code === undefined ? (account?.codeHash ?? EMPTY_KECCAK) : keccak256(code),
      storageRoot: account?.storageRoot ?? EMPTY_TRIE_ROOT,
    };
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const word = this.#edits.get(bytesToHex(address))?.storage.get(bytesToHex(slot));
    return word ?? this.#base.readStorage(address, slot);
  }

  hasStorage(address: Uint8Array): boolean {
    const storage = this.#edits.get(bytesToHex(address))?.storage ?? new Map<Hex, Uint8Array>();
    return this.#base.hasStorage(address) || [...storage.values()].some((word) => !isZeroBytes(word));
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    const wanted = bytesToHex(codeHash);
    for (const { code } of this.#edits.values()) {
      if (code !== undefined && bytesToHex(keccak256(code)) === wanted) return code;
    }
    return this.#base.readCode(codeHash);
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    return this.#base.readBlockHash(number);
  }
}

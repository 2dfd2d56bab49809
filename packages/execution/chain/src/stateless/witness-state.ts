import type { StateReader } from "@rnode/evm";
import {
  bytesToHex,
  decodeRlp,
  EMPTY_TRIE_ROOT,
  type ExactInteger,
  equalBytes,
  exactInteger,
  expectRlpString,
  type Hex,
  keccak256,
  padBytesLeft,
} from "@rnode/primitives";
import { decodeHeader, exactNumber, type Header } from "@rnode/protocol";
import { decodeAccount, readTrie, type TrieAccount, witnessNodeReader } from "@rnode/trie";
import type { ParentState } from "../execute/block-execution.ts";
import { ChainError } from "../faults.ts";

/** The result of `debug_executionWitness`: everything that one block reads. */
export interface Witness {
  /** RLP of trie nodes, from the account trie and storage tries */
  readonly state: readonly Uint8Array[];
  readonly codes: readonly Uint8Array[];
  /** RLP of ancestors, for BLOCKHASH */
  readonly headers: readonly Uint8Array[];
}

/**
 * The state after `header`, taken from a witness. Nothing in the witness is trusted: nodes and codes are looked up by their own hashes,
 * ancestors by the parent hash in their child.
 */
export function witnessState(header: Header, hash: Uint8Array, witness: Witness): ParentState {
  const nodes = witnessNodeReader(witness.state);
  const codes = new Map<Hex, Uint8Array>(witness.codes.map((code) => [bytesToHex(keccak256(code)), code]));
  const accounts = new Map<Hex, TrieAccount | undefined>();
  const storageOwners = new Map<Hex, Uint8Array>();

  const accountOf = (address: Uint8Array): TrieAccount | undefined => {
    const key = bytesToHex(address);
    if (accounts.has(key)) return accounts.get(key);
    const owner = keccak256(address);
    const rlp = readTrie(nodes, undefined, header.stateRoot, owner);
    const account = rlp === undefined ? undefined : decodeAccount(rlp);
    accounts.set(key, account);
    storageOwners.set(key, owner);
    return account;
  };

  const reader: StateReader = {
    readAccount: accountOf,
    readStorage(address, slot) {
      const root = accountOf(address)?.storageRoot ?? EMPTY_TRIE_ROOT;
      const value = readTrie(nodes, storageOwners.get(bytesToHex(address)), root, keccak256(slot));
      return value === undefined ? undefined : padBytesLeft(expectRlpString(decodeRlp(value)), 32);
    },
    hasStorage: (address) => !equalBytes(accountOf(address)?.storageRoot ?? EMPTY_TRIE_ROOT, EMPTY_TRIE_ROOT),
    readCode(codeHash) {
      const code = codes.get(bytesToHex(codeHash));
      if (code === undefined) {
        throw new ChainError("chain/missing-code", { codeHash: bytesToHex(codeHash) });
      }
      return code;
    },
    readBlockHash: ancestorHashes(header, hash, witness.headers),
  };
  return {
    header,
    hash,
    reader,
    trie: { stateRoot: header.stateRoot, nodes, storageRootOf: (address) => accountOf(address)?.storageRoot },
    // witnesses are for proof-of-stake blocks
    ancestorOf: () => undefined,
    totalDifficulty: () => undefined,
  };
}

function ancestorHashes(
  parent: Header,
  parentHash: Uint8Array,
  headers: readonly Uint8Array[],
): (number: ExactInteger) => Uint8Array | undefined {
  const byHash = new Map<Hex, Uint8Array>();
  for (const rlp of headers) byHash.set(bytesToHex(keccak256(rlp)), rlp);
  const hashes = new Map<ExactInteger, Uint8Array>([[exactNumber(parent), parentHash]]);
  let oldest = parent;
  return (number) => {
    while (exactNumber(oldest) > number) {
      hashes.set(exactInteger(BigInt(exactNumber(oldest)) - 1n), oldest.parentHash);
      const rlp = byHash.get(bytesToHex(oldest.parentHash));
      if (rlp === undefined) break;
      oldest = decodeHeader(rlp);
    }
    return hashes.get(number);
  };
}

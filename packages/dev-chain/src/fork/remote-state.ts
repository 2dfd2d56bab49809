import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import {
  bytesToHex,
  decodeRlp,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  type Hex,
  hexToBytes,
  hexToFixedBytes,
  isZeroBytes,
  keccak256,
  padBytesLeft,
  toQuantity,
} from "@rnode/primitives";
import { type Block, hashHeader, headerFromRpc } from "@rnode/protocol";
import type { StoredAccount } from "@rnode/storage";
import { decodeAccount, verifyProof } from "@rnode/trie";
import type { BlockingRpc, RpcCall, RpcOutcome } from "./blocking-rpc.ts";

/** Accounts and slots to fetch together, keys in hex. */
export interface RemoteTarget {
  readonly address: Hex;
  readonly slots: readonly Hex[];
}

export interface ForkBlock {
  /** without transactions and ommers: the endpoint shows them */
  readonly block: Block;
  readonly hash: Uint8Array;
}

/** Of everything that is remembered: an account or slot takes some 400 bytes, code its length. */
const MAX_REMEMBERED_BYTES = 1 << 30;
const ENTRY_BYTES = 400;
/** What endpoints say that have no proofs of the block, or none at all. Other errors are errors. */
const NO_PROOFS =
  /not (?:supported|found|available|exist|allowed|whitelisted)|unsupported|does not exist|window|distance|proof|prun|archive|missing trie/i;
const METHOD_NOT_FOUND = -32601;

/**
 * The state after one block of another chain, asked from an endpoint as it is touched and remembered. What the endpoint proves is checked
 * against the block's state root, and code against its hash.
 */
export class RemoteState {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly #rpc: BlockingRpc;
  readonly #log: Pick<Logger, "warn">;
  readonly #number: Hex;
  readonly #accounts = new Map<Hex, StoredAccount | undefined>();
  readonly #slots = new Map<string, Uint8Array | undefined>();
  readonly #codes = new Map<Hex, Uint8Array>();
  readonly #hashes = new Map<number, Uint8Array>();
  #bytes = 0;
  #hasProofs = true;
  #expected: (() => readonly RemoteTarget[]) | undefined;

  constructor({ block, hash }: ForkBlock, rpc: BlockingRpc, log: Pick<Logger, "warn">) {
    this.block = block;
    this.hash = hash;
    this.#rpc = rpc;
    this.#log = log;
    this.#number = toQuantity(block.header.number);
  }

  get requests(): number {
    return this.#rpc.requests;
  }

  account(address: Uint8Array): StoredAccount | undefined {
    const key = bytesToHex(address);
    if (!this.#accounts.has(key)) this.#fetch([{ address: key, slots: [] }]);
    return this.#accounts.get(key);
  }

  storage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const target = { address: bytesToHex(address), slots: [bytesToHex(slot)] };
    const key = slotKey(target.address, target.slots[0]!);
    if (!this.#slots.has(key)) this.#fetch([target]);
    return this.#slots.get(key);
  }

  /** An endpoint without proofs does not say it: then no account has storage, which matters to a creation at its address only. */
  hasStorage(address: Uint8Array): boolean {
    const account = this.account(address);
    return account !== undefined && !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  }

  /** `undefined` if no account that was asked for has it. */
  code(codeHash: Uint8Array): Uint8Array | undefined {
    return this.#codes.get(bytesToHex(codeHash));
  }

  /** Of an older block: the endpoint says it, and nothing proves it but for the parent of the fork block. */
  blockHash(number: number): Uint8Array {
    const { header } = this.block;
    if (number === header.number - 1) return header.parentHash;
    let hash = this.#hashes.get(number);
    if (hash === undefined) {
      const result = this.#resultOf(this.#rpc.batch([{ method: "eth_getBlockByNumber", params: [toQuantity(number), false] }])[0]!);
      hash = this.#read(`block ${number}`, () => hashHeader(headerFromRpc(result)));
      this.#hashes.set(number, hash);
    }
    return hash;
  }

  /**
   * While `action` runs, the first value that is not known yet has all those fetched that the endpoint says the call touches, with two
   * requests.
   */
  expecting<T>(call: unknown, action: () => T): T {
    this.#expected = () => this.#touchedBy(call);
    try {
      return action();
    } finally {
      this.#expected = undefined;
    }
  }

  /** Fetches what is not known yet of these together. */
  prefetch(targets: readonly RemoteTarget[]): void {
    this.#fetch(targets);
  }

  #touchedBy(call: unknown): RemoteTarget[] {
    const [answer] = this.#rpc.batch([{ method: "eth_createAccessList", params: [call, this.#number] }]);
    if (answer?.kind !== "result") return []; // it only saves requests
    const { accessList } = (answer.result ?? {}) as { readonly accessList?: unknown };
    if (!Array.isArray(accessList)) return [];
    return accessList.flatMap((entry: { readonly address?: unknown; readonly storageKeys?: unknown } | null) => {
      const { address, storageKeys } = entry ?? {};
      if (typeof address !== "string" || !Array.isArray(storageKeys)) return [];
      return [{ address: address.toLowerCase() as Hex, slots: storageKeys.map((key) => String(key).toLowerCase() as Hex) }];
    });
  }

  #fetch(wanted: readonly RemoteTarget[]): void {
    if (this.#bytes > MAX_REMEMBERED_BYTES) this.#forget();
    const expected = this.#expected?.() ?? [];
    this.#expected = undefined;
    const merged = new Map<Hex, Set<Hex>>();
    for (const { address, slots } of [...wanted, ...expected]) {
      const all = merged.get(address) ?? new Set();
      for (const slot of slots) if (!this.#slots.has(slotKey(address, slot))) all.add(slot);
      if (all.size > 0 || !this.#accounts.has(address)) merged.set(address, all);
    }
    if (merged.size === 0) return;
    const targets = [...merged].map(([address, slots]) => ({ address, slots: [...slots] }));
    if (!this.#hasProofs || !this.#fetchProven(targets)) this.#fetchStated(targets);
  }

  /** @returns false: the endpoint has no proofs */
  #fetchProven(targets: readonly RemoteTarget[]): boolean {
    const isNew = ({ address }: RemoteTarget): boolean => !this.#accounts.has(address);
    const calls = targets.flatMap((target): RpcCall[] => [
      { method: "eth_getProof", params: [target.address, target.slots, this.#number] },
      ...(isNew(target) ? [{ method: "eth_getCode", params: [target.address, this.#number] }] : []),
    ]);
    const outcomes = this.#rpc.batch(calls);
    const refused = outcomes.find((each, index) => each.kind === "error" && calls[index]!.method === "eth_getProof");
    if (refused?.kind === "error" && (refused.code === METHOD_NOT_FOUND || NO_PROOFS.test(refused.message))) {
      this.#hasProofs = false;
      const reason = refused.message.slice(0, 200);
      this.#log.warn("the forked state is not verified: the endpoint has no proofs of the block", {
        endpoint: this.#rpc.host,
        reason,
      });
      return false;
    }
    const results = outcomes.map((each) => this.#resultOf(each));
    for (const target of targets) {
      const mustHaveCode = isNew(target);
      const proof = results.shift();
      const code = mustHaveCode ? results.shift() : undefined;
      this.#read(`the proof of account ${target.address}`, () => this.#takeProof(target, proof, code));
    }
    return true;
  }

  #takeProof({ address, slots }: RemoteTarget, json: unknown, codeJson: unknown): void {
    const { accountProof, storageProof } = (json ?? {}) as { readonly accountProof?: unknown; readonly storageProof?: unknown };
    const leaf = verifyProof(this.block.header.stateRoot, keccak256(hexToBytes(address)), nodesOf(accountProof));
    const account = leaf && decodeAccount(leaf);
    if (codeJson !== undefined) {
      if (typeof codeJson !== "string") throw new Error("there is no code");
      this.#takeCode(account?.codeHash ?? EMPTY_KECCAK, hexToBytes(codeJson));
    }
    const proofs = Array.isArray(storageProof) ? (storageProof as readonly ({ readonly proof?: unknown } | null)[]) : [];
    if (proofs.length !== slots.length) throw new Error(`${proofs.length} proofs of ${slots.length} slots`);
    slots.forEach((slot, index) => {
      const value = account && verifyProof(account.storageRoot, keccak256(hexToBytes(slot)), nodesOf(proofs[index]?.proof));
      this.#remember(address, slot, value && padBytesLeft(expectRlpString(decodeRlp(value)), 32));
    });
    this.#accounts.set(address, account);
    this.#bytes += ENTRY_BYTES;
  }

  #fetchStated(targets: readonly RemoteTarget[]): void {
    const at = this.#number;
    const calls = targets.flatMap(({ address, slots }): RpcCall[] => [
      ...["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map((method) => ({ method, params: [address, at] })),
      ...slots.map((slot) => ({ method: "eth_getStorageAt", params: [address, slot, at] })),
    ]);
    const results = this.#rpc.batch(calls).map((each) => this.#resultOf(each));
    for (const { address, slots } of targets) {
      const [balance, nonce, code] = results.splice(0, 3);
      const words = results.splice(0, slots.length);
      this.#read(`account ${address}`, () => {
        const bytes = hexToBytes(String(code));
        const account = { balance: BigInt(String(balance)), nonce: BigInt(String(nonce)), codeHash: keccak256(bytes) };
        const isEmpty = account.balance === 0n && account.nonce === 0n && bytes.length === 0;
        this.#takeCode(account.codeHash, bytes);
        for (const [index, slot] of slots.entries()) this.#remember(address, slot, hexToFixedBytes(String(words[index]), 32));
        this.#accounts.set(address, isEmpty ? undefined : { ...account, storageRoot: EMPTY_TRIE_ROOT });
        this.#bytes += ENTRY_BYTES;
      });
    }
  }

  #takeCode(codeHash: Uint8Array, code: Uint8Array): void {
    if (!equalBytes(keccak256(code), codeHash)) throw new Error("the code does not have the hash that the account has");
    if (code.length === 0) return;
    this.#codes.set(bytesToHex(codeHash), code);
    this.#bytes += code.length;
  }

  #remember(address: Hex, slot: Hex, word: Uint8Array | undefined): void {
    this.#slots.set(slotKey(address, slot), word === undefined || isZeroBytes(word) ? undefined : word);
    this.#bytes += ENTRY_BYTES;
  }

  /** Everything can be asked again. */
  #forget(): void {
    for (const map of [this.#accounts, this.#slots, this.#hashes]) map.clear();
    this.#bytes = 0;
    for (const code of this.#codes.values()) this.#bytes += code.length; // code in use is asked for by its hash
  }

  #resultOf(outcome: RpcOutcome): unknown {
    if (outcome.kind === "result") return outcome.result;
    throw this.#failure(
      `refuses the state of block ${this.block.header.number}: ${outcome.message.slice(0, 300)} (${outcome.code})`,
    );
  }

  #read<T>(what: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.#failure(`does not give ${what} of block ${this.block.header.number} as the block has it: ${String(error)}`);
    }
  }

  #failure(what: string): RpcError {
    return new RpcError(SERVER_ERROR, `the endpoint of --fork-url, ${this.#rpc.host}, ${what}`);
  }
}

const slotKey = (address: Hex, slot: Hex): string => address + slot;

function nodesOf(json: unknown): Uint8Array[] {
  if (!Array.isArray(json)) throw new Error("there is no proof");
  return json.map((node) => hexToBytes(String(node)));
}

/**
 * The chain and the block to fork. @param number default: the latest @throws {RpcError} the endpoint does not have it, or gives another one
 */
export function readForkBlock(rpc: BlockingRpc, number: number | undefined): ForkBlock & { readonly chainId: bigint } {
  const fail = (what: string): RpcError => new RpcError(SERVER_ERROR, `the endpoint of --fork-url, ${rpc.host}, ${what}`);
  const tag = number === undefined ? "latest" : toQuantity(number);
  const [id, found] = rpc.batch([
    { method: "eth_chainId", params: [] },
    { method: "eth_getBlockByNumber", params: [tag, false] },
  ]);
  if (id?.kind !== "result" || typeof id.result !== "string") throw fail("does not say its chain id (eth_chainId)");
  if (found?.kind !== "result" || found.result === null) throw fail(`has no block ${tag}; choose another with --fork-block`);
  const header = headerFromRpc(found.result);
  const hash = hashHeader(header);
  const stated = String((found.result as { readonly hash?: unknown }).hash);
  if (bytesToHex(hash) !== stated)
    throw fail(`says that block ${header.number} has hash ${stated}, but its header has ${bytesToHex(hash)}`);
  if (number !== undefined && header.number !== number) throw fail(`gives block ${header.number} for block ${number}`);
  const withdrawals = header.withdrawalsRoot === undefined ? undefined : [];
  return { chainId: BigInt(id.result), block: { header, transactions: [], ommers: [], withdrawals }, hash };
}

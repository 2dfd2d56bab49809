import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import {
  asciiToBytes,
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
import type { ForkCache, ForkEntry, Provenance } from "./fork-cache.ts";

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
/** Slots in one proof. */
const MAX_PROOF_SLOTS = 256;
/** Limit for the slots of an access list from the endpoint; further slots are fetched when they are read. */
const MAX_EXPECTED_SLOTS = 4_096;
const MAX_EXPECTED_CALLS = 32;
const MAX_ASKED_CALLS = 10_000;

/** State that is likely to be read soon, computed at the first read of it. */
export interface Expectation {
  /** calls in the form of `eth_call` */
  readonly calls: () => readonly unknown[];
  readonly targets: () => readonly RemoteTarget[];
}

/**
 * The state after one block of another chain, fetched from an endpoint on demand and cached. Proven values are checked against
 * the block's state root, and code against its hash.
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
  #hasAccessLists = true;
  readonly #askedCalls = new Set<Hex>();
  #expected: Expectation | undefined;
  readonly #cache: ForkCache | undefined;
  /** fetched, and not in the cache yet */
  #fetched: ForkEntry[] = [];

  constructor({ block, hash }: ForkBlock, rpc: BlockingRpc, log: Pick<Logger, "warn">, cache?: ForkCache) {
    this.block = block;
    this.hash = hash;
    this.#rpc = rpc;
    this.#log = log;
    this.#cache = cache;
    this.#number = toQuantity(block.header.number);
    this.#readCache("proven");
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

  /** `undefined` if no fetched account has it. */
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
   * While `action` runs, the first value that is not known yet has all those fetched that are expected and that the endpoint says the calls
   * touch, with two requests.
   */
  expecting<T>(expected: Partial<Expectation>, action: () => T): T {
    const own = { calls: () => [], targets: () => [], ...expected };
    this.#expected = own;
    const end = (): void => {
      if (this.#expected === own) this.#expected = undefined;
    };
    let isPending = false;
    try {
      const result = action();
      if (result instanceof Promise) {
        isPending = true;
        return result.finally(end) as T;
      }
      return result;
    } finally {
      if (!isPending) end();
    }
  }

  /** Fetches the missing ones of these together. */
  prefetch(targets: readonly RemoteTarget[]): void {
    this.#fetch(targets);
  }

  #touchedBy(calls: readonly unknown[]): RemoteTarget[] {
    const asked = calls
      .slice(0, MAX_EXPECTED_CALLS)
      .map(withoutFees)
      .filter((call) => this.#isNewCall(call));
    if (asked.length === 0 || !this.#hasAccessLists) return [];
    const answers = this.#rpc.batch(asked.map((call) => ({ method: "eth_createAccessList", params: [call, this.#number] })));
    this.#hasAccessLists = !answers.some((answer) => answer.kind === "error" && answer.code === METHOD_NOT_FOUND);
    let slotsLeft = MAX_EXPECTED_SLOTS;
    return answers.flatMap((answer, index) => {
      const { from, to } = asked[index]!;
      const parties = [from, to].filter(isAddress).map((address) => ({ address: lower(address), slots: [] }));
      if (answer.kind !== "result") return parties; // it only saves requests
      const { accessList } = (answer.result ?? {}) as { readonly accessList?: unknown };
      if (!Array.isArray(accessList)) return parties;
      const touched = accessList
        .slice(0, MAX_EXPECTED_SLOTS)
        .flatMap((entry: { address?: unknown; storageKeys?: unknown } | null) => {
          const { address, storageKeys } = entry ?? {};
          if (!isAddress(address) || !Array.isArray(storageKeys)) return [];
          const slots = storageKeys.filter(isSlot).map(lower).slice(0, slotsLeft);
          slotsLeft -= slots.length;
          return [{ address: lower(address), slots }];
        });
      return [...parties, ...touched];
    });
  }

  /** A transaction is estimated, and then executed in a block: the endpoint would answer the same. */
  #isNewCall(call: unknown): boolean {
    const key = bytesToHex(keccak256(asciiToBytes(JSON.stringify(call))));
    if (this.#askedCalls.has(key)) return false;
    if (this.#askedCalls.size >= MAX_ASKED_CALLS) this.#askedCalls.clear();
    this.#askedCalls.add(key);
    return true;
  }

  #fetch(wanted: readonly RemoteTarget[]): void {
    if (this.#bytes > MAX_REMEMBERED_BYTES) this.#forget();
    this.#fetched = [];
    const expected = this.#expected;
    this.#expected = undefined;
    const soon = expected === undefined ? [] : [...expected.targets(), ...this.#touchedBy(expected.calls())];
    const merged = new Map<Hex, Set<Hex>>();
    for (const { address, slots } of [...wanted, ...soon]) {
      const all = merged.get(address) ?? new Set();
      for (const slot of slots) if (!this.#slots.has(slotKey(address, slot))) all.add(slot);
      if (all.size > 0 || !this.#accounts.has(address)) merged.set(address, all);
    }
    if (merged.size === 0) return;
    const targets = [...merged].map(([address, slots]) => ({ address, slots: [...slots] }));
    if (!this.#hasProofs || !this.#fetchProven(targets)) this.#fetchStated(targets);
    if (this.#fetched.length > 0) this.#cache?.add(this.#fetched, this.#hasProofs ? "proven" : "stated");
  }

  /** What no proof stands behind is only read for an endpoint that has no proofs. */
  #readCache(provenance: Provenance): void {
    for (const entry of this.#cache?.read(provenance) ?? []) {
      if (this.#bytes > MAX_REMEMBERED_BYTES / 2) break;
      const codeHash = entry.kind === "account" ? entry.account?.codeHash : undefined;
      const isComplete = codeHash === undefined || equalBytes(codeHash, EMPTY_KECCAK) || this.#codes.has(bytesToHex(codeHash));
      if (isComplete) this.#take(entry); // the code may have been in the other file
    }
  }

  #take(entry: ForkEntry): void {
    if (entry.kind === "account") this.#accounts.set(entry.address, entry.account);
    else if (entry.kind === "slot") this.#slots.set(slotKey(entry.address, entry.slot), entry.word);
    else this.#codes.set(bytesToHex(keccak256(entry.code)), entry.code);
    this.#bytes += entry.kind === "code" ? entry.code.length : ENTRY_BYTES;
  }

  #keep(entry: ForkEntry): void {
    this.#take(entry);
    if (this.#cache !== undefined) this.#fetched.push(entry);
  }

  /** @returns false: the endpoint has no proofs */
  #fetchProven(wanted: readonly RemoteTarget[]): boolean {
    const targets = wanted.flatMap(({ address, slots }) => {
      const parts = Array.from({ length: Math.max(1, Math.ceil(slots.length / MAX_PROOF_SLOTS)) }, (_, part) => part);
      return parts.map((part) => {
        const ofPart = slots.slice(part * MAX_PROOF_SLOTS, (part + 1) * MAX_PROOF_SLOTS);
        return { address, slots: ofPart, needsCode: part === 0 && !this.#accounts.has(address) };
      });
    });
    const calls = targets.flatMap(({ address, slots, needsCode }): RpcCall[] => [
      { method: "eth_getProof", params: [address, slots, this.#number] },
      ...(needsCode ? [{ method: "eth_getCode", params: [address, this.#number] }] : []),
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
      this.#readCache("stated");
      return false;
    }
    const results = outcomes.map((each) => this.#resultOf(each));
    for (const target of targets) {
      const proof = results.shift();
      const code = target.needsCode ? results.shift() : undefined;
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
    if (codeJson !== undefined) this.#keep({ kind: "account", address, account });
  }

  #fetchStated(targets: readonly RemoteTarget[]): void {
    const at = this.#number;
    const calls = targets.flatMap(({ address, slots }): RpcCall[] => [
      ...["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map((method) => ({ method, params: [address, at] })),
      ...slots.map((slot) => ({ method: "eth_getStorageAt", params: [address, slot, at] })),
    ]);
    // The block's number is all that such a request names: the chain may have another block there now.
    const [block, ...outcomes] = this.#rpc.batch([{ method: "eth_getBlockByNumber", params: [at, false] }, ...calls]);
    this.#requireBlock(block!);
    const results = outcomes.map((each) => this.#resultOf(each));
    for (const { address, slots } of targets) {
      const [balance, nonce, code] = results.splice(0, 3);
      const words = results.splice(0, slots.length);
      this.#read(`account ${address}`, () => {
        const bytes = hexToBytes(String(code));
        const account = { balance: BigInt(String(balance)), nonce: BigInt(String(nonce)), codeHash: keccak256(bytes) };
        const isEmpty = account.balance === 0n && account.nonce === 0n && bytes.length === 0;
        this.#takeCode(account.codeHash, bytes);
        for (const [index, slot] of slots.entries()) this.#remember(address, slot, hexToFixedBytes(String(words[index]), 32));
        this.#keep({ kind: "account", address, account: isEmpty ? undefined : { ...account, storageRoot: EMPTY_TRIE_ROOT } });
      });
    }
  }

  #takeCode(codeHash: Uint8Array, code: Uint8Array): void {
    if (!equalBytes(keccak256(code), codeHash)) throw new Error("the code does not have the hash that the account has");
    if (code.length > 0 && !this.#codes.has(bytesToHex(codeHash))) this.#keep({ kind: "code", code });
  }

  #remember(address: Hex, slot: Hex, word: Uint8Array | undefined): void {
    this.#keep({ kind: "slot", address, slot, word: word === undefined || isZeroBytes(word) ? undefined : word });
  }

  /** Everything can be asked again. */
  #forget(): void {
    for (const map of [this.#accounts, this.#slots, this.#hashes, this.#askedCalls]) map.clear();
    this.#bytes = 0;
    for (const code of this.#codes.values()) this.#bytes += code.length; // code in use is looked up by its hash
  }

  #resultOf(outcome: RpcOutcome): unknown {
    if (outcome.kind === "result") return outcome.result;
    throw this.#failure(
      `refuses the state of block ${this.block.header.number}: ${outcome.message.slice(0, 300)} (${outcome.code})`,
    );
  }

  #requireBlock(outcome: RpcOutcome): void {
    const stated = String((this.#resultOf(outcome) as { readonly hash?: unknown } | null)?.hash);
    const { number } = this.block.header;
    const own = bytesToHex(this.hash);
    if (stated !== own)
      throw this.#failure(
        `has another block ${number} now (${stated} instead of ${own}): the forked block left its chain; fork a finalized one, with --fork-block or anvil_reset`,
      );
  }

  #read<T>(what: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#requireBlock(this.#rpc.batch([{ method: "eth_getBlockByNumber", params: [this.#number, false] }])[0]!);
      throw this.#failure(`does not give ${what} of block ${this.block.header.number} as the block has it: ${String(error)}`);
    }
  }

  #failure(what: string): RpcError {
    return new RpcError(SERVER_ERROR, `the endpoint of --fork-url, ${this.#rpc.host}, ${what}`);
  }
}

const isAddress = (value: unknown): value is Hex => typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);
const isSlot = (value: unknown): value is Hex => typeof value === "string" && /^0x[0-9a-fA-F]{64}$/.test(value);
const lower = (value: Hex): Hex => value.toLowerCase() as Hex;

/** The sender may have no funds on the endpoint's chain. */
function withoutFees(call: unknown): Readonly<Record<string, unknown>> {
  const { from, to, input, data, value, accessList } = (call ?? {}) as Record<string, unknown>;
  const given = Object.entries({ from, to, input: input ?? data, value, accessList });
  return Object.fromEntries(given.filter(([, each]) => each !== undefined && each !== null));
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

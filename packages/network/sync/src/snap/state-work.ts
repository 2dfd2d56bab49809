import type { AccountRange, RangeRow, StatePeer, StorageRanges } from "@rnode/devp2p";
import { decodeSlimAccount } from "@rnode/devp2p";
import type { AccountRecord } from "@rnode/evm";
import {
  bytesToHex,
  CodedError,
  compareBytes,
  decodeRlp,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  type Hex,
  keccak256,
} from "@rnode/primitives";
import { KeyTable } from "@rnode/storage";
import { encodeAccount, type TrieAccount, verifyRange } from "@rnode/trie";
import { FIRST_KEY, type KeyRange, LAST_KEY, restAfter, splitKeys } from "./key-range.ts";

/** Takes the rows of a state in any order, each once. */
export interface StateSink {
  /** @param hash keccak256 of the address */
  addHashedAccount(hash: Uint8Array, account: AccountRecord): void;
  /** @param value 32 bytes, not zero */
  addHashedSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
  addCode(code: Uint8Array): void;
}

export interface StateCounts {
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
}

/** "nothing": the peer does not have the state. */
export type TaskOutcome = "rows" | "nothing";

/** A part of a state that one request asks for. */
export interface StateTask {
  /** Asks a peer. @returns gives the answer to the sink, once it is verified; it throws {CodedError} sync/bad-state, trie/bad-proof, rlp/* */
  ask(peer: StatePeer, signal: AbortSignal): Promise<() => TaskOutcome>;
  /** Nothing came of it. */
  giveBack(): void;
}

/** Geth's: of the rows or codes in an answer */
const ANSWER_BYTES = 512 * 1024;
/** Ranges of accounts that are fetched at the same time. */
const ACCOUNT_RANGES = 16;
/** Parts of the slots of an account with more than an answer has. */
const SLOT_RANGES = 8;
/** Accounts whose slots one request asks for. */
const OWNERS = 128;
const CODES = 64;
/** No more accounts are fetched while so many wait for their slots or codes. */
const MAX_WAITING = 20_000;

/** An account whose slots are missing. */
interface Owner {
  readonly hash: Uint8Array;
  readonly root: Uint8Array;
}

/** Everything that is missing of the state with one root. */
export class StateWork {
  readonly #root: Uint8Array;
  readonly #sink: StateSink;
  readonly #accounts: KeyRange[];
  readonly #owners: Owner[] = [];
  readonly #slots: { readonly owner: Owner; readonly range: KeyRange }[] = [];
  readonly #codes: Uint8Array[] = [];
  readonly #knownCodes = new KeyTable(32);
  readonly #counts = { accounts: 0, slots: 0, codes: 0 };
  #underWay = 0;

  constructor(root: Uint8Array, sink: StateSink) {
    this.#root = root;
    this.#sink = sink;
    const all = { from: FIRST_KEY, to: LAST_KEY };
    this.#accounts = equalBytes(root, EMPTY_TRIE_ROOT) ? [] : splitKeys(all, ACCOUNT_RANGES);
  }

  get counts(): StateCounts {
    return { ...this.#counts };
  }

  get isDone(): boolean {
    return this.#underWay === 0 && this.#accounts.length + this.#owners.length + this.#slots.length + this.#codes.length === 0;
  }

  /** The next task; `undefined`: there is none until one that is under way has ended. */
  next(): StateTask | undefined {
    const slots = this.#slots.shift();
    if (slots !== undefined) return this.#slotsTask(slots.owner, slots.range);
    const isFull = this.#owners.length >= MAX_WAITING || this.#codes.length >= MAX_WAITING;
    const accounts = isFull ? undefined : this.#accounts[0];
    if (this.#owners.length >= (accounts === undefined ? 1 : OWNERS)) return this.#ownersTask(this.#owners.splice(0, OWNERS));
    if (this.#codes.length >= (accounts === undefined ? 1 : CODES)) return this.#codesTask(this.#codes.splice(0, CODES));
    if (accounts === undefined) return undefined;
    this.#accounts.shift();
    return this.#accountsTask(accounts);
  }

  #task<Answer>(
    request: (peer: StatePeer, signal: AbortSignal) => Promise<Answer>,
    take: (answer: Answer) => TaskOutcome,
    giveBack: () => void,
  ): StateTask {
    this.#underWay++;
    return {
      ask: async (peer, signal) => {
        const answer = await request(peer, signal);
        return () => {
          const outcome = take(answer);
          this.#underWay--;
          if (outcome === "nothing") giveBack();
          return outcome;
        };
      },
      giveBack: () => {
        this.#underWay--;
        giveBack();
      },
    };
  }

  #accountsTask(range: KeyRange): StateTask {
    const request = { root: this.#root, origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      (peer, signal) => peer.accounts(request, signal),
      (answer) => this.#takeAccounts(range, answer),
      () => this.#accounts.unshift(range),
    );
  }

  #takeAccounts(range: KeyRange, { accounts, proof }: AccountRange): TaskOutcome {
    if (accounts.length === 0 && proof.length === 0) return "nothing";
    const rows = accounts.map(({ hash, body }) => ({ hash, account: decodeSlimAccount(body) }));
    const entries = rows.map(({ hash, account }) => ({ key: hash, value: encodeAccount(account) }));
    const { hasMore } = verifyRange(this.#root, { origin: range.from, entries, proof });
    for (const { hash, account } of rows) if (compareBytes(hash, range.to) <= 0) this.#addAccount(hash, account);
    const rest = hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#accounts.push(rest);
    return "rows";
  }

  #addAccount(hash: Uint8Array, { nonce, balance, codeHash, storageRoot }: TrieAccount): void {
    this.#sink.addHashedAccount(hash, { nonce, balance, codeHash });
    this.#counts.accounts++;
    if (!equalBytes(storageRoot, EMPTY_TRIE_ROOT)) this.#owners.push({ hash, root: storageRoot });
    if (equalBytes(codeHash, EMPTY_KECCAK) || this.#knownCodes.find(codeHash) >= 0) return;
    this.#knownCodes.add(codeHash);
    this.#codes.push(codeHash);
  }

  /** All slots of some accounts. */
  #ownersTask(owners: readonly Owner[]): StateTask {
    const accounts = owners.map(({ hash }) => hash);
    const request = { root: this.#root, accounts, origin: FIRST_KEY, limit: LAST_KEY, bytes: ANSWER_BYTES };
    return this.#task(
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeOwners(owners, answer),
      () => this.#owners.unshift(...owners),
    );
  }

  #takeOwners(owners: readonly Owner[], { slots: given, proof }: StorageRanges): TaskOutcome {
    if (given.length === 0 && proof.length === 0) return "nothing";
    const slots = given.length === 0 ? [[]] : given; // an empty list may be left out
    if (slots.length > owners.length) throw badState(`slots of ${slots.length} accounts, and ${owners.length} were asked for`);
    const last = slots.length - 1;
    let hasMore = false;
    for (const [index, rows] of slots.entries()) {
      const range = { origin: FIRST_KEY, entries: entriesOf(rows), proof: index === last ? proof : [] };
      ({ hasMore } = verifyRange(owners[index]!.root, range));
    }
    for (const [index, rows] of slots.entries()) this.#addSlots(owners[index]!, rows);
    if (hasMore) this.#splitRest(owners[last]!, slots[last]!.at(-1)!.hash);
    this.#owners.unshift(...owners.slice(slots.length));
    return "rows";
  }

  #splitRest(owner: Owner, last: Uint8Array): void {
    const rest = restAfter({ from: FIRST_KEY, to: LAST_KEY }, last);
    for (const range of rest === undefined ? [] : splitKeys(rest, SLOT_RANGES)) this.#slots.push({ owner, range });
  }

  /** A range of the slots of one account. */
  #slotsTask(owner: Owner, range: KeyRange): StateTask {
    const request = { root: this.#root, accounts: [owner.hash], origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeSlots(owner, range, answer),
      () => this.#slots.unshift({ owner, range }),
    );
  }

  #takeSlots(owner: Owner, range: KeyRange, { slots: [rows = [], ...others], proof }: StorageRanges): TaskOutcome {
    if (rows.length === 0 && proof.length === 0) return "nothing";
    if (others.length > 0) throw badState(`slots of ${others.length + 1} accounts, and one was asked for`);
    const { hasMore } = verifyRange(owner.root, { origin: range.from, entries: entriesOf(rows), proof });
    this.#addSlots(
      owner,
      rows.filter(({ hash }) => compareBytes(hash, range.to) <= 0),
    );
    const rest = hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#slots.push({ owner, range: rest });
    return "rows";
  }

  #addSlots({ hash: owner }: Owner, rows: readonly RangeRow[]): void {
    for (const { hash, body } of rows) {
      const value = expectRlpString(decodeRlp(body));
      const word = new Uint8Array(32);
      word.set(value, 32 - value.length);
      this.#sink.addHashedSlot(owner, hash, word);
    }
    this.#counts.slots += rows.length;
  }

  #codesTask(hashes: readonly Uint8Array[]): StateTask {
    return this.#task(
      (peer, signal) => peer.codes({ hashes, bytes: ANSWER_BYTES }, signal),
      (codes) => this.#takeCodes(hashes, codes),
      () => this.#codes.unshift(...hashes),
    );
  }

  #takeCodes(hashes: readonly Uint8Array[], codes: readonly Uint8Array[]): TaskOutcome {
    if (codes.length === 0) return "nothing";
    const missing = new Map<Hex, Uint8Array>(hashes.map((hash) => [bytesToHex(hash), hash]));
    for (const code of codes) {
      const hash = bytesToHex(keccak256(code));
      if (!missing.delete(hash)) throw badState(`the code ${hash}, which was not asked for`);
    }
    for (const code of codes) this.#sink.addCode(code);
    this.#counts.codes += codes.length;
    this.#codes.push(...missing.values());
    return "rows";
  }
}

/** @throws {CodedError} sync/bad-state: a value of more than 32 bytes, which no trie of a chain has */
function entriesOf(rows: readonly RangeRow[]): { readonly key: Uint8Array; readonly value: Uint8Array }[] {
  return rows.map(({ hash, body }) => {
    if (body.length > 33) throw badState(`a slot of ${body.length} bytes`);
    return { key: hash, value: body };
  });
}

const badState = (reason: string): CodedError => new CodedError("sync/bad-state", { reason });

import type { AccountRange, RangeRow, StatePeer, StorageRanges } from "@rnode/devp2p";
import { decodeSlimAccount } from "@rnode/devp2p";
import {
  bytesToHex,
  compareBytes,
  decodeRlp,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  type Hex,
  keccak256,
} from "@rnode/primitives";
import { encodeAccount, type TrieAccount, type VerifiedRange, verifyRange } from "@rnode/trie";
import { FIRST_KEY, isBelow, type KeyRange, LAST_KEY, restAfter, shareOf, splitKeys } from "./key-range.ts";
import { StateHeal } from "./state-heal.ts";
import { badState, type MixedRows, type StateTask, type TaskOutcome } from "./state-task.ts";

/** Geth's: of the rows or codes in an answer */
const ANSWER_BYTES = 512 * 1024;
/** Ranges of accounts that are fetched at the same time. */
const ACCOUNT_RANGES = 16;
/** Parts of the slots of an account with more than an answer has. */
const SLOT_RANGES = 8;
/** Accounts whose slots one request asks for. */
const OWNERS = 128;
const CODES = 64;
/** Nodes with fewer rows are hashed again. */
const MIN_REMEMBERED = 16;
/** Accounts that one request reads again. */
const STALE = 1_024;
/** No more accounts are fetched while so many wait for their slots or codes. */
const MAX_WAITING = 20_000;

/** An account whose slots are missing. */
interface Owner {
  readonly hash: Uint8Array;
  /** of its storage trie */
  readonly root: Uint8Array;
  /** root of the state in which it has this storage trie */
  readonly state: Uint8Array;
}

/** What is missing of a state, as plain data. */
interface Missing {
  readonly accounts: KeyRange[];
  /** none of their slots are there */
  readonly owners: Owner[];
  /** of accounts some of whose slots are there */
  readonly slots: { readonly owner: Owner; readonly range: KeyRange }[];
  /** accounts of an earlier state, whose storage root must be read again; without ranges: none of their slots are there */
  readonly stale: { readonly owner: Owner; readonly ranges: readonly KeyRange[] }[];
  readonly codes: Uint8Array[];
}

/** For a later download. */
export interface StateProgress extends Missing {
  readonly root: Uint8Array;
  /** "mixed": the rows are of several states, and must be healed */
  readonly rows: "pure" | "mixed";
}

/** The rows, as they are kept. */
export type WorkRows = MixedRows & {
  commit(progress: StateProgress): void;
};

/**
 * Everything that is missing of the state with one root. The root can change: ranges that are missing are then those of the new state, and when nothing is missing
 * any more, the rows of all states are made those of the last one (`StateHeal`).
 */
export class StateWork {
  #root: Uint8Array;
  readonly #sink: WorkRows;
  readonly #missing: Missing;
  readonly #underWay = new Set<Partial<Missing>>();
  readonly #wantedCodes: Set<Hex>;
  #isMixed: boolean;
  #heal: StateHeal | undefined;
  /** by earlier heals */
  #healedNodes = 0;

  /** @param from what an earlier download left */
  constructor(root: Uint8Array, sink: WorkRows, from?: StateProgress) {
    this.#sink = sink;
    const all = equalBytes(root, EMPTY_TRIE_ROOT) ? [] : splitKeys({ from: FIRST_KEY, to: LAST_KEY }, ACCOUNT_RANGES);
    const { accounts, owners, slots, stale, codes } = from ?? { accounts: all, owners: [], slots: [], stale: [], codes: [] };
    this.#root = from?.root ?? root;
    this.#isMixed = from?.rows === "mixed";
    this.#missing = { accounts, owners, slots, stale, codes };
    this.#wantedCodes = new Set(codes.map((hash) => bytesToHex(hash)));
    this.moveTo(root);
  }

  get root(): Uint8Array {
    return this.#root;
  }

  get isDone(): boolean {
    return this.#hasRows && (!this.#isMixed || this.#heal?.isDone === true);
  }

  /** Rows are being compared with those of the state, so all changes must be committed at once. */
  get isHealing(): boolean {
    return this.#heal !== undefined;
  }

  /** The part of all accounts' keys that is fetched, from 0 to 1. */
  get share(): number {
    const ranges = [this.#missing, ...this.#underWay].flatMap(({ accounts = [] }) => accounts);
    return 1 - ranges.reduce((sum, range) => sum + shareOf(range), 0);
  }

  /** Nodes that were fetched to heal the rows. */
  get healedNodes(): number {
    return this.#healedNodes + (this.#heal?.nodes ?? 0);
  }

  get #hasRows(): boolean {
    const { accounts, owners, slots, stale, codes } = this.#missing;
    return this.#underWay.size === 0 && accounts.length + owners.length + slots.length + stale.length + codes.length === 0;
  }

  /** From now on, the state with this root is wanted. */
  moveTo(root: Uint8Array): void {
    if (equalBytes(root, this.#root)) return;
    this.#root = root;
    this.#isMixed = true;
    this.#healedNodes = this.healedNodes;
    this.#heal?.end();
    this.#heal = undefined;
    const { owners, slots } = this.#missing;
    this.#addOwners(owners.splice(0));
    for (const { owner, range } of slots.splice(0)) this.#addSlotRange(owner, range);
  }

  /** Of the state that was wanted when they were read. */
  #addOwners(owners: readonly Owner[]): void {
    for (const owner of owners) {
      if (equalBytes(owner.state, this.#root)) this.#missing.owners.push(owner);
      else this.#missing.stale.push({ owner, ranges: [] });
    }
  }

  #addSlotRange(owner: Owner, range: KeyRange): void {
    if (equalBytes(owner.state, this.#root)) this.#missing.slots.push({ owner, range });
    else this.#missing.stale.push({ owner, ranges: [range] });
  }

  /** What is missing now, requests under way included. */
  progress(): StateProgress {
    const parts = [this.#missing, ...this.#underWay];
    return {
      root: this.#root,
      rows: this.#isMixed ? "mixed" : "pure",
      accounts: parts.flatMap(({ accounts = [] }) => accounts),
      owners: parts.flatMap(({ owners = [] }) => owners),
      slots: parts.flatMap(({ slots = [] }) => slots),
      stale: parts.flatMap(({ stale = [] }) => stale),
      codes: parts.flatMap(({ codes = [] }) => codes),
    };
  }

  /** The next task; `undefined`: there is none until one that is under way has ended. */
  next(): StateTask | undefined {
    const { accounts, owners, slots, stale, codes } = this.#missing;
    if (stale.length > 0) return this.#staleTask();
    const part = slots.shift();
    if (part !== undefined) return this.#slotsTask(part);
    const isFull = owners.length >= MAX_WAITING || codes.length >= MAX_WAITING;
    const range = isFull ? undefined : accounts[0];
    if (owners.length >= (range === undefined ? 1 : OWNERS)) return this.#ownersTask(owners.splice(0, OWNERS));
    if (codes.length >= (range === undefined ? 1 : CODES)) return this.#codesTask(codes.splice(0, CODES));
    if (range === undefined) return this.#healTask();
    accounts.shift();
    return this.#accountsTask(range);
  }

  /** @param wanted is missing again if nothing comes of it */
  #task<Answer>(
    wanted: Partial<Missing>,
    request: (peer: StatePeer, signal: AbortSignal) => Promise<Answer>,
    take: (answer: Answer) => TaskOutcome,
  ): StateTask {
    this.#underWay.add(wanted);
    const giveBack = (): void => {
      if (!this.#underWay.delete(wanted)) return;
      this.#missing.accounts.unshift(...(wanted.accounts ?? []));
      this.#missing.stale.unshift(...(wanted.stale ?? []));
      this.#missing.codes.unshift(...(wanted.codes ?? []));
      this.#addOwners(wanted.owners ?? []);
      for (const { owner, range } of wanted.slots ?? []) this.#addSlotRange(owner, range);
    };
    return {
      ask: async (peer, signal) => {
        const answer = await request(peer, signal);
        return () => {
          const outcome = take(answer);
          if (outcome === "nothing") giveBack();
          else this.#underWay.delete(wanted);
          return outcome;
        };
      },
      giveBack,
    };
  }

  #healTask(): StateTask | undefined {
    if (!this.#isMixed || !this.#hasRows || this.isDone) return this.#heal?.next();
    if (this.#heal === undefined) {
      this.#sink.commit(this.progress()); // what is compared
      this.#heal = new StateHeal(this.#root, this.#sink, (account) => this.#wantCode(account));
    }
    return this.#heal.next();
  }

  #accountsTask(range: KeyRange): StateTask {
    const root = this.#root;
    const request = { root, origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      { accounts: [range] },
      (peer, signal) => peer.accounts(request, signal),
      (answer) => this.#takeAccounts(root, range, answer),
    );
  }

  #takeAccounts(root: Uint8Array, range: KeyRange, answer: AccountRange): TaskOutcome {
    const found = verifiedAccounts(root, range.from, answer);
    if (found === undefined) return "nothing";
    const { rows, hasMore } = found;
    for (const { hash, account } of rows) {
      if (compareBytes(hash, range.to) > 0) break;
      this.#sink.addAccount(hash, account);
      this.#wantPartsOf(hash, account, root);
    }
    this.#remember(undefined, found, range);
    const rest = hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#missing.accounts.push(rest);
    return "rows";
  }

  /** What an answer proves of the rows that were taken from it. */
  #remember(owner: Uint8Array | undefined, { nodes }: VerifiedRange, { to }: KeyRange): void {
    for (const node of nodes) if (node.entries >= MIN_REMEMBERED && isBelow(node.path, to)) this.#sink.remember(owner, node);
  }

  #wantPartsOf(hash: Uint8Array, account: TrieAccount, state: Uint8Array): void {
    const { storageRoot: root } = account;
    if (!equalBytes(root, EMPTY_TRIE_ROOT)) this.#addOwners([{ hash, root, state }]);
    this.#wantCode(account);
  }

  /** Accounts of an earlier state, in one range. */
  #staleTask(): StateTask {
    const root = this.#root;
    const stale = this.#missing.stale.sort((a, b) => compareBytes(a.owner.hash, b.owner.hash)).splice(0, STALE);
    const [from, to] = [stale[0]!.owner.hash, stale.at(-1)!.owner.hash];
    return this.#task(
      { stale },
      (peer, signal) => peer.accounts({ root, origin: from, limit: to, bytes: ANSWER_BYTES }, signal),
      (answer) => {
        const found = verifiedAccounts(root, from, answer);
        if (found === undefined) return "nothing";
        const accounts = new Map(found.rows.map(({ hash, account }) => [bytesToHex(hash), account]));
        const last = found.hasMore ? found.rows.at(-1)!.hash : LAST_KEY;
        for (const each of stale) {
          const { hash } = each.owner;
          if (compareBytes(hash, last) > 0) this.#missing.stale.push(each);
          else this.#renew(each, accounts.get(bytesToHex(hash)), root);
        }
        return "rows";
      },
    );
  }

  /** @param account as it is in that state; `undefined`: it does not exist any more */
  #renew({ owner, ranges }: Missing["stale"][number], account: TrieAccount | undefined, state: Uint8Array): void {
    const { hash } = owner;
    if (account === undefined) {
      this.#sink.markDirty(hash);
      return;
    }
    this.#sink.changeAccount(hash, account);
    if (ranges.length === 0) {
      this.#wantPartsOf(hash, account, state);
      return;
    }
    this.#wantCode(account);
    const { storageRoot: root } = account;
    if (!equalBytes(root, owner.root)) this.#sink.markDirty(hash);
    if (equalBytes(root, EMPTY_TRIE_ROOT)) return;
    for (const range of ranges) this.#addSlotRange({ hash, root, state }, range);
  }

  #wantCode({ codeHash }: TrieAccount): void {
    if (equalBytes(codeHash, EMPTY_KECCAK)) return;
    const code = bytesToHex(codeHash);
    if (this.#wantedCodes.has(code) || this.#sink.hasCode(codeHash)) return;
    this.#wantedCodes.add(code);
    this.#missing.codes.push(codeHash);
  }

  /** All slots of some accounts. */
  #ownersTask(owners: Owner[]): StateTask {
    const accounts = owners.map(({ hash }) => hash);
    const request = { root: this.#root, accounts, origin: FIRST_KEY, limit: LAST_KEY, bytes: ANSWER_BYTES };
    return this.#task(
      { owners },
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeOwners(owners, answer),
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
    this.#addOwners(owners.slice(slots.length));
    return "rows";
  }

  #splitRest(owner: Owner, last: Uint8Array): void {
    const rest = restAfter({ from: FIRST_KEY, to: LAST_KEY }, last);
    for (const range of rest === undefined ? [] : splitKeys(rest, SLOT_RANGES)) this.#addSlotRange(owner, range);
  }

  /** A range of the slots of one account. */
  #slotsTask(part: Missing["slots"][number]): StateTask {
    const { owner, range } = part;
    const request = { root: this.#root, accounts: [owner.hash], origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      { slots: [part] },
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeSlots(owner, range, answer),
    );
  }

  #takeSlots(owner: Owner, range: KeyRange, { slots: [rows = [], ...others], proof }: StorageRanges): TaskOutcome {
    if (rows.length === 0 && proof.length === 0) return "nothing";
    if (others.length > 0) throw badState(`slots of ${others.length + 1} accounts, and one was asked for`);
    const found = verifyRange(owner.root, { origin: range.from, entries: entriesOf(rows), proof });
    this.#addSlots(
      owner,
      rows.filter(({ hash }) => compareBytes(hash, range.to) <= 0),
    );
    this.#remember(owner.hash, found, range);
    const rest = found.hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#addSlotRange(owner, rest);
    return "rows";
  }

  #addSlots({ hash: owner }: Owner, rows: readonly RangeRow[]): void {
    for (const { hash, body } of rows) this.#sink.addSlot(owner, hash, expectRlpString(decodeRlp(body)));
  }

  #codesTask(hashes: Uint8Array[]): StateTask {
    return this.#task(
      { codes: hashes },
      (peer, signal) => peer.codes({ hashes, bytes: ANSWER_BYTES }, signal),
      (codes) => this.#takeCodes(hashes, codes),
    );
  }

  #takeCodes(hashes: readonly Uint8Array[], codes: readonly Uint8Array[]): TaskOutcome {
    if (codes.length === 0) return "nothing";
    const missing = new Map<Hex, Uint8Array>(hashes.map((hash) => [bytesToHex(hash), hash]));
    for (const code of codes) {
      const hash = bytesToHex(keccak256(code));
      if (!missing.delete(hash)) throw badState(`the code ${hash}, which was not asked for`);
      this.#wantedCodes.delete(hash);
    }
    for (const code of codes) this.#sink.addCode(code);
    this.#missing.codes.push(...missing.values());
    return "rows";
  }
}

/** @returns `undefined`: the peer does not have the state. @throws {CodedError} trie/bad-proof, rlp/* */
function verifiedAccounts(
  root: Uint8Array,
  origin: Uint8Array,
  { accounts, proof }: AccountRange,
): (VerifiedRange & { readonly rows: readonly { readonly hash: Uint8Array; readonly account: TrieAccount }[] }) | undefined {
  if (accounts.length === 0 && proof.length === 0) return undefined;
  const rows = accounts.map(({ hash, body }) => ({ hash, account: decodeSlimAccount(body) }));
  const entries = rows.map(({ hash, account }) => ({ key: hash, value: encodeAccount(account) }));
  return { rows, ...verifyRange(root, { origin, entries, proof }) };
}

/** @throws {CodedError} sync/bad-state: a value of more than 32 bytes, which no trie of a chain has */
function entriesOf(rows: readonly RangeRow[]): { readonly key: Uint8Array; readonly value: Uint8Array }[] {
  return rows.map(({ hash, body }) => {
    if (body.length > 33) throw badState(`a slot of ${body.length} bytes`);
    return { key: hash, value: body };
  });
}

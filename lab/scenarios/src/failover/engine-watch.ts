import type { PendingBlock } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { decodeTransaction, type Flashblock, isSigned, type Transaction } from "@rnode/protocol";
import { type FakeChain, headerOf, idOf, rootAfter, type SimBlock } from "./fake-chain.ts";

/** A promise to the clients of one engine: the transactions of users that it has shown on a parent, in order. */
export interface Promised {
  readonly parent: Hex;
  readonly users: readonly Hex[];
}

export interface EngineWatchDeps {
  readonly chain: FakeChain;
  readonly publisher: { readonly building: number | undefined };
  readonly pending: PendingBlocks;
  readonly report: (rule: string, detail: string) => void;
}

/** The stream that an engine should show, by what was delivered to it alone. */
interface Stream {
  readonly payloadId: Hex;
  readonly parent: Hex;
  readonly number: number;
  next: number;
  users: Hex[];
  /** over all its transactions */
  root: Uint8Array;
  /** its next part does not follow: its producer was started again, and has built it anew */
  isBroken: boolean;
}

const NOTHING: Promised = { parent: "0x", users: [] };

/**
 * The model of one engine, from its start to its crash. It knows only the messages that were delivered to the engine, the parts that the engine
 * published, and its head; and of rengine's code only which block is being built there.
 *
 * - `shown`: if the parts 0 to k of a payload on the head were delivered, each first at its turn, and no part 0 of another payload since, the pending
 *   block is that after part k. A part that comes before its turn is lost unless it comes again. A part with another root ends its block. Parts of a number that is built here do not count.
 * - `promised`: the latest of what was shown by this rule, and of the own parts. A build on the same parent must begin with its transactions.
 * - `broken`: how many of these transactions the block of their number did not have, or not at their place.
 */
export class EngineWatch {
  promised = NOTHING;
  broken = 0;
  readonly #deps: EngineWatchDeps;
  /** `payload id:index` of all parts that were delivered in order, or published here, with their fingerprints */
  readonly #shownOnce = new Set<Hex>();
  readonly #seen = new Map<string, string>();
  readonly #ended = new Set<Hex>();
  #stream: Stream | undefined;
  /** what builds had to begin with, by payload id */
  readonly #begun = new Map<Hex, Promised>();
  /** the last own part, by payload id */
  readonly #own = new Map<Hex, PendingBlock>();

  constructor(deps: EngineWatchDeps) {
    this.#deps = deps;
  }

  /** @returns whether the part came at its turn */
  onDelivered(part: Flashblock): boolean {
    const { chain, publisher } = this.#deps;
    const { payloadId, index, base, blockNumber, diff } = part;
    if (blockNumber <= Math.max(publisher.building ?? -1, chain.head().number) || this.#ended.has(payloadId)) return false;
    const key = `${payloadId}:${index}`;
    const fingerprint = fingerprintOf(diff.receiptsRoot, diff.transactions.length);
    const before = this.#seen.get(key);
    if (before !== undefined) {
      if (before !== fingerprint) this.#end(payloadId);
      return false;
    }
    if (base !== undefined) {
      this.#end(this.#stream?.payloadId);
      this.#stream = {
        payloadId,
        parent: bytesToHex(base.parentHash),
        number: blockNumber,
        next: 0,
        users: [],
        root: base.parentHash,
        isBroken: false,
      };
    }
    const stream = this.#stream;
    if (stream?.payloadId !== payloadId || stream.next !== index || stream.isBroken) return false;
    const added = diff.transactions.map((each) => decodeTransaction(each));
    stream.root = rootAfter(stream.root, added);
    if (fingerprintOf(stream.root, added.length) !== fingerprint) {
      stream.isBroken = true;
      this.#show();
      return false;
    }
    this.#seen.set(key, fingerprint);
    stream.next++;
    stream.users = [...stream.users, ...usersOf(added)];
    this.#show();
    return true;
  }

  /** The block is about to become the head. */
  onBlock(block: SimBlock): void {
    const { parent, users } = this.promised;
    if (parent !== bytesToHex(headerOf(block).parentHash)) return;
    const sealed = usersOf(block.block.transactions);
    this.broken += users.filter((each, at) => sealed[at] !== each).length;
  }

  /** After the head has changed, and whatever follows from that. */
  onHead(): void {
    if (this.#stream !== undefined && this.#stream.number <= this.#deps.chain.head().number) this.#end(this.#stream.payloadId);
    this.#show();
  }

  onBuild(payloadId: Hex, parent: SimBlock): void {
    if (this.#stream !== undefined && this.#stream.number <= headerOf(parent).number + 1) this.#end(this.#stream.payloadId);
    this.#begun.set(payloadId, this.promised.parent === parent.hashHex ? this.promised : { parent: parent.hashHex, users: [] });
  }

  onOwnPart(part: PendingBlock): void {
    const { payloadId, index, block, earlier } = part;
    const before = this.#own.get(payloadId);
    const { report } = this.#deps;
    if (before !== undefined && before.index + 1 !== index)
      report("own-parts", `part ${index} of ${payloadId} after part ${before.index}`);
    if (before !== undefined && !beginsWith(usersOf(block.transactions), usersOf(before.block.transactions)))
      report("taken-back", `by part ${index} of ${payloadId}`);
    if (before === undefined && index > 0 && this.#seen.get(`${payloadId}:${index - 1}`) === undefined)
      report("own-parts", `part ${index} of ${payloadId} without the one before`);
    if (before !== undefined && before.block.transactions.length !== earlier)
      report("own-parts", `part ${index} of ${payloadId} repeats transactions`);
    this.#own.set(payloadId, part);
    this.#seen.set(`${payloadId}:${index}`, fingerprintOf(block.header.receiptsRoot, block.transactions.length - earlier));
    this.#ended.add(payloadId);
    this.promised = { parent: bytesToHex(block.header.parentHash), users: usersOf(block.transactions) };
  }

  /** A block that was built here, when it is let out; perhaps before the engine's last start. */
  checkSealed(payloadId: Hex, sealed: SimBlock): void {
    if (!this.#begun.has(payloadId)) return;
    const { report } = this.#deps;
    const { number } = headerOf(sealed);
    const users = usersOf(sealed.block.transactions);
    for (const [at, each] of this.begunWith(payloadId).entries())
      if (users[at] !== each)
        report(users.includes(each) ? "moved" : "lost", `transaction ${at} that block ${number} was to begin with`);
    const published = this.#own.get(payloadId)?.block.transactions;
    const parts = published === undefined ? this.begunWith(payloadId) : usersOf(published); // all of it may have been published before
    if (!isSame(parts, users)) report("not-its-parts", `block ${number}`);
  }

  /** @param isDue what is delivered must be shown now */
  check(isDue: boolean): void {
    const { chain, pending, publisher, report } = this.#deps;
    const stream = this.#stream;
    const { hash } = chain.head();
    if (!isDue || stream === undefined || stream.parent !== hash || stream.next === 0 || publisher.building !== undefined) return;
    const shown = pending.on(hash);
    const [has, wanted] = [`${shown?.payloadId}:${shown?.index}`, `${stream.payloadId}:${stream.next - 1}`];
    if (has !== wanted) report("shown", `${has} is the pending block, expected ${wanted}`);
  }

  /** Whether the transaction was ever in a followed part that was shown here. */
  hasShown(transaction: Hex): boolean {
    return this.#shownOnce.has(transaction);
  }

  begunWith(payloadId: Hex): readonly Hex[] {
    return (this.#begun.get(payloadId) ?? NOTHING).users;
  }

  #show(): void {
    const stream = this.#stream;
    if (stream === undefined || stream.parent !== this.#deps.chain.head().hash) return;
    for (const each of stream.users) this.#shownOnce.add(each);
    if (stream.next > 0) this.promised = { parent: stream.parent, users: stream.users };
    if (stream.isBroken) this.#end(stream.payloadId);
  }

  #end(payloadId: Hex | undefined): void {
    if (payloadId === undefined) return;
    this.#ended.add(payloadId);
    if (this.#stream?.payloadId === payloadId) this.#stream = undefined;
  }
}

const fingerprintOf = (root: Uint8Array, added: number): string => `${bytesToHex(root)}+${added}`;

/** The transactions of users, which keep their order also after other deposits. */
export const usersOf = (transactions: readonly Transaction[]): Hex[] => transactions.filter(isSigned).map(idOf);

const beginsWith = (all: readonly unknown[], first: readonly unknown[]): boolean => first.every((each, at) => all[at] === each);

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && beginsWith(a, b);

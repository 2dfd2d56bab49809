import type { MethodTable, RequestContext } from "@rnode/jsonrpc";
import { bytesToBigint, bytesToHex, concatBytes, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { type L1BlockRef, logFromRpc, messageHash, PREDEPLOYS } from "@rnode/protocol";
import { type ManagedApi, type ManagedEventJson, managedEventToJson, managedMethods } from "@rnode/rnode";

type Ref = L1BlockRef;

/** A rollup node, as its supervisor reaches it. */
export interface NodeLink {
  /** of the `interop_` namespace, without its name. @throws {RpcError} */
  call<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Events as they come, from the subscription on. */
  subscribe(hear: (event: ManagedEventJson) => void): void;
}

/** What a supervisor must know of L1. */
export interface SupervisedL1 {
  /** undefined: not yet */
  blockAt(number: number): Promise<Ref | undefined> | Ref | undefined;
  finalizedNumber(): Promise<number> | number;
  isCanonical(block: Ref): Promise<boolean> | boolean;
}
type Receipt = { readonly logs: readonly unknown[] };

/** `ExecutingMessage(bytes32 indexed msgHash, (address,uint256,uint256,uint256,uint256) id)` */
export const EXECUTING_MESSAGE_TOPIC = keccak256(
  new TextEncoder().encode("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"),
);
const NOBODY: RequestContext = { transport: "ws", remoteAddress: "", isGone: false, onGone: () => () => {} };
const TICK_MS = 250;

interface Derived {
  readonly block: Ref;
  readonly source: Ref;
}

type Verdict =
  | { readonly kind: "valid"; readonly source: Ref }
  | { readonly kind: "invalid" }
  /** it names a block that is not safe there yet */
  | { readonly kind: "undecided" };

/** A node in this process, as over a socket: parameters and results are JSON. */
export function linkTo(api: ManagedApi): NodeLink {
  const methods: MethodTable = managedMethods(api);
  return {
    call: async <T>(method: string, ...params: unknown[]): Promise<T> => {
      const { params: declared, handler } = methods[`interop_${method}`]!;
      const args = declared.map(({ shape }, i) => shape.parse(JSON.parse(JSON.stringify(params[i]))));
      return JSON.parse(JSON.stringify((await handler(args, NOBODY)) ?? null)) as T;
    },
    subscribe: (hear) => {
      api.events.subscribe((event) => hear(JSON.parse(JSON.stringify(managedEventToJson(event))) as ManagedEventJson));
      api.commands.onSubscribed();
    },
  };
}

/** A node of the cluster, and what its supervisor knows of it. */
class Member {
  readonly name: string;
  readonly chainId: bigint;
  readonly events: ManagedEventJson[] = [];
  /** local-safe blocks by number */
  readonly derived = new Map<number, Derived>();
  crossSafe = 0;
  crossUnsafe = 0;
  finalized = 0;
  unsafe = 0;
  /** all L1 blocks up to this one have been used */
  exhausted: Ref | undefined;
  mustReset = false;
  readonly replaced: { readonly number: number; readonly invalidated: Hex; readonly replacement: Hex }[] = [];
  readonly #link: NodeLink;

  constructor(name: string, chainId: bigint, link: NodeLink) {
    this.name = name;
    this.chainId = chainId;
    this.#link = link;
    link.subscribe((event) => this.#hear(event));
  }

  /** @throws {RpcError} */
  call<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    return this.#link.call(method, ...params);
  }

  #hear(event: ManagedEventJson): void {
    this.events.push(event);
    const { reset, unsafeBlock, derivationUpdate, derivationOriginUpdate, exhaustL1, replaceBlock } = event;
    if (reset !== null) this.mustReset = true;
    if (unsafeBlock !== null) this.unsafe = unsafeBlock.number;
    if (exhaustL1 !== null) this.exhausted = exhaustL1.source;
    if (derivationUpdate !== null && derivationOriginUpdate === null) {
      const { derived: block, source } = derivationUpdate;
      if (this.derived.get(block.number)?.block.hash !== block.hash) this.forgetFrom(block.number);
      if (!this.derived.has(block.number)) this.derived.set(block.number, { block, source });
    }
    if (replaceBlock !== null) {
      const { replacement, invalidated } = replaceBlock;
      const source = this.derived.get(replacement.number)!.source;
      this.forgetFrom(replacement.number);
      this.derived.set(replacement.number, { block: replacement, source });
      this.crossSafe = replacement.number;
      this.crossUnsafe = Math.min(this.crossUnsafe, replacement.number);
      this.replaced.push({ number: replacement.number, invalidated, replacement: replacement.hash });
    }
  }

  forgetFrom(number: number): void {
    for (const known of this.derived.keys()) if (known >= number) this.derived.delete(known);
  }
}

/**
 * A supervisor as small as one can be: it provides L1 blocks, compares each executing message with the log that it names, calls blocks
 * cross-safe once all that they depend on is, and has blocks with invalid messages replaced.
 */
export class SimSupervisor {
  readonly members: Member[] = [];
  readonly #l1: SupervisedL1;
  readonly #clock: { after(ms: number, act: () => void): unknown };
  readonly #onInvalid: (chainId: bigint, number: number) => void;
  readonly #resets: boolean;
  #isStopped = false;

  constructor(deps: {
    readonly l1: SupervisedL1;
    readonly clock: { after(ms: number, act: () => void): unknown };
    readonly onInvalid: (chainId: bigint, number: number) => void;
    /** whether it tells nodes that start over from where to; default: it does */
    readonly resets?: boolean | undefined;
  }) {
    this.#l1 = deps.l1;
    this.#clock = deps.clock;
    this.#onInvalid = deps.onInvalid;
    this.#resets = deps.resets ?? true;
  }

  add(name: string, chainId: bigint, link: NodeLink): Member {
    const member = new Member(name, chainId, link);
    const at = this.members.findIndex((other) => other.name === name);
    if (at < 0) this.members.push(member);
    else {
      // It was restarted: what was known of it still holds.
      const before = this.members[at]!;
      for (const [number, derived] of before.derived) member.derived.set(number, derived);
      member.crossSafe = before.crossSafe;
      member.mustReset = true;
      this.members[at] = member;
    }
    return member;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#clock.after(TICK_MS, () => void this.#tick().then(() => this.start()));
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #tick(): Promise<void> {
    for (const member of this.members) {
      try {
        await this.#reset(member);
        await this.#provide(member);
        await this.#promote(member);
        await this.#finalize(member);
      } catch {
        // a node that is busy, or not there: the next tick tries again
      }
    }
  }

  async #reset(member: Member): Promise<void> {
    if (!member.mustReset || !this.#resets) return;
    // What came from L1 blocks that are gone no longer holds.
    for (const [number, { source }] of member.derived) if (!(await this.#l1.isCanonical(source))) member.forgetFrom(number);
    while (member.crossSafe > 0 && !member.derived.has(member.crossSafe)) member.crossSafe--;
    const safe = member.derived.get(member.crossSafe)?.block;
    if (safe !== undefined) {
      const ids = [safe, safe, safe, safe].map(({ hash, number }) => ({ hash, number }));
      const { hash } = await member.call<Ref>("blockRefByNumber", 0);
      await member.call("reset", ...ids, { hash, number: 0 });
      member.crossUnsafe = member.crossSafe;
    }
    member.mustReset = false;
  }

  async #provide(member: Member): Promise<void> {
    const { exhausted } = member;
    if (exhausted === undefined) return;
    const next = await this.#l1.blockAt(exhausted.number + 1);
    if (next === undefined) return;
    member.exhausted = undefined;
    const { hash, number, parentHash, timestamp } = next;
    await member.call("provideL1", { hash, number, parentHash, timestamp }).catch((error: unknown) => {
      member.exhausted = exhausted;
      throw error;
    });
  }

  async #finalize(member: Member): Promise<void> {
    const l1Finalized = await this.#l1.finalizedNumber();
    let final: Ref | undefined;
    for (const [number, { block, source }] of member.derived) {
      if (number > member.finalized && number <= member.crossSafe && source.number <= l1Finalized) final = block;
    }
    if (final === undefined) return;
    await member.call("updateFinalized", { hash: final.hash, number: final.number });
    member.finalized = final.number;
  }

  async #promote(member: Member): Promise<void> {
    for (let next = member.derived.get(member.crossSafe + 1); next !== undefined; ) {
      const { block, source } = next;
      const verdict = await this.#judge(member, block, source);
      if (verdict.kind === "undecided") break;
      if (verdict.kind === "invalid") {
        this.#onInvalid(member.chainId, block.number);
        await member.call("invalidateBlock", { hash: block.hash, number: block.number, timestamp: block.timestamp });
        return;
      }
      const id = { hash: block.hash, number: block.number };
      await member.call("updateCrossSafe", id, { hash: verdict.source.hash, number: verdict.source.number });
      member.crossSafe = block.number;
      next = member.derived.get(member.crossSafe + 1);
    }
    while (member.crossUnsafe < member.unsafe) {
      const number = Math.max(member.crossUnsafe + 1, member.crossSafe);
      const { hash } = await member.call<Ref>("blockRefByNumber", number);
      if ((await this.#messagesOf(member, hash)).length > 0 && number > member.crossSafe) break;
      await member.call("updateCrossUnsafe", { hash, number });
      member.crossUnsafe = number;
    }
  }

  async #messagesOf(member: Member, blockHash: Hex): Promise<{ readonly id: Uint8Array; readonly payloadHash: Uint8Array }[]> {
    const receipts = await member.call<Receipt[]>("fetchReceipts", blockHash);
    return receipts
      .flatMap(({ logs }) => logs.map(logFromRpc))
      .filter(({ address, topics }) => {
        const isInbox = bytesToHex(address) === bytesToHex(PREDEPLOYS.crossL2Inbox);
        return isInbox && bytesToHex(topics[0] ?? new Uint8Array()) === bytesToHex(EXECUTING_MESSAGE_TOPIC);
      })
      .map(({ topics, data }) => ({ id: data, payloadHash: topics[1]! }));
  }

  async #judge(member: Member, block: Ref, source: Ref): Promise<Verdict> {
    let last = source;
    for (const { id, payloadHash } of await this.#messagesOf(member, block.hash)) {
      const word = (at: number): bigint => bytesToBigint(id.subarray(32 * at, 32 * at + 32));
      const [number, logIndex, timestamp, chainId] = [Number(word(1)), Number(word(2)), Number(word(3)), word(4)];
      const initiating = this.members.find((other) => other.chainId === chainId);
      if (initiating === undefined || timestamp > block.timestamp) return { kind: "invalid" };
      const derived = initiating.derived.get(number);
      if (derived === undefined || initiating.crossSafe < number) return { kind: "undecided" };
      const receipts = await initiating.call<Receipt[]>("fetchReceipts", derived.block.hash);
      const log = receipts.flatMap(({ logs }) => logs.map(logFromRpc)).find((one) => one.logIndex === logIndex);
      const isRight =
        log !== undefined &&
        derived.block.timestamp === timestamp &&
        bytesToHex(log.address) === bytesToHex(id.subarray(12, 32)) &&
        bytesToHex(messageHash(log)) === bytesToHex(payloadHash);
      if (!isRight) return { kind: "invalid" };
      if (derived.source.number > last.number) last = derived.source;
    }
    return { kind: "valid", source: last };
  }
}

/** What `CrossL2Inbox.validateMessage` is called with. */
export function validateMessageCalldata(
  id: {
    readonly origin: Uint8Array;
    readonly blockNumber: number;
    readonly logIndex: number;
    readonly timestamp: number;
    readonly chainId: bigint;
  },
  payloadHash: Uint8Array,
): Uint8Array {
  const word = (value: bigint): Uint8Array => hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
  const words = [BigInt(id.blockNumber), BigInt(id.logIndex), BigInt(id.timestamp), id.chainId].map(word);
  return concatBytes(new Uint8Array(4), new Uint8Array(12), id.origin, ...words, payloadHash);
}

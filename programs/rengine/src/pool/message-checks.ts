import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, isCodedError } from "@rnode/primitives";
import { decodeMessageAccesses, messageStorageKeys, type SignedTransaction } from "@rnode/protocol";
import { type Execution, FAILSAFE } from "./message-filter.ts";
import type { MessageChecker, Verdict } from "./message-quorum.ts";

export interface MessageChecksDeps {
  /** undefined: no filter is given, so messages cannot be executed here */
  readonly checker: MessageChecker | undefined;
  /** whether blocks of this time may execute messages */
  readonly isActiveAt: (timestampSec: number) => boolean;
  readonly nowSec: () => number;
  /** turns a refusal of ours into the profile's words */
  readonly refusal: (reason: string) => RpcError;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

/** As the specification has it for pools: the message must stay valid for a day. */
const POOL_TIMEOUT_SEC = 86_400;
/** A block is built so soon after its parent, on every chain that is known. */
const BUILD_TIMEOUT_SEC = 12;
/** Users who wait for a check at the same time; further ones are refused. */
const MAX_WAITING = 256;
/** Transactions of the pool that execute messages; each is checked for each block. */
const MAX_TRACKED = 1_000;

/** Transactions that are checked at the same time for a new head, as many as op-reth checks. */
const MAX_QUERIES = 10;

interface Tracked {
  readonly storageKeys: readonly Uint8Array[];
  /** the head at which its messages were found valid; undefined: not yet */
  confirmedAt: number | undefined;
}

/**
 * Transactions that execute messages of other chains: whether the messages exist and are safe enough is asked of interop filters before
 * they are admitted to the pool, and again for each new head, because a message can vanish. Blocks take only those that were found valid
 * since the newest head. Those that are found invalid leave the pool; while a filter is in failsafe, all of them do. `FailsafeWatch`
 * notices a failsafe between two checks.
 *
 * Spec: https://specs.optimism.io/interop/tx-pool.html, docs/protocol/01-execution.md#interop-execution
 */
export class MessageChecks {
  private readonly deps: MessageChecksDeps;
  private readonly tracked = new Map<Hex, Tracked>();
  private readonly outcomes;
  private waiting = 0;
  /** counts heads */
  private head = 0;
  private isInFailsafe = false;
  /** what was logged since the last head for which all checks had a verdict */
  private readonly said = new Set<Verdict["kind"]>();

  constructor(deps: MessageChecksDeps) {
    this.deps = deps;
    this.outcomes = deps.metrics.counter<{ outcome: Verdict["kind"] }>(
      "txpool_message_checks_total",
      "Checks of messages from other chains at the interop filters, by outcome.",
      ["outcome"],
    );
    deps.metrics.gaugeOf("txpool_message_transactions", "Transactions in the pool that execute messages.", () => this.tracked.size);
  }

  async close(): Promise<void> {
    await this.deps.checker?.close();
  }

  get hasFilters(): boolean {
    return this.deps.checker !== undefined;
  }

  /** Nothing in the pool executes messages: blocks need no looking at it. */
  get isIdle(): boolean {
    return this.tracked.size === 0;
  }

  /** Whether a filter refuses all messages for now; `undefined` if this is not known. */
  async askFailsafe(signal: AbortSignal): Promise<boolean | undefined> {
    return this.deps.checker?.isInFailsafe(signal);
  }

  /** A failsafe begins or ends. Until it ends, no message is admitted or included. @param remove as for `onHead` */
  setFailsafe(isInFailsafe: boolean, remove: (hash: Uint8Array, reason: string) => void): void {
    this.isInFailsafe = isInFailsafe;
    if (!isInFailsafe) return;
    this.noteTrouble({ kind: "failsafe", error: failsafeError() });
    this.dropAll([...this.tracked], failsafeError(), remove);
  }

  /**
   * Checks the messages of a transaction before it is admitted.
   *
   * @throws {RpcError} a filter's refusal as it is, or ours
   */
  async admit(transaction: SignedTransaction): Promise<void> {
    const storageKeys = storageKeysOf(transaction);
    const { checker, refusal, isActiveAt, nowSec, log } = this.deps;
    const timestampSec = nowSec();
    if (!isActiveAt(timestampSec)) throw refusal("transactions cannot execute messages of other chains yet: interop is not active");
    try {
      decodeMessageAccesses(storageKeys);
    } catch (error) {
      if (!isCodedError(error, "interop/")) throw error;
      throw refusal(error.message);
    }
    if (checker === undefined) {
      throw refusal("messages of other chains cannot be checked: this node has no interop filter (--rollup.interop-http)");
    }
    if (this.isInFailsafe) throw failsafeError();
    if (this.waiting >= MAX_WAITING || this.tracked.size >= MAX_TRACKED) {
      throw refusal("too many transactions with messages of other chains are waiting: try again later");
    }
    this.waiting++;
    try {
      const verdict = await checker.check(storageKeys, { timestampSec, timeoutSec: POOL_TIMEOUT_SEC });
      this.outcomes.inc({ outcome: verdict.kind });
      if (verdict.kind === "valid") return;
      if (verdict.kind !== "undecided" || verdict.error !== undefined) throw verdict.error; // unchanged: code, message and data
      const { reason } = verdict;
      log.debug("messages of a transaction could not be checked", { reason });
      throw new RpcError(SERVER_ERROR, `messages of other chains cannot be checked now: ${reason}`);
    } finally {
      this.waiting--;
    }
  }

  /** A transaction is in the pool. @param isChecked its messages were just found valid */
  track(hash: Uint8Array, transaction: SignedTransaction, isChecked: boolean): void {
    const storageKeys = storageKeysOf(transaction);
    if (storageKeys.length === 0) return;
    this.tracked.set(bytesToHex(hash), { storageKeys, confirmedAt: isChecked ? this.head : undefined });
  }

  /** Whether a block that is built now may have it. */
  isIncludable(hash: Uint8Array): boolean {
    const tracked = this.tracked.get(bytesToHex(hash));
    return tracked === undefined || (tracked.confirmedAt === this.head && !this.isInFailsafe);
  }

  /**
   * There is a new head: everything is checked again.
   *
   * @param inPool whether the pool still has a transaction
   * @param remove drops one whose messages are not valid any more
   */
  async onHead(
    headTimestampSec: number,
    inPool: (hash: Uint8Array) => boolean,
    remove: (hash: Uint8Array, reason: string) => void,
  ): Promise<void> {
    const head = ++this.head;
    for (const hash of this.tracked.keys()) if (!inPool(hexToBytes(hash))) this.tracked.delete(hash);
    const { checker } = this.deps;
    if (checker === undefined || this.tracked.size === 0) return;
    if (this.isInFailsafe) return this.dropAll([...this.tracked], failsafeError(), remove);
    const execution = {
      timestampSec: Math.max(headTimestampSec + 1, Math.min(this.deps.nowSec(), headTimestampSec + BUILD_TIMEOUT_SEC)),
      timeoutSec: BUILD_TIMEOUT_SEC,
    };
    const open = [...this.tracked];
    let isQuiet = true;
    const work = async (): Promise<void> => {
      for (let next = open.shift(); next !== undefined && this.head === head; next = open.shift()) {
        const [hash, tracked] = next;
        if (this.tracked.get(hash) !== tracked) continue;
        const verdict = await this.recheck(checker, tracked, execution, head);
        if (verdict.kind === "undecided" || verdict.kind === "failsafe") isQuiet = false;
        if (verdict.kind !== "refused" && verdict.kind !== "failsafe") continue;
        this.dropAll(verdict.kind === "failsafe" ? [...this.tracked] : [next], verdict.error, remove);
      }
    };
    await Promise.all(Array.from({ length: MAX_QUERIES }, work));
    if (isQuiet) this.said.clear();
  }

  private dropAll(
    transactions: readonly (readonly [Hex, Tracked])[],
    { message, code }: RpcError,
    remove: (hash: Uint8Array, reason: string) => void,
  ): void {
    for (const [hash, entry] of transactions) {
      if (this.tracked.get(hash) !== entry) continue;
      this.tracked.delete(hash);
      remove(hexToBytes(hash), `${message} (${code})`);
    }
  }

  private async recheck(checker: MessageChecker, tracked: Tracked, execution: Execution, head: number): Promise<Verdict> {
    const verdict = await checker.check(tracked.storageKeys, execution);
    this.outcomes.inc({ outcome: verdict.kind });
    if (verdict.kind === "valid") tracked.confirmedAt = head;
    this.noteTrouble(verdict);
    return verdict;
  }

  /** One line when checks begin to fail, not one for each transaction and head. */
  private noteTrouble(verdict: Verdict): void {
    const { log } = this.deps;
    if (verdict.kind === "valid" || verdict.kind === "refused" || this.said.has(verdict.kind)) return;
    this.said.add(verdict.kind);
    if (verdict.kind === "failsafe") log.warn("an interop filter is in failsafe: all messages of other chains are refused");
    if (verdict.kind === "undecided")
      log.warn("messages of other chains cannot be checked: their transactions wait", { reason: verdict.reason });
  }
}

const failsafeError = (): RpcError => new RpcError(FAILSAFE, "an interop filter is in failsafe: all messages are refused");

/** Whether a transaction may execute messages of other chains: its access list says so. */
export const hasMessages = (transaction: SignedTransaction): boolean => storageKeysOf(transaction).length > 0;

const storageKeysOf = (transaction: SignedTransaction): Uint8Array[] =>
  "accessList" in transaction ? messageStorageKeys(transaction.accessList) : [];

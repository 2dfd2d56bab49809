import { createRpcClient, RpcError, RpcTransportError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, isCodedError, toQuantity } from "@rnode/primitives";
import { decodeMessageAccesses, messageStorageKeys, type SignedTransaction } from "@rnode/protocol";
import type { SafetyLevel } from "./safety-levels.ts";

/** When messages are executed, and how long they must stay valid after that. */
export interface Execution {
  readonly timestampSec: number;
  readonly timeoutSec: number;
}

export interface MessageSupervisor {
  /** for logs: without credentials and path */
  readonly endpoint: string;
  /** @throws {RpcError} the supervisor's refusal; {RpcTransportError} no answer */
  check(storageKeys: readonly Uint8Array[], execution: Execution): Promise<void>;
  close(): Promise<void>;
}

/** A check is a look-up in the supervisor's database; one that takes longer is no use to a block builder. */
const CHECK_TIMEOUT_MS = 2_000;
const MAX_CONCURRENCY = 16;

/** `supervisor_checkAccessList` at an endpoint. */
export function createMessageSupervisor(url: string, minSafety: SafetyLevel): MessageSupervisor {
  const client = createRpcClient({
    url,
    timeoutMs: CHECK_TIMEOUT_MS,
    maxConcurrency: MAX_CONCURRENCY,
    maxResponseBytes: 64 * 1024,
  });
  return {
    endpoint: client.endpoint,
    check: async (storageKeys, { timestampSec, timeoutSec }) => {
      const executing = { timestamp: toQuantity(timestampSec), timeout: toQuantity(timeoutSec) };
      await client.call("supervisor_checkAccessList", [storageKeys.map(bytesToHex), minSafety, executing]);
    },
    close: () => client.close(),
  };
}

export interface MessageChecksDeps {
  /** undefined: there is no supervisor, so messages cannot be executed here */
  readonly supervisor: MessageSupervisor | undefined;
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

/** Answers that may be another one soon: the transaction stays in the pool, and out of blocks. Spec: docs/protocol/04-rpc.md#supervisor-errors */
const PASSING_CODES: ReadonlySet<number> = new Set([
  -320400, // the chain's database is not ready yet
  -320901, // a replacement block is awaited
  -321401, // future data
]);

interface Tracked {
  readonly storageKeys: readonly Uint8Array[];
  /** the head at which its messages were found valid; undefined: not yet */
  confirmedAt: number | undefined;
}

/**
 * Transactions that execute messages of other chains: whether the messages exist and are safe enough is asked of a supervisor before they
 * are admitted to the pool, and again for each new head, because a message can vanish. Blocks take only those that were found valid since
 * the newest head, and those that are found invalid leave the pool.
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
  private hasSaidSilent = false;

  constructor(deps: MessageChecksDeps) {
    this.deps = deps;
    this.outcomes = deps.metrics.counter<{ outcome: "valid" | "refused" | "unanswered" }>(
      "txpool_message_checks_total",
      "Checks of messages from other chains at the supervisor, by outcome.",
      ["outcome"],
    );
    deps.metrics.gaugeOf("txpool_message_transactions", "Transactions in the pool that execute messages.", () => this.tracked.size);
  }

  async close(): Promise<void> {
    await this.deps.supervisor?.close();
  }

  get hasSupervisor(): boolean {
    return this.deps.supervisor !== undefined;
  }

  /** Nothing in the pool executes messages: blocks need no looking at it. */
  get isIdle(): boolean {
    return this.tracked.size === 0;
  }

  /**
   * Checks the messages of a transaction before it is admitted.
   *
   * @throws {RpcError} the supervisor's refusal as it is, or ours
   */
  async admit(transaction: SignedTransaction): Promise<void> {
    const storageKeys = storageKeysOf(transaction);
    const { supervisor, refusal, isActiveAt, nowSec, log } = this.deps;
    const timestampSec = nowSec();
    if (!isActiveAt(timestampSec)) throw refusal("transactions cannot execute messages of other chains yet: interop is not active");
    try {
      decodeMessageAccesses(storageKeys);
    } catch (error) {
      if (!isCodedError(error, "interop/")) throw error;
      throw refusal(error.message);
    }
    if (supervisor === undefined) {
      throw refusal("messages of other chains cannot be checked: this node has no supervisor (--rollup.supervisor-http)");
    }
    if (this.waiting >= MAX_WAITING || this.tracked.size >= MAX_TRACKED) {
      throw refusal("too many transactions with messages of other chains are waiting: try again later");
    }
    this.waiting++;
    try {
      await supervisor.check(storageKeys, { timestampSec, timeoutSec: POOL_TIMEOUT_SEC });
      this.outcomes.inc({ outcome: "valid" });
    } catch (error) {
      if (error instanceof RpcError) {
        this.outcomes.inc({ outcome: "refused" });
        throw error; // passed on unchanged: code, message and data
      }
      if (!(error instanceof RpcTransportError)) throw error;
      this.outcomes.inc({ outcome: "unanswered" });
      log.debug("the supervisor was not reached for a transaction", { endpoint: supervisor.endpoint, reason: error.message });
      throw new RpcError(
        SERVER_ERROR,
        `messages of other chains cannot be checked now: the supervisor does not answer (${error.code})`,
      );
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
    return tracked === undefined || tracked.confirmedAt === this.head;
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
    const { supervisor } = this.deps;
    if (supervisor === undefined || this.tracked.size === 0) return;
    const execution = {
      timestampSec: Math.max(headTimestampSec + 1, Math.min(this.deps.nowSec(), headTimestampSec + BUILD_TIMEOUT_SEC)),
      timeoutSec: BUILD_TIMEOUT_SEC,
    };
    const open = [...this.tracked];
    const work = async (): Promise<void> => {
      for (let next = open.shift(); next !== undefined && this.head === head; next = open.shift()) {
        const [hash, tracked] = next;
        if (this.tracked.get(hash) !== tracked) continue;
        const refusal = await this.recheck(supervisor, tracked, execution, head);
        if (refusal === undefined || this.tracked.get(hash) !== tracked) continue;
        this.tracked.delete(hash);
        remove(hexToBytes(hash), refusal);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENCY }, work));
  }

  /** @returns why it is no longer valid; undefined: it is valid, or its status is unknown */
  private async recheck(
    supervisor: MessageSupervisor,
    tracked: Tracked,
    execution: Execution,
    head: number,
  ): Promise<string | undefined> {
    try {
      await supervisor.check(tracked.storageKeys, execution);
      this.outcomes.inc({ outcome: "valid" });
      tracked.confirmedAt = head;
      this.hasSaidSilent = false;
      return undefined;
    } catch (error) {
      if (error instanceof RpcError) {
        this.outcomes.inc({ outcome: "refused" });
        return PASSING_CODES.has(error.code) ? undefined : `${error.message} (${error.code})`;
      }
      if (!(error instanceof RpcTransportError)) throw error;
      this.outcomes.inc({ outcome: "unanswered" });
      if (!this.hasSaidSilent) {
        this.hasSaidSilent = true;
        this.deps.log.warn("the supervisor does not answer: transactions with messages of other chains wait", {
          endpoint: supervisor.endpoint,
          reason: error.message,
        });
      }
      return undefined;
    }
  }
}

/** Whether a transaction may execute messages of other chains: its access list says so. */
export const hasMessages = (transaction: SignedTransaction): boolean => storageKeysOf(transaction).length > 0;

const storageKeysOf = (transaction: SignedTransaction): Uint8Array[] =>
  "accessList" in transaction ? messageStorageKeys(transaction.accessList) : [];

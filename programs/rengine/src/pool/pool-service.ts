import type { BestTransactions, Chain, HeadChange, SenderSource } from "@rnode/chain";
import {
  checkConditional,
  type PooledSidecar,
  type Profile,
  type SubmissionTerms,
  type TransactionConditional,
} from "@rnode/eth-api";
import { RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { type BlobSidecar, blockRules, hashTransaction, isSigned, type SignedTransaction } from "@rnode/protocol";
import {
  type AddResult,
  effectiveTip,
  type PooledTransaction,
  type PoolLimits,
  type PoolWait,
  TransactionPool,
} from "@rnode/txpool";
import { hasMessages, type MessageChecks } from "./message-checks.ts";
import { poolHeadOf } from "./pool-head.ts";
import type { PoolJournal } from "./pool-journal.ts";
import { pooledTransaction } from "./pooled-transaction.ts";
import { readSubmission } from "./submission.ts";

/** Sends raw transactions to the sequencer. */
export interface Forwarder {
  /** @throws {RpcError} the sequencer's error, or that it cannot be reached */
  send(raw: Uint8Array): Promise<void>;
  sendConditional(raw: Uint8Array, conditional: TransactionConditional): Promise<void>;
}

export interface PoolServiceOptions extends Partial<PoolLimits> {
  /** the most that a transaction sent over RPC may pay for all of its gas, wei; 0: no cap */
  readonly feeCapWei: bigint;
  /** users' transactions are not local (`PooledTransaction.isLocal`) because they were sent to this node */
  readonly hasNoLocals: boolean;
  /** whose transactions are local wherever they come from; 20 bytes each */
  readonly localSenders: readonly Uint8Array[];
}

/** What only a chain with blobs needs. */
interface BlobChecks {
  /** Whether the blobs are those of their commitments. @throws {CodedError} kzg/*: it cannot be said now */
  verify(sidecar: BlobSidecar): Promise<boolean>;
  /** Converts blob proofs into cell proofs, for forks that need these; undefined: such transactions are rejected */
  readonly proveCells?: ((sidecar: BlobSidecar) => Promise<BlobSidecar>) | undefined;
  /** The blobs of a transaction that has left the chain; undefined: they are not available. */
  readonly ofRemoved?: ((versionedHashes: readonly Uint8Array[]) => BlobSidecar | undefined) | undefined;
}

export interface PoolServiceDependencies {
  readonly chain: Chain;
  readonly profile: Profile;
  readonly senders: SenderSource;
  /** undefined: the sequencer builds blocks from this node's own pool */
  readonly forwarder: Forwarder | undefined;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  readonly nowSec: () => number;
  /** undefined: an OP Stack chain, which has no blobs */
  readonly blobs?: BlobChecks | undefined;
  /** undefined: transactions cannot execute messages of other chains */
  readonly messages?: MessageChecks | undefined;
  /** undefined: transactions do not survive a restart */
  readonly journal?: Pick<PoolJournal, "append"> | undefined;
}

export const createPoolMetrics = (m: MetricFactory) => ({
  pending: m.gauge("txpool_pending_transactions", "Executable transactions in the pool."),
  queued: m.gauge("txpool_queued_transactions", "Transactions that wait for a nonce or for funds."),
  refused: m.counter<{ reason: string }>("txpool_refused_total", "Transactions refused, by reason.", ["reason"]),
});

/** Keeps the transaction pool in step with the head of the chain, and accepts transactions from users. */
export class PoolService {
  readonly pool: TransactionPool;
  readonly #chain: Chain;
  readonly #dependencies: PoolServiceDependencies;
  readonly #options: PoolServiceOptions;
  readonly #localSenders: ReadonlySet<string>;
  readonly #metrics: ReturnType<typeof createPoolMetrics>;
  readonly #stop: () => void;
  /** by transaction hash */
  readonly #conditionals = new Map<string, TransactionConditional>();
  /** transactions whose conditions were not met when a block was built */
  readonly #unmet: Uint8Array[] = [];
  readonly #messages: MessageChecks | undefined;
  /** sidecars of the pool's blob transactions, by transaction hash */
  readonly #sidecars = new Map<string, BlobSidecar>();
  /** lowest tip for transactions in blocks built here (`miner_setGasPrice`), wei per unit of gas */
  #minimumTipWei = 0n;

  constructor(options: PoolServiceOptions, dependencies: PoolServiceDependencies) {
    const { chain } = dependencies;
    this.#chain = chain;
    this.#options = options;
    this.#localSenders = new Set(options.localSenders.map((sender) => bytesToHex(sender)));
    this.#dependencies = dependencies;
    this.#messages = dependencies.messages;
    this.#metrics = createPoolMetrics(dependencies.metrics);
    this.pool = new TransactionPool(this.#headOfChain(), options);
    chain.setPendingSource({ best: (baseFeeWei, block) => this.#best(baseFeeWei, block) });
    this.#stop = chain.onHeadChange((change) => this.#follow(change));
  }

  close(): void {
    this.#stop();
  }

  onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void {
    return this.pool.onPending(listener);
  }

  /** Sets the lowest tip for transactions in blocks built here. */
  setMinimumTip(tipWei: bigint): void {
    this.#minimumTipWei = tipWei;
  }

  async nextNonceOf(sender: Uint8Array): Promise<bigint | undefined> {
    return this.pool.nextNonce(sender);
  }

  /** The blobs of a transaction in the pool. */
  sidecarOf(hash: Uint8Array): BlobSidecar | undefined {
    return this.#sidecars.get(bytesToHex(hash));
  }

  /** The blobs of all transactions in the pool. */
  *sidecars(): Iterable<PooledSidecar> {
    for (const [hash, sidecar] of this.#sidecars) {
      const transaction = this.pool.get(hexToBytes(hash))?.transaction;
      if (transaction?.type === 0x03) yield { versionedHashes: transaction.blobVersionedHashes, sidecar };
    }
  }

  /** Takes in a transaction that an earlier run kept. @returns whether it is in the pool again */
  restore(raw: Uint8Array): boolean {
    try {
      const pooled = this.#read(raw);
      const isAdded = this.pool.add(pooled).kind === "added";
      if (isAdded) this.#messages?.track(pooled.hash, pooled.transaction, false);
      this.#count();
      return isAdded;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#dependencies.log.debug("transaction of the journal left out", { reason: error.message });
      return false;
    }
  }

  get heldBytes(): number {
    return this.pool.encodedBytes;
  }

  /** The transactions that survive a restart: none with blobs, and no conditional ones, whose conditions are not stored. */
  *lasting(): Iterable<Uint8Array> {
    for (const { pending, queued } of this.pool.content()) {
      for (const { transaction, hash, encoded } of [...pending, ...queued])
        if (transaction.type !== 0x03 && !this.#conditionals.has(bytesToHex(hash))) yield encoded;
    }
  }

  /**
   * Accepts a raw transaction from a user: forwards it if there is a sequencer, otherwise adds it to the pool.
   *
   * @param conditional when it may be included; already checked against the head
   * @param mustBeReady refuse a transaction that would have to wait; of no effect if it goes to a sequencer, whose pool decides
   * @param knownSender set if another process has already checked the signature
   * @throws {RpcError}
   */
  async submit(
    raw: Uint8Array,
    { conditional, mustBeReady = false }: SubmissionTerms = {},
    knownSender?: Uint8Array,
  ): Promise<Uint8Array> {
    const { pooled, sidecar: given } = this.#readWithSidecar(raw, knownSender);
    const { forwarder, log, journal } = this.#dependencies;
    if (forwarder === undefined) {
      const sidecar = given && (await this.#checkedSidecar(given));
      const isChecked = await this.#checkMessages(pooled);
      const wait = mustBeReady ? this.pool.waitOf(pooled) : undefined;
      if (wait !== undefined) throw this.#notReady(wait, pooled.hash);
      const result = this.#add(pooled, isChecked);
      if (result.kind === "refused") throw this.#refusal(result);
      if (sidecar !== undefined) this.#sidecars.set(bytesToHex(pooled.hash), sidecar);
      else if (conditional === undefined) journal?.append(raw);
      else this.#conditionals.set(bytesToHex(pooled.hash), conditional);
      return pooled.hash;
    }
    if (conditional !== undefined) {
      await forwarder.sendConditional(raw, conditional);
      return pooled.hash; // the sequencer checks the conditions
    }
    if (this.#messages?.hasFilters) await this.#checkMessages(pooled); // otherwise the sequencer does
    await forwarder.send(raw);
    const result = this.#add(pooled);
    // The sequencer has the transaction. Our own pool's verdict matters only to those who ask this node for pending transactions.
    if (result.kind === "refused" && result.reason !== "already-known") {
      log.debug("forwarded transaction not kept", { hash: pooled.hash, reason: result.reason });
    }
    return pooled.hash;
  }

  /** Takes in a transaction whose sender is known to be right, whatever its signature is. @throws {RpcError} */
  insert(transaction: SignedTransaction, sender: Uint8Array): void {
    const { nowSec } = this.#dependencies;
    const result = this.#add(pooledTransaction(transaction, sender, { isLocal: true, arrivedAtSec: nowSec() }));
    if (result.kind === "refused") throw this.#refusal(result);
  }

  /**
   * Takes in a transaction that another node's pool has: it passes the same checks as a user's, apart from the fee cap, and it is neither
   * forwarded nor kept over restarts.
   *
   * @param sender recovered from its signature
   * @returns whether it is in the pool now, and was not before
   */
  async receive(raw: Uint8Array, sender: Uint8Array): Promise<boolean> {
    const { profile, nowSec, log } = this.#dependencies;
    try {
      const { transaction, sidecar } = readSubmission(raw, profile, 0n, sender, this.#sidecarVersions());
      if (transaction.type === 0x03 || sidecar !== undefined) return false; // blobs are not passed on
      const isLocal = this.#localSenders.has(bytesToHex(sender));
      const pooled = pooledTransaction(transaction, sender, { isLocal, arrivedAtSec: nowSec() });
      return this.#add(pooled, await this.#checkMessages(pooled)).kind === "added";
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      log.debug("transaction of a peer refused", { reason: error.message });
      return false;
    }
  }

  /** A transaction of the pool that others may have: undefined for one with conditions or blobs. */
  shareable(hash: Uint8Array): PooledTransaction | undefined {
    const pooled = this.pool.get(hash);
    return pooled === undefined || pooled.transaction.type === 0x03 || this.#conditionals.has(bytesToHex(hash))
      ? undefined
      : pooled;
  }

  /** In the version that the next block wants. @throws {RpcError} */
  async #checkedSidecar(sidecar: BlobSidecar): Promise<BlobSidecar> {
    const { blobs, profile } = this.#dependencies;
    const refuse = (reason: string): RpcError => rpcErrorOf(profile.errors.submission({ kind: "bad-blobs", reason }));
    if (blobs === undefined || !(await blobs.verify(sidecar))) throw refuse("invalid blob proofs");
    if (sidecar.version === 1 || this.#sidecarVersions()?.[0] === 0 || blobs.proveCells === undefined) return sidecar;
    return await blobs.proveCells(sidecar);
  }

  /**
   * Asks about messages of other chains that a transaction executes, unless the pool would refuse it anyway: requests cost more than the
   * pool's own checks.
   *
   * @returns whether it has any
   * @throws {RpcError}
   */
  async #checkMessages(pooled: PooledTransaction): Promise<boolean> {
    if (this.#messages === undefined || !hasMessages(pooled.transaction)) return false;
    const refused = this.pool.refusalOf(pooled);
    if (refused !== undefined) throw this.#refusal(refused);
    await this.#messages.admit(pooled.transaction);
    return true;
  }

  #add(pooled: PooledTransaction, isChecked = false): AddResult {
    const result = this.pool.add(pooled);
    if (result.kind === "added") {
      this.#dependencies.senders.remember(pooled.hash, pooled.sender);
      this.#messages?.track(pooled.hash, pooled.transaction, isChecked);
    } else this.#metrics.refused.inc({ reason: result.reason });
    this.#count();
    return result;
  }

  #refusal(result: Extract<AddResult, { kind: "refused" }>): RpcError {
    return rpcErrorOf(this.#dependencies.profile.errors.poolRefusal[result.reason](result.data));
  }

  #notReady(wait: PoolWait, hash: Uint8Array): RpcError {
    return rpcErrorOf(this.#dependencies.profile.errors.notReady(wait, bytesToHex(hash)));
  }

  /** @throws {RpcError} */
  #read(raw: Uint8Array): PooledTransaction {
    return this.#readWithSidecar(raw).pooled;
  }

  /** @throws {RpcError} */
  #readWithSidecar(raw: Uint8Array, knownSender?: Uint8Array): { pooled: PooledTransaction; sidecar: BlobSidecar | undefined } {
    const { profile, nowSec } = this.#dependencies;
    const { transaction, sender, sidecar } = readSubmission(
      raw,
      profile,
      this.#options.feeCapWei,
      knownSender,
      this.#sidecarVersions(),
    );
    const isLocal = !this.#options.hasNoLocals || this.#localSenders.has(bytesToHex(sender));
    return { pooled: pooledTransaction(transaction, sender, { isLocal, arrivedAtSec: nowSec() }), sidecar };
  }

  #best(baseFeeWei: bigint, block: { readonly number: number; readonly timestampSec: number }): BestTransactions {
    const best = this.pool.best(baseFeeWei);
    const skipSender = (): void => best.skipSender();
    const messages = this.#messages?.isIdle === false ? this.#messages : undefined;
    if (this.#minimumTipWei === 0n && this.#conditionals.size === 0 && messages === undefined) return best;
    const next = (): ReturnType<BestTransactions["next"]> => {
      for (;;) {
        const pooled = best.next();
        // From here on the tips only fall.
        if (pooled === undefined || effectiveTip(pooled.transaction, baseFeeWei) < this.#minimumTipWei) return undefined;
        if (messages !== undefined && !messages.isIncludable(pooled.hash)) {
          best.skipSender();
          continue;
        }
        const conditional = this.#conditionals.get(bytesToHex(pooled.hash));
        if (conditional === undefined) return pooled;
        const state = this.#chain.stateAt(this.#chain.head());
        const fault = state === undefined ? undefined : checkConditional(conditional, block, state);
        if (fault === undefined) return pooled;
        this.#unmet.push(pooled.hash);
        this.#dependencies.log.debug("conditions of a transaction not met: dropped", { hash: pooled.hash, reason: fault });
        best.skipSender();
      }
    };
    return { next, skipSender };
  }

  #follow(change: HeadChange): void {
    const { removed } = change;
    const { nowSec } = this.#dependencies;
    for (const hash of this.#unmet.splice(0)) this.pool.remove(hash);
    // PERF: extending the chain is the common case, and returns nothing to the pool
    const mined =
      removed.length === 0
        ? undefined
        : new Set(change.added.flatMap(({ block }) => block.transactions.map((tx) => bytesToHex(hashTransaction(tx)))));
    const reinjected: PooledTransaction[] = [];
    for (const { block, senders } of removed.toReversed()) {
      block.transactions.forEach((transaction, index) => {
        if (!isSigned(transaction)) return;
        const hash = bytesToHex(hashTransaction(transaction));
        if (mined?.has(hash)) return;
        if (transaction.type === 0x03) {
          const sidecar = this.#dependencies.blobs?.ofRemoved?.(transaction.blobVersionedHashes);
          if (sidecar === undefined) return;
          this.#sidecars.set(hash, sidecar);
        }
        reinjected.push(pooledTransaction(transaction, senders[index]!, { isLocal: false, arrivedAtSec: nowSec() }));
      });
    }
    const head = this.#headOfChain();
    this.pool.reset(head, reinjected, nowSec());
    for (const { hash, transaction } of reinjected) this.#messages?.track(hash, transaction, false);
    this.#recheckMessages();
    for (const hash of this.#conditionals.keys())
      if (this.pool.get(hexToBytes(hash)) === undefined) this.#conditionals.delete(hash);
    for (const hash of this.#sidecars.keys()) if (this.pool.get(hexToBytes(hash)) === undefined) this.#sidecars.delete(hash);
    this.#count();
  }

  /** Transactions whose messages have become invalid leave the pool; blocks wait for the others to be confirmed. */
  #recheckMessages(): void {
    if (this.#messages === undefined) return;
    const { timestamp } = this.#chain.headerOf({ kind: "tag", tag: "latest" })!.header;
    const inPool = (hash: Uint8Array): boolean => this.pool.get(hash) !== undefined;
    void this.#messages.onHead(timestamp, inPool, this.#dropMessage);
  }

  readonly #dropMessage = (hash: Uint8Array, reason: string): void => {
    this.pool.remove(hash);
    this.#metrics.refused.inc({ reason: "invalid-message" });
    this.#dependencies.log.info("a message that a transaction executes is not valid any more: dropped", { hash, reason });
    this.#count();
  };

  /** The interop filters' failsafe begins or ends. */
  setFailsafe(isInFailsafe: boolean): void {
    this.#messages?.setFailsafe(isInFailsafe, this.#dropMessage);
  }

  /**
   * The sidecar versions for blob transactions in the next block, the preferred one first; undefined: an OP Stack chain, which
   * has none.
   */
  #sidecarVersions(): readonly BlobSidecar["version"][] | undefined {
    const { config } = this.#chain;
    if (config.optimism !== undefined) return undefined;
    const head = this.#chain.headerOf({ kind: "tag", tag: "latest" })?.header;
    if (head === undefined) return [0];
    const next = blockRules(config, { number: head.number + 1, timestamp: head.timestamp + 1, isPostMerge: true });
    if (!next.provesBlobCells) return [0];
    return this.#dependencies.blobs?.proveCells === undefined ? [1] : [1, 0];
  }

  #headOfChain(): ReturnType<typeof poolHeadOf> {
    const id = this.#chain.head();
    const at = this.#chain.headerOf({ kind: "hash", hash: hexToBytes(id.hash), requireCanonical: false });
    const state = this.#chain.stateAt(id);
    if (at === undefined || state === undefined) throw new Error(`the head ${id.hash} has no state`); // the store always keeps the head's state
    return poolHeadOf(this.#chain.config, at.header, state);
  }

  #count(): void {
    const { pending, queued } = this.pool.counts();
    this.#metrics.pending.set(pending);
    this.#metrics.queued.set(queued);
  }
}

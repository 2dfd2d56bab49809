import { bytesToHex, CodedError, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, equalBytes, type Hex } from "@rnode/primitives";
import {
  type Block,
  type BlockRules,
  type DaBytes,
  daBytes,
  encodeTransaction,
  encodeWithdrawal,
  estimatedDaBytes,
  GAS_PER_BLOB,
  type GasRefunds,
  type Header,
  hashTransaction,
  type PayloadAttributes,
  type Transaction,
  isSigned,
  isTransactionTypeAllowed,
  sumDaBytes,
} from "@rnode/protocol";
import { orderedTrieRoot, type StateTrieUpdate } from "@rnode/trie";
import {
  type AttributesProblem,
  checkAttributes,
  decodeForcedTransactions,
  gasRefundsOfAttributes,
  headerOfAttributes,
} from "./attributes.ts";
import { type ExecutionContext, executedBlock, type ParentState } from "../execute/block-execution.ts";
import { BlockRun, type BlockRunResult, rejectionFault, type UnsealedHeader } from "../execute/block-run.ts";
import type { BuildChoices, PendingSource, PendingTransaction } from "../api.ts";
import type { ExecutedBlock } from "../execute/executed-block.ts";
import type { PendingBlock } from "../chain-parts.ts";
import { type PendingPlace, pendingBlockOf } from "../pending/pending-block.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { blockFault, ChainError, describeFault } from "../faults.ts";
import { requestsHash } from "../execute/requests.ts";
import { forbidsUserTransactions } from "../validation/body-validation.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { beginLiveStateUpdate } from "../state-roots/live-state-update.ts";
import { messagePasserRoot } from "../state-roots/state-root.ts";

/** Node policy in addition to the protocol's limits; forced transactions are exempt. Spec: docs/protocol/01-execution.md#da-footprint */
export interface FillLimits {
  /** estimated compressed size of a transaction; 0: no limit */
  readonly maxTransactionBytes: DaBytes;
  /** estimated compressed size of all pool transactions of a block; 0: no limit */
  readonly maxBlockBytes: DaBytes;
  /** gas of a block, that of forced transactions included, up to which pool transactions are added; 0: the block's gas limit */
  readonly maxBlockGas: bigint;
  /** DA footprint of a block; default: the block's gas limit, which is the protocol's limit */
  readonly maxFootprint?: bigint | undefined;
}

/** The time that is left for pool transactions. */
export interface FillTime {
  isUp(): boolean;
  /** whether the remaining time is enough for a transaction that uses all of this gas limit */
  isEnoughFor(gasLimit: bigint): boolean;
}

/** For blocks without a deadline. */
export const UNLIMITED_TIME: FillTime = { isUp: () => false, isEnoughFor: () => true };

export type BuildStart =
  | { readonly kind: "started"; readonly build: PayloadBuild }
  | { readonly kind: "invalid"; readonly problem: AttributesProblem };

/** A block with another base fee or excess of blob gas than the computed one is not valid: development chains make such blocks. */
export type HeaderChoices = BuildChoices & {
  readonly baseFeePerGas?: bigint | undefined;
  readonly excessBlobGas?: bigint | undefined;
};

const NO_DA_BYTES = daBytes(0);
export const NO_LIMITS: FillLimits = { maxTransactionBytes: NO_DA_BYTES, maxBlockBytes: NO_DA_BYTES, maxBlockGas: 0n };
const CHEAPEST_TRANSACTION_GAS = 21_000n;
const ZERO_NONCE = new Uint8Array(8);

/**
 * Starts a block: pre-processing and the forced transactions. If one of these fails, the attributes are invalid.
 *
 * @param transactions the decoded transactions of the attributes, if available
 */
export function startBuild(
  context: ExecutionContext,
  parent: ParentState,
  attributes: PayloadAttributes,
  { desiredGasLimit = parent.header.gasLimit, ...fixed }: HeaderChoices = {},
  transactions?: readonly Transaction[],
): BuildStart {
  const { config } = context;
  const position = { number: parent.header.number + 1, timestamp: attributes.timestamp, difficulty: 0n };
  const rules = rulesOfBlock(config, position);
  const problem = checkAttributes(rules, parent.header, attributes);
  if (problem !== undefined) return { kind: "invalid", problem };
  const decoded = decodeForcedTransactions(rules, attributes, transactions);
  if (decoded.kind === "invalid") return decoded;
  const header = headerOfAttributes(config, rules, parent.header, parent.hash, attributes, desiredGasLimit);
  const chosen = { ...header, ...withoutUndefined(fixed) };
  const read = gasRefundsOfAttributes(rules, header, attributes, decoded.transactions);
  if (read.kind === "invalid") return read;
  const build = new PayloadBuild(context, rules, parent, chosen, attributes, read.refunds);
  const refused = build.force(decoded.transactions);
  return refused === undefined ? { kind: "started", build } : { kind: "invalid", problem: refused };
}

const withoutUndefined = (fields: Omit<HeaderChoices, "desiredGasLimit">): Partial<UnsealedHeader & Pick<Header, "extraData">> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A block under construction, which accepts transactions until it is sealed. */
export class PayloadBuild {
  readonly #context: ExecutionContext;
  readonly #rules: BlockRules;
  readonly #parent: ParentState;
  readonly #header: UnsealedHeader & Pick<Header, "extraData">;
  readonly #attributes: PayloadAttributes;
  readonly #run: BlockRun;
  readonly #transactions: Transaction[] = [];
  readonly #senders: Uint8Array[] = [];
  /** hashes of the pool transactions already in the block. PERF: the pool's own arrays, because a fill may pass thousands of them */
  readonly #included = new Set<Uint8Array>();
  /** those of `keep`, of which the pool has arrays of its own */
  readonly #kept = new Set<Hex>();
  readonly #forbidsUserTransactions: boolean;
  #daBytes = NO_DA_BYTES;
  #blobCount = 0;
  #poolCount = 0;

  constructor(
    context: ExecutionContext,
    rules: BlockRules,
    parent: ParentState,
    header: UnsealedHeader & Pick<Header, "extraData">,
    attributes: PayloadAttributes,
    gasRefunds: GasRefunds | undefined,
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#parent = parent;
    this.#header = header;
    this.#attributes = attributes;
    this.#forbidsUserTransactions = forbidsUserTransactions(context.config, parent.header, header);
    const { reader, prelude } = parent;
    this.#run = new BlockRun({ ...context, rules, parent: parent.header, header, reader, prelude, gasRefunds });
  }

  get usesPool(): boolean {
    return !this.#attributes.noTxPool && !this.#forbidsUserTransactions;
  }

  get transactionCount(): number {
    return this.#transactions.length;
  }

  get header(): Pick<Header, "number" | "gasLimit" | "timestamp" | "parentHash"> {
    return this.#header;
  }

  /** seconds since the parent */
  get blockTimeSec(): number {
    return this.#header.timestamp - this.#parent.header.timestamp;
  }

  /** Adds transactions that the block must contain, in order. */
  force(transactions: readonly Transaction[]): AttributesProblem | undefined {
    const refused = (index: number, fault: string): AttributesProblem => ({
      fault: "transaction-invalid",
      reason: `transaction ${index} is not valid: ${fault}`,
    });
    const recovered = this.#context.senders.sendersOf(transactions, false);
    if (recovered.kind === "unrecoverable") return refused(recovered.index, recovered.reason);
    for (const [index, transaction] of transactions.entries()) {
      const { type } = transaction;
      if (!isTransactionTypeAllowed(this.#rules, type)) {
        return refused(index, describeFault(blockFault("transaction-type-not-allowed", { index, type })));
      }
      if (isSigned(transaction) && this.#forbidsUserTransactions) {
        return refused(index, describeFault(blockFault("user-transaction-in-first-block", { index, type })));
      }
      const encoded = encodeTransaction(transaction);
      if (this.#run.daFootprint + this.#run.daFootprintOf(transaction, encoded) > this.#header.gasLimit) {
        return refused(index, describeFault(blockFault("da-footprint-above-gas-limit", { index })));
      }
      const applied = this.#run.apply(transaction, recovered.senders[index]!, encoded);
      if (applied.kind === "rejected") return refused(index, describeFault(rejectionFault(index, applied)));
      this.#transactions.push(transaction);
      this.#senders.push(recovered.senders[index]!);
    }
    return undefined;
  }

  /**
   * Adds pool transactions until the block is full, the pool is exhausted, or the time is up. May be called again for newer ones. The first one
   * is taken whatever its gas: the block after this one would not have more time for it.
   */
  fill(source: PendingSource, limits: FillLimits, time: FillTime): void {
    const { number, timestamp, baseFeePerGas } = this.#header;
    const best = source.best(baseFeePerGas ?? 0n, { number, timestampSec: timestamp });
    while (this.#gasLeft(limits) >= CHEAPEST_TRANSACTION_GAS && !time.isUp()) {
      const pending = best.next();
      if (pending === undefined) return;
      const { transaction, sender, encoded, hash } = pending;
      if (this.#included.has(hash) || (this.#kept.size > 0 && this.#kept.has(bytesToHex(hash)))) continue;
      const daSize = this.#daSizeIfAllowed(transaction, encoded, limits);
      const blobCount = transaction.type === 0x03 ? transaction.blobVersionedHashes.length : 0;
      const hasRoomForBlobs = this.#blobCount + blobCount <= (this.#rules.blobParams?.max ?? 0);
      const hasTime = this.#poolCount === 0 || time.isEnoughFor(transaction.gasLimit);
      if (daSize === undefined || !hasRoomForBlobs || !hasTime || transaction.gasLimit > this.#gasLeft(limits)) {
        best.skipSender();
        continue;
      }
      const applied = this.#run.apply(transaction, sender, encoded);
      if (applied.kind === "rejected") {
        // If the nonce is too low, the transaction was mined earlier and the sender's next may fit. Any other reason also rules out the
        // transactions that follow.
        if (applied.reason !== "nonce-too-low") best.skipSender();
        continue;
      }
      this.#included.add(hash);
      this.#poolCount++;
      this.#daBytes = sumDaBytes([this.#daBytes, daSize]);
      this.#blobCount += blobCount;
      this.#transactions.push(transaction);
      this.#senders.push(sender);
    }
  }

  /** Adds transactions that were promised for this block, in order. @returns how many it cannot have */
  keep(promised: readonly PendingTransaction[]): number {
    const before = this.#transactions.length;
    let at = 0;
    const source = { best: () => ({ next: () => promised[at++], skipSender: () => {} }) };
    this.fill(source, NO_LIMITS, UNLIMITED_TIME);
    for (const { hash } of promised) if (this.#included.has(hash)) this.#kept.add(bytesToHex(hash));
    return promised.length - (this.#transactions.length - before);
  }

  hasExactly(transactions: readonly Transaction[]): boolean {
    return (
      transactions.length === this.#transactions.length &&
      transactions.every((each, index) => equalBytes(hashTransaction(each), hashTransaction(this.#transactions[index]!)))
    );
  }

  /** The block as it is now. */
  soFar(place: PendingPlace): PendingBlock {
    const soFar = { rules: this.#rules, header: this.#header, run: this.#run };
    return pendingBlockOf({ ...soFar, transactions: this.#transactions, senders: this.#senders }, place);
  }

  /** Finishes the block. @throws {CodedError} chain/unbuildable if its post-processing fails */
  seal(): ExecutedBlock {
    const { withdrawals } = this.#attributes;
    const finished = this.#run.finish(withdrawals, []);
    if (finished.kind === "invalid") {
      throw new ChainError("chain/unbuildable", { reason: describeFault(finished.fault) });
    }
    const { result } = finished;
    const updated = beginLiveStateUpdate(this.#context, this.#parent.trie, result.changes);
    // PERF: done while the state root is being computed
    const transactionsRoot = orderedTrieRoot(this.#transactions.map(encodeTransaction));
    const bodyRoots = { transactionsRoot, receiptsRoot: this.#run.receiptsRoot() };
    const update = updated();
    const header = this.#sealHeader(result, bodyRoots, update);
    const block: Block = {
      header,
      transactions: this.#transactions,
      ommers: [],
      ...(withdrawals !== undefined && { withdrawals }),
    };
    const prepared = new PreparedBlock(block, { transactionsRoot, senders: this.#senders });
    return executedBlock(prepared, this.#senders, result, update);
  }

  /** for pool transactions; may be negative */
  #gasLeft({ maxBlockGas }: FillLimits): bigint {
    const { gasLeft } = this.#run.execution;
    const { gasLimit } = this.#header;
    return maxBlockGas === 0n || maxBlockGas >= gasLimit ? gasLeft : gasLeft - (gasLimit - maxBlockGas);
  }

  /** Bytes that count towards the DA limits; undefined if a limit rules the transaction out. */
  #daSizeIfAllowed(transaction: Transaction, encoded: Uint8Array, limits: FillLimits): DaBytes | undefined {
    if (!isTransactionTypeAllowed(this.#rules, transaction.type)) return undefined;
    if (this.#rules.op === undefined) return NO_DA_BYTES;
    const { maxTransactionBytes, maxBlockBytes, maxFootprint = this.#header.gasLimit } = limits;
    if (this.#run.daFootprint + this.#run.daFootprintOf(transaction, encoded) > maxFootprint) return undefined;
    if (maxTransactionBytes === 0 && maxBlockBytes === 0) return NO_DA_BYTES;
    const bytes = estimatedDaBytes(encoded);
    if (maxTransactionBytes !== 0 && bytes > maxTransactionBytes) return undefined;
    if (maxBlockBytes !== 0 && sumDaBytes([this.#daBytes, bytes]) > maxBlockBytes) return undefined;
    return bytes;
  }

  #sealHeader(
    result: BlockRunResult,
    bodyRoots: Pick<Header, "transactionsRoot" | "receiptsRoot">,
    update: StateTrieUpdate,
  ): Header {
    const rules = this.#rules;
    const { op } = rules;
    return {
      ...this.#header,
      ommersHash: EMPTY_OMMERS_HASH,
      stateRoot: update.stateRoot,
      ...bodyRoots,
      logsBloom: result.logsBloom,
      gasUsed: result.gasUsed,
      nonce: ZERO_NONCE,
      ...(rules.hasWithdrawals && { withdrawalsRoot: this.#withdrawalsRoot(update) }),
      ...(rules.hasBlobGas && { blobGasUsed: this.#blobGasUsed(result) }),
      ...(rules.hasExecutionRequests && {
        requestsHash: op === undefined ? requestsHash(result.requests) : EMPTY_REQUESTS_HASH,
      }),
    };
  }

  #withdrawalsRoot(update: StateTrieUpdate): Uint8Array {
    const { op, hasMessagePasserRoot } = this.#rules;
    if (op === undefined) return orderedTrieRoot((this.#attributes.withdrawals ?? []).map(encodeWithdrawal));
    return hasMessagePasserRoot ? messagePasserRoot(this.#parent.trie, update) : EMPTY_TRIE_ROOT;
  }

  #blobGasUsed(result: BlockRunResult): bigint {
    const { op, hasDaFootprint } = this.#rules;
    if (op !== undefined) return hasDaFootprint ? result.daFootprint : 0n;
    let blobs = 0;
    for (const transaction of this.#transactions) if (transaction.type === 0x03) blobs += transaction.blobVersionedHashes.length;
    return BigInt(blobs) * GAS_PER_BLOB;
  }
}

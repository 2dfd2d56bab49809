import type { BlockEnvironment, BlockExecution, EvmEngine, StateChanges, StateReader, TransactionResult } from "@rnode/evm";
import { bigintToBytes, bytesToBigint } from "@rnode/primitives";
import {
  BEACON_ROOTS_ADDRESS,
  BlockBloom,
  type BlockRules,
  blobBaseFee,
  type ChainConfig,
  CREATE2_DEPLOYER_ADDRESS,
  daFootprint,
  encodeReceipt,
  encodeReceipts,
  exactNumber,
  exactTimestamp,
  firstBlockFacts,
  forksBeginningAt,
  type GasRefunds,
  type Header,
  HISTORY_STORAGE_ADDRESS,
  isSigned,
  type L1FeeParams,
  l1FeeParamsFromL1BlockStorage,
  PREDEPLOYS,
  type Receipt,
  type Transaction,
  type Withdrawal,
} from "@rnode/protocol";
import { GrowingOrderedTrie } from "@rnode/trie";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";
import { applyDaoFork } from "../validation/dao-fork.ts";
import { DAO_FORK_ACCOUNTS } from "../validation/dao-fork-accounts.ts";
import { payBlockRewards } from "./block-rewards.ts";
import { collectRequests } from "./requests.ts";

const WEI_PER_GWEI = 1_000_000_000n;
/** The header fields that execution depends on, all of which are known before it. */
export type UnsealedHeader = Pick<
  Header,
  | "parentHash"
  | "beneficiary"
  | "difficulty"
  | "number"
  | "gasLimit"
  | "timestamp"
  | "mixHash"
  | "baseFeePerGas"
  | "excessBlobGas"
  | "parentBeaconBlockRoot"
  | "exact"
>;

/** The EVM's block environment for this header. */
export function blockEnvironment(rules: BlockRules, header: UnsealedHeader): BlockEnvironment {
  return {
    number: BigInt(exactNumber(header)),
    timestamp: BigInt(exactTimestamp(header)),
    beneficiary: header.beneficiary,
    gasLimit: header.gasLimit,
    baseFeePerGas: header.baseFeePerGas ?? 0n,
    difficulty: header.difficulty,
    prevRandao: header.mixHash,
    blobBaseFee:
      rules.op === undefined && rules.blobParams !== undefined
        ? blobBaseFee(header.excessBlobGas ?? 0n, rules.blobParams.baseFeeUpdateFraction)
        : 1n,
  };
}

export interface BlockRunOptions {
  readonly engine: EvmEngine;
  readonly config: ChainConfig;
  readonly rules: BlockRules;
  readonly parent: Header;
  readonly header: UnsealedHeader;
  /** the state after the parent */
  readonly reader: StateReader;
  /** the bytecode that Canyon's first block puts into the state */
  readonly create2DeployerCode: () => Uint8Array;
  /** changes the state before anything else of the block does; default: nothing */
  readonly prelude?: ((execution: BlockExecution) => void) | undefined;
  /** before Byzantium, a receipt contains the state root after its transaction */
  readonly intermediateRoot?: ((changes: StateChanges) => Uint8Array) | undefined;
  /** as `readGasRefunds` returns them, read for each transaction; `undefined` if there are none */
  readonly gasRefunds: GasRefunds | undefined;
}

/** The results of running a whole block. */
export interface BlockRunResult {
  readonly receipts: readonly Receipt[];
  readonly gasUsed: bigint;
  readonly logsBloom: Uint8Array;
  readonly requests: readonly Uint8Array[];
  /** Σ over transactions; from Jovian it is the header's blobGasUsed */
  readonly daFootprint: bigint;
  readonly changes: StateChanges;
  /** Σ tips in wei */
  readonly tipsWei: bigint;
}

export type FinishResult =
  | { readonly kind: "finished"; readonly result: BlockRunResult }
  | { readonly kind: "invalid"; readonly fault: BlockFault };

/**
 * Runs one block through the engine: pre-processing, transactions, post-processing. Import, building and stateless execution all use
 * it. Spec: docs/protocol/01-execution.md#before-and-after-the-transactions
 */
export class BlockRun {
  readonly execution: BlockExecution;
  readonly #options: BlockRunOptions;
  readonly #receipts: Receipt[] = [];
  readonly #receiptsTrie = new GrowingOrderedTrie();
  readonly #bloom = new BlockBloom();
  #gasUsed = 0n;
  #tipsWei = 0n;
  #daFootprint = 0n;
  #l1Params: L1FeeParams | undefined;

  constructor(options: BlockRunOptions) {
    this.#options = options;
    const { engine, rules, header, reader } = options;
    this.execution = engine.beginBlock(rules, blockEnvironment(rules, header), reader);
    this.#preProcess();
  }

  get gasUsed(): bigint {
    return this.#gasUsed;
  }

  get daFootprint(): bigint {
    return this.#daFootprint;
  }

  /** of the transactions so far; the array grows */
  get receipts(): readonly Receipt[] {
    return this.#receipts;
  }

  /** of the transactions so far */
  get logsBloom(): Uint8Array {
    return this.#bloom.union();
  }

  get transactionCount(): number {
    return this.#receipts.length;
  }

  /**
   * Of the transactions so far. PERF: a call encodes and hashes the receipts since the one before.
   *
   * @param next counts for this root only, after the others
   */
  receiptsRoot(next?: Receipt): Uint8Array {
    const added = encodeReceipts(this.#receipts.slice(this.#receiptsTrie.size));
    return this.#receiptsTrie.extend(added, next && encodeReceipt(next));
  }

  /** The DA footprint of the transaction; 0 before Jovian, and for unsigned transactions. */
  daFootprintOf(transaction: Transaction, encoded: Uint8Array): bigint {
    const { rules } = this.#options;
    if (!rules.hasDaFootprint || !isSigned(transaction)) return 0n;
    // Only deposits (the L1 attributes) can change the parameters.
    this.#l1Params ??= l1FeeParamsFromL1BlockStorage(
      (slot) => bytesToBigint(this.execution.getStorage(PREDEPLOYS.l1Block, bigintToBytes(BigInt(slot), 32))),
      rules,
    );
    return daFootprint(rules, this.#l1Params, encoded);
  }

  /** Executes the next transaction. A rejected one leaves no trace. */
  apply(transaction: Transaction, sender: Uint8Array, encoded: Uint8Array): TransactionResult {
    const footprint = this.daFootprintOf(transaction, encoded);
    const { rules, intermediateRoot, gasRefunds } = this.#options;
    const gasRefund = gasRefunds?.get(this.transactionCount);
    const applied = this.execution.applyTransaction(transaction, { sender, encoded, gasRefund });
    if (applied.kind === "rejected") return applied;
    const { outcome } = applied;
    this.#gasUsed += outcome.gasUsed;
    this.#daFootprint += footprint;
    if (transaction.type === 0x7e) this.#l1Params = undefined;
    else this.#tipsWei += outcome.effectiveTip * outcome.gasUsed;
    const hasStatus = rules.receiptsHaveStatus;
    const hasDepositVersion = transaction.type === 0x7e && rules.receiptsHaveDepositVersion;
    this.#receipts.push({
      type: transaction.type,
      status: hasStatus ? outcome.status : undefined,
      ...(!hasStatus && intermediateRoot !== undefined && { stateRoot: intermediateRoot(this.execution.changes()) }),
      cumulativeGasUsed: this.#gasUsed,
      bloom: this.#bloom.add(outcome.logs),
      logs: outcome.logs,
      ...(outcome.depositNonce !== undefined && { depositNonce: outcome.depositNonce }),
      ...(hasDepositVersion && { depositReceiptVersion: 1n }),
    });
    return applied;
  }

  /** Runs the post-processing, and returns the net effect. Nothing can be applied afterwards. */
  finish(withdrawals: readonly Withdrawal[] | undefined, ommers: readonly Header[]): FinishResult {
    const { rules, config, header } = this.#options;
    let requests: readonly Uint8Array[] = [];
    if (rules.op === undefined) {
      if (!rules.isPostMerge) payBlockRewards(this.execution, rules, header, ommers);
      for (const { address, amount } of withdrawals ?? []) this.execution.addBalance(address, amount * WEI_PER_GWEI);
      if (rules.hasExecutionRequests) {
        const collected = collectRequests(this.execution, this.#receipts, config.depositContractAddress);
        if (collected.kind === "invalid") return collected;
        requests = collected.requests;
      }
    }
    const result: BlockRunResult = {
      receipts: this.#receipts,
      gasUsed: this.#gasUsed,
      logsBloom: this.#bloom.union(),
      requests,
      daFootprint: this.#daFootprint,
      changes: this.execution.changes(),
      tipsWei: this.#tipsWei,
    };
    return { kind: "finished", result };
  }

  #preProcess(): void {
    const { rules, config, parent, header, create2DeployerCode, prelude } = this.#options;
    prelude?.(this.execution);
    if (rules.isDaoForkBlock) applyDaoFork(this.execution, DAO_FORK_ACCOUNTS);
    if (rules.storesParentHash) this.execution.systemCall(HISTORY_STORAGE_ADDRESS, header.parentHash);
    if (rules.hasBeaconRoot && header.parentBeaconBlockRoot !== undefined) {
      this.execution.systemCall(BEACON_ROOTS_ADDRESS, header.parentBeaconBlockRoot);
    }
    const forkTimes = config.optimism?.forkTimes ?? {};
    const beginning = forksBeginningAt(forkTimes, header.timestamp, parent.timestamp);
    if (beginning.some((fork) => firstBlockFacts(fork).setsCreate2Deployer)) {
      this.execution.setCode(CREATE2_DEPLOYER_ADDRESS, create2DeployerCode());
    }
  }
}

/** Turns the rejection of a transaction into a fault of its block. */
export function rejectionFault(index: number, result: Extract<TransactionResult, { kind: "rejected" }>): BlockFault {
  return blockFault("transaction-rejected", { index, reason: result.reason, ...result.data });
}

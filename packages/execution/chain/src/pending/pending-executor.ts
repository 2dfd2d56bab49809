import type { EvmEngine } from "@rnode/evm";
import { bytesToHex, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  decodeTransaction,
  encodeTransaction,
  type Flashblock,
  type FlashblockBase,
  gasRefundsOf,
  type Header,
  isPostExecTransaction,
  type Transaction,
} from "@rnode/protocol";
import type { PartFault, PartVerdict, PendingBlock } from "../chain-parts.ts";
import type { ExecutionContext, ParentState, StartedRun } from "../execute/block-execution.ts";
import { BlockRun, rejectionFault, type UnsealedHeader } from "../execute/block-run.ts";
import type { ExecutionLimit } from "../execute/execution-limit.ts";
import { describeFault } from "../faults.ts";
import { checkBody } from "../validation/body-validation.ts";
import { checkHeader } from "../validation/header-validation.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { type PartRefunds, postExecReceipt, refundsOfPart } from "./part-refunds.ts";
import { pendingBlockOf, pendingHeader } from "./pending-block.ts";

export interface PendingExecutorDeps {
  readonly context: Omit<ExecutionContext, "engine">;
  /** called with the first part */
  readonly newEngine: () => EvmEngine;
  readonly limit: ExecutionLimit;
  readonly head: () => Hex;
  /** the head as the parent of a block */
  readonly parentState: () => ParentState;
}

/** The block that is executed in parts. */
interface Open {
  readonly payloadId: Hex;
  readonly parent: ParentState;
  /** before its first transaction */
  readonly header: Header;
  readonly run: BlockRun;
  readonly transactions: Transaction[];
  readonly senders: Uint8Array[];
  /** those of the parts so far, which the run reads */
  readonly refunds: Map<number, bigint>;
  last: PendingBlock | undefined;
}

/** Executes a block of another producer part by part, on the head. */
export class PendingExecutor {
  readonly #deps: PendingExecutorDeps;
  #engine: EvmEngine | undefined;
  #open: Open | undefined;

  constructor(deps: PendingExecutorDeps) {
    this.#deps = deps;
  }

  get memoryBytes(): number {
    return this.#engine?.memoryBytes ?? 0;
  }

  /** After a refusal, nothing is executed until the next first part. */
  execute(part: Flashblock): PartVerdict {
    const engine = (this.#engine ??= this.#deps.newEngine());
    try {
      return this.#deps.limit.run(engine, part.payloadId, true, () => {
        const verdict = part.base === undefined ? this.#next(part) : this.#first(part, part.base, engine);
        if (verdict.kind !== "executed") this.#open = undefined;
        return verdict;
      });
    } catch (error) {
      this.#open = undefined;
      if (!isCodedError(error, "chain/execution-too-long")) throw error;
      return { kind: "refused", fault: "too-long", reason: error.message };
    }
  }

  /**
   * The run of the transactions that `parent` and `header` have in common with the executed parts, to which the remaining ones can be
   * applied. It is handed over once.
   */
  take(
    parent: Uint8Array,
    header: UnsealedHeader,
    encoded: readonly Uint8Array[],
  ): (StartedRun & { readonly engine: EvmEngine }) | undefined {
    const open = this.#open;
    if (open?.last === undefined || this.#engine === undefined || !equalBytes(open.parent.hash, parent)) return undefined;
    const { run, transactions } = open;
    const last = encoded.at(-1);
    if (last === undefined || transactions.length > encoded.length) return undefined;
    const refunds = isPostExecTransaction(last) ? gasRefundsOf(decodeTransaction(last)) : undefined;
    const isPrefix = transactions.every(
      (each, index) => equalBytes(encodeTransaction(each), encoded[index]!) && refunds?.get(index) === open.refunds.get(index),
    );
    if (!isPrefix || !isSameExecution(open.header, header)) return undefined;
    for (const [index, gas] of refunds ?? []) open.refunds.set(index, gas);
    this.#open = undefined;
    return { run, engine: this.#engine };
  }

  #first(part: Flashblock, base: FlashblockBase, engine: EvmEngine): PartVerdict {
    const { config } = this.#deps.context;
    if (this.#deps.head() !== bytesToHex(base.parentHash)) return { kind: "other-parent" };
    const parent = this.#deps.parentState();
    const position = { number: base.blockNumber, timestamp: base.timestamp, difficulty: 0n };
    const rules = rulesOfBlock(config, position);
    if (rules.op === undefined) return refused("unsupported", "only OP Stack chains have flashblocks");
    const header = {
      ...position,
      parentHash: base.parentHash,
      beneficiary: base.feeRecipient,
      gasLimit: base.gasLimit,
      mixHash: base.prevRandao,
      baseFeePerGas: base.baseFeePerGas,
      extraData: base.extraData,
      ...(rules.hasBlobGas && { excessBlobGas: 0n }),
      ...(rules.hasBeaconRoot && { parentBeaconBlockRoot: base.parentBeaconBlockRoot }),
    };
    const refunds = new Map<number, bigint>();
    const run = new BlockRun({
      ...this.#deps.context,
      engine,
      rules,
      parent: parent.header,
      header,
      reader: parent.reader,
      prelude: parent.prelude,
      gasRefunds: refunds,
    });
    const { payloadId } = part;
    const empty = pendingHeader({ header, rules, run });
    const open: Open = { payloadId, parent, header: empty, run, transactions: [], senders: [], refunds, last: undefined };
    const fault = checkHeader(config, rules, parent.header, empty);
    if (fault !== undefined) return refused("header", describeFault(fault));
    this.#open = open;
    return this.#append(open, part);
  }

  #next(part: Flashblock): PartVerdict {
    const open = this.#open;
    const expected = open?.last === undefined ? 0 : open.last.index + 1;
    if (open === undefined || part.payloadId !== open.payloadId || part.index !== expected)
      return refused(
        "out-of-order",
        `part ${part.index} of ${part.payloadId}, expected ${expected} of ${open?.payloadId ?? "another"}`,
      );
    if (this.#deps.head() !== bytesToHex(open.parent.hash)) return { kind: "other-parent" };
    return this.#append(open, part);
  }

  #append(open: Open, { payloadId, index, diff }: Flashblock): PartVerdict {
    const { config, senders: source } = this.#deps.context;
    const { run, parent, transactions } = open;
    const { rules } = run.execution;
    const earlier = transactions.length;
    const added: Transaction[] = [];
    let read: PartRefunds;
    try {
      for (const encoded of diff.transactions) added.push(decodeTransaction(encoded));
      read = refundsOfPart(rules, open.header, [...transactions, ...added], diff.postExecTx, open.refunds, earlier);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return refused("transaction", `transaction ${earlier + added.length}: ${error.message}`);
    }
    if (read.kind === "invalid") return refused("transaction", read.reason);
    for (const [index, gas] of read.refunds) open.refunds.set(index, gas);
    const bodyFault = checkBody(config, rules, parent.header, { header: open.header, transactions: added, ommers: [] });
    if (bodyFault !== undefined) return refused("transaction", describeFault(bodyFault));
    const recovered = source.sendersOf(added, rules.allowsHighS);
    if (recovered.kind === "unrecoverable")
      return refused("transaction", `transaction ${earlier + recovered.index}: ${recovered.reason}`);
    for (const [at, transaction] of added.entries()) {
      const applied = run.apply(transaction, recovered.senders[at]!, diff.transactions[at]!);
      if (applied.kind === "rejected") return refused("transaction", describeFault(rejectionFault(earlier + at, applied)));
      transactions.push(transaction);
      open.senders.push(recovered.senders[at]!);
    }
    const pending = pendingBlockOf({ ...open, rules }, { payloadId, index, earlier });
    const { header } = pending.block;
    if (header.gasUsed !== diff.gasUsed) return refused("gas", `gas used: executed ${header.gasUsed}, claimed ${diff.gasUsed}`);
    const roots = [header.receiptsRoot];
    if (diff.postExecTx !== undefined) roots.push(run.receiptsRoot(postExecReceipt(run.gasUsed)));
    if (!roots.some((root) => equalBytes(root, diff.receiptsRoot)) || !equalBytes(header.logsBloom, diff.logsBloom))
      return refused("receipts", "the receipts differ from the claimed root or bloom");
    if (rules.hasDaFootprint && header.blobGasUsed !== diff.blobGasUsed)
      return refused("footprint", `DA footprint: executed ${header.blobGasUsed}, claimed ${diff.blobGasUsed ?? "none"}`);
    open.last = pending;
    return { kind: "executed", pending };
  }
}

const refused = (fault: PartFault, reason: string): PartVerdict => ({ kind: "refused", fault, reason });

/** Whether all header fields are equal that execution depends on. */
function isSameExecution(a: UnsealedHeader, b: UnsealedHeader): boolean {
  const isSame = (x: Uint8Array | undefined, y: Uint8Array | undefined): boolean =>
    x === undefined || y === undefined ? x === y : equalBytes(x, y);
  return (
    equalBytes(a.beneficiary, b.beneficiary) &&
    equalBytes(a.mixHash, b.mixHash) &&
    isSame(a.parentBeaconBlockRoot, b.parentBeaconBlockRoot) &&
    a.number === b.number &&
    a.timestamp === b.timestamp &&
    a.difficulty === b.difficulty &&
    a.gasLimit === b.gasLimit &&
    a.baseFeePerGas === b.baseFeePerGas &&
    a.excessBlobGas === b.excessBlobGas
  );
}

import { type BlockRules, decodeTransaction, type GasRefunds, type Header, type Receipt, type Transaction } from "@rnode/protocol";
import { blockFault, describeFault } from "../faults.ts";
import { readGasRefunds } from "../validation/gas-refunds.ts";

export type PartRefunds =
  | { readonly kind: "read"; readonly refunds: GasRefunds }
  | { readonly kind: "invalid"; readonly reason: string };

const NO_REFUNDS: GasRefunds = new Map();

/**
 * The gas refunds of a block so far, in its post-exec transaction, which is not one of `transactions`. Each part has the refunds of all
 * parts before it as well; those must be the same, because their transactions have been executed.
 * Spec: docs/protocol/07-flashblocks.md#gas-refunds
 *
 * @param known those of the parts before. @param earlier number of their transactions
 * @throws {CodedError} as `decodeTransaction`
 */
export function refundsOfPart(
  rules: BlockRules,
  header: Header,
  transactions: readonly Transaction[],
  postExecTx: Uint8Array | undefined,
  known: GasRefunds,
  earlier: number,
): PartRefunds {
  const invalid = (reason: string): PartRefunds => ({ kind: "invalid", reason });
  const misplaced = transactions.findIndex(({ type }) => type === 0x7d);
  if (misplaced !== -1) return invalid(`transaction ${misplaced} is a post-exec transaction, which belongs in post_exec_tx`);
  let refunds = NO_REFUNDS;
  if (postExecTx !== undefined) {
    if (!rules.acceptsGasRefunds) {
      return invalid(
        describeFault(
          blockFault("transaction-type-not-allowed", { index: transactions.length, type: 0x7d, fork: rules.op ?? rules.evm }),
        ),
      );
    }
    const postExec = decodeTransaction(postExecTx);
    if (postExec.type !== 0x7d) return invalid(`post_exec_tx has type ${postExec.type}, expected ${0x7d}`);
    const read = readGasRefunds(header, [...transactions, postExec]);
    if (read.kind === "invalid") return invalid(describeFault(read.fault));
    refunds = read.refunds ?? NO_REFUNDS;
  }
  for (let index = 0; index < earlier; index++) {
    const [before = 0n, now = 0n] = [known.get(index), refunds.get(index)];
    if (before !== now) return invalid(`the refund of transaction ${index} was ${before} in an earlier part, and is now ${now}`);
  }
  return { kind: "read", refunds };
}

/** The receipt that the post-exec transaction of a block so far would have. */
export const postExecReceipt = (cumulativeGasUsed: bigint): Receipt => ({
  type: 0x7d,
  status: 1,
  cumulativeGasUsed,
  bloom: new Uint8Array(256),
  logs: [],
});

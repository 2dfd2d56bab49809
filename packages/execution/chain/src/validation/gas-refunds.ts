import { exactNumber, type GasRefunds, type Header, isSigned, readPostExecPayload, type Transaction } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";

export type GasRefundsRead =
  | { readonly kind: "read"; readonly refunds: GasRefunds | undefined }
  | { readonly kind: "invalid"; readonly fault: BlockFault };

const NO_REFUNDS: GasRefundsRead = { kind: "read", refunds: undefined };

/**
 * The gas refunds in a block's post-exec transaction, and all of its rules that do not depend on execution: the type itself is a matter of
 * the fork. Spec: docs/protocol/01-execution.md#sequencer-defined-metering
 */
export function readGasRefunds(
  { number, exact }: Pick<Header, "number" | "exact">,
  transactions: readonly Transaction[],
): GasRefundsRead {
  const last = transactions.length - 1;
  const invalid = (...[rule, data]: Parameters<typeof blockFault>): GasRefundsRead => ({
    kind: "invalid",
    fault: blockFault(rule, data),
  });
  for (let index = 0; index < last; index++) {
    if (transactions[index]!.type === 0x7d) return invalid("post-exec-not-last", { index, last });
  }
  const postExec = transactions[last];
  if (postExec?.type !== 0x7d) return NO_REFUNDS;
  const { blockNumber, refunds } = readPostExecPayload(postExec.data);
  const expected = BigInt(exactNumber({ number, exact }));
  if (blockNumber !== expected) return invalid("post-exec-block-number", { got: blockNumber, expected });
  const read = new Map<number, bigint>();
  for (const { index, gas } of refunds) {
    if (gas === 0n) return invalid("gas-refund-zero", { index });
    const target = index < last ? transactions[Number(index)] : undefined;
    if (target === undefined || !isSigned(target)) {
      return invalid("gas-refund-target", { index, transactions: transactions.length, type: target?.type ?? "none" });
    }
    if (read.has(Number(index))) return invalid("gas-refund-duplicate", { index });
    read.set(Number(index), gas);
  }
  return { kind: "read", refunds: read };
}

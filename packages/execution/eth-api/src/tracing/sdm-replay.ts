import { INTERNAL_ERROR, RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { encodeTransaction, exactNumber, gasRefundsOf, hashTransaction, isSigned } from "@rnode/protocol";
import type { ReadBackend } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceService } from "./trace-service.ts";
import type { TraceableBlock } from "./traceable-block.ts";

/**
 * `debug_replaySDMBlock`: executes a block without its gas refunds, and compares the gas of its transactions with the refunds. Keys and
 * numbers are op-reth's: snake case, no hex. Spec: docs/protocol/04-rpc.md#sequencer-defined-metering
 *
 * @param comparesPayload whether the block's refunds are compared
 * @throws {RpcError} −32603: a transaction cannot be executed without the refunds of those before it
 */
export async function replaySdmBlock(
  { profile }: ReadBackend,
  traces: TraceService,
  work: Work,
  stored: TraceableBlock,
  comparesPayload: boolean,
): Promise<JsonObject> {
  const { header, transactions } = stored.block;
  if (header.number === 0) throw rpcErrorOf(profile.errors.genesisNotTraceable);
  const last = transactions.at(-1);
  const isPresent = last?.type === 0x7d;
  const executed = isPresent ? transactions.slice(0, -1) : transactions;
  const embedded = gasRefundsOf(last);
  const refunds = comparesPayload ? embedded : undefined;
  const number = Number(exactNumber(header));
  const gas = await traces.inSlot(work, async (slot) => {
    const run = traces.beginBlock(slot, { block: { ...stored.block, transactions: executed } });
    const used: bigint[] = [];
    for (const [index, transaction] of executed.entries()) {
      await slot.pause();
      const applied = run.apply(transaction, stored.senders[index]!, encodeTransaction(transaction));
      if (applied.kind === "rejected")
        throw new RpcError(INTERNAL_ERROR, `transaction ${index} is not valid without the refunds of the block: ${applied.reason}`);
      used.push(applied.outcome.gasUsed);
    }
    return used;
  });
  const rows = executed.map((transaction, index) => {
    const raw = gas[index]!;
    const refund = refunds?.get(index);
    return {
      tx_index: index,
      replay_tx_index: index,
      tx_hash: bytesToHex(hashTransaction(transaction)),
      tx_type: transaction.type,
      is_deposit_tx: transaction.type === 0x7e,
      raw_gas_used: Number(raw),
      canonical_gas_used: Number(refund === undefined ? raw : raw > refund ? raw - refund : 0n),
      op_gas_refund_payload: refund === undefined ? null : Number(refund),
      mismatch: refund !== undefined && refund > raw,
    };
  });
  // The other kinds of op-reth (a duplicate, a wrong target) cannot be in a block of the chain.
  const mismatches = rows
    .filter(({ mismatch }) => mismatch)
    .map(({ tx_index, raw_gas_used, op_gas_refund_payload }) => ({
      category: "payload_refund_exceeds_raw_gas",
      block_num: number,
      tx_index,
      expected: raw_gas_used,
      actual: op_gas_refund_payload,
      message: `payload refund exceeds raw gas for tx index ${tx_index}`,
    }));
  const sum = (key: "canonical_gas_used" | "raw_gas_used" | "op_gas_refund_payload"): number =>
    rows.reduce((total, row) => total + (row[key] ?? 0), 0);
  return {
    config: { compare_payload: comparesPayload },
    block_num: number,
    block_hash: bytesToHex(stored.hash),
    parent_hash: bytesToHex(header.parentHash),
    post_exec_tx_present: isPresent,
    post_exec_tx_index: isPresent ? executed.length : null,
    embedded_payload: embedded === undefined ? null : payloadJson(number, embedded),
    txs: rows,
    mismatches,
    summary: {
      block_num: number,
      block_hash: bytesToHex(stored.hash),
      tx_count_total: rows.length,
      tx_count_user: executed.filter(isSigned).length,
      post_exec_tx_present: isPresent,
      post_exec_payload_entry_count: embedded?.size ?? 0,
      block_gas_used: sum("canonical_gas_used"),
      block_raw_gas_used: sum("raw_gas_used"),
      payload_refund_total: sum("op_gas_refund_payload"),
      mismatch_count: mismatches.length,
    },
  };
}

const payloadJson = (number: number, refunds: ReadonlyMap<number, bigint>): JsonObject => ({
  version: 1,
  block_number: number,
  gas_refund_entries: Array.from(refunds, ([index, gas]) => ({ index, gas_refund: Number(gas) })),
});

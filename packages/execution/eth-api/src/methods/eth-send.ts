import { dataShape, optionalParam, param, rpcErrorOf, type Shape, shape, uint64Shape } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { findPendingTransaction, findTransaction, type ReadBackend, requireState, rulesAt } from "../backend/backend.ts";
import { receiptsToJson } from "../json/receipt-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { LATEST } from "../params/block-selector.ts";
import { checkConditional, conditionalCost, conditionalShape, MAX_CONDITIONAL_COST } from "../params/conditional.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** Milliseconds, as a number or a quantity. */
const millisecondsShape: Shape<number> = shape({ oneOf: [{ type: "integer", minimum: 0 }, uint64Shape.schema] }, (value) => {
  const given = typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : uint64Shape.parse(value);
  return Number(given);
});

export function ethSendMethods({ backend, writer, sending }: ReadServices): ApiMethods {
  const { profile } = backend;
  const methods: Record<string, ApiMethods[string]> = {
    eth_sendRawTransaction: method({
      runs: "reader",
      cost: "cheap",
      result: results.transactionHash,
      params: [param("transaction", dataShape)],
      summary: "Takes in a signed transaction, or forwards it to the sequencer; the answer is its hash.",
      handler: async ([raw]) => bytesToHex(await writer.submit(raw)),
    }),
    eth_sendRawTransactionSync: method({
      runs: "reader",
      cost: "cheap",
      result: { name: "receipt", schema: results.RECEIPT },
      params: [param("transaction", dataShape), optionalParam("timeout", millisecondsShape)],
      summary:
        "Like eth_sendRawTransaction, but the answer is the receipt, once the transaction is in a block (EIP-7966). Error 4: no receipt in time; 5 and 6: not taken, because it would have to wait in the pool, or because nonces before its own are missing.",
      handler: async ([raw, timeoutMs]) => {
        const { defaultSyncTimeoutMs, maxSyncTimeoutMs } = sending;
        const wanted = timeoutMs === undefined || timeoutMs === 0 ? defaultSyncTimeoutMs : timeoutMs;
        const waitMs = Math.min(wanted, maxSyncTimeoutMs);
        const hash = await writer.submit(raw, { mustBeReady: true });
        const receipt = await receiptWithin(backend, hash, waitMs);
        if (receipt !== undefined) return receipt;
        throw rpcErrorOf(profile.errors.receiptTimeout(bytesToHex(hash), waitMs));
      },
    }),
  };
  if (sending.acceptsConditionals) {
    methods.eth_sendRawTransactionConditional = method({
      runs: "reader",
      cost: "cheap",
      result: results.transactionHash,
      params: [param("transaction", dataShape), param("conditional", conditionalShape)],
      summary: "Like eth_sendRawTransaction; the transaction is included while the conditions are met, or not at all (ERC-4337).",
      handler: async ([raw, conditional]) => {
        const cost = conditionalCost(conditional);
        if (cost > MAX_CONDITIONAL_COST)
          throw rpcErrorOf(profile.errors.conditional({ kind: "too-costly", cost, limit: MAX_CONDITIONAL_COST }));
        const { header, state } = requireState(backend, LATEST);
        const fault = checkConditional(conditional, { number: header.number, timestampSec: header.timestamp }, state);
        if (fault !== undefined) throw rpcErrorOf(profile.errors.conditional({ kind: "not-met", fault }));
        return bytesToHex(await writer.submit(raw, { conditional }));
      },
    });
  }
  return methods;
}

/** The receipt of a transaction once it is in a block, or in a part of one; undefined if that takes longer than the timeout. */
function receiptWithin(backend: ReadBackend, hash: Uint8Array, timeoutMs: number): Promise<JsonObject | undefined> {
  const read = (): JsonObject | undefined => {
    const found = findTransaction(backend, hash) ?? findPendingTransaction(backend, hash);
    if (found === undefined) return undefined;
    return receiptsToJson(backend.profile, rulesAt(backend, found.stored.block.header), found.stored, found.index)[0];
  };
  return new Promise((resolve) => {
    const known = read();
    if (known !== undefined) return resolve(known);
    const finish = (receipt: JsonObject | undefined): void => {
      clearTimeout(timer);
      stop();
      resolve(receipt);
    };
    const timer = setTimeout(() => finish(undefined), timeoutMs);
    const look = (): void => {
      const receipt = read();
      if (receipt !== undefined) finish(receipt);
    };
    const stops = [backend.chain.onHeadChange(look), backend.pending?.onChange(look)];
    const stop = (): void => {
      for (const each of stops) each?.();
    };
  });
}

import { arrayShape, countShape, numberShape, optionalParam, param, type Shape, shape } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import { blobBaseFee, nextBaseFee } from "@rnode/protocol";
import { requireHeader, rulesAt } from "../backend/backend.ts";
import { feeHistory } from "../fees/fee-history.ts";
import { blockNumberShape, LATEST } from "../params/block-selector.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** Accepts a JSON number as well, because some libraries send one. */
const blockCountShape: Shape<number> = shape({ oneOf: [countShape.schema, { type: "integer", minimum: 0 }] }, (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : countShape.parse(value),
);

export function ethFeeMethods({ backend, gasPrice }: ReadServices): ApiMethods {
  return {
    eth_gasPrice: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("gasPrice"),
      params: [],
      summary: "Base fee of the head and the suggested tip, wei. Without the L1 data fee.",
      handler: () => toQuantity(gasPrice.gasPriceWei()),
    }),
    eth_maxPriorityFeePerGas: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("tip"),
      params: [],
      summary: "Suggested tip, wei.",
      handler: () => toQuantity(gasPrice.suggestedTipWei()),
    }),
    eth_baseFee: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("baseFee"),
      params: [],
      summary: "Base fee of the next block, wei.",
      handler: () => {
        const { header } = requireHeader(backend, LATEST);
        return toQuantity(nextBaseFee(backend.chain.config, header, header.timestamp + 1));
      },
    }),
    eth_blobBaseFee: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("blobBaseFee"),
      params: [],
      summary: "Wei a unit of blob gas; 1 on OP Stack chains.",
      handler: () => {
        const { header } = requireHeader(backend, LATEST);
        const { blobParams } = rulesAt(backend, header);
        return toQuantity(
          blobParams === undefined ? 1n : blobBaseFee(header.excessBlobGas ?? 0n, blobParams.baseFeeUpdateFraction),
        );
      },
    }),
    eth_feeHistory: method({
      runs: "reader",
      cost: "search",
      result: results.feeHistory,
      params: [
        param("blockCount", blockCountShape),
        param("newestBlock", blockNumberShape),
        optionalParam("rewardPercentiles", arrayShape(numberShape)),
      ],
      handler: ([count, newest, percentiles], work) => feeHistory(backend, work, count, newest, percentiles),
    }),
  };
}

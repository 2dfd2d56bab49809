import { dataShape, type MethodTable, method, param, uint64Shape, uint256Shape } from "@rnode/jsonrpc";
import type { RpcServices } from "./services.ts";

/** What the batch submitter tells the sequencer's execution client. Spec: protocol/04 §9.4 */
export function minerMethods({ chain }: RpcServices): MethodTable {
  return {
    miner_setMaxDASize: method({
      params: [param("maxTransactionBytes", uint64Shape), param("maxBlockBytes", uint64Shape)],
      summary: "Limits on pool transactions by estimated compressed size; 0 is no limit.",
      handler: ([maxTransactionBytes, maxBlockBytes]) => {
        chain.setMaxDaSize(maxTransactionBytes, maxBlockBytes);
        return true;
      },
    }),
    // The three below have no effect here, as in the other clients on an OP Stack chain: gas limit and extra data come with the
    // payload attributes, and the least tip is the pool's option.
    miner_setGasLimit: method({ params: [param("gasLimit", uint64Shape)], handler: () => true }),
    miner_setGasPrice: method({ params: [param("gasPrice", uint256Shape)], handler: () => true }),
    miner_setExtra: method({ params: [param("extra", dataShape)], handler: () => true }),
  };
}

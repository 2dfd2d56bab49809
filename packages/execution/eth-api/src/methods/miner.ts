import { dataShape, param, RpcError, SERVER_ERROR, uint64Shape, uint256Shape } from "@rnode/jsonrpc";
import { daBytes } from "@rnode/protocol";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";

/**
 * The settings of the sequencer's execution client that the batcher and the operator can change. Spec:
 * docs/protocol/04-rpc.md#miner-and-da-methods
 */
export function minerMethods(): ApiMethods {
  return {
    miner_setMaxDASize: method({
      runs: "writer",
      result: results.flag("done"),
      params: [param("maxTransactionBytes", uint64Shape), param("maxBlockBytes", uint64Shape)],
      summary: "Limits on pool transactions by estimated compressed size; 0 is no limit.",
      handler: ([maxTransactionBytes, maxBlockBytes], { chain }) => {
        chain.setMaxDaSize(daBytes(maxTransactionBytes), daBytes(maxBlockBytes));
        return true;
      },
    }),
    miner_setGasPrice: method({
      runs: "writer",
      result: results.flag("done"),
      params: [param("gasPrice", uint256Shape)],
      summary: "Blocks built here leave out pool transactions that tip less, wei a gas.",
      handler: ([gasPrice], { setMinimumTip }) => {
        setMinimumTip(gasPrice);
        return true;
      },
    }),
    miner_setGasLimit: method({
      runs: "writer",
      result: results.flag("done"),
      params: [param("gasLimit", uint64Shape)],
      summary: "Blocks built here take pool transactions up to this gas, if their gas limit is higher; 0 is no limit.",
      handler: ([gasLimit], { chain }) => {
        chain.setGasLimit(gasLimit);
        return true;
      },
    }),
    miner_setExtra: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("extra", dataShape)],
      summary: "Refused: the extra data comes with the payload attributes.",
      handler: () => {
        throw new RpcError(
          SERVER_ERROR,
          "the extra data of a block comes from the rollup node with the payload attributes and cannot be set here",
        );
      },
    }),
  };
}

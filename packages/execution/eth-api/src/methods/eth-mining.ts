import { bytesShape, hashShape, INTERNAL_ERROR, param, RpcError, uint256Shape } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const unimplemented = (): never => {
  throw new RpcError(INTERNAL_ERROR, "unimplemented");
};
const SUMMARY = "Of proof of work: always answers the error of Reth, unimplemented.";
/** version of devp2p, whose messages Reth's answer is about; here blocks come from the rollup node */
const P2P_VERSION = 5;

/** The remaining proof-of-work methods, answered as in Reth; Geth no longer has them. */
export function ethMiningMethods({ backend }: ReadServices): ApiMethods {
  if (!backend.profile.servesMining) return {};
  return {
    eth_protocolVersion: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("version"),
      params: [],
      summary: "Version of the peer-to-peer protocol of an Ethereum client.",
      handler: () => toQuantity(P2P_VERSION),
    }),
    eth_hashrate: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("hashrate"),
      params: [],
      summary: "Hashes a second: none.",
      handler: () => toQuantity(0),
    }),
    eth_submitHashrate: method({
      runs: "reader",
      cost: "cheap",
      result: results.flag("isTaken"),
      params: [param("hashrate", uint256Shape), param("id", hashShape)],
      summary: "Of proof of work: never taken.",
      handler: () => false,
    }),
    eth_coinbase: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [],
      summary: SUMMARY,
      handler: unimplemented,
    }),
    eth_mining: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [],
      summary: SUMMARY,
      handler: unimplemented,
    }),
    eth_getWork: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [],
      summary: SUMMARY,
      handler: unimplemented,
    }),
    eth_submitWork: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("nonce", bytesShape(8)), param("powHash", hashShape), param("mixDigest", hashShape)],
      summary: SUMMARY,
      handler: unimplemented,
    }),
  };
}

import { dataShape, param } from "@rnode/jsonrpc";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

export function netMethods({ backend }: ReadServices): ApiMethods {
  return {
    net_version: method({
      runs: "reader",
      cost: "cheap",
      result: results.text("networkId"),
      params: [],
      summary: "Network id: the chain id, decimal.",
      handler: () => String(backend.chain.config.chainId),
    }),
    net_listening: method({ runs: "reader", cost: "cheap", result: results.flag("listening"), params: [], handler: () => true }),
    net_peerCount: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("peers"),
      params: [],
      summary: "Execution-layer peers: none, blocks come from the rollup node.",
      handler: () => "0x0",
    }),
  };
}

export function web3Methods({ backend, version }: ReadServices): ApiMethods {
  return {
    web3_clientVersion: method({
      runs: "reader",
      cost: "cheap",
      result: results.text("version"),
      params: [],
      handler: () => backend.profile.clientVersion(version),
    }),
    web3_sha3: method({
      runs: "reader",
      cost: "cheap",
      result: results.hashOf("hash"),
      params: [param("data", dataShape)],
      summary: "keccak256.",
      handler: ([data]) => bytesToHex(keccak256(data)),
    }),
  };
}

import { dataShape, param } from "@rnode/jsonrpc";
import { bytesToHex, keccak256, toQuantity } from "@rnode/primitives";
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
    net_listening: method({
      runs: "writer",
      result: results.flag("listening"),
      params: [],
      summary: "Whether others can connect: no if the client takes no part in the network.",
      handler: (_, { network }) => network?.node !== undefined,
    }),
    net_peerCount: method({
      runs: "writer",
      result: results.quantity("peers"),
      params: [],
      summary: "Connected peers on the network of execution clients.",
      handler: (_, { network }) => toQuantity(network?.peerCount ?? 0),
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

import { param, RpcError, SERVER_ERROR, textShape } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { chainConfigToJson } from "../json/chain-config-json.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const { arrayOf, HASH, object, TEXT } = results;
const INTEGER = { type: "integer" };
const PEER_CHANGES = ["addPeer", "removePeer", "addTrustedPeer", "removeTrustedPeer"] as const;

/** Methods that operators' tools call. This layer has no peer-to-peer network: the rollup node has it. */
export function adminMethods({ backend, version }: ReadServices): ApiMethods {
  const { chain, profile } = backend;
  const refusals = PEER_CHANGES.map((name) => [
    `admin_${name}`,
    method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("peer", textShape)],
      summary: "Refused: this client has no peers.",
      handler: () => {
        throw new RpcError(
          SERVER_ERROR,
          "this client has no peers: blocks come from the rollup node, whose peers are those of its rnodep2p_ methods",
        );
      },
    }),
  ]);
  return {
    ...(Object.fromEntries(refusals) as ApiMethods),
    admin_nodeInfo: method({
      runs: "reader",
      cost: "cheap",
      result: {
        name: "node",
        schema: object({
          id: TEXT,
          name: TEXT,
          enode: TEXT,
          enr: TEXT,
          ip: TEXT,
          ports: object({ discovery: INTEGER, listener: INTEGER }),
          listenAddr: TEXT,
          protocols: object({
            eth: object({ network: INTEGER, genesis: HASH, head: HASH, difficulty: INTEGER, config: { type: "object" } }),
          }),
        }),
      },
      params: [],
      summary: "The client and its chain. It has no identity on a network: id and addresses are empty.",
      handler: () => ({
        id: "",
        name: profile.clientVersion(version),
        enode: "",
        enr: "",
        ip: "",
        ports: { discovery: 0, listener: 0 },
        listenAddr: "",
        protocols: {
          eth: {
            network: Number(chain.config.chainId),
            difficulty: 0,
            genesis: bytesToHex(chain.genesis.hash),
            config: chainConfigToJson(chain.config),
            head: chain.head().hash,
          },
        },
      }),
    }),
    admin_peers: method({
      runs: "reader",
      cost: "cheap",
      result: { name: "peers", schema: arrayOf({ type: "object" }) },
      params: [],
      summary: "Execution-layer peers: none.",
      handler: () => [],
    }),
  };
}

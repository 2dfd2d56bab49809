import { INVALID_PARAMS, param, RpcError, type RpcErrorRule, SERVER_ERROR, textShape, withRpcErrors } from "@rnode/jsonrpc";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { chainConfigToJson } from "../json/chain-config-json.ts";
import type { Profile } from "../profile/profile.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { NetworkAccess, NetworkPeer, NodeOnNetwork, ReadServices } from "./services.ts";

const { arrayOf, HASH, object, TEXT } = results;
const INTEGER = { type: "integer" };
const FLAG = { type: "boolean" };

const NO_NETWORK = "this client takes no part in the network of execution clients (--max-peers=0)";

const CHANGES = {
  addPeer: "Dials a node until it is connected, and again when the connection is lost.",
  removePeer: "Disconnects a node, and dials it no more.",
  addTrustedPeer: "As admin_addPeer; connections with this node count for no limit.",
  removeTrustedPeer: "The node is treated like all others again.",
} as const satisfies Partial<Record<keyof NetworkAccess, string>>;

/** Methods that operators' tools call. */
export function adminMethods({ backend, version }: ReadServices): ApiMethods {
  const { chain, profile } = backend;
  const changes = Object.entries(CHANGES).map(([name, summary]) => [
    `admin_${name}`,
    method({
      runs: "writer",
      result: results.flag("done"),
      params: [param("enode", textShape)],
      summary,
      handler: async ([enode], { network }) => {
        if (network === undefined) throw new RpcError(SERVER_ERROR, NO_NETWORK);
        await withRpcErrors(() => network[name as keyof typeof CHANGES](enode), NETWORK_ERRORS);
        return true;
      },
    }),
  ]);
  return {
    ...(Object.fromEntries(changes) as ApiMethods),
    admin_nodeInfo: method({
      runs: "writer",
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
      summary: "The client, its identity on the network and its chain. Without a network, the ports are 0.",
      handler: async (_, { network, unjoinedNode }) => ({
        ...nodeJson(network?.node ?? (await unjoinedNode?.()), profile),
        name: profile.clientVersion(version),
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
    ...(profile.servesClearTxpool && {
      admin_clearTxpool: method({
        runs: "writer",
        result: { name: "dropped", schema: INTEGER },
        params: [],
        summary: "Drops all transactions of the pool; the answer is their number.",
        handler: (_, { pool }) => pool.clear(),
      }),
    }),
    admin_peers: method({
      runs: "writer",
      result: {
        name: "peers",
        schema: arrayOf(
          object({
            id: TEXT,
            name: TEXT,
            enode: TEXT,
            caps: arrayOf(TEXT),
            network: object({ localAddress: TEXT, remoteAddress: TEXT, inbound: FLAG, trusted: FLAG, static: FLAG }),
            protocols: { type: "object" },
          }),
        ),
      },
      params: [],
      summary: "Connected peers on the network of execution clients.",
      handler: async (_, { network }) =>
        network === undefined ? [] : (await network.peers()).map((peer) => peerJson(peer, profile)),
    }),
  };
}

/** Errors of the network layer: an invalid address, or the network is restarting. */
const NETWORK_ERRORS: RpcErrorRule = { only: "devp2p/", codes: { "devp2p/bad-enode": INVALID_PARAMS } };

/** Geth's id of a node is the hash of its key, Reth's the key itself, compressed. */
const idOf = ({ nodeId, publicKey }: Pick<NodeOnNetwork, "nodeId" | "publicKey">, { name }: Profile): string =>
  name === "G" ? nodeId : `${hexToBytes(publicKey)[63]! % 2 === 0 ? "02" : "03"}${publicKey.slice(0, 64)}`;

function nodeJson(node: NodeOnNetwork | undefined, profile: Profile): object {
  if (node === undefined) return { id: "", enode: "", enr: "", ip: "", ports: { discovery: 0, listener: 0 }, listenAddr: "" };
  const { enode, enr = "", ip, tcpPort, udpPort } = node;
  const listenAddr = `${ip.includes(":") ? `[${ip}]` : ip}:${tcpPort}`;
  return { id: idOf(node, profile), enode, enr, ip, ports: { discovery: udpPort, listener: tcpPort }, listenAddr };
}

function peerJson(peer: NetworkPeer, profile: Profile): object {
  const { clientId, enode, capabilities, localAddress, remoteAddress, isInbound, isTrusted, isStatic, ethVersion, head } = peer;
  const range =
    profile.name === "G" && head.number !== undefined
      ? { earliestBlock: peer.earliestBlock ?? 0, latestBlock: head.number, latestBlockHash: bytesToHex(head.hash) }
      : {};
  return {
    id: idOf(peer, profile),
    name: clientId,
    enode,
    caps: capabilities,
    network: { localAddress, remoteAddress, inbound: isInbound, trusted: isTrusted, static: isStatic },
    protocols: { eth: { version: ethVersion, ...range } },
  };
}

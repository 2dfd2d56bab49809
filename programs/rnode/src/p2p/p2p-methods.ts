import {
  booleanShape,
  type MethodTable,
  method,
  param,
  RpcError,
  SERVER_ERROR,
  type Shape,
  ShapeError,
  shape,
  shown,
} from "@rnode/jsonrpc";
import { canonicalIp, canonicalPeerId, type PeerApi, parsePeerAddress, parseSubnet } from "@rnode/p2p";

const refuse = (expected: string, value: unknown): never => {
  throw new ShapeError(`expected ${expected}, got ${shown(value)}`);
};

const textOf = (expected: string, parse: (text: string) => string | undefined): Shape<string> =>
  shape({ type: "string" }, (value) => (typeof value === "string" ? parse(value) : undefined) ?? refuse(expected, value));

/** The empty id is accepted: it is not malformed, but matches no peer. */
const peerIdShape = textOf("a peer id: base58 (16Uiu2HA…) or a CID", (text) => (text === "" ? "" : canonicalPeerId(text)));
const ipShape = textOf("an IP address", canonicalIp);
const peerAddressShape = textOf(
  "a multiaddress of a peer: /ip4/192.0.2.1/tcp/9222/p2p/16Uiu2HA…",
  (text) => parsePeerAddress(text)?.multiaddress,
);

/** CIDR, or the object that Go's clients make of a network. */
const subnetShape: Shape<string> = shape({ oneOf: [{ type: "string" }, { type: "object" }] }, (value) => {
  const text = typeof value === "string" ? value : goNetwork(value);
  const subnet = text === undefined ? undefined : parseSubnet(text);
  return subnet?.text ?? refuse("a network in CIDR notation: 192.0.2.0/24", value);
});

/** `{"IP":"192.0.2.0","Mask":"////AA=="}` as CIDR. @returns undefined: another kind of value */
function goNetwork(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { IP: ip, Mask: mask } = value as { IP?: unknown; Mask?: unknown };
  if (typeof ip !== "string" || typeof mask !== "string") return undefined;
  const bits = [...Buffer.from(mask, "base64")].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const prefixLength = bits.indexOf("0") < 0 ? bits.length : bits.indexOf("0");
  const isMask = (bits.length === 32 || bits.length === 128) && !bits.slice(prefixLength).includes("1");
  return isMask ? `${ip}/${prefixLength}` : undefined;
}

/** Errors of the network are returned with their texts. */
async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new RpcError(SERVER_ERROR, error instanceof Error ? error.message : String(error), undefined, { cause: error });
  }
}

/**
 * The methods of `rnodep2p_`, also under the upstream name `opp2p_`. What changes something answers null, whether or not it was so before.
 * Spec: docs/protocol/04-rpc.md#namespace-rnodep2p
 */
export function p2pMethods(peers: PeerApi): MethodTable {
  const asking = (ask: () => Promise<unknown>) => method({ params: [], handler: () => inWords(ask()) });
  const changing = (name: string, argument: Shape<string>, change: (text: string) => Promise<void>) =>
    method({
      params: [param(name, argument)],
      handler: async ([text]) => {
        if (text === "") throw new RpcError(SERVER_ERROR, "invalid request");
        await inWords(change(text));
        return null;
      },
    });
  const methods: MethodTable = {
    self: asking(() => peers.self()),
    peers: method({ params: [param("connected", booleanShape)], handler: ([connected]) => inWords(peers.peers(connected)) }),
    peerStats: asking(() => peers.peerStats()),
    // as kona has it
    peerCount: asking(async () => {
      const { connected, table } = await peers.peerStats();
      const isDiscovering = (await peers.discoveryTable()) !== undefined;
      return { connectedDiscovery: isDiscovering ? table : null, connectedGossip: connected };
    }),
    discoveryTable: asking(async () => {
      const table = await peers.discoveryTable();
      if (table === undefined) throw new Error("discovery disabled");
      return table;
    }),
    blockPeer: changing("peerId", peerIdShape, (peer) => peers.blockPeer(peer)),
    unblockPeer: changing("peerId", peerIdShape, (peer) => peers.unblockPeer(peer)),
    listBlockedPeers: asking(() => peers.listBlockedPeers()),
    blockAddr: changing("ip", ipShape, (ip) => peers.blockAddr(ip)),
    unblockAddr: changing("ip", ipShape, (ip) => peers.unblockAddr(ip)),
    listBlockedAddrs: asking(() => peers.listBlockedAddrs()),
    blockSubnet: changing("subnet", subnetShape, (cidr) => peers.blockSubnet(cidr)),
    unblockSubnet: changing("subnet", subnetShape, (cidr) => peers.unblockSubnet(cidr)),
    listBlockedSubnets: asking(() => peers.listBlockedSubnets()),
    protectPeer: changing("peerId", peerIdShape, (peer) => peers.protectPeer(peer)),
    unprotectPeer: changing("peerId", peerIdShape, (peer) => peers.unprotectPeer(peer)),
    connectPeer: changing("address", peerAddressShape, (address) => peers.connectPeer(address)),
    disconnectPeer: changing("peerId", peerIdShape, (peer) => peers.disconnectPeer(peer)),
    // not upstream
    listBans: asking(() => peers.listBans()),
    listEquivocations: asking(() => peers.listEquivocations()),
  };
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, declaration]) => [
      [`rnodep2p_${name}`, declaration],
      [`opp2p_${name}`, declaration],
    ]),
  );
}

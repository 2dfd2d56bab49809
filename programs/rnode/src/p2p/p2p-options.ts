import { P2PSettingError, parseBootnode, parseNetworks, parseStaticPeer } from "@rnode/p2p";
import { isPrivateKey } from "@rnode/primitives";
import {
  bool,
  decimal,
  duration,
  hexKey,
  ipAddress,
  ipOrHost,
  listOf,
  oneOf,
  optionGroup,
  type Parser,
  port,
  text,
  textOf,
  uint,
} from "@rnode/program";

/** A text that the network reads with `read`, kept as it is. */
const readBy = (read: (value: string) => unknown, placeholder: string, expects: string): Parser<string> => ({
  ...textOf(placeholder, expects),
  parse: (value) => {
    try {
      read(value);
      return value;
    } catch (error) {
      if (error instanceof P2PSettingError) return undefined;
      throw error;
    }
  },
});

const staticPeer = readBy(parseStaticPeer, "multiaddr", "a peer's address such as /ip4/203.0.113.5/tcp/9222/p2p/16Uiu2HA…");
const bootnode = readBy(parseBootnode, "enr|enode", "a record (enr:…) or enode://<128 hex digits>@<IP>:<port>");
const network = readBy((value) => parseNetworks([value]), "cidr", "an address and a length, such as 10.0.0.0/8");

/** Ports that need privileges are mistakes. */
const checkPort = (port: number): string | undefined =>
  port > 0 && port < 1_024 ? `${port} is a privileged port: expected 0, or 1024 to 65535` : undefined;

const checkTides = (low: number, high: number, other: (flag: string) => unknown): string | undefined =>
  other("p2p.disable") === true || (low > 0 && high > 0 && low <= high)
    ? undefined
    : `peers lo/hi tides are invalid: ${low}, ${high}: expected 0 < lo ≤ hi`;

const checkFolder = (text: string): string | undefined =>
  text === "" ? 'is empty: expected a folder, or the word "memory"' : undefined;

export const p2pOptions = optionGroup("p2p", {
  disable: { parse: bool, default: false, help: "Disable peer-to-peer networking." },
  advertiseIp: { parse: ipOrHost, flag: "p2p.advertise.ip", help: "Address or host name in the discovery record." },
  advertiseTcp: {
    parse: port,
    check: checkPort,
    flag: "p2p.advertise.tcp",
    default: 0,
    help: "TCP port in the discovery record. 0: the listening port.",
  },
  advertiseUdp: {
    parse: port,
    check: checkPort,
    flag: "p2p.advertise.udp",
    default: 0,
    help: "UDP port in the discovery record. 0: the listening port.",
  },
  banDurationMs: {
    parse: duration,
    flag: "p2p.ban.duration",
    env: "P2P_PEER_BANNING_DURATION",
    default: 3_600_000,
    needs: "p2p.ban.peers",
    help: "How long a ban lasts.",
  },
  banPeers: { parse: bool, flag: "p2p.ban.peers", env: "P2P_PEER_BANNING", default: true, help: "Ban peers with low scores." },
  banThreshold: {
    parse: decimal,
    flag: "p2p.ban.threshold",
    env: "P2P_PEER_BANNING_THRESHOLD",
    default: -100,
    needs: "p2p.ban.peers",
    help: "Score below which a peer is banned.",
  },
  bootnodes: { parse: listOf(bootnode), default: [], help: "Node records to start discovery from." },
  discoveryPath: {
    parse: text,
    check: checkFolder,
    flag: "p2p.discovery.path",
    default: "rnode_discovery_db",
    help: "Folder for discovered node records, or the word memory.",
  },
  gossipTimestampThresholdMs: {
    parse: duration,
    flag: "p2p.gossip.timestamp.threshold",
    default: 60_000,
    help: "Age from which on gossiped blocks are rejected.",
  },
  listenIp: { parse: ipAddress, flag: "p2p.listen.ip", default: "0.0.0.0", help: "Address to listen on." },
  listenTcp: {
    parse: port,
    check: checkPort,
    flag: "p2p.listen.tcp",
    env: "P2P_LISTEN_TCP_PORT",
    default: 9222,
    help: "TCP port to listen on.",
  },
  listenUdp: {
    parse: port,
    check: checkPort,
    flag: "p2p.listen.udp",
    env: "P2P_LISTEN_UDP_PORT",
    default: 0,
    help: "UDP port to listen on. 0: the number of the TCP port.",
  },
  nat: { parse: bool, default: false, help: "Ask the router to map the listening ports (NAT)." },
  netrestrict: { parse: listOf(network), default: [], help: "Connect only to peers in these networks (CIDR)." },
  noDiscovery: { parse: bool, default: false, help: "Disable the discovery of peers." },
  peersGraceMs: { parse: duration, flag: "p2p.peers.grace", default: 30_000, help: "How long a new peer is not pruned." },
  peersHi: {
    parse: uint,
    check: (high, other) => checkTides(Number(other("p2p.peers.lo")), Number(high), other),
    flag: "p2p.peers.hi",
    default: 30,
    help: "Number of peers from which on some are pruned.",
  },
  peersLo: {
    parse: uint,
    check: (low, other) => checkTides(Number(low), Number(other("p2p.peers.hi")), other),
    flag: "p2p.peers.lo",
    default: 20,
    help: "Number of peers below which more are searched for.",
  },
  peerstorePath: {
    parse: text,
    check: checkFolder,
    flag: "p2p.peerstore.path",
    default: "rnode_peerstore_db",
    help: "Folder for known peers, or the word memory.",
  },
  privPath: {
    parse: text,
    check: (value: string) => (value === "" ? "is empty: expected a file" : undefined),
    flag: "p2p.priv.path",
    default: "rnode_p2p_priv.txt",

    help: "File of the network key, made if it does not exist.",
  },
  scoring: { parse: oneOf("none", "light"), env: "P2P_PEER_SCORING", default: "light", help: "How peers are scored." },
  sequencerKey: {
    parse: hexKey,
    flag: "p2p.sequencer.key",
    secret: true,
    check: (key) => (isPrivateKey(key as Uint8Array) ? undefined : "is no private key: zero, or beyond the order of secp256k1"),
    help: "Key that signs the sequencer's blocks.",
  },
  static: {
    parse: listOf(staticPeer),
    default: [],
    check: (_, other) =>
      other("p2p.disable") === true ? "both --p2p.static and --p2p.disable are specified: leave one of them out" : undefined,
    help: "Peers to stay connected to: multiaddresses with /p2p/<peer id>.",
  },
  syncOnlyreqtostatic: {
    parse: bool,
    flag: "p2p.sync.onlyreqtostatic",
    default: false,
    needs: "p2p.static",
    help: "Ask only static peers for blocks.",
  },
  syncReqResp: {
    parse: bool,
    flag: "p2p.sync.req-resp",
    default: true,
    help: "Request missing blocks from peers, and answer such requests.",
  },
});

import { isIP } from "node:net";
import { parseEnode } from "@rnode/devp2p";
import { bool, integerBetween, ipAddress, listOf, optionGroup, type Parser, path, port, textOf, uint } from "@rnode/program";

/** One that network nodes are named by. */
const enode: Parser<string> = {
  ...textOf("enode", "an address such as enode://<128 hex digits>@<IP>:<port>"),
  parse: (value) => {
    try {
      parseEnode(value);
      return value;
    } catch {
      return undefined;
    }
  },
};

const bootnode: Parser<string> = {
  ...textOf("enode|enr", "an enode:// address or an enr: record"),
  parse: (value) => (value.startsWith("enr:") ? value : enode.parse(value)),
};

const nat: Parser<string> = {
  ...textOf("any|none|upnp|extip:IP", "any, none, upnp or extip: and an IP address"),
  parse: (value) =>
    ["any", "none", "upnp"].includes(value) || (value.startsWith("extip:") && isIP(value.slice(6)) !== 0) ? value : undefined,
};

/** The network of execution clients, in the words of Geth and Reth. */
export const network = optionGroup("", {
  addr: { parse: ipAddress, default: "0.0.0.0", help: "Address on which peers connect." },
  port: { parse: port, default: 30_303, help: "TCP port on which peers connect. 0: any that is free." },
  discoveryPort: {
    parse: port,
    flag: "discovery.port",
    help: "UDP port of node discovery. Default: the number of --port.",
  },
  disableDiscovery: {
    parse: bool,
    flag: "disable-discovery",
    default: false,
    help: "Do not search for peers: only those of --trusted-peers, of admin_addPeer, and those that connect.",
  },
  bootnodes: {
    parse: listOf(bootnode),
    default: [],
    help: "Nodes at which discovery begins, comma-separated enode:// or enr: texts. Default: with the name of a network as --chain, those that op-geth has for its L1; none with a genesis file.",
  },
  trustedPeers: {
    parse: listOf(enode),
    flag: "trusted-peers",
    default: [],
    help: "Peers that are dialled until they are connected, and for which no limit counts, comma-separated enode:// texts.",
  },
  nodekey: {
    parse: path,
    help: "File with the private key that is the identity of this node, in hex; created if it does not exist. Default: nodekey in the data folder.",
  },
  maxPeers: {
    parse: integerBetween(0, 1_000),
    flag: "max-peers",
    default: 50,
    help: "Maximum number of peers. 0: the client takes no part in the network.",
  },
  stateMinBlocks: {
    parse: uint,
    flag: "snapsync.min-blocks",
    default: 100_000,
    unit: "blocks",
    help: "Without any block, and with a head that is at least this far ahead, fetch the state after it from peers (snap/1) in place of all blocks before it. 0: always.",
  },
  nat: {
    parse: nat,
    default: "any",
    help: "How others learn the address of this node: any and upnp ask a router to pass the ports on, extip:IP names the address, none leaves it to what others see.",
  },
});

import { PendingBlocks } from "@rnode/eth-api";
import { bool, duration, integerBetween, listenAddress, listOf, type OptionsOf, optionGroup, port, wsUrl } from "@rnode/program";

const MIN_INTERVAL_MS = 20;
/** Without one of these there is no stream. */
const STREAMS = ["subblocks", "flashblocks-url"];

export const subblocks = optionGroup("subblocks", {
  enabled: {
    parse: bool,
    flag: "subblocks",
    default: false,
    help: "Publish blocks that are built here in parts, as flashblocks (sequencers of OP Stack chains).",
  },
  intervalMs: {
    parse: duration,
    flag: "subblocks.interval",
    default: 200,
    needs: "subblocks",
    check: (value: number) => (value < MIN_INTERVAL_MS ? `expected at least ${MIN_INTERVAL_MS}ms` : undefined),
    help: "Time between two parts of a block.",
  },
  urls: {
    parse: listOf(wsUrl),
    flag: "flashblocks-url",
    aliases: ["subblocks-url", "websocket-url"],
    default: [],
    help: "Streams of flashblocks to follow, ws:// or wss://; several may carry the same stream. Their blocks under construction are the pending block.",
  },
  host: {
    parse: listenAddress,
    flag: "subblocks.addr",
    default: "127.0.0.1",
    needs: STREAMS,
    help: "Address on which the stream is served, or relayed.",
  },
  port: {
    parse: port,
    default: 1111,
    needs: STREAMS,
    help: "Port on which the stream is served, or relayed. 0: any that is free.",
  },
  earlyReceipts: {
    parse: bool,
    flag: "subblocks.early-receipts",
    default: true,
    needs: STREAMS,
    help: "Answer eth_getTransactionReceipt and eth_getTransactionByHash before the block, whose state is at pending then. Without it, clients that read latest after a receipt always see the transaction's effects.",
  },
  isCompressed: {
    parse: bool,
    flag: "subblocks.brotli",
    default: false,
    needs: STREAMS,
    help: "Send the stream compressed with brotli, in binary messages.",
  },
  maxConnections: {
    parse: integerBetween(1, 10_000),
    default: 256,
    needs: STREAMS,
    help: "Maximum number of connections to the stream.",
  },
  maxConnectionsPerAddress: {
    parse: integerBetween(1, 10_000),
    flag: "subblocks.max-connections-per-address",
    default: 10,
    needs: STREAMS,
    help: "Maximum number of connections to the stream from one address; of IPv6, from a /64 network.",
  },
});

export type SubblockOptions = OptionsOf<typeof subblocks>;

/** Whether this client has blocks under construction to show. */
export const hasSubblocks = ({ enabled, urls }: SubblockOptions): boolean => enabled || urls.length > 0;

export const pendingBlocksOf = (options: SubblockOptions): PendingBlocks | undefined =>
  hasSubblocks(options) ? new PendingBlocks(options.earlyReceipts) : undefined;

import { dashboardOptions } from "@rnode/dashboard";
import {
  address,
  bool,
  browserOptions,
  duration,
  httpUrl,
  integerBetween,
  listenAddress,
  listOf,
  logOptions,
  metricsOptions,
  type OptionsOfAll,
  optionGroup,
  optionTable,
  port,
  positiveDuration,
  pprofOptions,
  withDefaults,
} from "@rnode/program";
import { remoteSignerOptions } from "@rnode/signer";
import { accountOptions, transactionOptions } from "@rnode/tx-manager";
import { opProposer } from "./foreign-options.ts";

const MAX_GAME_TYPE = 2 ** 32 - 1;

const endpointOptions = optionGroup("", {
  l1EthRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "L1 JSON-RPC endpoint, or several, separated by commas: the next one is used when one fails.",
  },
  rollupRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "JSON-RPC endpoint of the rollup node, or of several sequencers, separated by commas: that of the active one is used. Asked of several, they must serve the admin namespace.",
  },
  activeSequencerCheckDurationMs: {
    parse: positiveDuration,
    default: 120_000,
    help: "How long the answer which of several sequencers is active counts.",
  },
});

const proposalOptions = optionGroup("", {
  l2ooAddress: {
    parse: address,
    help: "Address of the L2OutputOracle. With neither this nor --game-factory-address, the contract that the rollup's portal uses is taken.",
  },
  gameFactoryAddress: { parse: address, help: "Address of the DisputeGameFactory." },
  gameType: {
    parse: integerBetween(0, MAX_GAME_TYPE),
    help: "Type of the dispute games that are created. Not given: the type that the rollup's portal respects, or 0.",
  },
  proposalIntervalMs: {
    parse: duration,
    default: 0,
    help: "Time between two proposals through the dispute game factory, which needs it. An output oracle says itself when the next output is due.",
  },
  pollIntervalMs: { parse: positiveDuration, default: 12_000, help: "Time between two checks whether an output is due." },
  allowNonFinalized: {
    parse: bool,
    default: false,
    help: "Propose safe blocks, too: an L1 reorganisation can make such a proposal wrong.",
  },
  outputRetryIntervalMs: {
    parse: positiveDuration,
    default: 12_000,
    help: "Time until the rollup node is asked again after it had no answer.",
  },
  waitNodeSync: { parse: bool, default: false, help: "At the start, wait until the rollup node has derived up to the L1 head." },
  stopped: { parse: bool, default: false, help: "Start without proposing; admin_startProposer starts it." },
});

const rpcOptions = optionGroup("rpc", {
  host: {
    parse: listenAddress,
    flag: "rpc.addr",
    default: "0.0.0.0",
    help: "Address that the proposer's JSON-RPC server listens on.",
  },
  port: { parse: port, default: 8545, help: "Port of the proposer's JSON-RPC server." },
  enableAdmin: { parse: bool, default: false, help: "Serve the admin namespace." },
  ...browserOptions("rpc"),
});

export const rproposerOptions = optionTable({
  program: "rproposer",
  summary: "Posts output roots of an L2 to L1, so that withdrawals can be proven.",
  envPrefix: "RPROPOSER_",
  foreign: [opProposer],
  exclusive: [["l2oo-address", "game-factory-address"]],
  groups: {
    endpoints: endpointOptions,
    proposals: proposalOptions,
    account: accountOptions,
    signer: remoteSignerOptions,
    transactions: transactionOptions,
    rpc: rpcOptions,
    log: logOptions,
    metrics: withDefaults(metricsOptions, { port: 7303 }),
    dashboard: dashboardOptions(7403),
    pprof: withDefaults(pprofOptions, { port: 6063 }),
  },
});

export type RproposerOptions = OptionsOfAll<typeof rproposerOptions.groups>;

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
import { rootKindOfGame, wantedSource } from "./game-types.ts";

const MAX_GAME_TYPE = 2 ** 32 - 1;

const isGiven = (urls: unknown): boolean => Array.isArray(urls) && urls.length > 0;

const endpointOptions = optionGroup("", {
  l1EthRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "L1 JSON-RPC endpoint, or several, separated by commas: the next one is used when one fails.",
  },
  rollupRpc: {
    parse: listOf(httpUrl),
    required: true,
    requiredUnless: "superroot-rpcs",
    help: "JSON-RPC endpoint of the rollup node, or of several sequencers, separated by commas: that of the active one is used. Asked of several, they must serve the admin namespace.",
  },
  superrootRpcs: {
    parse: listOf(httpUrl),
    aliases: ["supernode-rpcs"],
    check: (_: readonly string[], other) =>
      other("game-factory-address") === undefined || other("game-type") === undefined
        ? "needs --game-factory-address and --game-type, because sources of super roots name no contract"
        : undefined,
    help: "JSON-RPC endpoints of sources of super roots (superroot_atTimestamp), separated by commas, in place of --rollup-rpc: for games of types 5 and 9.",
  },
  activeSequencerCheckDurationMs: {
    needs: "rollup-rpc",
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
    check: (gameType: number, other) => {
      const wanted = rootKindOfGame(gameType);
      const isOther = wanted !== undefined && (wanted === "super root") !== isGiven(other("superroot-rpcs"));
      return isOther ? `expected ${wantedSource(wanted)}, got ${gameType}` : undefined;
    },
    help: "Type of the dispute games that are created, which fits the kind of root. Not given: the type that the rollup's portal respects, or 0.",
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
  summary: "Posts output roots or super roots of an L2 to L1, so that withdrawals can be proven.",
  envPrefix: "RPROPOSER_",
  foreign: [opProposer],
  exclusive: [
    ["l2oo-address", "game-factory-address"],
    ["rollup-rpc", "superroot-rpcs"],
    ["l2oo-address", "superroot-rpcs"],
  ],
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

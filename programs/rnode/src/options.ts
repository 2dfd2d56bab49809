import { altDaOptions } from "@rnode/alt-da";
import { dashboardOptions } from "@rnode/dashboard";
import { L1_RPC_KINDS } from "@rnode/l1";
import { fetchOptions } from "@rnode/networks";
import {
  bool,
  browserOptions,
  decimal,
  duration,
  httpHeader,
  httpUrl,
  integerBetween,
  listenAddress,
  listOf,
  logOptions,
  metricsOptions,
  type OptionsOf,
  oneOf,
  optionGroup,
  optionTable,
  type Parser,
  path,
  port,
  positiveDuration,
  pprofOptions,
  shutdownOptions,
  text,
  uint,
  url,
} from "@rnode/program";
import { FORK_FACTS, type ForkFacts } from "@rnode/protocol";
import { remoteSignerOptions } from "@rnode/signer";
import { ENGINE_KINDS } from "./engine/engine-kind.ts";
import { opNode } from "./foreign-options.ts";
import { interopOptions } from "./interop-options.ts";
import { p2pOptions } from "./p2p/p2p-options.ts";

/** The kind of endpoint, in upper or lower case. */
const rpcKind: Parser<(typeof L1_RPC_KINDS)[number]> = {
  ...oneOf(...L1_RPC_KINDS),
  parse: (value) => L1_RPC_KINDS.find((kind) => kind === value.toLowerCase()),
};

const rate: Parser<number> = {
  ...decimal,
  expects: "a number, 0 or more",
  parse: (value) => {
    const parsed = decimal.parse(value);
    return parsed !== undefined && parsed >= 0 ? parsed : undefined;
  },
};

export const l1Options = optionGroup("l1", {
  urls: {
    parse: listOf(url),
    flag: "l1",
    env: "L1_ETH_RPC",
    default: ["http://127.0.0.1:8545"],
    help: "L1 JSON-RPC endpoints (eth namespace), HTTP or WebSocket, separated by commas. If one fails, the next is asked.",
  },
  beacon: { parse: httpUrl, help: "L1 beacon node, for chains that publish blobs." },
  beaconFallbacks: {
    parse: listOf(httpUrl),
    default: [],
    aliases: ["l1.beacon-archiver"],
    needs: "l1.beacon",
    help: "Further beacon nodes or blob archivers, for blobs that the first does not have.",
  },
  beaconHeader: {
    parse: httpHeader,
    needs: "l1.beacon",
    secret: true,
    help: 'Header added to all beacon requests, those to the fallbacks too: "X-Key: value".',
  },
  beaconFetchAllSidecars: {
    parse: bool,
    flag: "l1.beacon.fetch-all-sidecars",
    sharedEnv: "L1_BEACON",
    default: false,
    needs: "l1.beacon",
    help: "Fetch all blobs of a block and select the needed ones here, for beacon nodes that select wrongly.",
  },
  beaconSlotSec: {
    parse: integerBetween(1, 3_600),
    flag: "l1.beacon.slot-duration-override",
    needs: "l1.beacon",
    unit: "seconds",
    help: "Slot duration of a development L1 whose beacon endpoint does not report it.",
  },
  beaconIgnore: {
    parse: bool,
    flag: "l1.beacon.ignore",
    default: false,
    help: "Start without a working beacon node. A batch in blobs then stops derivation until one answers.",
  },
  cacheSize: {
    parse: uint,
    default: 900,
    help: "Maximum number of L1 headers, of transaction lists and of receipt lists in memory, within 256 MiB. 0: 3/2 of the sequencing window.",
  },
  epochIntervalMs: {
    parse: duration,
    flag: "l1.epoch-poll-interval",
    default: 384_000,
    help: "How often to ask for the safe and finalized L1 blocks. 0: never.",
  },
  headIntervalMs: {
    parse: duration,
    flag: "l1.http-poll-interval",
    default: 12_000,
    help: "How often to ask for the L1 head over HTTP; WebSocket endpoints announce it. 0: never.",
  },
  maxConcurrency: { parse: integerBetween(1, 10_000), default: 10, help: "Maximum number of L1 requests at the same time." },
  maxBatchSize: {
    parse: integerBetween(1, 500),
    flag: "l1.rpc-max-batch-size",
    default: 20,
    help: "Maximum number of calls in one L1 request.",
  },
  rateLimitPerSec: {
    parse: rate,
    flag: "l1.rpc-rate-limit",
    default: 0,
    help: "Maximum number of L1 calls per second. 0: no limit.",
  },
  rpcKind: {
    parse: rpcKind,
    flag: "l1.rpckind",
    env: "L1_RPC_KIND",
    default: "standard",
    help: "Kind of the L1 endpoint, which decides how receipts are fetched at the lowest price.",
  },
  runtimeConfigReloadIntervalMs: {
    parse: duration,
    default: 600_000,
    help: "How often to read the unsafe block signer and protocol versions from L1. 0 or less: at the start only.",
  },
  trustRpc: {
    parse: bool,
    flag: "l1.trustrpc",
    env: "L1_TRUST_RPC",
    default: false,
    help: "Accept block hashes, transactions and storage values without verifying them. Receipts are verified in any case.",
  },
});

const l2Options = optionGroup("l2", {
  url: {
    parse: url,
    flag: "l2",
    env: "L2_ENGINE_RPC",
    default: "http://127.0.0.1:8551",
    help: "The execution client's authenticated endpoint, HTTP or WebSocket.",
  },
  timeoutMs: { parse: duration, flag: "l2.engine-rpc-timeout", default: 10_000, help: "Time limit of an engine request." },
  jwtSecret: {
    parse: path,
    env: "L2_ENGINE_AUTH",
    help: "File with the 32-byte secret in hex that is shared with the execution client. Default: jwt.hex in the data folder, as for rengine, created if it does not exist.",
  },
  usesExtensions: {
    parse: bool,
    flag: "l2.engine-extensions",
    default: true,
    help: "Have many blocks built by one engine request if the execution client supports that, as rengine does.",
  },
  enginekind: {
    parse: oneOf(...ENGINE_KINDS),
    env: "L2_ENGINE_KIND",
    default: "reth",
    help: "Kind of execution client, which decides how execution-layer sync starts. A client that says it is another is warned about.",
  },
  followSource: {
    parse: url,
    flag: "l2.follow.source",
    help: "Light mode: RPC endpoint of a rollup node that derives. Safe and finalized blocks come from it, and nothing is derived here.",
  },
  followSourceTimeoutMs: {
    parse: positiveDuration,
    flag: "l2.follow.source.rpc-timeout",
    default: 10_000,
    needs: "l2.follow.source",
    help: "Time limit of a request to the source of light mode.",
  },
});

const fileOptions = optionGroup("", {
  datadir: {
    parse: path,
    help: "Folder of the engine secret and of fetched files: that of the execution client, if both run on one machine. Default: rnode_data/<L2 chain id> in the working directory.",
  },
  ...fetchOptions("files of network upgrades of a public chain"),
});

export const rollupOptions = optionGroup("rollup", {
  network: {
    parse: text,
    flag: "network",
    help: "A named network, such as op-mainnet; or a chain's file of a superchain registry (superchain/configs/mainnet/op.toml), or its folder and a name.",
  },
  config: { parse: text, help: "Rollup configuration: a JSON file, or the JSON itself." },
  halt: {
    parse: oneOf("none", "major", "minor", "patch"),
    default: "none",
    help: "Halt when L1 requires a protocol version that this node is behind by this much. Needs protocol_versions_address in the rollup configuration.",
  },
  loadProtocolVersions: {
    parse: bool,
    default: false,
    help: "Read the protocol versions that L1 requires and recommends, log them and tell the execution client. --rollup.halt implies it.",
  },
  l1ChainConfig: {
    parse: path,
    help: "JSON file with the chain configuration, or the genesis, of an L1 that is not a public network.",
  },
  upgradesDir: {
    parse: path,
    help: "Folder with the files of network upgrades that the chain has ahead; none is then fetched. Default: upgrades in the data folder.",
  },
  syncmode: {
    parse: oneOf("consensus-layer", "execution-layer"),
    flag: "syncmode",
    default: "consensus-layer",
    help: "How the node syncs initially: by deriving all blocks from L1, or by having the execution client fetch them from its own peers, up to the unsafe blocks that other nodes send.",
  },
  offsetElSafeMs: {
    parse: duration,
    flag: "syncmode.offset-el-safe",
    default: 12 * 3_600_000,
    check: (value: number) => (value < 0 ? "is negative: expected 0 or more" : undefined),
    help: "After an execution-layer sync, how far behind the synced block the safe and finalized blocks are. What lies between is derived from L1.",
  },
});

const overrideOf = (what: string, oldName?: string) =>
  ({
    parse: uint,
    unit: "seconds since the epoch",
    help: `Activation time of ${what}, instead of the configuration's.`,
    ...(oldName === undefined ? {} : { oldFlag: `override.${oldName}` }),
  }) as const;

type OverrideName = NonNullable<(typeof FORK_FACTS)[keyof typeof FORK_FACTS]["override"]>;

export const overrideOptions = optionGroup("override", {
  ...(Object.fromEntries(
    Object.values<ForkFacts>(FORK_FACTS).flatMap(({ override, oldOverride, title }) =>
      override === undefined ? [] : [[override, overrideOf(title, oldOverride)]],
    ),
  ) as Readonly<Record<OverrideName, ReturnType<typeof overrideOf>>>),
  pectrablobschedule: overrideOf("the Pectra blob schedule"),
  keepKarstUpgradeGas: {
    parse: bool,
    help: "Whether the gas of Karst's upgrade stays in the gas limit after its block, instead of what the configuration says.",
  },
});

const rpcOptions = optionGroup("rpc", {
  host: { parse: listenAddress, flag: "rpc.addr", default: "0.0.0.0", help: "Address the RPC server listens on." },
  port: { parse: port, default: 9545, help: "Port of the RPC server." },
  enableAdmin: { parse: bool, default: false, help: "Serve the admin namespace." },
  adminState: { parse: path, needs: "sequencer.enabled", help: "File that keeps changes made through the admin namespace." },
  fetchWithdrawalRootFromState: {
    parse: bool,
    flag: "fetch-withdrawal-root-from-state",
    default: false,
    help: "Take the message passer's storage root from a state proof even if the header contains it. Needs an archive node for old blocks.",
  },
  experimentalSequencerApi: {
    parse: bool,
    flag: "experimental.sequencer-api",
    default: false,
    help: "Serve the namespace opstack, with which tests build, commit and publish blocks step by step. Not for chains that matter.",
  },
  ...browserOptions("rpc"),
});

const sequencerOptions = optionGroup("sequencer", {
  enabled: { parse: bool, default: false, help: "Act as the sequencer: build blocks." },
  l1Confs: {
    parse: uint,
    default: 4,
    needs: "sequencer.enabled",
    unit: "L1 blocks",
    help: "Distance kept from the L1 head when choosing an L1 origin.",
  },
  maxSafeLag: {
    parse: uint,
    default: 0,
    unit: "L2 blocks",
    needs: "sequencer.enabled",
    help: "Pause when the safe head is this far behind the unsafe head. 0: never.",
  },
  recover: {
    parse: bool,
    default: false,
    needs: "sequencer.enabled",
    help: "Advance the L1 origin as fast as allowed, and build blocks without pool transactions.",
  },
  stopped: {
    parse: bool,
    default: false,
    needs: "sequencer.enabled",
    help: "Start with the sequencer stopped; admin_startSequencer starts it.",
  },
  sealingDurationMs: {
    parse: duration,
    flag: "sequencer.sealing-duration",
    default: 50,
    needs: "sequencer.enabled",
    help: "How long before a block's time its payload is fetched. 0 or less: 50ms.",
  },
});

const finalityOptions = optionGroup("finality", {
  lookback: {
    parse: uint,
    default: 0,
    unit: "L1 blocks",
    help: "How many L1 blocks are remembered with their safe head until L1 finalizes them, 129 at least. 0: as many as alt-DA needs.",
  },
  delay: {
    parse: uint,
    default: 0,
    unit: "L1 blocks",
    help: "While derivation catches up, finality is checked once per this many L1 blocks. 0: 64.",
  },
});

const verifierOptions = optionGroup("verifier", {
  l1Confs: {
    parse: uint,
    default: 0,
    unit: "L1 blocks",
    help: "Distance kept from the L1 head when deriving.",
  },
});

const safedbOptions = optionGroup("safedb", {
  path: {
    parse: path,
    help: "Folder of the safe-head database, which rnode_safeHeadAtL1Block and superroot_atTimestamp need and which makes restarts short.",
  },
});

const snapshotlogOptions = optionGroup("snapshotlog", {
  file: { parse: path, env: "SNAPSHOT_LOG", help: "File for a line of JSON each time that a head of L1 or L2 moves." },
});

const conductorOptions = optionGroup("conductor", {
  enabled: {
    parse: bool,
    default: false,
    check: (_, other) => {
      if (other("sequencer.enabled") !== true) return "sequencer must be enabled when conductor is enabled (--sequencer.enabled)";
      if (other("rpc.admin-state") === undefined) return undefined;
      return "config persistence must be disabled when conductor is enabled: leave out --rpc.admin-state";
    },
    help: "Let a conductor decide which sequencer builds blocks: sequencing starts stopped, the conductor starts and stops it, and each block needs its consent.",
  },
  rpc: { parse: httpUrl, default: "http://127.0.0.1:8547", needs: "conductor.enabled", help: "RPC endpoint of the conductor." },
  jwtSecret: {
    parse: path,
    needs: "conductor.enabled",
    help: "File with the secret of the conductor's --rpc.jwt-secret, for a conductor on another machine.",
  },
  rpcTimeoutMs: {
    parse: positiveDuration,
    default: 1_000,
    needs: "conductor.enabled",
    help: "Time limit of a conductor request, with its second attempt.",
  },
});

export const rnodeOptions = optionTable({
  program: "rnode",
  summary: "The rollup node: derives L2 blocks from L1 and drives an execution client; builds blocks when it is the sequencer.",
  envPrefix: "RNODE_",
  groups: {
    l1: l1Options,
    l2: l2Options,
    files: fileOptions,
    rollup: rollupOptions,
    override: overrideOptions,
    sequencer: sequencerOptions,
    verifier: verifierOptions,
    finality: finalityOptions,
    conductor: conductorOptions,
    signer: remoteSignerOptions,
    safedb: safedbOptions,
    altda: altDaOptions,
    interopCluster: interopOptions,
    rpc: rpcOptions,
    log: logOptions,
    metrics: metricsOptions,
    dashboard: dashboardOptions(7400),
    pprof: pprofOptions,
    shutdown: shutdownOptions,
    p2p: p2pOptions,
    snapshotlog: snapshotlogOptions,
  },
  exclusive: [["network", "rollup.config"]],
  foreign: [opNode],
});

type Groups = (typeof rnodeOptions)["groups"];
export type RnodeOptions = { readonly [K in keyof Groups]: OptionsOf<Groups[K]> };

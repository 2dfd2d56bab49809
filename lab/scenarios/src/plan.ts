import { bytesToHex, type Hex, privateKeyToAddress } from "@rnode/primitives";
import { type ForkTimes, forksUpTo, OP_FORKS, type OpFork, type RollupConfig } from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import { Random } from "./random.ts";
import { realGenesisHash } from "./real-engine.ts";
import { genesisPayload } from "./sim-engine.ts";
import type { PeerTrouble, Stranger, SyncPeersOptions } from "./sync-peers.ts";
import type { ReceiptForm } from "./unknown-transaction.ts";

export const GENESIS_TIME_SEC = 1_700_000_000;
export const BATCHER_KEY = new Uint8Array(32).fill(0xb1);
export const USER_KEY = new Uint8Array(32).fill(0x0c);
export const USER_ADDRESS = privateKeyToAddress(USER_KEY);
const L1_CHAIN_ID = 900n;
const L2_CHAIN_ID = 901n;

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

/** A simulated execution client, or rengine with one of its profiles. */
export type EngineKind = "simulated" | "R" | "G";

/**
 * A verifier that joins an existing chain, with `--syncmode=execution-layer`: its execution client gets blocks from the others'
 * clients, and from malicious peers.
 */
export interface LateVerifier {
  readonly name: string;
  readonly startMs: number;
  /** `reth`: it syncs so at every start */
  readonly syncsAs: "geth" | "reth";
  readonly peers: SyncPeersOptions;
  readonly strangers: readonly Stranger[];
  /** the node that it takes safe blocks from; `undefined`: it derives them */
  readonly follows?: string | undefined;
}

/** A node in light mode (`--l2.follow.source`): a verifier of its own, or the sequencer. */
interface LightNode {
  readonly name: string;
  readonly follows: string;
}

/** When L1's rules change, in seconds after its genesis. */
export interface L1Forks {
  /** 0: active at the start; `undefined`: never active */
  readonly amsterdamSec: number | undefined;
  /** an unknown fork: transactions of a new type, a new field in headers */
  readonly next:
    | {
        readonly atSec: number;
        readonly receipts: ReceiptForm;
        readonly hasHeaderField: boolean;
        /** from then on, its endpoints give blocks and receipts as bytes; 0: always */
        readonly rawMethodsSec: number;
      }
    | undefined;
}

export const NO_L1_FORKS: L1Forks = { amsterdamSec: undefined, next: undefined };

/** The events of a scenario, and their times. Everything follows from the seed. */
export interface Plan {
  readonly seed: number;
  readonly blockTimeSec: number;
  readonly l1BlockTimeSec: number;
  readonly l1Forks: L1Forks;
  readonly seqWindowSize: number;
  readonly channelTimeout: number;
  readonly maxSequencerDriftSec: number;
  readonly forkTimes: ForkTimes;
  /** whether the dependency set has other chains, which changes the first block of Lagoon */
  readonly isInCluster: boolean;
  readonly verifiers: number;
  /** none where execution clients are simulated */
  readonly late: readonly LateVerifier[];
  /** none with real execution clients, whose light nodes are among those that join late */
  readonly light: readonly LightNode[];
  /** It verifies messages, and all other nodes follow it; `undefined`: no messages are verified */
  readonly supernode: { readonly name: string; readonly lagBlocks: number } | undefined;
  /** names of the nodes with a safe-head database */
  readonly keepsSafeHeads: readonly string[];
  readonly engine: EngineKind;
  /** the sequencer's execution client refunds gas in some blocks; only rengine checks that */
  readonly hasRefunds: boolean;
  readonly maxLatencyMs: number;
  readonly sequencerConfs: number;
  readonly verifierConfs: number;
  readonly finalDistance: number;
  readonly usesBlobs: boolean;
  /** how nodes get blobs: by their versioned hashes from L1, or with the client of beacon nodes, which takes longer */
  readonly blobSource: "l1" | "beacon" | "beacon-since-fulu";
  /** the data is on a DA server, and can be challenged; `undefined`: it is on L1 */
  readonly altDa: { readonly challengeWindow: number; readonly resolveWindow: number } | undefined;
  readonly batcherArgs: readonly string[];
  /** the batcher's transactions are large enough for it to keep up with the sequencer */
  readonly hasRoom: boolean;
  /** milliseconds from one user transaction to the next */
  readonly userIntervalMs: number;
  /** how long faults may happen */
  readonly faultsMs: number;
  /** time for the network to recover afterwards */
  readonly recoveryMs: number;
  readonly faults: readonly Fault[];
}

export type Interval = { readonly fromMs: number; readonly toMs: number };

export type Fault =
  | { readonly kind: "l1-reorg"; readonly atMs: number; readonly depth: number; readonly fate: "kept" | "returned" | "lost" }
  | ({ readonly kind: "l1-endpoint"; readonly of: string; readonly how: EndpointFault } & Interval)
  | ({ readonly kind: "engine"; readonly of: string; readonly how: Exclude<EndpointFault, "lies" | "lags"> } & Interval)
  | { readonly kind: "engine-crash"; readonly of: string; readonly atMs: number; readonly lostBlocks: number }
  | { readonly kind: "engine-restart"; readonly of: string; readonly atMs: number; readonly downMs: number }
  | ({ readonly kind: "peer"; readonly of: string; readonly peer: string; readonly how: PeerTrouble } & Interval)
  | {
      readonly kind: "restart";
      readonly of: string;
      readonly atMs: number;
      readonly waits: number;
      readonly downMs: number;
      /** a light node starts again as one that derives, and the other way round */
      readonly changesMode?: boolean;
    }
  | ({ readonly kind: "source"; readonly of: string; readonly how: SourceFault } & Interval)
  | ({ readonly kind: "inclusion"; readonly how: "late" | "lost"; readonly delayMs: number } & Interval)
  | { readonly kind: "pool-drop"; readonly atMs: number }
  /** the supernode finds an invalid message in a block that it derived, and replaces the block */
  | { readonly kind: "invalidation"; readonly of: string; readonly atMs: number }
  | ({ readonly kind: "l1-pause" } & Interval)
  | { readonly kind: "l1-log"; readonly atMs: number; readonly logs: readonly LogKind[] }
  | { readonly kind: "junk"; readonly atMs: number; readonly from: "batcher" | "stranger"; readonly what: JunkKind }
  | ({ readonly kind: "gossip"; readonly lossRate: number; readonly delayMs: number } & Interval)
  | ({ readonly kind: "blobs"; readonly of: string; readonly how: "down" | "stalls" | "fails" | BlobLie } & Interval);

/** Logs of the rollup's L1 contracts: as the contracts write them, or in a form that they never have. */
const LOG_KINDS = [
  "deposit",
  "batcher",
  "feeScalars",
  "gasLimit",
  "unsafeBlockSigner",
  "eip1559Params",
  "operatorFeeParams",
  "minBaseFee",
  "daFootprintGasScalar",
  "bad-deposit",
  "bad-update",
] as const;
export type LogKind = (typeof LOG_KINDS)[number];

/** How a beacon node's answers about blobs differ from the truth. */
export type BlobLie = "missing" | "withheld" | "wrong";

export type EndpointFault = "down" | "stalls" | "fails" | "loses-answers" | "lies" | "lags" | "slow";

/** Faults of the node that a light node follows, and of the link to it. `stale`: it repeats an old answer; `foreign`: it is of another chain. */
export type SourceFault = Exclude<EndpointFault, "lags"> | "stale" | "foreign" | "disordered" | "other-fork";

const SOURCE_FAULTS: readonly SourceFault[] = [
  ...(["down", "stalls", "fails", "loses-answers", "slow", "lies", "lies"] as const),
  ...(["stale", "foreign", "disordered", "other-fork"] as const),
];

const JUNK_KINDS = [
  "noise",
  "empty",
  "unknown-version",
  "garbage-frame",
  "truncated-frame",
  "bad-is-last",
  "bad-compression",
  "repeat",
  "shuffled-repeat",
  "other-parent",
  "late-block",
  "future-block",
  "rival-block",
  "invalid-transaction",
  "broken-batch",
] as const;
/** `gas-refunds`: batches with post-exec transactions, most of them invalid; only in scenarios with refunds */
export type JunkKind = (typeof JUNK_KINDS)[number] | "gas-refunds";

/** Share of the scenarios whose execution clients are rengine's own: they take longer. */
const REAL_ENGINES = 0.15;
/** Share of the scenarios with blobs in which nodes have the client of beacon nodes: a blob's commitment and proof take 0.1 s. */
const BEACON_CLIENTS = 0.15;
/** Share of the scenarios with simulated execution clients and without blobs whose data is on a DA server. */
const ALT_DA = 0.15;
/** Share of the scenarios with rengine in which verifiers join late. */
const LATE_VERIFIERS = 0.6;
/** Share of the scenarios with light nodes, of those in which the sequencer is one, and of verifiers that join late as light nodes. */
const LIGHT_NODES = 0.35;
const LIGHT_SEQUENCER = 0.2;
const LATE_LIGHT = 0.4;
/** Share of the scenarios of Lagoon with several chains and simulated execution clients in which blocks are replaced. */
const SUPERNODES = 0.6;
/** Share of the scenarios with Amsterdam in which the fork after it comes. */
const NEXT_L1_FORK = 0.3;
/** The real engine needs code for the first Canyon block that is not part of this repository. */
const goesThroughCanyon = ({ canyon = 0 }: ForkTimes): boolean => canyon > 0;

/** Of chains of clusters: the newest forks that simulated execution clients build blocks of. */
export const CLUSTER_FORKS = ["holocene", "isthmus", "jovian"] as const satisfies readonly OpFork[];

/** The forks that chains of scenarios go through: `bedrock` to `jovian`, and from there to the newest ones. */
const LAST_FORK = OP_FORKS.indexOf("jovian");
const NEWEST_FORKS = ["karst", "lagoon"] as const satisfies readonly OpFork[];
/** Their first blocks deploy contracts whose code is not part of this repository. */
const NEEDS_CODE: readonly OpFork[] = ["ecotone", "fjord", "isthmus", "jovian"];

/** Block times of L2 by those of L1, in seconds: several L2 blocks for each L1 block. */
const BLOCK_TIMES = { 4: [1, 2], 6: [2, 2, 3], 12: [2, 3, 4, 6] } as const;

export interface PlanLimits {
  /** whether the code of upgrades is available */
  readonly hasUpgradeCode: boolean;
  /** default: the seed's */
  readonly engine?: EngineKind | undefined;
}

/** The scenario of a seed. */
export function planOf(seed: number, { hasUpgradeCode, engine: wantedEngine }: PlanLimits): Plan {
  const random = new Random(seed, "plan");
  const l1BlockTimeSec = random.pick([4, 6, 12] as const);
  const seqWindowSize = random.between(8, 18);
  const channelTimeout = random.between(5, 9);
  const faultsMs = random.between(10, 26) * l1BlockTimeSec * 1000;
  const verifiers = random.between(1, 3);
  const nodes = ["sequencer", ...Array.from({ length: verifiers }, (_, i) => `verifier-${i + 1}`)];
  // options added later have their own random sequence, so older parts of a seed do not change
  const more = new Random(seed, "more");
  const newest = new Random(seed, "newest forks");
  const forkTimes = withNewestForks(newest, schedule(random, faultsMs, hasUpgradeCode), { faultsMs, hasUpgradeCode });
  const usesBlobs = random.chance(0.15);
  const readsBlobs = forkTimes.ecotone !== undefined;
  const blobSource =
    usesBlobs && readsBlobs && more.chance(BEACON_CLIENTS) ? more.pick(["beacon", "beacon-since-fulu"] as const) : "l1";
  const atGenesis = (fork: OpFork): boolean => forkTimes[fork] === 0;
  const batchType = atGenesis("delta") ? random.below(2) : 0;
  const compression = atGenesis("fjord") && random.chance(0.3) ? "brotli-9" : "zlib";
  const singularArgs = random.pick([[], ["--compressor=ratio"], ...(compression === "zlib" ? [["--compressor=none"]] : [])]);
  const margin = random.between(1, 3);
  const maxTxBytes = random.pick([400, 700, 2000, 120_000]);
  const hasRoom = maxTxBytes === 120_000;
  const keepsSafeHeads = more.chance(0.4) ? nodes.filter(() => more.chance(0.7)) : [];
  const ownEngine = goesThroughCanyon(forkTimes) || !more.chance(REAL_ENGINES) ? "simulated" : more.pick(["R", "G"] as const);
  const engine = wantedEngine ?? ownEngine;
  const hasRefunds = engine !== "simulated" && forkTimes.lagoon !== undefined;
  const later = new Random(seed, "late");
  const da = new Random(seed, "alt-da");
  const altDa =
    engine === "simulated" && !usesBlobs && da.chance(ALT_DA)
      ? { challengeWindow: da.between(2, 7), resolveWindow: da.between(2, 5) }
      : undefined;
  const challengeableBlocks = altDa === undefined ? 0 : altDa.challengeWindow + altDa.resolveWindow;
  const late = engine !== "simulated" && later.chance(LATE_VERIFIERS) ? lateVerifiers(later, { seed, faultsMs, hasRoom }) : [];
  const lightRandom = new Random(seed, "light");
  const followers = engine === "simulated" && lightRandom.chance(LIGHT_NODES) ? lightNodes(lightRandom, nodes) : [];
  const isInCluster = newest.chance(0.5);
  const verified = new Random(seed, "supernode");
  const canReplace = isInCluster && forkTimes.lagoon !== undefined && engine === "simulated" && altDa === undefined;
  const supernode =
    canReplace && verified.chance(SUPERNODES) ? { name: "verifier-1", lagBlocks: verified.between(1, 8) } : undefined;
  const light =
    supernode === undefined
      ? followers
      : [...nodes.filter((name) => name !== supernode.name), "light-1"].map((name) => ({ name, follows: supernode.name }));
  const room = { nodes, faultsMs, l1BlockTimeSec, usesBlobs };
  return {
    seed,
    blockTimeSec: random.pick(BLOCK_TIMES[l1BlockTimeSec]),
    l1BlockTimeSec,
    l1Forks: l1ForksOf(new Random(seed, "l1 forks"), faultsMs / 1000),
    seqWindowSize,
    channelTimeout,
    maxSequencerDriftSec: random.pick([30, 60, 600]),
    forkTimes,
    isInCluster,
    verifiers,
    late,
    light,
    supernode,
    keepsSafeHeads:
      altDa !== undefined || supernode !== undefined
        ? []
        : [
            ...keepsSafeHeads,
            ...light.map(({ name }) => name).filter(() => lightRandom.chance(0.5)),
            ...late.map(({ name }) => name).filter(() => later.chance(0.4)),
          ],
    engine,
    hasRefunds,
    maxLatencyMs: random.pick([0, 0, 20, 150]),
    sequencerConfs: random.pick([0, 0, 1, 2]),
    verifierConfs: random.pick([0, 0, 0, 1, 3]),
    finalDistance: random.between(5, 14),
    usesBlobs,
    blobSource,
    altDa,
    batcherArgs: [
      `--poll-interval=${random.pick([500, 1000, 2000])}ms`,
      `--max-channel-duration=${random.between(1, 3)}`,
      `--sub-safety-margin=${margin}`,
      `--max-l1-tx-size-bytes=${maxTxBytes}`,
      `--target-num-frames=${random.between(1, 3)}`,
      `--max-pending-tx=${random.pick([1, 1, 2, 0])}`,
      `--num-confirmations=${random.between(1, 3)}`,
      "--resubmission-timeout=20s",
      "--txmgr.receipt-query-interval=2s",
      "--txmgr.not-in-mempool-timeout=30s",
      `--compression-algo=${compression}`,
      `--batch-type=${batchType}`,
      ...(batchType === 0 ? singularArgs : []),
      ...(batchType === 1 && random.chance(0.3) ? [`--max-blocks-per-span-batch=${random.between(1, 6)}`] : []),
      ...(random.chance(0.3) ? ["--wait-node-sync"] : []),
    ],
    hasRoom,
    userIntervalMs: random.pick([700, 2500, 9000]),
    faultsMs,
    recoveryMs: (2 * seqWindowSize + 20 + 3 * challengeableBlocks) * l1BlockTimeSec * 1000 + 120_000,
    faults: [
      ...faultsOf(random, room),
      ...(blobSource === "l1" ? [] : beaconFaults(more, room)),
      ...logFaults(new Random(seed, "logs"), faultsMs),
      ...(hasRefunds ? refundFaults(new Random(seed, "refunds"), faultsMs) : []),
      ...light.flatMap(({ name }) => lightFaults(lightRandom, name, room, supernode === undefined)),
      ...late.flatMap((verifier) => lateFaults(later, verifier, room)),
      ...(supernode === undefined ? [] : invalidations(verified, supernode.name, room)),
    ],
  };
}

function lightNodes(random: Random, nodes: readonly string[]): LightNode[] {
  const verifiers = nodes.slice(1);
  const followers = Array.from({ length: random.between(1, 2) }, (_, i) => ({
    name: `light-${i + 1}`,
    follows: random.pick(nodes),
  }));
  if (!random.chance(LIGHT_SEQUENCER)) return followers;
  const sequencer = { name: "sequencer", follows: random.pick(verifiers) };
  return [sequencer, ...followers];
}

function invalidations(random: Random, of: string, { faultsMs, l1BlockTimeSec }: FaultRoom): Fault[] {
  return Array.from({ length: random.between(1, 4) }, () => ({
    kind: "invalidation",
    of,
    atMs: random.between(2000 * l1BlockTimeSec, faultsMs - 1000),
  }));
}

/** @param mayDerive whether a node that derives has the same safe blocks: on a chain whose blocks are replaced it does not */
function lightFaults(random: Random, of: string, { faultsMs, l1BlockTimeSec }: FaultRoom, mayDerive: boolean): Fault[] {
  const l1Ms = l1BlockTimeSec * 1000;
  const atMs = (): number => random.between(2 * l1Ms, faultsMs - 1000);
  const interval = (maxMs: number): Interval => {
    const fromMs = atMs();
    return { fromMs, toMs: Math.min(faultsMs, fromMs + random.between(1000, maxMs)) };
  };
  const restart = (changesMode: boolean): Fault => ({
    ...{ kind: "restart", of, atMs: atMs(), waits: random.between(1, 40), downMs: random.between(0, 3 * l1Ms), changesMode },
  });
  const source = (): Fault => ({
    kind: "source",
    of,
    how: random.pick(SOURCE_FAULTS),
    ...interval(6 * l1Ms),
  });
  const makers: readonly (() => Fault)[] = [
    source,
    source,
    source,
    () => restart(false),
    () => restart(mayDerive),
    () => ({ kind: "engine", of, how: random.pick(["down", "stalls", "fails", "loses-answers", "slow"]), ...interval(3 * l1Ms) }),
    () => ({ kind: "engine-crash", of, atMs: atMs(), lostBlocks: random.between(1, 12) }),
    () => ({
      ...{ kind: "l1-endpoint", of, how: random.pick(["down", "stalls", "fails", "lies", "lags", "slow"]) },
      ...interval(4 * l1Ms),
    }),
  ];
  return Array.from({ length: random.between(0, 6) }, () => random.pick(makers)());
}

/** A third of the scenarios each: before, in the midst, never. */
function l1ForksOf(random: Random, faultsSec: number): L1Forks {
  const amsterdamSec = random.pick([0, random.between(8, faultsSec), undefined]);
  if (amsterdamSec === undefined || !random.chance(NEXT_L1_FORK)) return { amsterdamSec, next: undefined };
  const atSec = random.between(Math.max(8, amsterdamSec), faultsSec);
  const next = { atSec, receipts: random.pick(["known", "foreign"] as const), hasHeaderField: random.chance(0.5) };
  return { amsterdamSec, next: { ...next, rawMethodsSec: random.pick([0, 0, atSec + random.between(10, 60)]) } };
}

/** Some forks from the genesis on, the next ones at times during the scenario. */
function schedule(random: Random, faultsMs: number, hasUpgradeCode: boolean): ForkTimes {
  const first = random.between(0, LAST_FORK);
  const times: Partial<Record<OpFork, number>> = forksUpTo(OP_FORKS[first]!);
  let atSec = 0;
  for (let i = first + 1; i <= LAST_FORK; i++) {
    const fork = OP_FORKS[i]!;
    if (!hasUpgradeCode && NEEDS_CODE.includes(fork)) break;
    if (random.chance(0.2)) break;
    atSec += random.chance(0.15) ? 0 : random.between(4, 80);
    if (atSec === 0) atSec = 4;
    if (atSec * 1000 > faultsMs * 1.2) break;
    times[fork] = GENESIS_TIME_SEC + atSec;
  }
  return times;
}

/** Of chains that reach Jovian: the forks after it, from the genesis on or, if their code is available, during the scenario. */
function withNewestForks(
  random: Random,
  times: ForkTimes,
  { faultsMs, hasUpgradeCode }: PlanLimits & Pick<Plan, "faultsMs">,
): ForkTimes {
  if (times.jovian === undefined) return times;
  const more: Partial<Record<OpFork, number>> = {};
  let atSec = times.jovian === 0 ? 0 : times.jovian - GENESIS_TIME_SEC;
  for (const fork of NEWEST_FORKS) {
    if (random.chance(0.2)) break;
    const isAtGenesis = atSec === 0 && random.chance(hasUpgradeCode ? 0.3 : 0.7);
    if (!isAtGenesis) atSec += random.between(4, 80);
    if (!isAtGenesis && (!hasUpgradeCode || atSec * 1000 > faultsMs * 1.2)) break;
    more[fork] = isAtGenesis ? 0 : GENESIS_TIME_SEC + atSec;
  }
  return { ...times, ...more };
}

interface FaultRoom {
  readonly nodes: readonly string[];
  readonly faultsMs: number;
  readonly l1BlockTimeSec: number;
  readonly usesBlobs: boolean;
}

function faultsOf(random: Random, { nodes, faultsMs, l1BlockTimeSec, usesBlobs }: FaultRoom): Fault[] {
  const l1Ms = l1BlockTimeSec * 1000;
  const atMs = () => random.between(2 * l1Ms, faultsMs - 1000);
  const interval = (maxL1Blocks: number): Interval => {
    const fromMs = atMs();
    return { fromMs, toMs: Math.min(faultsMs, fromMs + random.between(1000, maxL1Blocks * l1Ms)) };
  };
  const makers: readonly (() => Fault)[] = [
    () => ({
      kind: "l1-reorg",
      atMs: atMs(),
      depth: random.between(1, random.pick([2, 5, 12])),
      fate: random.pick(["kept", "returned", "lost"]),
    }),
    () => ({
      kind: "l1-endpoint",
      of: random.pick([...nodes, "batcher"]),
      how: random.pick(["down", "stalls", "fails", "loses-answers", "lies", "lags", "slow"]),
      ...interval(5),
    }),
    () => ({
      kind: "engine",
      of: random.pick(nodes),
      how: random.pick(["down", "stalls", "fails", "loses-answers", "slow"]),
      ...interval(3),
    }),
    () => ({ kind: "engine-crash", of: random.pick(nodes), atMs: atMs(), lostBlocks: random.between(1, 12) }),
    () => ({
      kind: "restart",
      of: random.pick([...nodes, "batcher", "batcher"]),
      atMs: atMs(),
      waits: random.between(1, 40),
      downMs: random.between(0, random.pick([500, 3 * l1Ms])),
    }),
    () => ({ kind: "inclusion", how: random.pick(["late", "late", "lost"]), delayMs: random.between(1, 4) * l1Ms, ...interval(6) }),
    () => ({ kind: "pool-drop", atMs: atMs() }),
    () => ({ kind: "l1-pause", ...interval(4) }),
    () => ({ kind: "junk", atMs: atMs(), from: "batcher", what: random.pick(JUNK_KINDS) }),
    () => ({ kind: "junk", atMs: atMs(), from: "stranger", what: random.pick(JUNK_KINDS) }),
    () => ({ kind: "gossip", lossRate: random.fraction(), delayMs: random.between(0, 5000), ...interval(10) }),
    ...(usesBlobs
      ? [(): Fault => ({ kind: "blobs", of: random.pick(nodes), how: random.pick(["down", "stalls", "fails"]), ...interval(4) })]
      : []),
  ];
  // few kinds with many faults each find other things than many kinds with few
  const kinds = Array.from({ length: random.between(0, 5) }, () => random.pick(makers));
  return kinds.flatMap((make) => Array.from({ length: random.between(1, 4) }, make)).sort((a, b) => startOf(a) - startOf(b));
}

/** Share of the scenarios in which L1 has logs of the rollup's contracts. */
const L1_LOGS = 0.4;

function logFaults(random: Random, faultsMs: number): Fault[] {
  if (!random.chance(L1_LOGS)) return [];
  return Array.from({ length: random.between(1, 6) }, () => ({
    kind: "l1-log",
    atMs: random.between(1_000, faultsMs - 1_000),
    logs: Array.from({ length: random.between(1, 5) }, () => random.pick(LOG_KINDS)),
  }));
}

export function refundFaults(random: Random, faultsMs: number): Fault[] {
  return Array.from({ length: random.between(0, 6) }, () => ({
    kind: "junk",
    atMs: random.between(1_000, faultsMs - 1_000),
    from: "batcher",
    what: "gas-refunds",
  }));
}

/** Faults of beacon nodes: an archiver has the right data, if it is reachable. */
function beaconFaults(random: Random, { nodes, faultsMs }: FaultRoom): Fault[] {
  return Array.from({ length: random.between(0, 4) }, () => {
    const fromMs = random.between(1_000, faultsMs - 1_000);
    const how = random.pick(["missing", "withheld", "wrong", "down"] as const);
    return { kind: "blobs", of: random.pick(nodes), how, fromMs, toMs: Math.min(faultsMs, fromMs + random.between(1_000, 60_000)) };
  });
}

/** If the batcher never keeps up, the unsafe chain is replaced repeatedly, so slower peers could never provide it. */
const QUICK_PEERS: SyncPeersOptions = { latencyMs: 20, itemMs: 1 };

function lateVerifiers(random: Random, { seed, faultsMs, hasRoom }: Pick<Plan, "seed" | "faultsMs" | "hasRoom">): LateVerifier[] {
  const strangers = new Random(seed, "strangers");
  const light = new Random(seed, "late light");
  const peersOf = (drawn: SyncPeersOptions): SyncPeersOptions => (hasRoom ? drawn : QUICK_PEERS);
  return Array.from({ length: random.between(1, 2) }, (_, i) => ({
    name: `late-${i + 1}`,
    startMs: random.between(Math.floor(faultsMs / 5), Math.floor((faultsMs * 4) / 5)),
    syncsAs: random.pick(["geth", "geth", "reth"]),
    follows: light.chance(LATE_LIGHT) ? light.pick(["sequencer", "verifier-1"]) : undefined,
    peers: peersOf({ latencyMs: random.pick([20, 300, 1500]), itemMs: random.pick([1, 30, 150]) }),
    strangers: Array.from({ length: random.between(0, 3) }, () => ({
      how: random.pick(["stall", "gone", "empty", "junk", "swapped", "altered", "more"]),
      rate: random.pick([0.2, 1]),
      about: strangers.pick(["headers", "bodies", undefined] as const), // a peer with false headers gets no requests for bodies
    })),
  }));
}

/** Most of them are while it syncs. */
function lateFaults(random: Random, { name: of, startMs }: LateVerifier, { nodes, faultsMs, l1BlockTimeSec }: FaultRoom): Fault[] {
  const l1Ms = l1BlockTimeSec * 1000;
  const atMs = () => Math.min(faultsMs - 1000, startMs + random.between(0, random.pick([4_000, 20_000])));
  const interval = (maxMs: number): Interval => {
    const fromMs = atMs();
    return { fromMs, toMs: Math.min(faultsMs, fromMs + random.between(500, maxMs)) };
  };
  const makers: readonly (() => Fault)[] = [
    () => ({
      kind: "restart",
      of,
      atMs: atMs(),
      waits: random.between(1, 40),
      downMs: random.between(0, random.pick([500, 3 * l1Ms])),
    }),
    () => ({ kind: "engine-restart", of, atMs: atMs(), downMs: random.between(0, 3_000) }),
    () => ({
      kind: "peer",
      of,
      peer: random.pick(nodes),
      how: random.pick(["stall", "gone", "empty", "leaves"]),
      ...interval(20_000),
    }),
    () => ({
      kind: "engine",
      of,
      how: random.pick(["down", "stalls", "fails", "loses-answers", "slow"]),
      ...interval(3 * l1Ms),
    }),
    () => ({ kind: "l1-endpoint", of, how: random.pick(["down", "stalls", "fails", "lies", "lags"]), ...interval(4 * l1Ms) }),
  ];
  return Array.from({ length: random.between(0, 6) }, () => random.pick(makers)());
}

export const startOf = (fault: Fault): number => ("atMs" in fault ? fault.atMs : fault.fromMs);

/** Faults after which an honest batcher's data may come too late, or build on removed blocks. */
const EXCUSES: ReadonlySet<Fault["kind"]> = new Set([
  "l1-reorg",
  "engine-crash",
  "inclusion",
  "l1-pause",
  "pool-drop",
  "invalidation",
]);

/** Whether everything that the batcher publishes must be accepted. */
export function isBatcherUndisturbed({ faults, hasRoom, l1Forks, sequencerConfs, verifierConfs, altDa }: Plan): boolean {
  if (!hasRoom || altDa !== undefined) return false;
  // L1 replaces its head occasionally. A node that reads the replaced block restarts, and the batcher waits until the node has
  // derived the published data, for longer than a small window. No endpoint may have a block for a while.
  if (l1Forks.amsterdamSec !== undefined && Math.min(sequencerConfs, verifierConfs) < 2) return false;
  if (l1Forks.next !== undefined && l1Forks.next.rawMethodsSec > 0) return false;
  return !faults.some(
    (fault) =>
      EXCUSES.has(fault.kind) ||
      (fault.kind === "junk" && fault.from === "batcher") ||
      ("of" in fault && ["batcher", "sequencer"].includes(fault.of)),
  );
}

export function configOf(plan: Plan, l1Genesis: { readonly hash: Hex; readonly number: number }): RollupConfig {
  const config = testRollupConfig({
    genesis: {
      l1: l1Genesis,
      l2: { hash: bytesToHex(filled(32, 0)), number: 0 },
      l2TimeSec: GENESIS_TIME_SEC,
      systemConfig: testSystemConfig({
        batcherAddress: privateKeyToAddress(BATCHER_KEY),
        scalar: filled(32, 0).fill(1, 0, 1),
      }),
    },
    blockTimeSec: plan.blockTimeSec,
    maxSequencerDriftSec: plan.maxSequencerDriftSec,
    seqWindowSize: plan.seqWindowSize,
    channelTimeoutL1Blocks: plan.channelTimeout,
    l1ChainId: L1_CHAIN_ID,
    l2ChainId: L2_CHAIN_ID,
    forkTimes: plan.forkTimes,
    lagoonPreliminary: true, // the file that its op-node has
    depositContractAddress: filled(20, 0xdd),
    l1SystemConfigAddress: filled(20, 0xcc),
    ...(plan.altDa === undefined
      ? {}
      : {
          altDa: {
            daChallengeContractAddress: filled(20, 0xda),
            daCommitmentType: "KeccakCommitment",
            daChallengeWindow: plan.altDa.challengeWindow,
            daResolveWindow: plan.altDa.resolveWindow,
          },
        }),
  });
  const hash =
    plan.engine === "simulated"
      ? bytesToHex(genesisPayload(config).executionPayload.blockHash)
      : realGenesisHash(config, USER_ADDRESS);
  return { ...config, genesis: { ...config.genesis, l2: { hash, number: 0 } } };
}

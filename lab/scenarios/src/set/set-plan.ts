import type { EndpointFault, Interval } from "../plan.ts";
import { Random } from "../random.ts";

/** One chain of a set. */
export interface ChainPlan {
  readonly chainId: bigint;
  readonly blockTimeSec: number;
  /** number of the L1 block that it begins with */
  readonly l1Genesis: number;
  readonly seqWindowSize: number;
  readonly channelTimeout: number;
  /** the source of its sequencer, and of its follower if there is one */
  readonly sequencerFollows: string;
  readonly followerFollows: string | undefined;
  /** whether the nodes of the sources hear of unsafe blocks */
  readonly doSourcesHear: boolean;
  readonly batcherArgs: readonly string[];
}

export type SetFault =
  | { readonly kind: "l1-reorg"; readonly atMs: number; readonly depth: number; readonly fate: "kept" | "returned" | "lost" }
  | ({ readonly kind: "l1-pause" } & Interval)
  | ({ readonly kind: "l1-endpoint"; readonly of: string; readonly how: EndpointFault } & Interval)
  | ({ readonly kind: "engine"; readonly of: string; readonly how: Exclude<EndpointFault, "lies" | "lags"> } & Interval)
  | { readonly kind: "engine-crash"; readonly of: string; readonly atMs: number; readonly lostBlocks: number }
  /** of a source, a node or a batch submitter: killed in the middle of the `waits`-th wait from then on */
  | { readonly kind: "restart"; readonly of: string; readonly atMs: number; readonly waits: number; readonly downMs: number }
  /** the link of a node to the source that it follows */
  | ({ readonly kind: "link"; readonly of: string; readonly how: Exclude<EndpointFault, "lies" | "lags"> | "stale" } & Interval)
  /** a chain publishes nothing */
  | ({ readonly kind: "standstill"; readonly of: string } & Interval)
  | ({ readonly kind: "inclusion"; readonly how: "late" | "lost"; readonly delayMs: number } & Interval)
  | ({ readonly kind: "gossip"; readonly lossRate: number } & Interval);

/** The events of a scenario of a set, and their times. Everything follows from the seed. */
export interface SetPlan {
  readonly seed: number;
  /** nothing goes wrong: no block may be lost */
  readonly isCalm: boolean;
  readonly chains: readonly ChainPlan[];
  /** names of the programs that verify the set */
  readonly sources: readonly string[];
  readonly l1BlockTimeSec: number;
  readonly finalDistance: number;
  readonly expirySec: number;
  readonly maxLatencyMs: number;
  readonly sequencerConfs: number;
  readonly verifierConfs: number;
  /** blocks with an invalid message, and times at which messages depend on each other in a cycle */
  readonly hostileBlocks: number;
  readonly cycles: number;
  readonly faultsMs: number;
  readonly recoveryMs: number;
  readonly faults: readonly SetFault[];
}

/** Share of the scenarios in which nothing goes wrong. */
const CALM = 0.12;
/** Share of the scenarios in which only faults make messages invalid. */
const HONEST = 0.2;
const FIRST_CHAIN = 901;

export const nodeName = (chainId: bigint, part: string): string => `${chainId}-${part}`;

export function setPlanOf(seed: number): SetPlan {
  const random = new Random(seed, "set");
  const isCalm = random.chance(CALM);
  const l1BlockTimeSec = random.pick([4, 6, 12] as const);
  const count = random.pick([2, 2, 2, 2, 3, 3, 4]);
  const sources = random.chance(0.4) ? ["source-1", "source-2"] : ["source-1"];
  const faultsMs = random.between(10, 24) * l1BlockTimeSec * 1000;
  const chains = Array.from({ length: count }, (_, i): ChainPlan => {
    const margin = random.between(1, 3);
    return {
      chainId: BigInt(FIRST_CHAIN + i),
      blockTimeSec: random.pick(l1BlockTimeSec === 4 ? [1, 2] : l1BlockTimeSec === 6 ? [2, 3] : [2, 3, 4, 6]),
      l1Genesis: random.pick([0, 0, 0, 1, 3]),
      // where nothing goes wrong, no window ends before the batch is read
      seqWindowSize: isCalm ? 40 : random.between(8, 18),
      channelTimeout: random.between(5, 9),
      sequencerFollows: random.pick(sources),
      followerFollows: random.chance(0.5) ? random.pick(sources) : undefined,
      doSourcesHear: random.chance(0.6),
      batcherArgs: [
        "--poll-interval=1s",
        `--max-channel-duration=${random.between(1, 3)}`,
        `--sub-safety-margin=${margin}`,
        `--batch-type=${random.below(2)}`,
        `--max-l1-tx-size-bytes=${random.pick([2_000, 120_000])}`,
        `--num-confirmations=${random.between(1, 3)}`,
        "--resubmission-timeout=20s",
        "--txmgr.receipt-query-interval=2s",
        "--txmgr.not-in-mempool-timeout=30s",
      ],
    };
  });
  const isHonest = isCalm || random.chance(HONEST);
  const longestWindow = Math.max(...chains.map(({ seqWindowSize }) => seqWindowSize));
  return {
    seed,
    isCalm,
    chains,
    sources,
    l1BlockTimeSec,
    finalDistance: random.between(5, 14),
    expirySec: random.pick([12, 40, 600]),
    maxLatencyMs: random.pick([0, 0, 20, 150]),
    sequencerConfs: random.pick([0, 0, 1, 2]),
    verifierConfs: random.pick([0, 0, 0, 1, 3]),
    hostileBlocks: isHonest ? 0 : random.between(0, 5),
    cycles: isHonest ? 0 : random.pick([0, 0, 1, 2]),
    faultsMs,
    recoveryMs: (3 * longestWindow + 30) * l1BlockTimeSec * 1000 + 120_000,
    faults: isCalm ? [] : faultsOf(random, { chains, sources, faultsMs, l1Ms: l1BlockTimeSec * 1000 }),
  };
}

interface FaultRoom {
  readonly chains: readonly ChainPlan[];
  readonly sources: readonly string[];
  readonly faultsMs: number;
  readonly l1Ms: number;
}

function faultsOf(random: Random, { chains, sources, faultsMs, l1Ms }: FaultRoom): SetFault[] {
  const atMs = (): number => random.between(2 * l1Ms, faultsMs - 1000);
  const interval = (maxL1Blocks: number): Interval => {
    const fromMs = atMs();
    return { fromMs, toMs: Math.min(faultsMs, fromMs + random.between(1000, maxL1Blocks * l1Ms)) };
  };
  const of = (part: string): string[] => chains.map(({ chainId }) => nodeName(chainId, part));
  const followers = [
    ...of("sequencer"),
    ...chains.flatMap(({ chainId, followerFollows }) => (followerFollows === undefined ? [] : [nodeName(chainId, "follower")])),
  ];
  const derivers = sources.flatMap((source) => of(source));
  const trouble = (): Exclude<EndpointFault, "lies" | "lags"> => random.pick(["down", "stalls", "fails", "loses-answers", "slow"]);
  const restart = (whom: readonly string[]): SetFault => ({
    ...{ kind: "restart", of: random.pick(whom), atMs: atMs() },
    ...{ waits: random.between(1, random.pick([10, 200])), downMs: random.between(0, random.pick([0, 500, 3 * l1Ms])) },
  });
  const reorg = (): SetFault => ({
    ...{ kind: "l1-reorg", atMs: atMs(), depth: random.between(1, random.pick([2, 5, 12])) },
    fate: random.pick(["kept", "returned", "lost"]),
  });
  const makers: readonly (() => SetFault)[] = [
    reorg,
    reorg,
    () => restart(sources),
    () => restart(sources),
    () => restart([...followers, ...of("batcher")]),
    () => ({ kind: "l1-pause", ...interval(4) }),
    () => ({
      ...{ kind: "l1-endpoint", of: random.pick([...sources, ...sources, ...followers, ...of("batcher")]) },
      ...{ how: random.pick(["down", "stalls", "fails", "loses-answers", "lies", "lags", "slow"]), ...interval(5) },
    }),
    () => ({ kind: "engine", of: random.pick([...derivers, ...followers]), how: trouble(), ...interval(3) }),
    () => ({ kind: "engine-crash", of: random.pick([...derivers, ...followers]), atMs: atMs(), lostBlocks: random.between(1, 12) }),
    () => ({ kind: "link", of: random.pick(followers), how: random.pick([trouble(), "stale"]), ...interval(6) }),
    () => ({ kind: "standstill", of: random.pick(of("batcher")), ...interval(20) }),
    () => ({ kind: "inclusion", how: random.pick(["late", "late", "lost"]), delayMs: random.between(1, 4) * l1Ms, ...interval(6) }),
    () => ({ kind: "gossip", lossRate: random.fraction(), ...interval(10) }),
  ];
  // few kinds with many faults each find other things than many kinds with few
  const kinds = Array.from({ length: random.between(0, 5) }, () => random.pick(makers));
  return kinds.flatMap((make) => Array.from({ length: random.between(1, 3) }, make));
}

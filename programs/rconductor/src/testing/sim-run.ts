import type { Logger } from "@rnode/observe";
import { type Machine, type Mutant, SimCluster } from "./sim-cluster.ts";

/** What one run of the simulated cluster came to. */
export interface SimReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly committed: number;
  /** committed blocks that L1 has taken away */
  readonly rewound: number;
  readonly leaders: number;
  /** from the death of a leader, with everything else at work, to the next leader and to the next committed block */
  readonly takeovers: readonly { readonly leaderMs: number; readonly blockMs: number }[];
  readonly faults: readonly string[];
}

const WARM_UP_MS = 6_000;
const FAULTS = { min: 4, spread: 8 } as const;
const RECOVERY_MS = 40_000;
/** A takeover is measured when the next fault is at least so far away. */
const QUIET_MS = 12_000;

type Fault = (cluster: SimCluster, machine: Machine, forMs: number) => { readonly end: () => void };

const kill: Fault = (cluster, machine) => {
  machine.conductor?.process.kill();
  cluster.killNode(machine);
  return {
    end: () => {
      cluster.startNode(machine);
      cluster.startConductor(machine);
    },
  };
};

const cut =
  (link: keyof Machine["cut"]): Fault =>
  (_, machine) => {
    machine.cut[link]++;
    return { end: () => machine.cut[link]-- };
  };

/** What can happen to one machine, or to etcd. */
const KINDS: Readonly<Record<string, Fault>> = {
  "machine killed": kill,
  "machine paused": (_, machine) => {
    const processes = [machine.conductor?.process, machine.node?.process];
    for (const process of processes) process?.stop();
    return {
      end: () => {
        for (const process of processes) process?.wake();
      },
    };
  },
  "conductor paused": (_, machine) => {
    const process = machine.conductor?.process;
    process?.stop();
    return { end: () => process?.wake() };
  },
  "conductor killed": (cluster, machine) => {
    machine.conductor?.process.kill();
    return { end: () => cluster.startConductor(machine) };
  },
  "node killed": (cluster, machine) => {
    cluster.killNode(machine);
    return { end: () => cluster.startNode(machine) };
  },
  "cut from etcd": cut("etcd"),
  "cut from peers": cut("peers"),
  "cut from its engine": cut("engine"),
  "conductor cut from node": cut("local"),
  "etcd's answers lost, requests late": (cluster, machine) => {
    machine.etcdLoss = 10 + cluster.random(50);
    return {
      end: () => {
        machine.etcdLoss = 0;
      },
    };
  },
  "etcd's answers all lost": (_, machine) => {
    machine.hasNoEtcdAnswers = true;
    return {
      end: () => {
        machine.hasNoEtcdAnswers = false;
      },
    };
  },
  "etcd is far away": (cluster, machine) => {
    machine.etcdDelayMs = 200 + cluster.random(1_300);
    return {
      end: () => {
        machine.etcdDelayMs = 0;
      },
    };
  },
  "etcd elects a leader": (cluster) => {
    cluster.setEtcd("no-leader");
    return { end: () => cluster.setEtcd("up") };
  },
  "etcd has no majority": (cluster) => {
    cluster.setEtcd("down");
    return { end: () => cluster.setEtcd("up") };
  },
  "clock jumps": (cluster, machine) => {
    machine.time.offsetMs = (cluster.random(2 * 600) - 600) * 1000;
    return { end: () => {} };
  },
  "L1 is reorganised": (cluster) => {
    // Committed blocks are kept for 64 blocks, and six of them belong to one L1 block. Two such reorgs in a row fit; a deeper one
    // needs an operator.
    for (const machine of cluster.machines) machine.l1DelayMs = cluster.random(4_000);
    cluster.reorganiseL1(cluster.random(4));
    return { end: () => {} };
  },
  "leadership given away by hand": (cluster) => {
    const { conductor } = cluster.leader ?? {};
    if (conductor?.process.isRunning) conductor.program.transfer(undefined).catch(() => {});
    return { end: () => {} };
  },
};
const NAMES = Object.keys(KINDS);
/** Faults after which the leader is dead, at once and for certain. */
const DEADLY = new Set(["machine killed", "machine paused"]);

/** How long a fault lasts: mostly seconds, sometimes minutes. */
function durationOf(cluster: SimCluster, name: string): number {
  if (name === "etcd elects a leader") return 500 + cluster.random(3_000);
  const isLong = cluster.random(5) === 0;
  return isLong ? 30_000 + cluster.random(150_000) : 1_000 + cluster.random(15_000);
}

export interface SimRunOptions {
  readonly mutant?: Mutant | undefined;
  readonly log?: Logger;
  /** names of the faults that may happen; default: all */
  readonly only?: readonly string[];
}

/** Runs the cluster of a seed: it starts, faults come one after the other or at once, all end, and then everything must work. */
export async function runSim(seed: number, { mutant, log, only = NAMES }: SimRunOptions = {}): Promise<SimReport> {
  const cluster = new SimCluster({ seed, mutant, ...(log === undefined ? {} : { log }) });
  const { random, clock } = cluster;
  if (random(3) === 0) {
    for (const { time } of cluster.machines) {
      time.offsetMs = (random(1200) - 600) * 1000;
      time.rate = 0.3 + random(120) / 100;
    }
  }
  const areClocksRight = cluster.machines.every(({ time }) => time.rate === 1);
  cluster.start();
  await cluster.advance(WARM_UP_MS);
  const faults: string[] = [];
  const deaths: { readonly atMs: number; readonly quietMs: number }[] = [];
  const running: { readonly endMs: number; readonly end: () => void }[] = [];
  const endThoseBefore = async (untilMs: number): Promise<void> => {
    for (;;) {
      const [next] = running.sort((a, b) => a.endMs - b.endMs);
      if (next === undefined || next.endMs > untilMs) break;
      await cluster.advance(next.endMs - clock.unixMs());
      next.end();
      running.shift();
    }
    await cluster.advance(untilMs - clock.unixMs());
  };
  for (let left = FAULTS.min + random(FAULTS.spread); left > 0; left--) {
    const name = only[random(only.length)]!;
    const machine = random(3) > 0 ? (cluster.leader ?? cluster.machines[0]!) : cluster.machines[random(cluster.machines.length)]!;
    const forMs = durationOf(cluster, name);
    const gapMs = random(2) === 0 ? random(6_000) : QUIET_MS + random(20_000);
    const nowMs = clock.unixMs();
    const isQuiet = running.length === 0 && areClocksRight && cluster.machines.every(isAtWork);
    if (isQuiet && DEADLY.has(name) && machine === cluster.leader && gapMs > QUIET_MS)
      deaths.push({ atMs: nowMs, quietMs: Math.min(gapMs, forMs) });
    faults.push(`${((nowMs - 1_800_000_000_000) / 1000).toFixed(1)} s: ${name}, ${machine.id}, for ${(forMs / 1000).toFixed(1)} s`);
    log?.warn("fault", { name, machine: machine.id, forMs });
    running.push({ endMs: nowMs + forMs, end: KINDS[name]!(cluster, machine, forMs).end });
    await endThoseBefore(nowMs + gapMs);
  }
  await endThoseBefore(Math.max(clock.unixMs(), ...running.map(({ endMs }) => endMs)));
  for (const { time } of cluster.machines) time.offsetMs = 0;
  const recoveredMs = clock.unixMs() + RECOVERY_MS / 2;
  await cluster.advance(RECOVERY_MS);
  cluster.checkRecovered(recoveredMs);
  return {
    seed,
    violations: cluster.violations,
    committed: cluster.committed.length,
    rewound: cluster.rewound,
    leaders: cluster.leaders.filter(({ id }) => id !== undefined).length,
    takeovers: deaths.flatMap(({ atMs, quietMs }) => {
      const leader = cluster.leaders.find((entry) => entry.atMs > atMs && entry.id !== undefined);
      const block = cluster.committed.find((entry) => entry.atMs > (leader?.atMs ?? Number.POSITIVE_INFINITY));
      // A leader that was paused for less than its lease goes on.
      if (quietMs < 5_000 && (leader === undefined || leader.atMs > atMs + quietMs)) return [];
      return [
        { leaderMs: (leader?.atMs ?? Number.POSITIVE_INFINITY) - atMs, blockMs: (block?.atMs ?? Number.POSITIVE_INFINITY) - atMs },
      ];
    }),
    faults,
  };
}

/** The leader of a cluster at rest dies. @returns the time to the next leader and to the next committed block */
export async function runDeath(seed: number): Promise<{ readonly leaderMs: number; readonly blockMs: number }> {
  const cluster = new SimCluster({ seed });
  cluster.start();
  await cluster.advance(WARM_UP_MS + cluster.random(3_000));
  const { leader, clock } = cluster;
  if (leader === undefined) throw new Error("nobody leads after the start");
  kill(cluster, leader, 0);
  const atMs = clock.unixMs();
  await cluster.advance(QUIET_MS);
  const next = cluster.leaders.find((entry) => entry.atMs > atMs && entry.id !== undefined);
  const block = cluster.committed.find((entry) => entry.atMs > (next?.atMs ?? Number.POSITIVE_INFINITY));
  const since = (time = Number.POSITIVE_INFINITY): number => time - atMs;
  return { leaderMs: since(next?.atMs), blockMs: since(block?.atMs) };
}

/** The link between the leader of a cluster at rest and etcd is bad for a minute. @returns the longest time without a committed block */
export async function runGreyLink(seed: number, kind: GreyLink): Promise<number> {
  const cluster = new SimCluster({ seed });
  cluster.start();
  await cluster.advance(WARM_UP_MS + cluster.random(3_000));
  const { leader, clock } = cluster;
  if (leader === undefined) throw new Error("nobody leads after the start");
  if (kind === "answers lost") leader.hasNoEtcdAnswers = true;
  else leader.etcdDelayMs = kind;
  const startMs = clock.unixMs();
  await cluster.advance(60_000);
  const endMs = clock.unixMs();
  const times = [startMs, ...cluster.committed.map(({ atMs }) => atMs).filter((atMs) => atMs > startMs), endMs];
  return Math.max(...times.slice(1).map((atMs, index) => atMs - times[index]!));
}

/** milliseconds that each request and each answer take besides */
export type GreyLink = "answers lost" | number;

const isAtWork = ({ conductor, node }: Machine): boolean =>
  conductor?.process.isRunning === true && node?.process.isRunning === true;

import type {
  BlockItem,
  DropItem,
  HeadsSample,
  L1Row,
  L1TxItem,
  PeersState,
  ProgramKind,
  SetState,
  StatusState,
  SubblocksState,
  SyncState,
} from "../messages.ts";
import type { DashboardSource, Viewer } from "../server/dashboard-server.ts";

/** A devnet as its page sees it, at one moment, for tests and for looking at the page without running anything. */
const NOW_MS = Date.UTC(2026, 10, 23, 12, 0, 0);
const NOW_SEC = NOW_MS / 1000;
/** Where the rengines of the sample say that they serve witnesses. */
export const WITNESS_URL = "http://127.0.0.1:9546/";
const HASH = (seed: number): string => `0x${(seed * 2_654_435_761).toString(16).padStart(64, "7a3c91e5d20f4b68")}`;

const CONDUCTORS = ["sequencer1", "sequencer2", "sequencer3"] as const;
const NODES = ["sequencer", "verifier", "follower"] as const;
type Entry = readonly [kind: string, key: number | string, value: unknown];

/**
 * What `sampleSource` shows: programs at work, programs from which nothing has come yet, two that are dead and one that is not ready, three
 * conductors, of which one leads and one is dead, or the sequencers of two chains of a set.
 */
export type Sample = "data" | "nothing" | "dead" | "cluster" | "set";

export function sampleSource(sample: Sample): DashboardSource {
  return {
    watch: (viewer) => {
      for (const program of programsOf(sample)) show(viewer, program, sample);
      return () => {};
    },
  };
}

interface SampleProgram {
  readonly id: string;
  readonly name: string;
  readonly kind: ProgramKind;
}

function programsOf(sample: Sample): SampleProgram[] {
  const nodes = NODES.flatMap((role): SampleProgram[] => [
    { id: `${role}Engine`, name: `${role} rengine`, kind: "rengine" },
    { id: `${role}Node`, name: `${role} rnode`, kind: "rnode" },
  ]);
  const conductors = CONDUCTORS.map((id): SampleProgram => ({ id, name: `${id} rconductor`, kind: "rconductor" }));
  if (sample === "set") {
    const ofChain = (chain: number): SampleProgram[] =>
      nodes.slice(0, 2).map(({ id, name, kind }) => ({ id: `${chain}-${id}`, name: `${chain} ${name}`, kind }));
    return [{ id: "set", name: "rnode set", kind: "rnode-set" }, ...ofChain(901), ...ofChain(902)];
  }
  if (sample === "cluster") return [...nodes.slice(0, 2), ...conductors];
  return sample === "nothing"
    ? nodes.slice(0, 2)
    : [{ id: "l1", name: "L1", kind: "l1" }, ...nodes, { id: "batcher", name: "rbatcher", kind: "rbatcher" }];
}

function show(viewer: Viewer, program: SampleProgram, sample: Sample): void {
  const send = (event: string, message: object): void => viewer.send(event, JSON.stringify({ ...program, ...message }));
  const feed = (entries: readonly Entry[]): void => send("feed", { atMs: NOW_MS, entries, left: 0 });
  send("expected", { reasons: [] });
  if (sample === "dead" && program.id === "followerNode") {
    send("down", { reasons: ["it was ended by SIGKILL; log: data/devnet/logs/follower-rnode.log"] });
    return;
  }
  send("program", { version: "v0.1.0", startedMs: NOW_MS - 754_000 });
  if (sample === "nothing") {
    feed(program.kind === "rnode" ? [["state", "sync", { sequencer: "active", queuedBlocks: 0, queuedBytes: 0 }]] : []);
    return;
  }
  const reasons =
    sample === "dead" && program.id === "verifierNode"
      ? ["finding the heads: the engine does not answer: ECONNREFUSED 127.0.0.1:8553"]
      : [];
  if (program.kind !== "l1") {
    feed([
      ["state", "health", { isReady: reasons.length === 0, reasons }],
      ["state", "process", { memoryBytes: 127_400_000, cpuSeconds: 31, upSeconds: 754, loopLagMs: reasons.length > 0 ? 412 : 3 }],
    ]);
  }
  feed(entriesOf(program));
  if (program.id === "sequencer3") send("down", { reasons: ["it does not answer: connect ECONNREFUSED 127.0.0.1:8593"] });
  if (sample === "dead" && program.id === "sequencerNode")
    send("down", { reasons: ["it does not answer: connect ECONNREFUSED 127.0.0.1:8567"] });
}

function entriesOf({ kind, id }: SampleProgram): readonly Entry[] {
  switch (kind) {
    case "rnode":
      return nodeEntries(id.endsWith("sequencerNode"));
    case "rengine":
      return engineEntries(id === "sequencerEngine");
    case "rbatcher":
      return batcherEntries();
    case "rnode-set":
      return setEntries();
    case "rconductor":
      return conductorEntries(id === "sequencer2");
    default:
      return [];
  }
}

function setEntries(): Entry[] {
  const head = (number: number) => ({ number, timeSec: NOW_SEC - 2 * (3742 - number) });
  const state: SetState = {
    chains: [
      {
        ...{ chain: "901", unsafe: head(3742), crossUnsafe: 3741, localSafe: head(3736), crossSafe: 3729, finalized: head(3669) },
        isWaitedFor: false,
      },
      {
        ...{ chain: "902", unsafe: head(3740), crossUnsafe: 3739, localSafe: head(3727), crossSafe: 3727, finalized: head(3667) },
        isWaitedFor: true,
      },
    ],
    waitsFor: `chain 902 up to time ${NOW_SEC - 26}`,
    failsafe: [],
    messages: [
      { from: "901", to: "902", count: 17 },
      { from: "902", to: "901", count: 4 },
    ],
    recent: [
      { from: "902", fromBlock: 3690, to: "901", toBlock: 3694, timeSec: NOW_SEC - 96 },
      { from: "901", fromBlock: 3721, to: "902", toBlock: 3722, timeSec: NOW_SEC - 36 },
    ],
    denied: [{ chain: "902", block: 3611, reason: "message of log 3: chain 901 has no such log at block 3608, index 9" }],
  };
  return [["state", "set", state]];
}

function conductorEntries(isLeader: boolean): Entry[] {
  const status: StatusState = {
    isLeader,
    sequencer: isLeader ? "active" : "stopped",
    health: isLeader ? "healthy" : "stalled",
    committedBlock: 3742,
    fence: 491,
    control: isLeader ? "running" : "paused",
    ...(isLeader ? {} : { trouble: "the unsafe head has been at 3736 for 4 s" }),
  };
  return [["state", "status", status]];
}

function nodeEntries(isSequencer: boolean): Entry[] {
  const sync: SyncState = {
    l1Head: { number: 1253, timeSec: NOW_SEC - 2 },
    l1Finalized: { number: 1229, timeSec: NOW_SEC - 74 },
    derivedTo: { number: 1253, timeSec: NOW_SEC - 2 },
    unsafe: { number: 3742, timeSec: NOW_SEC - 1 },
    safe: { number: 3736, timeSec: NOW_SEC - 7 },
    finalized: { number: 3669, timeSec: NOW_SEC - 74 },
    sequencer: isSequencer ? "active" : "none",
    queuedBlocks: 0,
    queuedBytes: 0,
    windowLeftL1Blocks: 3598,
  };
  const peers: PeersState = {
    connected: 2,
    known: 3,
    peers: [1, 2].map((seed) => ({
      id: `16Uiu2HAm${HASH(seed).slice(-44)}`,
      address: `/ip4/127.0.0.1/tcp/${8554 + seed}`,
      direction: seed === 1 ? "in" : "out",
      agent: "rnode/v0.1.0",
      latencyMs: 0.8 * seed,
      score: 12.5 / seed,
    })),
    bans: [{ banned: "203.0.113.9", secondsLeft: 2310, reason: "score below -100" }],
  };
  return [["state", "sync", sync], ["state", "peers", peers], ...headSamples(), ...l1Rows(), ...drops()];
}

function headSamples(): Entry[] {
  return Array.from({ length: 75 }, (_, index): Entry => {
    const wave = Math.sin(index / 3);
    const sample: HeadsSample = {
      l1: 1178 + index,
      unsafe: 3000 + index * 10,
      safe: 2990 + index * 10,
      finalized: 2900 + index * 10,
      unsafeAgeSec: 1 + Math.abs(wave) * 1.5,
      safeAgeSec: (index > 40 && index < 52 ? 18 + (index - 40) * 4 : 7) + wave * 2,
      finalizedAgeSec: 74 + wave * 6,
    };
    return ["heads", NOW_MS - (75 - index) * 10_000, sample];
  });
}

function l1Rows(): Entry[] {
  return Array.from({ length: 30 }, (_, index): Entry => {
    const number = 1224 + index;
    const isDropped = number === 1249;
    const isPosted = isDropped || index % 4 !== 1 || index > 26;
    const row: L1Row = {
      number,
      timeSec: NOW_SEC - (1253 - number) * 3 - 2,
      data: isPosted ? [{ transaction: HASH(number), source: number % 2 === 0 ? "blob" : "calldata", bytes: 126_713 }] : [],
      dataCount: isPosted ? 1 + (number % 3) : 0,
      dataBytes: isPosted ? 126_713 * (1 + (number % 3)) : 0,
      frames: isPosted ? [{ channel: HASH(number), number: 0, bytes: 126_000, isLast: !isDropped }] : [],
      frameCount: isPosted ? 1 + (number % 3) : 0,
      channels: isPosted ? [{ id: HASH(number), event: isDropped ? "timed-out" : "read", bytes: 431_000 }] : [],
      batches: isPosted
        ? [
            {
              type: "span",
              verdict: isDropped ? "parent-hash-mismatch" : "accept",
              blocks: "blocks 3730 to 3732",
              transactions: 412,
            },
          ]
        : [],
      batchCount: isPosted ? 1 : 0,
      safe: isPosted && !isDropped ? { from: 3652 + index * 3, to: 3654 + index * 3 } : undefined,
      dropCount: isDropped ? 2 : 0,
    };
    return ["l1", number, row];
  });
}

function drops(): Entry[] {
  const drop = (what: string, reason: string, lost: string): DropItem => ({
    atMs: NOW_MS - 14_000,
    l1Block: 1249,
    what,
    reason,
    lost,
    transaction: HASH(1249),
  });
  return [
    ["drop", 1, drop("channel dropped", "timed-out", "its batches that were not read yet")],
    ["drop", 2, drop("batch dropped", "parent-hash-mismatch", "3 L2 blocks with 412 transactions")],
  ];
}

function subblocksEntry(publishes: boolean): Entry {
  const latest = { number: 3743, parts: 4, transactions: 131, isBuiltHere: publishes, ageMs: 140 };
  const sources = publishes ? [] : [{ url: "ws://127.0.0.1:1111/", isUp: true }];
  const state: SubblocksState = { publishes, sources, readers: publishes ? 2 : 0, latest, broken: publishes ? 0 : 3 };
  return ["state", "subblocks", state];
}

function engineEntries(publishes: boolean): Entry[] {
  const blocks = Array.from({ length: 120 }, (_, index): Entry => {
    const load = 0.35 + 0.3 * Math.sin(index / 9) + 0.2 * Math.sin(index * 1.7);
    const block: BlockItem = {
      hash: HASH(index + 1),
      timeSec: NOW_SEC - 120 + index,
      gasUsed: Math.round(46_218 + Math.max(0, load) * 24_000_000),
      gasLimit: 60_000_000,
      baseFeeWei: 252_000_000 + index * 1000,
      transactions: 1 + Math.round(Math.max(0, load) * 340),
      deposits: 1,
      daBytes: Math.round(Math.max(0, load) * 41_000),
    };
    return ["block", 3623 + index, block];
  });
  const head = { number: 3742, timeSec: NOW_SEC - 1 };
  return [
    [
      "state",
      "chain",
      {
        head,
        safe: { number: 3736, timeSec: NOW_SEC - 7 },
        finalized: { number: 3669, timeSec: NOW_SEC - 74 },
        witnessUrl: WITNESS_URL,
      },
    ],
    subblocksEntry(publishes),
    ["state", "pool", { pending: 184, queued: 12, bytes: 1_204_000 }],
    ["reorg", NOW_MS - 300_000, { removed: 1, added: 1, head: 3441 }],
    ...blocks,
  ];
}

function batcherEntries(): Entry[] {
  const transactions = Array.from({ length: 14 }, (_, index): Entry => {
    const isPending = index === 13;
    const isFailed = index === 9;
    const item: L1TxItem = {
      atMs: NOW_MS - (14 - index) * 9_000,
      hash: HASH(index + 500),
      stage: isPending ? "published" : isFailed ? "failed" : "confirmed",
      form: index % 3 === 0 ? "calldata" : "blobs",
      bytes: index % 3 === 0 ? 42_100 : 380_139,
      ...(!isPending && !isFailed && { l1Block: 1239 + index, costEther: index % 3 === 0 ? 0.000_71 : 0.000_052 }),
    };
    return ["l1tx", index, item];
  });
  return [
    ["state", "batcher", { isPublishing: true, pendingBlocks: 6, pendingBytes: 214_000, balanceEther: 9999.82 }],
    ...transactions,
  ];
}

import { rollupRulesAt } from "@rnode/protocol";
import type { ServerState } from "./link.ts";
import { type EndpointFault, type Fault, GENESIS_TIME_SEC, type Plan, type SourceFault, startOf } from "./plan.ts";
import type { Random } from "./random.ts";
import type { BeaconState } from "./sim-beacon.ts";
import type { SimNetwork } from "./sim-network.ts";
import type { SimNode } from "./sim-node.ts";

/** Has the faults of the plan begin at their times. */
export function scheduleFaults(network: SimNetwork): void {
  for (const fault of network.plan.faults) {
    network.clock.after(startOf(fault), () => {
      network.log.note("fault", JSON.stringify(fault));
      applyFault(network, fault);
    });
  }
}

/** Lets a fault begin, and end when its time is over. */
function applyFault(network: SimNetwork, fault: Fault): void {
  const { clock, l1, plan } = network;
  const endsAfter = (undo: () => void): void => {
    if (!("toMs" in fault)) return;
    clock.after(fault.toMs - fault.fromMs, () => {
      network.log.note("fault ends", fault.kind);
      undo();
    });
  };
  switch (fault.kind) {
    case "l1-reorg": {
      const undone = l1.reorg(fault.depth, fault.fate, clock.unixMs() + plan.l1BlockTimeSec * 1000);
      network.log.note("l1", `replaced ${undone} blocks; the head is ${l1.head.ref.number} ${l1.head.ref.hash.slice(0, 10)}…`);
      return;
    }
    case "l1-endpoint":
      for (const state of l1StatesOf(network, fault.of)) endsAfter(worsen(network, state, fault.how));
      return;
    case "engine":
      endsAfter(worsen(network, nodeOf(network, fault.of).engineState, fault.how));
      return;
    case "source":
      endsAfter(worsenSource(network, nodeOf(network, fault.of), fault.how));
      return;
    case "engine-crash": {
      const node = nodeOf(network, fault.of);
      const head = node.engine.loseUnsafe(fault.lostBlocks);
      network.log.note(node.name, `its engine was restarted, and its head is ${head}`);
      return;
    }
    case "invalidation":
      invalidate(network, fault);
      return;
    case "engine-restart":
      restartEngine(network, fault);
      return;
    case "peer": {
      const { peers } = lateOf(network, fault.of);
      endsAfter(peers.trouble(fault.peer, fault.how));
      return;
    }
    case "restart":
      restart(network, fault);
      return;
    case "inclusion":
      network.inclusion.how = fault.how;
      network.inclusion.delayMs = fault.delayMs;
      endsAfter(() => {
        network.inclusion.how = "prompt";
        network.inclusion.delayMs = 0;
      });
      return;
    case "pool-drop": {
      const dropped = l1.dropFromPool(() => network.random.chance(0.7));
      network.log.note("l1", `the pool forgets ${dropped} transactions`);
      return;
    }
    case "l1-pause":
      network.isL1Paused = true;
      endsAfter(() => {
        network.isL1Paused = false;
      });
      return;
    case "l1-log":
      network.l1Traffic.emit(fault.logs);
      return;
    case "junk":
      network.sendJunk(fault.from, fault.what);
      return;
    case "gossip":
      Object.assign(network.gossip, { lossRate: fault.lossRate, delayMs: fault.delayMs });
      endsAfter(() => Object.assign(network.gossip, { lossRate: 0, delayMs: 0 }));
      return;
    case "blobs":
      endsAfter(worsenBeacon(network, nodeOf(network, fault.of).beaconState, fault.how));
  }
}

/** Faults of what a light node hears of its source. @returns a function that ends the fault */
function worsenSource(network: SimNetwork, { name, sourceState: state }: SimNode, how: SourceFault): () => void {
  const random = network.lightRandom(name);
  const lying = (lie: NonNullable<ServerState["lie"]>): (() => void) => {
    state.lie = lie;
    return () => {
      state.lie = undefined;
    };
  };
  const ofStatus =
    (change: (status: StatusJson) => unknown): NonNullable<ServerState["lie"]> =>
    (method, answer) =>
      method === "optimism_syncStatus" ? change(answer as StatusJson) : answer;
  switch (how) {
    case "stale": {
      let first: unknown;
      return lying(ofStatus((status) => (first ??= status)));
    }
    case "foreign":
      return lying((method, answer) => (method === "optimism_rollupConfig" ? { ...(answer as object), l2_chain_id: 10 } : answer));
    case "disordered":
      return lying(ofStatus((status) => ({ ...status, local_safe_l2: status.finalized_l2, safe_l2: status.unsafe_l2 })));
    case "other-fork": // blocks that no execution client has
      return lying(
        ofStatus((status) => ({ ...status, local_safe_l2: unheardOf(status.local_safe_l2!), safe_l2: unheardOf(status.safe_l2!) })),
      );
    case "lies": {
      const rate = 0.1 + 0.9 * random.fraction();
      return lying((_, answer) => (random.chance(rate) ? altered(answer, () => random.fraction()) : answer));
    }
    default:
      return worsen({ random, plan: network.plan }, state, how);
  }
}

type StatusJson = Record<string, object>;

const unheardOf = (block: object): object => ({ ...block, hash: `0x${"f0".repeat(32)}` });

function nodeOf({ nodes }: SimNetwork, name: string): SimNode {
  const node = nodes.find((some) => some.name === name);
  if (node === undefined) throw new Error(`there is no ${name}`);
  return node;
}

/** Of a node's two endpoints one is chosen, or both. */
function l1StatesOf(network: SimNetwork, of: string): readonly ServerState[] {
  if (of === "batcher") return [network.batcher.l1State];
  const { l1States } = nodeOf(network, of);
  return network.random.pick([[l1States[0]], [l1States[1]], l1States]);
}

/** @returns a function that ends the fault */
export function worsen(
  { random, plan }: { readonly random: Random; readonly plan: Pick<Plan, "maxLatencyMs"> },
  state: ServerState,
  how: EndpointFault,
): () => void {
  const set = <K extends keyof ServerState>(key: K, value: ServerState[K], normal: ServerState[K]): (() => void) => {
    state[key] = value;
    return () => {
      state[key] = normal;
    };
  };
  switch (how) {
    case "down":
      return set("isDown", true, false);
    case "stalls":
      return set("stalls", true, false);
    case "fails":
      return set("failureRate", 0.1 + 0.6 * random.fraction(), 0);
    case "loses-answers":
      return set("lossRate", 0.1 + 0.4 * random.fraction(), 0);
    case "lags":
      return set("lagBlocks", random.between(1, 4), 0);
    case "slow":
      return set("maxLatencyMs", random.between(200, 3000), plan.maxLatencyMs);
    case "lies": {
      const rate = 0.1 + 0.9 * random.fraction();
      return set("lie", (_, answer) => (random.chance(rate) ? altered(answer, () => random.fraction()) : answer), undefined);
    }
  }
}

/** If blobs come from L1 itself, there is no beacon fault. @returns a function that ends the fault */
function worsenBeacon(network: SimNetwork, state: BeaconState, how: Extract<Fault, { kind: "blobs" }>["how"]): () => void {
  if (how === "down" || how === "stalls" || how === "fails") return worsen(network, state, how);
  state.blobLie = how;
  return () => {
    state.blobLie = undefined;
  };
}

/** The answer with one of its values changed. */
function altered(answer: unknown, fraction: () => number): unknown {
  if (answer === null || typeof answer !== "object") return alteredValue(answer, fraction);
  const copy = structuredClone(answer) as Record<string, unknown>;
  const keys = Object.keys(copy);
  const key = keys[Math.floor(fraction() * keys.length)];
  if (key !== undefined) copy[key] = altered(copy[key], fraction);
  return copy;
}

function alteredValue(value: unknown, fraction: () => number): unknown {
  if (typeof value === "string" && /^0x[0-9a-f]+$/.test(value)) {
    const at = 2 + Math.floor(fraction() * (value.length - 2));
    const digit = (Number.parseInt(value[at]!, 16) + 1 + Math.floor(fraction() * 15)) % 16;
    return value.slice(0, at) + digit.toString(16) + value.slice(at + 1);
  }
  return typeof value === "boolean" ? !value : value;
}

/** A program's exit and start take no simulated time, but it is unreachable for a while. */
function restartEngine(network: SimNetwork, { of, downMs }: Extract<Fault, { kind: "engine-restart" }>): void {
  const { clock, log } = network;
  const { node, engine } = lateOf(network, of);
  log.note(of, `its engine is restarted${engine.isSyncing ? " while it syncs" : ""}`);
  node.engineState.isDown = true;
  void clock.working(engine.restart());
  clock.after(downMs, () => {
    node.engineState.isDown = false;
  });
}

/** As soon as there is a block that it can hit. */
function invalidate(network: SimNetwork, fault: Extract<Fault, { kind: "invalidation" }>): void {
  const { clock, plan, log } = network;
  const { blockTimeSec, forkTimes } = plan;
  // not the first block of the fork
  const mayExecute = (timestampSec: number) => rollupRulesAt(forkTimes, timestampSec - blockTimeSec).hasExecutingMessages;
  const denied = nodeOf(network, fault.of).invalidateBlock(mayExecute);
  if (denied !== undefined) {
    network.invalidated.push(denied);
    log.note(fault.of, `a message of block ${denied.number} ${denied.hash.slice(0, 10)}… is invalid`);
  } else if (clock.unixMs() < GENESIS_TIME_SEC * 1000 + plan.faultsMs) clock.after(1_000, () => invalidate(network, fault));
}

function lateOf({ late }: SimNetwork, name: string): SimNetwork["late"][number] {
  const found = late.find(({ node }) => node.name === name);
  if (found === undefined) throw new Error(`${name} does not join late`);
  return found;
}

function restart(network: SimNetwork, { of, waits, downMs, changesMode }: Extract<Fault, { kind: "restart" }>): void {
  const { clock, batcher } = network;
  const isBatcher = of === "batcher";
  const process = isBatcher ? batcher.process : nodeOf(network, of).process;
  process?.killAfterWaits(waits, () => {
    network.log.note(of, "killed");
    if (isBatcher) network.killBatcher();
    else nodeOf(network, of).kill();
    clock.after(downMs, () => {
      if (isBatcher) batcher.start();
      else {
        const node = nodeOf(network, of);
        if (changesMode === true) node.changeMode();
        network.log.note(
          of,
          `starts again${changesMode === true ? (node.follows === undefined ? ", deriving" : ", following") : ""}`,
        );
        node.start();
      }
    });
  });
}

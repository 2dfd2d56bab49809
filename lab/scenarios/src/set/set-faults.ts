import { worsen } from "../faults.ts";
import type { ServerState } from "../link.ts";
import type { SimNode } from "../sim-node.ts";
import { nodeName, type SetFault } from "./set-plan.ts";
import type { SimSet } from "./sim-set.ts";

/** Has the faults of the plan begin at their times. */
export function scheduleSetFaults(set: SimSet): void {
  for (const fault of set.plan.faults) {
    set.clock.after("atMs" in fault ? fault.atMs : fault.fromMs, () => {
      set.log.note("fault", JSON.stringify(fault));
      const end = begin(set, fault);
      if (end === undefined || !("toMs" in fault)) return;
      set.clock.after(fault.toMs - fault.fromMs, () => {
        set.log.note("fault ends", fault.kind);
        end();
      });
    });
  }
}

/** @returns a function that ends the fault */
function begin(set: SimSet, fault: SetFault): (() => void) | undefined {
  const { clock, l1, plan, inclusion } = set;
  switch (fault.kind) {
    case "l1-reorg": {
      const depth = Math.min(fault.depth, l1.head.ref.number - set.newestGenesis);
      const undone = l1.reorg(depth, fault.fate, clock.unixMs() + plan.l1BlockTimeSec * 1000);
      set.log.note("l1", `replaced ${undone} blocks; the head is ${l1.head.ref.number} ${l1.head.ref.hash.slice(0, 10)}…`);
      return undefined;
    }
    case "l1-pause":
      set.isL1Paused = true;
      return () => {
        set.isL1Paused = false;
      };
    case "l1-endpoint":
      return both(l1StatesOf(set, fault.of).map((state) => worsen(set, state, fault.how)));
    case "engine":
      return worsen(set, nodeOf(set, fault.of).engineState, fault.how);
    case "engine-crash": {
      const head = nodeOf(set, fault.of).engine.loseUnsafe(fault.lostBlocks);
      set.log.note(fault.of, `its engine was restarted, and its head is ${head}`);
      return undefined;
    }
    case "restart":
      restart(set, fault);
      return undefined;
    case "link": {
      const { sourceState } = nodeOf(set, fault.of);
      return fault.how === "stale" ? staleLink(sourceState) : worsen(set, sourceState, fault.how);
    }
    case "standstill": {
      const { batcher } = chainOf(set, fault.of);
      batcher.kill();
      return () => {
        if (batcher.process === undefined) batcher.start();
      };
    }
    case "inclusion":
      Object.assign(inclusion, { how: fault.how, delayMs: fault.delayMs });
      return () => Object.assign(inclusion, { how: "prompt", delayMs: 0 });
    case "gossip":
      set.gossipLossRate = fault.lossRate;
      return () => {
        set.gossipLossRate = 0;
      };
  }
}

const both = (ends: readonly (() => void)[]) => (): void => {
  for (const end of ends) end();
};

function staleLink(state: ServerState): () => void {
  let first: unknown;
  state.lie = (method, answer) => (method === "optimism_syncStatus" ? (first ??= answer) : answer);
  return () => {
    state.lie = undefined;
  };
}

function nodeOf({ nodes }: SimSet, name: string): SimNode {
  const node = nodes.find((some) => some.name === name);
  if (node === undefined) throw new Error(`there is no ${name}`);
  return node;
}

function chainOf({ chains }: SimSet, batcher: string): SimSet["chains"][number] {
  return chains.find(({ plan }) => nodeName(plan.chainId, "batcher") === batcher)!;
}

/** Of two endpoints one is chosen, or both. */
function l1StatesOf(set: SimSet, of: string): readonly ServerState[] {
  if (of.endsWith("batcher")) return [chainOf(set, of).batcher.l1State];
  const { l1States } = set.sources.find(({ name }) => name === of) ?? nodeOf(set, of);
  return set.random.pick([[l1States[0]], [l1States[1]], l1States]);
}

function restart(set: SimSet, { of, waits, downMs }: Extract<SetFault, { kind: "restart" }>): void {
  const program = of.endsWith("batcher")
    ? chainOf(set, of).batcher
    : (set.sources.find(({ name }) => name === of) ?? nodeOf(set, of));
  program.process?.killAfterWaits(waits, () => {
    set.log.note(of, "killed");
    program.kill();
    set.clock.after(downMs, () => {
      if (program.process !== undefined) return;
      set.log.note(of, "starts again");
      program.start();
    });
  });
}

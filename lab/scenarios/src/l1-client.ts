import { L1Client, L1Endpoints } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import type { SimClock, SimProcess } from "@rnode/program/testing";
import type { L1Server } from "./l1-rpc.ts";
import { Link, type ServerState } from "./link.ts";
import type { Random } from "./random.ts";
import type { SimL1 } from "./sim-l1.ts";

export const L1_TIMEOUT_MS = 5_000;

export interface L1ClientDeps {
  readonly process: SimProcess;
  readonly clock: SimClock;
  readonly random: Random;
  readonly l1: SimL1;
  readonly l1Server: L1Server;
  readonly chainId: bigint;
  readonly log: Logger;
  /** what is asked: `full` for blocks with their transactions */
  readonly count: (request: string) => void;
}

/** A rollup node's L1 client with all its checks. @param states of its endpoints */
export function l1ClientOf(states: readonly ServerState[], deps: L1ClientDeps): L1Client {
  const { process, clock, random, l1, l1Server, chainId, count } = deps;
  const log = deps.log.child({ part: "l1" });
  const handleOf = (state: ServerState) => (method: string, params: readonly unknown[]) => {
    const ofHead = ["latest", "safe", "finalized"].includes(String(params[0]));
    count(`${method}${params[1] === true ? " full" : ofHead ? " of a label" : ""}`);
    return l1Server(method, params, l1.head.ref.number - state.lagBlocks);
  };
  const endpoints = states.map((state, i) => {
    const name = `l1-${i}`;
    const link = new Link({ name, process, clock, random, state, timeoutMs: L1_TIMEOUT_MS, handle: handleOf(state) });
    return { name, rpc: link };
  });
  return new L1Client(
    { trustRpc: false, rpcKind: "standard", cacheSize: 200 },
    {
      endpoints: new L1Endpoints({ chainId }, { endpoints, clock: process.clock, log }),
      clock: process.clock,
      log,
      // During a turn of the event loop, which this clock does not see, others would let minutes pass.
      yieldToOthers: () => process.clock.sleep(0),
    },
  );
}

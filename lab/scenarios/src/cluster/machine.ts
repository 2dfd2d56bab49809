import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import type { SimGossip, SimMessage } from "@rnode/p2p/testing";
import type { Hex } from "@rnode/primitives";
import { type MachineTime, rightTime, type SimClock, SimProcess } from "@rnode/program/testing";
import { type ExecutionPayloadEnvelope, envelopeFromJson, type RollupConfig } from "@rnode/protocol";
import {
  type ClusterKeys,
  EtcdError,
  type EtcdModel,
  etcdOver,
  type SequencerNode,
  type SimConductor,
  startSimConductor,
} from "@rnode/rconductor/testing";
import { ConductorClient, type SequencerConductor } from "@rnode/rnode";
import type { Random } from "../random.ts";
import type { SimLog } from "../sim-log.ts";
import type { SimNode } from "../sim-node.ts";
import { ask, type GreyState, soundLink } from "./grey-link.ts";

/** The way of gossip to or from one machine. */
export interface GossipState {
  isInLost: boolean;
  isOutLost: boolean;
  delayMs: number;
  isTwice: boolean;
}

export interface MachineDeps {
  readonly clock: SimClock;
  readonly config: RollupConfig;
  readonly random: Random;
  readonly log: SimLog;
  readonly etcd: EtcdModel;
  readonly keys: ClusterKeys;
  readonly peers: () => number;
}

export const LEASE_TTL_SEC = 5;
const ETCD_TIMEOUT_MS = 1_000;
const CONDUCTOR_TIMEOUT_MS = 1_000;
const ADMIN_TIMEOUT_MS = 5_000;

/** One machine of a cluster: rollup node and execution client, a conductor if it may lead, and their links. */
export class Machine {
  readonly name: string;
  /** of the rollup node */
  readonly nodeTime: MachineTime = rightTime();
  readonly conductorTime: MachineTime = rightTime();
  readonly etcdLink: GreyState = soundLink();
  /** between rollup node and conductor, both ways */
  readonly conductorLink: GreyState = soundLink();
  readonly gossipState: GossipState = { isInLost: false, isOutLost: false, delayMs: 0, isTwice: false };
  node!: SimNode;
  gossip!: SimGossip;
  readonly #deps: MachineDeps;
  #conductor: SimConductor | undefined;

  constructor(name: string, deps: MachineDeps) {
    this.name = name;
    this.#deps = deps;
  }

  get conductor(): SimConductor | undefined {
    return this.#conductor;
  }

  get isStopped(): boolean {
    return this.node.process?.isStopped === true;
  }

  /** A message of a peer: a process that is stopped reads it when it wakes. */
  receive(from: string, message: SimMessage): void {
    void this.node.process?.wait(Promise.resolve()).then(() => this.gossip.receive(from, message));
  }

  startConductor(mayBootstrap: boolean): void {
    const { clock, keys, config, log, random } = this.#deps;
    const process = new SimProcess(`${this.name} conductor`, clock, this.conductorTime);
    this.#conductor = startSimConductor(
      {
        id: this.name,
        leaseTtlSec: LEASE_TTL_SEC,
        compactionIntervalMs: 60_000,
        blockTimeSec: config.blockTimeSec,
        forkTimes: config.forkTimes,
        mayBootstrap,
        l1ReorgWaitMs: 60_000,
      },
      {
        process,
        etcd: this.#etcd(process),
        keys,
        node: this.#sequencer(process, random),
        log: log.loggerOf(`${this.name} conductor`),
      },
    );
  }

  /** The rollup node's client of its conductor: the node's own client, over a simulated link. */
  conductorClient(process: SimProcess): SequencerConductor {
    const { clock, random } = this.#deps;
    const endpoint = "conductor";
    const rpc = {
      endpoint,
      call: <T>(method: string, params: readonly unknown[] = []): Promise<T> =>
        process.wait(
          ask(
            { clock, random, state: this.conductorLink, timeoutMs: CONDUCTOR_TIMEOUT_MS },
            async () => {
              const { process: itsProcess, program } = this.#conductor!;
              await itsProcess.wait(Promise.resolve());
              return itsProcess.wait(answer(program, method, params)) as Promise<T>;
            },
            () => new RpcTransportError("rpc/timeout", { endpoint, timeoutMs: CONDUCTOR_TIMEOUT_MS }),
          ),
        ),
      close: () => Promise.resolve(),
    };
    return new ConductorClient({ rpcTimeoutMs: CONDUCTOR_TIMEOUT_MS }, { rpc, clock: process.clock, log: silentLogger });
  }

  #sequencer(process: SimProcess, random: Random): SequencerNode {
    const { clock, peers } = this.#deps;
    const call = <T>(act: () => T | Promise<T>): Promise<T> =>
      process.wait(
        ask(
          { clock, random, state: this.conductorLink, timeoutMs: ADMIN_TIMEOUT_MS },
          async () => {
            const node = this.node.process!;
            await node.wait(Promise.resolve());
            return node.wait(Promise.resolve(act()));
          },
          () => new Error("no answer in time"),
        ),
      );
    const admin = () => this.node.admin!;
    return {
      sample: async () => {
        try {
          return await call(() => {
            const { unsafe, safe } = this.#heads();
            return {
              sync: {
                unsafe: { number: unsafe.number, timestampSec: unsafe.timestamp },
                safe: { number: safe.number, timestampSec: safe.timestamp },
              },
              peers: { connected: peers() },
              engine: { number: this.node.engine.head.number },
              isActive: admin().isSequencerActive(),
            };
          });
        } catch (error) {
          const down = { error: (error as Error).message };
          return { sync: down, peers: down, engine: down, isActive: undefined };
        }
      },
      unsafeHead: () =>
        call(() => {
          const { number, hash } = this.#heads().unsafe;
          return { number, hash };
        }),
      start: (hash) =>
        call(async () => {
          const refusal = await admin().startSequencer(hash as Hex);
          if (refusal !== undefined && refusal.kind !== "already-running") throw new Error(JSON.stringify(refusal));
        }),
      stop: () => call(async () => void (await admin().stopSequencer())),
      post: (envelope) => call(() => void admin().postUnsafePayload(envelope)),
      replaceHead: (envelope) =>
        call(async () => {
          const replaced = await admin().replaceUnsafePayload(envelope);
          if (replaced.kind !== "replaced") throw new Error(JSON.stringify(replaced));
        }),
      hashOf: (number) => call(() => this.node.engine.canonicalRef(number)?.hash),
      payloadAt: (number) => call(() => this.node.engine.canonicalPayload(number)),
      hasL1Replaced: ({ number, hash }) =>
        call(async () => {
          const block = await admin().l1BlockRef(number);
          return block && block.hash !== hash;
        }),
    };
  }

  /** @throws Error they are not known yet */
  #heads(): NonNullable<SimNode["heads"]> {
    const { heads } = this.node;
    if (heads === undefined) throw new Error("the heads are not known yet");
    return heads;
  }

  #etcd(process: SimProcess) {
    const { clock, random, etcd: model } = this.#deps;
    const link = { clock, random, state: this.etcdLink, timeoutMs: ETCD_TIMEOUT_MS };
    return etcdOver(model, (what, act) =>
      process.wait(ask(link, act, () => new EtcdError("etcd/unavailable", { what, reason: "no answer in time" }))),
    );
  }
}

/** A conductor's RPC answers to the rollup node. */
async function answer(program: SimConductor["program"], method: string, params: readonly unknown[]): Promise<unknown> {
  if (method === "conductor_leader") return program.isLeader;
  if (method !== "conductor_commitUnsafePayload") throw new RpcError(-32601, `the method ${method} does not exist`);
  try {
    await program.commit(envelopeFromJson(params[0]) as ExecutionPayloadEnvelope);
    return null;
  } catch (error) {
    throw new RpcError(-32000, (error as Error).message);
  }
}

import { bytesToHex, type Hex } from "@rnode/primitives";
import type { Random } from "@rnode/primitives/testing";
import type { SimClock, SimProcess } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { BlockName } from "../cluster/records.ts";
import type { HealthSample } from "../control/health-rules.ts";
import { hashOf, samplePayload } from "./sample-payload.ts";
import type { SimL1 } from "./sim-l1.ts";

export interface SimNodeDeps {
  readonly name: string;
  readonly sim: SimClock;
  readonly random: Random;
  readonly process: SimProcess;
  /** the blocks on disk, which survive a restart */
  readonly disk: SimDisk;
  /** `conductor_leader` */
  readonly isLeader: () => Promise<boolean>;
  /** `conductor_commitUnsafePayload` */
  readonly commit: (envelope: ExecutionPayloadEnvelope) => Promise<void>;
  /** the nodes that it is connected with now */
  readonly peers: () => readonly SimNode[];
  readonly onRelease: (envelope: ExecutionPayloadEnvelope) => void;
  readonly engineCut: () => boolean;
  readonly l1: SimL1;
  /** the time up to which it has seen what L1 did */
  readonly l1SeenMs: () => number;
}

const hashHex = ({ executionPayload }: ExecutionPayloadEnvelope): Hex => bytesToHex(executionPayload.blockHash);
const parentHex = ({ executionPayload }: ExecutionPayloadEnvelope): Hex => bytesToHex(executionPayload.parentHash);

/** A chain of blocks from genesis on, of which the head may be moved. */
export class SimDisk {
  readonly blocks = new Map<Hex, ExecutionPayloadEnvelope>();
  head: ExecutionPayloadEnvelope;

  constructor(genesisSec: number) {
    this.head = samplePayload(0, hashOf("before genesis"), "", [], genesisSec);
    this.blocks.set(hashHex(this.head), this.head);
  }

  parentOf(block: ExecutionPayloadEnvelope): ExecutionPayloadEnvelope | undefined {
    return this.blocks.get(parentHex(block));
  }
}

const BLOCK_MS = 1000;
const COMMIT_LIMIT_MS = 1000;
const GOSSIP_MS = 40;
const FETCH_MS = 60;
/** Blocks that one request to a peer brings. */
const MAX_GAP = 400;

/** A rollup node with its execution client, as the conductor sees them: a head, a sequencer, and peers. */
export class SimNode {
  readonly #deps: SimNodeDeps;
  #isActive = false;
  /** counts starts and stops: a block that was sealed before one of them is not released */
  #fence = 0;
  #sealed: ExecutionPayloadEnvelope | undefined;
  #isFetching = false;

  constructor(deps: SimNodeDeps) {
    this.#deps = deps;
    void this.#sequence();
  }

  get disk(): SimDisk {
    return this.#deps.disk;
  }

  get process(): SimProcess {
    return this.#deps.process;
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  sample(): HealthSample & { readonly isActive: boolean } {
    this.#followL1();
    const { peers, engineCut } = this.#deps;
    const { blockNumber: number, timestamp: timestampSec } = this.disk.head.executionPayload;
    const head = { number, timestampSec };
    return {
      sync: { unsafe: head, safe: head },
      peers: { connected: peers().length },
      engine: engineCut() ? { error: "cut off" } : { number },
      isActive: this.#isActive,
    };
  }

  hasL1Replaced(origin: BlockName): boolean {
    const { l1, l1SeenMs } = this.#deps;
    return l1.hasReplaced(origin, l1SeenMs());
  }

  /** Drops the blocks whose L1 origins are no longer canonical, as derivation does. */
  #followL1(): void {
    const { l1, l1SeenMs } = this.#deps;
    while (l1.hasReplacedOriginOf(this.disk.head, l1SeenMs())) {
      const parent = this.disk.parentOf(this.disk.head);
      if (parent === undefined) return;
      this.disk.head = parent;
      this.#sealed = undefined;
    }
  }

  unsafeHead(): BlockName {
    this.#followL1();
    return { number: this.disk.head.executionPayload.blockNumber, hash: hashHex(this.disk.head) };
  }

  async start(hash: string): Promise<void> {
    if (this.#isActive) return;
    if (!(await this.#deps.isLeader())) throw new Error("sequencer is not the leader, aborting");
    this.#followL1();
    if (hash !== hashHex(this.disk.head)) throw new Error("block hash does not match");
    this.#fence++;
    this.#sealed = undefined;
    this.#isActive = true;
  }

  stop(): void {
    this.#fence++;
    this.#isActive = false;
  }

  /** Takes a block from the network or the conductor. Missing ancestors are requested from peers. */
  receive(block: ExecutionPayloadEnvelope): void {
    if (!this.process.isRunning || this.#deps.engineCut()) return;
    this.#followL1();
    if (block.executionPayload.blockNumber <= this.disk.head.executionPayload.blockNumber) return;
    if (this.disk.parentOf(block) !== undefined) this.#insert(block);
    else void this.#fetchGap(block);
  }

  /** What its conductor says was committed takes the place of other blocks. */
  replaceHead(block: ExecutionPayloadEnvelope): void {
    if (this.#isActive) throw new Error("the sequencer is active");
    if (this.#deps.engineCut()) throw new Error("the engine is cut off");
    if (this.disk.parentOf(block) === undefined) throw new Error("the parent is not known");
    this.disk.blocks.set(hashHex(block), block);
    this.disk.head = block;
  }

  payloadAt(number: number): ExecutionPayloadEnvelope | undefined {
    let block: ExecutionPayloadEnvelope | undefined = this.disk.head;
    while (block !== undefined && block.executionPayload.blockNumber > number) block = this.disk.parentOf(block);
    return block?.executionPayload.blockNumber === number ? block : undefined;
  }

  async #fetchGap(block: ExecutionPayloadEnvelope): Promise<void> {
    const { sim, process, peers } = this.#deps;
    if (this.#isFetching) return;
    this.#isFetching = true;
    for (const peer of peers()) {
      const missing: ExecutionPayloadEnvelope[] = [block];
      while (this.disk.parentOf(missing[0]!) === undefined && missing.length < MAX_GAP) {
        const before = peer.disk.parentOf(missing[0]!);
        if (before === undefined) break;
        missing.unshift(before);
      }
      if (this.disk.parentOf(missing[0]!) === undefined) continue;
      await process.wait(sim.sleep(FETCH_MS));
      if (peers().includes(peer)) for (const found of missing) this.#insert(found);
      break;
    }
    this.#isFetching = false;
  }

  #insert(block: ExecutionPayloadEnvelope): void {
    if (block.executionPayload.blockNumber <= this.disk.head.executionPayload.blockNumber) return;
    const { l1, l1SeenMs } = this.#deps;
    if (l1.hasReplacedOriginOf(block, l1SeenMs())) return;
    this.disk.blocks.set(hashHex(block), block);
    this.disk.head = block;
  }

  async #sequence(): Promise<void> {
    const { process } = this.#deps;
    while (!process.isDead) {
      await process.clock.sleep(BLOCK_MS);
      if (this.#isActive && !this.#deps.engineCut()) await this.#makeBlock();
    }
  }

  /** Seals, commits, gossips, inserts. What could not be committed is tried again, as it was sealed. */
  async #makeBlock(): Promise<void> {
    const { sim, process, random, name, commit, peers, onRelease, l1, l1SeenMs } = this.#deps;
    const fence = this.#fence;
    this.#followL1();
    const { head } = this.disk;
    if (this.#sealed === undefined || parentHex(this.#sealed) !== hashHex(head)) {
      const { executionPayload } = head;
      const made = `${name} ${sim.unixMs()} ${random(1_000_000)}`;
      this.#sealed = samplePayload(
        executionPayload.blockNumber + 1,
        executionPayload.blockHash,
        made,
        [],
        Math.floor(sim.unixMs() / 1000),
        l1.originOf(executionPayload.blockNumber + 1, l1SeenMs()),
      );
    }
    const block = this.#sealed;
    const endMs = process.clock.monotonicMs() + COMMIT_LIMIT_MS;
    for (let attempt = 0; ; attempt++) {
      try {
        await commit(block);
        break;
      } catch {
        if (attempt === 0 && process.clock.monotonicMs() + 50 < endMs) {
          await process.clock.sleep(50);
          continue;
        }
        // A payload expires now and then, and another one is sealed in its place.
        if (random(6) === 0) this.#sealed = undefined;
        return;
      }
    }
    this.#sealed = undefined;
    if (fence !== this.#fence) return;
    onRelease(block);
    this.#insert(block);
    for (const peer of peers()) sim.after(GOSSIP_MS + random(100), () => peer.receive(block));
  }
}

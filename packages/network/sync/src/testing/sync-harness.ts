import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Chain, PreparedBlock } from "@rnode/chain";
import { attributesFor, BLOCK_TIME_SEC, type DevChain, forkchoice, openDevChain, rewind } from "@rnode/chain/testing";
import { type LogFields, type Logger, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { SimClock } from "@rnode/program/testing";
import type { Block, BlockId } from "@rnode/protocol";
import { ChainSync } from "../chain-sync.ts";
import { HeaderFile } from "../headers/header-file.ts";
import { SimBlocks, SimPeer, type SimPeerOptions, SimPeers } from "./sim-peer.ts";

/** Blocks with one deposit each, on the head. */
export function extendChain(dev: DevChain, count: number, seed = 0): Block[] {
  const blocks: Block[] = [];
  while (blocks.length < count) {
    const { chain } = dev;
    const wanted = Array.from({ length: Math.min(64, count - blocks.length) }, (_, index) => {
      const attributes = attributesFor(dev, seed + blocks.length + index);
      return { attributes: { ...attributes, timestamp: attributes.timestamp + BLOCK_TIME_SEC * index } };
    });
    const result = chain.extend(forkchoice(hexToBytes(chain.head().hash)), wanted, Number.POSITIVE_INFINITY);
    if (result.kind !== "extended" || result.refusal !== undefined) throw new Error(JSON.stringify(result));
    blocks.push(...result.blocks.map(({ block }) => block));
  }
  return blocks;
}

/** PERF: made once for all tests, which only take blocks from it. */
let sharedBlocks: readonly Block[] | undefined;
const SHARED_BLOCKS = 400;

async function makeSharedBlocks(): Promise<readonly Block[]> {
  const dev = openDevChain("jovian");
  const blocks = [dev.chain.genesis.block, ...extendChain(dev, SHARED_BLOCKS)];
  await dev.remove();
  return blocks;
}

/** A chain of simulated peers, and a node at its genesis that syncs to it. */
export class SyncHarness {
  readonly clock = new SimClock();
  readonly random;
  #source: DevChain | undefined;
  readonly blocks: SimBlocks;
  readonly peers = new SimPeers();
  readonly lines: { readonly level: string; readonly text: string; readonly fields: LogFields | undefined }[] = [];
  readonly #known: Block[];
  readonly folder = mkdtempSync(join(tmpdir(), "rnode-sync-"));
  node: DevChain;
  sync: ChainSync;

  /** @param count of blocks after the genesis that peers have */
  static async create(count: number, seed = 1): Promise<SyncHarness> {
    sharedBlocks ??= await makeSharedBlocks();
    return new SyncHarness(sharedBlocks.slice(0, count + 1), seed);
  }

  private constructor(blocks: readonly Block[], seed: number) {
    this.random = createRandom(seed);
    this.#known = [...blocks];
    this.blocks = new SimBlocks().add(blocks);
    this.node = openDevChain("jovian");
    this.sync = this.#start();
  }

  /** The chain that the peers' blocks are from, with their head, where more can be made. */
  async source(): Promise<DevChain> {
    if (this.#source === undefined) {
      this.#source = openDevChain("jovian");
      await this.#source.chain.import(
        this.#known.map((block) => ({ block })),
        { groupBlocks: 64 },
      );
    }
    return this.#source;
  }

  /** A block of the peers' first chain. */
  block(number: number): Block {
    return this.#known[number]!;
  }

  get chain(): Chain {
    return this.node.chain;
  }

  peer(options: Partial<SimPeerOptions> = {}, blocks = this.blocks): SimPeer {
    const id = options.id ?? `peer ${this.peers.list().length}`;
    const peer = new SimPeer({ clock: this.clock, random: this.random, ...options, id }, blocks);
    this.peers.add(peer);
    return peer;
  }

  /** Makes blocks on the peers' head. @param from on this block instead, with another `seed` for other blocks */
  async grow(count: number, { from, seed }: { readonly from?: number; readonly seed?: number } = {}): Promise<Block[]> {
    const source = await this.source();
    if (from !== undefined) rewind(source, from);
    const made = extendChain(source, count, seed);
    this.blocks.add(made);
    this.peers.announce();
    return made;
  }

  head(): Uint8Array {
    return this.blocks.head.hash;
  }

  /** The peers' head, as a chain names it. */
  blockId(): BlockId {
    const { number, hash } = this.blocks.head;
    return { number, hash: bytesToHex(hash) };
  }

  async choose(head = this.head(), safe?: Uint8Array, finalized?: Uint8Array) {
    const result = await this.sync.forkchoiceUpdated(forkchoice(head, safe, finalized), undefined, 3);
    if (result.kind !== "updated") throw new Error(JSON.stringify(result));
    return result.status;
  }

  async offer(block: Block) {
    return await this.sync.newPayload(new PreparedBlock(block));
  }

  /** Lets time pass until the condition holds. @returns simulated seconds */
  async until(condition: () => boolean, limitSec = 600): Promise<number> {
    const startMs = this.clock.unixMs();
    while (!condition()) {
      const elapsedSec = (this.clock.unixMs() - startMs) / 1_000;
      if (elapsedSec > limitSec) {
        throw new Error(`not after ${limitSec} s: ${JSON.stringify([this.sync.status, this.lines.slice(-5)])}`);
      }
      await this.clock.advance(50);
      await setImmediate(); // threads
    }
    return (this.clock.unixMs() - startMs) / 1_000;
  }

  async untilSynced(limitSec?: number): Promise<number> {
    return await this.until(() => this.sync.status === undefined, limitSec);
  }

  /** The node is stopped in the middle of whatever it does, and started again. */
  async restart(): Promise<void> {
    const { folder } = this.node;
    await this.stopAll();
    this.node = openDevChain("jovian", { folder });
    this.sync = this.#start();
  }

  warnings(): string[] {
    return this.lines.filter(({ level }) => level === "warn" || level === "error").map(({ text }) => text);
  }

  async close(): Promise<void> {
    await this.stopAll();
    rmSync(this.node.folder, { recursive: true, force: true });
    await this.#source?.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async stopAll(): Promise<void> {
    await this.sync.close();
    await this.node.chain.close();
  }

  #start(): ChainSync {
    const { chain } = this.node;
    const { header } = chain.genesis.block;
    const note =
      (level: string) =>
      (text: string, fields?: LogFields): void =>
        void this.lines.push({ level, text, fields });
    const log = { ...silentLogger, debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") } as Logger;
    return new ChainSync({
      chain,
      peers: this.peers,
      store: new HeaderFile(join(this.folder, "sync"), { number: header.number, hash: chain.genesis.hash }, log),
      clock: this.clock,
      log,
      adviceWithoutPeers: "name some",
    });
  }
}

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { deposit } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { freePort, type InteropCase, runCases, until } from "@rnode/program/testing";
import { encodeTransaction } from "@rnode/protocol";
import type { StreamEntry } from "../stream/stream-entry.ts";
import { AppliedStream } from "./applied-stream.ts";
import { startTestClient, type TestClient } from "./test-client.ts";

const RENGINE = fileURLToPath(new URL("../../bin/rengine.js", import.meta.url));
const STREAM = "chain";
const SUBJECT = "chain.blocks";
const ROUNDS = 25;
const SEEDS = [1, 2, 3];
/** A block with a large deposit is larger than a message. */
const MAX_PAYLOAD_BYTES = 16_384;
const LARGE_BYTES = 20_000;

/** A program that is killed, and started again with the same arguments. */
class Killable {
  readonly #command: readonly string[];
  #child: ChildProcess | undefined;
  stderr = "";

  constructor(command: readonly string[]) {
    this.#command = command;
  }

  start(): void {
    const [file, ...args] = this.#command;
    this.#child = spawn(file!, args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#child.stderr!.on("data", (data: Buffer) => {
      this.stderr = (this.stderr + data.toString()).slice(-4000);
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  get hasEnded(): boolean {
    return this.#child?.exitCode != null;
  }
}

/** A node, a broker and a stream between them. */
class Stage {
  readonly #folder = mkdtempSync(join(tmpdir(), "rengine-nats-"));
  readonly #binary: string;
  #httpPort = 0;
  #natsPort = 0;
  node!: TestClient;
  broker!: Killable;
  stream!: Killable;

  constructor(binary: string) {
    this.#binary = binary;
  }

  async start(): Promise<void> {
    [this.#httpPort, this.#natsPort] = [await freePort(), await freePort()];
    this.node = await startTestClient([`--http.port=${this.#httpPort}`]);
    const config = join(this.#folder, "nats.conf");
    writeFileSync(
      config,
      `listen: "127.0.0.1:${this.#natsPort}"\nmax_payload: ${MAX_PAYLOAD_BYTES}\njetstream { store_dir: "${join(this.#folder, "js")}" }\n`,
    );
    this.broker = new Killable([this.#binary, "-c", config]);
    this.broker.start();
    await this.#brokerListens();
    const options = [
      `--rpc=http://127.0.0.1:${this.#httpPort}`,
      `--nats.url=nats://127.0.0.1:${this.#natsPort}`,
      `--nats.stream=${STREAM}`,
    ];
    this.stream = new Killable([
      process.execPath,
      RENGINE,
      "stream",
      ...options,
      `--nats.subject=${SUBJECT}`,
      "--from=0",
      "--poll-interval=20ms",
    ]);
    this.stream.start();
  }

  async restartNode(): Promise<void> {
    await this.node.close();
    this.node = await startTestClient([`--http.port=${this.#httpPort}`], this.node.folder);
  }

  async close(): Promise<void> {
    await this.stream?.kill();
    await this.broker?.kill();
    await this.node?.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** What a consumer has that reads all messages. */
  async consumed(): Promise<{ readonly stream: AppliedStream; readonly messages: number; readonly kinds: ReadonlySet<string> }> {
    const connection = await connect({ servers: `127.0.0.1:${this.#natsPort}`, maxReconnectAttempts: -1 });
    try {
      return await consume(connection);
    } finally {
      await connection.close();
    }
  }

  async #brokerListens(): Promise<void> {
    await until(
      () =>
        new Promise<boolean>((resolve) => {
          const socket = connectTcp(this.#natsPort, "127.0.0.1", () => resolve(true));
          socket.on("error", () => resolve(false)).on("close", () => resolve(false));
          socket.on("connect", () => socket.destroy());
        }),
    );
  }
}

async function consume(connection: NatsConnection) {
  const manager = await jetstreamManager(connection);
  const stream = new AppliedStream();
  const kinds = new Set<string>();
  const { state } = await manager.streams.info(STREAM).catch(() => ({ state: { last_seq: 0 } }));
  for (let seq = 1; seq <= state.last_seq; seq++) {
    const found = await manager.streams.getMessage(STREAM, { seq });
    const of = (name: string): string => found!.header.get(name);
    const [part, parts] = of("Rnode-Part").split("/").map(Number) as [number, number];
    const kind = of("Rnode-Kind") as StreamEntry["kind"];
    kinds.add(parts > 1 ? `${kind} in parts` : kind);
    const entry = {
      kind,
      number: Number(of("Rnode-Block-Number")),
      hash: of("Rnode-Block-Hash") as Hex,
      parentHash: of("Rnode-Parent-Hash") as Hex,
      genesisHash: of("Rnode-Genesis-Hash") as Hex,
      isFirst: of("Rnode-First") === "1",
      part,
      parts,
    };
    assert.doesNotThrow(() => stream.apply(entry, found!.data));
  }
  return { stream, messages: state.last_seq, kinds };
}

let made = 0;
const largeDeposit = (): Hex =>
  bytesToHex(
    encodeTransaction(
      deposit({ sourceHash: new Uint8Array(32).fill(++made), gasLimit: 2_000_000n, data: new Uint8Array(LARGE_BYTES).fill(made) }),
    ),
  );

async function headOf({ rpc }: TestClient): Promise<number> {
  return Number(await rpc.call<Hex>("eth_blockNumber"));
}

/** Builds blocks on an ancestor of the head. */
async function reorganise(node: TestClient, depth: number): Promise<void> {
  const number = Math.max(0, (await headOf(node)) - depth);
  const { hash, timestamp } = await node.rpc.call<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", [
    toQuantity(number),
    false,
  ]);
  await node.buildBlock({ parent: { hash, timestampSec: Number(timestamp) } });
  for (let i = 0; i < depth; i++) await node.buildBlock();
}

async function isCaughtUp(stage: Stage): Promise<boolean> {
  assert(!stage.stream.hasEnded, `the stream has ended: ${stage.stream.stderr}`);
  const { stream } = await stage.consumed();
  const { hash } = await stage.node.rpc.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
  return stream.blocks.at(-1)?.hash === hash;
}

/** The blocks of the stream are those of the node, with their rows. */
async function compare(stage: Stage): Promise<ReadonlySet<string>> {
  const { stream, kinds } = await stage.consumed();
  assert.equal(stream.blocks.length, (await headOf(stage.node)) + 1);
  for (const { number, hash, body } of stream.blocks) {
    const block = await stage.node.rpc.call<{ hash: Hex; transactions: Hex[] }>("eth_getBlockByNumber", [
      toQuantity(number),
      false,
    ]);
    assert.equal(hash, block.hash);
    const told = JSON.parse(Buffer.from(body).toString()) as { block_hash: Hex; transactions: { transaction_hash: Hex }[] };
    assert.deepEqual([told.block_hash, told.transactions.map((tx) => tx.transaction_hash)], [hash, block.transactions]);
  }
  return kinds;
}

const faults = (seed: number): InteropCase<Stage> => ({
  name: `every canonical block once, over kills of stream, broker and node, and reorganisations (seed ${seed})`,
  async run(stage) {
    await stage.start();
    const random = createRandom(seed);
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = random(4); i > 0; i--) await stage.node.buildBlock({ transactions: random(4) === 0 ? [largeDeposit()] : [] });
      if (random(3) === 0) await reorganise(stage.node, 1 + random(4));
      const victim = random(6);
      if (victim < 2) await stage.stream.kill();
      if (victim === 1 || victim === 2) {
        await stage.broker.kill();
        if (random(2) === 0) await stage.node.buildBlock();
        stage.broker.start();
      }
      if (victim === 3) await stage.restartNode();
      if (victim < 2) stage.stream.start();
      if (random(3) === 0) await until(() => isCaughtUp(stage), 60_000);
    }
    const last = [() => stage.node.buildBlock({ transactions: [largeDeposit()] }), () => reorganise(stage.node, 2)];
    for (const change of last) {
      await until(() => isCaughtUp(stage), 60_000);
      await change();
    }
    await until(() => isCaughtUp(stage), 60_000);
    const kinds = await compare(stage);
    for (const kind of ["block", "block in parts", "retract"]) assert(kinds.has(kind), `no ${kind}`);
  },
});

/** Runs `rengine stream` against a NATS server. @param binary of nats-server */
export const runInterop = (binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> =>
  runCases(
    SEEDS.map(faults),
    (onClose) => {
      const stage = new Stage(binary);
      onClose(() => stage.close());
      return stage;
    },
    print,
  );

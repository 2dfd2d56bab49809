import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { noMetrics, silentLogger } from "@rnode/observe";
import { connectionLimits, openNetwork, type P2PNetwork } from "@rnode/p2p";
import {
  type GoCommand,
  measuredBlock,
  rollupOf,
  SEQUENCER,
  type SignedBlock,
  startNetwork,
  testP2PConfig,
  validationNs,
} from "@rnode/p2p/testing";
import { systemClock } from "@rnode/program";

/**
 * rnode's network in a separate process with the commands of the Go program's `--mode=bench`
 * (packages/network/p2p/interop/bench.go). The network is in a thread, as in rnode.
 */

const VERSION = 4;
const GENESIS_AGE_SEC = 3_600;
const ARRIVAL_TIMEOUT_MS = 60_000;
/** The crowd of the benchmark has one address. */
const MAX_PEERS = 500;

const rollup = rollupOf(VERSION, Math.floor(systemClock.unixMs() / 1000) - GENESIS_AGE_SEC);
const prepared = new Map<number, SignedBlock>();
/** nanoseconds of the monotonic clock, by block number */
const times = new Map<number, number>();
const waiting = new Set<() => void>();

const monotonicNs = (): number => Number(process.hrtime.bigint());
const print = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

/** Collecting garbage before memory is measured reaches this thread only. */
const isInThisThread = process.argv.includes("--in-this-thread");
const network = await (isInThisThread ? startNetwork : openNetwork)(
  testP2PConfig(rollup, 0, {
    networkKey: crypto.getRandomValues(new Uint8Array(32)),
    peers: {
      low: 20,
      high: MAX_PEERS,
      graceMs: 30_000,
      scoring: "light",
      ban: { enabled: true, threshold: -100, durationMs: 3_600_000 },
    },
    userAgent: "rnode/bench",
    limits: { ...connectionLimits(MAX_PEERS), maxOfAddress: MAX_PEERS, acceptsPerSecOfAddress: MAX_PEERS, maxPending: MAX_PEERS },
  }),
  {
    onUnsafePayload({ executionPayload }) {
      times.set(executionPayload.blockNumber, monotonicNs());
      for (const wake of [...waiting]) wake();
    },
    payloadByNumber: () => Promise.resolve(undefined),
  },
  { clock: systemClock, random: Math.random, log: silentLogger, metrics: noMetrics },
);
network.setUnsafeBlockSigner(SEQUENCER.address);

async function run(network: P2PNetwork, command: string, fields: GoCommand): Promise<unknown> {
  const { number: from = 0, count = 0, size = 0, address = "" } = fields;
  const numbers = Array.from({ length: count }, (_, index) => from + index);
  switch (command) {
    case "connect":
      return network.api.connectPeer(address);
    case "prepare":
      prepared.clear();
      for (const number of numbers) prepared.set(number, await measuredBlock(rollup, number, size, SEQUENCER));
      return undefined;
    case "send":
      return Promise.all(numbers.map((number) => publish(network, number)));
    case "arrived":
      return arrived(numbers);
    case "validate":
      return validationNs(
        rollup,
        numbers.map((number) => prepared.get(number)!),
        SEQUENCER.address,
      );
    case "usage":
      return usage();
    default:
      throw new Error(`unknown command ${command}`);
  }
}

/** @returns when it was begun */
async function publish(network: P2PNetwork, number: number): Promise<number> {
  const { envelope, signature } = prepared.get(number)!;
  const began = monotonicNs();
  const published = await network.publish(envelope, signature);
  if (published.kind === "refused") throw new Error(`block ${number}: ${published.reason}`);
  return began;
}

async function arrived(numbers: readonly number[]): Promise<number[]> {
  const endMs = performance.now() + ARRIVAL_TIMEOUT_MS;
  while (!numbers.every((number) => times.has(number))) {
    if (performance.now() > endMs) throw new Error(`only ${numbers.filter((number) => times.has(number)).length} blocks arrived`);
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, 1_000);
      waiting.add(wake);
    });
  }
  return numbers.map((number) => times.get(number)!);
}

/** Linux: own memory is memory without a file. */
function usage(): { ownBytes: number; cpuNs: number } {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const kib = /RssAnon:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return { ownBytes: Number(kib) * 1024, cpuNs: (user + system) * 1000 };
}

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  const { id, command, ...fields } = JSON.parse(line) as GoCommand & { readonly id: number; readonly command: string };
  run(network, command, fields).then(
    (result) => print({ id, result }),
    (error: unknown) => print({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
input.on("close", () => process.exit(0));
const { peerId, addresses } = network.identity;
print({ event: "ready", peerId, addresses, sequencer: `0x${Buffer.from(SEQUENCER.address).toString("hex")}` });

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { hexToBytes } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { processUsage } from "../common/process-usage.ts";
import { EngineConnection, THIS_CHECKOUT } from "../common/rengine.ts";
import type { MemoryLimit } from "./scale-memory.ts";

const PROGRAM = "programs/rengine/bin/rengine.js";
const LOOK_INTERVAL_MS = 50;

/** Bytes that a process has read from and written to disks so far. */
export interface DiskBytes {
  readonly read: number;
  readonly written: number;
}

/** `undefined`: the process has ended, or the system has no counters (only Linux does). */
function diskBytes(pid: number): DiskBytes | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/io`, "utf8");
    const bytesOf = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)![1]);
    return { read: bytesOf("read_bytes"), written: bytesOf("write_bytes") };
  } catch {
    return undefined;
  }
}

/**
 * Number of waits for a file page so far: of the main thread, and of all threads. @returns `undefined`: the process has ended, or
 * the system has no counters (only Linux does)
 */
function pageWaits(pid: number): { readonly main: number; readonly all: number } | undefined {
  const ofStat = (path: string): number => {
    const stat = readFileSync(path, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[9]);
  };
  try {
    return { main: ofStat(`/proc/${pid}/task/${pid}/stat`), all: ofStat(`/proc/${pid}/stat`) };
  } catch {
    return undefined;
  }
}

/** Memory of a process that does not belong to a file. */
export function ownBytes(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

export interface CommandRun {
  /** `undefined`: it was stopped at the time limit */
  readonly code: number | undefined;
  readonly ms: number;
  /** with the pages of files that were mapped */
  readonly peakRssBytes: number;
  /** without them */
  readonly peakOwnBytes: number;
  readonly disk: DiskBytes;
  readonly output: string;
}

/** Runs `rengine ARGS` to its end. */
export async function runCommand(
  limit: MemoryLimit,
  args: readonly string[],
  { checkout = THIS_CHECKOUT, maxMs }: { readonly checkout?: string | undefined; readonly maxMs: number },
): Promise<CommandRun> {
  const startMs = performance.now();
  const child = limit.spawn(process.execPath, [join(checkout, PROGRAM), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (data: Buffer) => (output = (output + data).slice(-4000)));
  let [peakRssBytes, peakOwnBytes] = [0, 0];
  let disk: DiskBytes = { read: 0, written: 0 };
  const look = setInterval(() => {
    peakRssBytes = Math.max(peakRssBytes, processUsage(child.pid!)?.rssBytes ?? 0);
    peakOwnBytes = Math.max(peakOwnBytes, ownBytes(child.pid!));
    disk = diskBytes(child.pid!) ?? disk;
  }, LOOK_INTERVAL_MS);
  let isLate = false;
  const stop = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, maxMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearInterval(look);
  clearTimeout(stop);
  if (!isLate && code !== 0) throw new Error(`rengine ${args.join(" ")} ended with ${code}: ${output}`);
  return { code: isLate ? undefined : 0, ms: performance.now() - startMs, peakRssBytes, peakOwnBytes, disk, output };
}

const START_LIMIT_MS = 300_000;

/** A running `rengine` on an existing database. */
export class ScaleNode {
  readonly #child: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly engine: EngineConnection;
  /** from its start until it answered */
  readonly startMs: number;

  private constructor(child: ChildProcess, port: number, engine: EngineConnection, startMs: number) {
    this.#child = child;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.engine = engine;
    this.startMs = startMs;
  }

  static async start(
    limit: MemoryLimit,
    { genesisFile, datadir, checkout = THIS_CHECKOUT, args = [] }: ScaleNodeOptions,
  ): Promise<ScaleNode> {
    const [port, enginePort] = [await freePort(), await freePort()];
    const startMs = performance.now();
    const child = limit.spawn(
      process.execPath,
      [
        join(checkout, PROGRAM),
        ...[
          `--chain=${genesisFile}`,
          `--datadir=${datadir}`,
          "--http",
          `--http.port=${port}`,
          `--authrpc.port=${enginePort}`,
          "--max-peers=0",
        ],
        ...["--log.level=warn", "--rpc.workers=1", ...args],
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const url = `http://127.0.0.1:${port}`;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`rengine ended with ${child.exitCode}`);
      try {
        await rpcCall(url, "eth_chainId");
        break;
      } catch (error) {
        if (performance.now() - startMs > START_LIMIT_MS) {
          child.kill("SIGKILL");
          throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    const secret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
    return new ScaleNode(child, port, new EngineConnection(enginePort, secret), performance.now() - startMs);
  }

  get disk(): DiskBytes {
    return diskBytes(this.#child.pid!) ?? { read: 0, written: 0 };
  }

  get waits(): { readonly main: number; readonly all: number } {
    return pageWaits(this.#child.pid!) ?? { main: 0, all: 0 };
  }

  /** @param signal SIGKILL: as a crash does */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.engine.close();
    const ended = once(this.#child, "exit");
    if (this.#child.exitCode === null && this.#child.kill(signal)) await ended;
  }
}

interface ScaleNodeOptions {
  readonly genesisFile: string;
  readonly datadir: string;
  /** another checkout of the repository, already built */
  readonly checkout?: string | undefined;
  readonly args?: readonly string[];
}

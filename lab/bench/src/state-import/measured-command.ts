import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { processUsage } from "../common/process-usage.ts";
import { THIS_CHECKOUT } from "../common/rengine.ts";

export interface CommandCost {
  readonly ms: number;
  readonly cpuSec: number;
  /** without the pages of mapped files */
  readonly peakOwnBytes: number;
  /** of the files in the data folder, and of temporary files without a name */
  readonly peakDiskBytes: number;
  readonly diskBytes: number;
}

const PROGRAM = "programs/rengine/bin/rengine.js";
const LOOK_INTERVAL_MS = 250;
const BLOCK_BYTES = 512;

/** Runs `rengine ARGS` to its end, as a user would. Linux only. @param nodeArgs for profiling */
export async function measuredCommand(
  args: readonly string[],
  datadir: string,
  nodeArgs: readonly string[] = [],
): Promise<CommandCost> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, join(THIS_CHECKOUT, PROGRAM), ...args], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  const pid = child.pid!;
  let output = "";
  child.stderr.on("data", (data: Buffer) => (output = (output + data).slice(-4000)));
  let [cpuSec, peakOwnBytes, peakDiskBytes] = [0, 0, 0];
  const look = setInterval(() => {
    cpuSec = Math.max(cpuSec, processUsage(pid)?.cpuSec ?? 0);
    peakOwnBytes = Math.max(peakOwnBytes, ownBytes(pid));
    peakDiskBytes = Math.max(peakDiskBytes, folderBytes(datadir) + unlinkedBytes(pid));
  }, LOOK_INTERVAL_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearInterval(look);
  if (code !== 0) throw new Error(`rengine ${args.join(" ")} ended with ${code}: ${output}`);
  return { ms: performance.now() - startMs, cpuSec, peakOwnBytes, peakDiskBytes, diskBytes: folderBytes(datadir) };
}

function tried(bytes: () => number): number {
  try {
    return bytes();
  } catch {
    return 0; // the process or the file is gone
  }
}

const ownBytes = (pid: number): number =>
  tried(() => Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024);

const folderBytes = (folder: string): number =>
  tried(() => sum(readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => usedBytes(join(folder, name)))));

/** Temporary files are unlinked when they are opened. */
const unlinkedBytes = (pid: number): number =>
  tried(() => sum(readdirSync(`/proc/${pid}/fd`).map((name) => tried(() => unlinkedFileBytes(`/proc/${pid}/fd/${name}`)))));

function unlinkedFileBytes(path: string): number {
  const { nlink, blocks } = statSync(path);
  return nlink === 0 ? blocks * BLOCK_BYTES : 0;
}

const usedBytes = (path: string): number => tried(() => statSync(path).blocks * BLOCK_BYTES);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

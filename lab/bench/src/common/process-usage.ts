import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  /** since the process began */
  readonly cpuSec: number;
  readonly rssBytes: number;
}

/** Linux counts CPU time in hundredths of a second, regardless of the kernel's own tick. */
const TICKS_PER_SEC = 100;
const PAGE_BYTES = 4096;

/** `undefined`: the process has ended. */
export function processUsage(pid: number): Usage | undefined {
  try {
    return process.platform === "linux" ? fromProc(pid) : fromPs(pid);
  } catch {
    return undefined;
  }
}

/** CPU time of a program and of the processes that it started, as far as they still run. */
export function treeCpuSec(pid: number): number {
  const own = processUsage(pid)?.cpuSec ?? 0;
  return childrenOf(pid).reduce((sum, child) => sum + treeCpuSec(child), own);
}

/** Linux only: elsewhere none are found. */
export function childrenOf(pid: number): number[] {
  if (process.platform !== "linux") return [];
  const isChild = (candidate: number): boolean => {
    try {
      return Number(statOf(candidate)[1]) === pid;
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isChild);
}

/** The fields from the state (field 3) on; the name in parentheses before it may contain spaces. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function fromProc(pid: number): Usage {
  const fields = statOf(pid);
  const [userTicks, systemTicks, rssPages] = [fields[11], fields[12], fields[21]].map(Number);
  return { cpuSec: (userTicks! + systemTicks!) / TICKS_PER_SEC, rssBytes: rssPages! * PAGE_BYTES };
}

function fromPs(pid: number): Usage {
  const [rss, time] = execFileSync("ps", ["-o", "rss=,time=", "-p", String(pid)], { encoding: "utf8" })
    .trim()
    .split(/\s+/);
  // [[dd-]hh:]mm:ss[.cc]
  const cpuSec = time!.split(/[-:]/).reduce((sum, part, index, parts) => {
    const weight = [1, 60, 3600, 86_400][parts.length - 1 - index] ?? 0;
    return sum + Number(part) * weight;
  }, 0);
  return { cpuSec, rssBytes: Number(rss) * 1024 };
}

interface UsageSummary {
  readonly name: string;
  /** mean over the observed time; 1 is one core */
  readonly cores: number;
  readonly peakRssMiB: number;
}

/** Watches programs by name; the pid may change when a program is restarted. */
export class UsageWatch {
  readonly #pidOf: ReadonlyMap<string, () => number | undefined>;
  readonly #first = new Map<string, Usage>();
  readonly #last = new Map<string, Usage>();
  readonly #peakRss = new Map<string, number>();
  readonly #startedMs = Date.now();
  readonly #timer: NodeJS.Timeout;

  constructor(pidOf: ReadonlyMap<string, () => number | undefined>, intervalMs = 1000) {
    this.#pidOf = pidOf;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), intervalMs);
  }

  stop(): UsageSummary[] {
    clearInterval(this.#timer);
    this.#sample();
    const elapsedSec = Math.max(1, Date.now() - this.#startedMs) / 1000;
    return [...this.#pidOf.keys()].map((name) => ({
      name,
      cores: ((this.#last.get(name)?.cpuSec ?? 0) - (this.#first.get(name)?.cpuSec ?? 0)) / elapsedSec,
      peakRssMiB: (this.#peakRss.get(name) ?? 0) / 2 ** 20,
    }));
  }

  #sample(): void {
    for (const [name, pidOf] of this.#pidOf) {
      const pid = pidOf();
      const usage = pid === undefined ? undefined : processUsage(pid);
      if (!usage) continue;
      if (!this.#first.has(name)) this.#first.set(name, usage);
      this.#last.set(name, usage);
      this.#peakRss.set(name, Math.max(this.#peakRss.get(name) ?? 0, usage.rssBytes));
    }
  }
}

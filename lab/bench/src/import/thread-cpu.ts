import { readdirSync, readFileSync } from "node:fs";

/** Threads without a program: V8's (garbage collection, compilation) and those of libuv. */
export const OTHER_THREADS = "V8 and libuv";

/** CPU time of this process's threads by name, as far as they still ran when it was last looked; Linux only, elsewhere empty. */
export class ThreadCpu {
  readonly #namesFile: string;
  readonly #cpuMs = new Map<string, number>();

  /** @param namesFile written by thread-name.ts */
  constructor(namesFile: string) {
    this.#namesFile = namesFile;
  }

  look(): void {
    if (process.platform !== "linux") return;
    for (const number of readdirSync("/proc/self/task")) {
      try {
        // time on a processor ns ‖ time waiting for one ns ‖ …
        const [runNs] = readFileSync(`/proc/self/task/${number}/schedstat`, "utf8").split(" ");
        this.#cpuMs.set(number, Number(runNs) / 1e6);
      } catch {
        // it has just ended
      }
    }
  }

  /** Milliseconds since the threads began; threads of one name together. */
  byName(): Readonly<Record<string, number>> {
    const lines = readFileSync(this.#namesFile, "utf8").trim().split("\n");
    const names = new Map(lines.map((line) => line.split(" ") as [string, string]));
    const sums: Record<string, number> = {};
    for (const [number, cpuMs] of this.#cpuMs) {
      const name = names.get(number) ?? OTHER_THREADS;
      sums[name] = (sums[name] ?? 0) + cpuMs;
    }
    return sums;
  }
}

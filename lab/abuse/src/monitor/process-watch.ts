import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { Devnet, ProgramName } from "@rnode/devnet";
import type { MeasuredProgram } from "../bounds.ts";
import { childrenByParent, ownMemoryMib } from "./own-memory.ts";

export interface MemorySample {
  readonly atMs: number;
  readonly mib: Readonly<Record<MeasuredProgram, number>>;
}

export interface Death {
  readonly atMs: number;
  readonly what: string;
}

export const MEASURED: readonly MeasuredProgram[] = [
  "sequencerEngine",
  "verifierEngine",
  "sequencerNode",
  "verifierNode",
  "batcher",
];
const INTERVAL_MS = 500;
/** The log line of the execution client when it loses a reader process (`programs/rengine/src/readers/reader-pool.ts`). */
const READER_LOST = /reader ended, another takes its place|reader does not react: killed/;
/** A line of the program's log; other lines come from a crashing runtime. */
const LOG_LINE = /^t=/;
/** More than V8 writes when memory is used up. */
const MAX_LAST_WORDS = 30;

/** Samples the memory of all programs, and records every process that dies unexpectedly. */
export class ProcessWatch {
  readonly memory: MemorySample[] = [];
  readonly deaths: Death[] = [];
  readonly #devnet: Devnet;
  readonly #timer: NodeJS.Timeout;
  readonly #logs = new Map<string, number>();
  readonly #lastWords = new Map<ProgramName, string[]>();
  readonly #pids = new Map<ProgramName, number>();
  readonly #expected = new Set<ProgramName>();

  constructor(devnet: Devnet) {
    this.#devnet = devnet;
    this.#look();
    this.#timer = setInterval(() => this.#look(), INTERVAL_MS);
  }

  /** The end of the program is intended until the returned function is called. */
  expectRestart(name: ProgramName): () => void {
    this.#look();
    this.#expected.add(name);
    return () => {
      this.#pids.delete(name);
      this.#expected.delete(name);
      this.#look();
    };
  }

  peakMib(fromMs: number, toMs: number): Readonly<Record<MeasuredProgram, number>> {
    const samples = this.memory.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const peak = (name: MeasuredProgram): number => Math.max(0, ...samples.map(({ mib }) => mib[name]));
    return Object.fromEntries(MEASURED.map((name) => [name, peak(name)])) as Record<MeasuredProgram, number>;
  }

  deathsBetween(fromMs: number, toMs: number): Death[] {
    return this.deaths.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    const atMs = performance.now();
    const children = childrenByParent();
    const mib: Record<string, number> = {};
    for (const name of MEASURED) {
      const program = this.#devnet.programs[name];
      const { pid } = program;
      mib[name] = pid === undefined ? 0 : ownMemoryMib(pid, children);
      for (const line of this.#newLines(program.spec.logPath)) {
        this.#noteLastWords(name, line);
        if (READER_LOST.test(line))
          this.deaths.push({ atMs, what: this.#describeLoss(name, `${program.spec.name}: ${line.trim()}`) });
      }
      if (this.#expected.has(name)) continue;
      const known = this.#pids.get(name);
      if (known !== undefined && known !== pid) this.deaths.push({ atMs, what: `${program.spec.name} (pid ${known})` });
      if (pid === undefined) this.#pids.delete(name);
      else this.#pids.set(name, pid);
    }
    this.memory.push({ atMs, mib: mib as Record<MeasuredProgram, number> });
  }

  #noteLastWords(name: ProgramName, line: string): void {
    if (line.trim() === "" || LOG_LINE.test(line)) return;
    const words = this.#lastWords.get(name) ?? [];
    this.#lastWords.set(name, [...words, line].slice(-MAX_LAST_WORDS));
  }

  #describeLoss(name: ProgramName, what: string): string {
    const words = this.#lastWords.get(name) ?? [];
    this.#lastWords.delete(name);
    return [`a reader of ${what}`, ...words].join("\n");
  }

  /** The lines appended to a log since the last call. */
  #newLines(path: string): string[] {
    if (!existsSync(path)) return [];
    const file = openSync(path, "r");
    try {
      const { size } = fstatSync(file);
      const from = this.#logs.get(path) ?? 0;
      this.#logs.set(path, size);
      const buffer = Buffer.alloc(size - from);
      readSync(file, buffer, 0, buffer.length, from);
      return buffer.toString("utf8").split("\n");
    } finally {
      closeSync(file);
    }
  }
}

import { cpus, totalmem } from "node:os";
import type { MemoryMap } from "./memory-map.ts";
import type { NodeMemory } from "./node-memory.ts";

/** The verifier pair is meant to get along with this, programs and libraries included. */
const TARGET_MIB = 350;
/** The last part of the time is the settled memory. */
const SETTLED_PART = 0.2;
const MIB = 2 ** 20;

/** A program of a pair, with the processes it consists of. */
export interface WatchedProgram {
  /** the pair that it is part of */
  readonly pair: string;
  readonly name: string;
  readonly pids: () => number[];
  /** of a program that runs on Node.js: where its inspector writes its address */
  readonly logPath: string | undefined;
}

interface Extent {
  readonly peakMiB: number;
  readonly settledMiB: number;
}

/** Of a program or a pair, all its processes together. */
interface Row {
  readonly name: string;
  /** belongs to no file */
  readonly own: Extent;
  /** with programs and libraries, which count for each process although processes share them */
  readonly resident: Extent;
}

interface MemorySummary {
  readonly pairs: readonly Row[];
  readonly programs: readonly (Row & { readonly processes: number })[];
}

/** One process at the end. */
export interface ProcessMemory {
  readonly program: string;
  readonly pid: number;
  readonly threads: number;
  readonly map: MemoryMap;
  readonly node: NodeMemory | undefined;
}

export interface MemoryReport extends MemorySummary {
  readonly processes: readonly ProcessMemory[];
  readonly seconds: number;
  readonly transactions: number;
  readonly requests: number;
  readonly slowestRequestMs: number;
}

/** @param samples by time, by program, by process */
export function summaryOf(
  programs: readonly { readonly pair: string; readonly name: string }[],
  samples: readonly (readonly (readonly MemoryMap[])[])[],
): MemorySummary {
  const row = (name: string, isMeant: (program: number) => boolean): Row => {
    const over = (bytesOf: (map: MemoryMap) => number): Extent =>
      extentOf(samples.map((sample) => sum(sample.flatMap((maps, program) => (isMeant(program) ? maps.map(bytesOf) : [])))));
    return { name, own: over(({ ownBytes }) => ownBytes), resident: over((map) => map.ownBytes + map.programBytes) };
  };
  const pairs = [...new Set(programs.map(({ pair }) => pair))];
  return {
    pairs: pairs.map((pair) => row(pair, (program) => programs[program]!.pair === pair)),
    programs: programs.map(({ name }, index) => ({
      ...row(name, (program) => program === index),
      processes: samples.at(-1)?.[index]?.length ?? 0,
    })),
  };
}

function extentOf(bytes: readonly number[]): Extent {
  const last = bytes.slice(-Math.ceil(bytes.length * SETTLED_PART)).sort((a, b) => a - b);
  return { peakMiB: Math.max(...bytes) / MIB, settledMiB: (last[Math.floor(last.length / 2)] ?? 0) / MIB };
}

export function describeMemory(report: MemoryReport): string {
  const { pairs, programs, processes, seconds, transactions, requests, slowestRequestMs } = report;
  const asked =
    requests === 0
      ? "nobody asks the verifier"
      : `${requests} requests to the verifier, the slowest ${slowestRequestMs.toFixed(0)} ms`;
  const row = ({ name, own, resident }: Row): (string | number)[] => [
    name,
    ...[own.peakMiB, own.settledMiB, resident.peakMiB, resident.settledMiB].map((mib) => mib.toFixed(0)),
  ];
  return [
    `Node ${process.versions.node}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, ${inMib(totalmem())} MiB of memory`,
    `${seconds} s, ${transactions} transactions, ${asked}`,
    "MiB. Own memory belongs to no file; with programs: also the pages of programs and libraries, for each process anew. Never the database's pages.",
    "",
    ...table(
      ["pair", "own, peak", "own, settled", "with programs, peak", "settled", "limit"],
      pairs.map((pair, index) => [...row(pair), index === 0 ? TARGET_MIB : ""]),
    ),
    "",
    ...table(
      ["program", "own, peak", "own, settled", "with programs, peak", "settled", "processes at the end"],
      programs.map((program) => [...row(program), program.processes]),
    ),
    "",
    ...table(
      [
        "process",
        "own",
        "V8 heap",
        "used",
        "new space",
        "code",
        "threads' heaps",
        "external",
        "wasm",
        "malloc",
        "threads",
        "programs",
        "database",
      ],
      processes.map(({ program, threads, map, node }) => [
        program,
        inMib(map.ownBytes),
        ...partsOf(node),
        inMib(map.wasmBytes),
        inMib(map.mallocBytes),
        threads,
        inMib(map.programBytes),
        inMib(map.databaseBytes),
      ]),
    ),
  ].join("\n");
}

const partsOf = (node: NodeMemory | undefined): string[] =>
  node === undefined
    ? Array.from({ length: 6 }, () => "")
    : [
        inMib(node.heapCommittedBytes),
        inMib(node.heapUsedBytes),
        inMib(node.newSpaceBytes),
        inMib(node.codeBytes),
        node.workerHeaps.map(inMib).join(" + ") || "none",
        inMib(node.externalBytes),
      ];

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)];
}

const inMib = (bytes: number): string => (bytes / MIB).toFixed(0);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

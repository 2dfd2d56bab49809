import { readFileSync } from "node:fs";

/** Resident memory of a process by kind. All in bytes. */
export interface MemoryMap {
  /** not backed by a file: heaps, stacks, buffers, and changed data of programs */
  readonly ownBytes: number;
  /** of these: in memories of WebAssembly */
  readonly wasmBytes: number;
  /** part of these: the area that malloc extends (brk), without its mappings */
  readonly mallocBytes: number;
  /** programs and libraries, which processes share */
  readonly programBytes: number;
  /** pages of the database, which the system takes back when it needs them */
  readonly databaseBytes: number;
}

interface Mapping {
  readonly startAt: number;
  readonly endAt: number;
  readonly isReserved: boolean;
  readonly path: string;
  readonly anonymousBytes: number;
  readonly residentBytes: number;
}

/** An engine reserves gigabytes of addresses after a WebAssembly memory, so that it needs no bounds checks. */
const WASM_GUARD_BYTES = 2 ** 30;
const DATABASE = /\.(?:mdb|sst|ldb)$/;

/** `undefined`: the process has ended, or this is not Linux. */
export function memoryMapOf(pid: number): MemoryMap | undefined {
  try {
    return parseMemoryMap(readFileSync(`/proc/${pid}/smaps`, "utf8"));
  } catch {
    return undefined;
  }
}

/** @param smaps the text of /proc/<pid>/smaps */
export function parseMemoryMap(smaps: string): MemoryMap {
  const sums = { ownBytes: 0, wasmBytes: 0, mallocBytes: 0, programBytes: 0, databaseBytes: 0 };
  const mappings = parseMappings(smaps);
  for (const [index, { path, endAt, isReserved, anonymousBytes, residentBytes }] of mappings.entries()) {
    sums.ownBytes += anonymousBytes;
    if (path === "[heap]") sums.mallocBytes += anonymousBytes;
    else if (DATABASE.test(path)) sums.databaseBytes += residentBytes - anonymousBytes;
    else if (path.startsWith("/")) sums.programBytes += residentBytes - anonymousBytes;
    const next = mappings[index + 1];
    const isGuarded = next?.isReserved === true && next.startAt === endAt && next.endAt - next.startAt >= WASM_GUARD_BYTES;
    if (path === "" && !isReserved && isGuarded) sums.wasmBytes += anonymousBytes;
  }
  return sums;
}

function parseMappings(smaps: string): Mapping[] {
  const parts = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return parts.flatMap((part) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+[ ]*(.*)$/m.exec(part);
    if (head === null) return [];
    const [, start = "", end = "", rights = "", path = ""] = head;
    const bytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(part)?.[1] ?? 0) * 1024;
    return [
      {
        startAt: Number.parseInt(start, 16),
        endAt: Number.parseInt(end, 16),
        isReserved: rights.startsWith("---"),
        path,
        anonymousBytes: bytes("Anonymous"),
        residentBytes: bytes("Rss"),
      },
    ];
  });
}

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

/** Programs that share a limited amount of memory, the system's cache of their files included. */
export interface MemoryLimit {
  readonly description: string;
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  release(): void;
}

const CGROUPS = "/sys/fs/cgroup";

/**
 * A cgroup where the system allows one. Otherwise, only with `mayFill`, another process holds the memory that is too much; that
 * concerns all programs of the machine.
 */
export function limitMemory(bytes: number, mayFill: boolean): MemoryLimit {
  return limitByCgroup(bytes) ?? (mayFill ? limitByFilling(bytes) : NO_LIMIT);
}

const NO_LIMIT: MemoryLimit = {
  description: "no limit of the memory: no cgroup can be made here, and --fill was not given",
  spawn: (command, args, options) => spawn(command, args, options),
  release: () => {},
};

function limitByCgroup(bytes: number): MemoryLimit | undefined {
  const isFirstVersion = existsSync(join(CGROUPS, "memory"));
  const folder = join(CGROUPS, isFirstVersion ? "memory" : "", `rnode-scale-${process.pid}`);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, isFirstVersion ? "memory.limit_in_bytes" : "memory.max"), String(bytes));
  } catch {
    if (existsSync(folder)) rmdirSync(folder);
    return undefined;
  }
  return {
    description: `${mebibytes(bytes)} of memory for each program and its files (cgroup)`,
    spawn(command, args, options) {
      const enter = `echo $$ > ${join(folder, "cgroup.procs")} && exec "$0" "$@"`;
      return spawn("/bin/sh", ["-c", enter, command, ...args], options);
    },
    release() {
      rmdirSync(folder);
    },
  };
}

const GIBIBYTE = 2 ** 30;

function limitByFilling(bytes: number): MemoryLimit {
  const held = Math.max(0, freemem() - bytes);
  const program = `
    const held = [];
    for (let left = ${held}; left > 0; left -= ${GIBIBYTE}) held.push(Buffer.alloc(Math.min(left, ${GIBIBYTE}), 1));
    console.log("held");
    setInterval(() => { for (const part of held) for (let i = 0; i < part.length; i += 4096) part[i]++; }, 1000);`;
  const filler = spawn(process.execPath, ["-e", program], { stdio: "ignore" });
  return {
    description: `another process holds ${mebibytes(held)}, so that about ${mebibytes(bytes)} remain`,
    spawn: (command, args, options) => spawn(command, args, options),
    release: () => void filler.kill("SIGKILL"),
  };
}

export const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

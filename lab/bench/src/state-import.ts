import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { benchOptions } from "./bench-options.ts";
import { type CommandCost, measuredCommand } from "./state-import/measured-command.ts";
import { serveBlock } from "./state-import/serve-block.ts";
import { writeStateFiles } from "./state-import/write-state-files.ts";

/*
 * `npm run bench -- state-import`: time, CPU, memory and disk of `rengine import-state`, of a generated state as lines of JSON, and then of a
 * snapshot of it.
 */

const MIB = 2 ** 20;

export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("state-import", args, {
    accounts: { type: "string", default: "250000", help: "accounts of the state" },
    slots: { type: "string", default: "1000000", help: "slots of the state" },
    folder: { type: "string", help: "for its files, on a disk with 1.2 kB of room a row; default: the system's temporary one" },
    "node-args": { type: "string", help: "options for Node, for profiling" },
  });
  const size = { accounts: Number(values.accounts), slots: Number(values.slots) };
  const parent = resolve(values.folder ?? tmpdir());
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "rnode-bench-state-import-"));
  const nodeArgs = values["node-args"]?.split(" ") ?? [];
  const rows = size.accounts + size.slots;
  try {
    console.log(`${size.accounts} accounts, ${size.slots} slots; load average before: ${loadavg()[0]!.toFixed(1)}`);
    const startMs = performance.now();
    const { genesis, lines, header } = writeStateFiles(folder, size);
    console.log(`made in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
    const server = await serveBlock(header);
    const { url, blockHash } = server;
    const run = async (what: string, command: string, datadir: string, ...more: string[]): Promise<void> => {
      const all = [...command.split(" "), `--chain=${genesis}`, `--datadir=${datadir}`, ...more];
      console.log(`${what}: ${describe(await measuredCommand(all, datadir, nodeArgs), rows)}`);
    };
    const [first, second, snapshot] = [join(folder, "first"), join(folder, "second"), join(folder, "state.snap")];
    await run("lines of JSON", "import-state", first, `--from=${lines}`, `--blocks=${url}`, `--block-hash=${blockHash}`);
    rmSync(lines);
    await run("making a snapshot", "snapshot create", first, snapshot);
    rmSync(first, { recursive: true });
    await run("snapshot", "import-state", second, `--from=${snapshot}`, `--block-hash=${blockHash}`);
    server.close();
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe({ ms, cpuSec, peakOwnBytes, peakDiskBytes, diskBytes }: CommandCost, rows: number): string {
  const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
  return [
    `${(ms / 1000).toFixed(1)} s, ${Math.round((1000 * rows) / ms)} rows a second`,
    `CPU ${cpuSec.toFixed(1)} s, ${((1e6 * cpuSec) / rows).toFixed(1)} µs a row`,
    `memory ${mib(peakOwnBytes)}`,
    `disk at most ${mib(peakDiskBytes)}, ${mib(diskBytes)} at the end, ${Math.round(diskBytes / rows)} bytes a row`,
  ].join("; ");
}

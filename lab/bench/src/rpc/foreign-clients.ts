import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@rnode/program/testing";
import { processUsage } from "../common/process-usage.ts";
import { answers, stopper } from "../common/rengine.ts";
import type { GeneratedChain } from "../import/import-generate.ts";
import type { RpcTarget } from "./rpc-targets.ts";

/** Another execution client for comparison: the commands of its program. */
interface ForeignCommands {
  readonly init: (datadir: string, genesisFile: string) => readonly string[];
  readonly import: (datadir: string, chain: Pick<GeneratedChain, "genesisFile" | "blocksFile">) => readonly string[];
  readonly serve: (datadir: string, chain: GeneratedChain, ports: { http: number; engine: number }) => readonly string[];
}

export const COMMANDS = {
  geth: {
    init: (datadir, genesisFile) => [`--datadir=${datadir}`, "--verbosity=1", "init", genesisFile],
    import: (datadir, { blocksFile }) => [`--datadir=${datadir}`, "--verbosity=1", "import", blocksFile],
    serve: (datadir, _, { http, engine }) => [
      ...[`--datadir=${datadir}`, "--verbosity=1", "--http", `--http.port=${http}`, "--http.api=eth,debug,net,web3"],
      ...[`--authrpc.port=${engine}`, "--nodiscover", "--maxpeers=0", "--port=0", "--ipcdisable"],
    ],
  },
  reth: {
    init: (datadir, genesisFile) => ["init", `--datadir=${datadir}`, `--chain=${genesisFile}`, "--quiet"],
    import: (datadir, { genesisFile, blocksFile }) => [
      ...["import", `--datadir=${datadir}`, `--chain=${genesisFile}`, "--quiet", blocksFile],
    ],
    serve: (datadir, { genesisFile }, { http, engine }) => [
      ...["node", `--datadir=${datadir}`, `--chain=${genesisFile}`, "--quiet", "--http", `--http.port=${http}`],
      ...["--http.api=eth,debug,trace,net,web3", `--authrpc.port=${engine}`, "--port=0", "--disable-discovery", "--ipcdisable"],
    ],
  },
} as const satisfies Record<string, ForeignCommands>;

/** The options by which a bench takes foreign programs: `--geth=PATH --reth=PATH`. */
export const FOREIGN_OPTIONS = {
  geth: { type: "string", help: "program of geth, in turns" },
  reth: { type: "string", help: "program of reth, in turns" },
} as const;

/** A foreign program that a user has named. */
export interface ForeignClient {
  readonly name: keyof typeof COMMANDS;
  readonly program: string;
}

/** @param values of `FOREIGN_OPTIONS` */
export function foreignClients(values: {
  readonly geth?: string | undefined;
  readonly reth?: string | undefined;
}): ForeignClient[] {
  return (["geth", "reth"] as const).flatMap((name) => (values[name] === undefined ? [] : [{ name, program: values[name] }]));
}

export interface ForeignImport {
  readonly ms: number;
  /** of the whole process, to within the tenth of a second that it was looked at last */
  readonly cpuMs: number;
  /** that its folder grew by */
  readonly diskBytes: number;
  readonly peakRssBytes: number;
}

/** Lets the client import the chain into a new folder, which stays. @throws its program fails */
export async function importForeign(
  { name, program }: ForeignClient,
  chain: GeneratedChain,
  datadir: string,
): Promise<ForeignImport> {
  mkdirSync(datadir, { recursive: true });
  const commands = COMMANDS[name];
  await runProgram(program, commands.init(datadir, chain.genesisFile));
  const before = folderBytes(datadir);
  const usage = await runProgram(program, commands.import(datadir, chain));
  return { ...usage, diskBytes: folderBytes(datadir) - before };
}

/** The client on a folder with the imported chain. */
export async function serveForeign({ name, program }: ForeignClient, chain: GeneratedChain, datadir: string): Promise<RpcTarget> {
  const [http, engine] = [await freePort(), await freePort()];
  const child = spawn(program, COMMANDS[name].serve(datadir, chain, { http, engine }), { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${http}`;
  const stop = stopper(child);
  try {
    await answers(url, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name, pid: child.pid!, port: http, url, mine: () => Promise.resolve(), stop };
}

const LOOK_INTERVAL_MS = 50;

export async function runProgram(program: string, args: readonly string[]): Promise<Omit<ForeignImport, "diskBytes">> {
  const startMs = performance.now();
  const child: ChildProcess = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-2000);
  });
  let cpuMs = 0;
  let peakRssBytes = 0;
  const look = setInterval(() => {
    const usage = child.pid === undefined ? undefined : processUsage(child.pid);
    if (usage === undefined) return;
    cpuMs = Math.max(cpuMs, usage.cpuSec * 1000);
    peakRssBytes = Math.max(peakRssBytes, usage.rssBytes);
  }, LOOK_INTERVAL_MS);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`${program} ${args.join(" ")}: exit code ${code}\n${said}`);
    return { ms: performance.now() - startMs, cpuMs, peakRssBytes };
  } finally {
    clearInterval(look);
  }
}

/** The used size of a folder's files, without holes and reserved space. */
function folderBytes(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const sizes = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => statSync(join(parentPath, name)));
  return sizes.reduce((sum, { size, blocks }) => sum + Math.min(size, blocks * 512), 0);
}

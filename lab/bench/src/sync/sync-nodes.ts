import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { freePort } from "@rnode/program/testing";
import { answers, EngineConnection, stopper, THIS_CHECKOUT } from "../common/rengine.ts";
import { COMMANDS as FOREIGN, runProgram } from "../rpc/foreign-clients.ts";

/** What a client is given of a chain. */
export interface ChainFiles {
  readonly genesisFile: string;
  readonly blocksFile: string;
}

interface Ports {
  readonly http: number;
  readonly engine: number;
  readonly p2p: number;
}

/** How a client is told to begin with a genesis, to import blocks, and to run with peers. */
interface SyncCommands {
  readonly prepare: (datadir: string, chain: ChainFiles) => readonly (readonly string[])[];
  readonly import: (datadir: string, chain: ChainFiles) => readonly string[];
  readonly serve: (datadir: string, chain: ChainFiles, ports: Ports, secretFile: string) => readonly string[];
}

const httpArgs = ({ http, engine }: Ports, secretFile: string): string[] => [
  ...["--http", `--http.port=${http}`, "--http.api=eth,admin,net"],
  ...[`--authrpc.port=${engine}`, `--authrpc.jwtsecret=${secretFile}`],
];

/** Op-reth keeps no history of trie nodes; with this window, rengine has hardly any. */
const WINDOW = "--proofs.window=128";
const RENGINE = join(THIS_CHECKOUT, "programs/rengine/bin/rengine.js");

const COMMANDS = {
  rengine: {
    prepare: () => [],
    import: (datadir, { genesisFile, blocksFile }) => [
      ...[RENGINE, "import", `--chain=${genesisFile}`, `--datadir=${datadir}`, WINDOW, blocksFile],
    ],
    serve: (datadir, { genesisFile }, ports, secretFile) => [
      ...[RENGINE, `--chain=${genesisFile}`, `--datadir=${datadir}`, WINDOW, "--log.level=warn"],
      ...[...httpArgs(ports, secretFile), `--port=${ports.p2p}`, "--disable-discovery", "--nat=none", "--rpc.workers=0"],
    ],
  },
  geth: {
    prepare: (datadir, { genesisFile }) => [FOREIGN.geth.init(datadir, genesisFile)],
    import: FOREIGN.geth.import,
    serve: (datadir, _, ports, secretFile) => [
      ...[`--datadir=${datadir}`, "--verbosity=1", "--syncmode=full", "--ipcdisable"],
      ...[...httpArgs(ports, secretFile), `--port=${ports.p2p}`, "--nodiscover", "--nat=none"],
    ],
  },
  reth: {
    prepare: (datadir, { genesisFile }) => [FOREIGN.reth.init(datadir, genesisFile)],
    import: FOREIGN.reth.import,
    serve: (datadir, { genesisFile }, ports, secretFile) => [
      ...["node", `--datadir=${datadir}`, `--chain=${genesisFile}`, "--quiet", "--ipcdisable"],
      ...[...httpArgs(ports, secretFile), `--port=${ports.p2p}`, "--disable-discovery", "--nat=none"],
    ],
  },
} as const satisfies Record<string, SyncCommands>;

/** A client that takes part in a sync. */
export interface SyncClient {
  readonly name: keyof typeof COMMANDS;
  readonly program: string;
  /** before the others, where it serves */
  readonly nodeArgs?: readonly string[];
  /** further options */
  readonly args?: readonly string[];
}

export const RENGINE_CLIENT: SyncClient = { name: "rengine", program: process.execPath };

/** Of a rengine that has the genesis. */
export const importArgs = COMMANDS.rengine.import;

export interface SyncNode {
  readonly pid: number;
  readonly url: string;
  readonly engine: EngineConnection;
  /** address for peers */
  readonly enode: string;
  stop(): Promise<void>;
}

/** Makes a folder in which the client has the genesis and, if wanted, all blocks. */
export async function prepareFolder(client: SyncClient, chain: ChainFiles, datadir: string, hasBlocks: boolean): Promise<void> {
  mkdirSync(datadir, { recursive: true });
  const commands = COMMANDS[client.name];
  for (const args of commands.prepare(datadir, chain)) await runProgram(client.program, args);
  if (hasBlocks) await runProgram(client.program, commands.import(datadir, chain));
}

export async function startNode(client: SyncClient, chain: ChainFiles, datadir: string): Promise<SyncNode> {
  const ports = { http: await freePort(), engine: await freePort(), p2p: await freePort() };
  const secret = randomBytes(32);
  const secretFile = join(datadir, "bench-jwt.hex");
  writeFileSync(secretFile, secret.toString("hex"));
  const args = COMMANDS[client.name].serve(datadir, chain, ports, secretFile);
  const child = spawn(client.program, [...(client.nodeArgs ?? []), ...args, ...(client.args ?? [])], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const kill = stopper(child);
  const url = `http://127.0.0.1:${ports.http}`;
  try {
    await answers(url, child);
    let enode = "";
    while (enode === "") ({ enode } = await rpcCall<{ readonly enode: string }>(url, "admin_nodeInfo"));
    const engine = new EngineConnection(ports.engine, secret);
    const stop = async (): Promise<void> => {
      await engine.close();
      await kill();
    };
    return { pid: child.pid!, url, engine, enode: enode.replace(/@.*$/, `@127.0.0.1:${ports.p2p}`), stop };
  } catch (error) {
    await kill();
    throw error;
  }
}

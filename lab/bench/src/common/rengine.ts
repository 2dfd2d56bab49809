import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { hexToBytes } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { Client } from "undici";
import { type OpChain, opGenesis } from "./op-chain.ts";

/** The checkout in which this file was built. */
export const THIS_CHECKOUT = join(dirname(createRequire(import.meta.url).resolve("@rnode/devnet")), "../../..");

export interface RengineOptions {
  readonly chain: OpChain;
  /** the checkout whose built program runs; default: this one */
  readonly checkout?: string | undefined;
  /** Node options, for profiling */
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
}

/** A `rengine` with its own chain. */
export interface Rengine {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly engine: EngineConnection;
  /** CPU time used so far by the process that keeps the chain, with all its threads */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;
const CPU_QUESTION = "cpu";

/**
 * Injected into the program before it starts; reports how much CPU time it has used. The program's threads and readers load it too, but must
 * not answer.
 */
const CPU_REPORTER = `
import { isMainThread } from "node:worker_threads";
if (isMainThread && process.env.RNODE_BENCH_CPU === String(process.ppid)) {
  process.on("message", (message) => {
    if (message !== ${JSON.stringify(CPU_QUESTION)}) return;
    const { user, system } = process.cpuUsage();
    process.send((user + system) / 1000);
  });
  process.channel.unref();
}`;

/** Waits until a server that was started answers. */
export async function answers(url: string, child: ChildProcess): Promise<void> {
  const endMs = Date.now() + START_LIMIT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    try {
      await rpcCall(url, "eth_chainId");
      return;
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

export function stopper(child: ChildProcess): () => Promise<void> {
  return async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.kill()) await ended;
  };
}

export async function startRengine({
  chain,
  checkout = THIS_CHECKOUT,
  nodeArgs = [],
  args = [],
}: RengineOptions): Promise<Rengine> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-rengine-"));
  const [port, enginePort] = [await freePort(), await freePort()];
  const genesisPath = join(folder, "genesis.json");
  writeFileSync(genesisPath, JSON.stringify(opGenesis(chain)));
  const child = spawn(
    process.execPath,
    [
      `--import=data:text/javascript,${encodeURIComponent(CPU_REPORTER)}`,
      ...nodeArgs,
      join(checkout, "programs/rengine/bin/rengine.js"),
      `--chain=${genesisPath}`,
      `--datadir=${join(folder, "data")}`,
      ...[
        "--http",
        `--http.port=${port}`,
        `--authrpc.port=${enginePort}`,
        "--max-peers=0",
        "--log.level=warn",
        "--rpc.max-connections=1000",
      ],
      ...args,
    ],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], env: { ...process.env, RNODE_BENCH_CPU: String(process.pid) } },
  );
  const url = `http://127.0.0.1:${port}`;
  const kill = stopper(child);
  const remove = async (): Promise<void> => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answers(url, child);
  } catch (error) {
    await remove();
    throw error;
  }
  const secret = hexToBytes(readFileSync(join(folder, "data", "jwt.hex"), "utf8").trim());
  const engine = new EngineConnection(enginePort, secret);
  const cpuMs = (): Promise<number> =>
    new Promise((resolve) => {
      child.once("message", (ms) => resolve(Number(ms)));
      child.send(CPU_QUESTION);
    });
  const stop = async (): Promise<void> => {
    await engine.close();
    await remove();
  };
  return { pid: child.pid!, port, url, engine, cpuMs, stop };
}

interface TimedAnswer<T> {
  readonly result: T;
  /** from sending the request until the whole answer was received */
  readonly ms: number;
}

/** One connection to the authenticated port. */
export class EngineConnection {
  readonly #client: Client;
  readonly #secret: Uint8Array;

  constructor(port: number, secret: Uint8Array) {
    this.#client = new Client(`http://127.0.0.1:${port}`);
    this.#secret = secret;
  }

  async call<T>(method: string, params: readonly unknown[]): Promise<T> {
    return (await this.timed<T>(method, params)).result;
  }

  async timed<T>(method: string, params: readonly unknown[]): Promise<TimedAnswer<T>> {
    const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json", authorization: `Bearer ${this.#token()}` };
    const startMs = performance.now();
    const { body } = await this.#client.request({ path: "/", method: "POST", headers, body: request });
    const text = await body.text();
    const ms = performance.now() - startMs;
    const { result, error } = JSON.parse(text) as { result: T; error?: unknown };
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return { result, ms };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #token(): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iat: Math.floor(Date.now() / 1000) })}`;
    return `${signed}.${createHmac("sha256", this.#secret).update(signed).digest("base64url")}`;
  }
}

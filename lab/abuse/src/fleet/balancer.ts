import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@rnode/program/testing";
import { pause } from "../pause.ts";

/** The file of docs/guide/fleet.md, unchanged. */
const CONFIG = fileURLToPath(new URL("../../../../deploy/haproxy.cfg", import.meta.url));
const START_LIMIT_MS = 10_000;

export const hasHaproxy = (): boolean => spawnSync("haproxy", ["-v"]).status === 0;

/** What the file takes from the environment. */
export interface BalancerOptions {
  readonly folder: string;
  /** ports of the nodes, which serve HTTP and WebSocket */
  readonly nodes: readonly number[];
  readonly maxLagBlocks: number;
  readonly maxAgeSec: number;
}

/** HAProxy in front of the nodes. */
export class Balancer {
  readonly port: number;
  readonly #master: ChildProcess;

  private constructor(port: number, master: ChildProcess) {
    this.port = port;
    this.#master = master;
  }

  static async start({ folder, nodes, maxLagBlocks, maxAgeSec }: BalancerOptions): Promise<Balancer> {
    const port = await freePort();
    const log = openSync(join(folder, "haproxy.log"), "a");
    const env = {
      ...{ PATH: process.env.PATH, FLEET_BIND: `127.0.0.1:${port}` },
      ...{ MAX_LAG_BLOCKS: String(maxLagBlocks), MAX_AGE: String(maxAgeSec), FLEET_SOCKET: join(folder, "haproxy.sock") },
      ...Object.fromEntries(nodes.map((node, at) => [`NODE${at + 1}`, `127.0.0.1:${node}`])),
    };
    const master = spawn("haproxy", ["-W", "-f", CONFIG], { env, stdio: ["ignore", log, log] });
    closeSync(log);
    const balancer = new Balancer(port, master);
    const deadlineMs = performance.now() + START_LIMIT_MS;
    while (!(await balancer.#answers())) {
      if (master.exitCode !== null || performance.now() > deadlineMs)
        throw new Error(`HAProxy does not start: ${folder}/haproxy.log`);
      await pause(50);
    }
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#master.pid!;
  }

  /** As `systemctl reload haproxy`: another process takes over, and the old one finishes its requests. */
  reload(): void {
    this.#master.kill("SIGUSR2");
  }

  async close(): Promise<void> {
    if (this.#master.exitCode !== null) return;
    const exited = once(this.#master, "exit");
    this.#master.kill("SIGTERM");
    await exited;
  }

  async #answers(): Promise<boolean> {
    try {
      return (await fetch(this.url, { method: "POST", headers: { "content-type": "application/json" }, body: CHAIN_ID })).ok;
    } catch {
      return false;
    }
  }
}

const CHAIN_ID = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@rnode/program/testing";

/** Why etcd is not available for tests; undefined: it is. */
export const whyNoEtcd: string | undefined =
  spawnSync("etcd", ["--version"]).status === 0 ? undefined : "etcd is not installed (Debian: apt-get install etcd-server)";

/** An etcd server in a separate process. */
export interface LocalEtcd {
  readonly url: string;
  readonly pid: number;
  /** Dies at once. */
  kill(): Promise<void>;
  /** Restarts the server with its data on disk. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface LocalEtcdOptions {
  /** further arguments */
  readonly args?: readonly string[];
  /** default: http */
  readonly scheme?: "http" | "https";
  /** default: an HTTP health check */
  readonly isUp?: (url: string) => Promise<boolean>;
}

const START_LIMIT_MS = 15_000;

/** An etcd of one server, with its own folder. */
export async function startLocalEtcd(options: LocalEtcdOptions = {}): Promise<LocalEtcd> {
  return (await startEtcdCluster(1, options))[0]!;
}

/** Servers of one etcd cluster, each with its own folder. */
export async function startEtcdCluster(
  count: number,
  { args = [], scheme = "http", isUp = isHealthy }: LocalEtcdOptions = {},
): Promise<readonly LocalEtcd[]> {
  const places = await Promise.all(
    Array.from({ length: count }, async (_, index) => ({
      name: `etcd${index}`,
      client: `${scheme}://127.0.0.1:${await freePort()}`,
      peer: `http://127.0.0.1:${await freePort()}`,
    })),
  );
  const cluster = places.map(({ name, peer }) => `${name}=${peer}`).join(",");
  const servers = places.map(
    ({ name, client, peer }) =>
      new EtcdProcess(client, isUp, [
        `--name=${name}`,
        ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
        ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`, `--initial-cluster=${cluster}`],
        ...args,
      ]),
  );
  try {
    await Promise.all(servers.map((server) => server.restart()));
  } catch (error) {
    for (const server of servers) await server.close();
    throw error;
  }
  return servers;
}

class EtcdProcess implements LocalEtcd {
  readonly url: string;
  readonly #isUp: (url: string) => Promise<boolean>;
  readonly #args: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "rnode-etcd-"));
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(url: string, isUp: (url: string) => Promise<boolean>, args: readonly string[]) {
    this.url = url;
    this.#isUp = isUp;
    this.#args = [`--data-dir=${join(this.#folder, "data")}`, ...args];
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  async restart(): Promise<void> {
    const child = spawn("etcd", this.#args, { stdio: "ignore" });
    this.#child = child;
    this.#ended = once(child, "exit");
    const endMs = Date.now() + START_LIMIT_MS;
    while (!(await this.#isUp(this.url).catch(() => false))) {
      if (Date.now() > endMs || child.exitCode !== null) throw new Error("etcd does not start");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async kill(): Promise<void> {
    this.#child?.kill("SIGCONT");
    this.#child?.kill("SIGKILL");
    await this.#ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const isHealthy = async (url: string): Promise<boolean> => (await fetch(`${url}/health`)).ok;

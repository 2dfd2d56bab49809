import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why there is no real etcd to test with; undefined: there is one. */
export const whyNoEtcd: string | undefined =
  spawnSync("etcd", ["--version"]).status === 0 ? undefined : "etcd is not installed (Debian: apt-get install etcd-server)";

export interface LocalEtcd {
  readonly url: string;
  readonly pid: number;
  close(): Promise<void>;
}

const START_LIMIT_MS = 15_000;

/** An etcd of one server in a folder of its own. */
export async function startLocalEtcd(): Promise<LocalEtcd> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-etcd-"));
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`) as [string, string];
  const args = [
    `--data-dir=${join(folder, "data")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
  const child = spawn("etcd", args, { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const close = async (): Promise<void> => {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const endMs = Date.now() + START_LIMIT_MS;
  for (;;) {
    const isUp = await fetch(`${client}/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isUp) return { url: client, pid: child.pid!, close };
    if (Date.now() > endMs || child.exitCode !== null) {
      await close();
      throw new Error("etcd does not start");
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

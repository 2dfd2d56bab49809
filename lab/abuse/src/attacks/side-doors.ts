import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@rnode/program/testing";
import type { Attacker } from "../attacker/attacker.ts";
import { DA_SERVER, RENGINE, startProgram } from "../attacker/own-program.ts";
import { times } from "../attacker/requests.ts";
import type { Target } from "../attacker/target.ts";
import type { Attack } from "./attack.ts";

/** Small servers besides the RPC ports, and downloads of the programs. Some attacks start the program that they attack. */

const ODD_TARGETS = [
  ...["//", "/%", "///", "//x", "/%00", "/%zz", "/..%2f..%2fetc/passwd", "http://", "http://x y/", "*", "?", "#", "/\\", "@", ":0"],
  ...["//evil.example/", "http://[::1", "http://%", "/?%", "/#%", "/\u00e9", `/${"%".repeat(4000)}`, `//${"/".repeat(8000)}`],
];

/** Requests whose target no URL parser takes. */
export const oddPaths: Attack = {
  name: "odd-paths",
  what: "request targets that are no URL (//, /%, *, thousands of %) on every HTTP port, those of L1, metrics and profiles too",
  bounds: { connections: 64 },
  async run({ http, ws, auth, node, batcher, engineMetrics, nodeMetrics, enginePprof, nodePprof, l1 }, attacker) {
    const ports = [http, ws, auth, node, batcher, engineMetrics, nodeMetrics, enginePprof, nodePprof, l1];
    const lane = async (port: number): Promise<void> => {
      while (!attacker.signal.aborted) {
        const target = ODD_TARGETS[attacker.random(ODD_TARGETS.length)]!;
        const method = ["GET", "HEAD", "POST", "OPTIONS", "PUT"][attacker.random(5)]!;
        const socket = await attacker.connect(port);
        if (socket === undefined) {
          await attacker.pause(20);
          continue;
        }
        const request = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
        await Promise.race([attacker.exchange(socket, request), attacker.pause(1000)]);
        socket.destroy();
      }
    };
    await Promise.all(ports.flatMap((port) => times(4, () => lane(port))));
  },
};

/** One connection with a heap profile stopped a program once. */
export const pprofFloods: Attack = {
  name: "pprof-floods",
  what: "heap and CPU profiles of rengine and rnode on 20 connections each, and asked for by foreign pages",
  bounds: { connections: 60 },
  async run({ enginePprof, nodePprof }, attacker) {
    const paths = ["heap?gc=1", "heap", "allocs", "profile?seconds=1", "goroutine", "", "heap?gc=1&seconds=30", "trace"];
    const get = (path: string, header = "Host: 127.0.0.1"): string => `GET /debug/pprof/${path} HTTP/1.1\r\n${header}\r\n\r\n`;
    const flood = (port: number): Promise<void> =>
      attacker.onConnections(port, 20, async (socket) => {
        const path = paths[attacker.random(paths.length)]!;
        const answer = await Promise.race([attacker.exchange(socket, get(path)), attacker.pause(3000).then(() => undefined)]);
        if (answer === undefined) socket.destroy();
        else attacker.count(`status ${answer.status}`);
      });
    const foreign = async (port: number): Promise<void> => {
      for (const header of ["Host: evil.example", "Host: 127.0.0.1\r\nOrigin: http://evil.example"]) {
        const socket = await attacker.connect(port);
        const answer =
          socket &&
          (await Promise.race([attacker.exchange(socket, get("heap", header)), attacker.pause(3000).then(() => undefined)]));
        socket?.destroy();
        if (answer?.status === 200) attacker.breach(`a profile for ${JSON.stringify(header)}`);
      }
    };
    await Promise.all([enginePprof, nodePprof].flatMap((port) => [flood(port), foreign(port)]));
  },
};

/** 64 slow connections once made the DA server unavailable. */
export const slowDaConnections: Attack = {
  name: "slow-da-connections",
  what: "1,000 connections to a DA server that send a byte a second, while an honest client stores and reads data",
  bounds: { connections: 1000 },
  async prepare(attacker) {
    const folder = mkdtempSync(join(tmpdir(), "rnode-abuse-da-"));
    const port = await freePort();
    startProgram(DA_SERVER, [`--port=${port}`, `--datadir=${folder}`, "--generic-commitment"], { signal: attacker.signal });
    while ((await putting(port, "x")) !== 200) await attacker.pause(100);
    return [folder, String(port)];
  },
  async run(_, attacker, prepared) {
    const [folder, port] = [String(prepared[0]), Number(prepared[1])];
    try {
      const slow = attacker.onConnections(port, 1000, async (socket, lane) => {
        if (socket.bytesWritten === 0) {
          const head = lane % 2 === 0 ? "POST /put HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n" : "GET /get/0x00";
          attacker.send(socket, head);
        } else attacker.send(socket, "x");
        await attacker.pause(1000);
      });
      const honest = async (): Promise<void> => {
        for (let round = 0; !attacker.signal.aborted; round++) {
          const answer = await putting(port, `round ${round}`);
          if (attacker.signal.aborted) return;
          attacker.count("honest requests");
          if (answer !== 200) attacker.breach(`the DA server does not serve: ${answer ?? "no answer in 15 s"}`);
          await attacker.pause(100);
        }
      };
      await Promise.all([slow, honest()]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** @returns the HTTP status; `undefined`: no answer in 15 s. The attacker itself can wait some seconds for the processor. */
async function putting(port: number, body: string): Promise<number | undefined> {
  const limit = AbortSignal.timeout(15_000);
  const answer = await fetch(`http://127.0.0.1:${port}/put`, { method: "POST", body, signal: limit }).catch(() => undefined);
  return answer?.status;
}

const MOST_BYTES = 64 << 20;
/** The start of a snapshot file, and frames with realistic sizes. */
const SNAPSHOT_START = Buffer.from("rnodesnp\0\0\0\x01", "latin1");

/** A snapshot server's attacks on a disk. */
export const hostileSnapshots: Attack = {
  name: "hostile-snapshots",
  what: "a snapshot server that never ends, promises petabytes or nothing, lies about the size, stalls, and breaks off",
  bounds: { connections: 1 },
  async run(target, attacker) {
    const behaviours = ["endless", "promises 1 PiB", "promises 1 MiB", "breaks off", "stalls"] as const;
    let behaviour: (typeof behaviours)[number] = "endless";
    const server = createServer((_, response) => {
      if (behaviour === "promises 1 PiB") response.writeHead(200, { "content-length": 2 ** 50 });
      else if (behaviour === "promises 1 MiB") response.writeHead(200, { "content-length": 2 ** 20 });
      response.write(SNAPSHOT_START);
      const piece = Buffer.alloc(1 << 20, 1);
      const more = (): void => {
        if (response.destroyed || behaviour === "stalls") return;
        if (behaviour === "breaks off") response.destroy();
        else if (response.write(piece)) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/state.snap`;
    try {
      for (let round = 0; !attacker.signal.aborted; round++) {
        behaviour = behaviours[round % behaviours.length]!;
        await restoreFrom(url, target, attacker, behaviour);
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
};

async function restoreFrom(url: string, { l2ChainFile }: Target, attacker: Attacker, behaviour: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-abuse-snapshot-"));
  const args = ["snapshot", "restore", `--chain=${l2ChainFile}`, `--datadir=${folder}`, `--from=${url}`, "--trust-snapshot"];
  const child = startProgram(RENGINE, args, { signal: attacker.signal });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const sizeOf = (): number =>
    readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  for (let waited = 0; waited < 8_000 && !hasEnded && !attacker.signal.aborted; waited += 100) {
    if (sizeOf() > MOST_BYTES) attacker.breach(`a server that ${behaviour}: ${sizeOf()} bytes on the disk`);
    await attacker.pause(100);
  }
  attacker.count(`restores, ${behaviour}`);
  if (child.exitCode === 0) attacker.breach(`a snapshot of a server that ${behaviour} was restored`);
  child.kill("SIGKILL");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

import fs, { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { hashHeader, type RollupConfig, rollupConfigToJson } from "@rnode/protocol";
import { expect, vi } from "vitest";
import { main } from "../main.ts";
import { testConfig } from "./fake-chain.ts";
import { type EndpointOptions, endpoint, GENESIS_HASH, HEADER, L2_HEADER } from "./fake-endpoints.ts";

const STDERR = 2;

export type Call = (method: string, ...params: unknown[]) => Promise<unknown>;

export interface NodeFixtureOptions {
  readonly l1?: EndpointOptions;
  readonly l2?: EndpointOptions;
  readonly config?: Partial<RollupConfig>;
}

/** `main` with the least that it needs: a folder with its files, and fake endpoints for L1 and the engine. */
export class NodeFixture {
  /** must be closed by the fixture */
  readonly opened: { close(): Promise<void> }[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "rnode-running-"));
  /** the options that every node has */
  common: readonly string[] = [];

  static async open({ l1 = {}, l2 = {}, config = {} }: NodeFixtureOptions = {}): Promise<NodeFixture> {
    const fixture = new NodeFixture();
    const base = testConfig();
    const l2Genesis = bytesToHex(hashHeader(l2.header ?? L2_HEADER));
    const genesis = { ...base.genesis, l1: { hash: GENESIS_HASH, number: 0 }, l2: { hash: l2Genesis, number: 0 } };
    const rollup = { ...base, forkTimes: { regolith: 0 }, ...config, genesis };
    const l1Config = { chainId: 900, londonBlock: 0, shanghaiTime: 0, cancunTime: 0, terminalTotalDifficulty: 0 };
    writeFileSync(fixture.path("rollup.json"), JSON.stringify(rollupConfigToJson(rollup)));
    writeFileSync(fixture.path("l1.json"), JSON.stringify(l1Config));
    writeFileSync(fixture.path("jwt.txt"), "11".repeat(32));
    const endpoints = await Promise.all([endpoint(900, { header: HEADER, ...l1 }), endpoint(901, { header: L2_HEADER, ...l2 })]);
    fixture.opened.push(...endpoints.map(({ server }) => server));
    fixture.common = [
      `--l1=${endpoints[0].url}`,
      `--l2=${endpoints[1].url}`,
      `--rollup.config=${fixture.path("rollup.json")}`,
      `--rollup.l1-chain-config=${fixture.path("l1.json")}`,
      `--l2.jwt-secret=${fixture.path("jwt.txt")}`,
      "--l1.beacon.ignore",
    ];
    return fixture;
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Runs a node while `look` runs. @returns the log */
  async running(args: readonly string[], look: (call: Call) => Promise<void>): Promise<string> {
    const port = await freePort();
    const { code, log } = await this.#run([`--rpc.port=${port}`, ...args], async () => {
      const rpc = createRpcClient({ url: `http://127.0.0.1:${port}` });
      const call: Call = (method, ...params) => rpc.call(method, params);
      await expect.poll(() => call("rnode_version").catch(() => ""), { timeout: 20_000 }).toMatch(/^v/); // --rpc.addr and --rpc.port
      try {
        await look(call);
      } finally {
        await rpc.close();
      }
    });
    expect(code).toBe(0);
    return log;
  }

  /** Runs a node until it has said something, and then tells it to stop. @returns its exit code */
  async until(words: string, args: readonly string[]): Promise<number> {
    const said = (log: () => string) => expect.poll(log, { timeout: 20_000 }).toContain(words);
    return (await this.#run(["--rpc.port=0", ...args], said)).code;
  }

  async #run(args: readonly string[], look: (log: () => string) => Promise<void>): Promise<{ code: number; log: string }> {
    const written: string[] = [];
    const log = (): string => written.join("");
    const failures = vi.spyOn(process.stderr, "write").mockImplementation((line) => written.push(String(line)) > 0);
    // Where the log goes, which waits for no stream.
    const writeSync = fs.writeSync.bind(fs) as (fd: number, data: Uint8Array | string) => number;
    const lines = vi.spyOn(fs, "writeSync").mockImplementation(((fd: number, data: Uint8Array | string): number => {
      if (fd !== STDERR) return writeSync(fd, data);
      written.push(typeof data === "string" ? data : Buffer.from(data).toString());
      return Buffer.byteLength(data);
    }) as typeof fs.writeSync);
    try {
      const ended = main([...this.common, "--rpc.addr=127.0.0.1", ...args], {});
      try {
        await look(log);
      } finally {
        process.emit("SIGTERM");
        await ended;
      }
      return { code: await ended, log: log() };
    } finally {
      failures.mockRestore();
      lines.mockRestore();
    }
  }

  async close(): Promise<void> {
    for (const server of this.opened) await server.close();
    rmSync(this.#folder, { recursive: true });
  }
}

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRpcClient, type RpcServer } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { FORK_FACTS, hashHeader, rollupConfigToJson } from "@rnode/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { main } from "./main.ts";
import { testConfig } from "./testing/fake-chain.ts";
import { endpoint, GENESIS_HASH, JOVIAN_HEADER, L2_GENESIS_HASH, L2_HEADER } from "./testing/fake-endpoints.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
type Urls = [string, string, string, string, string, string, string, string];

/** Activates forks at the genesis. */
const upTo = (last: string): string[] => {
  const names = Object.values(FORK_FACTS).flatMap(({ override }) => (override === undefined ? [] : [override as string]));
  return names.slice(0, names.indexOf(last) + 1).map((name) => `--override.${name}=0`);
};
/** Processes run the build, which must match the sources under test. */
function buildProgram(): void {
  const { status, stdout } = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (status !== 0) throw new Error(`programs/rnode cannot be built:\n${stdout}`);
}

/** Starts `rnode` as a process that may have so many open files. */
async function runWithOpenFiles(limit: number, args: readonly string[]) {
  const command = [process.execPath, join(PACKAGE, "bin/rnode.js"), ...args];
  const child = spawn("sh", ["-c", `ulimit -n ${limit}; exec "$@"`, "sh", ...command], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (data: Buffer) => {
    text += data.toString();
  });
  const ended = once(child, "close");
  await once(child, "spawn");
  return { ended, said: () => text, stop: () => child.kill("SIGKILL") };
}

describe("rnode as a command", () => {
  let folder: string;
  let l1: string;
  let otherL1: string;
  let l2: string;
  let lockedL2: string;
  /** the endpoint with the genesis of same.json */
  let sameL2: string;
  /** the same without an Engine API */
  let usersPort: string;
  let rollupNode: string;
  /** the endpoint with the genesis of jovian.json */
  let jovianL2: string;
  const told: unknown[] = [];
  const servers: RpcServer[] = [];
  let errors: MockInstance;

  const path = (name: string): string => join(folder, name);
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rnode-main-"));
    writeFileSync(path("jwt.txt"), "11".repeat(32));
    const base = testConfig();
    const config = { ...base, genesis: { ...base.genesis, l1: { hash: GENESIS_HASH, number: 0 } } };
    writeFileSync(path("rollup.json"), JSON.stringify(rollupConfigToJson(config)));
    writeFileSync(
      path("l1.json"),
      JSON.stringify({ chainId: 900, londonBlock: 0, shanghaiTime: 0, cancunTime: 0, terminalTotalDifficulty: 0 }),
    );
    const started = await Promise.all([
      endpoint(900),
      endpoint(1),
      endpoint(901),
      endpoint(901, { jwtSecret: new Uint8Array(32).fill(1) }),
      endpoint(901, { header: L2_HEADER, told }),
      endpoint(901, { header: L2_HEADER, without: ["engine_forkchoiceUpdatedV3"] }),
      endpoint(901, { without: ["eth_chainId", "eth_getBlockByNumber", "eth_getBlockByHash", "engine_forkchoiceUpdatedV3"] }),
      endpoint(901, { header: JOVIAN_HEADER }),
    ]);
    servers.push(...started.map(({ server }) => server));
    [l1, otherL1, l2, lockedL2, sameL2, usersPort, rollupNode, jovianL2] = started.map(({ url }) => url) as Urls;
    const genesis = { l2: { hash: L2_GENESIS_HASH, number: 0 }, l1: { hash: GENESIS_HASH, number: 0 } };
    const same = { ...config, forkTimes: { regolith: 0 }, genesis: { ...config.genesis, ...genesis } };
    const jovian = { l2: { hash: bytesToHex(hashHeader(JOVIAN_HEADER)), number: 0 }, l1: genesis.l1 };
    const newest = { ...config, genesis: { ...config.genesis, ...jovian } };
    writeFileSync(path("jovian.json"), JSON.stringify(rollupConfigToJson(newest)));
    writeFileSync(path("same.json"), JSON.stringify(rollupConfigToJson(same)));
  });
  afterAll(async () => {
    for (const server of servers) await server.close();
  });
  beforeEach(() => {
    errors = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  });
  afterEach(() => {
    errors.mockRestore();
    told.length = 0;
  });

  const common = (over: string[] = []): string[] => [
    `--l1=${l1}`,
    `--l2=${l2}`,
    `--rollup.config=${path("rollup.json")}`,
    `--rollup.l1-chain-config=${path("l1.json")}`,
    `--l2.jwt-secret=${path("jwt.txt")}`,
    "--l1.beacon.ignore",
    "--p2p.disable",
    "--log.level=silent",
    "--rpc.port=0",
    "--rpc.addr=127.0.0.1",
    ...over,
  ];
  const said = (): string =>
    errors.mock.calls
      .map(([line]) => String(line))
      .join("")
      .trimEnd();

  it.each<[string, () => string[], RegExp]>([
    ["an unknown option", () => common(["--l3=x"]), /^rnode: unknown option --l3/],
    [
      "Ecotone without a beacon node",
      () => common(["--l1.beacon.ignore=false"]),
      /^rnode: expected L1 Beacon API endpoint, but got none/,
    ],
    [
      "another L1",
      () => common([`--l1=${otherL1}`]),
      /^rnode: --l1 http:\/\/127.* is chain 1, but the rollup's L1 is chain 900: give an endpoint of that chain$/,
    ],
    ["the L2 as L1", () => common([`--l1=${l2}`]), /is --l1 the L2 endpoint\?/],
    ["another L2 genesis", () => common(), /^rnode: --l2 .* is another chain: its block 0 is 0x.*, but the rollup starts from 0x/],
    [
      "another engine secret",
      () => common([`--l2=${lockedL2}`]),
      /^rnode: the execution client at .* \(--l2\) refuses our token \(.*\): --l2.jwt-secret .*jwt.txt must be the file/,
    ],
    [
      "a secret file that is not there",
      () => common([`--l2.jwt-secret=${path("nowhere/jwt.txt")}`]),
      /^rnode: --l2.jwt-secret: ENOENT.*nowhere\/jwt.txt'?: give the file that the execution client was started with/,
    ],
    [
      "the users' port as engine",
      () => common([`--l2=${usersPort}`, `--rollup.config=${path("same.json")}`]),
      /^rnode: --l2 http:.* has no Engine API: give the execution client's authenticated port/,
    ],
    [
      "a rollup node as L1",
      () => common([`--l1=${rollupNode}`]),
      /^rnode: L1 at http:.* \(--l1\) is not an execution client: it answers "/,
    ],
    [
      "a rollup node as engine",
      () => common([`--l2=${rollupNode}`]),
      /^rnode: the execution client at .* \(--l2\) is not an execution client: it answers "/,
    ],
    [
      "a fork that the genesis has, at a later time",
      () => common([`--l2=${jovianL2}`, `--rollup.config=${path("jovian.json")}`, "--override.jovian=99999999999"]),
      /^rnode: --override.jovian=99999999999 contradicts the genesis of the execution client at .*extraData has 17 bytes/,
    ],
    [
      "a fork that the genesis does not have",
      () => common([`--l2=${sameL2}`, `--rollup.config=${path("same.json")}`, ...upTo("jovian")]),
      /contradicts the genesis of the execution client/,
    ],
    [
      "a distance from L1 beyond the drift",
      () => common(["--sequencer.enabled", "--sequencer.l1-confs=151"]),
      /^rnode: --sequencer.l1-confs=151 must not exceed 150: .*drift of 1800 s/,
    ],
    [
      "a bad secret file",
      () => common([`--l2.jwt-secret=${path("rollup.json")}`]),
      /^rnode: --l2.jwt-secret: invalid jwt secret in path .*rollup.json, not 32 hex-formatted bytes/,
    ],
    [
      "a bad admin state",
      () => common(["--sequencer.enabled", `--rpc.admin-state=${path("rollup.json")}`]),
      /^rnode: --rpc.admin-state .*rollup.json: expected/,
    ],
  ])("refuses %s in one line", async (_, args, message) => {
    expect(await main(args(), {})).toBe(1);
    expect(said()).toMatch(message);
    expect(said()).not.toContain("\n");
  });

  it("answers no browser's page and no name it was not told of", async () => {
    const port = await freePort();
    const ask = (headers: Record<string, string>): Promise<number> =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "admin_stopSequencer", params: [] });
        const options = { port, method: "POST", headers: { "content-type": "application/json", ...headers } };
        request(options, (response) => resolve(response.resume().statusCode!))
          .on("error", reject)
          .end(body);
      });
    const own = ["--rpc.enable-admin", "--rpc.corsdomain=https://app.example", "--rpc.vhosts=localhost,node.example"];
    const same = [`--l2=${sameL2}`, `--rollup.config=${path("same.json")}`];
    const ended = main(common([...same, `--rpc.port=${port}`, ...own]), {});
    await expect.poll(() => ask({}).catch(() => 0)).toBe(200);
    expect(await ask({ origin: "https://evil.example" })).toBe(403);
    expect(await ask({ origin: "https://app.example" })).toBe(200);
    expect(await ask({ host: "evil.example" })).toBe(403);
    expect(await ask({ host: "node.example" })).toBe(200);
    process.emit("SIGTERM");
    expect(await ended).toBe(0);
  });

  it("makes the secret file in the default place only, for its owner only", async () => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      await main(
        common().filter((arg) => !arg.startsWith("--l2.jwt-secret")),
        {},
      );
    } finally {
      process.chdir(before);
    }
    const made = path("rnode_data/901/jwt.hex");
    expect(readFileSync(made, "utf8")).toMatch(/^0x[0-9a-f]{64}$/);
    expect(statSync(made).mode & 0o777).toBe(0o600);
    expect(await main(common([`--l2.jwt-secret=${path("typo/jwt.txt")}`]), {})).toBe(1);
    expect(existsSync(path("typo"))).toBe(false);
  });

  it.each<[string, () => string[], RegExp]>([
    ["without a block", () => common(), /^rnode resync: --from is required: expected a whole number, 0 or more$/],
    ["to what is no block number", () => ["--from=head", ...common()], /^rnode resync: --from: "head" is not valid/],
    ["of another chain", () => ["--from=0", ...common()], /^rnode resync: --l2 .* is another chain/],
    [
      "to a block that is not there yet",
      () => ["--from=5", ...common([`--l2=${sameL2}`, `--rollup.config=${path("same.json")}`])],
      /^rnode resync: the execution client is at block 0, before 5$/,
    ],
  ])("refuses a resync %s in one line", async (_, args, message) => {
    expect(await main(["resync", ...args()], {})).toBe(1);
    expect(said()).toMatch(message);
    expect(said()).not.toContain("\n");
    expect(told).toEqual([]);
  });

  it("takes the execution client back, with the options of the node", async () => {
    const lines = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    const args = [
      "resync",
      "--from=0",
      ...common([`--l2=${sameL2}`, `--rollup.config=${path("same.json")}`, "--sequencer.enabled"]),
    ];
    const code = await main(args, {});
    expect(said()).toBe("");
    expect(code).toBe(0);
    expect(String(lines.mock.calls[0]![0])).toMatch(
      /^the execution client went back from block 0 to 0 0x[0-9a-f]{64}: start rnode again\n$/,
    );
    lines.mockRestore();
    expect(told).toEqual([{ headBlockHash: L2_GENESIS_HASH, safeBlockHash: L2_GENESIS_HASH, finalizedBlockHash: L2_GENESIS_HASH }]);
  });

  it("with few file descriptors says so, or refuses connections that are too many and serves the others", {
    tags: "long",
  }, async () => {
    buildProgram();
    const few = await runWithOpenFiles(60, common());
    await few.ended;
    expect(few.said()).toMatch(/^rnode: the limit of open files is 60: raise it to \d+ .*\n$/);

    const args = common([`--l2=${sameL2}`, `--rollup.config=${path("same.json")}`, "--log.level=info", "--sequencer.enabled"]);
    const node = await runWithOpenFiles(256, args);
    await vi.waitFor(() => expect(node.said()).toMatch(/rpcPort=\d+/), { timeout: 60_000 });
    const port = Number(/rpcPort=(\d+)/.exec(node.said())![1]);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rnode_version", params: [] });
    const request = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const sockets = Array.from({ length: 300 }, () => connect(port, "127.0.0.1").on("error", () => {}));
    for (const socket of sockets) socket.write(request); // one that asks nothing would make room for the next
    try {
      await vi.waitFor(() => expect(node.said()).toContain('msg="connections are refused"'), { timeout: 60_000 });
      for (const socket of sockets) socket.destroy();
      const version = () => createRpcClient({ url: `http://127.0.0.1:${port}` }).call("rnode_version");
      await vi.waitFor(async () => expect(await version()).toMatch(/^v/), { timeout: 60_000 });
      expect(node.said()).not.toContain("lvl=error");
    } finally {
      for (const socket of sockets) socket.destroy();
      node.stop();
      await node.ended;
    }
  });

  it("prints help and version", async () => {
    const lines = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    expect(await main(["--help"], {})).toBe(0);
    expect(await main(["--version"], {})).toBe(0);
    expect(String(lines.mock.calls[0]![0])).toContain("--sequencer.l1-confs");
    expect(lines.mock.calls[1]![0]).toMatch(/^rnode v\d/);
    lines.mockRestore();
  });
});

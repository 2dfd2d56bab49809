import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@rnode/program/testing";
import { PROGRAM } from "./built-package.ts";

const run = promisify(execFile);

/** Geth's program for tests of others, and the folder of its test chain. */
export interface GethDevp2p {
  readonly binary: string;
  readonly testdata: string;
}

const START_LIMIT_MS = 30_000;
const TEST_LIMIT_MS = 90_000;

/**
 * Tests of `devp2p rlpx eth-test`. Each runs against a separate node, because a node accepts few connections per second of one
 * address, and some tests send the same transactions as others. The tests of blob transactions are omitted: OP Stack chains have
 * none, and rengine requests none.
 */
const ETH_TESTS = [
  ...["Status", "MaliciousHandshake", "BlockRangeUpdateExpired", "BlockRangeUpdateFuture", "BlockRangeUpdateInvalid"],
  ...["GetBlockHeaders", "GetNonexistentBlockHeaders", "SimultaneousRequests", "SameRequestID", "ZeroRequestID"],
  ...["GetBlockBodies", "GetReceipts", "LargeTxRequest", "Transaction", "InvalidTxs", "NewPooledTxs"],
];
const DISCV5_TESTS = ["Ping", "PingLargeRequestID", "PingMultiIP", "HandshakeResend", "TalkRequest", "FindnodeZeroDistance"];
/** Of the suite of discv5, this one wants a table without the nodes that the others have left in it. */
const ALONE = "FindnodeResults";

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

interface Node {
  readonly enode: string;
  readonly enr: string;
  readonly engineUrl: string;
  readonly jwtSecret: string;
  stop(): Promise<void>;
}

/** Runs Geth's suites against `rengine`. @returns how many of their tests passed and failed */
export async function runGethSuites(
  { binary, testdata }: GethDevp2p,
  print: (line: string) => void,
): Promise<{ passed: number; failed: number }> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-geth-suites-"));
  const chain = join(folder, "chain");
  cpSync(join(testdata, "genesis.json"), `${chain}.json`);
  const counts = { passed: 0, failed: 0 };
  const suite = async (args: (node: Node) => readonly string[]): Promise<void> => {
    const node = await startNode(`${chain}.json`, chain, folder);
    try {
      const { stdout, stderr } = await run(binary, args(node), { timeout: TEST_LIMIT_MS }).catch((error: Output) => error);
      const lines = stdout.split("\n").filter((line) => /^-- (OK|FAIL) /.test(line));
      for (const line of lines) print(`  ${line.startsWith("-- OK") ? "passed" : "FAILED"}  ${args(node)[1]} ${line.slice(3)}`);
      const passed = lines.filter((line) => line.startsWith("-- OK")).length;
      counts.passed += passed;
      counts.failed += Math.max(lines.length - passed, lines.length === 0 ? 1 : 0);
      if (lines.length === 0) print(`  FAILED  ${args(node).slice(0, 2).join(" ")}: ${stdout}${stderr}`);
    } finally {
      await node.stop();
    }
  };
  try {
    await run(process.execPath, [PROGRAM, "import", `--chain=${chain}.json`, `--datadir=${chain}`, join(testdata, "chain.rlp")]);
    const listen = ["--listen1=127.0.0.1", "--listen2=127.0.0.2"];
    await suite(({ enode }) => ["discv4", "test", "--remote", enode, ...listen]);
    await suite(({ enr }) => ["discv5", "test", "--run", `^(?:${DISCV5_TESTS.join("|")})$`, ...listen, enr]);
    await suite(({ enr }) => ["discv5", "test", "--run", `^${ALONE}$`, ...listen, enr]);
    for (const test of ETH_TESTS) {
      await suite(({ enode, engineUrl, jwtSecret }) => {
        const where = ["--chain", testdata, "--node", enode, "--engineapi", engineUrl, "--jwtsecret", jwtSecret];
        return ["rlpx", "eth-test", ...where, "--run", `^${test}$`];
      });
    }
    return counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A node on a copy of the chain, so that nothing of the test before is left. */
async function startNode(genesis: string, chain: string, folder: string): Promise<Node> {
  const datadir = join(folder, "node");
  rmSync(datadir, { recursive: true, force: true });
  cpSync(chain, datadir, { recursive: true });
  const [http, engine, port] = await Promise.all([freePort(), freePort(), freePort()]);
  const child = spawn(
    process.execPath,
    [
      ...[
        PROGRAM,
        `--chain=${genesis}`,
        `--datadir=${datadir}`,
        "--addr=127.0.0.1",
        `--port=${port}`,
        "--bootnodes=",
        "--ws=false",
      ],
      ...["--http", `--http.port=${http}`, "--http.api=admin", `--authrpc.port=${engine}`],
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const { enode, enr } = await nodeInfo(child, `http://127.0.0.1:${http}`);
  return {
    enode,
    enr,
    engineUrl: `http://127.0.0.1:${engine}`,
    jwtSecret: readFileSync(join(datadir, "jwt.hex"), "utf8").trim(),
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

async function nodeInfo(child: ChildProcess, url: string): Promise<{ readonly enode: string; readonly enr: string }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "admin_nodeInfo", params: [] });
  const options = { method: "POST", headers: { "content-type": "application/json" }, body };
  for (const endMs = performance.now() + START_LIMIT_MS; performance.now() < endMs && child.exitCode === null; ) {
    try {
      const { result } = (await (await fetch(url, options)).json()) as { result: { enode: string; enr: string } };
      if (result.enr.startsWith("enr:")) return result; // before it has joined the network, there is none
    } catch {
      // it does not listen yet
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  child.kill();
  throw new Error(`rengine does not answer admin_nodeInfo at ${url}`);
}

import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type Devnet, Program, rpcCall } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import { benchOptions } from "./bench-options.ts";
import { processUsage } from "./common/process-usage.ts";
import { THIS_CHECKOUT } from "./common/rengine.ts";
import { makeRollupsBehind, type RollupsBehind } from "./set/rollups-behind.ts";

/** The compiler has seen most code, and the first requests of a start are over. */
const FIRST_BLOCK = 200;
const POLL_MS = 50;
const OF_ROLLUP = /^--(l2|l2\.jwt-secret|rollup\.config|rollup\.l1-chain-config|interop\.dependency-set)=/;

interface Turn {
  readonly what: "one" | "set";
  /** of all chains together */
  readonly blocks: number;
  readonly derivedPerSec: number;
  /** undefined: nothing is verified */
  readonly verifiedPerSec: number | undefined;
  readonly nodeCpuMsPerBlock: number;
  readonly engineCpuMsPerBlock: number;
  readonly nodeMiB: number;
}

interface SyncStatus {
  readonly safe_l2: { readonly number: number };
  readonly local_safe_l2: { readonly number: number };
}

/** `npm run bench -- set`: two rollups derived by `rnode set`, in turns with one of them derived by `rnode`, each with its rengine. */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("set", args, {
    blocks: { type: "string", default: "1500", help: "L2 blocks of each rollup, which its sequencer makes first" },
    rounds: { type: "string", default: "3", help: "turns of each" },
    json: { type: "boolean", help: "print JSON" },
  });
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-set-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const turns: Turn[] = [];
  try {
    const rollups = await makeRollupsBehind(scope, { folder, blocks: Number(values.blocks), log: (line) => console.error(line) });
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const what of ["one", "set"] as const) {
        const turn = await measure(what, rollups, join(folder, `${what}-${round}`));
        turns.push(turn);
        console.error(`${describe(turn)}; load ${loadavg()[0]!.toFixed(1)}`);
      }
    }
  } finally {
    await scope.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const medianOf = (wanted: Turn["what"]): number =>
    median(turns.filter(({ what }) => what === wanted).map(({ derivedPerSec }) => derivedPerSec));
  console.log(values.json ? JSON.stringify(turns, undefined, 2) : `set / one: ${(medianOf("set") / medianOf("one")).toFixed(2)}`);
  return 0;
}

async function measure(what: Turn["what"], { devnets, target, startEngine }: RollupsBehind, folder: string): Promise<Turn> {
  const measured = what === "one" ? devnets.slice(0, 1) : devnets;
  const port = await freePort();
  const node = what === "one" ? nodeOf(devnets[0], port, folder) : setOf(devnets, port, folder);
  const engines = measured.map(({ programs }) => programs.verifierEngine);
  for (const index of measured.keys()) await startEngine(index);
  try {
    await node.start();
    const paths = what === "one" ? [""] : devnets.map(({ info }) => `/${info.l2ChainId}`);
    const numbers = async (label: keyof SyncStatus): Promise<number[]> =>
      Promise.all(
        paths.map(
          async (path) => (await rpcCall<SyncStatus>(`http://127.0.0.1:${port}${path}`, "optimism_syncStatus"))[label].number,
        ),
      );
    const reached = async (label: keyof SyncStatus, number: number): Promise<number[]> => {
      for (;;) {
        const now = await numbers(label);
        if (Math.min(...now) >= number) return now;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    };
    const from = await reached("local_safe_l2", FIRST_BLOCK);
    const blocks = from.reduce((sum, number) => sum + target - number, 0);
    const cpuSec = (programs: readonly Program[]): number =>
      programs.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : (processUsage(pid)?.cpuSec ?? 0)), 0);
    const before = { node: cpuSec([node]), engines: cpuSec(engines) };
    const startMs = performance.now();
    const perSec = (): number => (blocks / (performance.now() - startMs)) * 1e3;
    await reached("local_safe_l2", target);
    const derivedPerSec = perSec();
    await reached("safe_l2", target);
    const msPerBlock = (sec: number): number => (sec * 1e3) / blocks;
    return {
      what,
      blocks,
      derivedPerSec,
      verifiedPerSec: what === "set" ? perSec() : undefined,
      nodeCpuMsPerBlock: msPerBlock(cpuSec([node]) - before.node),
      engineCpuMsPerBlock: msPerBlock(cpuSec(engines) - before.engines),
      nodeMiB: processUsage(node.pid!)!.rssBytes / 2 ** 20,
    };
  } finally {
    await node.stop();
    for (const engine of engines) await engine.stop();
  }
}

const describe = ({ what, blocks, derivedPerSec, verifiedPerSec, ...rest }: Turn): string =>
  [
    `${what}: ${blocks} blocks, ${derivedPerSec.toFixed(0)} derived a second`,
    ...(verifiedPerSec === undefined ? [] : [`${verifiedPerSec.toFixed(0)} verified a second`]),
    `CPU a block: rnode ${rest.nodeCpuMsPerBlock.toFixed(1)} ms, rengine ${rest.engineCpuMsPerBlock.toFixed(1)} ms`,
    `rnode ${rest.nodeMiB.toFixed(0)} MiB`,
  ].join("; ");

const nodeOf = (devnet: Devnet, port: number, folder: string): Program =>
  program("rnode", port, [`--datadir=${folder}`, "--p2p.disable", ...argsOf(devnet)], devnet, folder);

const setOf = (devnets: RollupsBehind["devnets"], port: number, folder: string): Program =>
  program(
    "rnode set",
    port,
    [
      "set",
      `--set.datadir=${folder}`,
      ...devnets.flatMap((devnet, i) => [`--chain=c${i}`, ...argsOf(devnet).map((arg) => arg.replace("--", `--c${i}.`))]),
    ],
    devnets[0],
    folder,
  );

function program(name: string, port: number, args: readonly string[], { info }: Devnet, folder: string): Program {
  const { l1 } = info.endpoints;
  return new Program({
    name,
    command: process.execPath,
    args: () => [
      join(THIS_CHECKOUT, "programs/rnode/bin/rnode.js"),
      ...args,
      `--l1=${l1}`,
      `--l1.beacon=${l1}`,
      `--rpc.port=${port}`,
    ],
    logPath: `${folder}.log`,
    isReady: async () =>
      (await rpcCall(`http://127.0.0.1:${port}${name === "rnode" ? "" : `/${info.l2ChainId}`}`, "optimism_syncStatus")) !== null,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
}

const argsOf = ({ programs }: Devnet): string[] => programs.verifierNode.spec.args().filter((arg) => OF_ROLLUP.test(arg));

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

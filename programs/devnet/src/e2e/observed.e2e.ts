import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { altDaParameters } from "../parameters.ts";
import { choosePorts } from "../ports.ts";
import type { ProgramName } from "../processes/program-names.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const PAGE = join(import.meta.dirname, "../../../../docs/METRICS.md");

/** Programs under the names of their sections on the page. */
const SCRAPED: Readonly<Partial<Record<ProgramName, string>>> = {
  sequencerNode: "rnode",
  sequencerEngine: "rengine",
  batcher: "rbatcher",
  proposer: "rproposer",
};
/** Metrics of parts that this devnet does not have. */
const NOT_HERE: readonly RegExp[] = [
  /_signer_request/, // --signer.endpoint
  /_p2p_discovery_/, // neighbours are given by name
  /_txpool_message_/, // --rollup.supervisor-http
  /_follow_source_stalled_/, // --l2.follow.source
  /^rnode_default_set_/, // rnode set
  /^rengine_history_/, // --prune
];

interface Documented {
  readonly types: ReadonlyMap<string, string>;
  readonly aliases: ReadonlySet<string>;
}

/** The section of a program; `process`: of every one. */
function documented(program: string): Documented {
  const sections = readFileSync(PAGE, "utf8").split(/^## /m);
  const rows = (sections.find((section) => section.startsWith(`${program}\n`)) ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const unquoted = (cell: string | undefined): string[] => [...(cell ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
  return {
    types: new Map(rows.map((cells) => [unquoted(cells[1])[0]!, cells[2]!])),
    aliases: new Set(rows.flatMap((cells) => unquoted(cells[4]))),
  };
}

/** Names and types as the program says them to Prometheus. */
async function exported(port: number): Promise<Map<string, string>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  return new Map([...(await response.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => [match[1]!, match[2]!]));
}

/** The sum of a metric over its labels. */
async function sumOf(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce((sum, match) => sum + Number(match[1]), 0);
}

const CHROMIUM = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
  .map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout?.trim())
  .find(Boolean);
if (CHROMIUM === undefined) console.log("not run: the dashboard in a browser (there is no Chromium)");

describe("what an operator sees of the programs at work", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-metrics-e2e-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const ports = new Map<ProgramName, number>();
  let devnet: Devnet;
  let costlyGasAtStart: number;

  beforeAll(async () => {
    const free = Object.values(await choosePorts(0));
    for (const [index, name] of (Object.keys(SCRAPED) as ProgramName[]).entries()) ports.set(name, free[index]!);
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      nodes: 3,
      subblocks: true,
      dashboard: true,
      syncmode: "execution-layer",
      parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 1, altDa: altDaParameters("keccak256") },
      changeArgs: (name, args) => {
        const port = ports.get(name);
        if (port === undefined || args[1] === "init") return args;
        return [...args, "--metrics.enabled", "--metrics.addr=127.0.0.1", `--metrics.port=${port}`];
      },
    });
    costlyGasAtStart = await sumOf(ports.get("sequencerEngine")!, "rengine_rpc_costly_gas_total");
    const view = new ChainView(devnet);
    await waitFor("a safe block", 60_000, async () => ((await view.safeNumber("sequencer")) > 0 ? true : undefined));
  });
  afterAll(async () => {
    await scope.close();
  });

  it("users' first costly request finds its thread: it has worked before the devnet says that it is up", () => {
    expect(costlyGasAtStart).toBeGreaterThan(21_000);
  });

  it("verifier and follower have the sequencer's blocks, of which their rengines got the first from peers", async () => {
    const head = await new ChainView(devnet).unsafeNumber("sequencer");
    for (const role of ["verifier", "follower"] as const) {
      const view = new ChainView(devnet);
      await waitFor(`block ${head} on the ${role}`, 20_000, async () => (await view.unsafeNumber(role)) >= head || undefined);
      expect(await view.blockHash(role, head)).toBe(await view.blockHash("sequencer", head));
      const { logPath } = devnet.programs[`${role}Node`]!.spec;
      const isFinished = (): boolean => readFileSync(logPath, "utf8").includes("execution-layer sync is finished");
      await waitFor(`the end of the sync of the ${role}`, 20_000, () => isFinished() || undefined);
    }
  });

  const ofProcess = documented("Every process").types;

  it.skipIf(CHROMIUM === undefined)("the dashboard shows all programs, and a head that moves", { timeout: 90_000 }, async () => {
    const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(error.message));
      await page.goto(devnet.dashboard!);
      await page.getByText("All is well.").waitFor({ timeout: 40_000 });
      for (const { spec } of Object.values(devnet.programs)) await page.getByText(spec.name, { exact: true }).first().waitFor();
      const unsafe = async (): Promise<number> => {
        const [tile = ""] = await page.getByText("Unsafe", { exact: true }).first().locator("xpath=..").allInnerTexts();
        return Number(tile.split("\n")[1]?.replaceAll(",", ""));
      };
      const before = await unsafe();
      expect(before).toBeGreaterThan(0);
      await waitFor("the head on the page to move", 20_000, async () => ((await unsafe()) > before ? true : undefined));
      await page.getByRole("region", { name: "Derivation by L1 block" }).waitFor();
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it.each(Object.entries(SCRAPED) as [ProgramName, string][])(
    "docs/METRICS.md names what is exported, and nothing else: %s",
    async (name, program) => {
      const { types, aliases } = documented(program);
      expect(types.size).toBeGreaterThan(20);
      const found = await exported(ports.get(name)!);
      const undocumented = [...found.keys()].filter((each) => !types.has(each) && !aliases.has(each) && !ofProcess.has(each));
      const missing = [...types.keys(), ...aliases].filter(
        (each) => !found.has(each) && !NOT_HERE.some((known) => known.test(each)),
      );
      expect({ undocumented, missing }).toEqual({ undocumented: [], missing: [] });
      const ofAnotherType = [...types].filter(([each, type]) => found.has(each) && found.get(each) !== type);
      expect(ofAnotherType).toEqual([]);
    },
  );
});

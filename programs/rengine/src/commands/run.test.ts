import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { noProgramMetrics, parseOptions, referenceTable, resolveOptions, Scope, systemClock } from "@rnode/program";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startClient } from "../client.ts";
import { clientTable } from "../options.ts";
import { describeError } from "../setup/describe-error.ts";
import { GENESIS } from "../testing/test-client.ts";
import { runClient } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-"));
  writeFileSync(join(folder, "genesis.json"), JSON.stringify(GENESIS));
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What `rengine` prints to standard error, and its exit code. */
async function run(...args: string[]) {
  const err: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0);
  const code = await runClient(args, {});
  return { code, err: err.join("") };
}

/** The error with which the client refuses to start with these options. */
async function refusal(...args: string[]): Promise<string | undefined> {
  const parsed = parseOptions(clientTable, ["--authrpc.port=0", "--max-peers=0", `--datadir=${join(folder, "data")}`, ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  try {
    await startClient(scope, parsed.options, { log: silentLogger, clock: systemClock, metrics: noProgramMetrics });
    return undefined;
  } catch (error) {
    return describeError(error);
  } finally {
    await scope.close();
  }
}

describe("rengine's options", () => {
  it.each([
    ["chain", "datadir", "profile", "genesis"],
    ["http", "http.addr", "http.port", "http.api", "http.corsdomain", "http.vhosts"],
    ["ws", "ws.addr", "ws.port", "ws.api", "ws.origins"],
    ["authrpc.addr", "authrpc.port", "authrpc.vhosts", "authrpc.jwtsecret"],
    ["rollup.sequencer-http", "rollup.disable-tx-pool-gossip"],
    ["log.level", "log.format", "log.color", "log.pid", "metrics.enabled", "metrics.addr", "metrics.port"],
  ])("has %s …", (...flags) => {
    const known = resolveOptions(clientTable).map(({ flag }) => flag);
    expect(known).toEqual(expect.arrayContaining(flags));
    for (const flag of flags) expect(referenceTable(clientTable)).toContain(`\`--${flag}\` `);
  });

  const NO_CHAIN =
    "--chain or RENGINE_CHAIN is required: expected the name of a network, a genesis file, or a chain's file of a registry";
  it.each([
    [["--datadir=d"], `rengine: ${NO_CHAIN}\n`],
    [
      ["--http.port=abc"],
      `rengine: --http.port: "abc" is not valid, expected a port number from 0 to 65535\nrengine: ${NO_CHAIN}\n`,
    ],
    [
      ["--chain=x", "--datadir=d", "--fork-url=http://127.0.0.1:1"],
      "rengine: --fork-url needs --dev: give that as well, or leave --fork-url out\n",
    ],
    [
      ["--chain=x", "--datadir=d", "--full", "--history.blocks=200"],
      "rengine: --full and --history.blocks exclude each other: give one of them\n",
    ],
    [["--chain=x", "--datadir=d", "--http.api=eth,ens"], /^rengine: --http\.api: "ens" is not valid, expected [^\n]*\n$/],
    [["--chain=x", "--datadir=d", "--profile=Q"], 'rengine: --profile: "Q" is not valid, expected one of R, G\n'],
    [["--chain=x", "--datadir=d", "--htpp"], "rengine: unknown option --htpp: did you mean --http? (--help lists all)\n"],
  ])("%j ends with a line a fault and 1", async (args, expected) => {
    const { code, err } = await run(...args);
    expect(code).toBe(1);
    if (typeof expected === "string") expect(err).toBe(expected);
    else expect(err).toMatch(expected);
  });
});

describe("OPTIONS.md", () => {
  it("is what the table says (vitest -u writes it)", async () => {
    const page = `# Options of \`rengine\`\n\nMade from \`src/options.ts\`. Flags beat variables; an empty variable is unset.\n\n${referenceTable(clientTable)}`;
    await expect(page).toMatchFileSnapshot("../../OPTIONS.md");
  });
});

describe("starting", () => {
  const genesis = () => `--chain=${join(folder, "genesis.json")}`;

  it("refuses another chain's database, naming both", async () => {
    expect(await refusal(genesis())).toBeUndefined();
    writeFileSync(join(folder, "genesis.json"), JSON.stringify({ ...GENESIS, timestamp: "0x1" }));
    expect(await refusal(genesis())).toMatch(
      /^the database holds another chain: its genesis block is 0x[0-9a-f]{64}, the one of --chain is 0x[0-9a-f]{64}; give another/,
    );
  });

  it("refuses a folder that cannot be made, naming the option", async () => {
    const chain = genesis();
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const datadir of [file, join(file, "below"), "/proc/rengine"]) {
      expect(await refusal(chain, `--datadir=${datadir}`)).toMatch(
        /^--datadir \S+: E[A-Z]+: .*; name a folder that can be made and written$/,
      );
    }
  });

  it("refuses a bad JWT secret and a taken port, and lets go of the database", async () => {
    const secret = join(folder, "secret");
    writeFileSync(secret, "0x1234");
    expect(await refusal(genesis(), `--authrpc.jwtsecret=${secret}`)).toContain("not 32 hex-formatted bytes");
    const inFile = join(secret, "jwt.hex");
    expect(await refusal(genesis(), `--authrpc.jwtsecret=${inFile}`)).toMatch("--authrpc.jwtsecret: ENOTDIR: not a directory");
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    expect(await refusal(genesis(), "--http", `--http.port=${port}`)).toBe(
      `--http.port: port ${port} is in use on 127.0.0.1: stop the program that listens there, or choose another port`,
    );
    // readers of a client that was killed hold the port for a moment longer
    const started = refusal(genesis(), "--http", `--http.port=${port}`);
    setTimeout(() => other.close(), 500);
    expect(await started).toBeUndefined();
  });

  it("goes on without a transaction journal that cannot be written", async () => {
    expect(await refusal(genesis(), `--txpool.journal=${join(folder, "genesis.json", "journal.rlp")}`)).toBeUndefined();
  });

  it("needs allocations for a named network", async () => {
    expect(await refusal("--chain=op-sepolia", "--offline")).toMatch(/--genesis/);
  });
});

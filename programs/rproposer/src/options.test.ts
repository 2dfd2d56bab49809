import { parseOptions, referenceTable } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { rproposerOptions } from "./options.ts";

const ALWAYS = ["--l1-eth-rpc=http://127.0.0.1:8545", `--private-key=${"11".repeat(32)}`];
const ROLLUP = "--rollup-rpc=http://127.0.0.1:7545";
const SUPER_ROOTS = "--superroot-rpcs=http://127.0.0.1:7546";
const FACTORY = `--game-factory-address=0x${"22".repeat(20)}`;

const parse = (args: readonly string[], env: Record<string, string> = {}) => parseAll([ROLLUP, ...args], env);

function parseAll(args: readonly string[], env: Record<string, string> = {}): string | Record<string, unknown> {
  const parsed = parseOptions(rproposerOptions, [...ALWAYS, ...args], env);
  if (parsed.kind !== "options") return parsed.kind === "error" ? parsed.faults.join("\n") : parsed.kind;
  const { endpoints, proposals, transactions, rpc } = parsed.options;
  return { ...endpoints, ...proposals, ...transactions, ...rpc };
}

describe("rproposer's options", () => {
  it("have upstream's defaults", () => {
    expect(parse([])).toMatchObject({
      pollIntervalMs: 12_000,
      outputRetryIntervalMs: 12_000,
      activeSequencerCheckDurationMs: 120_000,
      proposalIntervalMs: 0,
      allowNonFinalized: false,
      waitNodeSync: false,
      l2ooAddress: undefined,
      gameFactoryAddress: undefined,
      confirmations: 10,
      resubmissionTimeoutMs: 48_000,
      enableAdmin: false,
    });
  });

  it("come from flags and from the environment", () => {
    const env = { RPROPOSER_PROPOSAL_INTERVAL: "1h", RPROPOSER_GAME_TYPE: "1", RPROPOSER_ALLOW_NON_FINALIZED: "true" };
    expect(parse(["--rollup-rpc=http://127.0.0.1:7546", `--game-factory-address=0x${"ab".repeat(20)}`], env)).toMatchObject({
      proposalIntervalMs: 3_600_000,
      gameType: 1,
      allowNonFinalized: true,
      gameFactoryAddress: new Uint8Array(20).fill(0xab),
      rollupRpc: ["http://127.0.0.1:7545", "http://127.0.0.1:7546"],
    });
  });

  it.each<[string, string[], string]>([
    ["half an address", ["--l2oo-address=0x12"], "--l2oo-address: "],
    [
      "two contracts",
      [`--l2oo-address=0x${"11".repeat(20)}`, `--game-factory-address=0x${"22".repeat(20)}`],
      "--l2oo-address and --game-factory-address exclude each other",
    ],
    ["a game type beyond 32 bits", ["--game-type=4294967296"], "expected a whole number from 0 to 4294967295"],
    ["no poll interval", ["--poll-interval=0s"], "above 0"],
    ["a WebSocket", ["--rollup-rpc=ws://127.0.0.1:1"], "--rollup-rpc: "],
  ])("refuse %s", (_, args, message) => {
    expect(parse(args)).toContain(message);
  });
});

describe("the source of roots", () => {
  it("is a rollup node, or sources of super roots with factory and game type", () => {
    expect(parseAll([ROLLUP])).toMatchObject({ rollupRpc: ["http://127.0.0.1:7545"], superrootRpcs: undefined });
    expect(parseAll([`${SUPER_ROOTS},http://127.0.0.1:7547`, FACTORY, "--game-type=9"])).toMatchObject({
      rollupRpc: [],
      superrootRpcs: ["http://127.0.0.1:7546", "http://127.0.0.1:7547"],
    });
    const variables = { OP_PROPOSER_SUPERNODE_RPCS: "http://127.0.0.1:7546" };
    expect(parseAll(["--supernode-rpcs=http://127.0.0.1:1", FACTORY, "--game-type=5"], variables)).toMatchObject({ gameType: 5 });
  });

  it.each<[string, string[], string]>([
    ["neither", [], "--rollup-rpc"],
    ["both", [ROLLUP, SUPER_ROOTS, FACTORY, "--game-type=9"], "exclude each other"],
    ["an empty list", ["--superroot-rpcs=", FACTORY, "--game-type=1"], "--rollup-rpc"],
    ["super roots without a factory", [SUPER_ROOTS, "--game-type=9"], "needs --game-factory-address and --game-type"],
    ["super roots without a type", [SUPER_ROOTS, FACTORY], "needs --game-factory-address and --game-type"],
    ["super roots for an oracle", [SUPER_ROOTS, `--l2oo-address=0x${"11".repeat(20)}`, "--game-type=9"], "exclude each other"],
  ])("is not %s", (_, args, message) => {
    expect(parseAll(args)).toContain(message);
  });

  it.each([4, 5, 7, 9])("fits games of super roots: type %i", (type) => {
    expect(parseAll([SUPER_ROOTS, FACTORY, `--game-type=${type}`])).toMatchObject({ gameType: type });
    expect(parse([FACTORY, `--game-type=${type}`])).toContain("--superroot-rpcs in place of --rollup-rpc");
  });

  it.each([0, 1, 2, 3, 6, 8, 254, 255, 1337])("fits games of output roots: type %i", (type) => {
    expect(parse([FACTORY, `--game-type=${type}`])).toMatchObject({ gameType: type });
    expect(parseAll([SUPER_ROOTS, FACTORY, `--game-type=${type}`])).toContain("--rollup-rpc in place of --superroot-rpcs");
  });

  it("may be of either kind for a type that is not known, whose implementation is asked", () => {
    for (const source of [ROLLUP, SUPER_ROOTS])
      expect(parseAll([source, FACTORY, "--game-type=77"])).toMatchObject({ gameType: 77 });
  });
});

describe("OPTIONS.md", () => {
  it("is what the table says (vitest -u writes it)", async () => {
    const page = `# Options of \`rproposer\`\n\nMade from \`src/options.ts\`. Flags beat variables; an empty variable is unset.\n\n${referenceTable(rproposerOptions)}`;
    await expect(page).toMatchFileSnapshot("../OPTIONS.md");
  });
});

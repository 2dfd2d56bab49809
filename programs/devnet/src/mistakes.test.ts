import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcServer, method } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runMain } from "./testing/run-main.ts";

// Mistakes of new operators, each with its error line: the option, its value, and the remedy. The programs are started for real.

const ROOT = join(import.meta.dirname, "../../..");
const BINS = {
  rnode: "programs/rnode/bin/rnode.js",
  rengine: "programs/rengine/bin/rengine.js",
  rbatcher: "programs/rbatcher/bin/rbatcher.js",
  devnet: "programs/devnet/bin/devnet.js",
} as const;
type Program = keyof typeof BINS;

const folder = mkdtempSync(join(tmpdir(), "mistakes-"));
const path = (name: string): string => join(folder, name);
const KEY = "0x".concat("11".repeat(32));
/** taken while the test runs */
let taken = 0;
/** says that it is chain 5, and knows nothing else */
let chain5 = "";

interface Mistake {
  readonly what: string;
  readonly program: Program;
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** matches one whole line of the output, without the program's name */
  readonly line: RegExp;
  /** a warning: the program continues and ends for another reason */
  readonly isWarning?: true;
}

const NODE = ["--l2=http://127.0.0.1:9", "--network=op-sepolia", "--p2p.disable", "--l1.beacon.ignore"];
const nodeFiles = (): string[] => [...NODE, `--l2.jwt-secret=${path("jwt.txt")}`];
const withPeers = (): string[] => nodeFiles().filter((arg) => arg !== "--p2p.disable");
const CLIENT = (): string[] => ["--chain=op-sepolia", `--datadir=${path("client")}`];
const BATCHER = ["--l1-eth-rpc=http://127.0.0.1:9", "--l2-eth-rpc=http://127.0.0.1:9", "--rollup-rpc=http://127.0.0.1:9"];

const rnode = (what: string, args: () => readonly string[], line: RegExp): Mistake => ({ what, program: "rnode", args, line });
const rengine = (what: string, args: () => readonly string[], line: RegExp): Mistake => ({ what, program: "rengine", args, line });
const rbatcher = (what: string, args: () => readonly string[], line: RegExp): Mistake => ({
  what,
  program: "rbatcher",
  args,
  line,
});
const devnet = (what: string, args: () => readonly string[], line: RegExp): Mistake => ({ what, program: "devnet", args, line });

/** What only the start can find: a port, a folder that cannot be written, an endpoint, a download. */
const ONLY_STARTING = new Set([
  "a port in use, although nothing else answers",
  "a port of peers in use, although nothing else answers",
  "an address for peers of another machine",
  "a metrics port that is in use",
  "a profile port that is in use",
  "an address of another machine",
  "a network key that cannot be written",
  "a database folder that cannot be made",
  "a snapshot log that cannot be written",
  "another chain as L1",
  "no beacon node",
  "a network without its allocations",
  "a data folder that cannot be made",
  "a port in use for users",
  "a port in use for the engine",
  "an engine address of another machine",
  "a port in use",
  "a metrics port in use",
  "an L1 that does not answer",
  "a beacon node for the devnet's own L1",
]);

const MISTAKES: readonly Mistake[] = [
  rnode("no network", () => ["--l2=http://127.0.0.1:9"], /--network.*--rollup\.config/),
  rnode(
    "a network and a file",
    () => [...NODE, "--rollup.config=x.json"],
    /^--network and --rollup\.config exclude each other: give one of them$/,
  ),
  rnode(
    "a network with a typing error",
    () => ["--l2=http://127.0.0.1:9", "--network=op-mainet"],
    /--network.*op-mainet.*op-mainnet/,
  ),
  rnode(
    "an option with a typing error",
    () => [...NODE, "--rpc.prot=1"],
    /^unknown option --rpc\.prot: did you mean --rpc\.port\?/,
  ),
  rnode("a port that is none", () => [...NODE, "--rpc.port=abc"], /^--rpc\.port: "abc" is not valid, expected a port number/),
  rnode(
    "an endpoint without a scheme",
    () => [...NODE, "--l1=localhost:8545"],
    /^--l1: "localhost:8545" is not valid, expected .*http:\/\//,
  ),
  rnode(
    "a level that there is not",
    () => [...NODE, "--log.level=verbose"],
    /^--log\.level: "verbose" is not valid, expected one of silent, error, warn, info, debug, detail/,
  ),
  rnode(
    "a format that there is not",
    () => [...NODE, "--log.format=xml"],
    /^--log\.format: "xml" is not valid, expected one of text, terminal/,
  ),
  rnode(
    "a time without a unit",
    () => [...NODE, "--l1.http-poll-interval=12"],
    /^--l1\.http-poll-interval: "12" is not valid, expected a duration such as/,
  ),
  rnode(
    "half a key",
    () => [...NODE, "--p2p.sequencer.key=0x1234"],
    /^--p2p\.sequencer\.key: the value is not valid, expected a 32-byte key as 64 hex digits$/,
  ),
  rnode(
    "a port that needs rights",
    () => [...NODE, "--p2p.listen.tcp=80"],
    /^--p2p\.listen\.tcp: 80 is a privileged port: expected 0, or 1024 to 65535$/,
  ),
  rnode(
    "a configuration that is not there",
    () => ["--l2=http://127.0.0.1:9", `--rollup.config=${path("none.json")}`],
    /--rollup\.config: cannot read .*none\.json: ENOENT/,
  ),
  rnode(
    "a configuration that is none",
    () => ["--l2=http://127.0.0.1:9", `--rollup.config=${path("garbage.json")}`],
    /--rollup\.config .*garbage\.json: not JSON/,
  ),
  rnode(
    "a secret file that is not there",
    () => [...NODE, `--l2.jwt-secret=${path("none.txt")}`],
    /--l2\.jwt-secret.*none\.txt.*give the file that the execution client was started with/,
  ),
  rnode(
    "a secret of the wrong length",
    () => [...NODE, `--l2.jwt-secret=${path("short.txt")}`],
    /--l2\.jwt-secret.*short\.txt.*not 32 hex-formatted bytes/,
  ),
  rnode(
    "a boolean with a space",
    () => [...NODE, "--p2p.nat", "false"],
    /^unexpected argument "false" \(a boolean's value follows an equals sign: --name=false\)$/,
  ),
  rnode(
    "a port in use, although nothing else answers",
    () => [...nodeFiles(), "--rpc.addr=127.0.0.1", `--rpc.port=${taken}`],
    /--rpc\.port: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rnode(
    "a port of peers in use, although nothing else answers",
    () => [...withPeers(), "--p2p.listen.ip=127.0.0.1", `--p2p.listen.tcp=${taken}`],
    /--p2p\.listen\.tcp: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rnode(
    "an address for peers of another machine",
    () => [...withPeers(), "--p2p.listen.ip=192.0.2.1", "--p2p.listen.tcp=9999"],
    /--p2p\.listen\.ip: this machine has no address 192\.0\.2\.1: choose one of its own/,
  ),
  rnode(
    "a metrics port that is in use",
    () => [...nodeFiles(), "--metrics.enabled", "--metrics.addr=127.0.0.1", `--metrics.port=${taken}`],
    /--metrics\.port: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rnode(
    "a profile port that is in use",
    () => [...nodeFiles(), "--pprof.enabled", "--pprof.addr=127.0.0.1", `--pprof.port=${taken}`],
    /--pprof\.port: port \d+ is in use on 127\.0\.0\.1: stop the program/,
  ),
  rnode(
    "an address of another machine",
    () => [...nodeFiles(), "--metrics.enabled", "--metrics.addr=192.0.2.1"],
    /--metrics\.addr: this machine has no address 192\.0\.2\.1: choose one of its own/,
  ),
  rnode(
    "a profile that JavaScript does not have",
    () => [...NODE, "--pprof.type=mutex"],
    /^--pprof\.type: "mutex" is not there: JavaScript has no mutexes: take cpu/,
  ),
  rnode(
    "a network key that cannot be written",
    () => [...withPeers(), "--p2p.listen.tcp=0", "--p2p.priv.path=/proc/none/key"],
    /--p2p\.priv\.path: a new network key cannot be written: ENOENT.*\/proc\/none/,
  ),
  rnode(
    "a database folder that cannot be made",
    () => [...nodeFiles(), "--safedb.path=/proc/none"],
    /--safedb\.path.*\/proc\/none/,
  ),
  rnode(
    "a snapshot log that cannot be written",
    () => [...nodeFiles(), "--snapshotlog.file=/proc/none/log"],
    /--snapshotlog\.file \/proc\/none\/log: ENOENT.*; name a file that can be written/,
  ),
  rnode(
    "a state file that is another file",
    () => [...nodeFiles(), "--sequencer.enabled", `--rpc.admin-state=${path("jwt.txt")}`],
    /--rpc\.admin-state .*jwt\.txt: /,
  ),
  {
    ...rnode("a variable with a wrong value", () => NODE, /^RNODE_L1_CACHE_SIZE: "many" is not valid, expected a whole number/),
    env: { RNODE_L1_CACHE_SIZE: "many" },
  },
  {
    ...rnode(
      "a variable with a typing error",
      () => [...nodeFiles(), "--sequencer.enabled", `--rpc.admin-state=${path("jwt.txt")}`],
      /unknown environment variable RNODE_L1_ETH_RCP: did you mean RNODE_L1_ETH_RPC\?/,
    ),
    env: { RNODE_L1_ETH_RCP: "http://127.0.0.1:9" },
    isWarning: true,
  },
  rnode(
    "another chain as L1",
    () => [...nodeFiles(), `--l1=${chain5}`],
    /--l1 http:\/\/127.* is chain 5, but the rollup's L1 is chain 11155111/,
  ),
  rnode(
    "no beacon node",
    () => [...nodeFiles().filter((arg) => arg !== "--l1.beacon.ignore"), `--l1=${chain5}`],
    /L1 Beacon.*--l1\.beacon|--l1 http:\/\/127.* is chain 5/,
  ),
  rnode(
    "a static peer that is none",
    () => ["--l2=http://127.0.0.1:9", "--network=op-sepolia", "--p2p.static=abc"],
    /^--p2p\.static: "abc" is not valid, expected a peer's address such as \/ip4\//,
  ),
  rnode(
    "a network of peers that is none",
    () => ["--l2=http://127.0.0.1:9", "--network=op-sepolia", "--p2p.netrestrict=10.0.0.0/8,1.2.3.4/99"],
    /^--p2p\.netrestrict: "1\.2\.3\.4\/99" is not valid, expected an address and a length/,
  ),
  rnode(
    "an address that is none",
    () => [...NODE, "--rpc.addr=127.0.0.256"],
    /^--rpc\.addr: "127\.0\.0\.256" is not valid, expected an IP address or a host name$/,
  ),
  rnode(
    "certificates that are not there",
    () => [
      ...["--l2=http://127.0.0.1:9", "--network=op-sepolia"],
      ...["--signer.endpoint=https://127.0.0.1:9", `--signer.address=0x${"12".repeat(20)}`, `--signer.tls.ca=${path("none.crt")}`],
      ...[`--l2.jwt-secret=${path("jwt.txt")}`, `--p2p.priv.path=${path("p2p.txt")}`],
    ],
    /--signer\.tls\.ca cannot be used: ENOENT.*none\.crt/,
  ),
  rnode("a command that there is not", () => ["derve"], /^unexpected argument "derve"/),
  rnode(
    "an override that is no time",
    () => [...NODE, "--override.jovian=tomorrow"],
    /^--override\.jovian: "tomorrow" is not valid, expected a whole number/,
  ),
  rnode(
    "peers upside down",
    () => ["--l2=http://127.0.0.1:9", "--network=op-sepolia", "--p2p.peers.lo=40"],
    /^--p2p\.peers\.lo: peers lo\/hi tides are invalid: 40, 30: expected 0 < lo ≤ hi$/,
  ),
  rengine(
    "no chain",
    () => [],
    /^--chain or RENGINE_CHAIN is required: expected the name of a network, a genesis file, or a chain's file of a registry$/,
  ),
  rengine(
    "a genesis that is not there",
    () => [`--chain=${path("none.json")}`, `--datadir=${path("client")}`],
    /--chain.*none\.json/,
  ),
  rengine("a network without its allocations", () => [...CLIENT(), "--offline"], /--genesis/),
  rengine(
    "a data folder that cannot be made",
    () => ["--chain=op-sepolia", "--datadir=/proc/none"],
    /^.*--datadir \/proc\/none: E[A-Z]+: .*; name a folder that can be made and written/,
  ),
  rengine(
    "a namespace with a typing error",
    () => [...CLIENT(), "--http", "--http.api=eht"],
    /^--http\.api: "eht" is not valid, expected one of .*eth/,
  ),
  rengine(
    "a face that there is not",
    () => [...CLIENT(), "--profile=geth"],
    /^--profile: "geth" is not valid, expected one of R, G$/,
  ),
  rengine(
    "a sequencer that is no URL",
    () => [...CLIENT(), "--rollup.sequencer-http=sequencer"],
    /^--rollup\.sequencer-http: "sequencer" is not valid, expected a URL starting with http/,
  ),
  rengine(
    "a secret of the wrong length",
    () => [
      `--chain=${path("genesis.json")}`,
      `--datadir=${path("a")}`,
      `--authrpc.jwtsecret=${path("short.txt")}`,
      "--max-peers=0",
    ],
    /--authrpc\.jwtsecret: .*short\.txt.*not 32 hex-formatted bytes/,
  ),
  rengine(
    "a secret in a folder that is not there",
    () => [
      `--chain=${path("genesis.json")}`,
      `--datadir=${path("e")}`,
      `--authrpc.jwtsecret=${path("typo/jwt.hex")}`,
      "--max-peers=0",
    ],
    /--authrpc\.jwtsecret: there is no .*typo\/jwt\.hex, and no folder .*typo to make a new secret in: correct the path, or make the folder/,
  ),
  rengine(
    "a port in use for users",
    () => [
      `--chain=${path("genesis.json")}`,
      `--datadir=${path("b")}`,
      "--http",
      `--http.port=${taken}`,
      "--rpc.workers=0",
      "--max-peers=0",
    ],
    /--http\.port: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rengine(
    "a port in use for the engine",
    // peers would see it for a moment, and its chain would be made
    () => [`--chain=${path("genesis.json")}`, `--datadir=${path("c")}`, `--authrpc.port=${taken}`, "--port=0", "--addr=127.0.0.1"],
    /^(?!.*joined)(?!.*database opened).*--authrpc\.port: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rengine(
    "an engine address of another machine",
    () => [`--chain=${path("genesis.json")}`, `--datadir=${path("d")}`, "--authrpc.addr=192.0.2.1", "--max-peers=0"],
    /--authrpc\.addr: this machine has no address 192\.0\.2\.1/,
  ),
  rengine("nothing to import", () => ["import", `--datadir=${path("d")}`], /missing argument: expected/),
  rbatcher("no options", () => [], /^--l1-eth-rpc or RBATCHER_L1_ETH_RPC is required: expected a comma-separated list/),
  rbatcher("no key", () => BATCHER, /^--private-key or RBATCHER_PRIVATE_KEY or --private-key-file is required|^--private-key/),
  rbatcher(
    "half a key",
    () => [...BATCHER, "--private-key=0x12"],
    /^--private-key: the value is not valid, expected a private key as 64 hex digits/,
  ),
  rbatcher(
    "a key file that is not there",
    () => [...BATCHER, `--private-key-file=${path("none.txt")}`],
    /^--private-key-file: ENOENT.*none\.txt/,
  ),
  rbatcher(
    "a secret file that is not there",
    () => [...BATCHER, `--private-key=${KEY}`, `--l2-jwt-secret=${path("none.txt")}`, "--rpc.port=0"],
    /--l2-jwt-secret: .*none\.txt.*give the file that the execution client was started with/,
  ),
  rbatcher(
    "a port in use",
    () => [...BATCHER, `--private-key=${KEY}`, "--rpc.addr=127.0.0.1", `--rpc.port=${taken}`],
    /--rpc\.port: port \d+ is in use on 127\.0\.0\.1: stop the program that listens there, or choose another port/,
  ),
  rbatcher(
    "a metrics port in use",
    () => [...BATCHER, `--private-key=${KEY}`, "--metrics.enabled", "--metrics.addr=127.0.0.1", `--metrics.port=${taken}`],
    /--metrics\.port: port \d+ is in use/,
  ),
  devnet(
    "an L1 that does not answer",
    () => [`--datadir=${path("devnet-l1")}`, "--base-port=0", "--l1=http://127.0.0.1:1"],
    /--l1 http:\/\/127\.0\.0\.1:1 does not answer \(.*\): give the JSON-RPC endpoint of a running L1$/,
  ),
  devnet(
    "an L1 without a scheme",
    () => ["--l1=127.0.0.1:8545"],
    /^--l1: "127\.0\.0\.1:8545" is not valid, expected rengine, anvil or a URL/,
  ),
  devnet(
    "a beacon node for the devnet's own L1",
    // a separate folder: the other devnet may not have ended yet
    () => [`--datadir=${path("devnet-beacon")}`, "--base-port=0", "--l1-beacon=http://127.0.0.1:1"],
    /--l1-beacon http:\/\/127\.0\.0\.1:1: only for an L1 given by its URL \(--l1=http:\/\/…\)/,
  ),
  devnet(
    "an execution-layer sync without peers",
    () => ["--nodes=2", "--syncmode=execution-layer"],
    /^--syncmode: execution-layer needs peers, which --nodes=2 leaves out$/,
  ),
  devnet(
    "a light follower without a follower",
    () => ["--nodes=2", "--light"],
    /^--light: the follower is the light node, which --nodes=2 leaves out$/,
  ),
  devnet(
    "several sequencers of several chains",
    () => ["--chains=2", "--sequencers=2", `--datadir=${path("devnet")}`],
    /^--chains: each chain of several has one sequencer and one verifier, so leave out --sequencers$/,
  ),
  devnet("too many nodes", () => ["--nodes=9"], /^--nodes: "9" is not valid, expected a whole number from 2 to \d+$/),
  devnet(
    "a port that there is not",
    () => ["--base-port=99999"],
    /^--base-port: "99999" is not valid, expected a whole number from 0 to \d+$/,
  ),
  devnet("a data folder that cannot be made", () => ["--datadir=/proc/none", "--base-port=0"], /--datadir.*\/proc\/none/),
];

/** In how many programs at a time the mistakes are made. */
const AT_A_TIME = 3;
const LIMIT_MS = 240_000;
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  mkdirSync(path("client"));
  writeFileSync(path("jwt.txt"), "11".repeat(32));
  writeFileSync(path("short.txt"), "0x1234");
  writeFileSync(path("garbage.json"), "{ not json");
  writeFileSync(
    path("genesis.json"),
    JSON.stringify({
      config: { chainId: 901, londonBlock: 0, terminalTotalDifficulty: 0 },
      gasLimit: "0x1c9c380",
      difficulty: "0x0",
      alloc: {},
    }),
  );
  const port = createServer();
  await new Promise<void>((resolve) => port.listen(0, "127.0.0.1", resolve));
  taken = (port.address() as AddressInfo).port;
  const l1 = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: { eth_chainId: method({ params: [], handler: () => "0x5" }) },
    log: silentLogger,
  });
  chain5 = `http://127.0.0.1:${(await l1.listen()).httpPort}`;
  open.push(port, l1);
});
afterAll(async () => {
  for (const one of open) await one.close();
});

async function make({ program, args, env }: Mistake): Promise<{ code: number | null; lines: string[] }> {
  const child: ChildProcess = spawn(process.execPath, [join(ROOT, BINS[program]), ...args()], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (data: Buffer) => (text += data.toString()));
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(limit);
  const start = `${program === "devnet" ? "(?:devnet|npm start --)" : program}(?: [a-z]+)?: `;
  return {
    code,
    lines: text
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(new RegExp(`^${start}`), "")),
  };
}

describe("the most likely mistakes", () => {
  it("are fifty at least", () => {
    expect(MISTAKES.length).toBeGreaterThanOrEqual(50);
    expect(new Set(MISTAKES.map(({ program, what }) => `${program} ${what}`)).size).toBe(MISTAKES.length);
  });

  function expectLine(mistake: Mistake, { code, lines }: Awaited<ReturnType<typeof make>>): void {
    expect(code, lines.join("\n")).toBe(1);
    const fitting = lines.filter((line) => mistake.line.test(line));
    expect(fitting.length === 1 ? [] : lines).toEqual([]);
    // nothing that only a programmer understands
    for (const line of lines) expect(line).not.toMatch(/^\s+at |fault of the program/);
    // Wrong options are reported before missing ones, and the reason for the exit comes last.
    if (mistake.isWarning !== undefined) return;
    const isFound = lines[0] === fitting[0] && lines.slice(1).every((line) => / is required: |^missing argument/.test(line));
    expect(isFound || lines.at(-1) === fitting[0] ? [] : lines).toEqual([]);
  }

  const FOUND_EARLIER = MISTAKES.filter(({ what, args, isWarning }) => {
    const isSubcommand = /^[a-z]/.test(args()[0] ?? "");
    return isWarning === undefined && !isSubcommand && !ONLY_STARTING.has(what);
  });

  describe("are told by the program when it is started", { tags: "long" }, () => {
    const said = new Map<Mistake, Awaited<ReturnType<typeof make>>>();
    beforeAll(async () => {
      const waiting = [...MISTAKES];
      await Promise.all(
        Array.from({ length: AT_A_TIME }, async () => {
          for (let mistake = waiting.shift(); mistake !== undefined; mistake = waiting.shift())
            said.set(mistake, await make(mistake));
        }),
      );
    }, 1_200_000);
    it.each(MISTAKES.map((mistake) => [mistake.program, mistake.what, mistake] as const))("%s: %s", (_, __, mistake) =>
      expectLine(mistake, said.get(mistake)!),
    );
  });

  it.each(FOUND_EARLIER.map((mistake) => [mistake.program, mistake.what, mistake] as const))(
    "are found by config print: %s: %s",
    async (program, __, { args, env, line }) => {
      const module = join(ROOT, BINS[program], "../../src/main.ts");
      const { code, err } = await runMain(module, ["config", "print", ...args()], env);
      expect(code).toBe(1);
      expect(err.split("\n").map((text) => text.replace(/^[a-z]+: /, ""))).toContainEqual(expect.stringMatching(line));
    },
  );
});

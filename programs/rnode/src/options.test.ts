import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { parseOptions, referenceTable, resolveOptions } from "@rnode/program";
import { afterAll, describe, expect, it } from "vitest";
import { readConductorSecret, readEngineSecret } from "./engine/engine-secret.ts";
import { rnodeOptions } from "./options.ts";
import { FORK_OVERRIDES, REFERENCE } from "./testing/option-reference.ts";

const SIGNER_ADDRESS = `--signer.address=0x${"11".repeat(20)}`;
const BASE = ["--l2=http://localhost:8551", "--network=op-sepolia"];

const CONDUCTED = ["--conductor.enabled", "--sequencer.enabled", `--p2p.sequencer.key=${"11".repeat(32)}`];

function parse(args: string[], env: Record<string, string> = {}) {
  const parsed = parseOptions(rnodeOptions, [...BASE, ...args], env);
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return parsed;
}

const [SETUP, SIGNER, DASHBOARD] = [
  "programs/rnode/src/start/rollup-setup.test.ts",
  "packages/kit/signer/src/remote/remote-signer.test.ts",
  "programs/dashboard/src/server/open-dashboard.test.ts",
];

/** Options that the reference does not have, each with the test of its effect: words of a file, given from the root, or "here". */
const OWN: Readonly<Record<string, "here" | readonly [file: string, words: string]>> = {
  "l1.beacon-header-file": "here",
  "l1.beacon.slot-duration-override": ["programs/rnode/src/start/beacon.test.ts", "--l1.beacon.slot-duration-override=2"],
  "l2.engine-extensions": ["packages/rollup/node-clients/src/engine/build-blocks.test.ts", "usesExtensions: false"],
  datadir: "here",
  registry: [SETUP, "--registry="],
  offline: ["packages/rollup/networks/src/upgrade-files.test.ts", "are not fetched with --offline"],
  "rollup.load-protocol-versions": ["programs/rnode/src/option-wiring.test.ts", '"--rollup.load-protocol-versions"'],
  "rollup.upgrades-dir": [SETUP, "--rollup.upgrades-dir="],
  "override.keep-karst-upgrade-gas": [SETUP, "--override.keep-karst-upgrade-gas=false"],
  "conductor.jwt-secret": "here",
  "signer.timeout": [SIGNER, "as long as --signer.timeout says"],
  "signer.header-file": "here",
  "rpc.corsdomain": ["programs/rnode/src/main.test.ts", "--rpc.corsdomain="],
  "rpc.vhosts": ["programs/rnode/src/main.test.ts", "--rpc.vhosts="],
  "metrics.vhosts": ["packages/kit/program/src/servers/metrics-server.test.ts", "--metrics.vhosts"],
  dashboard: [DASHBOARD, "--dashboard is off by default"],
  "dashboard.addr": [DASHBOARD, "--dashboard.addr="],
  "dashboard.port": [DASHBOARD, "--dashboard.port="],
  "dashboard.vhosts": [DASHBOARD, "--dashboard.vhosts="],
  "pprof.vhosts": ["packages/kit/program/src/pprof/pprof.test.ts", "--pprof.vhosts"],
  "shutdown.delay": ["packages/kit/program/src/run/run-program.test.ts", "--shutdown.delay="],
  "p2p.sequencer.key-file": ["programs/rnode/src/p2p/p2p-setup.test.ts", "--p2p.sequencer.key-file="],
};

describe("the options of rnode", () => {
  const resolved = new Map(resolveOptions(rnodeOptions).map((option) => [option.flag, option]));

  it.each([...REFERENCE, ...FORK_OVERRIDES])("has --%s, RNODE_%s, default %s", (flag, env, defaultText) => {
    const option = resolved.get(flag);
    expect(option?.env).toBe(`RNODE_${env}`);
    const { default: value, parse: parser } = option!.declaration;
    expect(value).toEqual(defaultText === undefined ? undefined : parser.parse(defaultText));
  });

  it("has nothing that is not in the reference", () => {
    const known = new Set<string>([...REFERENCE, ...FORK_OVERRIDES].map(([flag]) => flag));
    expect([...resolved.keys()].filter((flag) => !known.has(flag))).toEqual(Object.keys(OWN));
  });

  it.each(Object.entries(OWN))("has a test of --%s", (flag, proof) => {
    const [file, words] = proof === "here" ? ["programs/rnode/src/options.test.ts", `it("--${flag}`] : proof;
    expect(readFileSync(join(import.meta.dirname, "../../..", file), "utf8")).toContain(words);
  });

  describe("with files", () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-options-"));
    afterAll(() => rmSync(folder, { recursive: true }));
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const HEADER = "Authorization: Bearer abc";

    it("--l1.beacon-header-file: has the header of --l1.beacon-header", () => {
      const headerOf = (arg: string) => parse(["--l1.beacon=http://localhost:5052", arg]).options.l1.beaconHeader;
      expect(headerOf(`--l1.beacon-header-file=${file("beacon", HEADER)}`)).toEqual(headerOf(`--l1.beacon-header=${HEADER}`));
      expect(headerOf(`--l1.beacon-header=${HEADER}`)).toBeDefined();
    });

    it("--signer.header-file: has the headers of --signer.header", () => {
      const signer = ["--signer.endpoint=http://localhost:1", SIGNER_ADDRESS, "--signer.tls.enabled=false"];
      const headersOf = (arg: string) => parse([...signer, arg]).options.signer.header;
      const expected = headersOf("--signer.header=authorization=abc");
      expect(headersOf(`--signer.header-file=${file("signer", "authorization=abc")}`)).toEqual(expected);
      expect(JSON.stringify(expected)).toContain("abc");
    });

    it("--datadir: the engine secret is made there", () => {
      const { path, secret } = readEngineSecret(parse([`--datadir=${folder}`]).options, 901n, silentLogger);
      expect(dirname(path)).toBe(folder);
      expect(readFileSync(path, "utf8").trim()).toBe(bytesToHex(secret));
    });

    it("--conductor.jwt-secret: is the secret of the file, which must be one", () => {
      const secretOf = (text: string) => {
        const path = file("conductor", text);
        const { options } = parse([...CONDUCTED, `--conductor.jwt-secret=${path}`]);
        return readConductorSecret(options.conductor.jwtSecret!);
      };
      expect(secretOf(`0x${"12".repeat(32)}`)).toEqual(new Uint8Array(32).fill(0x12));
      expect(() => secretOf("no secret")).toThrow("--conductor.jwt-secret");
    });
  });

  it("refuses a network and a configuration at once", () => {
    expect(parseOptions(rnodeOptions, [...BASE, "--rollup.config=x.json"], {})).toMatchObject({
      kind: "error",
      faults: [expect.stringMatching(/exclude each other/)],
    });
  });

  it("takes a URL in RNODE_L1_BEACON for the endpoint, and a boolean for --l1.beacon.fetch-all-sidecars", () => {
    const beacon = "http://localhost:5052";
    expect(parse([], { RNODE_L1_BEACON: beacon }).options.l1).toMatchObject({ beacon, beaconFetchAllSidecars: false });
    const both = { beacon, beaconFetchAllSidecars: true };
    expect(parse([`--l1.beacon=${beacon}`], { RNODE_L1_BEACON: "true" }).options.l1).toMatchObject(both);
    expect(parse([], { RNODE_L1_BEACON: beacon, RNODE_L1_BEACON_FETCH_ALL_SIDECARS: "true" }).options.l1).toMatchObject(both);
  });

  it("reads a kind of L1 in any case, and a comma list of endpoints", () => {
    const { options } = parse(["--l1.rpckind=BASIC", "--l1=http://a,http://b"]);
    expect(options.l1).toMatchObject({ rpcKind: "basic", urls: ["http://a", "http://b"] });
  });

  it.each([
    ["--l1.max-concurrency=0", /--l1.max-concurrency/],
    ["--l1.rpc-max-batch-size=501", /--l1.rpc-max-batch-size/],
    ["--l1.rpc-rate-limit=-1", /--l1.rpc-rate-limit: "-1" is not valid, expected a number, 0 or more/],
    ["--l1.rpckind=best", /--l1.rpckind.*alchemy/],
    ["--rollup.halt=sometimes", /--rollup.halt/],
    ["--p2p.sequencer.key=12", /--p2p.sequencer.key: the value is not valid/],
    ["--l1.beacon-header=nonsense", /--l1.beacon-header/],
  ])("refuses %s", (arg, message) => {
    expect(parseOptions(rnodeOptions, [...BASE, arg], {})).toMatchObject({
      kind: "error",
      faults: [expect.stringMatching(message)],
    });
  });
});

describe("options that do nothing alone, or exclude each other", () => {
  const faults = (args: string[]): readonly string[] => {
    const parsed = parseOptions(rnodeOptions, [...BASE, ...args], {});
    return parsed.kind === "error" ? parsed.faults : [];
  };

  it.each([
    [["--interop.rpc.addr=127.0.0.1"], {}, "--interop.rpc.addr"],
    [["--interop.rpc.port=9645"], {}, "--interop.rpc.port"],
    [["--interop.jwt-secret=x", "--syncmode=execution-layer"], {}, "--interop.jwt-secret"],
    [[], { RNODE_INTEROP_RPC_ADDR: "127.0.0.1" }, "RNODE_INTEROP_RPC_ADDR"],
    [[], { RNODE_INTEROP_RPC_PORT: "1" }, "RNODE_INTEROP_RPC_PORT"],
    [[], { RNODE_INTEROP_JWT_SECRET: "/nowhere" }, "RNODE_INTEROP_JWT_SECRET"],
  ])("take %j %j of a supervisor, with one line that says what to use", (args, env, name) => {
    const { warnings } = parse(args, env);
    const about = warnings.filter((line) => /interop/i.test(line));
    expect(about).toEqual([expect.stringMatching(`^${name} has no effect: op-node removed .* --interop.dependency-set$`)]);
  });

  it.each([
    ["--signer.header=a=b", "--signer.endpoint"],
    ["--signer.tls.enabled=false", "--signer.endpoint"],
    ["--signer.tls.key=x", "--signer.endpoint"],
    ["--altda.da-server=http://localhost:1", "--altda.enabled"],
    ["--altda.get-timeout=1s", "--altda.enabled"],
    ["--altda.put-timeout=1s", "--altda.enabled"],
    ["--altda.da-service", "--altda.enabled"],
    ["--conductor.rpc=http://x", "--conductor.enabled"],
    ["--pprof.port=1", "--pprof.enabled"],
    ["--pprof.path=x", "--pprof.type"],
    ["--l1.beacon-header=a: b", "--l1.beacon"],
    ["--l1.beacon-fallbacks=http://x", "--l1.beacon"],
    ["--l1.beacon.fetch-all-sidecars", "--l1.beacon"],
    ["--l1.beacon.slot-duration-override=2", "--l1.beacon"],
    ["--sequencer.l1-confs=1", "--sequencer.enabled"],
    ["--sequencer.stopped", "--sequencer.enabled"],
    ["--rpc.admin-state=x", "--sequencer.enabled"],
    ["--metrics.port=1", "--metrics.enabled"],
    ["--p2p.sync.onlyreqtostatic", "--p2p.static"],
  ])("%s has no effect without %s, as in op-node", (arg, needed) => {
    const parsed = parseOptions(rnodeOptions, [arg], {});
    expect(parsed).toMatchObject({
      kind: "options",
      warnings: expect.arrayContaining([`${arg.split("=")[0]} has no effect without ${needed}`]),
    });
  });

  it.each([
    [
      ["--p2p.disable", "--p2p.static=/ip4/1.2.3.4/tcp/9222/p2p/16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi"],
      /both --p2p.static and --p2p.disable are specified/,
    ],
    [["--p2p.peers.lo=31"], /--p2p.peers.lo: peers lo\/hi tides are invalid: 31, 30/],
    [["--p2p.peers.hi=19"], /--p2p.peers.hi: peers lo\/hi tides are invalid: 20, 19/],
    [["--p2p.peers.lo=0"], /peers lo\/hi tides are invalid: 0, 30: expected 0 < lo/],
    [["--p2p.listen.tcp=80"], /--p2p.listen.tcp: 80 is a privileged port: expected 0, or 1024 to 65535/],
    [["--p2p.listen.udp=1023"], /--p2p.listen.udp: 1023 is a privileged port/],
    [["--p2p.advertise.udp=1"], /--p2p.advertise.udp: 1 is a privileged port/],
    [["--conductor.enabled"], /--conductor.enabled: sequencer must be enabled when conductor is enabled/],
    [
      ["--conductor.enabled", "--sequencer.enabled", "--rpc.admin-state=x"],
      /--conductor.enabled: config persistence must be disabled when conductor is enabled/,
    ],
    [
      ["--signer.endpoint=https://x"],
      /--signer.endpoint: signer endpoint and address must both be set or not set: --signer.address/,
    ],
    [[SIGNER_ADDRESS], /--signer.address: signer endpoint and address must both be set or not set: --signer.endpoint/],
    [
      ["--signer.endpoint=https://x", SIGNER_ADDRESS, `--p2p.sequencer.key=${"11".repeat(32)}`],
      /--signer.endpoint: a local sequencer key .* and a remote signer cannot be specified at the same time/,
    ],
    [["--signer.endpoint=http://x", SIGNER_ADDRESS], /--signer.endpoint: is not https:.*--signer.tls.enabled=false/],
    [
      ["--signer.endpoint=https://x", SIGNER_ADDRESS, "--signer.tls.key="],
      /--signer.tls.key: all tls flags must be set if at least one is set/,
    ],
    [["--signer.endpoint=https://x", SIGNER_ADDRESS, "--signer.header=token"], /--signer.header: the value is not valid/],
    [["--p2p.listen.tcp=65536"], /--p2p.listen.tcp: "65536" is not valid/],
    [["--p2p.peerstore.path="], /--p2p.peerstore.path: is empty: expected a folder, or the word "memory"/],
    [[`--p2p.sequencer.key=${"00".repeat(32)}`], /--p2p.sequencer.key: is no private key/],
  ])("%j are refused", (args, fault) => {
    expect(faults(args)).toEqual([expect.stringMatching(fault)]);
  });

  it("are all told at once, what is wrong before what is missing", () => {
    const parsed = parseOptions(rnodeOptions, ["--rpc.port=abc", "--conductor.enabled", "--rpc.prot=1"], {
      RNODE_L1_CACHE_SIZE: "x",
    });
    expect(parsed.kind === "error" ? parsed.faults : []).toEqual([
      "unknown option --rpc.prot: did you mean --rpc.port? (--help lists all)",
      'RNODE_L1_CACHE_SIZE: "x" is not valid, expected a whole number, 0 or more',
      '--rpc.port: "abc" is not valid, expected a port number from 0 to 65535',
      "--conductor.enabled: sequencer must be enabled when conductor is enabled (--sequencer.enabled)",
    ]);
  });

  it("leaves alone what merely tunes, what is switched off, defaults, and peer options without a network", () => {
    expect(
      faults([
        "--p2p.listen.tcp=1024",
        "--p2p.advertise.ip=1.2.3.4",
        "--altda.enabled=false",
        "--snapshotlog.file=x",
        "--l2.enginekind=reth",
      ]),
    ).toEqual([]);
    expect(
      faults([
        "--p2p.disable",
        "--p2p.peers.lo=0",
        "--p2p.bootnodes=enode://ca2774c3c401325850b2477fd7d0f27911efbf79b1e8b335066516e2bd8c4c9e0ba9696a94b1cb030a88eac582305ff55e905e64fb77fe0edcd70a4e5296d3ec@34.65.175.185:30305",
      ]),
    ).toEqual([]);
    expect(faults(["--sequencer.enabled", "--sequencer.l1-confs=1"])).toEqual([]);
    expect(faults(["--signer.endpoint=https://x", SIGNER_ADDRESS])).toEqual([]);
    expect(faults(["--signer.endpoint=http://x", SIGNER_ADDRESS, "--signer.tls.enabled=false", "--signer.tls.ca="])).toEqual([]);
  });
});

describe("OPTIONS.md", () => {
  it("is what the table says (vitest -u writes it)", async () => {
    const page = `# Options of \`rnode\`\n\nMade from \`src/options.ts\`. Flags beat variables; an empty variable is unset.\n\n${referenceTable(rnodeOptions)}`;
    await expect(page).toMatchFileSnapshot("../OPTIONS.md");
  });
});

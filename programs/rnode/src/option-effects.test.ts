import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createL1Metrics } from "@rnode/l1";
import { createLogger, noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, privateKeyToAddress } from "@rnode/primitives";
import { parseOptions, resolveOptions, systemClock } from "@rnode/program";
import { SignerServer, TestAuthority } from "@rnode/signer/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rnodeOptions } from "./options.ts";
import { Connections } from "./start/connections.ts";
import { testConfig } from "./testing/fake-chain.ts";
import { FakeConductor } from "./testing/fake-conductor.ts";
import { GENESIS_HASH, L2_GENESIS_HASH } from "./testing/fake-endpoints.ts";
import { FORK_OVERRIDES, REFERENCE } from "./testing/option-reference.ts";
import { NodeFixture } from "./testing/running-node.ts";

interface Row {
  /** a value that is not the default */
  readonly right: string;
  /** a value that is refused; undefined: any text may be right, and what it names is looked at later */
  readonly wrong?: string;
  /** what it changes */
  readonly effect: string;
  /** the test that shows it, from the root, with words that are in it; "here": below */
  readonly proof: "here" | readonly [file: string, words: string];
}

const row = (right: string, wrong: string | undefined, effect: string, proof: Row["proof"]): Row => ({
  right,
  ...(wrong !== undefined && { wrong }),
  effect,
  proof,
});
const SIGNER = "packages/kit/signer/src/remote/remote-signer.test.ts";
const [SETUP, CONNECTIONS, BEACON, P2P, MAIN, PROGRAM, DEPENDENCIES, WIRING] = [
  "programs/rnode/src/start/rollup-setup.test.ts",
  "programs/rnode/src/start/connections.test.ts",
  "programs/rnode/src/start/beacon.test.ts",
  "programs/rnode/src/p2p/p2p-setup.test.ts",
  "programs/rnode/src/main.test.ts",
  "packages/kit/program/src/run/run-program.test.ts",
  "programs/rnode/src/start/dependency-set.test.ts",
  "programs/rnode/src/option-wiring.test.ts",
];
/** The configuration of the network follows it; what that does is tested in packages/network/p2p. */
const peer = (flag: string, right: string, wrong: string | undefined, effect: string): [string, Row] => [
  flag,
  row(right, wrong, effect, [P2P, `--${flag}`]),
];
const FOLLOW = "programs/rnode/src/follow/follow-over-http.test.ts";
const GONE = "none, and the log says so";
const OPTIONS = "programs/rnode/src/options.test.ts";
const KEY = "11".repeat(32);

/** One observable effect of each option. */
const EFFECTS: Readonly<Record<string, Row>> = {
  l1: row("http://127.0.0.1:1", "nonsense", "requests go there; another endpoint serves when the first fails", [
    CONNECTIONS,
    "--l1 with several endpoints",
  ]),
  "l1.beacon": row("http://127.0.0.1:1", "nonsense", "blobs come from there", [BEACON, "--l1.beacon"]),
  "l1.beacon-fallbacks": row("http://127.0.0.1:1", "nonsense", "asked for what the first does not have", [
    BEACON,
    "--l1.beacon-fallbacks",
  ]),
  "l1.beacon-header": row("X-Key: a", "nonsense", "is sent with each request", [BEACON, "--l1.beacon-header"]),
  "l1.beacon.fetch-all-sidecars": row("true", "maybe", "all blobs of a block are asked for", [
    BEACON,
    "--l1.beacon.fetch-all-sidecars",
  ]),
  "l1.beacon.ignore": row("true", "maybe", "the start goes on without a beacon node", [BEACON, "--l1.beacon.ignore"]),
  "l1.cache-size": row("10", "-1", "how much is kept", [CONNECTIONS, "--l1.cache-size"]),
  "l1.epoch-poll-interval": row("1s", "soon", "how often safe and finalized are asked for", [
    "packages/rollup/l1/src/head-poller.test.ts",
    "epochIntervalMs",
  ]),
  "l1.http-poll-interval": row("1s", "soon", "how often the head is asked for", [
    "packages/rollup/l1/src/head-poller.test.ts",
    "headIntervalMs",
  ]),
  "l1.max-concurrency": row("2", "0", "no more requests are under way", [CONNECTIONS, "--l1.max-concurrency"]),
  "l1.rpc-max-batch-size": row("2", "0", "no request has more calls", [CONNECTIONS, "--l1.rpc-max-batch-size"]),
  "l1.rpc-rate-limit": row("5", "-1", "calls wait", [CONNECTIONS, "--l1.rpc-rate-limit"]),
  "l1.rpckind": row("basic", "best", "how receipts are asked for", [CONNECTIONS, "--l1.rpckind"]),
  "l1.runtime-config-reload-interval": row("1s", "soon", "when the signer and versions are read again", [
    WIRING,
    "--l1.runtime-config-reload-interval=",
  ]),
  "l1.trustrpc": row("true", "maybe", "hashes are not recomputed", [CONNECTIONS, "--l1.trustrpc"]),
  l2: row("http://127.0.0.1:1", "nonsense", "the engine that is driven", [MAIN, "--l2="]),
  "l2.engine-rpc-timeout": row("1s", "soon", "an engine that says nothing is given up", "here"),
  "l2.jwt-secret": row("/tmp/x", undefined, "the engine is asked with a token of it", [MAIN, "another engine secret"]),
  "l2.enginekind": row("geth", "besu", "a warning about an engine of another kind", [WIRING, "--l2.enginekind=geth"]),
  "l2.follow.source": row("http://127.0.0.1:1", "nonsense", "safe blocks come from there", [FOLLOW, "--l2.follow.source:"]),
  "l2.follow.source.rpc-timeout": row("2s", "soon", "how long it may take to answer", [FOLLOW, "--l2.follow.source.rpc-timeout"]),
  syncmode: row("execution-layer", "snap", "the engine gets blocks from its own peers before anything is derived", "here"),
  "syncmode.offset-el-safe": row("1h", "soon", "which block is safe after a sync of the engine", [
    "programs/rnode/src/unsafe/execution-layer-sync.test.ts",
    "--syncmode.offset-el-safe",
  ]),
  network: row("base-mainnet", undefined, "its configuration", [SETUP, "takes --network="]),
  "rollup.config": row("x.json", undefined, "the configuration in it", [SETUP, "takes a file, or its content"]),
  "rollup.halt": row("major", "sometimes", "the node halts", [WIRING, "--rollup.halt=major"]),
  "rollup.l1-chain-config": row("x.json", undefined, "L1's blob schedule", [SETUP, "--rollup.l1-chain-config"]),
  "log.color": row("true", "maybe", "colour", ["packages/kit/observe/src/logger.test.ts", "color:"]),
  "log.format": row("json", "xml", "the form of lines", [PROGRAM, "--log.format=json"]),
  "log.level": row("debug", "loud", "which lines", [PROGRAM, "--log.level=silent"]),
  "log.pid": row("true", "maybe", "the process id in each line", "here"),
  "rpc.addr": row("127.0.0.1", undefined, "where the server listens", "here"),
  "rpc.port": row("1234", "abc", "where the server listens", "here"),
  "rpc.enable-admin": row("true", "maybe", "the admin namespace", "here"),
  "rpc.admin-state": row("/tmp/x", undefined, "a file keeps what was set", "here"),
  "metrics.addr": row("127.0.0.1", undefined, "where metrics are", [PROGRAM, "--metrics.addr"]),
  "metrics.enabled": row("true", "maybe", "there are metrics", [PROGRAM, "--metrics.enabled"]),
  "metrics.port": row("1234", "abc", "where metrics are", [PROGRAM, "--metrics.port"]),
  "pprof.addr": row("127.0.0.1", undefined, "where profiles are", [PROGRAM, "--pprof.addr=127.0.0.2"]),
  "pprof.enabled": row("true", "maybe", "there are profiles", [PROGRAM, "--pprof.enabled"]),
  "pprof.path": row("/tmp/x", undefined, "where the profile is written", [PROGRAM, "--pprof.path"]),
  "pprof.port": row("1234", "abc", "where profiles are", [PROGRAM, "--pprof.port"]),
  "pprof.type": row("cpu", "mutex", "a profile is written", [PROGRAM, "--pprof.type=heap"]),
  "interop.dependency-set": row("/tmp/x", undefined, "a set without this chain stops the start", [
    DEPENDENCIES,
    "--interop.dependency-set",
  ]),
  "interop.jwt-secret": row("/tmp/x", undefined, GONE, [OPTIONS, "--interop.jwt-secret"]),
  "interop.rpc.addr": row("127.0.0.1", undefined, GONE, [OPTIONS, "--interop.rpc.addr"]),
  "interop.rpc.port": row("1234", "abc", GONE, [OPTIONS, "--interop.rpc.port"]),
  "p2p.disable": row("true", "maybe", "no network, and no methods of peers", "here"),
  ...Object.fromEntries([
    peer("p2p.advertise.ip", "1.2.3.4", "1.2.3", "the address in the node record"),
    peer("p2p.advertise.tcp", "2000", "abc", "the port in the node record"),
    peer("p2p.advertise.udp", "2000", "80", "the port in the node record"),
    peer("p2p.ban.duration", "1s", "soon", "how long a ban lasts"),
    peer("p2p.ban.peers", "false", "maybe", "whether peers are banned"),
    peer("p2p.ban.threshold", "-5", "low", "when a peer is banned"),
    peer(
      "p2p.bootnodes",
      "enode://ca2774c3c401325850b2477fd7d0f27911efbf79b1e8b335066516e2bd8c4c9e0ba9696a94b1cb030a88eac582305ff55e905e64fb77fe0edcd70a4e5296d3ec@34.65.175.185:30305",
      "enr:x",
      "where discovery begins",
    ),
    peer("p2p.discovery.path", "memory", undefined, "where records are kept"),
    peer("p2p.gossip.timestamp.threshold", "1s", "soon", "which blocks are too old"),
    peer("p2p.listen.ip", "127.0.0.1", "localhost", "where peers connect"),
    peer("p2p.listen.tcp", "2000", "80", "where peers connect"),
    peer("p2p.listen.udp", "2000", "80", "where discovery listens"),
    peer("p2p.nat", "true", "maybe", "the router is asked"),
    peer("p2p.netrestrict", "10.0.0.0/8", "10.0.0.0/33", "who is connected to"),
    peer("p2p.no-discovery", "true", "maybe", "no discovery"),
    peer("p2p.peers.grace", "1s", "soon", "when a new peer may be pruned"),
    peer("p2p.peers.hi", "25", "abc", "when peers are pruned"),
    peer("p2p.peers.lo", "25", "abc", "when peers are looked for"),
    peer("p2p.peerstore.path", "memory", undefined, "where peers are kept"),
    peer("p2p.priv.path", "/tmp/x", undefined, "the identity"),
    peer("p2p.scoring", "none", "strict", "whether peers are scored"),
    peer("p2p.sequencer.key", KEY, "12", "blocks are signed"),
    peer(
      "p2p.static",
      "/ip4/1.2.3.4/tcp/1/p2p/16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi",
      undefined,
      "who is always connected to",
    ),
    peer("p2p.sync.onlyreqtostatic", "true", "maybe", "who is asked for blocks"),
    peer("p2p.sync.req-resp", "false", "maybe", "whether blocks are asked for"),
  ]),
  "sequencer.enabled": row("true", "maybe", "blocks are made, and the admin methods have something to start", "here"),
  "sequencer.l1-confs": row("2", "few", "which origin is taken", [
    "programs/rnode/src/sequencing/sequencer.test.ts",
    "keeps its distance from the L1 head",
  ]),
  "sequencer.max-safe-lag": row("5", "few", "building pauses", [
    "programs/rnode/src/sequencing/sequencer.test.ts",
    "pauses while safe lags",
  ]),
  "sequencer.recover": row("true", "maybe", "empty blocks that advance the origin", [
    "programs/rnode/src/sequencing/sequencer.test.ts",
    "in recover mode",
  ]),
  "sequencer.stopped": row("true", "maybe", "no blocks until it is started", "here"),
  "sequencer.sealing-duration": row("100ms", "soon", "when a payload is fetched", [
    "programs/rnode/src/sequencing/sequencer.test.ts",
    "--sequencer.sealing-duration",
  ]),
  "finality.lookback": row("500", "far", "how many L1 blocks are remembered", [
    "programs/rnode/src/safe/finality-options.test.ts",
    "--finality.lookback",
  ]),
  "finality.delay": row("10", "late", "how often finality is checked while catching up", [
    "programs/rnode/src/safe/finality-options.test.ts",
    "--finality.delay",
  ]),
  "verifier.l1-confs": row("2", "few", "how far behind L1 derivation reads", [WIRING, "--verifier.l1-confs"]),
  "conductor.enabled": row("true", "maybe", "a conductor starts sequencing, and has each block first", "here"),
  "conductor.rpc": row("http://127.0.0.1:1", "nonsense", "who is asked", "here"),
  "conductor.rpc-timeout": row("2s", "soon", "how long an answer may take", "here"),
  "signer.endpoint": row("https://127.0.0.2:1", "nonsense", "who signs", "here"),
  "signer.address": row(`0x${"12".repeat(20)}`, "me", "whose signatures are used", [SIGNER, "another key"]),
  "signer.header": row("X-Key=a", "nonsense", "is sent with each request", "here"),
  "signer.tls.ca": row("x/ca.crt", undefined, "whose certificates a signer may have", [SIGNER, "the authority in the file"]),
  "signer.tls.cert": row("x/tls.crt", undefined, "how we show who we are", [SIGNER, "takes a new certificate"]),
  "signer.tls.enabled": row("false", "maybe", "whether both authenticate", [SIGNER, "tlsEnabled: false"]),
  "signer.tls.key": row("x/tls.key", undefined, "how we show who we are", [SIGNER, "the key of another"]),
  "safedb.path": row("/tmp/x", undefined, "safe heads are recorded, and told", "here"),
  "snapshotlog.file": row("/tmp/x", undefined, "a file of head movements", "here"),
  "experimental.sequencer-api": row("true", "maybe", "the opstack namespace", "here"),
  "fetch-withdrawal-root-from-state": row("true", "maybe", "the root comes from a proof", [
    WIRING,
    "--fetch-withdrawal-root-from-state",
  ]),
  ...Object.fromEntries(
    FORK_OVERRIDES.map(([flag]) => [flag, row("5", "later", "when the fork is active", [SETUP, "overrides forks, 0 included"])]),
  ),
  "override.pectrablobschedule": row("5", "later", "when the blob schedule changes", [SETUP, "--override.pectrablobschedule"]),
};

/** Groups whose effects are tested with their own package. */
const OTHER_PARTS = /^altda\./;

const resolved = new Map(resolveOptions(rnodeOptions).map((option) => [option.flag, option]));
const ROWS = [...REFERENCE, ...FORK_OVERRIDES].filter(([flag]) => !OTHER_PARTS.test(flag));
/** What an option needs beside it, so that it is accepted. */
const beside = (flag: string): string[] => {
  const { needs } = resolved.get(flag)!.declaration;
  const [need] = [needs ?? []].flat();
  const values: Record<string, string> = {
    "l1.beacon": "http://127.0.0.1:1",
    "l2.follow.source": "http://127.0.0.1:1",
    "pprof.type": "heap",
    "p2p.static": "/ip4/1.2.3.4/tcp/1/p2p/16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi",
    "signer.endpoint": "https://127.0.0.1:1",
  };
  const others = need === undefined ? [] : [`--${need.split("=")[0]}=${values[need] ?? "true"}`];
  const base = [
    ...(flag === "l2" ? [] : ["--l2=http://127.0.0.1:1"]),
    ...(flag === "signer.address" ? ["--signer.endpoint=https://127.0.0.1:1"] : []),
    ...(flag.startsWith("signer.") && flag !== "signer.address" ? [`--signer.address=0x${"11".repeat(20)}`] : []),
    ...(flag.startsWith("conductor.") ? ["--sequencer.enabled"] : []),
    ...(/^network|rollup.config$/.test(flag) ? [] : ["--network=op-sepolia"]),
  ];
  return [...base, ...others];
};
const inEffectOf = (flag: string, args: string[], env: Record<string, string> = {}): unknown => {
  const parsed = parseOptions(rnodeOptions, args, env);
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return parsed.inEffect.get(flag)!.value;
};

describe("each option of the reference", () => {
  it("has a row", () => {
    expect(Object.keys(EFFECTS).sort()).toEqual(ROWS.map(([flag]) => flag).sort());
  });

  it.each(ROWS)("--%s, RNODE_%s: parses, is not its default then, and is refused by name when wrong", (flag, suffix) => {
    const { right, wrong } = EFFECTS[flag]!;
    const { declaration, env } = resolved.get(flag)!;
    expect(env).toBe(`RNODE_${suffix}`);
    const byFlag = inEffectOf(flag, [...beside(flag), `--${flag}=${right}`]);
    expect(byFlag).not.toEqual(declaration.default);
    expect(inEffectOf(flag, beside(flag), { [env!]: right })).toEqual(byFlag);
    if (wrong === undefined) return;
    const told = parseOptions(rnodeOptions, [...beside(flag), `--${flag}=${wrong}`], {});
    expect(told.kind === "error" ? told.faults : []).toContainEqual(expect.stringMatching(`^--${flag}: `));
    const toldOfVariable = parseOptions(rnodeOptions, beside(flag), { [env!]: wrong });
    expect(toldOfVariable.kind === "error" ? toldOfVariable.faults : []).toContainEqual(expect.stringMatching(`^${env!}: `));
  });

  it.each(ROWS.filter(([flag]) => EFFECTS[flag]!.proof !== "here"))("--%s is tested where the row says", (flag) => {
    const { proof, effect } = EFFECTS[flag]!;
    const [file, words] = proof as [string, string];
    expect(effect.length).toBeGreaterThan(5);
    expect(readFileSync(join(import.meta.dirname, "../../..", file), "utf8")).toContain(words);
  });
});

describe("a running node", () => {
  let fixture: NodeFixture;
  const path = (name: string): string => fixture.path(name);
  const running: NodeFixture["running"] = (...args) => fixture.running(...args);
  beforeAll(async () => {
    fixture = await NodeFixture.open();
  });
  afterAll(() => fixture.close());

  const namespaces = async (call: (method: string) => Promise<unknown>): Promise<string[]> =>
    Object.keys((await call("rpc_modules")) as object);

  it("without options: no admin namespace, no test sequencer, no safe heads; peers", async () => {
    const p2p = [
      `--p2p.priv.path=${path("key")}`,
      "--p2p.peerstore.path=memory",
      "--p2p.no-discovery",
      "--p2p.listen.tcp=0",
      "--l1.trustrpc",
    ];
    await running([...p2p, "--log.level=silent"], async (call) => {
      expect(await namespaces(call)).toEqual(["health", "opp2p", "optimism", "rnode", "rnodep2p", "rpc", "superroot"]);
      await expect(call("admin_sequencerActive")).rejects.toMatchObject({ code: -32601 });
      await expect(call("rnode_safeHeadAtL1Block", "0x0")).rejects.toThrow("safe head database not enabled");
    });
  });

  it("with them", async () => {
    const args = [
      "--p2p.disable",
      "--rpc.enable-admin",
      "--sequencer.enabled",
      "--sequencer.stopped",
      `--rpc.admin-state=${path("state/admin.json")}`,
      "--experimental.sequencer-api",
      `--snapshotlog.file=${path("snapshots.jsonl")}`,
      `--safedb.path=${path("safe-heads")}`,
    ];
    await running([...args, "--log.level=silent"], async (call) => {
      expect(await namespaces(call)).toEqual(["admin", "health", "opstack", "optimism", "rnode", "rpc", "superroot"]); // --p2p.disable
      expect(await call("admin_sequencerActive")).toBe(false); // --sequencer.stopped
      expect(JSON.parse(readFileSync(path("state/admin.json"), "utf8"))).toEqual({ sequencerStarted: false });
      await call("admin_startSequencer");
      expect(JSON.parse(readFileSync(path("state/admin.json"), "utf8"))).toEqual({ sequencerStarted: true });
      await expect.poll(() => call("rnode_safeHeadAtL1Block", "0x0").catch(String)).toMatchObject({ safeHead: { number: 0 } });
      await expect.poll(() => readFileSync(path("snapshots.jsonl"), "utf8")).toContain("Rollup State Snapshot");
    });
  });

  it("with --syncmode=execution-layer waits for an unsafe block, says so, and starts no sequencer", async () => {
    const args = [
      "--p2p.disable",
      "--rpc.enable-admin",
      "--sequencer.enabled",
      "--sequencer.stopped",
      "--syncmode=execution-layer",
    ];
    await running([...args, "--log.level=silent"], async (call) => {
      const waits = /execution-layer sync: waiting for an unsafe block/;
      await expect(call("admin_startSequencer", L2_GENESIS_HASH)).rejects.toThrow(waits);
      await expect.poll(() => call("rnode_syncStatus")).toMatchObject({ unsafe_l2: { hash: L2_GENESIS_HASH } });
      expect(await call("admin_sequencerActive")).toBe(false);
    });
  });

  it("with --conductor.enabled starts stopped, and sequences once its conductor leads", async () => {
    const conductor = await new FakeConductor().listen();
    fixture.opened.push(conductor);
    conductor.isLeader = false;
    const args = [
      "--p2p.disable",
      "--rpc.enable-admin",
      "--sequencer.enabled",
      "--conductor.enabled",
      `--conductor.rpc=${conductor.url}`,
      "--conductor.rpc-timeout=200ms",
    ];
    await running([...args, "--log.level=silent"], async (call) => {
      expect(await call("admin_conductorEnabled")).toBe(true);
      expect(await call("admin_sequencerActive")).toBe(false);
      await expect(call("admin_startSequencer", L2_GENESIS_HASH)).rejects.toThrow("sequencer is not the leader, aborting");
      conductor.next.push(new Promise(() => {}));
      await expect(call("admin_startSequencer", L2_GENESIS_HASH)).rejects.toThrow(
        /^sequencer leader check failed: .*nothing within 200 ms/,
      );
      expect(await call("admin_sequencerActive")).toBe(false);
      conductor.isLeader = true;
      await expect(call("admin_startSequencer", GENESIS_HASH)).rejects.toThrow(
        `block hash does not match: head ${L2_GENESIS_HASH}:0, received ${GENESIS_HASH}`,
      );
      expect(await call("admin_startSequencer", L2_GENESIS_HASH)).toBeNull();
      expect(await call("admin_sequencerActive")).toBe(true);
      await expect(call("admin_startSequencer", L2_GENESIS_HASH)).rejects.toThrow("sequencer already running");
      expect(await call("admin_stopSequencer")).toBe(L2_GENESIS_HASH);
      await expect(call("admin_stopSequencer")).rejects.toThrow("sequencer not running");
      conductor.isLeader = false;
      expect(await call("admin_overrideLeader")).toBeNull();
      expect(await call("admin_startSequencer", L2_GENESIS_HASH)).toBeNull();
    });
  });

  it("with --signer.endpoint asks a remote signer how it is, over TLS, and waits for one that does not answer", async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue("rnode");
    for (const [name, text] of Object.entries({ ca: authority.cert, cert, key })) writeFileSync(path(`signer.${name}`), text);
    const signer = await new SignerServer({
      key: new Uint8Array(32).fill(0x11),
      tls: { ...authority.issue("signer"), clientCa: authority.cert },
    }).listen();
    fixture.opened.push(signer);
    const args = [
      `--p2p.priv.path=${path("signing-key")}`,
      ...["--p2p.peerstore.path=memory", "--p2p.no-discovery", "--p2p.listen.tcp=0", "--l1.trustrpc", "--log.level=silent"],
      `--signer.endpoint=${signer.url}`,
      `--signer.address=${bytesToHex(privateKeyToAddress(new Uint8Array(32).fill(0x11)))}`,
      "--signer.header=x-token=planted",
      ...["ca", "cert", "key"].map((name) => `--signer.tls.${name}=${path(`signer.${name}`)}`),
    ];
    await running(args, async () => {});
    expect(signer.asked).toEqual([expect.objectContaining({ method: "health_status" })]);
    expect(signer.asked[0]!.headers).toMatchObject({ "x-token": "planted" });
    await signer.close();
    await running(args, async (call) => {
      expect(await call("rnode_version")).toBeTruthy();
    });
  });

  it("with --log.pid has its process id in each line", () => {
    const lineOf = (args: string[]): string => {
      const lines: string[] = [];
      createLogger({ ...optionsOf(args).log, destination: { write: (line) => lines.push(line) } }).info("x");
      return lines.join("");
    };
    const pid = `pid=${process.pid}`;
    expect([lineOf([]).includes(pid), lineOf(["--log.pid"]).includes(pid)]).toEqual([false, true]);
  });

  it("with --l2.engine-rpc-timeout gives up an engine that says nothing", async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as { port: number };
    const connections = new Connections(optionsOf(["--l2.engine-rpc-timeout=50ms"], `http://127.0.0.1:${port}`), {
      config: testConfig(),
      engineSecret: { secret: new Uint8Array(32), path: "" },
      clock: systemClock,
      log: silentLogger,
      metrics: createL1Metrics(noMetrics),
    });
    try {
      await expect(connections.l2.chainId()).rejects.toThrow(/50 ms/);
    } finally {
      await connections.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => mute.close(resolve));
    }
  });
});

function optionsOf(args: string[], l2 = "http://127.0.0.1:1") {
  const parsed = parseOptions(rnodeOptions, [`--l2=${l2}`, "--network=op-sepolia", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}

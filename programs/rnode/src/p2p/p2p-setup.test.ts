import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { noMetrics, silentLogger } from "@rnode/observe";
import { connectionLimits } from "@rnode/p2p";
import { parseOptions, systemClock } from "@rnode/program";
import { openSigner } from "@rnode/signer";
import { describe, expect, it } from "vitest";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { p2pConfig } from "./p2p-setup.ts";

const folder = mkdtempSync(join(tmpdir(), "rnode-p2p-setup-"));
const keyFile = join(folder, "key");
writeFileSync(keyFile, "22".repeat(32));

const rollup = testConfig();
function rnodeOptionsOf(...args: string[]) {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://x", `--p2p.priv.path=${keyFile}`, ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}
const configOf = (...args: string[]) => p2pConfig(rnodeOptionsOf(...args).p2p, rollup, silentLogger);

describe("the network's configuration", () => {
  it("has the defaults of the protocol", () => {
    expect(configOf()).toEqual({
      rollup,
      networkKey: new Uint8Array(32).fill(0x22),
      listen: { ip: "0.0.0.0", tcpPort: 9222, udpPort: 0 },
      advertise: {},
      nat: false,
      discovery: { enabled: true, bootnodes: [], path: resolve("rnode_discovery_db") },
      staticPeers: [],
      netrestrict: [],
      peers: {
        low: 20,
        high: 30,
        graceMs: 30_000,
        path: resolve("rnode_peerstore_db"),
        scoring: "light",
        ban: { enabled: true, threshold: -100, durationMs: 3_600_000 },
      },
      gossip: { timestampThresholdMs: 60_000 },
      sync: { requestResponse: true, onlyRequestToStatic: false },
      userAgent: expect.stringMatching(/^rnode\/v/),
      limits: connectionLimits(30),
    });
  });

  it("follows every option", () => {
    const key =
      "ca2774c3c401325850b2477fd7d0f27911efbf79b1e8b335066516e2bd8c4c9e0ba9696a94b1cb030a88eac582305ff55e905e64fb77fe0edcd70a4e5296d3ec";
    const bootnodes = [`enode://${key}@34.65.175.185:30305`, `enode://${key}@[2001:db8::1]:30305?discport=30306`];
    const peer = "/ip4/1.2.3.4/tcp/1/p2p/16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi";
    expect(
      configOf(
        "--p2p.listen.ip=127.0.0.1",
        "--p2p.listen.tcp=2001",
        "--p2p.listen.udp=2002",
        "--p2p.advertise.ip=node.example",
        "--p2p.advertise.tcp=2003",
        "--p2p.advertise.udp=2004",
        "--p2p.nat",
        "--p2p.no-discovery",
        `--p2p.bootnodes=${bootnodes.join(",")}`,
        "--p2p.discovery.path=memory",
        `--p2p.static=${peer}`,
        "--p2p.netrestrict=10.0.0.0/8",
        "--p2p.peers.lo=2",
        "--p2p.peers.hi=3",
        "--p2p.peers.grace=4s",
        "--p2p.peerstore.path=memory",
        "--p2p.scoring=none",
        "--p2p.ban.peers=true",
        "--p2p.ban.threshold=-5",
        "--p2p.ban.duration=6s",
        "--p2p.gossip.timestamp.threshold=7s",
        "--p2p.sync.req-resp=false",
        "--p2p.sync.onlyreqtostatic",
      ),
    ).toMatchObject({
      listen: { ip: "127.0.0.1", tcpPort: 2001, udpPort: 2002 },
      advertise: { ip: "node.example", tcpPort: 2003, udpPort: 2004 },
      nat: true,
      discovery: { enabled: false, bootnodes, path: undefined },
      staticPeers: [peer],
      netrestrict: ["10.0.0.0/8"],
      peers: {
        low: 2,
        high: 3,
        graceMs: 4_000,
        path: undefined,
        scoring: "none",
        ban: { enabled: true, threshold: -5, durationMs: 6_000 },
      },
      gossip: { timestampThresholdMs: 7_000 },
      sync: { requestResponse: false, onlyRequestToStatic: true },
      limits: connectionLimits(3),
    });
  });

  it("names the option of a bad key file", () => {
    const empty = join(folder, "empty");
    writeFileSync(empty, "");
    expect(() => configOf(`--p2p.priv.path=${empty}`)).toThrow(/^--p2p.priv.path: .*empty is empty: expected 64 hex digits/);
  });

  it("has a signer only with the sequencer's key", async () => {
    const deps = { clock: systemClock, log: silentLogger, metrics: noMetrics };
    const addressWith = async (...args: string[]) => {
      const { p2p, signer } = rnodeOptionsOf(...args);
      return (await openSigner(p2p.sequencerKey, signer, deps))?.address;
    };
    expect(await addressWith()).toBeUndefined();
    const key = join(folder, "sequencer");
    writeFileSync(key, "33".repeat(32));
    const fromText = await addressWith(`--p2p.sequencer.key=${"33".repeat(32)}`);
    expect(await addressWith(`--p2p.sequencer.key-file=${key}`)).toEqual(fromText);
    expect(fromText).toHaveLength(20);
  });
});

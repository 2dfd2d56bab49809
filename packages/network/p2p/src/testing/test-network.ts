import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { connectionLimits, type P2PConfig } from "../network.ts";

/** A network's configuration for loopback: any free port, everything in memory, no discovery. */
export function testP2PConfig(rollup: RollupConfig, key: number, over: Partial<P2PConfig> = {}): P2PConfig {
  return {
    rollup,
    networkKey: new Uint8Array(32).fill(key),
    listen: { ip: "127.0.0.1", tcpPort: 0, udpPort: 0 },
    advertise: {},
    nat: false,
    discovery: { enabled: false, bootnodes: [] },
    staticPeers: [],
    netrestrict: [],
    peers: { low: 20, high: 30, graceMs: 30_000, scoring: "light", ban: { enabled: true, threshold: -100, durationMs: 3_600_000 } },
    gossip: { timestampThresholdMs: 60_000 },
    sync: { requestResponse: true, onlyRequestToStatic: false },
    userAgent: "rnode/test",
    limits: { ...connectionLimits(30), maxOfAddress: 1_000, acceptsPerSecOfAddress: 1_000, acceptsPerSec: 1_000 },
    ...over,
  };
}

/** Blocks that came out of a network, for tests that wait for them. */
export class ReceivedBlocks {
  readonly blocks: { readonly envelope: ExecutionPayloadEnvelope; readonly from: string }[] = [];
  #waiting: (() => void)[] = [];

  readonly add = (envelope: ExecutionPayloadEnvelope, from: string): void => {
    this.blocks.push({ envelope, from });
    for (const wake of this.#waiting.splice(0)) wake();
  };

  async until(count: number): Promise<this["blocks"]> {
    while (this.blocks.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.blocks;
  }
}

/** A new temporary folder. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "rnode-p2p-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

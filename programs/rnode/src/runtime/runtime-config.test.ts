import { L1Error } from "@rnode/l1";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import type { SignalledVersions } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { RuntimeConfig, type RuntimeConfigDeps } from "./runtime-config.ts";

const CONTRACT = new Uint8Array(20).fill(0x5c);
const VERSIONS = new Uint8Array(20).fill(0x77);
const signerOf = (byte: number) => new Uint8Array(20).fill(byte);
const wordOf = (byte: number) => new Uint8Array(32).fill(byte, 12);

/** L1 with a head, and a signer; `failures` attempts fail first. */
function setUp({
  head = 100,
  l1Confs = 4,
  reloadIntervalMs = 600_000,
  failures = 0,
  onVersions = undefined as RuntimeConfigDeps["onVersions"],
  wantsSigner = true,
} = {}) {
  const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  const { log, logs } = recordingLogger();
  const state = { head, signer: 0xaa, failures, isProven: true };
  const reads: { readonly contract: string; readonly slot: string; readonly block: number }[] = [];
  const signers: string[] = [];
  let attempted = () => {};
  const l1 = {
    blockByLabel: () => Promise.resolve({ number: state.head }),
    blockByNumber: (number: number) => Promise.resolve({ number }),
    storageAt(contract: Uint8Array, slot: Uint8Array, block: { readonly number: number }) {
      queueMicrotask(attempted);
      reads.push({ contract: bytesToHex(contract), slot: bytesToHex(slot), block: block.number });
      if (state.failures-- > 0) return Promise.reject(new L1Error("l1/unavailable", { what: "storage", reason: "L1 is away" }));
      return Promise.resolve({ value: wordOf(state.signer), isProven: state.isProven });
    },
  } as unknown as RuntimeConfigDeps["l1"];
  const runtime = new RuntimeConfig(
    { l1: { runtimeConfigReloadIntervalMs: reloadIntervalMs }, verifier: { l1Confs } },
    {
      config: { l1SystemConfigAddress: CONTRACT, protocolVersionsAddress: VERSIONS },
      l1,
      clock,
      log,
      onSigner: wantsSigner ? (signer) => signers.push(bytesToHex(signer)) : undefined,
      onVersions,
    },
  );
  /** Moves the clock, and waits until L1 was asked. */
  const advance = async (ms: number): Promise<void> => {
    const asked = new Promise<void>((resolve) => (attempted = resolve));
    clock.advance(ms);
    await asked;
    await settled();
  };
  return { runtime, state, clock, logs, reads, signers, advance };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the runtime configuration", () => {
  it("reads the signer's slot of SystemConfig, some confirmations behind the L1 head", async () => {
    const { runtime, reads, signers } = setUp();
    await runtime.start();
    expect(reads).toEqual([
      {
        contract: bytesToHex(CONTRACT),
        slot: "0x65a7ed542fb37fe237fdfbdd70b31598523fe5b32879e307bae27a0bd9581c08",
        block: 96,
      },
    ]);
    expect(signers).toEqual([bytesToHex(signerOf(0xaa))]);
    await runtime.close();
  });

  it.each([
    [3, 4, 3],
    [4, 4, 0],
    [0, 4, 0],
    [100, 0, 100],
  ])("with L1 head %i and %i confirmations reads block %i", async (head, l1Confs, block) => {
    const { runtime, reads } = setUp({ head, l1Confs });
    await runtime.start();
    expect(reads[0]?.block).toBe(block);
    await runtime.close();
  });

  it("tries five times at the start, ten seconds apart, and then says what to do", async () => {
    const { runtime, advance, reads, signers } = setUp({ failures: 5 });
    const failed = expect(runtime.start()).rejects.toThrow(
      /unsafe block signer cannot be read from L1 .*L1 is away.*eth_getProof.*--l1\.trustrpc/,
    );
    await settled();
    for (let attempt = 2; attempt <= 5; attempt++) await advance(10_000);
    await failed;
    expect([reads.length, signers.length]).toEqual([5, 0]);
  });

  it("starts when the fifth attempt succeeds", async () => {
    const { runtime, advance, signers, logs } = setUp({ failures: 4 });
    const started = runtime.start();
    await settled();
    for (let attempt = 2; attempt <= 5; attempt++) await advance(10_000);
    await started;
    expect(signers).toHaveLength(1);
    expect(logs.filter(({ level }) => level === "warn")).toHaveLength(4);
    await runtime.close();
  });

  it("reads again at intervals, and tells of changes only", async () => {
    const { runtime, advance, state, signers } = setUp();
    await runtime.start();
    await advance(600_000);
    expect(signers).toHaveLength(1);
    state.signer = 0xbb;
    await advance(600_000);
    expect(signers).toEqual([bytesToHex(signerOf(0xaa)), bytesToHex(signerOf(0xbb))]);
    await runtime.close();
  });

  it("keeps what it knows when it cannot read again", async () => {
    const { runtime, advance, state, signers, logs } = setUp();
    await runtime.start();
    state.failures = 1;
    state.signer = 0xbb;
    await advance(600_000);
    expect(signers).toHaveLength(1);
    expect(logs.at(-1)).toMatchObject({ level: "warn", fields: { reason: expect.stringContaining("L1 is away") } });
    await advance(600_000);
    expect(signers).toHaveLength(2);
    await runtime.close();
  });

  it("does not read again with an interval of 0", async () => {
    const { runtime, clock, reads } = setUp({ reloadIntervalMs: 0 });
    await runtime.start();
    clock.advance(10_000_000);
    await settled();
    expect(reads).toHaveLength(1);
    await runtime.close();
  });

  it("says what the value was checked by, and warns where L1 names no signer", async () => {
    const { runtime, state, logs, signers, advance } = setUp();
    state.isProven = false;
    await runtime.start();
    expect(logs.at(-1)).toMatchObject({ level: "info", fields: { checkedBy: "nothing (--l1.trustrpc)", l1Block: 96 } });
    Object.assign(state, { signer: 0, isProven: true });
    await advance(600_000);
    expect(logs.at(-1)).toMatchObject({ level: "warn", fields: { checkedBy: "eth_getProof" } });
    expect(hexToBytes(signers.at(-1)!)).toEqual(new Uint8Array(20));
    await runtime.close();
  });

  it("reads the protocol versions with each load, and ends when their user throws", async () => {
    const seen: SignalledVersions[] = [];
    const { runtime, reads, advance } = setUp({
      wantsSigner: false,
      onVersions: async (versions) => {
        seen.push(versions);
        if (seen.length === 2) throw new Error("halt");
      },
    });
    const { ended } = await runtime.start();
    expect(reads).toEqual([
      {
        contract: bytesToHex(VERSIONS),
        slot: "0x4aaefe95bd84fd3f32700cf3b7566bc944b73138e41958b5785826df2aecace0",
        block: 96,
      },
      {
        contract: bytesToHex(VERSIONS),
        slot: "0xe314dfc40f0025322aacc0ba8ef420b62fb3b702cf01e0cdf3d829117ac2ff1a",
        block: 96,
      },
    ]);
    expect(seen).toEqual([{ required: wordOf(0xaa), recommended: wordOf(0xaa) }]);
    await advance(600_000);
    await expect(ended).rejects.toThrow("halt");
    await runtime.close();
  });

  it("ends at once when it is closed, at the start too", async () => {
    const { runtime } = setUp({ failures: 5 });
    const started = runtime.start();
    await settled();
    await runtime.close();
    await started;
  });
});

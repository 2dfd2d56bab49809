import { createMetrics } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { type BlobTransaction, L1_DATA_PRICINGS } from "@rnode/protocol";
import { type Signer, SignerError } from "@rnode/signer";
import { describe, expect, it } from "vitest";
import type { SendOutcome, TransactionManagerOptions } from "./api.ts";
import { SimL1 } from "./testing/sim-l1.ts";
import { SIM_SIGNER, simManager } from "./testing/sim-manager.ts";
import type { TxCandidate } from "./tx-candidate.ts";
import { createTxMetrics } from "./tx-metrics.ts";

const GWEI = 10n ** 9n;
const TWO_DEEP = { confirmations: 2 };
const CALL = { to: new Uint8Array(20).fill(0xff), data: Uint8Array.of(0, 1, 2, 0, 3) };
const blobOf = (byte: number): Uint8Array => new Uint8Array(131_072).fill(byte, 1, 32);
const blobsOf = (...bytes: number[]): TxCandidate => ({ to: CALL.to, carries: { kind: "blobs", blobs: bytes.map(blobOf) } });
const calldata = (data: Uint8Array): TxCandidate => ({ to: CALL.to, carries: { kind: "calldata", data } });

function setUp(options: Partial<TransactionManagerOptions> = {}, signer: Signer = SIM_SIGNER) {
  const clock = new SimClock();
  const l1 = new SimL1();
  const deps = { l1, signer, clock };
  const manager = simManager(deps, { ...TWO_DEEP, ...options });
  const stop = new AbortController();
  const send = (candidate: Uint8Array | TxCandidate = CALL.data): { outcome: SendOutcome | undefined } => {
    const sending: { outcome: SendOutcome | undefined } = { outcome: undefined };
    void manager.send(candidate instanceof Uint8Array ? calldata(candidate) : candidate, stop.signal).then((outcome) => {
      sending.outcome = outcome;
    });
    return sending;
  };
  return { clock, l1, manager, send, stop, deps };
}

describe("TransactionManager", () => {
  it("publishes at the suggested fees with gas for the data, and waits for the depth", async () => {
    const { clock, l1, send } = setUp();
    const sending = send();
    await clock.advance(0);
    expect(l1.pool.get(0n)).toMatchObject({
      chainId: 900n,
      nonce: 0n,
      to: CALL.to,
      data: CALL.data,
      value: 0n,
      maxPriorityFeePerGas: GWEI,
      maxFeePerGas: 21n * GWEI,
      gasLimit: 21_000n + 10n * (2n + 3n * 4n), // the floor of EIP-7623
    });
    l1.mine();
    await clock.advance(5000);
    expect(sending.outcome).toBeUndefined(); // one block deep
    l1.mine();
    await clock.advance(5000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed", inclusion: { blockNumber: 1 } });
    expect(l1.transactions).toHaveLength(1);
  });

  it.each([
    ["--txmgr.max-tip-cap", { maxTipWei: 2n * GWEI }, { tip: 3n * GWEI }, { tip: 2n * GWEI }],
    ["--txmgr.max-basefee", { maxBaseFeeWei: 20n * GWEI }, { baseFee: 21n * GWEI }, { baseFee: 20n * GWEI }],
  ] as const)("sends nothing while L1 asks more than %s", async (_, options, dear, cheap) => {
    const { clock, l1, send } = setUp(options);
    Object.assign(l1, dear);
    const sending = send();
    await clock.advance(30_000);
    expect(l1.pool.size).toBe(0);
    Object.assign(l1, cheap);
    await clock.advance(2_000);
    expect(l1.pool.size).toBe(1);
    l1.mine();
    l1.mine();
    await clock.advance(5_000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });

  it("takes the texts of --txmgr.already-published-custom-errs for success", async () => {
    const { clock, l1, send } = setUp({ alreadyPublishedErrors: ["seen before"], safeAbortNonceTooLowCount: 50 });
    let answers = 0;
    const given = l1.send.bind(l1);
    l1.send = async (raw) => {
      answers++;
      await given(raw);
      return { verdict: "refused", message: "tx 0x12 was seen before, it is" };
    };
    const sending = send();
    await clock.advance(10_000);
    expect([l1.pool.size, answers]).toEqual([1, 1]);
    l1.mine();
    l1.mine();
    await clock.advance(5_000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });

  it("replaces a transaction that is not included, a tenth dearer each time", async () => {
    const { clock, l1, send } = setUp();
    const sending = send();
    await clock.advance(0);
    l1.baseFee = 30n * GWEI;
    l1.includes = false;
    const caps: bigint[] = [];
    for (let i = 0; i < 3; i++) {
      caps.push(l1.pool.get(0n)!.maxFeePerGas);
      l1.mine();
      await clock.advance(48_000);
    }
    expect(caps).toEqual([21n * GWEI, 61_100_000_000n, 67_210_000_000n]);
    l1.includes = true;
    l1.mine();
    l1.mine();
    await clock.advance(2000);
    expect(l1.transactions).toHaveLength(1);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });

  it("outbids what another process left in the pool with its nonce", async () => {
    const { clock, l1, send, deps } = setUp();
    l1.includes = false;
    l1.tip = 3n * GWEI;
    const before = simManager(deps, TWO_DEEP);
    const old = new AbortController();
    void before.send(calldata(Uint8Array.of(9)), old.signal);
    await clock.advance(0);
    old.abort();
    l1.tip = GWEI;
    const sending = send();
    await clock.advance(60_000);
    expect(l1.pool.get(0n)?.data).toEqual(CALL.data);
    l1.includes = true;
    l1.mine();
    l1.mine();
    await clock.advance(2000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
    expect(l1.transactions.map(({ data }) => data)).toEqual([CALL.data]);
  });

  it("does not pay more than the limit", async () => {
    const { clock, l1, send } = setUp({ feeLimitThresholdWei: 0n, sendTimeoutMs: 0 });
    send();
    l1.includes = false;
    for (let i = 0; i < 60; i++) {
      l1.mine();
      await clock.advance(48_000);
    }
    const cap = l1.pool.get(0n)!.maxFeePerGas;
    expect(cap).toBeGreaterThan(80n * GWEI);
    expect(cap).toBeLessThanOrEqual(105n * GWEI); // five times 21
  });

  it("finds a transaction whose acceptance it never heard of", async () => {
    const { clock, l1, send } = setUp();
    l1.losesAnswers = true;
    const sending = send();
    await clock.advance(0);
    l1.mine();
    l1.losesAnswers = false;
    l1.mine();
    await clock.advance(60_000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed", inclusion: { blockNumber: 1 } });
    expect(l1.transactions).toHaveLength(1);
  });

  it("follows a reorganisation, whether its transaction comes back or not", async () => {
    for (const isLost of [false, true]) {
      const { clock, l1, send } = setUp();
      const sending = send();
      await clock.advance(0);
      l1.mine();
      await clock.advance(5000);
      l1.reorg(1, isLost);
      await clock.advance(120_000);
      expect(sending.outcome).toBeUndefined();
      l1.mine();
      l1.mine();
      await clock.advance(5000);
      expect(sending.outcome).toMatchObject({ kind: "confirmed", inclusion: { blockNumber: 3 } });
      expect(l1.transactions).toHaveLength(1);
    }
  });

  it("publishes a transaction again as soon as a reorganisation has lost it", async () => {
    const { clock, l1, send } = setUp();
    send();
    await clock.advance(0);
    l1.mine();
    await clock.advance(2000);
    l1.reorg(1, true);
    expect(l1.pool.size).toBe(0);
    await clock.advance(2000);
    expect(l1.pool.get(0n)?.maxFeePerGas).toBe(21n * GWEI); // the same one, at the same price
  });

  it("gives up a transaction whose predecessors a reorganisation has lost", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    for (let i = 0; i < 2; i++) {
      send();
      await clock.advance(1000);
      l1.mine();
      await clock.advance(2000);
    }
    const sending = send();
    await clock.advance(1000);
    l1.mine();
    l1.reorg(3, true);
    await clock.advance(6000);
    expect(sending.outcome).toEqual({ kind: "failed", reason: "nonce-gap", isPublished: true });
    const next = send(Uint8Array.of(5));
    await clock.advance(1000);
    l1.mine();
    await clock.advance(2000);
    expect(next.outcome).toMatchObject({ kind: "confirmed" });
    expect(l1.transactions[0]).toMatchObject({ nonce: 0n, data: Uint8Array.of(5) });
  });

  it("waits for predecessors that are under way", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    l1.accountBalance = 1n;
    const first = send();
    await clock.advance(1000);
    const second = send();
    await clock.advance(30_000);
    l1.accountBalance = 10n ** 18n;
    await clock.advance(5000);
    l1.mine();
    await clock.advance(5000);
    expect([first.outcome?.kind, second.outcome?.kind]).toEqual(["confirmed", "confirmed"]);
  });

  it("notices that somebody else has its nonce", async () => {
    const { clock, l1, send } = setUp();
    const sending = send();
    await clock.advance(0);
    const own = l1.pool.get(0n)!;
    l1.pool.set(0n, { ...own, data: Uint8Array.of(1) });
    l1.mine();
    await clock.advance(60_000);
    expect(sending.outcome).toEqual({ kind: "nonce-consumed", nonce: 0n });
  });

  it("notices that somebody else has its nonce although the pool never took its own transaction", async () => {
    const { clock, l1, send, deps } = setUp();
    l1.tip = 60n * GWEI; // more than the fee limit allows to outbid
    void simManager(deps, TWO_DEEP).send(calldata(Uint8Array.of(9)), new AbortController().signal);
    await clock.advance(0);
    l1.tip = GWEI;
    const sending = send();
    await clock.advance(5000);
    l1.mine();
    await clock.advance(5000);
    expect(sending.outcome).toEqual({ kind: "nonce-consumed", nonce: 0n });
  });

  it("says that no pool takes the transaction, and why", async () => {
    const { clock, l1, send } = setUp();
    l1.accountBalance = 1n;
    const sending = send();
    await clock.advance(110_000);
    expect(sending.outcome).toBeUndefined();
    await clock.advance(20_000);
    expect(sending.outcome).toEqual({ kind: "failed", reason: "not-in-mempool", isPublished: false });
  });

  it("gives a stuck transaction up after a time, and the next one takes its nonce for more", async () => {
    const { clock, l1, send } = setUp({ sendTimeoutMs: 60_000 });
    l1.includes = false;
    const first = send();
    await clock.advance(61_000);
    expect(first.outcome).toEqual({ kind: "failed", reason: "send-timeout", isPublished: true });
    const stuck = l1.pool.get(0n)!;
    send(Uint8Array.of(5));
    await clock.advance(0);
    const next = l1.pool.get(0n)!;
    expect(next.data).toEqual(Uint8Array.of(5));
    expect(next.maxFeePerGas * 10n).toBeGreaterThanOrEqual(stuck.maxFeePerGas * 11n);
  });

  it.each([
    ["blobs", blobsOf(1), blobsOf(2)],
    ["calldata", calldata(CALL.data), calldata(Uint8Array.of(5))],
  ])("is not held up by the price of an abandoned transaction that the pool has lost: %s", async (_, candidate, later) => {
    const { clock, l1, send } = setUp({ sendTimeoutMs: 150_000, feeLimitThresholdWei: GWEI });
    Object.assign(l1, { includes: false, baseFee: 200n * GWEI, blobBaseFee: 100n * GWEI });
    const first = send(candidate);
    await clock.advance(151_000);
    expect(first.outcome).toEqual({ kind: "failed", reason: "send-timeout", isPublished: true });
    Object.assign(l1, { includes: true, baseFee: 10n * GWEI, blobBaseFee: GWEI });
    const second = send(later);
    await clock.advance(50_000);
    expect(l1.pool.get(0n)!.maxFeePerGas).toBe(401n * GWEI); // the abandoned one is still there, and too dear to replace
    l1.pool.clear();
    await clock.advance(49_000);
    expect(l1.pool.get(0n)!.maxFeePerGas).toBe(21n * GWEI);
    l1.mine();
    l1.mine();
    await clock.advance(5000);
    expect(second.outcome).toMatchObject({ kind: "confirmed", nonce: 0n });
  });

  it("waits for an L1 that is away", async () => {
    const { clock, l1, send } = setUp();
    l1.isDown = true;
    const sending = send();
    await clock.advance(30_000);
    l1.isDown = false;
    await clock.advance(5000);
    l1.mine();
    l1.isDown = true;
    await clock.advance(30_000);
    l1.isDown = false;
    l1.mine();
    await clock.advance(5000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
    expect(l1.transactions).toHaveLength(1);
  });

  it("gives transactions under way ascending nonces in the order of the calls", async () => {
    const { clock, l1, send } = setUp();
    const all = [1, 2, 3].map((byte) => send(Uint8Array.of(byte)));
    await clock.advance(1000);
    l1.mine();
    l1.mine();
    await clock.advance(5000);
    expect(all.map(({ outcome }) => outcome?.kind)).toEqual(["confirmed", "confirmed", "confirmed"]);
    expect(l1.transactions.map(({ nonce, data }) => [nonce, data[0]])).toEqual([
      [0n, 1],
      [1n, 2],
      [2n, 3],
    ]);
  });

  it("stops when asked to", async () => {
    const { clock, l1, send, stop } = setUp();
    l1.includes = false;
    const sending = send();
    await clock.advance(1000);
    stop.abort();
    await clock.advance(0);
    expect(sending.outcome).toEqual({ kind: "cancelled" });
  });

  it("publishes blobs with their sidecar, and doubles what it offers to replace them", async () => {
    const { clock, l1, send } = setUp();
    const blobs = [blobOf(1), blobOf(2)];
    l1.includes = false;
    l1.blobBaseFee = 3n * GWEI;
    const sending = send({ to: CALL.to, carries: { kind: "blobs", blobs } });
    await clock.advance(0);
    expect(l1.pool.get(0n)).toMatchObject({
      type: 0x03,
      data: new Uint8Array(0),
      gasLimit: 21_000n,
      maxFeePerGas: 21n * GWEI,
      maxFeePerBlobGas: 6n * GWEI,
    });
    expect((l1.pool.get(0n) as BlobTransaction).blobVersionedHashes.map((hash) => l1.blobs.get(bytesToHex(hash)))).toEqual(blobs);
    l1.mine();
    await clock.advance(48_000);
    expect(l1.pool.get(0n)).toMatchObject({
      maxPriorityFeePerGas: 2n * GWEI,
      maxFeePerGas: 42n * GWEI,
      maxFeePerBlobGas: 12n * GWEI,
    });
    l1.includes = true;
    l1.mine();
    l1.mine();
    await clock.advance(2000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });

  it("waits until L1 asks no more than the transaction may offer", async () => {
    const { clock, l1, send } = setUp();
    send({ ...calldata(CALL.data), maxFeeCapWei: 15n * GWEI, gasLimit: 50_000n });
    await clock.advance(47_000);
    expect(l1.pool.size).toBe(0);
    l1.baseFee = 7n * GWEI;
    await clock.advance(2000);
    expect(l1.pool.get(0n)).toMatchObject({ maxFeePerGas: 15n * GWEI, gasLimit: 50_000n });
  });

  it("waits for a signer that is away", async () => {
    let isAway = true;
    const signer: Signer = {
      ...SIM_SIGNER,
      signTransaction: (tx) => (isAway ? Promise.reject(new SignerError("signer/unavailable")) : SIM_SIGNER.signTransaction(tx)),
    };
    const { clock, l1, send } = setUp({}, signer);
    send();
    await clock.advance(10_000);
    expect(l1.pool.size).toBe(0);
    isAway = false;
    await clock.advance(2000);
    expect(l1.pool.size).toBe(1);
  });

  it("pays no more while L1 makes no blocks", async () => {
    const { clock, l1, send } = setUp({ sendTimeoutMs: 0 });
    const sending = send();
    await clock.advance(3_600_000);
    expect(l1.pool.get(0n)?.maxFeePerGas).toBe(21n * GWEI);
    l1.mine();
    l1.mine();
    await clock.advance(2000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });

  it("sends a transaction that the pool has forgotten again at the same price", async () => {
    const { clock, l1, send } = setUp();
    send();
    await clock.advance(0);
    l1.pool.clear();
    await clock.advance(2000);
    expect(l1.pool.get(0n)?.maxFeePerGas).toBe(21n * GWEI);
  });

  it("offers proofs of cells where a pool wants them, and remembers it", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    l1.sidecarVersion = 1;
    for (const byte of [1, 2]) {
      const sending = send(blobsOf(byte));
      await clock.advance(0);
      l1.mine();
      await clock.advance(2000);
      expect(sending.outcome).toMatchObject({ kind: "confirmed" });
    }
  });

  it("cancels what is left in the pool of the other kind, whichever it is", async () => {
    for (const [old, next] of [
      [calldata(Uint8Array.of(9)), blobsOf(1)],
      [blobsOf(1), calldata(Uint8Array.of(9))],
    ] as const) {
      const { clock, l1, send, deps } = setUp({ confirmations: 1 });
      l1.includes = false;
      const left = new AbortController();
      void simManager(deps, TWO_DEEP).send(old, left.signal);
      await clock.advance(0);
      left.abort();
      const sending = send(next);
      await clock.advance(10_000);
      expect(l1.pool.get(0n)).toMatchObject({ to: SIM_SIGNER.address, type: old.carries.kind === "blobs" ? 0x03 : 0x02 });
      l1.includes = true;
      l1.mine();
      await clock.advance(10_000);
      l1.mine();
      await clock.advance(2000);
      expect(sending.outcome).toMatchObject({ kind: "confirmed", nonce: 1n });
      expect(l1.transactions.map(({ to }) => to)).toEqual([SIM_SIGNER.address, CALL.to]);
    }
  });

  it("waits for its own transactions of the other kind, and cancels none", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    const first = send();
    await clock.advance(1000);
    const second = send(blobsOf(1));
    await clock.advance(10_000);
    expect([...l1.pool.values()].map(({ type }) => type)).toEqual([0x02]);
    l1.mine();
    await clock.advance(5000);
    l1.mine();
    await clock.advance(5000);
    expect([first.outcome, second.outcome]).toMatchObject([
      { kind: "confirmed", nonce: 0n },
      { kind: "confirmed", nonce: 1n },
    ]);
  });

  // The price of data rises while transactions wait: earlier transactions must still be valid.
  it.each([0, 1, 54, 250, 251, 5000, 100_000])("carries %i bytes over the L1 fork that makes them dearer", async (size) => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    const [zeroes, others] = [new Uint8Array(size), new Uint8Array(size).fill(1)];
    const sent = [send(calldata(zeroes)), send(calldata(others))];
    await clock.advance(1000);
    expect(l1.pool.size).toBe(2);
    l1.dataPricing = L1_DATA_PRICINGS[2];
    l1.mine();
    await clock.advance(20_000);
    expect(sent.map(({ outcome }) => outcome)).toMatchObject([{ kind: "confirmed" }, { kind: "confirmed" }]);
    for (const tx of l1.transactions)
      expect(tx.gasLimit).toBe(BigInt(Math.max(15_000 + 64 * size, 21_000 + (tx.data[0] === 1 ? 40 : 10) * size)));
  });

  it("sends blobs after the fork, without data", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    l1.dataPricing = L1_DATA_PRICINGS[2];
    const { outcome } = await (async () => {
      const sent = send(blobsOf(1));
      await clock.advance(1000);
      expect(l1.pool.get(0n)).toMatchObject({ type: 0x03, gasLimit: 21_000n });
      l1.mine();
      await clock.advance(20_000);
      return sent;
    })();
    expect(outcome).toMatchObject({ kind: "confirmed" });
  });

  it("takes the gas limit that L1 estimates, and a tenth more, with the value", async () => {
    const { clock, l1, send } = setUp();
    send({ ...calldata(CALL.data), gasLimit: "estimated", value: 5n });
    await clock.advance(0);
    expect(l1.pool.get(0n)).toMatchObject({ gasLimit: 110_000n, value: 5n });
  });

  it("counts fees in the units of its metrics", async () => {
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const { clock, l1, deps } = setUp();
    const manager = simManager({ ...deps, metrics: createTxMetrics(metrics) });
    const sent = manager.send(calldata(new Uint8Array(1000).fill(1)), new AbortController().signal);
    await clock.advance(1000);
    l1.mine();
    await clock.advance(5000);
    await sent;
    const { body } = await metrics.expose();
    const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, "m").exec(body)?.[1]);
    // 21,000 + 40 × 1000 gas at a base fee of 10 gwei and a tip of 1 gwei; the cap is tip + 2 × base fee.
    expect(value("txmgr_tx_fee_gwei")).toBe(61_000 * 11);
    expect(value("txmgr_tx_fee_gwei_total")).toBe(61_000 * 11);
    expect(value("txmgr_fee_cap_gwei")).toBe(21);
    expect(value("txmgr_basefee_wei")).toBe(10e9);
    expect(value("txmgr_tipcap_wei")).toBe(1e9);
  });

  it("asks for an estimate again when it replaces, and keeps the former one if there is none", async () => {
    const { clock, l1, send } = setUp();
    l1.includes = false;
    send({ ...calldata(CALL.data), gasLimit: "estimated" });
    await clock.advance(0);
    const limits: (bigint | undefined)[] = [];
    for (const estimate of [300_000n, undefined, 200_000n]) {
      l1.gasEstimate = estimate;
      l1.mine();
      await clock.advance(49_000);
      limits.push(l1.pool.get(0n)?.gasLimit);
    }
    expect(limits).toEqual([330_000n, 330_000n, 330_000n]);
  });

  it("asks L1 for the gas when a price of data that it does not know applies", async () => {
    const { clock, l1, send } = setUp({ confirmations: 1 });
    l1.dataPricing = { baseGas: 30_000, valueGas: 0, floorGasPerZero: 100, floorGasPerNonzero: 100 };
    l1.gasEstimate = 30_000n + 100n * 5n;
    const sending = send(calldata(CALL.data));
    await clock.advance(3000);
    expect(l1.pool.get(0n)?.gasLimit).toBe(33_550n);
    l1.mine();
    await clock.advance(5000);
    expect(sending.outcome).toMatchObject({ kind: "confirmed" });
  });
});

import { createLogger, noMetrics } from "@rnode/observe";
import { privateKeyToAddress } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { RemoteSigner } from "@rnode/signer";
import { SignerServer } from "@rnode/signer/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SendOutcome } from "./api.ts";
import { SimL1 } from "./testing/sim-l1.ts";
import { simManager } from "./testing/sim-manager.ts";
import type { TxCandidate } from "./tx-candidate.ts";

const KEY = new Uint8Array(32).fill(0x11);
const to = new Uint8Array(20).fill(0xff);
const blob = new Uint8Array(131_072).fill(7, 1, 32);

/** The manager in real time, as signatures come over HTTP. */
async function setUp() {
  const remote = await new SignerServer({ key: KEY }).listen();
  const lines: string[] = [];
  const log = createLogger({ level: "info", format: "logfmt", color: false, destination: { write: (line) => lines.push(line) } });
  const files = { tlsEnabled: false, tlsCa: "", tlsCert: "", tlsKey: "" };
  const signer = await RemoteSigner.open(
    { endpoint: remote.url, address: privateKeyToAddress(KEY), header: [], ...files },
    { clock: systemClock, log, metrics: noMetrics, timeoutMs: 1_000 },
  );
  const l1 = new SimL1();
  const manager = simManager({ l1, signer, clock: systemClock, log }, { receiptQueryIntervalMs: 20 });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await signer.close();
    await remote.close();
  });
  const send = (candidate: TxCandidate): Promise<SendOutcome> => manager.send(candidate, stop.signal);
  return { remote, l1, send, lines };
}

describe("transactions that a remote signer signs", () => {
  it.each<[string, TxCandidate]>([
    ["calldata", { to, carries: { kind: "calldata", data: Uint8Array.of(1, 2, 3) } }],
    ["blobs", { to, carries: { kind: "blobs", blobs: [blob, blob] } }],
  ])("are sent with %s", async (_, candidate) => {
    const { l1, send } = await setUp();
    const sending = send(candidate);
    await expect.poll(() => l1.pool.size).toBe(1);
    l1.mine();
    expect(await sending).toMatchObject({ kind: "confirmed" });
  });

  it.each<[string, (remote: SignerServer) => void, (remote: SignerServer) => void, RegExp]>([
    [
      "hangs",
      (remote) => (remote.alter = () => new Promise(() => {})),
      (remote) => (remote.alter = (result) => result),
      /does not answer: nothing within 1000 ms/,
    ],
    [
      "signs as another",
      (remote) => (remote.key = new Uint8Array(32).fill(0x22)),
      (remote) => (remote.key = KEY),
      /gave a wrong answer, which is not used: it signed as 0x1563/,
    ],
  ])("wait while it %s, say why once, and are sent when it is fine", async (_, harm, heal, reason) => {
    const { remote, l1, send, lines } = await setUp();
    harm(remote);
    const sending = send({ to, carries: { kind: "calldata", data: Uint8Array.of(1) } });
    await expect.poll(() => remote.asked.length).toBeGreaterThan(2); // its health, and two attempts
    expect(l1.pool.size).toBe(0);
    const said = lines.filter((line) => line.includes("cannot be sent for now"));
    expect(said).toEqual([expect.stringMatching(reason)]);
    heal(remote);
    await expect.poll(() => l1.pool.size).toBe(1);
    l1.mine();
    expect(await sending).toMatchObject({ kind: "confirmed" });
  });
});

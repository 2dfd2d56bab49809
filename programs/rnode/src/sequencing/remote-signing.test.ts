import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noMetrics, silentLogger } from "@rnode/observe";
import { signBlock } from "@rnode/p2p";
import { bytesToHex, equalBytes, keccak256, privateKeyToAddress, recoverAddress } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { BLOCK_DOMAIN, blockSigningHash, RemoteSigner } from "@rnode/signer";
import { SignerServer, TestAuthority } from "@rnode/signer/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHarness, type Harness } from "../testing/harness.ts";

const BLOCK_MS = 2_000;
const KEY = new Uint8Array(32).fill(0x11);
const ADDRESS = privateKeyToAddress(KEY);

describe("a sequencer whose key is on another machine", () => {
  const authority = new TestAuthority("signers");
  const clients = new TestAuthority("clients");
  let folder: string;
  let remote: SignerServer;
  let signer: RemoteSigner;
  let harness: Harness;
  /** by number, what other nodes have seen, each with a signature */
  let published: Map<number, { hash: string; signature: Uint8Array }[]>;

  const writeClient = (by: TestAuthority): void => {
    const { cert, key } = by.issue("rnode");
    writeFileSync(join(folder, "tls.crt"), cert);
    writeFileSync(join(folder, "tls.key"), key, { mode: 0o600 });
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "rnode-signing-"));
    writeFileSync(join(folder, "ca.crt"), authority.cert);
    writeClient(clients);
    remote = await new SignerServer({ key: KEY, tls: { ...authority.issue("signer"), clientCa: clients.cert } }).listen();
    const files = { tlsCa: join(folder, "ca.crt"), tlsCert: join(folder, "tls.crt"), tlsKey: join(folder, "tls.key") };
    signer = await RemoteSigner.open(
      { endpoint: remote.url, address: ADDRESS, header: [], tlsEnabled: true, ...files },
      { clock: systemClock, log: silentLogger, metrics: noMetrics, timeoutMs: 600 },
    );
    harness = createHarness({ l1Blocks: 10 });
    published = new Map();
    harness.others.gossip = {
      sign: async (envelope, signal) => ({
        kind: "signed",
        signature: await signBlock(harness.config, envelope, signer, signal),
      }),
      publish: async ({ executionPayload: { blockNumber, blockHash } }, _, signed) => {
        if (signed?.kind !== "signed") throw new Error("published without a signature");
        const seen = published.get(blockNumber) ?? [];
        published.set(blockNumber, [...seen, { hash: bytesToHex(blockHash), signature: signed.signature }]);
        return { kind: "published" };
      },
    };
    harness.sequencer.start();
    await harness.untilIdle();
    await harness.advance(3 * BLOCK_MS);
  });
  afterEach(async () => {
    await signer.close();
    await remote.close();
  });
  const unsafe = (): number => harness.control.heads.unsafe.number;
  const delays = () => harness.logs.filter(({ text }) => text === "sequencing is delayed");

  it("has its blocks signed before they are published", async () => {
    const before = unsafe();
    await harness.advance(3 * BLOCK_MS);
    expect(unsafe()).toBe(before + 3);
    expect(published.get(before + 3)).toHaveLength(1);
    expect(delays()).toEqual([]);
    // spot check: the signature is of what peers hash
    const { signature } = published.get(before + 3)![0]!;
    const asked = remote.asked.at(-1)!.params as [{ payloadHash: `0x${string}` }];
    const payloadHash = Uint8Array.from(Buffer.from(asked[0].payloadHash.slice(2), "hex"));
    const hash = blockSigningHash({ domain: BLOCK_DOMAIN, chainId: harness.config.l2ChainId, payloadHash });
    const by = recoverAddress(hash, signature.slice(0, 32), signature.slice(32, 64), signature[64]!);
    expect(equalBytes(by, ADDRESS)).toBe(true);
    expect(keccak256(payloadHash)).toHaveLength(32);
  });

  const strangers = new TestAuthority("strangers");
  it.each<[string, () => void, () => void | Promise<void>, RegExp]>([
    [
      "hangs",
      () => (remote.alter = () => new Promise(() => {})),
      () => void (remote.alter = (result) => result),
      /signing: the signer at https:.* does not answer: nothing within 600 ms/,
    ],
    [
      "answers as another address",
      () => (remote.key = new Uint8Array(32).fill(0x22)),
      () => void (remote.key = KEY),
      /gave a wrong answer, which is not used: it signed as 0x1563/,
    ],
    [
      "refuses",
      () => (remote.alter = () => Promise.reject(new Error("no"))),
      () => void (remote.alter = (result) => result),
      /refuses to sign/,
    ],
    [
      "has the certificate of another authority",
      () => remote.replaceTls({ ...strangers.issue("signer"), clientCa: clients.cert }),
      () => remote.replaceTls({ ...authority.issue("signer"), clientCa: clients.cert }),
      /does not answer: .*certificate/,
    ],
    [
      "wants certificates of another authority, which we then get",
      () => remote.replaceTls({ ...authority.issue("signer"), clientCa: strangers.cert }),
      async () => {
        writeClient(strangers);
        await new Promise((resolve) => setTimeout(resolve, 2_500)); // the files are looked at every 2 s
      },
      /does not answer: .*perhaps it does not accept our certificate/,
    ],
  ])("waits while it %s, says why once in 10 s, and goes on with the same block", async (_, harm, heal, reason) => {
    const before = unsafe();
    harm();
    await harness.advance(9_000);
    expect(unsafe()).toBe(before);
    expect([...published.keys()].filter((number) => number > before)).toEqual([]);
    expect(delays().map(({ fields }) => String(fields?.reason))).toEqual([expect.stringMatching(reason)]);
    const sealed = harness.engine.calls.filter((call) => call === "getPayload").length;
    harness.engine.pool.push(Uint8Array.of(0x02, 1, 2)); // another block would be a different one
    await heal();
    await harness.advance(1_500);
    expect(unsafe()).toBeGreaterThan(before);
    await harness.advance(4 * BLOCK_MS);
    expect(unsafe()).toBeGreaterThan(before + 4); // it has caught up
    for (const seen of published.values()) expect(seen).toHaveLength(1);
    expect(harness.engine.calls.filter((call) => call === "getPayload").length).toBeGreaterThan(sealed);
    expect(harness.logs).toContainEqual(expect.objectContaining({ text: "sequencing goes on" }));
  });

  it("stops at once while the signer hangs, and publishes nothing afterwards", async () => {
    const before = unsafe();
    remote.alter = () => new Promise(() => {});
    const turning = harness.advance(BLOCK_MS);
    const asked = remote.asked.length;
    await expect.poll(() => remote.asked.length).toBeGreaterThan(asked);
    harness.sequencer.fence();
    await harness.driver.run(() => harness.sequencer.stop());
    await turning;
    remote.alter = (result) => result;
    await harness.advance(3 * BLOCK_MS);
    expect([unsafe(), published.has(before + 1)]).toEqual([before, false]);
  });
});

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, type MetricFactory, noMetrics, silentLogger } from "@rnode/observe";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  type Clock,
  hexToBytes,
  privateKeyToAddress,
  recoverAddress,
  SECP256K1_N,
} from "@rnode/primitives";
import {
  type BlobTransaction,
  decodeTransaction,
  encodeTransaction,
  type FeeMarketTransaction,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { BLOCK_DOMAIN, blockSigningHash } from "../block-signing.ts";
import { SignerServer, type SignerServerOptions } from "../testing/signer-server.ts";
import { TestAuthority } from "../testing/test-certificates.ts";
import { RemoteSigner, type RemoteSignerOptions } from "./remote-signer.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const KEY = filled(32, 0x11);
const OTHER_KEY = filled(32, 0x22);
const ADDRESS = privateKeyToAddress(KEY);
const REQUEST = { domain: BLOCK_DOMAIN, chainId: 10n, payloadHash: filled(32, 0x99) };
const HASH = blockSigningHash(REQUEST);

const fees = { chainId: 900n, maxPriorityFeePerGas: 1n, maxFeePerGas: 2n };
const common = { nonce: 0n, gasLimit: 21_000n, to: filled(20, 7), value: 0n, data: filled(3, 9) };
const accessList = [{ address: filled(20, 3), storageKeys: [filled(32, 4), filled(32, 5)] }];
const CALL: FeeMarketTransaction = { type: 0x02, ...fees, ...common, accessList };
const BLOBS: BlobTransaction = {
  type: 0x03,
  ...fees,
  ...common,
  accessList: [],
  maxFeePerBlobGas: 4n,
  blobVersionedHashes: [filled(32, 1), filled(32, 2)],
};

/** A clock that only the test moves. */
function manualClock() {
  let wake: (() => void)[] = [];
  const clock: Clock = {
    unixMs: () => 0,
    monotonicMs: () => 0,
    sleep: (_, signal) =>
      new Promise((resolve) => {
        wake.push(resolve);
        signal?.addEventListener("abort", resolve);
      }),
  };
  const tick = async (): Promise<void> => {
    const woken = wake;
    wake = [];
    for (const resolve of woken) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, tick };
}

async function server(options: Partial<SignerServerOptions> = {}): Promise<SignerServer> {
  const started = await new SignerServer({ key: KEY, ...options }).listen();
  onTestFinished(() => started.close());
  return started;
}

interface Opening {
  readonly clock?: Clock;
  readonly timeoutMs?: number;
  readonly lines?: string[];
  readonly metrics?: MetricFactory;
}
const plainOptions = (endpoint: string): RemoteSignerOptions => ({
  endpoint,
  address: ADDRESS,
  header: [],
  tlsEnabled: false,
  tlsCa: "tls/ca.crt",
  tlsCert: "tls/tls.crt",
  tlsKey: "tls/tls.key",
});
async function open(options: RemoteSignerOptions, { clock = manualClock().clock, timeoutMs, lines, metrics }: Opening = {}) {
  const log =
    lines === undefined
      ? silentLogger
      : createLogger({ level: "info", format: "logfmt", color: false, destination: { write: (line) => lines.push(line) } });
  const signer = await RemoteSigner.open(options, { clock, log, metrics: metrics ?? noMetrics, timeoutMs });
  onTestFinished(() => signer.close());
  return signer;
}
const openAndSign = async (options: RemoteSignerOptions): Promise<unknown> => (await open(options)).signBlock(REQUEST);
const connected = async (options: Partial<SignerServerOptions> = {}, opening: Opening = {}) => {
  const remote = await server(options);
  return { remote, signer: await open(plainOptions(remote.url), opening) };
};
const methods = (remote: SignerServer): string[] => remote.asked.map(({ method }) => method);

describe("blocks", () => {
  it("are signed by the newest form first", async () => {
    const { remote, signer } = await connected();
    const { r, s, yParity } = await signer.signBlock(REQUEST);
    expect(recoverAddress(HASH, r, s, yParity)).toEqual(ADDRESS);
    expect(methods(remote)).toEqual(["health_status", "opsigner_signBlockPayloadV2"]);
    expect(remote.asked[1]!.params).toEqual([
      {
        domain: `0x${"00".repeat(32)}`,
        chainId: "10",
        payloadHash: `0x${"99".repeat(32)}`,
        senderAddress: bytesToHex(ADDRESS),
      },
    ]);
  });

  it("are signed by the first form where that is all there is, which is remembered and found out again", async () => {
    const { remote, signer } = await connected({ forms: ["blocks-v1"] });
    await signer.signBlock(REQUEST);
    await signer.signBlock(REQUEST);
    const [V2, V1] = ["opsigner_signBlockPayloadV2", "opsigner_signBlockPayload"];
    expect(methods(remote)).toEqual(["health_status", V2, V1, V1]);
    expect(remote.asked.at(-1)!.params).toEqual([
      {
        domain: Array.from({ length: 32 }, () => 0),
        chainId: 10,
        payloadHash: Buffer.from(REQUEST.payloadHash).toString("base64"),
        senderAddress: bytesToHex(ADDRESS),
      },
    ]);
    remote.forms = new Set(["blocks-v2"]); // it was updated
    await signer.signBlock(REQUEST);
    expect(methods(remote).slice(4)).toEqual([V1, V2]);
    remote.forms = new Set();
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({
      code: "signer/refused",
      message: expect.stringContaining("is it a signer of blocks?"),
    });
  });

  it("has no first form for a chain id that JSON's numbers cannot hold", async () => {
    const { signer } = await connected({ forms: ["blocks-v1"] });
    await expect(signer.signBlock({ ...REQUEST, chainId: 2n ** 60n })).rejects.toMatchObject({ code: "signer/refused" });
  });

  it.each<[string, (remote: SignerServer) => void]>([
    ["27 added to v", (remote) => (remote.addsTo27 = true)],
    [
      "an object with the signature",
      (remote) =>
        (remote.alter = (signature) => (typeof signature === "string" && signature.length === 132 ? { signature } : signature)),
    ],
    [
      "s in the upper half",
      (remote) =>
        (remote.alter = (signature) => {
          const bytes = hexToBytes(signature as string);
          bytes.set(bigintToBytes(SECP256K1_N - bytesToBigint(bytes.subarray(32, 64)), 32), 32);
          bytes[64]! ^= 1;
          return bytesToHex(bytes);
        }),
    ],
  ])("are taken with %s, in the form that peers want", async (_, act) => {
    const { remote, signer } = await connected();
    const plain = await signer.signBlock(REQUEST);
    act(remote);
    expect(await signer.signBlock(REQUEST)).toEqual(plain);
  });

  it.each<[string, (remote: SignerServer) => void, RegExp]>([
    ["another key", (remote) => (remote.key = OTHER_KEY), /it signed as 0x1563915e.*, but --signer.address is 0x19e7e3/],
    ["64 bytes", (remote) => (remote.alter = (text) => (text as string).slice(0, -2)), /64 bytes instead of 65/],
    ["v 2", (remote) => (remote.alter = (text) => `${(text as string).slice(0, -2)}02`), /whose v is 2/],
    ["zeros", (remote) => (remote.alter = () => `0x${"00".repeat(65)}`), /no signature|it signed as/],
    ["no hex", (remote) => (remote.alter = () => "signed"), /not a signature of 65 bytes in hex/],
    ["null", (remote) => (remote.alter = () => null), /not a signature of 65 bytes/],
    ["an empty object", (remote) => (remote.alter = () => ({})), /not a signature of 65 bytes/],
    [
      "the signature of another block",
      (remote) => {
        const other = new SignerServer({ key: KEY });
        remote.alter = () =>
          (other as unknown as { perform(method: string, params: unknown): unknown }).perform("opsigner_signBlockPayloadV2", [
            { domain: `0x${"00".repeat(32)}`, chainId: "10", payloadHash: `0x${"98".repeat(32)}` },
          ]);
      },
      /it signed as/,
    ],
  ])("are not taken from an answer with %s", async (_, act, message) => {
    const { remote, signer } = await connected();
    act(remote);
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({
      code: "signer/wrong-answer",
      message: expect.stringMatching(message),
    });
    remote.key = KEY;
    remote.alter = (result) => result;
    await signer.signBlock(REQUEST);
  });
});

/** What another client sends as it is, with the answer as it comes. */
async function posted(remote: SignerServer, method: string, params: unknown): Promise<Record<string, unknown>> {
  const body = JSON.stringify({ method, params, id: 0, jsonrpc: "2.0" });
  const response = await fetch(remote.url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return (await response.json()) as Record<string, unknown>;
}

describe("kona's request", () => {
  // kona: crates/node/sources/src/signer/remote/handler.rs, 2026: parameters by name, words in lower-case hex, the chain id a number.
  const params = {
    domain: `0x${"00".repeat(32)}`,
    chainId: 10,
    payloadHash: `0x${"99".repeat(32)}`,
    senderAddress: bytesToHex(ADDRESS),
  };

  it("is answered with an object, in the order r, s, v, and it is the signature of the same hash as in the other forms", async () => {
    const { remote, signer } = await connected();
    for (const addsTo27 of [false, true]) {
      remote.addsTo27 = addsTo27;
      const { result } = await posted(remote, "opsigner_signBlockPayload", params);
      const { signature, ...others } = result as { readonly signature: string };
      expect(others).toEqual({});
      const bytes = hexToBytes(signature);
      const { r, s, yParity } = await signer.signBlock(REQUEST);
      expect(bytes).toEqual(Uint8Array.of(...r, ...s, yParity + (addsTo27 ? 27 : 0)));
      expect(recoverAddress(HASH, bytes.slice(0, 32), bytes.slice(32, 64), yParity)).toEqual(ADDRESS);
    }
  });

  it.each<[string, object, RegExp]>([
    ["a chain id as text", { ...params, chainId: "10" }, /chainId is no number/],
    ["a hash in base64", { ...params, payloadHash: Buffer.alloc(32, 0x99).toString("base64") }, /invalid argument/],
    ["a domain as numbers", { ...params, domain: Array.from({ length: 32 }, () => 0) }, /is no text/],
    ["another sender", { ...params, senderAddress: `0x${"77".repeat(20)}` }, /no key for/],
  ])("is refused with %s", async (_, wrong, message) => {
    const remote = await server();
    const { error } = await posted(remote, "opsigner_signBlockPayload", wrong);
    expect((error as { readonly message: string }).message).toMatch(message);
  });

  it("is not taken for the first form, nor the first form for it", async () => {
    const kona = await server({ forms: ["blocks-kona"] });
    expect(await posted(kona, "opsigner_signBlockPayload", [params])).toMatchObject({ error: { code: -32601 } });
    const first = await server({ forms: ["blocks-v1"] });
    expect(await posted(first, "opsigner_signBlockPayload", params)).toMatchObject({ error: { code: -32601 } });
  });
});

describe("transactions", () => {
  it.each<[string, FeeMarketTransaction | BlobTransaction]>([
    ["a call", CALL],
    ["a contract", { ...CALL, to: undefined }],
    ["one of much value", { ...CALL, value: 2n ** 200n, nonce: 2n ** 50n, data: filled(120_000, 1) }],
    ["blobs", BLOBS],
  ])("with %s are signed as they are", async (_, transaction) => {
    const { signer } = await connected();
    const raw = await signer.signTransaction(transaction);
    expect(raw).toEqual(encodeTransaction(signTransaction(transaction, KEY)));
  });

  it("are sent as op-service does, the two nulls included", async () => {
    const { remote, signer } = await connected();
    await signer.signTransaction(BLOBS);
    expect(remote.asked[1]).toMatchObject({
      method: "eth_signTransaction",
      params: [
        {
          from: bytesToHex(ADDRESS),
          to: `0x${"07".repeat(20)}`,
          gas: "0x5208",
          gasPrice: null,
          maxFeePerGas: "0x2",
          maxPriorityFeePerGas: "0x1",
          value: "0x0",
          nonce: "0x0",
          data: null,
          input: "0x090909",
          accessList: [],
          chainId: "0x384",
          blobVersionedHashes: [`0x${"01".repeat(32)}`, `0x${"02".repeat(32)}`],
          maxFeePerBlobGas: "0x4",
        },
      ],
    });
  });

  const changed: [string, Partial<FeeMarketTransaction>][] = [
    ["nonce", { nonce: 1n }],
    ["recipient", { to: filled(20, 8) }],
    ["value", { value: 1n }],
    ["fee cap", { maxFeePerGas: 3n }],
    ["tip", { maxPriorityFeePerGas: 0n }],
    ["gas", { gasLimit: 21_001n }],
    ["data", { data: filled(3, 8) }],
    ["chain", { chainId: 1n }],
    ["access list", { accessList: [] }],
  ];
  it.each(changed)("whose %s came back changed are not used", async (_, change) => {
    const { remote, signer } = await connected();
    remote.alter = () => bytesToHex(encodeTransaction(signTransaction({ ...CALL, ...change }, KEY)));
    await expect(signer.signTransaction(CALL)).rejects.toMatchObject({
      code: "signer/wrong-answer",
      message: expect.stringContaining("is another one than was asked for"),
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    ["nothing", () => null, /not a signed transaction in hex/],
    ["no transaction", () => "0x0102", /is not a transaction/],
    [
      "a signature of zeros",
      () => bytesToHex(encodeTransaction({ ...CALL, signature: { r: filled(32, 0), s: filled(32, 0), yParity: 0 } })),
      /is not a transaction|no signature/,
    ],
    ["one signed by another", () => bytesToHex(encodeTransaction(signTransaction(CALL, OTHER_KEY))), /it signed as 0x1563/],
    [
      "one of another type",
      () =>
        bytesToHex(
          encodeTransaction(signTransaction({ type: 0x00, gasPrice: 2n, chainId: 900n, ...common } as SignedTransaction, KEY)),
        ),
      /another one/,
    ],
  ])("are not taken from an answer with %s", async (_, answer, message) => {
    const { remote, signer } = await connected();
    remote.alter = answer;
    await expect(signer.signTransaction(CALL)).rejects.toMatchObject({
      code: "signer/wrong-answer",
      message: expect.stringMatching(message),
    });
  });

  it("in geth's form of an answer are taken", async () => {
    const { remote, signer } = await connected();
    remote.alter = (raw) => ({ raw, tx: {} });
    expect(decodeTransaction(await signer.signTransaction(CALL))).toMatchObject({ nonce: 0n });
  });

  it("of types that op-signer has no form for are refused without asking", async () => {
    const { remote, signer } = await connected();
    await expect(signer.signTransaction({ type: 0x00, gasPrice: 2n, chainId: 900n, ...common })).rejects.toMatchObject({
      code: "signer/refused",
    });
    expect(methods(remote)).toEqual(["health_status"]);
  });
});

describe("a signer that misbehaves", () => {
  it("passes on its own explanation", async () => {
    const remote = await server();
    const signer = await open({ ...plainOptions(remote.url), address: privateKeyToAddress(OTHER_KEY) });
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({
      code: "signer/refused",
      message: expect.stringMatching(/^the signer at http:\/\/127.* refuses to sign: no key for "0x1563/),
    });
  });

  it("is given up when it hangs, and asked again when it is asked for", async () => {
    const { remote, signer } = await connected({}, { timeoutMs: 200 });
    remote.alter = () => new Promise(() => {});
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({
      code: "signer/unavailable",
      message: expect.stringMatching(/does not answer: nothing within 200 ms \(--signer.timeout\)$/),
    });
    remote.alter = (result) => result;
    await signer.signBlock(REQUEST);
  });

  it("is let go of when nobody waits any more", async () => {
    const { remote, signer } = await connected();
    remote.alter = () => new Promise(() => {});
    const waiting = new AbortController();
    const signing = signer.signBlock(REQUEST, waiting.signal);
    await expect.poll(() => remote.asked.length).toBe(2);
    waiting.abort();
    await expect(signing).rejects.toMatchObject({ code: "signer/unavailable" });
  });

  it("is not there, and comes back", async () => {
    const { remote, signer } = await connected();
    const { port } = remote;
    await remote.close();
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({ code: "signer/unavailable" });
    await remote.listen(port);
    await signer.signBlock(REQUEST);
  });

  it("does not start the program if another server answers", async () => {
    const remote = await server();
    remote.alter = () => ({ status: "ok" });
    await expect(open(plainOptions(remote.url))).rejects.toMatchObject({ code: "signer/wrong-answer" });
  });

  it("that is not there yet is waited for, which is said, and signs once it is", async () => {
    const remote = await server();
    const { port, url } = remote;
    await remote.close();
    const { clock, tick } = manualClock();
    const lines: string[] = [];
    const signer = await open(plainOptions(url), { clock, lines });
    expect(lines.join("")).toContain("does not answer yet");
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({ code: "signer/unavailable" });
    await remote.listen(port);
    await signer.signBlock(REQUEST);
    await tick();
    await expect.poll(() => lines.filter((line) => line.includes('msg="remote signer"'))).toHaveLength(1);
  });

  it("that answers late is waited for as long as --signer.timeout says", async () => {
    const { remote } = await connected();
    const slow = (): void => {
      remote.alter = async (result) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return result;
      };
    };
    const patient = await open({ ...plainOptions(remote.url), timeoutMs: 5_000 }, { timeoutMs: 100 });
    const hasty = await open(plainOptions(remote.url), { timeoutMs: 100 });
    slow();
    await patient.signBlock(REQUEST);
    await expect(hasty.signBlock(REQUEST)).rejects.toThrow("--signer.timeout");
  });

  it("is counted by what became of requests", async () => {
    const counted: unknown[] = [];
    const counter = { inc: (labels: unknown) => counted.push(labels) };
    const metrics = { ...noMetrics, counter: () => counter } as unknown as MetricFactory;
    const { remote, signer } = await connected({}, { metrics });
    await signer.signBlock(REQUEST);
    remote.key = OTHER_KEY;
    await signer.signTransaction(CALL).catch(() => {});
    remote.forms = new Set();
    await signer.signBlock(REQUEST).catch(() => {});
    await remote.close();
    await signer.signBlock(REQUEST).catch(() => {});
    expect(counted).toEqual([
      { what: "block", outcome: "signed" },
      { what: "transaction", outcome: "wrong-answer" },
      { what: "block", outcome: "refused" },
      { what: "block", outcome: "unavailable" },
    ]);
  });

  it("gets our headers with each request", async () => {
    const remote = await server();
    const header = [
      { name: "X-Token", value: "a=b" },
      { name: "x-other", value: "c" },
    ];
    const signer = await open({ ...plainOptions(remote.url), header });
    await signer.signBlock(REQUEST);
    for (const { headers } of remote.asked) expect(headers).toMatchObject({ "x-token": "a=b", "x-other": "c" });
  });
});

describe("mutual TLS", () => {
  const authority = new TestAuthority("signers");
  const clients = new TestAuthority("clients");

  /** Files of a client, and a server that lets it in. */
  async function withTls() {
    const folder = mkdtempSync(join(tmpdir(), "signer-tls-"));
    const path = (name: string): string => join(folder, name);
    const write = ({ cert, key }: { cert: string; key: string }): void => {
      writeFileSync(path("tls.crt"), cert);
      writeFileSync(path("tls.key"), key, { mode: 0o600 });
    };
    writeFileSync(path("ca.crt"), authority.cert);
    write(clients.issue("rnode"));
    const remote = await server({ tls: { ...authority.issue("signer"), clientCa: clients.cert } });
    const files = { tlsCa: path("ca.crt"), tlsCert: path("tls.crt"), tlsKey: path("tls.key") };
    const options = { ...plainOptions(remote.url), tlsEnabled: true, ...files };
    return { remote, options, write, path };
  }

  it("signs, and lets nobody in without a certificate of its authority", async () => {
    const { options, write } = await withTls();
    await (await open(options)).signBlock(REQUEST);
    write(new TestAuthority("strangers").issue("rnode"));
    await expect(openAndSign(options)).rejects.toMatchObject({
      code: "signer/unavailable",
      message: expect.stringContaining("perhaps it does not accept our certificate"),
    });
    await expect(openAndSign({ ...options, tlsEnabled: false })).rejects.toMatchObject({ code: "signer/unavailable" });
  });

  it("trusts nobody but the authority in the file", async () => {
    const { options, path } = await withTls();
    writeFileSync(path("ca.crt"), new TestAuthority("signers").cert);
    await expect(openAndSign(options)).rejects.toMatchObject({
      code: "signer/unavailable",
      message: expect.stringMatching(/certificate/),
    });
  });

  it("does not go on with a server whose certificate has run out", async () => {
    const { remote, options } = await withTls();
    const signer = await open(options);
    remote.replaceTls({ ...authority.issue("signer", Date.now() - 1_000), clientCa: clients.cert });
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({
      code: "signer/unavailable",
      message: expect.stringContaining("certificate has expired"),
    });
    remote.replaceTls({ ...authority.issue("signer"), clientCa: clients.cert });
    await signer.signBlock(REQUEST);
  });

  it("takes a new certificate while it runs; a half-written pair is not used, and said once", async () => {
    const { remote, options, write, path } = await withTls();
    const { clock, tick } = manualClock();
    const lines: string[] = [];
    const signer = await open(options, { clock, lines });
    const successors = new TestAuthority("clients, next year");
    remote.replaceTls({ ...authority.issue("signer"), clientCa: successors.cert });
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({ code: "signer/unavailable" });
    const next = successors.issue("rnode");
    writeFileSync(path("tls.crt"), next.cert);
    for (let i = 0; i < 3; i++) await tick();
    expect(lines.join("").match(/cannot be used, the former one stays/g)).toHaveLength(1);
    await expect(signer.signBlock(REQUEST)).rejects.toMatchObject({ code: "signer/unavailable" });
    write(next);
    await tick();
    await signer.signBlock(REQUEST);
    expect(lines.join("")).toContain("the client certificate was replaced");
    for (const line of lines) expect(line).not.toContain("PRIVATE KEY");
  });

  it("lets requests that are under way end when the certificate is replaced", async () => {
    const { remote, options, write } = await withTls();
    const { clock, tick } = manualClock();
    const signer = await open(options, { clock });
    let answer: () => void = () => {};
    remote.alter = (result) => new Promise((resolve) => (answer = () => resolve(result)));
    const signing = signer.signBlock(REQUEST);
    await expect.poll(() => remote.asked.length).toBe(2);
    write(clients.issue("rnode"));
    await tick();
    answer();
    await signing;
    remote.alter = (result) => result;
    await signer.signBlock(REQUEST);
  });

  it("warns about a private key that others may read", async () => {
    const { options, path } = await withTls();
    const lines: string[] = [];
    await open(options, { lines });
    expect(lines.join("")).not.toContain("0600");
    chmodSync(path("tls.key"), 0o644);
    await open(options, { lines });
    expect(lines.join("")).toContain("others than its owner may read the private key (--signer.tls.key)");
  });

  it.each<[string, (path: (name: string) => string) => void, RegExp]>([
    ["no authority", (path) => rmSync(path("ca.crt")), /^--signer.tls.ca cannot be used: .*ENOENT/],
    [
      "no PEM as authority",
      (path) => writeFileSync(path("ca.crt"), "hello"),
      /^--signer.tls.ca cannot be used: .* holds no certificate/,
    ],
    ["no certificate", (path) => rmSync(path("tls.crt")), /^--signer.tls.cert cannot be used: .*ENOENT/],
    [
      "an empty certificate",
      (path) => writeFileSync(path("tls.crt"), ""),
      /^--signer.tls.cert cannot be used: .*tls.crt holds no certificate/,
    ],
    ["no key", (path) => rmSync(path("tls.key")), /^--signer.tls.key cannot be used: .*ENOENT/],
    [
      "a damaged key",
      (path) => writeFileSync(path("tls.key"), "-----BEGIN PRIVATE KEY-----\n"),
      /^--signer.tls.key cannot be used: .*tls.key/,
    ],
    [
      "the key of another",
      (path) => writeFileSync(path("tls.key"), clients.issue("x").key),
      /^--signer.tls.key cannot be used: .*tls.crt: .*mismatch/,
    ],
  ])("does not start with %s, and names the option", async (_, act, message) => {
    const { options, path } = await withTls();
    act(path);
    await expect(openAndSign(options)).rejects.toMatchObject({ code: "tls/bad-file", message: expect.stringMatching(message) });
  });
});

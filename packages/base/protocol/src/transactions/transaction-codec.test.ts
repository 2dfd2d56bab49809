import { bytesToHex, encodeRlp, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { DepositTransaction, SignedTransaction, Transaction } from "./transaction.ts";
import {
  decodeTransaction,
  effectiveGasPrice,
  encodeTransaction,
  hashTransaction,
  recoverAuthority,
  recoverEncodedSender,
  recoverEncodedSenders,
  recoverSender,
  signatureValues,
  signingHash,
  signTransaction,
  transactionChainId,
} from "./transaction-codec.ts";

const repeat = (byte: string, count: number): string => byte.repeat(count);
const fill = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);
const hashHex = (tx: Transaction): string => bytesToHex(hashTransaction(tx));

const T2 = hexToBytes(
  "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8" +
    "e41ef24f3f000000000000000000000000000000000000000000000000000000000000006e0000000000000000000000" +
    "00af88d065e77c8cc2239327c5edb3a432268e5831000000000000000000000000000000000000000000000000000000" +
    "000003c1e500000000000000000000000000000000000000000000000000000000000000000000000000000000000000" +
    "0000000000000000000000000000000000000000a0000000000000000000000000000000000000000000000000000000" +
    "00000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2c" +
    "ba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec0644" +
    "9cb922b93b6a12744e",
);

const deposit: DepositTransaction = {
  type: 0x7e,
  sourceHash: hexToBytes("0xed428e1c45e1d9561b62834e1a2d3015a0caae3bfdc16b4da059ac885b01a145"),
  from: fill(0x11, 20),
  to: fill(0x22, 20),
  mint: 10n ** 18n,
  value: 0n,
  gasLimit: 100_000n,
  isSystemTx: false,
  data: hexToBytes("0xc0ffee"),
};

const signed: readonly SignedTransaction[] = [
  { type: 0, chainId: undefined, nonce: 0n, gasPrice: 1n, gasLimit: 21_000n, to: fill(9, 20), value: 7n, data: fill(0, 0) },
  { type: 0, chainId: 901n, nonce: 5n, gasPrice: 10n ** 20n, gasLimit: 53_000n, to: undefined, value: 0n, data: fill(0x60, 300) },
  {
    type: 1,
    chainId: 1n,
    nonce: 2n ** 64n - 2n,
    gasPrice: 3n,
    gasLimit: 4n,
    to: fill(1, 20),
    value: 2n ** 255n,
    data: fill(1, 1),
    accessList: [
      { address: fill(3, 20), storageKeys: [fill(4, 32), fill(5, 32)] },
      { address: fill(6, 20), storageKeys: [] },
    ],
  },
  {
    type: 2,
    chainId: 10n,
    nonce: 0n,
    maxPriorityFeePerGas: 0n,
    maxFeePerGas: 0n,
    gasLimit: 0n,
    to: undefined,
    value: 0n,
    data: fill(0x7f, 1),
    accessList: [],
  },
  {
    type: 3,
    chainId: 1n,
    nonce: 1n,
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 2n,
    gasLimit: 3n,
    to: fill(8, 20),
    value: 0n,
    data: fill(0, 0),
    accessList: [],
    maxFeePerBlobGas: 5n,
    blobVersionedHashes: [fill(1, 32)],
  },
  {
    type: 4,
    chainId: 10n,
    nonce: 1n,
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 2n,
    gasLimit: 3n,
    to: fill(8, 20),
    value: 0n,
    data: fill(0, 0),
    accessList: [],
    authorizationList: [{ chainId: 0n, address: fill(7, 20), nonce: 3n, yParity: 1, r: 5n, s: 6n }],
  },
];

describe("encodeTransaction", () => {
  it("encodes a deposit as the protocol's vector", () => {
    expect(bytesToHex(encodeTransaction(deposit))).toBe(
      `0x7ef85ea0ed428e1c45e1d9561b62834e1a2d3015a0caae3bfdc16b4da059ac885b01a14594${repeat("11", 20)}94${repeat("22", 20)}880de0b6b3a764000080830186a08083c0ffee`,
    );
    expect(hashHex(deposit)).toBe("0xb87ccb3347d74b2d6403fa8fb7887d74d9c5795283d4d1e857f3afcd771520f3");
  });

  it("encodes a creating deposit of 55 zero bytes as the protocol's vector", () => {
    const created: DepositTransaction = { ...deposit, to: undefined, mint: 10n, value: 100n, gasLimit: 1000n, data: fill(0, 55) };
    expect(bytesToHex(encodeTransaction(created))).toBe(
      `0x7ef875a0ed428e1c45e1d9561b62834e1a2d3015a0caae3bfdc16b4da059ac885b01a14594${repeat("11", 20)}800a648203e880b7${repeat("00", 55)}`,
    );
    expect(hashHex(created)).toBe("0x2046d162fa23a6ad60d0d0ddb56564c6048dd5bb5857dfdf31661fe8e0b170c2");
  });

  it("encodes the span batch vector's transactions", () => {
    const half = (byte: number): Uint8Array => fill(byte, 32);
    const first: SignedTransaction = {
      type: 2,
      chainId: 10n,
      nonce: 7n,
      maxPriorityFeePerGas: 1n,
      maxFeePerGas: 100n,
      gasLimit: 21_000n,
      to: fill(0x42, 20),
      value: 5n,
      data: hexToBytes("0xc0de"),
      accessList: [],
      signature: { r: half(1), s: half(2), yParity: 1 },
    };
    const second: SignedTransaction = {
      type: 0,
      chainId: 10n,
      nonce: 300n,
      gasPrice: 10n,
      gasLimit: 53_000n,
      to: undefined,
      value: 0n,
      data: hexToBytes("0x6000"),
      signature: { r: half(3), s: half(4), yParity: 0 },
    };
    expect(hashHex(first)).toBe("0x3adf45f2166efa4824247ef72bb4c2d7419af9ae716c339260863507005808f5");
    expect(bytesToHex(encodeTransaction(second))).toBe(
      `0xf84f82012c0a82cf08808082600037a0${repeat("03", 32)}a0${repeat("04", 32)}`,
    );
    expect(hashHex(second)).toBe("0x67f63e58f70ded726efa40b46d03ce8652fdc46a8e4f3e50745959165f26af26");
    expect(signatureValues(second).v).toBe(0x37n);
  });

  it("refuses an unsigned transaction", () => {
    expect(() => encodeTransaction(signed[0]!)).toThrow(expect.objectContaining({ code: "tx/unsigned" }));
  });
});

describe("decodeTransaction", () => {
  it("decodes a transaction of OP Mainnet", () => {
    const tx = decodeTransaction(T2);
    expect(hashHex(tx)).toBe("0x8eb9dd4eb6d33f4dc25fb015919e4b1e9f7542f9b0322bf6622e268cd116b594");
    expect(tx).toMatchObject({ type: 2, chainId: 10n, nonce: 0x75n, gasLimit: 0x04743fn });
    expect(bytesToHex(encodeTransaction({ ...tx }))).toBe(bytesToHex(T2)); // a copy has no cached encoding
  });

  const privateKey = fill(0x11, 32);
  it.each(signed.map((tx) => [tx.type, tx] as const))("round-trips a signed transaction of type %i", (_, tx) => {
    const withSignature = signTransaction(tx, privateKey);
    const decoded = decodeTransaction(encodeTransaction(withSignature));
    expect(decoded).toEqual(withSignature);
    expect(encodeTransaction({ ...decoded })).toEqual(encodeTransaction(withSignature));
    expect(bytesToHex(recoverSender(decoded))).toBe("0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a");
    expect(transactionChainId(decoded)).toBe(tx.chainId);
  });

  it("round-trips deposits", () => {
    for (const tx of [deposit, { ...deposit, to: undefined, mint: 0n, isSystemTx: true, data: fill(0, 0) }]) {
      expect(decodeTransaction(encodeTransaction(tx))).toEqual(tx);
      expect(recoverSender(tx)).toEqual(tx.from);
    }
  });

  const legacy = (fields: Uint8Array[]): Uint8Array => encodeRlp(fields);
  const n = (hex: string): Uint8Array => hexToBytes(hex);
  const good = [n("01"), n("02"), n("5208"), fill(1, 20), n(""), n(""), n("1b"), n("05"), n("06")];
  const withField = (at: number, value: Uint8Array): Uint8Array =>
    legacy(good.map((field, index) => (index === at ? value : field)));
  const depositWith = (at: number, value: Uint8Array): Uint8Array => {
    const fields = [fill(1, 32), fill(2, 20), fill(3, 20), n(""), n(""), n("01"), n(""), n("")];
    fields[at] = value;
    return Uint8Array.of(0x7e, ...encodeRlp(fields));
  };

  it.each<[string, Uint8Array, string]>([
    ["nothing", n(""), "tx/empty"],
    ["an unknown type", n("05c0"), "tx/unknown-type"],
    ["type 0 as an envelope", Uint8Array.of(0, ...withField(0, n("01"))), "tx/unknown-type"],
    ["a type byte without body", n("02"), "tx/malformed"],
    ["a string instead of a list", n("0280"), "tx/malformed"],
    ["bytes after the list", Uint8Array.of(...withField(0, n("01")), 0), "tx/malformed"],
    ["a leading zero in the nonce", withField(0, n("0001")), "tx/malformed"],
    ["a nonce of nine bytes", withField(0, n("010000000000000000")), "tx/malformed"],
    ["a gas limit of nine bytes", withField(2, n("010000000000000000")), "tx/malformed"],
    ["a value of 33 bytes", withField(4, fill(1, 33)), "tx/malformed"],
    ["an address of 19 bytes", withField(3, fill(1, 19)), "tx/bad-address-length"],
    ["an address of 21 bytes", withField(3, fill(1, 21)), "tx/bad-address-length"],
    ["v = 0", withField(6, n("")), "tx/bad-signature-v"],
    ["v = 29", withField(6, n("1d")), "tx/bad-signature-v"],
    ["v = 34", withField(6, n("22")), "tx/bad-signature-v"],
    ["a leading zero in r", withField(7, n("0005")), "tx/malformed"],
    ["r of 33 bytes", withField(7, fill(1, 33)), "tx/malformed"],
    ["eight fields", legacy(good.slice(0, 8)), "tx/malformed"],
    ["ten fields", legacy([...good, n("")]), "tx/malformed"],
    ["a deposit with a source hash of 31 bytes", depositWith(0, fill(1, 31)), "tx/malformed"],
    ["a deposit without sender", depositWith(1, n("")), "tx/bad-address-length"],
    ["a deposit with isSystemTx 2", depositWith(6, n("02")), "tx/malformed"],
    ["a deposit with mint 00", depositWith(3, n("00")), "tx/malformed"],
  ])("refuses %s", (_, encoded, code) => {
    expect(() => decodeTransaction(encoded)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses blob and set-code transactions without a recipient", () => {
    for (const tx of signed.filter(({ type }) => type >= 3)) {
      const encoded = encodeTransaction(signTransaction({ ...tx, to: undefined } as SignedTransaction, privateKey));
      expect(() => decodeTransaction(encoded)).toThrow(expect.objectContaining({ code: "tx/bad-address-length" }));
    }
  });
});

describe("recoverSender", () => {
  const order = hexToBytes("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
  const base = signed[0]!;
  const one = hexToBytes(`0x${repeat("00", 31)}01`);
  const highS = hexToBytes("0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1"); // half the order, plus 1

  it.each<[string, Uint8Array, Uint8Array, string]>([
    ["r = 0", fill(0, 32), one, "tx/bad-signature"],
    ["s = 0", one, fill(0, 32), "tx/bad-signature"],
    ["r = order", order, one, "tx/bad-signature"],
    ["s = order", one, order, "tx/bad-signature"],
    ["s above half the order", one, highS, "tx/high-s"],
    ["r that is no point's x", hexToBytes(`0x${repeat("00", 31)}05`), one, "tx/bad-signature"],
  ])("refuses %s", (_, r, s, code) => {
    expect(() => recoverSender({ ...base, signature: { r, s, yParity: 0 } })).toThrow(expect.objectContaining({ code }));
  });

  it.each(signed.map((tx) => [tx.type, tx] as const))("recovers the same from the encoding of type %i", (_, tx) => {
    for (let nonce = 0n; nonce < 8n; nonce++) {
      const other = signTransaction({ ...tx, nonce }, fill(0x11, 32));
      expect(recoverEncodedSender(encodeTransaction(other))).toEqual(recoverSender(other));
    }
  });

  it("from an encoding takes a deposit's sender, and refuses what has no signature or a wrong one", () => {
    expect(recoverEncodedSender(encodeTransaction(deposit))).toEqual(deposit.from);
    const tx = signTransaction(signed[2]!, fill(0x11, 32));
    const { r, s } = tx.signature!;
    const withSignature = (signature: NonNullable<SignedTransaction["signature"]>): Uint8Array =>
      encodeTransaction({ ...tx, signature });
    const wrongV = encodeTransaction(tx).slice();
    wrongV[wrongV.length - 67] = 2; // 01 or 80, a0 r 32, a0 s 32
    const refused: [Uint8Array, string][] = [
      [new Uint8Array(0), "tx/empty"],
      [Uint8Array.of(0x05, 0xc0), "tx/unknown-type"],
      [Uint8Array.of(0x00, 0xc0), "tx/unknown-type"],
      [Uint8Array.of(0x02), "rlp/truncated"],
      [wrongV, "tx/bad-signature-v"],
      [withSignature({ r: fill(0, 32), s, yParity: 0 }), "tx/bad-signature"],
      [withSignature({ r, s: fill(0xee, 32), yParity: 0 }), "tx/high-s"],
      [withSignature({ r, s: fill(0xff, 32), yParity: 0 }), "tx/bad-signature"],
    ];
    for (const [encoded, code] of refused)
      expect(() => recoverEncodedSender(encoded), code).toThrow(expect.objectContaining({ code }));
    // together with others, each keeps its place
    const many = refused.flatMap(([encoded]) => [encoded, encodeTransaction(tx), encodeTransaction(deposit)]);
    expect(recoverEncodedSenders(many)).toEqual(refused.flatMap(() => [undefined, recoverSender(tx), deposit.from]));
  });

  it("accepts a high s where Frontier's rules hold", () => {
    const tx = { ...base, signature: { r: one, s: highS, yParity: 0 as const } };
    expect(recoverSender(tx, { allowHighS: true })).toHaveLength(20);
  });

  it("signs over the chain id in protected legacy transactions only", () => {
    const unprotected = { ...signed[0]!, type: 0 as const, gasPrice: 1n, chainId: undefined };
    expect(signingHash(unprotected)).not.toEqual(signingHash({ ...unprotected, chainId: 1n }));
  });

  it("skips authorizations whose signature is invalid", () => {
    const authorization = { chainId: 0n, address: fill(7, 20), nonce: 3n, yParity: 1, r: 1n, s: 6n };
    expect(recoverAuthority(authorization)).toHaveLength(20);
    expect(recoverAuthority({ ...authorization, yParity: 2 })).toBeUndefined();
    expect(recoverAuthority({ ...authorization, s: 2n ** 255n })).toBeUndefined();
    expect(recoverAuthority({ ...authorization, r: 0n })).toBeUndefined();
  });
});

describe("effectiveGasPrice", () => {
  it.each<[string, Transaction, bigint | undefined, bigint]>([
    ["a legacy price", signed[1]!, 5n, 10n ** 20n],
    ["base fee and tip", { ...signed[5]!, type: 4, maxFeePerGas: 100n, maxPriorityFeePerGas: 7n } as Transaction, 50n, 57n],
    ["the cap", { ...signed[5]!, type: 4, maxFeePerGas: 55n, maxPriorityFeePerGas: 7n } as Transaction, 50n, 55n],
    ["nothing for a deposit", deposit, 50n, 0n],
  ])("is %s", (_, tx, baseFee, price) => {
    expect(effectiveGasPrice(tx, baseFee)).toBe(price);
  });
});

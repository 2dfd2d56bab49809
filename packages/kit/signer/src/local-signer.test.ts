import { bytesToHex, hexToBytes, keccak256, privateKeyToAddress, recoverAddress } from "@rnode/primitives";
import { decodeTransaction, type FeeMarketTransaction, recoverSender, type SignedTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { BLOCK_DOMAIN, blockSigningHash } from "./block-signing.ts";
import { localSigner, parsePrivateKey } from "./local-signer.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const KEY = filled(32, 0x11);
/** order of the curve */
const N = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

const fees = { chainId: 900n, maxPriorityFeePerGas: 1n, maxFeePerGas: 2n, accessList: [] };
const common = { nonce: 3n, gasLimit: 21_000n, to: filled(20, 7), value: 1n, data: filled(3, 9) };
const TRANSACTIONS: readonly SignedTransaction[] = [
  { type: 0x00, chainId: 900n, gasPrice: 5n, ...common },
  { type: 0x02, ...fees, ...common },
  { type: 0x03, ...fees, ...common, maxFeePerBlobGas: 4n, blobVersionedHashes: [filled(32, 1)] },
];

describe("parsePrivateKey", () => {
  it.each([
    ["11".repeat(32), true],
    [`0x${"11".repeat(32)}`, true],
    ["00".repeat(32), false],
    [N, false],
    [`${N.slice(0, -1)}0`, true],
    ["11".repeat(31), false],
    ["11".repeat(33), false],
    ["zz".repeat(32), false],
    ["", false],
  ])("%s: %s", (text, isKey) => {
    expect(parsePrivateKey(text) !== undefined).toBe(isKey);
  });
});

describe("localSigner", () => {
  it("has the key's address, and is none without a key of the curve", () => {
    expect(localSigner(KEY).address).toEqual(privateKeyToAddress(KEY));
    expect(() => localSigner(filled(32, 0))).toThrow(expect.objectContaining({ code: "signer/bad-key" }));
    expect(() => localSigner(filled(31, 1))).toThrow(expect.objectContaining({ code: "signer/bad-key" }));
  });

  it("goes on with its key when the array is overwritten", async () => {
    const given = KEY.slice();
    const signer = localSigner(given);
    given.fill(0);
    expect(recoverSender(decodeTransaction(await signer.signTransaction(TRANSACTIONS[1]!)))).toEqual(signer.address);
  });

  it.each(TRANSACTIONS)("signs transactions of type $type, and changes nothing in them", async (transaction) => {
    const signer = localSigner(KEY);
    const { signature, ...signed } = decodeTransaction(await signer.signTransaction(transaction)) as FeeMarketTransaction;
    expect(signed).toEqual(transaction);
    expect(signature?.r.length).toBe(32);
    expect(recoverSender({ ...signed, signature })).toEqual(signer.address);
  });

  it("signs blocks over domain, chain id and payload hash", async () => {
    // docs/protocol/06-testing.md: a body of 32 bytes 0x99 on chain 10
    const request = { domain: BLOCK_DOMAIN, chainId: 10n, payloadHash: keccak256(filled(32, 0x99)) };
    const hash = "0x44a0e2b1aba1aae1771eddae1dcd2ad18a8cdac8891517153f03253e49d3f206";
    expect(bytesToHex(blockSigningHash(request))).toBe(hash);
    const signer = localSigner(KEY);
    const { r, s, yParity } = await signer.signBlock(request);
    expect(recoverAddress(hexToBytes(hash), r, s, yParity)).toEqual(signer.address);
  });
});

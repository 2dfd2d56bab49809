import { bytesToHex, decodeRlp, type Hex, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import { decodeHeader, encodeTransaction, hashHeader, outputRoot, PREDEPLOYS, transactionFromRpc } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signTransfer } from "../testing/clients-of-test.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

/*
 * What kona-host asks an L2 execution client for a dispute, as it writes its requests (optimism v1.19.6
 * `rust/kona/bin/host/src/{single,interop}/handler.rs`), over HTTP. Each answer must be the preimage of what was asked for.
 */

const MESSAGE_PASSER = bytesToHex(PREDEPLOYS.l2ToL1MessagePasser);
const CODE: Hex = "0x60015b00";
const SLOT: Hex = `0x${"00".repeat(32)}`;
const hashOf = (hex: Hex): Hex => bytesToHex(keccak256(hexToBytes(hex)));

describe("an execution client of kona-host", () => {
  let node: TestClient;
  const hashes: Hex[] = [];
  let requests = 0;

  /** One request as alloy sends it. @throws the error of the answer */
  async function request<T>(method: string, params: readonly unknown[]): Promise<T> {
    const body = JSON.stringify({ method, params, id: ++requests, jsonrpc: "2.0" });
    const response = await fetch(node.httpUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = (await response.json()) as { readonly result?: T; readonly error?: { readonly message: string } };
    if (answer.error !== undefined) throw new Error(answer.error.message);
    return answer.result!;
  }
  const headerOf = async (block: Hex) => {
    const raw = await request<Hex>("debug_getRawHeader", [block]);
    return { raw, header: decodeHeader(hexToBytes(raw)) };
  };

  beforeAll(async () => {
    const alloc = { [MESSAGE_PASSER]: { balance: "0x0", code: CODE, storage: { [SLOT]: "0x07" } } };
    node = await startTestClient(["--http.api=eth,debug", "--proofs.window=128"], undefined, { alloc });
    const { hash } = await request<{ hash: Hex }>("eth_getBlockByNumber", ["0x0", false]);
    hashes.push(hash);
    for (let nonce = 0; nonce < 3; nonce++) {
      await request("eth_sendRawTransaction", [await signTransfer(nonce)]);
      hashes.push((await node.buildBlock()).hash);
    }
  });
  afterAll(() => node.remove());

  it("has headers, transactions and receipts by hash (L2BlockHeader, L2Transactions, L2Receipts)", async () => {
    for (const hash of hashes.slice(1)) {
      const { raw, header } = await headerOf(hash);
      expect(hashOf(raw)).toBe(hash);
      expect((await headerOf(toQuantity(header.number))).raw).toBe(raw);
      const { transactions } = await request<{ transactions: object[] }>("eth_getBlockByHash", [hash, true]);
      const encoded = transactions.map((transaction) => encodeTransaction(transactionFromRpc(transaction)));
      expect(bytesToHex(orderedTrieRoot(encoded))).toBe(bytesToHex(header.transactionsRoot));
      const receipts = await request<Hex[]>("debug_getRawReceipts", [hash]);
      expect(bytesToHex(orderedTrieRoot(receipts.map(hexToBytes)))).toBe(bytesToHex(header.receiptsRoot));
    }
  });

  it("has the parts of an output root (StartingL2Output)", async () => {
    for (const [number, hash] of hashes.entries()) {
      const { header } = await headerOf(hash);
      const proofs = await Promise.all(
        [{ blockHash: hash }, toQuantity(number)].map((block) =>
          request<{ storageHash: Hex; accountProof: Hex[] }>("eth_getProof", [MESSAGE_PASSER, [], block]),
        ),
      );
      expect(proofs[0]).toEqual(proofs[1]);
      expect(proofs[0]!.accountProof.map(hashOf)[0]).toBe(bytesToHex(header.stateRoot));
      const { storageHash } = proofs[0]!;
      expect(storageHash).toBe(bytesToHex(header.withdrawalsRoot!));
      expect(
        outputRoot({ stateRoot: header.stateRoot, messagePasserStorageRoot: hexToBytes(storageHash), blockHash: hexToBytes(hash) }),
      ).toHaveLength(32);
    }
  });

  it("has proofs of accounts and slots (L2AccountProof, L2AccountStorageProof)", async () => {
    const { header } = await headerOf(hashes[1]!);
    for (const block of [{ blockHash: hashes[1]! }, "0x1"]) {
      const proof = await request<{ accountProof: Hex[]; storageProof: { proof: Hex[] }[] }>("eth_getProof", [
        MESSAGE_PASSER,
        [SLOT],
        block,
      ]);
      expect(hashOf(proof.accountProof[0]!)).toBe(bytesToHex(header.stateRoot));
      expect(proof.storageProof).toMatchObject([{ value: "0x7", proof: [expect.stringMatching(/^0x/)] }]);
    }
  });

  it("has codes by hash, with the prefix of Geth's database and without it (L2Code)", async () => {
    const hash = hashOf(CODE);
    expect(await request("debug_dbGet", [`0x63${hash.slice(2)}`])).toBe(CODE);
    expect(await request("debug_dbGet", [hash])).toBe(CODE);
    await expect(request("debug_dbGet", [hashes[1]])).rejects.toThrow("only codes");
  });

  it("has the witness of payload attributes, which holds the preimages of the state (L2PayloadWitness)", async () => {
    for (const [number, hash] of hashes.entries()) {
      if (number === 0) continue;
      const { header } = await headerOf(hash);
      const parent = await headerOf(hashes[number - 1]!);
      const { transactions } = await request<{ transactions: object[] }>("eth_getBlockByHash", [hash, true]);
      // op-alloy's OpPayloadAttributes: quantities in hex but minBaseFee, which is a number
      const attributes = {
        timestamp: toQuantity(header.timestamp),
        prevRandao: bytesToHex(header.mixHash),
        suggestedFeeRecipient: bytesToHex(header.beneficiary),
        withdrawals: [],
        parentBeaconBlockRoot: bytesToHex(header.parentBeaconBlockRoot!),
        transactions: transactions.map((transaction) => bytesToHex(encodeTransaction(transactionFromRpc(transaction)))),
        noTxPool: true,
        gasLimit: toQuantity(header.gasLimit),
        eip1559Params: bytesToHex(header.extraData.subarray(1, 9)),
        minBaseFee: 0,
      };
      const witness = await request<Record<"state" | "codes" | "keys" | "headers", Hex[]>>("debug_executePayload", [
        hashes[number - 1],
        attributes,
      ]);
      expect(new Set(witness.state.map(hashOf))).toContain(bytesToHex(parent.header.stateRoot));
      for (const rlp of witness.state) decodeRlp(hexToBytes(rlp));
      expect(witness.headers).toEqual([parent.raw]);
      expect(bytesToHex(hashHeader(decodeHeader(hexToBytes(witness.headers[0]!))))).toBe(hashes[number - 1]);
      expect(await request("debug_executionWitness", [toQuantity(number)])).toEqual(witness);
    }
  });

  it("says which blocks can be proven, and moves the range with the chain (debug_proofsSyncStatus)", async () => {
    expect(await request("debug_proofsSyncStatus", [])).toEqual({ earliest: 0, latest: 3 });
    for (let count = 0; count < 140; count++) await node.buildBlock();
    const { earliest, latest } = await request<{ earliest: number; latest: number }>("debug_proofsSyncStatus", []);
    expect({ earliest, latest }).toEqual({ earliest: 143 - 128, latest: 143 });
    await request("eth_getProof", [MESSAGE_PASSER, [], toQuantity(earliest)]);
    await expect(request("eth_getProof", [MESSAGE_PASSER, [], toQuantity(earliest - 1)])).rejects.toThrow();
  });
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { rollupOf, testBlock } from "@rnode/p2p/testing";
import { bytesToHex, type Hex, hexToBytes, privateKeyToAddress, recoverAddress } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { GoProgram, type InteropCase, runCases } from "@rnode/program/testing";
import {
  decodeTransaction,
  encodeTransaction,
  recoverSender,
  type SignedTransaction,
  signingHash,
  signTransaction,
} from "@rnode/protocol";
import { BLOCK_DOMAIN, blockSigningHash } from "@rnode/signer";
import { SignerServer, TestAuthority } from "@rnode/signer/testing";
import { ConductorClient } from "../conductor/conductor-client.ts";

interface GoIdentity {
  /** address of op-conductor's server */
  readonly conductor: string;
}
interface GoCommand {
  readonly url: string;
  readonly call: "block" | "blockV2" | "transaction";
  readonly stub: { readonly leader: boolean; readonly refusal: string };
  readonly sign: {
    readonly chainId: number;
    readonly payloadHash?: Hex;
    readonly sender: Hex;
    /** encoded, with any signature */
    readonly transaction?: Hex;
    readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
  };
}
type Go = GoProgram<GoIdentity, GoCommand, { readonly event: string }>;

interface Stage {
  readonly go: () => Promise<Go>;
  readonly onClose: (close: () => Promise<unknown>) => void;
}

/** Our clients and our test's signer with servers and clients of the OP Stack. @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: Stage["onClose"]): Stage => ({
    onClose,
    go: async () => {
      const go: Go = await GoProgram.start(binary, []);
      onClose(() => go.close());
      return go;
    },
  });
  return runCases(CASES, stageOf, print);
}

const KEY = new Uint8Array(32).fill(0x11);
const SENDER = privateKeyToAddress(KEY);
const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const HASH = filled(32, 0x99);
const CHAIN_ID = 10;

/** As op-batcher builds them. */
const fees = { chainId: BigInt(CHAIN_ID), maxPriorityFeePerGas: 1n, maxFeePerGas: 2n };
const common = { nonce: 7n, gasLimit: 21_000n, to: filled(20, 7), value: 0n, data: filled(300, 9), accessList: [] };
/** Signed with another key: Go's transactions have a signature, which is not looked at. */
const OTHER_KEY = filled(32, 0x22);
const TRANSACTIONS = [
  { type: 0x02, ...fees, ...common },
  { type: 0x03, ...fees, ...common, maxFeePerBlobGas: 4n, blobVersionedHashes: [filled(32, 1), filled(32, 1)] },
] as const satisfies readonly SignedTransaction[];

async function signsAll(go: Go, url: string, tls?: GoCommand["sign"]["tls"]): Promise<void> {
  const sender = bytesToHex(SENDER);
  const shared = { chainId: CHAIN_ID, sender, ...(tls && { tls }) };
  const expected = blockSigningHash({ domain: BLOCK_DOMAIN, chainId: BigInt(CHAIN_ID), payloadHash: HASH });
  for (const call of ["block", "blockV2"] as const) {
    const signature = hexToBytes(await go.ask<Hex>("sign", { url, call, sign: { ...shared, payloadHash: bytesToHex(HASH) } }));
    const recovered = recoverAddress(expected, signature.slice(0, 32), signature.slice(32, 64), signature[64] === 1 ? 1 : 0);
    assert.equal(bytesToHex(recovered), sender);
  }
  for (const asked of TRANSACTIONS) {
    const transaction = bytesToHex(encodeTransaction(signTransaction(asked, OTHER_KEY)));
    const signed = decodeTransaction(
      hexToBytes(await go.ask<Hex>("sign", { url, call: "transaction", sign: { ...shared, transaction } })),
    );
    assert.ok(signed.type === asked.type);
    assert.equal(bytesToHex(signingHash(signed)), bytesToHex(signingHash(asked)));
    assert.equal(bytesToHex(recoverSender(signed)), sender);
  }
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "our conductor client with op-conductor's server: leadership, blocks of all forks, refusals",
    run: async ({ go: startGo, onClose }) => {
      const go = await startGo();
      const rpc = createRpcClient({ url: go.identity.conductor });
      const client = new ConductorClient({ rpcTimeoutMs: 5_000 }, { rpc, clock: systemClock, log: silentLogger });
      onClose(() => client.close());
      assert.equal(await client.isLeader(), false);
      await go.ask("stub", { stub: { leader: true, refusal: "" } });
      assert.equal(await client.isLeader(), true);
      const { signal } = new AbortController();
      const nowSec = 1_800_000_000;
      for (const version of [1, 2, 3, 4] as const) {
        const transactions = version === 4 ? [filled(2_000_000, 9)] : [Uint8Array.of(0x7e, 1), filled(300, 9)];
        const block = testBlock(rollupOf(version, nowSec - 1_000), { number: version, timestampSec: nowSec, transactions });
        assert.equal(await client.consent(block, signal), "leader");
        const hash = bytesToHex(block.executionPayload.blockHash);
        const heard = { number: version, hash, actualHash: hash, hasRoot: version >= 3 };
        assert.deepEqual(await go.ask("heard"), [heard]);
        if (version !== 4) continue;
        await go.ask("stub", { stub: { leader: true, refusal: "node is not the leader" } });
        const refused = { code: "conductor/refused", message: /refuses conductor_commitUnsafePayload: node is not the leader$/ };
        await assert.rejects(client.consent(block, signal), refused);
        assert.deepEqual(await go.ask("heard"), [heard, heard]); // two attempts
      }
    },
  },
  {
    name: "op-service's signer client with our test's signer: both forms of blocks, transactions, blobs",
    run: async ({ go: startGo, onClose }) => {
      const server = await new SignerServer({ key: KEY }).listen();
      onClose(() => server.close());
      await signsAll(await startGo(), server.url);
    },
  },
  {
    name: "the same over mutual TLS 1.3, and not with a stranger's certificate",
    run: async ({ go: startGo, onClose }) => {
      const [servers, clients, strangers] = ["signers", "clients", "strangers"].map((name) => new TestAuthority(name)) as [
        TestAuthority,
        TestAuthority,
        TestAuthority,
      ];
      const server = await new SignerServer({ key: KEY, tls: { ...servers.issue("signer"), clientCa: clients.cert } }).listen();
      onClose(() => server.close());
      const folder = mkdtempSync(join(tmpdir(), "rnode-interop-tls-"));
      onClose(async () => rmSync(folder, { recursive: true }));
      const file = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text, { mode: 0o600 });
        return join(folder, name);
      };
      const filesOf = (name: string, { cert, key }: { cert: string; key: string }) => ({
        ca: file("ca.crt", servers.cert),
        cert: file(`${name}.crt`, cert),
        key: file(`${name}.key`, key),
      });
      const go = await startGo();
      await signsAll(go, server.url, filesOf("own", clients.issue("op-node")));
      await assert.rejects(signsAll(go, server.url, filesOf("strange", strangers.issue("op-node"))), /tls|certificate|EOF|reset/);
    },
  },
];

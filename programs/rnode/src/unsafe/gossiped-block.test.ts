import { type EngineClient, L2Blocks } from "@rnode/node-clients";
import { receive, signatureOf, wireMessage } from "@rnode/p2p/testing";
import { bytesToHex, EMPTY_REQUESTS_HASH } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, hashHeader, payloadToHeader } from "@rnode/protocol";
import { localSigner } from "@rnode/signer";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it, vi } from "vitest";
import { EngineControl } from "../engine/engine-control.ts";
import { rememberBlocks } from "../engine/remember-blocks.ts";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { userTransaction } from "../testing/harness.ts";
import { UnsafeInbox } from "./unsafe-inbox.ts";

// This file has a process of its own (`ALONE` in vitest.config.ts), because it counts calls by replacing modules.
const counts = vi.hoisted(() => ({ roots: [] as number[], hashes: [] as string[] }));
vi.mock("@rnode/trie", async (original) => {
  const trie = await original<typeof import("@rnode/trie")>();
  return {
    ...trie,
    orderedTrieRoot: (items: readonly Uint8Array[]) => {
      counts.roots.push(items.length);
      return trie.orderedTrieRoot(items);
    },
  };
});
vi.mock("@rnode/primitives", async (original) => {
  const primitives = await original<typeof import("@rnode/primitives")>();
  return {
    ...primitives,
    keccak256: (...parts: readonly Uint8Array[]) => {
      const hash = primitives.keccak256(...parts);
      counts.hashes.push(primitives.bytesToHex(hash));
      return hash;
    },
  };
});

const config = testConfig();
const signer = localSigner(new Uint8Array(32).fill(0x11));
const TRANSACTIONS = 3;

/** Block 1 of the chain, with the hash of its content. */
function block(): ExecutionPayloadEnvelope {
  const engine = new FakeEngine(config);
  const genesis = engine.block(engine.head).ref;
  const users = Array.from({ length: TRANSACTIONS - 1 }, (_, seed) => userTransaction(seed));
  const { envelope } = engine.make(genesis, attributesOn(config, genesis, new FakeL1(1).blocks[0]!, users));
  const blockHash = hashHeader(payloadToHeader(envelope, EMPTY_REQUESTS_HASH, orderedTrieRoot));
  return { ...envelope, executionPayload: { ...envelope.executionPayload, blockHash } };
}

/** How often the transactions root and the hash of a block were computed. */
const counted = ({ executionPayload: { blockHash, transactions } }: ExecutionPayloadEnvelope) => ({
  transactionsRoot: counts.roots.filter((length) => length === transactions.length).length,
  blockHash: counts.hashes.filter((hash) => hash === bytesToHex(blockHash)).length,
});

function nodeOf() {
  const asked: string[] = [];
  const l2 = new L2Blocks({ call: async (method: string) => void asked.push(method) } as never, config);
  const valid: Partial<EngineClient> = { newPayload: async () => ({ kind: "valid" }) };
  const control = new EngineControl(rememberBlocks(valid as EngineClient, l2), config);
  const inbox = new UnsafeInbox({ config, headNumber: () => 0, onQueued: () => {} });
  const take = async (envelope: ExecutionPayloadEnvelope) => {
    expect(inbox.offer(envelope)).toEqual({ kind: "queued" });
    const queued = inbox.peek()!;
    expect(await control.insert(queued.envelope)).toEqual({ kind: "inserted" });
    expect(await l2.blockByHash(queued.ref.hash)).toMatchObject({ ref: queued.ref });
    expect(asked).toEqual([]);
  };
  return { take };
}

describe("the hash and the transactions root of a block", () => {
  it("are computed once from the wire of gossip to the cache of the engine's blocks", async () => {
    const envelope = block();
    const message = wireMessage({ envelope, signature: await signatureOf(config, envelope, signer) });
    const { take } = nodeOf();
    counts.roots.length = 0;
    counts.hashes.length = 0;
    await take(receive(config, message, signer.address));
    expect(counted(envelope)).toEqual({ transactionsRoot: 1, blockHash: 1 });
  });

  it("are computed once for a block of the operator", async () => {
    const envelope = block();
    const { take } = nodeOf();
    counts.roots.length = 0;
    counts.hashes.length = 0;
    await take(envelope);
    expect(counted(envelope)).toEqual({ transactionsRoot: 1, blockHash: 1 });
  });
});

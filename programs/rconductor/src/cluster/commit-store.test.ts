import { bytesToHex } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { type ExecutionPayloadEnvelope, envelopeToJson } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Etcd } from "../etcd/etcd-api.ts";
import { prefixEnd } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";
import { EtcdGateway } from "../etcd/gateway-client.ts";
import { EtcdModel } from "../testing/etcd-model.ts";
import { type LocalEtcd, startLocalEtcd, whyNoEtcd } from "../testing/local-etcd.ts";
import { modelEtcd } from "../testing/model-etcd.ts";
import { hashOf, sampleOrigin, samplePayload } from "../testing/sample-payload.ts";
import { CommitStore } from "./commit-store.ts";
import { ClusterKeys } from "./keys.ts";

const CHUNK_BYTES = 1024 * 1024;
const KEPT = 3;
const GENESIS = hashOf("genesis");
const hashHex = ({ executionPayload }: ExecutionPayloadEnvelope): string => bytesToHex(executionPayload.blockHash);
const child = (parent: ExecutionPayloadEnvelope, name = "", transactions: readonly Uint8Array[] = []): ExecutionPayloadEnvelope =>
  samplePayload(parent.executionPayload.blockNumber + 1, parent.executionPayload.blockHash, name, transactions);
let run = 0;

function suite(etcdOf: () => Etcd): void {
  const cluster = () => {
    const keys = new ClusterKeys(`/test-${process.pid}-${++run}/`);
    const etcd = etcdOf();
    const storeOf = (id: string): CommitStore => new CommitStore({ chunkBytes: CHUNK_BYTES, keptBlocks: KEPT }, { etcd, keys, id });
    /** @returns the fencing token */
    const elect = async (id: string): Promise<number> => {
      await etcd.txn([], [{ kind: "delete", key: keys.leader }]);
      const put = { kind: "put", key: keys.leader, value: Buffer.from(JSON.stringify({ id })) } as const;
      return (await etcd.txn([{ key: keys.leader, target: "create", revision: 0 }], [put])).revision;
    };
    const chunkKeys = async (): Promise<string[]> => {
      const { ranges } = await etcd.txn([], [{ kind: "range", key: keys.payloads, end: prefixEnd(keys.payloads) }]);
      return ranges[0]!.map(({ key }) => key);
    };
    return { etcd, keys, storeOf, elect, chunkKeys };
  };

  it("keeps the last committed block, of which every server reads the same", async () => {
    const { storeOf, elect } = cluster();
    const [a, b] = [storeOf("a"), storeOf("b")];
    const fence = await elect("a");
    expect(await b.latest()).toBeUndefined();
    const first = samplePayload(7, GENESIS);
    const second = child(first);
    for (const block of [first, second]) expect((await a.commit(block, fence)).kind).toBe("committed");
    expect(await b.latest()).toEqual({
      record: expect.objectContaining({ number: 8, hash: hashHex(second), fence, leader: "a" }),
      envelope: second,
      after: expect.any(Function),
    });
  });

  it("takes back blocks to a recent one, for the leader alone, and goes on from there", async () => {
    const { storeOf, elect, chunkKeys } = cluster();
    const [a, b] = [storeOf("a"), storeOf("b")];
    const former = await elect("b");
    const fence = await elect("a");
    const first = samplePayload(11, GENESIS);
    const second = child(first);
    const third = child(second);
    for (const block of [first, second, third]) expect((await a.commit(block, fence)).kind).toBe("committed");
    const { record } = (await a.latest())!;
    const to = record.recent[0]!;
    expect(to).toMatchObject({ number: 11, hash: hashHex(first), l1Origin: { number: 1 } });
    expect(record.l1Origin).toEqual({ number: 2, hash: bytesToHex(sampleOrigin(13).hash) });
    expect(await b.rewind(record, to, former)).toBe(false);
    expect((await b.latest())!.record.hash).toBe(hashHex(third));
    expect(await a.rewind(record, to, fence)).toBe(true);
    expect(await a.rewind(record, to, fence)).toBe(false);
    expect(await b.latest()).toMatchObject({ record: { number: 11, hash: hashHex(first), recent: [] }, envelope: first });
    expect(await chunkKeys()).toHaveLength(1);
    expect((await a.commit(third, fence)).kind).toBe("not-on-head");
    const other = child(first, "another branch");
    expect((await a.commit(other, fence)).kind).toBe("committed");
    expect((await b.latest())!.record).toMatchObject({ number: 12, hash: hashHex(other) });
  });

  it("takes the same block again, as after a lost answer", async () => {
    const { storeOf, elect } = cluster();
    const store = storeOf("a");
    const fence = await elect("a");
    const block = samplePayload(7, GENESIS);
    await store.commit(block, fence);
    expect((await store.commit(block, fence)).kind).toBe("committed");
    store.reset();
    expect((await store.commit(block, fence)).kind).toBe("committed");
  });

  it("takes nothing from who has been deposed, not even what it wrote before", async () => {
    const { storeOf, elect } = cluster();
    const [a, b] = [storeOf("a"), storeOf("b")];
    const first = await elect("a");
    const block = samplePayload(7, GENESIS);
    await a.commit(block, first);
    const second = await elect("b");
    expect(second).toBeGreaterThan(first);
    expect(await a.commit(child(block), first)).toEqual({ kind: "not-leader", leader: "b" });
    expect(await a.commit(block, first)).toEqual({ kind: "not-leader", leader: "b" });
    const next = child(block, "of b");
    expect((await b.commit(next, second)).kind).toBe("committed");
    expect((await b.latest())?.record.hash).toBe(hashHex(next));
  });

  it("takes no block that does not follow the last committed one", async () => {
    const { storeOf, elect } = cluster();
    const store = storeOf("a");
    const fence = await elect("a");
    const block = samplePayload(7, GENESIS);
    await store.commit(block, fence);
    const sibling = samplePayload(7, GENESIS, "sibling");
    for (const other of [sibling, child(sibling), samplePayload(6, GENESIS)]) {
      expect(await store.commit(other, fence)).toEqual({
        kind: "not-on-head",
        head: expect.objectContaining({ hash: hashHex(block) }),
      });
    }
    expect((await store.commit(child(block), fence)).kind).toBe("committed");
  });

  it("keeps large blocks in chunks, as long as other blocks", async () => {
    const { storeOf, elect, chunkKeys } = cluster();
    const store = storeOf("a");
    const random = createRandom(1);
    const noise = (bytes: number): Uint8Array => Uint8Array.from({ length: bytes }, () => random(256));
    const fence = await elect("a");
    const large = samplePayload(7, GENESIS, "", [noise(3_000_000), noise(500_000)]);
    await store.commit(large, fence);
    const inChunks = await chunkKeys();
    expect(inChunks.length).toBeGreaterThanOrEqual(4);
    const text = (envelope: ExecutionPayloadEnvelope | undefined): string => JSON.stringify(envelope && envelopeToJson(envelope));
    expect(text((await storeOf("b").latest())?.envelope) === text(large)).toBe(true);
    let last = large;
    for (let block = 0; block < KEPT; block++) await store.commit((last = child(last)), fence);
    expect(await chunkKeys()).toHaveLength(KEPT);
    expect((await store.latest())?.envelope).toEqual(last);
  });

  it("goes on with a large block where an attempt stopped", async () => {
    const { etcd, keys, elect } = cluster();
    const fence = await elect("a");
    let [requests, failAt] = [0, 3];
    const failing: Etcd = {
      ...etcd,
      leaseGrant: (ttlSec) => etcd.leaseGrant(ttlSec),
      txn: async (comparisons, success, failure) => {
        const result = await etcd.txn(comparisons, success, failure);
        if (++requests === failAt) throw new EtcdError("etcd/unavailable", { what: "txn", reason: "the answer is lost" });
        return result;
      },
    };
    const store = new CommitStore({ chunkBytes: 100_000, keptBlocks: KEPT }, { etcd: failing, keys, id: "a" });
    const random = createRandom(2);
    const block = samplePayload(7, GENESIS, "", [Uint8Array.from({ length: 300_000 }, () => random(256))]);
    await expect(store.commit(block, fence)).rejects.toThrow("the answer is lost");
    failAt = 0;
    const before = requests;
    expect((await store.commit(block, fence)).kind).toBe("committed");
    const latest = await store.latest();
    expect(latest?.record.chunks).toBeGreaterThan(3);
    // reading the last two chunks but one and the head; not all of them again
    expect(requests - before - latest!.record.chunks - 1).toBeLessThan(latest!.record.chunks);
    expect(JSON.stringify(envelopeToJson(latest!.envelope)) === JSON.stringify(envelopeToJson(block))).toBe(true);
  });

  it("deletes what a leader left behind half-way", async () => {
    const { etcd, keys, storeOf, elect, chunkKeys } = cluster();
    const fence = await elect("a");
    for (const digits of ["00", "ff"]) {
      const key = `${keys.payload({ number: 7, fence, hash: `0x${digits.repeat(32)}` })}1`;
      await etcd.txn([], [{ kind: "put", key, value: new Uint8Array(10) }]);
    }
    const later = await elect("b");
    const store = storeOf("b");
    let last = samplePayload(7, GENESIS);
    await store.commit(last, later);
    for (let block = 0; block < KEPT; block++) await store.commit((last = child(last)), later);
    expect(await chunkKeys()).toHaveLength(KEPT);
  });

  it("has the last few blocks for a node that lacks them", async () => {
    const { storeOf, elect } = cluster();
    const store = storeOf("a");
    const fence = await elect("a");
    const blocks = [samplePayload(7, GENESIS)];
    for (let block = 0; block < 4; block++) blocks.push(child(blocks.at(-1)!));
    for (const block of blocks) await store.commit(block, fence);
    const latest = await storeOf("b").latest();
    expect(await latest?.after(11)).toEqual([]);
    expect(await latest?.after(10)).toEqual([]);
    expect(await latest?.after(9)).toEqual([blocks[3]]);
    expect(await latest?.after(8)).toEqual([blocks[2], blocks[3]]);
    expect(await latest?.after(7)).toBeUndefined();
  });

  it("forgets the last committed block when asked for by its hash", async () => {
    const { storeOf, elect } = cluster();
    const store = storeOf("a");
    const fence = await elect("a");
    const block = samplePayload(7, GENESIS);
    await store.commit(block, fence);
    expect(await store.forget(hashHex(child(block)))).toBe(false);
    expect(await store.forget(hashHex(block))).toBe(true);
    expect(await store.latest()).toBeUndefined();
    expect((await store.commit(samplePayload(6, GENESIS), fence)).kind).toBe("committed");
  });

  it("reads a block that was committed before etcd forgot older revisions", async () => {
    const { etcd, storeOf, elect, keys } = cluster();
    const store = storeOf("a");
    const fence = await elect("a");
    const block = samplePayload(7, GENESIS);
    await store.commit(block, fence);
    const { revision } = await etcd.txn([], [{ kind: "put", key: keys.roster, value: new Uint8Array() }]);
    await etcd.compact(revision);
    expect((await store.latest())?.envelope).toEqual(block);
  });
}

describe("committed blocks, in the model of etcd", () => {
  const etcd = modelEtcd(new EtcdModel(() => 0));
  suite(() => etcd);
});

if (whyNoEtcd !== undefined) console.log(`skipped: committed blocks in a real etcd: ${whyNoEtcd}`);
describe.skipIf(whyNoEtcd !== undefined)("committed blocks, in etcd", () => {
  let server: LocalEtcd;
  let etcd: EtcdGateway;
  beforeAll(async () => {
    server = await startLocalEtcd();
    etcd = new EtcdGateway({ endpoints: [server.url], timeoutMs: 5_000 });
  });
  afterAll(async () => {
    await etcd?.close();
    await server?.close();
  });
  suite(() => etcd);
});

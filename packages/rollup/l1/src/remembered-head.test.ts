import { hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { L1Endpoints } from "./endpoints/endpoints.ts";
import { L1Client } from "./l1-client.ts";
import { type BlockFixture, blockFixture } from "./testing/block-json.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";

/** Blocks 100 to 100 + `count` − 1 that build on each other. @param first distinguishes branches */
function chain(count: number, first: Uint8Array): BlockFixture[] {
  const blocks: BlockFixture[] = [];
  for (let i = 0; i < count; i++) {
    const parent = blocks.at(-1);
    blocks.push(blockFixture(100 + i, 0, parent === undefined ? first : hexToBytes(parent.hash)));
  }
  return blocks;
}

const OLD = chain(4, new Uint8Array(32).fill(1));
const NEW = chain(6, new Uint8Array(32).fill(2));

/** A client that has seen the old branch's head, and since then nothing, while L1 went over to the new branch. */
async function behind() {
  const endpoint = new FakeEndpoint([...OLD]);
  const clock = new FakeClock();
  const endpoints = new L1Endpoints(
    {},
    { endpoints: [{ name: "l1", rpc: endpoint }], clock, log: { warn: () => {}, debug: () => {} } },
  );
  const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 20 }, { endpoints, clock });
  for (const { hash } of OLD) await l1.blockByHash(hash);
  await l1.blockByLabel("latest");
  expect((await l1.blockByNumber(102))?.hash).toBe(OLD[2]!.hash);
  return { l1, endpoint };
}

describe("which blocks are below a remembered head", () => {
  it("is not said any more once a finalized block is of another branch", async () => {
    const { l1, endpoint } = await behind();
    endpoint.blocks.splice(0, OLD.length, NEW[1]!, NEW[2]!, NEW[3]!, NEW[4]!); // the first one is the finalized block
    expect((await l1.blockByLabel("finalized"))?.hash).toBe(NEW[1]!.hash);
    expect((await l1.blockByNumber(102))?.hash).toBe(NEW[2]!.hash);
  });

  it("is not said any more once a finalized block is above it", async () => {
    const { l1, endpoint } = await behind();
    endpoint.blocks.splice(0, OLD.length, NEW[4]!, NEW[2]!, NEW[5]!);
    expect((await l1.blockByLabel("finalized"))?.hash).toBe(NEW[4]!.hash);
    expect((await l1.blockByNumber(102))?.hash).toBe(NEW[2]!.hash);
  });

  it("is not said any more once a block is read that is above it", async () => {
    const { l1, endpoint } = await behind();
    endpoint.blocks.splice(0, OLD.length, ...NEW);
    expect((await l1.blockByNumber(104))?.hash).toBe(NEW[4]!.hash);
    expect((await l1.blockByNumber(102))?.hash).toBe(NEW[2]!.hash);
  });

  it("is not said any more once blocks that are read ahead are of another branch", async () => {
    const { l1, endpoint } = await behind();
    endpoint.blocks.splice(0, OLD.length, ...NEW);
    const { headers } = await l1.readBlocks(101, 1);
    expect(headers.map(({ hash }) => hash)).toEqual([NEW[1]!.hash]);
    expect((await l1.blockByNumber(102))?.hash).toBe(NEW[2]!.hash);
  });

  it("is not said any more once a block to read is of another branch", async () => {
    const { l1, endpoint } = await behind();
    endpoint.blocks.splice(0, OLD.length, ...NEW);
    expect((await l1.blockToRead(104))?.hash).toBe(NEW[4]!.hash);
    expect((await l1.blockToRead(102))?.hash).toBe(NEW[2]!.hash);
  });

  it("is not said any more once the block before is of another branch, although what links the head to that one is not known", async () => {
    const { l1, endpoint } = await behind();
    const older = chain(6, new Uint8Array(32).fill(3));
    endpoint.blocks.splice(0, OLD.length, ...older);
    await l1.blockByLabel("latest"); // 105, of whose ancestors nothing but hashes of the first is known
    endpoint.blocks.splice(0, older.length, ...NEW);
    await l1.readBlocks(101, 3);
    endpoint.blocks.push(...older.slice(4)); // still there by hash, but not by number
    expect((await l1.blockToRead(104))?.hash).toBe(NEW[4]!.hash);
  });
});

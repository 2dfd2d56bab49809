import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, EMPTY_TRIE_ROOT, type Hex, keccak256, ZERO_HASH } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { encodeHeader, type Header, nextBaseFee, parseChainConfig } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { HeaderChain } from "./header-chain.ts";
import { HeaderFile } from "./header-file.ts";
import type { HeaderStore, Segment } from "./header-store.ts";
import { descendingHeaders, type HashedHeader } from "./verified-header.ts";

class MemoryHeaderStore implements HeaderStore {
  #segments: readonly Segment[] = [];
  readonly #hashes = new Map<number, Uint8Array>();

  load(): readonly Segment[] {
    return this.#segments;
  }

  save(segments: readonly Segment[]): void {
    this.#segments = segments.map((segment) => ({ ...segment }));
  }

  write(firstNumber: number, hashes: Uint8Array): void {
    for (let at = 0; at < hashes.length; at += 32) this.#hashes.set(firstNumber + at / 32, hashes.slice(at, at + 32));
  }

  read(firstNumber: number, count: number): Uint8Array {
    const found = new Uint8Array(count * 32);
    for (let index = 0; index < count; index++) found.set(this.#hashes.get(firstNumber + index) ?? new Uint8Array(32), index * 32);
    return found;
  }

  clear(): void {
    this.#segments = [];
    this.#hashes.clear();
  }

  close(): void {}
}

const config = parseChainConfig({ chainId: 901, terminalTotalDifficulty: 0, shanghaiTime: 0 });

function hashed(header: Header): HashedHeader {
  const rlp = encodeHeader(header);
  return { header, rlp, hash: keccak256(rlp) };
}

const genesis = hashed(headerOf({ timestamp: 1_000, baseFeePerGas: 1_000_000_000n, withdrawalsRoot: EMPTY_TRIE_ROOT }));

/** @param salt makes another branch */
function extend(parent: HashedHeader, count: number, salt = 0): HashedHeader[] {
  const made: HashedHeader[] = [];
  for (let at = parent; made.length < count; made.push(at)) {
    const { number, timestamp } = at.header;
    at = hashed({
      ...at.header,
      number: number + 1,
      timestamp: timestamp + 2,
      parentHash: at.hash,
      mixHash: new Uint8Array(32).fill(salt),
      baseFeePerGas: nextBaseFee(config, at.header, timestamp + 2),
    });
  }
  return made;
}

const main = [genesis, ...extend(genesis, 3_000)];
const other = [...main.slice(0, 2_001), ...extend(main[2_000]!, 1_000, 1)];

/** A chain that has the first blocks of `main`, up to `head`. */
class FakeChain {
  readonly config = config;
  readonly genesis = { hash: genesis.hash, block: { header: { number: 0 } } };
  readonly #known = new Map<Hex, HashedHeader>();
  #head = genesis;

  constructor(head: number) {
    this.grow(head);
  }

  grow(head: number): void {
    for (const block of main.slice(0, head + 1)) this.#known.set(bytesToHex(block.hash), block);
    this.#head = main[head]!;
  }

  head = () => ({ number: this.#head.header.number, hash: bytesToHex(this.#head.hash) });
  headerOf = ({ hash }: { readonly hash: Uint8Array }) => this.#known.get(bytesToHex(hash));
}

/** Adds wanted headers, at most `limit`. @returns the number of requested headers */
function supply(headers: HeaderChain, chain: readonly HashedHeader[], limit: number, most = Number.POSITIVE_INFINITY): number {
  let asked = 0;
  while (headers.wanted !== undefined && asked < most) {
    const { number, hash } = headers.wanted;
    expect(bytesToHex(chain[number]!.hash)).toBe(bytesToHex(hash));
    const count = Math.min(limit, number);
    const outcome = headers.add(chain.slice(number - count + 1, number + 1).toReversed());
    expect(outcome.kind).toBe("added");
    asked += outcome.kind === "added" ? outcome.count : 0;
  }
  return asked;
}

function expectChain(headers: HeaderChain, chain: readonly HashedHeader[], first: number): void {
  const { number } = headers.target!;
  expect(headers.firstMissing).toBe(first);
  const hashes = headers.hashes(first, number - first + 1);
  expect(hashes.map(bytesToHex)).toEqual(chain.slice(first, number + 1).map(({ hash }) => bytesToHex(hash)));
}

const aim = (headers: HeaderChain, { header, hash }: HashedHeader): void => headers.aim(header, hash);

describe("HeaderChain", () => {
  it("goes back to the block that the chain has, and no further", () => {
    const headers = new HeaderChain(new MemoryHeaderStore(), new FakeChain(700));
    aim(headers, main[1_500]!);
    expect(supply(headers, main, 192)).toBe(799);
    expectChain(headers, main, 701);
    expect(headers.recent(701)?.hash).toEqual(main[701]!.hash);
  });

  it("uses what was there before when the target moves on, jumps, and moves to another branch", () => {
    const headers = new HeaderChain(new MemoryHeaderStore(), new FakeChain(0));
    aim(headers, main[1_000]!);
    supply(headers, main, 100, 300); // not all yet
    aim(headers, main[1_001]!); // the next one
    expect(headers.wanted?.number).toBe(699);
    aim(headers, main[2_500]!);
    expect(supply(headers, main, 128)).toBe(1_498 + 699);
    expectChain(headers, main, 1);
    aim(headers, other[2_600]!); // forked off at 2,000
    const asked = supply(headers, other, 64);
    expect(asked).toBeGreaterThanOrEqual(599);
    expect(asked).toBeLessThan(599 + 2_048); // the fork point of two branches is found in steps
    expectChain(headers, other, 1);
    aim(headers, main[1_200]!); // back, to a block that is known
    expect(headers.wanted).toBeUndefined();
    expectChain(headers, main, 1);
  });

  it("finds the first missing block after some were executed", () => {
    const chain = new FakeChain(10);
    const headers = new HeaderChain(new MemoryHeaderStore(), chain);
    aim(headers, main[900]!);
    supply(headers, main, 512);
    for (const head of [11, 12, 500, 899]) {
      chain.grow(head);
      expect(headers.firstMissing).toBe(head + 1);
    }
  });

  it("names the header that breaks a rule, though its hash is right", () => {
    const bad = hashed({ ...main[51]!.header, timestamp: main[50]!.header.timestamp });
    const above = extend(bad, 20, 2);
    const chain = [...main.slice(0, 51), bad, ...above];
    const headers = new HeaderChain(new MemoryHeaderStore(), new FakeChain(20));
    aim(headers, above.at(-1)!);
    expect(headers.add(chain.slice(21, 71).toReversed())).toMatchObject({
      kind: "wrong",
      number: 51,
      hash: bad.hash,
      reason: expect.stringContaining("timestamp-not-after-parent") as string,
    });
  });

  it("tells a chain of another genesis, and one that left the finalized chain", () => {
    const headers = new HeaderChain(new MemoryHeaderStore(), new FakeChain(2_100));
    aim(headers, other[2_300]!);
    headers.add(other.slice(2_040, 2_300).toReversed());
    expect(headers.contradiction(undefined)).toBeUndefined();
    expect(headers.contradiction(2_039)).toMatchObject({ number: 2_039, reason: expect.stringContaining("finalized") as string });
    const foreign = hashed({ ...genesis.header, timestamp: 999 });
    const chain = [foreign, ...extend(foreign, 5)];
    aim(headers, chain[5]!);
    headers.add(chain.slice(1, 5).toReversed());
    expect(headers.contradiction(undefined)).toMatchObject({ number: 0, hash: foreign.hash });
  });

  const folder = mkdtempSync(join(tmpdir(), "rnode-headers-"));
  it("goes on from its files after a kill at any time, whatever the targets were", () => {
    for (let seed = 1; seed <= 6; seed++) {
      const random = createRandom(seed);
      const path = join(folder, String(seed));
      const chain = new FakeChain(0);
      const open = (): HeaderStore => new HeaderFile(path, { number: 0, hash: genesis.hash }, silentLogger);
      let store = open();
      let headers = new HeaderChain(store, chain);
      for (let step = 0; step < 12; step++) {
        const branch = random(3) === 0 ? other : main;
        aim(headers, branch[1 + random(3_000)]!);
        supply(headers, branch, 1 + random(300), random(1_500));
        if (random(2) > 0) continue;
        if (random(2) > 0)
          headers.close(); // otherwise it was killed: nothing is saved
        else store.close();
        store = open();
        headers = new HeaderChain(store, chain);
      }
      const branch = random(2) === 0 ? other : main;
      aim(headers, branch[3_000]!);
      supply(headers, branch, 256);
      expectChain(headers, branch, 1);
      headers.close();
    }
  });

  it.each([
    ["damaged", "{"],
    ["of another version", JSON.stringify({ version: 9, segments: [] })],
    ["of another chain", JSON.stringify({ version: 1, genesis: `0x${"11".repeat(32)}`, segments: [] })],
    [
      "no ranges",
      JSON.stringify({ version: 1, genesis: bytesToHex(genesis.hash), segments: [{ low: 9, high: 2, parentHash: "0x" }] }),
    ],
  ])("begins anew where its file is %s", (name, text) => {
    const path = join(folder, name);
    const store = new HeaderFile(path, { number: 0, hash: genesis.hash }, silentLogger);
    store.save([{ low: 3, high: 9, parentHash: ZERO_HASH }]);
    expect(store.load()).toHaveLength(1);
    writeFileSync(join(path, "segments.json"), text);
    expect(store.load()).toEqual([]);
    store.close();
  });
});

describe("descendingHeaders", () => {
  const encoded = (from: number, to: number): Uint8Array[] =>
    main
      .slice(to, from + 1)
      .toReversed()
      .map(({ rlp }) => rlp);

  it("takes consecutive headers", () => {
    expect(descendingHeaders(encoded(20, 10), 20, 64)).toMatchObject({ kind: "headers" });
  });

  it.each<[string, Uint8Array[]]>([
    ["more than were asked for", encoded(100, 1)],
    ["others", encoded(19, 10)],
    ["a gap", [...encoded(20, 18), ...encoded(16, 10)]],
    ["another branch in the middle", [other[2_010]!.rlp, main[2_009]!.rlp]],
    ["no headers", [Uint8Array.of(0xc0)]],
    ["bytes after a header", [Uint8Array.of(...main[20]!.rlp, 0)]],
  ])("refuses %s", (_, given) => {
    const first = given[0] === other[2_010]!.rlp ? 2_010 : 20;
    expect(descendingHeaders(given, first, 64).kind).toBe("lie");
  });
});

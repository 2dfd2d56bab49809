import { bytesToHex, compareBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { expect, it } from "vitest";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** Keys with long shared prefixes, and values below and above the 32 bytes from which a node is hashed. */
function randomEntries(count: number, seed: number): { readonly key: Uint8Array; readonly value: Uint8Array }[] {
  const random = createRandom(seed);
  const keys = new Set<string>();
  while (keys.size < count) {
    const key = keccak256(Uint8Array.of(random(256), random(256)));
    key.fill(0x11, 0, random(4) * 10);
    keys.add(bytesToHex(key));
  }
  const sorted = [...keys].map((key) => hexToBytes(key)).sort(compareBytes);
  return sorted.map((key) => ({ key, value: new Uint8Array(1 + random(60)).fill(1 + random(255)) }));
}

it.each([1, 2, 3, 4, 5, 6])("a builder goes on where another one was, at any key (seed %i)", (seed) => {
  const entries = randomEntries(seed === 1 ? 1 : 20 * seed, seed);
  const build = (stopsAt: number): { readonly root: string; readonly nodes: readonly string[] } => {
    const nodes: string[] = [];
    const onNode = (path: Uint8Array, rlp: Uint8Array): void => void nodes.push(`${bytesToHex(path)} ${bytesToHex(rlp)}`);
    let builder = new SortedTrieBuilder(onNode);
    for (const [index, { key, value }] of entries.entries()) {
      if (index === stopsAt) {
        const progress = structuredClone(builder.progress());
        // Later changes of the first builder have no effect.
        const stopped = builder;
        builder = progress === undefined ? new SortedTrieBuilder(onNode) : SortedTrieBuilder.after(progress, onNode);
        const ended = nodes.length;
        stopped.finish();
        nodes.length = ended;
      }
      builder.add(key, value);
    }
    return { root: bytesToHex(builder.finish()), nodes };
  };
  const whole = build(-1);
  for (let stopsAt = 0; stopsAt < entries.length; stopsAt++) expect(build(stopsAt)).toEqual(whole);
});

it("a builder that goes on refuses a key that is not greater than the last one", () => {
  const [first, second] = randomEntries(2, 7);
  const builder = new SortedTrieBuilder();
  builder.add(second!.key, second!.value);
  const next = SortedTrieBuilder.after(builder.progress()!);
  expect(() => next.add(first!.key, first!.value)).toThrow("trie: unsorted keys");
});

import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeAccount } from "./account-codec.ts";
import { LiveStateTrie, type StateTrieChange, type StateTrieUpdate } from "./live-state-trie.ts";
import type { TrieNodeReader } from "./node-reader.ts";

/** All nodes are in memory. */
const NO_NODES: TrieNodeReader = { readNode: () => undefined };

const address = fc.nat(7).map((n) => keccak256(Uint8Array.of(n)).slice(12));
const word = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  bytes.map((given) => {
    const padded = new Uint8Array(32);
    padded.set(given, 32 - given.length);
    return padded;
  });
const slot = fc.record({
  slot: word(fc.nat(40).map((n) => Uint8Array.of(n))),
  after: word(
    fc.oneof(
      fc.constantFrom(Uint8Array.of(), Uint8Array.of(0x7f), Uint8Array.of(0x80)),
      fc.uint8Array({ minLength: 1, maxLength: 32 }),
    ),
  ),
});
const account = fc.record({ nonce: fc.bigInt(0n, 300n), balance: fc.bigInt(0n, 1n << 80n), codeHash: fc.constant(EMPTY_KECCAK) });
const change: fc.Arbitrary<StateTrieChange> = fc.record({
  address,
  after: fc.oneof({ weight: 6, arbitrary: account }, { weight: 1, arbitrary: fc.constant(undefined) }),
  storageCleared: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  storage: fc.array(slot, { maxLength: 12 }),
});
const blocks = fc.array(fc.uniqueArray(change, { maxLength: 6, selector: (each) => each.address[0] }), {
  minLength: 2,
  maxLength: 12,
});

/** The change as a thread receives it: the account as RLP, and all bytes in arrays of their own. */
const packed = ({ address, after, storageCleared, storage }: StateTrieChange): StateTrieChange => ({
  address: address.slice(),
  after: after === undefined || after instanceof Uint8Array ? after : encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT }),
  storageCleared,
  storage: storage.map((each) => ({ slot: each.slot.slice(), after: each.after.slice() })),
});

function overwrite({ address, after, storage }: StateTrieChange): void {
  address.fill(0x55);
  if (after instanceof Uint8Array) after.fill(0x55);
  for (const each of storage) for (const bytes of [each.slot, each.after]) bytes.fill(0x55);
}

const hexOf = (bytes: Uint8Array | undefined): string => (bytes === undefined ? "none" : bytesToHex(bytes));

const textOf = ({ stateRoot, storageRoots, nodes }: StateTrieUpdate): string =>
  [
    hexOf(stateRoot),
    ...[...storageRoots].map(([addressHex, root]) => `${addressHex} ${hexOf(root)}`),
    ...nodes.map(({ owner, path, rlp, before }) => [owner, path, rlp, before].map(hexOf).join(" ")),
  ].join("\n");

describe("LiveStateTrie", () => {
  it("lists the same in place, whatever becomes of the bytes that it was given", () => {
    fc.assert(
      fc.property(blocks, (all) => {
        const trie = new LiveStateTrie();
        const inPlace = new LiveStateTrie({ inPlace: true });
        let root = EMPTY_TRIE_ROOT;
        for (const block of all) {
          const given = block.map(packed);
          const found = textOf(inPlace.update(NO_NODES, root, given));
          given.forEach(overwrite);
          const expected = trie.update(NO_NODES, root, block);
          expect(found).toBe(textOf(expected));
          root = expected.stateRoot;
        }
      }),
      { numRuns: 150, seed: 7 },
    );
  });
});

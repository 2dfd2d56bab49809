import { bytesToHex, compareBytes, hexToBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeKeyOf } from "./node-key.ts";
import { ChangedNodes, NodeKeyBuffer, orderedRuns } from "./node-runs.ts";

const rlp = fc.option(fc.uint8Array({ minLength: 1, maxLength: 4 }), { nil: undefined });
const owner = fc
  .constantFrom(undefined, 1, 2, 0xff)
  .map((byte) => (byte === undefined ? undefined : new Uint8Array(32).fill(byte)));
const change: fc.Arbitrary<TrieNodeChange> = fc.record({
  owner,
  path: fc.array(fc.constantFrom(0, 1, 15), { maxLength: 4 }).map((nibbles) => Uint8Array.from(nibbles)),
  rlp,
  before: rlp,
});
const changes = fc.array(change, { maxLength: 24 });

/** A block's change of a node. */
interface Change {
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
}

const keyOf = ({ owner: of, path }: TrieNodeChange): string => bytesToHex(nodeKeyOf(of, path));

describe("runs of changed nodes", () => {
  it("have every key once, in order, with the first before and the last after", () => {
    fc.assert(
      fc.property(changes, (nodes) => {
        const expected = new Map<string, { before: Uint8Array | undefined; rlp: Uint8Array | undefined }>();
        for (const node of nodes) {
          const { before } = expected.get(keyOf(node)) ?? node;
          expected.set(keyOf(node), { before, rlp: node.rlp });
        }
        const listed = orderedRuns(nodes).flatMap((run) => run.nodes.slice(run.from, run.to));
        const keys = listed.map(keyOf);
        expect(keys).toEqual([...expected.keys()].sort((a, b) => compareBytes(hexToBytes(a), hexToBytes(b))));
        for (const node of listed) expect({ before: node.before, rlp: node.rlp }).toEqual(expected.get(keyOf(node)));
      }),
      { seed: 1 },
    );
  });

  it("are taken as they are where they ascend", () => {
    const of = new Uint8Array(32).fill(7);
    const at = (nibble: number, whose: Uint8Array | undefined): TrieNodeChange => ({
      owner: whose,
      path: Uint8Array.of(nibble),
      rlp: Uint8Array.of(nibble),
      before: undefined,
    });
    const nodes = [at(3, of), at(4, of), at(1, undefined), at(2, undefined)];
    expect(orderedRuns(nodes)).toEqual([
      { nodes, from: 2, to: 4 },
      { nodes, from: 0, to: 2 },
    ]);
  });

  it("of many blocks come out by key, each node as it was before the first and as the last one left it, and only once", () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 9 }), (blocks) => {
        const changed = new ChangedNodes();
        const last = new Map<string, Change>();
        const key = new NodeKeyBuffer();
        const drained = (): [string, Change][] => {
          const rows: [string, Change][] = [];
          changed.drain((of, paths, at, length, before, after) => {
            key.setOwner(of);
            rows.push([bytesToHex(key.withPath(paths, at, length)), { before, after }]);
          });
          return rows;
        };
        for (const nodes of blocks) {
          for (const run of orderedRuns(nodes)) {
            changed.begin(run.nodes[run.from]!.owner);
            for (const node of run.nodes.slice(run.from, run.to)) {
              changed.add(node.path, node.before, node.rlp);
              const { before } = last.get(keyOf(node)) ?? node;
              last.set(keyOf(node), { before, after: node.rlp });
            }
          }
        }
        expect(drained()).toEqual([...last].sort(([a], [b]) => compareBytes(hexToBytes(a), hexToBytes(b))));
        expect(drained()).toEqual([]);
      }),
      { seed: 1 },
    );
  });
});

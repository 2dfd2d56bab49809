import type { AccountChange } from "@rnode/evm";
import { bytesToHex, type ExactInteger, type Hex } from "@rnode/primitives";
import { exactNumber } from "@rnode/protocol";
import type { BlockCommit } from "@rnode/storage";
import type { StoredBlock } from "../api.ts";
import type { PreparedBlock } from "../prepared-block.ts";

/** A block that was executed and found valid, with everything that a commit needs. It is kept in memory until fork choice decides. */
export interface ExecutedBlock extends BlockCommit {
  readonly prepared: PreparedBlock;
  readonly hashHex: Hex;
  readonly parentHashHex: Hex;
  readonly requests: readonly Uint8Array[];
  /** size of `nodes` if they are packed; packed nodes are unpacked at each access */
  readonly packedNodesBytes?: number | undefined;
  /** Σ tips in wei */
  readonly tipsWei: bigint;
}

export const storedBlockOf = ({ hash, block, receipts, senders }: BlockCommit): StoredBlock => ({ hash, block, receipts, senders });

/** The changes of one block, by key. Created when the first child is executed while the block is not in the database. */
export interface StateLayer {
  readonly accounts: ReadonlyMap<Hex, { readonly change: AccountChange; readonly storage: ReadonlyMap<Hex, Uint8Array> }>;
  readonly codes: ReadonlyMap<Hex, Uint8Array>;
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  /** by `nodeKey` */
  readonly nodes: ReadonlyMap<string, Uint8Array | undefined>;
  readonly number: ExactInteger;
  readonly hash: Uint8Array;
}

type LayerSource = Pick<ExecutedBlock, "block" | "hash" | "changes" | "storageRoots" | "nodes">;

const layers = new WeakMap<LayerSource, StateLayer>();

export function stateLayerOf(executed: LayerSource): StateLayer {
  let layer = layers.get(executed);
  if (layer === undefined) {
    let nodes: ReadonlyMap<string, Uint8Array | undefined> | undefined; // PERF: created on demand, because the nodes are mostly in memory and these are rarely used
    layer = {
      accounts: new Map(
        executed.changes.accounts.map((change) => [
          bytesToHex(change.address),
          { change, storage: new Map(change.storage.map(({ slot, after }) => [bytesToHex(slot), after])) },
        ]),
      ),
      codes: new Map(executed.changes.codes.map(({ codeHash, code }) => [bytesToHex(codeHash), code])),
      storageRoots: executed.storageRoots,
      get nodes() {
        nodes ??= new Map(executed.nodes.map(({ owner, path, rlp }) => [nodeKey(owner, path), rlp]));
        return nodes;
      },
      number: exactNumber(executed.block.header),
      hash: executed.hash,
    };
    layers.set(executed, layer);
  }
  return layer;
}

/** The nibbles of the path as characters, after the trie's owner. */
export function nodeKey(owner: Uint8Array | undefined, path: Uint8Array): string {
  let key = owner === undefined ? "" : bytesToHex(owner);
  for (let i = 0; i < path.length; i++) key += HEX_DIGITS[path[i]!];
  return key;
}
const HEX_DIGITS = "0123456789abcdef";

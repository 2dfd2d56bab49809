import type { AccountChange } from "@rnode/evm";
import { EMPTY_KECCAK, keccak256 } from "@rnode/primitives";
import { type BlockCommit, type ChainDatabase, openChainStore } from "@rnode/storage";
import { percentile } from "../rpc/rpc-load.ts";

/*
 * The slowest reads of old state: of an account and a slot that every block changes, so the lists of their blocks are as long as
 * the chain.
 */

const BLOCKS = 10_240;
const DISTANCES = [10, 100, 1000, 10_000] as const;
const READS = 5000;

const HOT = new Uint8Array(20).fill(0xaa);
const HOT_SLOT = keccak256(Uint8Array.of(1));

const word = (value: number): Uint8Array => {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(28, value);
  return bytes;
};

function hotChange(turn: number): AccountChange {
  const after = { nonce: 1n, balance: BigInt(turn), codeHash: EMPTY_KECCAK };
  const storage = [{ slot: HOT_SLOT, before: word(turn - 1), after: word(turn) }];
  return { address: HOT, before: undefined, after, storageCleared: false, storage };
}

/** @param makeCommit the next block of a store, from its changes @throws the read value differs from the written one */
export async function measureOldReads(
  folder: string,
  makeCommit: (store: ChainDatabase, accounts: readonly AccountChange[]) => BlockCommit,
): Promise<{ readonly what: string; readonly value: string }[]> {
  const store = openChainStore(folder, { sync: "interval" });
  try {
    store.writeGenesis(makeCommit(store, [hotChange(1)]));
    for (let turn = 2; turn <= BLOCKS; turn++) store.commitBlock(makeCommit(store, [hotChange(turn)]));
    return DISTANCES.map((distance) => {
      const us = new Float64Array(READS);
      for (let i = 0; i < READS; i++) {
        const number = store.head()!.number - distance - (i % 50);
        const view = store.stateAt(number)!;
        const start = performance.now();
        const account = view.readAccount(HOT);
        const slot = view.readStorage(HOT, HOT_SLOT);
        us[i] = (performance.now() - start) * 500;
        if (account?.balance !== BigInt(number + 1) || slot?.[31] !== ((number + 1) & 0xff))
          throw new Error(`wrong state of block ${number}`);
      }
      us.sort();
      const value = `median ${percentile(us, 0.5).toFixed(1)} µs, p99 ${percentile(us, 0.99).toFixed(1)}`;
      return { what: `reading what every block changes, ${distance} blocks back`, value };
    });
  } finally {
    await store.close();
  }
}

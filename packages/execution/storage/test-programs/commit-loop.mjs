// Commits blocks, and a reorganisation now and then, until it is killed (src/durability.test.ts).
// Before a commit it prints `will <hash>`, after it `done <hash>`: the head that the commit leads to.
// Arguments: folder, sync mode, seed.

import { writeSync } from "node:fs";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { openChainStore } from "@rnode/storage";
import { updateStateTrie } from "@rnode/trie";

const [folder, sync, seed] = process.argv.slice(2);
const store = openChainStore(folder, { sync, syncIntervalMs: 20 });
const word = (number) => keccak256(Uint8Array.of(number >> 16, number >> 8, number, Number(seed)));
let counter = 0;

/** A block after `parent` = {number, hash, stateRoot, nodes, storageRoots} that changes some accounts and some slots of one of them. */
function makeBlock(parent) {
  const accounts = [];
  for (let i = 0; i < 20; i++) {
    const address = word(counter++ % 500).subarray(0, 20);
    const storage = Array.from({ length: 5 }, (_, j) => ({
      slot: word((counter + j) % 40),
      before: word(0),
      after: word(counter * 7 + j),
    }));
    if (accounts.some((other) => bytesToHex(other.address) === bytesToHex(address))) continue;
    accounts.push({
      address,
      before: undefined,
      after: { nonce: BigInt(parent.number + 1), balance: BigInt(counter), codeHash: EMPTY_KECCAK },
      storageCleared: false,
      storage: i % 4 === 0 ? storage : [],
    });
  }
  const update = updateStateTrie(parent.nodes, parent.stateRoot, accounts, parent.storageRootOf);
  const header = headerOf({
    parentHash: parent.hash,
    stateRoot: update.stateRoot,
    number: parent.number + 1,
    timestamp: Date.now(),
  });
  const block = { header, transactions: [], ommers: [] };
  const changes = { accounts, codes: [] };
  return {
    block,
    hash: hashHeader(header),
    receipts: [],
    senders: [],
    changes,
    storageRoots: update.storageRoots,
    nodes: update.nodes,
  };
}

function parentAt(number) {
  const hash = store.readCanonicalHash(number);
  const view = store.stateAt(number);
  const nodes = store.trieNodesAt(number);
  return {
    number,
    hash,
    stateRoot: store.readHeader(hash).stateRoot,
    nodes,
    storageRootOf: (address) => view.readAccount(address)?.storageRoot,
  };
}

const nothing = { readNode: () => undefined };
if (store.head() === undefined) {
  store.writeGenesis(
    makeBlock({ number: -1, hash: new Uint8Array(32), stateRoot: EMPTY_TRIE_ROOT, nodes: nothing, storageRootOf: () => undefined }),
  );
}
for (;;) {
  const { number } = store.head();
  const depth = number > 10 && counter % 7 === 0 ? 3 : 0;
  const commit = makeBlock(parentAt(number - depth));
  const hash = bytesToHex(commit.hash);
  writeSync(1, `will ${hash}\n`);
  if (depth > 0) store.reorganize(number - depth, [commit]);
  else store.commitBlock(commit);
  writeSync(1, `done ${hash}\n`);
  // Gives the timer of the sync interval a chance to run.
  await new Promise((resolve) => setImmediate(resolve));
}

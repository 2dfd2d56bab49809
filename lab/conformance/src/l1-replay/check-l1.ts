import { isDeepStrictEqual } from "node:util";
import type { Kzg } from "@rnode/kzg";
import { L1Client, L1Endpoints, type L1Rpc } from "@rnode/l1";
import { bytesToHex } from "@rnode/primitives";
import { blobVersionedHash } from "@rnode/protocol";
import { executionAnswers } from "./execution-answers.ts";
import type { BlockEntry, L1Store } from "./l1-store.ts";

/** All data is local, so retries need not wait. */
const NO_WAITING = { unixMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() };
const NO_LOG = { warn: () => {}, debug: () => {} };

/**
 * Checks a block as the rollup node does: hash, transactions root, receipts root, and every used field.
 *
 * @param trust skips the transactions root: anvil computes that of blocks with blobs wrongly
 * @throws {Error} with the error in the block
 */
export async function checkBlock(store: L1Store, entry: BlockEntry, trust: boolean): Promise<void> {
  const faults: string[] = [];
  const endpoints = new L1Endpoints(
    { chainId: store.chain.chainId, maxAttempts: 1 },
    {
      endpoints: [{ name: "recording", rpc: rpcOf(store) }],
      clock: NO_WAITING,
      log: { ...NO_LOG, warn: (_, fields) => faults.push(String(fields?.reason)) },
    },
  );
  const l1 = new L1Client({ trustRpc: trust, rpcKind: "standard", cacheSize: 4 }, { endpoints, clock: NO_WAITING });
  try {
    await l1.transactions(entry.hash);
    await l1.receipts(entry.hash);
  } catch (cause) {
    throw new Error(`L1 block ${entry.number}: ${faults.join("; ") || (cause as Error).message}`, { cause });
  }
}

/** @throws {Error} a recorded blob does not match its hash */
export async function checkBlobs(store: L1Store, entry: BlockEntry, kzg: Kzg): Promise<number> {
  let checked = 0;
  for (const hash of new Set(entry.blobHashes)) {
    const blob = store.blob(hash);
    if (blob === undefined) continue;
    const commitment = await kzg.commitment(blob);
    const got = commitment && bytesToHex(blobVersionedHash(commitment));
    if (!isDeepStrictEqual(got, hash))
      throw new Error(`L1 block ${entry.number}: blob ${hash} has the versioned hash ${got ?? "of no blob"}`);
    checked++;
  }
  return checked;
}

function rpcOf(store: L1Store): L1Rpc {
  const answers = executionAnswers(store, { head: () => store.last, finalityBlocks: 0 });
  return {
    connectionsLost: 0,
    call: async (method, params) => answers(method, params),
    batch: async (calls) => calls.map(({ method, params }) => ({ kind: "result", result: answers(method, params) })),
  };
}

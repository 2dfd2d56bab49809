import { create2DeployerCodeFrom, newEngine, openChainReader, rulesOfBlock } from "@rnode/chain";
import { CallService, PROFILE_R, type ReadBackend, TraceService, UNLIMITED_WORK } from "@rnode/eth-api";
import { bytesToHex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { ChainConfig } from "@rnode/protocol";
import type { ChainStoreReader } from "@rnode/storage";
import { type BlockJson, blockJsonOf } from "./block-rows.ts";

/** A block's traces may take this much memory. */
const MAX_TRACE_BYTES = 1 << 30;

/** A canonical block, as JSON-RPC shows it. @throws {UserError} it has no receipts, or a reorganisation has just removed it */
export type BlockSource = (number: number) => Promise<BlockJson>;

/** @param store read-only; a client may be writing to it */
export function newBlockSource(
  store: ChainStoreReader,
  config: ChainConfig,
  { withTraces, upgradesDir }: { readonly withTraces: boolean; readonly upgradesDir: string | undefined },
): BlockSource {
  const chain = openChainReader(store, config);
  const backend: ReadBackend = { profile: PROFILE_R, chain, store };
  const traces = withTraces ? newTraceService(backend, upgradesDir) : undefined;
  return async (number) => {
    const stored = chain.resolve({ kind: "number", number });
    if (stored === undefined) throw new UserError(`block ${number}: a reorganisation has removed it, or its receipts were pruned`);
    const rules = rulesOfBlock(config, stored.block.header);
    const traced = (await traces?.placedTraces(UNLIMITED_WORK, stored, { timeoutMs: Number.POSITIVE_INFINITY })) ?? [];
    return blockJsonOf(backend.profile, rules, stored, traced);
  };
}

function newTraceService(backend: ReadBackend, upgradesDir: string | undefined): TraceService {
  const calls = new CallService(backend, newEngine(), { gasCap: 0n, timeoutMs: 0 });
  const limits = { maxRunning: 1, timeoutMs: 0, maxBytes: MAX_TRACE_BYTES };
  return new TraceService(backend, calls, { limits, create2DeployerCode: create2DeployerCodeFrom(upgradesDir) });
}

/** @throws {UserError} the history of some of the blocks has been pruned, or was never there */
export function checkHistory(store: ChainStoreReader, from: number, withTraces: boolean): void {
  const retained = store.retainedHistory();
  if (retained === undefined) return;
  const { firstBlock, oldestBlock, oldestReceipts, oldestState } = retained;
  const oldest = Math.max(oldestBlock, oldestReceipts, withTraces ? oldestState + 1 : 0);
  if (Math.max(from, firstBlock + 1) >= oldest) return; // the first block has no history
  const what = withTraces ? "receipts, and the state for traces," : "receipts";
  throw new UserError(`--from: block ${from} is below ${oldest}, the oldest block whose ${what} the database still has`);
}

export const hashAt = (store: ChainStoreReader, number: number): string | undefined => {
  const hash = store.readCanonicalHash(number);
  return hash && bytesToHex(hash);
};

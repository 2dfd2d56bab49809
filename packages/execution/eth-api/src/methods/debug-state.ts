import type { BadBlock } from "@rnode/chain";
import { addressShape, dataShape, hashShape, INVALID_PARAMS, optionalParam, param, RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import {
  bytesToHex,
  decodeRlp,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  type Hex,
  isCodedError,
  isZeroBytes,
  keccak256,
  padBytesLeft,
  ZERO_ADDRESS,
} from "@rnode/primitives";
import { encodeBlock, recoverSender, type Transaction } from "@rnode/protocol";
import { type StoredAccount, UNKNOWN_STORAGE_ROOT } from "@rnode/storage";
import { iterateTrie } from "@rnode/trie";
import { blockIdOf, requireHeader, requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import { blockToJson } from "../json/block-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { blockSelectorShape } from "../params/block-selector.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import { attributesShape } from "../params/payload-attributes.ts";
import type { Profile } from "../profile/profile.ts";
import * as results from "../schemas/debug-results.ts";
import { requireTraceable, type TraceableBlock } from "../tracing/traceable-block.ts";
import { WitnessService } from "../tracing/witness-service.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const NO_BLOOM = new Uint8Array(256);
/** maximum number of slots in one answer, whatever the request's limit */
const MAX_STORAGE_RANGE = 1024;
/** the most blocks that are executed again to find modified accounts */
const MAX_MODIFIED_RANGE = 1024;

/** The state behind blocks: witnesses, storage, and what changed. */
export function debugStateMethods(services: ReadServices): ApiMethods {
  const { backend, traces } = services;
  const witnesses = new WitnessService(backend, traces);
  const number = (name: string) => param(name, numberOrQuantityShape);
  const byNumber = (block: number) => requireHeader(backend, { kind: "number", number: block }).header.number;
  const byHash = (hash: Uint8Array) => requireHeader(backend, { kind: "hash", hash, requireCanonical: true }).header.number;
  return {
    debug_executionWitness: method({
      runs: "reader",
      cost: "trace",
      result: results.witness,
      params: [param("block", blockSelectorShape)],
      summary: "All that executing the block reads: trie nodes, codes, keys and ancestors' headers.",
      handler: ([selector], work) => witnesses.witnessOf(work, requireTraceable(backend, sealed(selector))),
    }),
    debug_executionWitnessByBlockHash: method({
      runs: "reader",
      cost: "trace",
      result: results.witness,
      params: [param("hash", hashShape)],
      summary: "The same by hash.",
      handler: ([hash], work) =>
        witnesses.witnessOf(work, requireTraceable(backend, { kind: "hash", hash, requireCanonical: false })),
    }),
    ...(backend.profile.witness.servesPayloads &&
      backend.chain.config.optimism !== undefined && {
        debug_executePayload: method({
          runs: "reader",
          cost: "trace",
          result: results.witness,
          params: [param("parentHash", hashShape), param("payloadAttributes", attributesShape)],
          summary: "All that executing a block with these payload attributes on the parent reads; the block is kept nowhere.",
          handler: ([parentHash, attributes], work) => witnesses.witnessOfAttributes(work, parentHash, attributes),
        }),
        debug_proofsSyncStatus: method({
          runs: "reader",
          cost: "cheap",
          result: results.proofsSyncStatus,
          params: [],
          summary: "The blocks whose accounts and slots can be proven, by number (--proofs.window); null if there are none.",
          handler: () => {
            const earliest = services.oldestProvableBlock();
            return earliest === undefined ? { earliest: null, latest: null } : { earliest, latest: backend.chain.head().number };
          },
        }),
      }),
    debug_getBadBlocks: method({
      runs: "writer",
      result: results.badBlocks,
      params: [],
      summary: "The last blocks that were found invalid, newest first, since the client started.",
      handler: (_, { chain }) => chain.badBlocks().map((bad) => badBlockToJson(backend.profile, bad)),
    }),
    debug_storageRangeAt: method({
      runs: "reader",
      cost: "trace",
      result: results.storageRange,
      params: [
        param("block", blockSelectorShape),
        param("transactionIndex", numberOrQuantityShape),
        param("address", addressShape),
        param("keyStart", dataShape),
        param("maxResult", numberOrQuantityShape),
      ],
      summary:
        "Slots of an account by their hashed keys, as they were before a transaction of the block; `key` is null if it is unknown (--preimages).",
      handler: ([selector, index, address, keyStart, maxResult], work) =>
        storageRange(services, work, requireTraceable(backend, sealed(selector)), index, address, keyStart, maxResult),
    }),
    debug_getModifiedAccountsByNumber: method({
      runs: "reader",
      cost: "trace",
      result: results.modifiedAccounts,
      params: [number("startNumber"), optionalParam("endNumber", numberOrQuantityShape)],
      summary: "Accounts that differ between two blocks; of one block: from its parent.",
      handler: ([start, end], work) =>
        modifiedAccounts(services, work, byNumber(start), end === undefined ? undefined : byNumber(end)),
    }),
    debug_getModifiedAccountsByHash: method({
      runs: "reader",
      cost: "trace",
      result: results.modifiedAccounts,
      params: [param("startHash", hashShape), optionalParam("endHash", hashShape)],
      summary: "The same by hashes.",
      handler: ([start, end], work) => modifiedAccounts(services, work, byHash(start), end === undefined ? undefined : byHash(end)),
    }),
  };
}

function badBlockToJson(profile: Profile, { block, hash, fault }: BadBlock): JsonObject {
  // The block has no receipts. What transactions show of their receipts is that of a failed one.
  const receipts = block.transactions.map(({ type }) => ({
    type,
    status: 0 as const,
    cumulativeGasUsed: 0n,
    bloom: NO_BLOOM,
    logs: [],
  }));
  const senders = block.transactions.map(senderOf);
  return {
    hash: bytesToHex(hash),
    block: blockToJson(profile, { block, hash, receipts, senders }, { full: true, totalDifficulty: undefined }),
    rlp: bytesToHex(encodeBlock(block)),
    reason: fault.rule,
  };
}

/** The zero address if the signature is invalid. */
function senderOf(tx: Transaction): Uint8Array {
  try {
    return recoverSender(tx);
  } catch (error) {
    if (isCodedError(error)) return ZERO_ADDRESS;
    throw error;
  }
}

interface Slot {
  /** undefined: only the slot's hash is known */
  readonly slot: Uint8Array | undefined;
  /** 32 bytes */
  readonly value: Uint8Array;
}

async function storageRange(
  { backend, traces }: ReadServices,
  work: Work,
  stored: TraceableBlock,
  index: number,
  address: Uint8Array,
  keyStart: Uint8Array,
  maxResult: number,
) {
  const { header, transactions } = stored.block;
  if (header.number === 0) throw rpcErrorOf(backend.profile.errors.genesisNotTraceable);
  if (index > transactions.length)
    throw new RpcError(INVALID_PARAMS, `transaction index ${index} out of range for block ${header.number}`);
  const parentSelector = { kind: "hash", hash: header.parentHash, requireCanonical: false } as const;
  const parent = requireState(backend, parentSelector);
  const nodes = backend.chain.trieNodesAt(blockIdOf(parent));
  if (nodes === undefined) throw rpcErrorOf(backend.profile.errors.proofUnavailable(parentSelector));

  const change = await traces.inSlot(work, async (slot) => {
    const run = await traces.replay(slot, stored, index);
    return run.execution.changes().accounts.find((account) => equalBytes(account.address, address));
  });
  const changed = new Map<Hex, Slot>();
  for (const { slot, after } of change?.storage ?? []) changed.set(bytesToHex(keccak256(slot)), { slot, value: after });

  const start = new Uint8Array(32);
  start.set(keyStart.subarray(0, 32));
  const startHex = bytesToHex(start);
  const limit = Math.min(maxResult, MAX_STORAGE_RANGE);
  const found: [Hex, Slot][] = [...changed].filter(([key, { value }]) => key >= startHex && !isZeroBytes(value));
  const isGone = change?.storageCleared === true || (change !== undefined && change.after === undefined);
  const root = isGone ? EMPTY_TRIE_ROOT : (parent.state.readAccount(address)?.storageRoot ?? EMPTY_TRIE_ROOT);
  let kept = 0;
  for (const { key, value } of iterateTrie(nodes, keccak256(address), root, start)) {
    work.check();
    const keyHex = bytesToHex(key);
    if (changed.has(keyHex)) continue;
    found.push([keyHex, { slot: backend.store.readPreimage(key), value: padBytesLeft(expectRlpString(decodeRlp(value)), 32) }]);
    if (++kept > limit) break;
  }
  found.sort(([a], [b]) => (a < b ? -1 : 1));
  const shown = found.slice(0, limit);
  return {
    storage: Object.fromEntries(
      shown.map(([key, { slot, value }]) => [key, { key: slot === undefined ? null : bytesToHex(slot), value: bytesToHex(value) }]),
    ),
    nextKey: found[limit]?.[0] ?? null,
  };
}

/** Executes the blocks again, and compares the accounts they touched at both ends of the range. */
async function modifiedAccounts(
  { backend, traces }: ReadServices,
  work: Work,
  start: number,
  end: number | undefined,
): Promise<Hex[]> {
  const first = end === undefined ? start - 1 : start;
  const last = end ?? start;
  if (first < 0) throw rpcErrorOf(backend.profile.errors.genesisNotTraceable);
  if (first >= last)
    throw new RpcError(INVALID_PARAMS, `start block height (${first}) must be less than end block height (${last})`);
  if (last - first > MAX_MODIFIED_RANGE) {
    throw new RpcError(
      INVALID_PARAMS,
      `range of ${last - first} blocks exceeds ${MAX_MODIFIED_RANGE}, retry with ${first}-${first + MAX_MODIFIED_RANGE}`,
    );
  }
  return traces.inSlot(work, async (slot) => {
    const touched = new Map<Hex, { readonly address: Uint8Array; hasSlots: boolean }>();
    for (let number = first + 1; number <= last; number++) {
      const stored = requireTraceable(backend, { kind: "number", number });
      const run = await traces.replay(slot, stored);
      run.finish(stored.block.withdrawals, stored.block.ommers);
      for (const { address, storage } of run.execution.changes().accounts) {
        const key = bytesToHex(address);
        const hasSlots = storage.length > 0 || touched.get(key)?.hasSlots === true;
        touched.set(key, { address, hasSlots });
      }
    }
    const before = requireState(backend, { kind: "number", number: first }).state;
    const after = requireState(backend, { kind: "number", number: last }).state;
    const modified: Hex[] = [];
    for (const [key, { address, hasSlots }] of touched) {
      slot.check();
      const [a, b] = [before.readAccount(address), after.readAccount(address)];
      const isSame =
        a === undefined || b === undefined
          ? a === b
          : a.nonce === b.nonce &&
            a.balance === b.balance &&
            equalBytes(a.codeHash, b.codeHash) &&
            (isUnknownRoot(a) || isUnknownRoot(b) ? !hasSlots : equalBytes(a.storageRoot, b.storageRoot));
      if (!isSame) modified.push(key);
    }
    return modified.sort();
  });
}

/** In blocks that were imported in runs. */
const isUnknownRoot = ({ storageRoot }: StoredAccount): boolean => equalBytes(storageRoot, UNKNOWN_STORAGE_ROOT);

import { type BlockSelector, IntermediateRoots } from "@rnode/chain";
import {
  anyJson,
  booleanShape,
  bytesShape,
  dataShape,
  hashShape,
  INVALID_PARAMS,
  optionalParam,
  param,
  RpcError,
  rpcErrorOf,
  SERVER_ERROR,
} from "@rnode/jsonrpc";
import {
  bytesToHex,
  checksumAddress,
  decodeRlp,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  isCodedError,
} from "@rnode/primitives";
import type { ChainStoreReader, StateView } from "@rnode/storage";
import { decodeAccount, iterateTrie, type TrieNodeReader } from "@rnode/trie";
import { blockIdOf, requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import { chainConfigToJson } from "../json/chain-config-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { blockNumberShape, blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import { traceOptionsShape } from "../params/trace-options.ts";
import * as results from "../schemas/debug-results.ts";
import { requireTraceable } from "../tracing/traceable-block.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** the most accounts in one answer */
const MAX_ACCOUNTS = 256;
const MAX_DUMPED_ACCOUNTS = 10_000;
/** accounts that are left out in a row, because their addresses are unknown, until the answer ends */
const MAX_LEFT_OUT = 10_000;
/** the most slots of one account */
const MAX_DUMPED_SLOTS = 10_000;
/** `c`, the prefix of a code's hash in the keys of Geth's database */
const CODE_PREFIX = 0x63;
const HASH_SIZE = 32;

interface DumpOptions {
  /** accounts whose address is not known are shown by the hashes of their addresses */
  readonly hasIncompletes: boolean;
  /** 32 bytes */
  readonly start: Uint8Array;
  readonly maxAccounts: number;
  readonly hasCode: boolean;
  readonly hasStorage: boolean;
}

/** Methods about the state as a whole and about the contents of the database. */
export function debugChainMethods({ backend, traces, writer }: ReadServices): ApiMethods {
  const { errors } = backend.profile;

  const dump = (work: Work, selector: BlockSelector, options: DumpOptions): JsonObject => {
    const at = requireState(backend, sealed(selector));
    const nodes = backend.chain.trieNodesAt(blockIdOf(at));
    if (nodes === undefined) throw rpcErrorOf(errors.proofUnavailable(selector));
    const root = backend.profile.dump.hasPrefix ? bytesToHex(at.header.stateRoot) : bytesToHex(at.header.stateRoot).slice(2);
    const accounts: JsonObject = {};
    const { store } = backend;
    let kept = 0;
    let leftOut = 0;
    for (const { key, value } of iterateTrie(nodes, undefined, at.header.stateRoot, options.start)) {
      work.check();
      if (kept === options.maxAccounts || leftOut === MAX_LEFT_OUT) return { root, accounts, next: bytesToHex(key) };
      const address = store.readPreimage(key);
      if (address === undefined && !options.hasIncompletes) {
        leftOut++;
        continue;
      }
      kept++;
      const name = address === undefined ? `pre(${bytesToHex(key)})` : checksumAddress(address);
      accounts[name] = {
        ...dumpedAccount(work, { ...at, nodes, store }, key, value, options),
        ...(address !== undefined && { address: bytesToHex(address) }),
      };
    }
    return { root, accounts };
  };
  const readCode = (state: StateView, hash: Uint8Array): string | null => {
    try {
      return bytesToHex(state.readCode(hash));
    } catch (error) {
      if (isCodedError(error, "storage/missing-code")) return null;
      throw error;
    }
  };

  return {
    debug_intermediateRoots: method({
      runs: "reader",
      cost: "trace",
      result: results.roots,
      params: [param("blockHash", hashShape), optionalParam("options", anyJson)],
      summary: "The state root after each transaction of a block.",
      handler: async ([hash], work) => {
        const stored = requireTraceable(backend, { kind: "hash", hash, requireCanonical: false });
        const { header, transactions } = stored.block;
        if (header.number === 0) throw rpcErrorOf(errors.genesisNotTraceable);
        const selector = { kind: "hash", hash: header.parentHash, requireCanonical: false } as const;
        const parent = requireState(backend, selector);
        const nodes = backend.chain.trieNodesAt(blockIdOf(parent));
        if (nodes === undefined) throw rpcErrorOf(errors.proofUnavailable(selector));
        return traces.inSlot(work, async (slot) => {
          const run = traces.beginBlock(slot, stored);
          const intermediate = new IntermediateRoots({ stateRoot: parent.header.stateRoot, nodes });
          const roots: string[] = [];
          for (let count = 0; count < transactions.length; count++) {
            await traces.applyAll(slot, run, stored, count, count + 1);
            roots.push(bytesToHex(intermediate.next(run.execution.changes())));
          }
          return roots;
        });
      },
    }),
    debug_accountRange: method({
      runs: "reader",
      cost: "search",
      result: results.accountRange,
      params: [
        param("block", blockSelectorShape),
        param("start", dataShape),
        param("maxResults", numberOrQuantityShape),
        optionalParam("nocode", booleanShape),
        optionalParam("nostorage", booleanShape),
        optionalParam("incompletes", booleanShape),
      ],
      summary:
        "Accounts in the order of their hashed addresses, from `start` on, at most 256; `next` is where to go on. Addresses are known with --preimages only: Geth leaves other accounts out unless asked for incompletes.",
      handler: ([selector, from, maxResults, noCode = false, noStorage = false, incompletes = false], work) => {
        const start = new Uint8Array(32);
        start.set(from.subarray(0, 32));
        const maxAccounts = maxResults === 0 ? MAX_ACCOUNTS : Math.min(maxResults, MAX_ACCOUNTS);
        const hasIncompletes = incompletes || !backend.profile.dump.leavesOutIncompletes;
        return dump(work, selector, { start, maxAccounts, hasIncompletes, hasCode: !noCode, hasStorage: !noStorage });
      },
    }),
    debug_dumpBlock: method({
      runs: "reader",
      cost: "search",
      result: results.accountRange,
      params: [param("block", blockNumberShape)],
      summary: "All accounts of a small state, by their addresses with --preimages, otherwise by the hashes of those.",
      handler: ([selector], work) => {
        const all = dump(work, selector, {
          start: new Uint8Array(32),
          maxAccounts: MAX_DUMPED_ACCOUNTS,
          hasIncompletes: true,
          hasCode: true,
          hasStorage: true,
        });
        if (all.next !== undefined)
          throw new RpcError(SERVER_ERROR, `the state has more than ${MAX_DUMPED_ACCOUNTS} accounts: use debug_accountRange`);
        return all;
      },
    }),
    debug_chainConfig: method({
      runs: "reader",
      cost: "cheap",
      result: results.chainConfig,
      params: [],
      summary: "The chain configuration, as in a genesis file.",
      handler: () => chainConfigToJson(backend.chain.config),
    }),
    debug_codeByHash: method({
      runs: "reader",
      cost: "cheap",
      result: results.code,
      params: [param("codeHash", hashShape), optionalParam("block", blockSelectorShape)],
      summary: "Bytecode by its hash; null when there is none.",
      handler: ([hash, selector]) => readCode(requireState(backend, selector ?? LATEST).state, hash),
    }),
    debug_preimage: method({
      runs: "reader",
      cost: "cheap",
      result: results.preimage,
      params: [param("hash", hashShape)],
      summary: "The address or slot with a keccak256, with --preimages.",
      handler: ([hash]) => {
        const preimage = backend.store.readPreimage(hash);
        if (preimage === undefined) throw new RpcError(SERVER_ERROR, "unknown preimage");
        return bytesToHex(preimage);
      },
    }),
    debug_dbGet: method({
      runs: "reader",
      cost: "cheap",
      result: results.code,
      params: [param("key", bytesShape(undefined, "a key"))],
      summary:
        "A value of Geth's database by its key: of codes only (`0x63` and the hash, or the hash). Trie nodes are kept by path.",
      handler: ([key]) => {
        const hasPrefix = key.length === 1 + HASH_SIZE && key[0] === CODE_PREFIX;
        // kona-host asks without the prefix if there is no answer with it
        const code =
          hasPrefix || key.length === HASH_SIZE ? readCode(requireState(backend, LATEST).state, key.subarray(-HASH_SIZE)) : null;
        if (code !== null || hasPrefix) return code;
        throw new RpcError(
          INVALID_PARAMS,
          "only codes can be read by key: 0x63 and a code hash; debug_executionWitness has trie nodes",
        );
      },
    }),
    debug_traceBadBlock: method({
      runs: "reader",
      cost: "trace",
      result: results.transactionTraces,
      params: [param("hash", hashShape), optionalParam("options", traceOptionsShape)],
      summary: "Traces a block that was found invalid (debug_getBadBlocks).",
      handler: async ([hash, request], work) => {
        const block = await writer.badBlock(hash);
        if (block === undefined) throw new RpcError(SERVER_ERROR, `bad block ${bytesToHex(hash)} not found`);
        return traces.debugBlock(work, traces.traceable(block), request ?? traceOptionsShape.parse({}));
      },
    }),
  };
}

interface DumpedState {
  readonly state: StateView;
  readonly nodes: TrieNodeReader;
  readonly store: Pick<ChainStoreReader, "readPreimage">;
}

function dumpedAccount(
  work: Work,
  from: DumpedState,
  key: Uint8Array,
  leaf: Uint8Array,
  { hasCode, hasStorage }: DumpOptions,
): JsonObject {
  const account = decodeAccount(leaf);
  const isContract = !equalBytes(account.codeHash, EMPTY_KECCAK);
  // an account that took back its delegation (EIP-7702) has slots without code
  const hasSlots = isContract || !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  return {
    balance: String(account.balance),
    nonce: Number(account.nonce),
    root: bytesToHex(account.storageRoot),
    codeHash: bytesToHex(account.codeHash),
    ...(hasCode && isContract && { code: bytesToHex(from.state.readCode(account.codeHash)) }),
    ...(hasStorage && hasSlots && { storage: dumpedStorage(work, from, key, account.storageRoot) }),
    key: bytesToHex(key),
  };
}

/** Slots whose preimage is unknown are shown by their hash. */
function dumpedStorage(work: Work, { nodes, store }: DumpedState, owner: Uint8Array, root: Uint8Array): JsonObject {
  const slots: JsonObject = {};
  let kept = 0;
  for (const { key, value } of iterateTrie(nodes, owner, root, new Uint8Array(32))) {
    work.check();
    if (kept++ === MAX_DUMPED_SLOTS)
      throw new RpcError(
        SERVER_ERROR,
        `an account has more than ${MAX_DUMPED_SLOTS} slots: use debug_storageRangeAt, and nostorage here`,
      );
    slots[bytesToHex(store.readPreimage(key) ?? key)] = bytesToHex(expectRlpString(decodeRlp(value))).slice(2);
  }
  return slots;
}

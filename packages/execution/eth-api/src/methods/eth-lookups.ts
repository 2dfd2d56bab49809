import type { StoredBlock } from "@rnode/chain";
import { addressShape, optionalParam, param, rpcErrorOf, uint64Shape } from "@rnode/jsonrpc";
import { bytesToHex, EMPTY_BYTES, EMPTY_KECCAK, equalBytes, toQuantity } from "@rnode/primitives";
import { isSigned } from "@rnode/protocol";
import { UNKNOWN_STORAGE_ROOT } from "@rnode/storage";
import { type ReadBackend, requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import { placeOf } from "../json/receipt-json.ts";
import { type JsonObject, transactionToJson } from "../json/transaction-json.ts";
import { BLOCK_ALIASES, blockSelectorShape, LATEST } from "../params/block-selector.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";
import { firstBlockWith } from "./state-search.ts";

const { arrayOf, DATA, HASH, nullable, object, QUANTITY, TRANSACTION } = results;

/** Whole accounts, and transactions by sender: compatible with Reth. */
export function ethLookupMethods({ backend }: ReadServices): ApiMethods {
  const { profile } = backend;
  const address = param("address", addressShape);
  const block = optionalParam("block", blockSelectorShape, BLOCK_ALIASES);
  return {
    eth_getAccount: method({
      runs: "reader",
      cost: "cheap",
      result: {
        name: "account",
        schema: nullable(object({ balance: QUANTITY, nonce: QUANTITY, codeHash: HASH, storageRoot: HASH })),
      },
      params: [address, block],
      summary: "The account as it is in the state trie; null when there is none.",
      handler: ([who, selector]) => {
        const asked = sealed(selector ?? LATEST);
        const account = requireState(backend, asked).state.readAccount(who);
        if (account === undefined) return null;
        if (equalBytes(account.storageRoot, UNKNOWN_STORAGE_ROOT)) throw rpcErrorOf(backend.profile.errors.proofUnavailable(asked));
        return {
          nonce: toQuantity(account.nonce),
          balance: toQuantity(account.balance),
          storageRoot: bytesToHex(account.storageRoot),
          codeHash: bytesToHex(account.codeHash),
        };
      },
    }),
    eth_getAccountInfo: method({
      runs: "reader",
      cost: "cheap",
      result: { name: "account", schema: object({ balance: QUANTITY, nonce: QUANTITY, code: DATA }) },
      params: [address, block],
      summary: "Balance, nonce and code.",
      handler: ([who, selector]) => {
        const { state } = requireState(backend, selector ?? LATEST);
        const account = state.readAccount(who);
        const hasCode = account !== undefined && !equalBytes(account.codeHash, EMPTY_KECCAK);
        return {
          balance: toQuantity(account?.balance ?? 0n),
          nonce: toQuantity(account?.nonce ?? 0n),
          code: bytesToHex(hasCode ? state.readCode(account.codeHash) : EMPTY_BYTES),
        };
      },
    }),
    eth_getTransactionBySenderAndNonce: method({
      runs: "reader-first",
      result: results.transaction,
      params: [address, param("nonce", uint64Shape)],
      summary: "A transaction, mined or in the pool, by its sender and nonce.",
      handler: ([sender, nonce]) => minedTransaction(backend, sender, nonce),
      inWriter: ([sender, nonce], { pool }) => {
        for (const { pending, queued } of pool.content(sender)) {
          const pooled = [...pending, ...queued].find(({ transaction }) => transaction.nonce === nonce);
          if (pooled !== undefined) return transactionToJson(profile, pooled.transaction, sender, undefined);
        }
        return null;
      },
    }),
    eth_pendingTransactions: method({
      runs: "reader",
      cost: "cheap",
      result: { name: "transactions", schema: arrayOf(TRANSACTION) },
      params: [],
      summary: "Pool transactions of this node's own accounts: it has none.",
      handler: () => [],
    }),
  };
}

function minedTransaction(backend: ReadBackend, sender: Uint8Array, nonce: bigint): JsonObject | null {
  const found = findBySenderAndNonce(backend, sender, nonce);
  if (found === undefined) return null;
  const { stored, index } = found;
  const minedAt = { block: placeOf(stored), index, receipt: stored.receipts[index]! };
  return transactionToJson(backend.profile, stored.block.transactions[index]!, sender, minedAt);
}

/** The block that raised the sender's nonce above `nonce` has the transaction, unless it is the genesis. */
export function findBySenderAndNonce(
  backend: ReadBackend,
  sender: Uint8Array,
  nonce: bigint,
): { readonly stored: StoredBlock; readonly index: number } | undefined {
  const number = firstBlockWith(backend, (state) => (state.readAccount(sender)?.nonce ?? 0n) > nonce);
  const stored = number === undefined ? undefined : backend.chain.resolve({ kind: "number", number });
  const index = stored === undefined ? -1 : indexOf(stored, sender, nonce);
  return stored === undefined || index === -1 ? undefined : { stored, index };
}

function indexOf({ block, senders, receipts }: StoredBlock, sender: Uint8Array, nonce: bigint): number {
  return block.transactions.findIndex((tx, index) => {
    const own = isSigned(tx) ? tx.nonce : receipts[index]!.depositNonce;
    return own === nonce && equalBytes(senders[index]!, sender);
  });
}

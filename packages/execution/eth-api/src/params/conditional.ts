import { addressShape, countShape, hashShape, objectShape, type Shape, ShapeError, shape, shown } from "@rnode/jsonrpc";
import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, toQuantity } from "@rnode/primitives";
import type { StateView } from "@rnode/storage";
import { slotShape } from "./call-request.ts";

/**
 * The conditions under which a transaction may be included (ERC-4337's `eth_sendRawTransactionConditional`).
 * Spec: docs/protocol/04-rpc.md#calls-estimation-traces, docs/protocol/04-rpc.md#miner-and-da-methods
 */
export interface TransactionConditional {
  readonly accounts: readonly KnownAccount[];
  readonly blockNumberMin: number | undefined;
  readonly blockNumberMax: number | undefined;
  /** seconds */
  readonly timestampMin: number | undefined;
  /** seconds */
  readonly timestampMax: number | undefined;
}

interface KnownAccount {
  readonly address: Uint8Array;
  /** the expected storage root, or the expected values of some slots */
  readonly storage: { readonly root: Uint8Array } | { readonly slots: readonly (readonly [Uint8Array, Uint8Array])[] };
}

const ZERO_WORD = new Uint8Array(32);
/** The most look-ups that checking one conditional may take. */
export const MAX_CONDITIONAL_COST = 1000;

export type ConditionalFault =
  | "block-number-below-minimum"
  | "block-number-above-maximum"
  | "timestamp-below-minimum"
  | "timestamp-above-maximum"
  | "storage-root-mismatch"
  | "storage-value-mismatch";

const asObject = (value: unknown, what: string): [string, unknown][] => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ShapeError(`expected ${what}, got ${shown(value)}`);
  return Object.entries(value);
};

const knownAccountsShape: Shape<KnownAccount[]> = shape(
  {
    type: "object",
    additionalProperties: { oneOf: [hashShape.schema, { type: "object", additionalProperties: hashShape.schema }] },
  },
  (value) =>
    asObject(value, "an object of accounts").map(([key, known]) => {
      try {
        const address = addressShape.parse(key);
        if (typeof known === "string") return { address, storage: { root: hashShape.parse(known) } };
        const slots = asObject(known, "a storage root or an object of slots").map(
          ([slot, word]) => [slotShape.parse(slot), slotShape.parse(word)] as const,
        );
        return { address, storage: { slots } };
      } catch (error) {
        throw error instanceof ShapeError ? error.within(key) : error;
      }
    }),
);

const fields = objectShape(
  {},
  {
    knownAccounts: knownAccountsShape,
    blockNumberMin: countShape,
    blockNumberMax: countShape,
    timestampMin: countShape,
    timestampMax: countShape,
  },
);

export const conditionalShape: Shape<TransactionConditional> = shape(fields.schema, (value) => {
  const { knownAccounts, ...rest } = fields.parse(value);
  const isBackwards = (min: number | undefined, max: number | undefined): boolean =>
    min !== undefined && max !== undefined && min > max;
  if (isBackwards(rest.blockNumberMin, rest.blockNumberMax)) throw new ShapeError("blockNumberMin is above blockNumberMax");
  if (isBackwards(rest.timestampMin, rest.timestampMax)) throw new ShapeError("timestampMin is above timestampMax");
  return { ...rest, accounts: knownAccounts ?? [] };
});

/**
 * The cost of checking a conditional: one look-up per slot or storage root, one for limits on the block number, and one for limits on
 * the time.
 */
export function conditionalCost(conditional: TransactionConditional): number {
  const { accounts, blockNumberMin, blockNumberMax, timestampMin, timestampMax } = conditional;
  const ofAccounts = accounts.reduce((cost, { storage }) => cost + ("root" in storage ? 1 : storage.slots.length), 0);
  const ofBlock = blockNumberMin === undefined && blockNumberMax === undefined ? 0 : 1;
  const ofTime = timestampMin === undefined && timestampMax === undefined ? 0 : 1;
  return ofAccounts + ofBlock + ofTime;
}

/** Whether a block may include the transaction. @param state the state before the block */
export function checkConditional(
  { accounts, blockNumberMin, blockNumberMax, timestampMin, timestampMax }: TransactionConditional,
  block: { readonly number: number; readonly timestampSec: number },
  state: Pick<StateView, "readAccount" | "readStorage">,
): ConditionalFault | undefined {
  if (blockNumberMin !== undefined && block.number < blockNumberMin) return "block-number-below-minimum";
  if (blockNumberMax !== undefined && block.number > blockNumberMax) return "block-number-above-maximum";
  if (timestampMin !== undefined && block.timestampSec < timestampMin) return "timestamp-below-minimum";
  if (timestampMax !== undefined && block.timestampSec > timestampMax) return "timestamp-above-maximum";
  for (const { address, storage } of accounts) {
    if ("root" in storage) {
      const root = state.readAccount(address)?.storageRoot ?? EMPTY_TRIE_ROOT;
      if (!equalBytes(root, storage.root)) return "storage-root-mismatch";
      continue;
    }
    for (const [slot, word] of storage.slots) {
      if (!equalBytes(state.readStorage(address, slot) ?? ZERO_WORD, word)) return "storage-value-mismatch";
    }
  }
  return undefined;
}

/** The form in which it is sent to the sequencer. */
export function conditionalToJson(conditional: TransactionConditional): Record<string, unknown> {
  const { accounts, ...limits } = conditional;
  const knownAccounts = accounts.map(({ address, storage }) => [
    bytesToHex(address),
    "root" in storage
      ? bytesToHex(storage.root)
      : Object.fromEntries(storage.slots.map(([slot, word]) => [bytesToHex(slot), bytesToHex(word)])),
  ]);
  const given = Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, toQuantity(limit)]]));
  return { knownAccounts: Object.fromEntries(knownAccounts), ...Object.fromEntries(given) };
}

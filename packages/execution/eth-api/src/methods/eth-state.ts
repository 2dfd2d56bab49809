import type { BlockSelector } from "@rnode/chain";
import type { HaltReason } from "@rnode/evm";
import { addressShape, arrayShape, optionalParam, param, rpcErrorOf, type Shape, ShapeError, shape } from "@rnode/jsonrpc";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  EMPTY_BYTES,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  keccak256,
  toQuantity,
} from "@rnode/primitives";
import { createProof, rememberNodes } from "@rnode/trie";
import { blockIdOf, type ReadBackend, requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import { revertReason } from "../calls/revert-reason.ts";
import { accessListToJson, type JsonObject } from "../json/transaction-json.ts";
import { BLOCK_ALIASES, blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { blockOverrideShape, callRequestShape, slotShape, stateOverrideShape } from "../params/call-request.ts";
import { haltText } from "../profile/halt-texts.ts";
import * as results from "../schemas/results.ts";
import { feesOf } from "./eth-fill.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const ZERO_WORD = new Uint8Array(32);
const MAX_PROOF_KEYS = 1024;
/** PERF: of the proofs of one request, which share those near the root; two megabytes */
const MAX_REMEMBERED_NODES = 4_096;

/** A slot as proofs show it: a 32-byte slot is shown as it was sent, a shorter one as a number. */
const writtenSlotShape: Shape<{ readonly text: string; readonly slot: Uint8Array }> = shape(slotShape.schema, (value) => {
  const slot = slotShape.parse(value);
  return { slot, text: (value as string).length === 66 ? bytesToHex(slot) : toQuantity(bytesToBigint(slot)) };
});

/** A slot, or its number as a JSON number or in decimal digits. */
const numericSlotShape: Shape<Uint8Array> = shape({ oneOf: [slotShape.schema, { type: "integer", minimum: 0 }] }, (value) => {
  const isNumber = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  if (!isNumber && !(typeof value === "string" && /^\d{1,78}$/.test(value))) return slotShape.parse(value);
  const number = BigInt(value as number | string);
  if (number >> 256n) throw new ShapeError("expected a storage slot of at most 32 bytes");
  return bigintToBytes(number, 32);
});

const proofKeysShape = arrayShape(writtenSlotShape, { maxItems: MAX_PROOF_KEYS });

const MAX_STORAGE_VALUES = 1024;
const slotsShape = arrayShape(slotShape);

/** Slots by account. */
const storageRequestShape: Shape<readonly { readonly address: Uint8Array; readonly slots: readonly Uint8Array[] }[]> = shape(
  { type: "object", propertyNames: addressShape.schema, additionalProperties: slotsShape.schema },
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ShapeError("expected an object of accounts");
    const asked = Object.entries(value).map(([key, slots]) => ({
      address: addressShape.parse(key),
      slots: slotsShape.parse(slots),
    }));
    const count = asked.reduce((sum, { slots }) => sum + slots.length, 0);
    if (count === 0) throw new ShapeError("empty request");
    if (count > MAX_STORAGE_VALUES) throw new ShapeError(`too many slots: ${count}, limit ${MAX_STORAGE_VALUES}`);
    return asked;
  },
);

const block = optionalParam("block", blockSelectorShape, BLOCK_ALIASES);
const address = param("address", addressShape);

type ProofTarget = readonly [address: Uint8Array, keys: readonly { readonly text: string; readonly slot: Uint8Array }[]];

/** `[address, keys]`, the form that Reth accepts. */
const proofTargetShape: Shape<ProofTarget> = shape(
  { type: "array", prefixItems: [addressShape.schema, { type: "array", items: slotShape.schema }], minItems: 2, maxItems: 2 },
  (value) => {
    if (!Array.isArray(value) || value.length !== 2) throw new ShapeError("expected [address, storage keys]");
    return [addressShape.parse(value[0]), proofKeysShape.parse(value[1])];
  },
);

function proofsOf(backend: ReadBackend, work: Work, targets: readonly ProofTarget[], asked: BlockSelector): JsonObject[] {
  const selector = sealed(asked);
  const at = requireState(backend, selector);
  const stored = backend.chain.trieNodesAt(blockIdOf(at));
  if (stored === undefined) throw rpcErrorOf(backend.profile.errors.proofUnavailable(selector));
  const nodes = rememberNodes(stored, MAX_REMEMBERED_NODES);
  const state = at.state.proven ?? at.state;
  return targets.map(([who, keys]) => {
    work.check();
    const account = state.readAccount(who);
    const isZero = account === undefined && backend.profile.proofsHaveZeroHashes;
    const storageRoot = account?.storageRoot ?? EMPTY_TRIE_ROOT;
    const owner = keccak256(who);
    return {
      address: bytesToHex(who),
      accountProof: createProof(nodes, undefined, at.header.stateRoot, owner).map(bytesToHex),
      balance: toQuantity(account?.balance ?? 0n),
      codeHash: bytesToHex(isZero ? ZERO_WORD : (account?.codeHash ?? EMPTY_KECCAK)),
      nonce: toQuantity(account?.nonce ?? 0n),
      storageHash: bytesToHex(isZero ? ZERO_WORD : storageRoot),
      storageProof: keys.map(({ text, slot }) => {
        work.check();
        return {
          key: text,
          value: toQuantity(bytesToBigint(state.readStorage(who, slot) ?? ZERO_WORD)),
          proof: createProof(nodes, owner, storageRoot, keccak256(slot)).map(bytesToHex),
        };
      }),
    };
  });
}

/** Accounts, storage, proofs and calls. */
export function ethStateMethods(services: ReadServices): ApiMethods {
  const { backend, writer, calls } = services;
  const callParams = [
    param("call", callRequestShape),
    block,
    optionalParam("stateOverrides", stateOverrideShape),
    optionalParam("blockOverrides", blockOverrideShape),
  ] as const;
  const errorText = (halt: HaltReason, invalidOpcode: number | undefined, output: Uint8Array): string => {
    const reason = halt === "revert" && backend.profile.calls.accessListHasReason ? revertReason(output) : undefined;
    return `${haltText(halt, invalidOpcode)}${reason === undefined ? "" : `: ${reason}`}`;
  };
  return {
    eth_getBalance: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("balance"),
      params: [address, block],
      handler: ([who, selector]) => toQuantity(requireState(backend, selector ?? LATEST).state.readAccount(who)?.balance ?? 0n),
    }),
    eth_getTransactionCount: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("nonce"),
      params: [address, block],
      summary: "The nonce; with `pending`, transactions in the pool are counted.",
      handler: ([who, selector = LATEST]) => {
        const nonce = requireState(backend, selector).state.readAccount(who)?.nonce ?? 0n;
        if (selector.kind !== "tag" || selector.tag !== "pending") return toQuantity(nonce);
        return writer.nextNonceOf(who).then((next) => toQuantity(next !== undefined && next > nonce ? next : nonce));
      },
    }),
    eth_getCode: method({
      runs: "reader",
      cost: "cheap",
      result: results.data("code"),
      params: [address, block],
      handler: ([who, selector]) => {
        const { state } = requireState(backend, selector ?? LATEST);
        const account = state.readAccount(who);
        const isEmpty = account === undefined || equalBytes(account.codeHash, EMPTY_KECCAK);
        return bytesToHex(isEmpty ? EMPTY_BYTES : state.readCode(account.codeHash));
      },
    }),
    eth_getStorageAt: method({
      runs: "reader",
      cost: "cheap",
      result: results.hashOf("word"),
      params: [address, param("slot", backend.profile.parameters.takesNumericIndices ? numericSlotShape : slotShape), block],
      handler: ([who, slot, selector]) =>
        bytesToHex(requireState(backend, selector ?? LATEST).state.readStorage(who, slot) ?? ZERO_WORD),
    }),
    eth_getStorageValues: method({
      runs: "reader",
      cost: "search",
      result: results.storageValues,
      params: [param("slots", storageRequestShape), block],
      summary: "Storage of several accounts, each slot's word in the order asked.",
      handler: ([asked, selector], work) => {
        const { state } = requireState(backend, selector ?? LATEST);
        return Object.fromEntries(
          asked.map(({ address: who, slots }) => [
            bytesToHex(who),
            slots.map((slot) => {
              work.check();
              return bytesToHex(state.readStorage(who, slot) ?? ZERO_WORD);
            }),
          ]),
        );
      },
    }),
    eth_getProof: method({
      runs: "reader",
      cost: "search",
      result: results.proof,
      params: [address, param("storageKeys", proofKeysShape), block],
      summary: "An account and storage slots with their Merkle proofs (EIP-1186).",
      handler: ([who, keys, selector], work) => proofsOf(backend, work, [[who, keys]], selector ?? LATEST)[0]!,
    }),
    eth_getMultiProof: method({
      runs: "reader",
      cost: "search",
      result: results.proofs,
      params: [param("targets", arrayShape(proofTargetShape, { maxItems: MAX_PROOF_KEYS })), block],
      summary: "The proofs of several accounts, each with its slots, in the order asked.",
      handler: ([targets, selector], work) => proofsOf(backend, work, targets, selector ?? LATEST),
    }),
    eth_call: method({
      runs: "reader",
      cost: "call",
      result: results.data("output"),
      params: callParams,
      handler: ([request, selector, state, overrides], work) =>
        bytesToHex(calls.call(work, request, selector ?? LATEST, { state, block: overrides })),
    }),
    eth_createAccessList: method({
      runs: "reader",
      cost: "call",
      result: results.accessList,
      params: callParams,
      handler: ([request, selector, state, overrides], work) => {
        const at = selector ?? LATEST;
        const fees =
          backend.profile.calls.accessListFillsFees && feesOf(services, request, requireState(backend, at).header.baseFeePerGas);
        const { accessList, gasUsed, halt, invalidOpcode, output } = calls.createAccessList(work, { ...request, ...fees }, at, {
          state,
          block: overrides,
        });
        return {
          accessList: accessListToJson(accessList),
          gasUsed: toQuantity(gasUsed),
          ...(halt !== undefined && { error: errorText(halt, invalidOpcode, output) }),
        };
      },
    }),
    eth_estimateGas: method({
      runs: "reader",
      cost: "call",
      result: results.quantity("gas"),
      params: callParams,
      summary: "L2 execution gas only.",
      handler: ([request, selector, state, overrides], work) =>
        toQuantity(calls.estimateGas(work, request, selector ?? LATEST, { state, block: overrides })),
    }),
  };
}

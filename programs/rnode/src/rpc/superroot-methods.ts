import { type MethodTable, method, param, RpcError, SERVER_ERROR, toRpcError, uint64Shape, withRpcErrors } from "@rnode/jsonrpc";
import type { L2Block } from "@rnode/node-clients";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { type BlockId, type L2BlockRef, type SuperRoot, superRootHash, superRootOfSet } from "@rnode/protocol";
import { type OutputDeps, type OutputOptions, outputOfBlock } from "./block-output.ts";
import type { SyncStatusJson } from "./sync-status.ts";

/** The part of the node that the methods of `superroot_` use. */
export interface SuperrootApi extends OutputDeps {
  readonly l2: OutputDeps["l2"] & { blockByNumber(number: number): Promise<L2Block | undefined> };
  syncStatus(): SyncStatusJson;
  readonly safeHeads: {
    readonly isEnabled: boolean;
    /** @throws {CodedError} */
    firstWithSafe(l2Number: number): BlockId | "not-safe-yet" | "unknown";
  };
}

const ZERO_HASH: Hex = `0x${"00".repeat(32)}`;
/** The genesis is safe from the first L1 block on: contracts may be older than the block that the rollup begins with. */
export const BEFORE_ANY_L1: BlockId = { hash: ZERO_HASH, number: 0 };
const REQUIRED_L1_FAULTS = {
  "not-safe-yet": "l1 at safe head not found",
  unknown: "l1 at safe head history unavailable",
} as const;

const idOf = ({ hash, number }: { readonly hash: string; readonly number: number }) => ({ hash, number });
const nameOf = ({ hash, number }: L2BlockRef): string => `${hash}:${number}`;

/**
 * `superroot_atTimestamp` for the node's own chain, as op-node has it: the super root of a set of one.
 * Spec: docs/protocol/04-rpc.md#superroot_attimestamp
 */
export function superrootMethods(options: OutputOptions, node: SuperrootApi): MethodTable {
  return {
    superroot_atTimestamp: method({
      params: [param("timestamp", uint64Shape)],
      handler: ([timestamp]) => atTimestamp(options, node, timestamp),
    }),
  };
}

async function atTimestamp(options: OutputOptions, node: SuperrootApi, timestamp: bigint): Promise<object> {
  const number = blockNumberAt(node, timestamp);
  const before = node.syncStatus();
  const { l2ChainId } = node.config;
  const chainId = String(l2ChainId);
  const withoutData = { ...statusOf(before), optimistic_at_timestamp: {}, chain_ids: [chainId] };
  if (number > localSafeOf(before)) return withoutData;
  const block = await withRpcErrors(() => node.l2.blockByNumber(number), {
    message: ({ message }) => `blockRefWithStatus@${number}: ${message}`,
  });
  if (block === undefined) return withoutData;
  const { outputRoot, storageRoot } = await outputOfBlock(options, node, block).catch((error: unknown) => {
    throw toRpcError(error, { message: ({ message }) => `outputV0AtBlock@${nameOf(block.ref)}: ${message}` });
  });
  // Derivation may have started over while the engine was asked: the block may be one of the branch that was left.
  if (number > localSafeOf(node.syncStatus())) return withoutData;
  const requiredL1 = requiredL1Of(node, block.ref);
  const output = {
    stateRoot: bytesToHex(block.header.stateRoot),
    messagePasserStorageRoot: bytesToHex(storageRoot),
    blockHash: block.ref.hash,
  };
  const timestampSec = Number(timestamp);
  const composed = superRootOfSet(timestampSec, [l2ChainId], [{ chainId: l2ChainId, outputRoot, requiredL1 }])!;
  return {
    ...withoutData,
    optimistic_at_timestamp: { [chainId]: { output, output_root: bytesToHex(outputRoot), required_l1: requiredL1 } },
    data: superRootToJson(composed),
  };
}

/** The `data` of an answer. */
export const superRootToJson = ({ superRoot, requiredL1 }: { readonly superRoot: SuperRoot; readonly requiredL1: BlockId }) => ({
  verified_required_l1: requiredL1,
  super: {
    timestamp: toQuantity(superRoot.timestampSec),
    chains: superRoot.chains.map((chain) => ({ ChainID: String(chain.chainId), Output: bytesToHex(chain.outputRoot) })),
  },
  super_root: bytesToHex(superRootHash(superRoot)),
});

/** The newest block at a time, whether it exists or not. */
function blockNumberAt({ config }: SuperrootApi, timestamp: bigint): number {
  const { genesis, blockTimeSec } = config;
  const sinceGenesis = timestamp - BigInt(genesis.l2TimeSec);
  if (sinceGenesis < 0n) {
    const why = `did not reach genesis time (${genesis.l2TimeSec}) yet`;
    throw new RpcError(SERVER_ERROR, `target block number for timestamp ${timestamp}: ${why}`);
  }
  return genesis.l2.number + Number(sinceGenesis / BigInt(blockTimeSec));
}

function requiredL1Of({ config, safeHeads }: SuperrootApi, ref: L2BlockRef): BlockId {
  const { l2 } = config.genesis;
  if (ref.number === l2.number && ref.hash === l2.hash) return BEFORE_ANY_L1;
  const failure = (why: string): string => `l1AtSafeHead@${nameOf(ref)}: ${why}`;
  if (!safeHeads.isEnabled) throw new RpcError(SERVER_ERROR, failure("safe head database not enabled"));
  try {
    const found = safeHeads.firstWithSafe(ref.number);
    if (typeof found !== "string") return found;
    throw new RpcError(SERVER_ERROR, failure(REQUIRED_L1_FAULTS[found]));
  } catch (error) {
    throw toRpcError(error, {
      message: ({ code, message }) => failure(code === "safe-heads/invalid-db-entry" ? "invalid db entry" : message),
    });
  }
}

const localSafeOf = (status: SyncStatusJson): number => status.local_safe_l2!.number;

const statusOf = (status: SyncStatusJson) => ({
  current_l1: idOf(status.current_l1!),
  safe_timestamp: status.safe_l2!.timestamp,
  local_safe_timestamp: status.local_safe_l2!.timestamp,
  finalized_timestamp: status.finalized_l2!.timestamp,
});

import { randomBytes } from "node:crypto";
import { type MethodTable, method, param, RpcError, SERVER_ERROR, toRpcError, uint64Shape, withRpcErrors } from "@rnode/jsonrpc";
import { bytesToHex, hexToBytes, isCodedError } from "@rnode/primitives";
import { type BlockId, outputRoot, superRootOfSet } from "@rnode/protocol";
import { superRootToJson } from "../rpc/superroot-methods.ts";
import type { SyncStatusJson } from "../rpc/sync-status.ts";
import type { NodeChain } from "./node-chain.ts";
import { numberAt } from "./set-chain.ts";
import type { SetDatabase } from "./set-database.ts";

export interface SetApi {
  /** by ascending chain id */
  readonly chains: readonly NodeChain[];
  readonly database: SetDatabase;
  /** of the first round, in seconds */
  readonly startSec: number;
}

interface OutputAt {
  readonly stateRoot: Uint8Array;
  readonly messagePasserStorageRoot: Uint8Array;
  readonly block: BlockId;
  readonly requiredL1: BlockId;
}

/** The methods of the set as op-supernode has them. Spec: docs/protocol/04-rpc.md#superroot_attimestamp */
export function setMethods(api: SetApi): MethodTable {
  return {
    superroot_atTimestamp: method({
      params: [param("timestamp", uint64Shape)],
      handler: ([timestamp]) => withRpcErrors(() => superRootAt(api, Number(timestamp))),
    }),
    supernode_syncStatus: method({
      params: [],
      handler: () => {
        const statuses = statusesOf(api);
        return {
          chains: Object.fromEntries(statuses.map(({ chain, status }) => [String(chain.chainId), status])),
          ...aggregate(api, statuses),
        };
      },
    }),
    heartbeat_check: method({ params: [], handler: () => bytesToHex(randomBytes(4)) }),
  };
}

const statusesOf = ({ chains }: SetApi): { readonly chain: NodeChain; readonly status: SyncStatusJson }[] =>
  chains.map((chain) => ({ chain, status: chain.node.syncStatus() }));

/** What holds of all chains together: the lowest of each. */
function aggregate({ chains, database, startSec }: SetApi, statuses: ReturnType<typeof statusesOf>) {
  const least = (of: (status: SyncStatusJson) => number): number => Math.min(...statuses.map(({ status }) => of(status)));
  const l1 = statuses.map(({ status }) => status.current_l1!);
  const { last } = database.verified;
  const lowestL1 = l1.reduce((a, b) => (b.number < a.number ? b : a));
  // What was verified rests on L1 blocks up to the round's; the L1 blocks after it may not have been looked at.
  const isAhead = last !== undefined && last.l1.number < lowestL1.number && least(({ safe_l2 }) => safe_l2!.timestamp) >= startSec;
  const currentL1 = isAhead ? last.l1 : lowestL1;
  return {
    chain_ids: chains.map(({ chainId }) => String(chainId)),
    current_l1: { hash: currentL1.hash, number: currentL1.number },
    safe_timestamp: least(({ safe_l2 }) => safe_l2!.timestamp),
    local_safe_timestamp: least(({ local_safe_l2 }) => local_safe_l2!.timestamp),
    finalized_timestamp: least(({ finalized_l2 }) => finalized_l2!.timestamp),
  };
}

async function superRootAt(api: SetApi, timestamp: number): Promise<object> {
  const { chains, startSec } = api;
  for (const { config } of chains) {
    if (timestamp < config.genesis.l2TimeSec) {
      throw new RpcError(SERVER_ERROR, `chain ${config.l2ChainId} begins at ${config.genesis.l2TimeSec}, after ${timestamp}`);
    }
  }
  const outputs = new Map<NodeChain, OutputAt>();
  for (const chain of chains) {
    const output = await optimisticOutput(api, chain, timestamp);
    if (output !== undefined) outputs.set(chain, output);
  }
  const status = aggregate(api, statusesOf(api));
  const answer = {
    ...status,
    optimistic_at_timestamp: Object.fromEntries(
      [...outputs].map(([{ chainId }, { stateRoot, messagePasserStorageRoot, block, requiredL1 }]) => [
        String(chainId),
        {
          output: {
            stateRoot: bytesToHex(stateRoot),
            messagePasserStorageRoot: bytesToHex(messagePasserStorageRoot),
            blockHash: block.hash,
          },
          output_root: bytesToHex(rootOf({ stateRoot, messagePasserStorageRoot, block })),
          required_l1: requiredL1,
        },
      ]),
    ),
  };
  const verified = timestamp < startSec ? undefined : await verifiedOutputs(api, timestamp);
  const parts = timestamp < startSec ? outputs : verified?.outputs;
  if (parts === undefined || parts.size < chains.length) return answer;
  const composed = superRootOfSet(
    timestamp,
    chains.map(({ chainId }) => chainId),
    [...parts].map(([{ chainId }, output]) => ({ chainId, outputRoot: rootOf(output), requiredL1: output.requiredL1 })),
  )!;
  return { ...answer, data: superRootToJson({ ...composed, requiredL1: verified?.l1 ?? composed.requiredL1 }) };
}

const rootOf = ({ stateRoot, messagePasserStorageRoot, block }: Omit<OutputAt, "requiredL1">): Uint8Array =>
  outputRoot({ stateRoot, messagePasserStorageRoot, blockHash: hexToBytes(block.hash) });

/** What L1 alone says of a chain at a time: also of a block that was denied since. `undefined`: not derived yet. */
async function optimisticOutput({ database }: SetApi, chain: NodeChain, timestamp: number): Promise<OutputAt | undefined> {
  const number = numberAt(chain.config, timestamp);
  const found = await chain.localSafe(number);
  if (found === undefined) return undefined;
  const { block, derivedFrom: requiredL1 } = found;
  const denied = database.denied.at(chain.chainId, number);
  return denied === undefined ? { ...(await outputOf(chain, block)), block, requiredL1 } : { ...denied, requiredL1 };
}

/** What was verified at a time; `undefined`: nothing so far. @throws {RpcError} */
async function verifiedOutputs({ chains, database }: SetApi, timestamp: number) {
  const round = database.verified.upTo(timestamp);
  if (round === undefined) return undefined;
  const outputs = new Map<NodeChain, OutputAt>();
  for (const chain of chains) {
    const block = round.heads.get(chain.chainId)!;
    if (numberAt(chain.config, timestamp) !== block.number) return undefined;
    outputs.set(chain, { ...(await outputOf(chain, block)), block, requiredL1: round.l1 });
  }
  return { l1: round.l1, outputs };
}

async function outputOf(chain: NodeChain, block: BlockId) {
  try {
    return await chain.outputOf(block);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    throw toRpcError(error, {
      message: ({ message }) => `output of chain ${chain.chainId} at ${block.hash}:${block.number}: ${message}`,
    });
  }
}

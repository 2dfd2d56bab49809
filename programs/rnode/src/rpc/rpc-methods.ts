import {
  anyJson,
  booleanShape,
  countShape,
  hashShape,
  healthMethods,
  INVALID_PARAMS,
  type MethodTable,
  method,
  optionalParam,
  param,
  RpcError,
  type RpcErrorRule,
  SERVER_ERROR,
  textShape,
  toRpcError,
  withRpcErrors,
} from "@rnode/jsonrpc";
import type { L2Block } from "@rnode/node-clients";
import type { LogLevel } from "@rnode/observe";
import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type DependencySet,
  dependencySetToJson,
  type ExecutionPayloadEnvelope,
  envelopeFromJson,
  type L1BlockRef,
  type RollupConfig,
  rollupConfigToJson,
} from "@rnode/protocol";
import type { SafeHeadEntry } from "../safe/safe-head-database.ts";
import type { SequencerRefusal } from "../sequencing/sequencer.ts";
import type { RefusedBlock } from "../unsafe/refused-blocks.ts";
import type { Offered } from "../unsafe/unsafe-inbox.ts";
import { type BlockOutput, type OutputOptions, outputOfBlock } from "./block-output.ts";
import { l1RefToJson, l2RefToJson, type SyncStatusJson } from "./sync-status.ts";

/** The part of the node that the RPC methods use. */
export interface NodeApi {
  readonly config: RollupConfig;
  readonly version: string;
  /** `undefined` if the node knows none */
  readonly dependencySet?: DependencySet | undefined;
  readonly l2: {
    blockByNumber(number: number): Promise<L2Block | undefined>;
    messagePasserStorageRoot(block: L2Block): Promise<Uint8Array>;
  };
  syncStatus(): SyncStatusJson;
  /** the node that it takes safe blocks from; `undefined`: it derives them */
  readonly source?: string | undefined;
  /** the oldest first */
  refusedBlocks(): readonly RefusedBlock[];
  readonly safeHeads: {
    readonly isEnabled: boolean;
    /** undefined: not known. @throws {CodedError} */
    at(l1Number: number): SafeHeadEntry | undefined;
  };
}

export type StartRefusal =
  | SequencerRefusal
  | { readonly kind: "not-leader" }
  | { readonly kind: "engine-syncing"; readonly description: string }
  | { readonly kind: "leader-check-failed"; readonly reason: string };

/** What became of a payload that was to replace the unsafe blocks from its height on. */
export type Replaced =
  | { readonly kind: "replaced" }
  | { readonly kind: "refused"; readonly reason: string }
  | Extract<Offered, { readonly kind: "bad-hash" | "malformed" }>;

/** The part of the node that the admin methods use. */
export interface NodeAdminApi {
  readonly hasSequencer: boolean;
  isSequencerActive(): boolean;
  /** @throws if the new state cannot be stored */
  startSequencer(expectedHead: Hex | undefined): Promise<StartRefusal | undefined>;
  /** @returns the unsafe head at which it stopped; undefined: not known yet */
  stopSequencer(): Promise<{ readonly kind: "stopped"; readonly head: Hex | undefined } | SequencerRefusal>;
  /** undefined: the node has none */
  readonly conductor: { overrideLeader(): void } | undefined;
  setRecoverMode(isOn: boolean): Promise<void>;
  resetDerivationPipeline(): void;
  postUnsafePayload(envelope: ExecutionPayloadEnvelope): Offered;
  replaceUnsafePayload(envelope: ExecutionPayloadEnvelope): Promise<Replaced>;
  /** the canonical L1 block at that height; undefined: L1 has none. @throws if L1 does not answer */
  l1BlockRef(number: number): Promise<L1BlockRef | undefined>;
  /** @returns undefined if there is no such level */
  parseLogLevel(text: string): LogLevel | undefined;
  setLogLevel(level: LogLevel): void;
}

const serverError = (message: string): RpcError => new RpcError(SERVER_ERROR, message);

interface Output extends BlockOutput {
  readonly block: L2Block;
  readonly status: SyncStatusJson;
}

const ZERO_HASH: Hex = `0x${"00".repeat(32)}`;
const OUTPUT_VERSION = ZERO_HASH;

async function outputAtBlock(options: OutputOptions, node: NodeApi, number: number): Promise<Output> {
  const status = node.syncStatus();
  const block = await withRpcErrors(() => node.l2.blockByNumber(number), {
    message: ({ message }) => `failed to get L2 block ref with sync status: ${message}`,
  });
  if (block === undefined) throw serverError(`failed to get L2 block ref with sync status: block ${number} not found`);
  const { ref } = block;
  try {
    return { block, ...(await outputOfBlock(options, node, block)), status };
  } catch (error) {
    throw toRpcError(error, { message: ({ message }) => `failed to get L2 output at block ${ref.hash}:${ref.number}: ${message}` });
  }
}

async function safeHeadAtL1Block({ safeHeads, source }: NodeApi, l1Number: number): Promise<SafeHeadEntry> {
  const failure = (why: string): string => `failed to get safe head at l1 block 0x${l1Number.toString(16)}: ${why}`;
  const remedy = source === undefined ? "" : `: this node does not derive (--l2.follow.source), ask ${source}`;
  if (!safeHeads.isEnabled) throw serverError(failure(`safe head database not enabled${remedy}`));
  const entry = await withRpcErrors(() => safeHeads.at(l1Number), {
    message: ({ code, message }) => failure(code === "safe-heads/invalid-db-entry" ? "invalid db entry" : message),
  });
  if (entry === undefined) throw serverError("not found");
  return entry;
}

/**
 * The methods of `rnode_`. The upstream namespace `optimism_` has the same methods, but its `outputAtBlock` returns an object.
 * Spec: docs/protocol/04-rpc.md#namespace-rnode
 */
export function rollupMethods(options: OutputOptions, node: NodeApi): MethodTable {
  const blockNumber = [param("blockNumber", countShape)] as const;
  const shared = (namespace: string): MethodTable => ({
    [`${namespace}_syncStatus`]: method({ params: [], handler: () => node.syncStatus() }),
    [`${namespace}_rollupConfig`]: method({ params: [], handler: () => rollupConfigToJson(node.config) }),
    [`${namespace}_dependencySet`]: method({
      params: [],
      handler: () => {
        if (node.dependencySet === undefined) throw serverError("not found");
        return dependencySetToJson(node.dependencySet);
      },
    }),
    [`${namespace}_version`]: method({ params: [], handler: () => node.version }),
    [`${namespace}_safeHeadAtL1Block`]: method({
      params: [param("l1BlockNumber", countShape)],
      handler: ([number]) => safeHeadAtL1Block(node, number),
    }),
  });
  return {
    ...shared("rnode"),
    ...shared("optimism"),
    rnode_refusedUnsafeBlocks: method({
      params: [],
      handler: () => node.refusedBlocks().map(({ block, ...refusal }) => ({ block: l2RefToJson(block), ...refusal })),
    }),
    rnode_outputAtBlock: method({
      params: blockNumber,
      handler: async ([number]) => [OUTPUT_VERSION, bytesToHex((await outputAtBlock(options, node, number)).outputRoot)],
    }),
    optimism_outputAtBlock: method({
      params: blockNumber,
      handler: async ([number]) => {
        const output = await outputAtBlock(options, node, number);
        return {
          version: OUTPUT_VERSION,
          outputRoot: bytesToHex(output.outputRoot),
          blockRef: l2RefToJson(output.block.ref),
          withdrawalStorageRoot: bytesToHex(output.storageRoot),
          stateRoot: bytesToHex(output.block.header.stateRoot),
          syncStatus: output.status,
        };
      },
    }),
    ...healthMethods(node.version),
  };
}

function refusalError(refusal: StartRefusal, received: Hex | undefined): RpcError {
  switch (refusal.kind) {
    case "already-running":
      return serverError("sequencer already running");
    case "not-running":
      return serverError("sequencer not running");
    case "no-head":
      return serverError(`no prestate, cannot determine if sequencer start at ${received} is safe`);
    case "wrong-head":
      return serverError(`block hash does not match: head ${refusal.head.hash}:${refusal.head.number}, received ${received}`);
    case "engine-syncing":
      return serverError(`sequencer cannot start while the engine is syncing (${refusal.description})`);
    case "not-leader":
      return serverError("sequencer is not the leader, aborting");
    case "leader-check-failed":
      return serverError(`sequencer leader check failed: ${refusal.reason}`);
  }
}

/** The driver takes no command. */
const DRIVER_ERRORS: RpcErrorRule = { only: "driver/", message: ({ data }) => String(data.reason) };

/** @returns undefined if the payload was queued */
function payloadRefusal(offered: Offered): string | undefined {
  switch (offered.kind) {
    case "queued":
    case "duplicate":
      return undefined;
    case "bad-hash":
      return `payload has bad block hash: ${offered.stated}, actual block hash is: ${offered.actual}`;
    case "malformed":
      return `payload cannot be a block of this chain: ${offered.reason}`;
    case "too-large":
      return `payload takes ${offered.sizeBytes} bytes, more than the ${offered.maxBytes} that may wait`;
    case "full":
      return `${offered.waiting} payloads wait already, all with lower numbers`;
  }
}

/** The methods of the admin namespace. Spec: docs/protocol/04-rpc.md#namespace-admin */
export function adminMethods(admin: NodeAdminApi): MethodTable {
  const assertSequencer = (): void => {
    if (!admin.hasSequencer) throw serverError("sequencer is not enabled");
  };
  return {
    admin_resetDerivationPipeline: method({
      params: [],
      handler: () => {
        admin.resetDerivationPipeline();
        return null;
      },
    }),
    // upstream's callers send the hash of the unsafe head to start from; others send nothing
    admin_startSequencer: method({
      params: [optionalParam("unsafeHead", hashShape)],
      handler: async ([unsafeHead]) => {
        assertSequencer();
        const expected = unsafeHead === undefined ? undefined : bytesToHex(unsafeHead);
        const refusal = await withRpcErrors(() => admin.startSequencer(expected), DRIVER_ERRORS);
        if (refusal !== undefined) throw refusalError(refusal, expected);
        return null;
      },
    }),
    // upstream's conductors read the hash of the head at which it stopped; the documented answer is null
    admin_stopSequencer: method({
      params: [],
      handler: async () => {
        assertSequencer();
        const stopped = await withRpcErrors(() => admin.stopSequencer(), DRIVER_ERRORS);
        if (stopped.kind !== "stopped") throw refusalError(stopped, undefined);
        return admin.conductor === undefined ? null : (stopped.head ?? ZERO_HASH);
      },
    }),
    admin_sequencerActive: method({ params: [], handler: () => admin.isSequencerActive() }),
    admin_setRecoverMode: method({
      params: [param("recover", booleanShape)],
      handler: async ([isOn]) => {
        // without a sequencer nothing changes, as in op-node
        if (admin.hasSequencer) await withRpcErrors(() => admin.setRecoverMode(isOn), DRIVER_ERRORS);
        return null;
      },
    }),
    admin_conductorEnabled: method({ params: [], handler: () => admin.conductor !== undefined }),
    admin_overrideLeader: method({
      params: [],
      handler: () => {
        assertSequencer();
        if (admin.conductor === undefined) throw serverError("conductor is not enabled");
        admin.conductor.overrideLeader();
        return null;
      },
    }),
    admin_postUnsafePayload: method({
      params: [param("envelope", anyJson)],
      handler: ([json]) => {
        const offered = admin.postUnsafePayload(readEnvelope(json));
        const refusal = payloadRefusal(offered);
        if (refusal !== undefined) throw serverError(refusal);
        return null;
      },
    }),
    // for conductors, which know what their cluster has committed
    admin_replaceUnsafePayload: method({
      params: [param("envelope", anyJson)],
      handler: async ([json]) => {
        const replaced = await withRpcErrors(() => admin.replaceUnsafePayload(readEnvelope(json)), DRIVER_ERRORS);
        if (replaced.kind === "replaced") return null;
        throw serverError(replaced.kind === "refused" ? replaced.reason : payloadRefusal(replaced)!);
      },
    }),
    // for conductors, which must tell blocks that L1 has replaced from blocks that the node has lost
    admin_l1BlockRef: method({
      params: [param("number", countShape)],
      handler: async ([number]) => {
        const block = await withRpcErrors(() => admin.l1BlockRef(number));
        return block === undefined ? null : l1RefToJson(block);
      },
    }),
    admin_setLogLevel: method({
      params: [param("level", textShape)],
      handler: ([text]) => {
        const level = admin.parseLogLevel(text);
        if (level === undefined) throw serverError(`unknown level: ${text}`);
        admin.setLogLevel(level);
        return null;
      },
    }),
  };
}

function readEnvelope(json: unknown): ExecutionPayloadEnvelope {
  try {
    return envelopeFromJson(json);
  } catch (error) {
    throw toRpcError(error, { code: INVALID_PARAMS, message: ({ message }) => `invalid argument 0: ${message}` });
  }
}

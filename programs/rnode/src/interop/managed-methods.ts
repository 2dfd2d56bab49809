import {
  hashShape,
  type MethodTable,
  mapShape,
  method,
  objectShape,
  param,
  RpcError,
  type Shape,
  ShapeError,
  type SubscriptionTable,
  shape,
  shown,
  subscription,
} from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import { l2RefToJson } from "../rpc/sync-status.ts";
import type { BlockReads } from "./block-reads.ts";
import type { EventStream } from "./event-stream.ts";
import { type BlockRef, managedEventToJson } from "./managed-event.ts";

/** The heads that a supervisor wants a node to start from. */
export interface ResetTargets {
  readonly localUnsafe: BlockId;
  readonly crossUnsafe: BlockId;
  readonly localSafe: BlockId;
  readonly crossSafe: BlockId;
  readonly finalized: BlockId;
}

/** What a supervisor has the node do. All of them reject with an `RpcError` that says why something was not done. */
export interface ManagedCommands {
  updateCrossUnsafe(block: BlockId): Promise<void>;
  updateCrossSafe(derived: BlockId, source: BlockId): Promise<void>;
  updateFinalized(block: BlockId): Promise<void>;
  invalidateBlock(block: BlockId & { readonly timestamp: number }): Promise<void>;
  provideL1(block: BlockRef): Promise<void>;
  reset(targets: ResetTargets): Promise<void>;
  resetPreInterop(): void;
  /** somebody listens from now on */
  onSubscribed(): void;
}

export interface ManagedApi {
  readonly reads: BlockReads;
  readonly events: EventStream;
  readonly commands: ManagedCommands;
}

/** As op-node answers when no event waits. */
const OUT_OF_EVENTS = -39001;

/** Numbers and times are JSON integers here, not quantities. */
const integerShape: Shape<number> = shape({ type: "integer", minimum: 0 }, (value) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new ShapeError(`expected an integer, 0 or more, got ${shown(value)}`);
});
const hashHexShape: Shape<Hex> = mapShape(hashShape, bytesToHex);
const blockIdShape: Shape<BlockId> = objectShape({ hash: hashHexShape, number: integerShape }, {});
const blockSealShape = objectShape({ hash: hashHexShape, number: integerShape, timestamp: integerShape }, {});
const blockRefShape: Shape<BlockRef> = objectShape(
  { hash: hashHexShape, number: integerShape, parentHash: hashHexShape, timestamp: integerShape },
  {},
);

const done = async (asked: Promise<void> | void): Promise<null> => {
  await asked;
  return null;
};

/** The methods of the `interop` namespace. Spec: docs/protocol/05-services.md#managed-node-server */
export function managedMethods({ reads, events, commands }: ManagedApi): MethodTable {
  const number = [param("number", integerShape)] as const;
  const timestamp = [param("timestamp", integerShape)] as const;
  const byNumber = method({ params: number, handler: async ([at]) => l2RefToJson((await reads.blockByNumber(at)).ref) });
  return {
    interop_pullEvent: method({
      params: [],
      summary: "The oldest event that waits, for those who do not subscribe.",
      handler: () => {
        const event = events.pull();
        if (event === undefined) throw new RpcError(OUT_OF_EVENTS, "out of events");
        return managedEventToJson(event);
      },
    }),
    interop_updateCrossUnsafe: method({
      params: [param("block", blockIdShape)],
      summary: "The messages of all blocks up to this one were checked.",
      handler: ([block]) => done(commands.updateCrossUnsafe(block)),
    }),
    interop_updateCrossSafe: method({
      params: [param("derived", blockIdShape), param("source", blockIdShape)],
      summary: "This block is safe, with the L1 block from which it, and all that it depends on, was derived.",
      handler: ([derived, source]) => done(commands.updateCrossSafe(derived, source)),
    }),
    interop_updateFinalized: method({
      params: [param("block", blockIdShape)],
      handler: ([block]) => done(commands.updateFinalized(block)),
    }),
    interop_invalidateBlock: method({
      params: [param("block", blockSealShape)],
      summary: "Replaces a block with an invalid message by one with its deposits only.",
      handler: ([block]) => done(commands.invalidateBlock(block)),
    }),
    interop_provideL1: method({
      params: [param("nextL1", blockRefShape)],
      summary: "Derivation may read this L1 block, the next one.",
      handler: ([block]) => done(commands.provideL1(block)),
    }),
    interop_reset: method({
      params: [
        param("localUnsafe", blockIdShape),
        param("crossUnsafe", blockIdShape),
        param("localSafe", blockIdShape),
        param("crossSafe", blockIdShape),
        param("finalized", blockIdShape),
      ],
      handler: ([localUnsafe, crossUnsafe, localSafe, crossSafe, finalized]) =>
        done(commands.reset({ localUnsafe, crossUnsafe, localSafe, crossSafe, finalized })),
    }),
    interop_resetPreInterop: method({ params: [], handler: () => done(commands.resetPreInterop()) }),
    interop_anchorPoint: method({ params: [], handler: () => reads.anchorPoint() }),
    interop_fetchReceipts: method({
      params: [param("blockHash", hashHexShape)],
      handler: ([hash]) => reads.receipts(hash),
    }),
    // op-node has the first name, kona the second
    interop_blockRefByNumber: byNumber,
    interop_l2BlockRefByNumber: byNumber,
    interop_l2BlockRefByTimestamp: method({
      params: timestamp,
      handler: async ([at]) => l2RefToJson((await reads.blockByTimestamp(at)).ref),
    }),
    interop_chainID: method({ params: [], handler: () => reads.chainId.toString() }),
    interop_outputV0AtTimestamp: method({ params: timestamp, handler: ([at]) => reads.output(at) }),
    interop_pendingOutputV0AtTimestamp: method({ params: timestamp, handler: ([at]) => reads.pendingOutput(at) }),
  };
}

/** `interop_subscribe("events")`. */
export function managedSubscriptions({ events, commands }: ManagedApi): SubscriptionTable {
  return {
    interop: {
      events: subscription({
        params: [],
        summary: "All events of the node. A new subscription takes over from the one before.",
        start: (_, sink) => {
          const end = events.subscribe((event) => sink.notify({ data: managedEventToJson(event) }));
          commands.onSubscribed();
          return end;
        },
      }),
    },
  };
}

import { CodedError } from "@rnode/primitives";
import { isDepositTransaction, type L2BlockRef, type RollupConfig } from "@rnode/protocol";
import { AttributesStage } from "./attributes/attributes-stage.ts";
import { BatchMux } from "./batches/batch-mux.ts";
import { ChannelReader } from "./channels/channel-reader.ts";
import { ChannelStage } from "./channels/channel-stage.ts";
import { FrameQueue } from "./channels/frame-queue.ts";
import type { DerivationConfig } from "./config.ts";
import { AltDaStage } from "./l1/alt-da-stage.ts";
import { L1Retrieval } from "./l1/l1-retrieval.ts";
import { L1Traversal } from "./l1/l1-traversal.ts";
import type { L1BlockHeader, L1Provider } from "./l1/providers.ts";
import { SILENT_OBSERVER } from "./observer.ts";
import {
  DerivationError,
  type DerivationPipeline,
  type DerivationProviders,
  type DerivedAttributes,
  type SafeSince,
} from "./pipeline-types.ts";
import type { PipelineStage, Pull } from "./pull.ts";
import { derivationRules } from "./rules.ts";

/** L1 blocks that a reset requests at once. */
const ORIGINS_AT_ONCE = 16;

/**
 * L1 blocks in, payload attributes out. Each stage pulls from the previous one; providers do the I/O.
 *
 * @throws {CodedError} derivation/da-server-missing
 */
export function createDerivationPipeline(config: DerivationConfig, providers: DerivationProviders): DerivationPipeline {
  const { rollup } = config;
  const { l1, l2, blobs, decompressor, daInputs } = providers;
  const observer = { ...SILENT_OBSERVER, ...providers.observer };
  const batchConfig = { rollup, checksOverlap: config.checkSpanOverlapInStrictOrder ?? true };

  const traversal = new L1Traversal(rollup, l1, observer);
  const stages: PipelineStage<unknown>[] = [];
  /** Registers a stage. Stages are reset, and switched to Holocene, in this order. */
  const add = <S extends PipelineStage<unknown>>(stage: S): S => {
    stages.push(stage);
    return stage;
  };
  const retrieval = add(new L1Retrieval(rollup, traversal, traversal, { l1, blobs }, observer));
  const altDa = altDaStage();
  const frames = add(new FrameQueue(traversal, altDa ?? retrieval, observer));
  const channels = add(new ChannelStage(traversal, frames, observer));
  const reader = add(new ChannelReader(rollup, traversal, channels, decompressor, observer));
  const batches = add(new BatchMux(batchConfig, traversal, reader, l2, observer));
  const attributes = add(new AttributesStage(config, traversal, batches, { l1, l2 }, observer));

  function altDaStage(): AltDaStage | undefined {
    if (rollup.altDa === undefined) return undefined;
    if (daInputs === undefined) throw new DerivationError("derivation/da-server-missing");
    return add(new AltDaStage(rollup.altDa, traversal, retrieval, { l1, inputs: daInputs }, observer));
  }

  /** false before the first reset, and after the pipeline has requested one */
  let isReady = false;

  async function step(l2SafeHead: L2BlockRef): Promise<Pull<DerivedAttributes>> {
    if (!isReady) throw new DerivationError("derivation/not-reset");
    const pulled = await attributes.next(l2SafeHead);
    const outcome = pulled.kind === "exhausted" ? await advance() : pulled;
    if (outcome.kind === "reset") isReady = false;
    return outcome;
  }

  async function advance(): Promise<Pull<never>> {
    const wasStrict = traversal.rules.hasStrictOrder;
    const outcome = await traversal.advance();
    if (outcome.kind === "again" && traversal.rules.hasStrictOrder && !wasStrict) {
      for (const stage of stages) stage.activateStrictOrder();
    }
    return outcome;
  }

  async function reset(l2SafeHead: L2BlockRef, madeSafeBy?: SafeSince): Promise<void> {
    isReady = false;
    const start = await pipelineStart(rollup, providers, l2SafeHead);
    const systemConfig = await l2.systemConfigByHash(start.l2Block.hash);
    if (systemConfig === undefined) throw missing(start.l2Block);
    traversal.reset(start.l1Block, systemConfig);
    for (const stage of stages) stage.reset();
    if (madeSafeBy !== undefined) batches.skip(l2SafeHead, madeSafeBy);
    isReady = true;
  }

  return {
    get origin() {
      return traversal.isSet ? traversal.origin : undefined;
    },
    get nextParent() {
      return batches.nextParent;
    },
    step,
    reset,
    finalizedBy: async (l1Finalized) => (altDa === undefined ? l1Finalized : altDa.finalizedBy(l1Finalized)),
    depositsOnly(rejected) {
      const { transactions = [] } = rejected.attributes;
      const deposits = transactions.filter(isDepositTransaction);
      if (deposits.length === transactions.length) {
        throw new DerivationError("derivation/already-deposits-only", { parent: rejected.parent.number });
      }
      batches.flush();
      return { ...rejected, attributes: { ...rejected.attributes, transactions: deposits }, isLastInSpan: true };
    },
  };
}

/**
 * The L2 block whose L1 origin is the start of reading, so that every channel that can contain the block after the safe head is
 * read from its first frame. Spec: docs/protocol/02-derivation.md#reset-and-sync-start
 *
 * Visits only the last block of each L1 origin, and requests several L1 blocks at a time.
 */
async function pipelineStart(
  config: RollupConfig,
  { l1, l2 }: Pick<DerivationProviders, "l1" | "l2">,
  l2SafeHead: L2BlockRef,
): Promise<{ l2Block: L2BlockRef; l1Block: L1BlockHeader }> {
  const isFarEnough = (l2Block: L2BlockRef, l1Block: L1BlockHeader): boolean => {
    const timeout = derivationRules(config, l1Block.timestamp).channelTimeoutL1Blocks;
    return l2Block.l1Origin.number + timeout <= l2SafeHead.l1Origin.number;
  };
  const newest = await l1Origin(l1, l2SafeHead);
  const before = async (block: L2BlockRef): Promise<L2BlockRef> => {
    const found = await lastBlockOfOriginBefore(l2, block);
    if (found !== undefined) return found;
    const l1Blocks = derivationRules(config, newest.timestamp).channelTimeoutL1Blocks;
    const number = lastNumberOfOriginBefore(block);
    throw new DerivationError("derivation/start-block-missing", { number, safe: l2SafeHead.number, l1Blocks });
  };
  let found = { l2Block: l2SafeHead, l1Block: newest };
  while (!isFarEnough(found.l2Block, found.l1Block) && !isFirst(config, found.l2Block)) {
    const some: L2BlockRef[] = [];
    let last = found.l2Block;
    // The timeout was longer before a fork, so today's timeout is a lower bound.
    while (some.length < ORIGINS_AT_ONCE && !isFirst(config, last) && !isFarEnough(last, newest)) {
      last = await before(last);
      some.push(last);
    }
    if (some.length === 0) some.push(await before(last));
    const origins = await Promise.all(some.map((l2Block) => l1Origin(l1, l2Block)));
    for (const [index, l1Block] of origins.entries()) {
      found = { l2Block: some[index]!, l1Block };
      if (isFarEnough(found.l2Block, l1Block)) break;
    }
  }
  return found;
}

const isFirst = ({ genesis }: RollupConfig, { number, l1Origin }: L2BlockRef): boolean =>
  number <= genesis.l2.number || l1Origin.number <= genesis.l1.number;

const lastNumberOfOriginBefore = ({ number, sequenceNumber }: L2BlockRef): number => number - sequenceNumber - 1;

function lastBlockOfOriginBefore(l2: DerivationProviders["l2"], block: L2BlockRef): Promise<L2BlockRef | undefined> {
  return block.sequenceNumber === 0 ? l2.blockRefByHash(block.parentHash) : l2.blockRefByNumber(lastNumberOfOriginBefore(block));
}

async function l1Origin(l1: L1Provider, { number, l1Origin: origin }: L2BlockRef): Promise<L1BlockHeader> {
  const block = await l1.blockByHash(origin.hash);
  if (block !== undefined) return block;
  const details = { l2Block: number, l1Block: origin.number, l1Hash: origin.hash };
  throw new DerivationError("derivation/l1-origin-missing", details);
}

function missing({ number, hash }: { number: number; hash: string }): DerivationError {
  return new CodedError("derivation/l2-block-missing", { number, hash });
}

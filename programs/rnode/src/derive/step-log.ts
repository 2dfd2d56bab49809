import type { DerivationPipeline, DerivedAttributes, Pull } from "@rnode/derivation";
import type { LogFields, Logger } from "@rnode/observe";
import { isDepositTransaction, type L2BlockRef } from "@rnode/protocol";

/** A pipeline that logs the result of each step at `detail`. `DerivationLog` logs the data that a step has read, at `debug`. */
export function withStepLog(pipeline: DerivationPipeline, log: Logger): DerivationPipeline {
  const about = (parent: L2BlockRef, startedMs: number): LogFields => ({
    block: parent.number + 1,
    l1Block: pipeline.origin?.number,
    ms: Number((performance.now() - startedMs).toFixed(3)),
  });

  async function loggedStep(parent: L2BlockRef): Promise<Pull<DerivedAttributes>> {
    const startedMs = performance.now();
    try {
      const pulled = await pipeline.step(parent);
      log.trace("derivation step", { ...about(parent, startedMs), ...outcomeOf(pulled) });
      return pulled;
    } catch (error) {
      log.trace("derivation step", { ...about(parent, startedMs), outcome: "failed", reason: String(error) });
      throw error;
    }
  }

  return {
    get origin() {
      return pipeline.origin;
    },
    get nextParent() {
      return pipeline.nextParent;
    },
    step: (parent) => (log.isEnabled("trace") ? loggedStep(parent) : pipeline.step(parent)),
    async reset(safe, readUpTo) {
      const startedMs = performance.now();
      await pipeline.reset(safe, readUpTo);
      log.trace("derivation starts over", about(safe, startedMs));
    },
    finalizedBy: (l1Finalized) => pipeline.finalizedBy(l1Finalized),
    depositsOnly(rejected) {
      const replacement = pipeline.depositsOnly(rejected);
      log.trace("derivation replaces a block", { block: rejected.parent.number + 1, ...attributesFields(replacement) });
      return replacement;
    },
  };
}

function outcomeOf(pulled: Pull<DerivedAttributes>): LogFields {
  switch (pulled.kind) {
    case "value":
      return { outcome: "attributes", ...attributesFields(pulled.value) };
    case "reset":
      return { outcome: "reset", reason: `${pulled.reason} (${pulled.detail})` };
    case "again":
    case "exhausted":
      return { outcome: pulled.kind };
  }
}

function attributesFields({ attributes, derivedFrom, isLastInSpan }: DerivedAttributes): LogFields {
  const { timestamp, transactions = [] } = attributes;
  const deposits = transactions.filter(isDepositTransaction).length;
  return { timestamp, deposits, transactions: transactions.length - deposits, derivedFrom: derivedFrom.number, isLastInSpan };
}

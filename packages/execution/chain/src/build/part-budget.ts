import { daBytes } from "@rnode/protocol";
import type { FillLimits } from "./payload-builder.ts";

/** The parts that a block is planned to have. */
export interface PartPlan {
  /** number of parts besides the last one, which is made when the payload is requested; at least 1 */
  readonly parts: number;
  /** ms until the second part; later parts follow at the interval */
  readonly firstMs: number;
}

/**
 * Plans the parts of a block so that the last one of an undisturbed build ends with its time.
 *
 * @param restMs time until the block's timestamp
 */
export function planParts(restMs: number, intervalMs: number): PartPlan {
  if (restMs < 1) return { parts: 1, firstMs: intervalMs };
  return { parts: Math.ceil(restMs / intervalMs), firstMs: ((restMs - 1) % intervalMs) + 1 };
}

/**
 * The limits for the pool transactions of a block after `made` + 1 of its parts: that share of each limit, counted from the start of the
 * block, so that unused shares remain for later parts.
 */
export function limitsOfPart(limits: FillLimits, gasLimit: bigint, made: number, { parts }: PartPlan): FillLimits {
  const share = BigInt(Math.min(made + 1, parts));
  const of = BigInt(parts);
  const gas = limits.maxBlockGas === 0n || limits.maxBlockGas > gasLimit ? gasLimit : limits.maxBlockGas;
  const { maxBlockBytes } = limits;
  return {
    ...limits,
    maxBlockGas: atLeast1((gas * share) / of),
    maxBlockBytes: maxBlockBytes === 0 ? maxBlockBytes : daBytes(Math.max(1, Math.floor((maxBlockBytes * Number(share)) / parts))),
    maxFootprint: atLeast1((gasLimit * share) / of),
  };
}

/** A limit of 0 would be none. */
const atLeast1 = (limit: bigint): bigint => (limit === 0n ? 1n : limit);

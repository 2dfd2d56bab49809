export { effectiveTip, feeCap, tipCap } from "./fees.ts";
export * from "./pool-types.ts";
export * from "./transaction-pool.ts";

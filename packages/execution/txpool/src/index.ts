export { effectiveTip, feeCap } from "./fees.ts";
export * from "./pool-types.ts";
export * from "./transaction-pool.ts";

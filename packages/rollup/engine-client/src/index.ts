export * from "./engine-client.ts";
export * from "./engine-error.ts";
export * from "./engine-versions.ts";
export { type L2Block, type L2BlockLabel, L2Blocks } from "./l2-blocks.ts";
export { VerifiedPayload, verifiedBlockHash } from "./verified-payload.ts";

export * from "./endpoint.ts";
export * from "./endpoints.ts";
export * from "./head-poller.ts";
export * from "./l1-client.ts";
export * from "./l1-error.ts";
export * from "./read-ahead.ts";
export { L1_RPC_KINDS, type L1RpcKind } from "./receipts-fetcher.ts";
export * from "./send-verdict.ts";

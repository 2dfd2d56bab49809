export type { ReadBackend } from "./backend/backend.ts";
export { withBlockCache } from "./backend/block-cache.ts";
export { PendingBlocks } from "./backend/pending-blocks.ts";
export { withPendingBlock } from "./backend/pending-view.ts";
export { withPrunedHistory } from "./backend/pruned-history.ts";
export { RequestWork, UNLIMITED_WORK, type Work } from "./backend/work.ts";
export { CallService } from "./calls/call-service.ts";
export { SimulateService } from "./calls/simulate-service.ts";
export { DEFAULT_FILTER_LIMITS, FilterRegistry, tagOfFilterId } from "./feeds/filters.ts";
export { ethSubscriptions, type PendingFeed } from "./feeds/subscriptions.ts";
export { SyncFeed, type SyncState } from "./feeds/sync-feed.ts";
export { GasPriceOracle } from "./fees/gas-price.ts";
export { blobsBundle, type PooledSidecar, type SidecarSource } from "./json/blobs-bundle.ts";
export { blockToJson } from "./json/block-json.ts";
export { receiptsToJson } from "./json/receipt-json.ts";
export type { JsonObject } from "./json/transaction-json.ts";
export { queryLogs } from "./logs/log-query.ts";
export { createTransactionFiller, type TransactionFiller } from "./methods/eth-fill.ts";
export { ethLogMethods } from "./methods/eth-logs.ts";
export {
  type ApiMethod,
  type ApiMethods,
  type CostlyKind,
  type CostlyMethod,
  costlyMethods,
  isCostly,
  isMissing,
  method,
  methodsInWriter,
} from "./methods/method.ts";
export { methodsOf, NAMESPACES, unservedNamespaces, withDescription } from "./methods/namespaces.ts";
export type {
  NetworkAccess,
  NetworkPeer,
  NodeOnNetwork,
  ReadServices,
  SdmState,
  SubmissionTerms,
  WriterAccess,
  WriteServices,
} from "./methods/services.ts";
export { type CallRequest, callRequestShape, slotShape } from "./params/call-request.ts";
export { checkConditional, conditionalToJson, type TransactionConditional } from "./params/conditional.ts";
export type { LogFilter } from "./params/log-filter.ts";
export { attributesShape, protocolShape } from "./params/payload-attributes.ts";
export { type EngineErrorName, engineError, stoppedExecution } from "./profile/engine-errors.ts";
export type { Profile } from "./profile/profile.ts";
export { PROFILE_G } from "./profile/profile-g.ts";
export { PROFILE_R } from "./profile/profile-r.ts";
export { TraceService } from "./tracing/trace-service.ts";
export type { TraceableBlock } from "./tracing/traceable-block.ts";
export { WitnessService } from "./tracing/witness-service.ts";

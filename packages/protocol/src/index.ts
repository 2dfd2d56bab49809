export * from "./base-fee.ts";
export * from "./batch.ts";
export * from "./batch-input.ts";
export * from "./blob.ts";
export * from "./blob-params.ts";
export * from "./blob-schedule.ts";
export * from "./blob-sidecar.ts";
export * from "./block.ts";
export * from "./block-codec.ts";
export * from "./block-rules.ts";
export * from "./chain-config.ts";
export * from "./chain-config-json.ts";
export * from "./channel.ts";
export * from "./contract-logs.ts";
export * from "./da-commitment.ts";
export * from "./da-size.ts";
export * from "./dependency-set.ts";
export * from "./deposits.ts";
export * from "./eip1559-params.ts";
export * from "./exact-fields.ts";
export * from "./fastlz.ts";
export * from "./fees.ts";
export * from "./foreign-receipt.ts";
export * from "./forks/evm-forks.ts";
export * from "./forks/fork-id.ts";
export * from "./forks/fork-times.ts";
export * from "./forks/op-forks.ts";
export * from "./forks/rules.ts";
export * from "./frame.ts";
export * from "./genesis.ts";
export * from "./header-codec.ts";
export * from "./interop-message.ts";
export * from "./intrinsic-gas.ts";
export * from "./json-fields.ts";
export * from "./l1-attributes.ts";
export * from "./l1-chains.ts";
export * from "./l1-data-gas.ts";
export * from "./l1-info-layouts.ts";
export * from "./network.ts";
export * from "./network-names.ts";
export * from "./networks.ts";
export * from "./output-root.ts";
export * from "./payload.ts";
export * from "./payload-block.ts";
export * from "./payload-id.ts";
export * from "./payload-json.ts";
export * from "./predeploys.ts";
export * from "./protocol-version.ts";
export * from "./receipt.ts";
export * from "./receipt-codec.ts";
export * from "./refs.ts";
export * from "./registry-chain.ts";
export * from "./replacement-block.ts";
export * from "./rollup-config.ts";
export * from "./rollup-config-json.ts";
export * from "./rollup-of-network.ts";
export * from "./rpc-json.ts";
export * from "./span-batch.ts";
export {
  MAX_SPAN_BATCH_ELEMENTS,
  rebuildSpanTransactions,
  type SpanBatchErrorCode,
  type SpanTransaction,
  type SpanTransactions,
} from "./span-batch-transactions.ts";
export * from "./system-config.ts";
export * from "./system-config-scalar.ts";
export * from "./transaction.ts";
export * from "./transaction-check.ts";
export * from "./transaction-codec.ts";
export {
  loadUpgradeArtifact,
  UPGRADE_ARTIFACTS,
  type UpgradeArtifact,
  type UpgradeArtifactSource,
  type UpgradeErrorCode,
  upgradeArtifactsFromFiles,
} from "./upgrade-artifacts.ts";
export { upgradeFilesAfter, upgradeGasAt, upgradesOfBlock, upgradeTransactions } from "./upgrade-transactions.ts";

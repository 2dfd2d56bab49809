export * from "./batches/batch.ts";
export * from "./batches/batch-input.ts";
export * from "./batches/blob.ts";
export * from "./batches/blob-sidecar.ts";
export * from "./batches/channel.ts";
export * from "./batches/da-commitment.ts";
export * from "./batches/frame.ts";
export * from "./batches/span-batch.ts";
export * from "./blocks/block.ts";
export * from "./blocks/block-codec.ts";
export * from "./blocks/header-codec.ts";
export * from "./blocks/output-root.ts";
export * from "./blocks/payload.ts";
export * from "./blocks/payload-id.ts";
export * from "./blocks/payload-json.ts";
export * from "./blocks/refs.ts";
export * from "./blocks/rpc-json.ts";
export * from "./blocks/super-root.ts";
export * from "./chains/blob-schedule.ts";
export * from "./chains/chain-config.ts";
export * from "./chains/chain-config-json.ts";
export * from "./chains/dependency-set.ts";
export * from "./chains/fork-id.ts";
export { type OldForkKey, oldForkKeysIn } from "./chains/fork-keys.ts";
export * from "./chains/genesis.ts";
export * from "./chains/l1-chains.ts";
export * from "./chains/network.ts";
export * from "./chains/network-names.ts";
export * from "./chains/networks.ts";
export * from "./chains/protocol-version.ts";
export * from "./chains/registry-chain.ts";
export * from "./chains/rollup-config.ts";
export * from "./chains/rollup-config-json.ts";
export * from "./chains/rollup-of-network.ts";
export * from "./flashblocks/flashblock.ts";
export * from "./flashblocks/flashblock-json.ts";
export * from "./flashblocks/flashblock-order.ts";
export * from "./forks/evm-forks.ts";
export * from "./forks/fork-times.ts";
export * from "./forks/op-forks.ts";
export * from "./forks/rules.ts";
export * from "./params/blob-params.ts";
export * from "./params/eip1559-params.ts";
export * from "./params/exact-fields.ts";
export * from "./params/json-fields.ts";
export * from "./params/l1-info-layouts.ts";
export * from "./params/predeploys.ts";
export * from "./params/system-config-scalar.ts";
export {
  loadUpgradeArtifact,
  UPGRADE_ARTIFACTS,
  type UpgradeArtifact,
  type UpgradeArtifactSource,
  upgradeArtifactsFromFiles,
  withoutPreliminary,
} from "./params/upgrade-artifacts.ts";
export * from "./rollup/hashed-payload.ts";
export * from "./rollup/l1-attributes.ts";
export * from "./rollup/payload-block.ts";
export * from "./rollup/system-config.ts";
export { upgradeFilesAfter, upgradeGasAt, upgradesOfBlock } from "./rollup/upgrade-transactions.ts";
export * from "./rules/base-fee.ts";
export * from "./rules/block-rules.ts";
export * from "./rules/da-size.ts";
export * from "./rules/fastlz.ts";
export * from "./rules/fees.ts";
export * from "./rules/intrinsic-gas.ts";
export * from "./rules/l1-data-gas.ts";
export * from "./rules/transaction-check.ts";
export * from "./transactions/contract-logs.ts";
export * from "./transactions/deposits.ts";
export * from "./transactions/foreign-receipt.ts";
export * from "./transactions/interop-message.ts";
export * from "./transactions/post-exec.ts";
export * from "./transactions/receipt.ts";
export * from "./transactions/receipt-codec.ts";
export * from "./transactions/transaction.ts";
export * from "./transactions/transaction-codec.ts";

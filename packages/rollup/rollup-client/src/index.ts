export { ActiveSequencer } from "./active-sequencer.ts";
export { type Output, outputFromJson } from "./output.ts";
export { RollupClientError } from "./rollup-client-error.ts";
export { RpcRollupNode } from "./rpc-rollup-node.ts";
export { type SyncStatus, syncStatusFromJson } from "./sync-status.ts";
export { untilAnswered } from "./until-answered.ts";

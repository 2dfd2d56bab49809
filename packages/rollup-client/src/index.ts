export { ActiveSequencer, type ActiveSequencerOptions, type SequencerCandidate } from "./active-sequencer.ts";
export { type Output, outputFromJson } from "./output.ts";
export { RollupClientError, type RollupClientErrorCode } from "./rollup-client-error.ts";
export { RpcRollupNode } from "./rpc-rollup-node.ts";
export { type SyncStatus, syncStatusFromJson } from "./sync-status.ts";
export { type NamedEndpoint, untilAnswered, type WaitingDeps } from "./until-answered.ts";

import type { DerivationConfig, DerivationObserver } from "@rnode/derivation";
import type { HeadPoller, HeadPollerDeps } from "@rnode/l1";
import type { UpgradeFiles } from "@rnode/networks";
import type { Feed, Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Health, Readiness } from "@rnode/program";
import type { DependencySet, ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { AdminStateFile } from "./common/admin-state.ts";
import type { CrossSafety } from "./common/cross-safety.ts";
import type { SnapshotLog } from "./operate/snapshot-log.ts";
import type { PeerNetwork } from "./p2p/peer-network.ts";
import type { SafeHeadDatabase } from "./safe/safe-head-database.ts";
import type { BlockGossip } from "./sequencing/block-gossip.ts";
import type { SequencerConductor } from "./sequencing/leadership.ts";
import type { ConnectionsDeps, NodeConnections } from "./start/connections.ts";
import type { TimedOutPayloads } from "./unsafe/timed-out-payloads.ts";
import type { MissingBlocks } from "./unsafe/unsafe-gap.ts";

/** What the process gives the rollup node. */
export interface NodeDeps {
  readonly derivation: DerivationConfig;
  /** unsafe payloads that the engine did not finish. `undefined`: a list in memory */
  readonly timeouts?: TimedOutPayloads | undefined;
  /** Fetches the files of network upgrades that are ahead. `undefined`: the operator provides them. */
  readonly upgrades?: Pick<UpgradeFiles, "want"> | undefined;
  /** makes what the node talks to */
  readonly connect: (deps: Omit<ConnectionsDeps, "engineSecret">) => NodeConnections;
  /** the safe-head database; undefined: none is kept */
  readonly safeHeads?: SafeHeadDatabase | undefined;
  readonly adminState: Pick<AdminStateFile, "load" | "save">;
  /** decides whether this node sequences; default: the one of `--conductor.enabled` */
  readonly conductor?: SequencerConductor | undefined;
  /** the network of peers; undefined: there is none */
  readonly peers?: Pick<PeerNetwork, "api" | "start" | "publish" | "requestGap" | "setUnsafeBlockSigner"> | undefined;
  /** how the sequencer's blocks reach other nodes; default: through `peers`, and without them from L1 */
  readonly gossip?: BlockGossip | undefined;
  /** hands a block that somebody else has signed to other nodes; undefined: there is no network */
  readonly publishSigned?: ((envelope: ExecutionPayloadEnvelope, signature: Uint8Array) => Promise<void>) | undefined;
  /** keeps what becomes of the heads; undefined: nobody asked for that */
  readonly snapshots?: Pick<SnapshotLog, "note"> | undefined;
  /** asks other nodes for blocks that gossip did not bring; default: as above */
  readonly requestGap?: ((missing: MissingBlocks) => void) | undefined;
  /** L1's heads, as the chains of a set share them; default: the node polls for them itself */
  readonly followL1Heads?: ((onChange: HeadPollerDeps["onChange"]) => Pick<HeadPoller, "start" | "close">) | undefined;
  /** verifies the set of chains that this one belongs to; `undefined`: L1 alone decides what is safe */
  readonly crossSafety?: CrossSafety | undefined;
  /** what `optimism_dependencySet` answers */
  readonly dependencySet?: DependencySet | undefined;
  /** is told what derivation reads and decides, too */
  readonly observer?: Partial<DerivationObserver> | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** of its clients of L1; default: as above */
  readonly l1Metrics?: MetricFactory | undefined;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz`; default: one of its own */
  readonly readiness?: Readiness | undefined;
  /** what the dashboard shows; default: there is none */
  readonly feed?: Feed | undefined;
}

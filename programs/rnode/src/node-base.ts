import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { DriverSignals } from "./common/driver-signals.ts";
import type { L1Progress } from "./derive/l1-progress.ts";
import type { L1View } from "./derive/l1-view.ts";
import type { DriverEngine, EngineControl } from "./engine/engine-control.ts";
import type { NodeMetrics } from "./metrics.ts";
import type { NodeConnections } from "./start/connections.ts";

/** What the parts of every room are made from. */
export interface NodeBase {
  readonly config: RollupConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: NodeMetrics;
  readonly connections: NodeConnections;
  readonly l1View: L1View;
  /** the engine, whose blocks are cached */
  readonly engine: DriverEngine;
  readonly control: EngineControl;
  /** how far derivation has read L1 */
  readonly progress: L1Progress;
  readonly signals: DriverSignals;
}

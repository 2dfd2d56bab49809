import type { Attack } from "./attack.ts";
import * as connections from "./connections.ts";
import * as costly from "./costly.ts";
import * as doors from "./doors.ts";
import * as executionPeers from "./execution-peers.ts";
import * as malformed from "./malformed.ts";
import * as p2p from "./p2p.ts";
import * as sideDoors from "./side-doors.ts";
import * as state from "./state.ts";
import * as subblocks from "./subblocks.ts";
import * as websockets from "./websockets.ts";

/** All attacks, in no particular order. */
export const ATTACKS: readonly Attack[] = [
  costly,
  state,
  connections,
  malformed,
  websockets,
  subblocks,
  doors,
  sideDoors,
  p2p,
  executionPeers,
].flatMap((group) => Object.values(group));

import type { EngineClient, L2Blocks } from "@rnode/node-clients";
import type { DriverEngine } from "./engine-control.ts";

/** Remembers blocks that pass through, so that they need not be read back from the engine. */
export function rememberBlocks(engine: Pick<EngineClient, keyof DriverEngine>, l2: Pick<L2Blocks, "remember">): DriverEngine {
  return {
    forkchoiceUpdated: (state, attributes) => engine.forkchoiceUpdated(state, attributes),
    getPayload: (id, timestampSec) => engine.getPayload(id, timestampSec),
    newPayload: async (envelope) => {
      const outcome = await engine.newPayload(envelope);
      if (outcome.kind === "valid") l2.remember(envelope);
      return outcome;
    },
    buildBlocks: async (state, attributes) => {
      const outcome = await engine.buildBlocks(state, attributes);
      if (outcome.kind === "built") for (const block of outcome.blocks) l2.remember(block);
      return outcome;
    },
  };
}

import { optionalParam, param } from "@rnode/jsonrpc";
import { blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { simulateRequestShape } from "../params/simulate-request.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

export function ethSimulateMethods({ simulations }: ReadServices): ApiMethods {
  return {
    eth_simulateV1: method({
      runs: "reader",
      cost: "call",
      result: results.simulatedBlocks,
      params: [param("payload", simulateRequestShape), optionalParam("block", blockSelectorShape)],
      summary: "Runs calls in blocks that follow one another on the given one, and shows these blocks; nothing is kept.",
      handler: ([request, selector], work) => simulations.simulate(work, request, selector ?? LATEST),
    }),
  };
}

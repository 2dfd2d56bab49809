import { booleanShape, objectShape, optionalParam, param } from "@rnode/jsonrpc";
import { OP_FORKS, rollupRules, rollupRulesAt } from "@rnode/protocol";
import { blockSelectorShape } from "../params/block-selector.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import * as debugResults from "../schemas/debug-results.ts";
import * as results from "../schemas/results.ts";
import { replaySdmBlock } from "../tracing/sdm-replay.ts";
import { requireTraceable } from "../tracing/traceable-block.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/*
 * Sequencer-defined metering: op-reth's methods, with its answers. The gas refunds of a block come from a policy of its producer. Neither
 * op-reth's releases nor rengine have one. Spec: docs/protocol/04-rpc.md#sequencer-defined-metering
 */

export function sdmAdminMethods({ backend }: ReadServices): ApiMethods {
  const { optimism } = backend.chain.config;
  if (optimism === undefined || !backend.profile.servesSdm) return {};
  const { forkTimes } = optimism;
  const fork = OP_FORKS.find((one) => forkTimes[one] !== undefined && rollupRules(one).acceptsGasRefunds);
  return {
    admin_setOperatorSdmOptIn: method({
      runs: "writer",
      result: results.nothing,
      params: [param("enabled", booleanShape)],
      summary: "Whether blocks built here may refund gas, until the next start. No policy here refunds any.",
      handler: ([enabled], { sdm }) => {
        sdm.isOptedIn = enabled;
        return null;
      },
    }),
    admin_sdmStatus: method({
      runs: "writer",
      result: results.sdmStatus,
      params: [optionalParam("queryTimestamp", numberOrQuantityShape)],
      summary: "Whether blocks may refund gas at a time (default: now), by the operator's and the chain's rules.",
      handler: ([timestampSec], { sdm }) => {
        const protocolActive = rollupRulesAt(forkTimes, timestampSec ?? sdm.nowSec()).acceptsGasRefunds;
        return {
          operatorSdmOptIn: sdm.isOptedIn,
          protocolActive,
          effective: sdm.isOptedIn && protocolActive,
          activationTime: (fork && forkTimes[fork]) ?? null,
        };
      },
    }),
  };
}

const replayOptionsShape = objectShape({}, { compare_payload: booleanShape });

export function sdmDebugMethods({ backend, traces }: ReadServices): ApiMethods {
  if (backend.chain.config.optimism === undefined || !backend.profile.servesSdm) return {};
  return {
    debug_replaySDMBlock: method({
      runs: "reader",
      cost: "trace",
      result: debugResults.sdmReplay,
      params: [param("block", blockSelectorShape), optionalParam("options", replayOptionsShape)],
      summary: "Executes a block without its gas refunds, and compares them with the gas of its transactions.",
      handler: ([selector, options], work) =>
        replaySdmBlock(backend, traces, work, requireTraceable(backend, selector), options?.compare_payload ?? true),
    }),
  };
}

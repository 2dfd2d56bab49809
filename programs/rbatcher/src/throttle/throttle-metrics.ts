import type { MetricFactory, NoLabels } from "@rnode/observe";
import type { DaBytes } from "@rnode/protocol";
import type { ThrottleControllerType } from "./throttle-controller.ts";

export type ThrottleMetrics = ReturnType<typeof createThrottleMetrics>;

/** Under op-batcher's names. */
export const createThrottleMetrics = (m: MetricFactory) => ({
  intensity: m.gauge<{ type: ThrottleControllerType }>(
    "throttle_intensity",
    "How hard blocks are throttled, 0 to 1, by controller.",
    ["type"],
  ),
  controllerType: m.gauge<{ type: ThrottleControllerType }>("throttle_controller_type", "1 for the controller in use.", ["type"]),
  maxTxSize: m.gauge<NoLabels, DaBytes>(
    "throttle_max_tx_size",
    "The limit of a transaction that block builders are told, in bytes; 0: none.",
  ),
  maxBlockSize: m.gauge<NoLabels, DaBytes>(
    "throttle_max_block_size",
    "The limit of a block that block builders are told, in bytes; 0: none.",
  ),
  unsafeBytesRatio: m.gauge<{ type: ThrottleControllerType }>(
    "unsafe_bytes_ratio",
    "unsafe_da_bytes divided by the lower threshold of throttling.",
    ["type"],
  ),
  pidError: m.gauge("pid_controller_error", "Excess over the lower threshold, divided by it, as the pid controller sees it."),
  pidIntegral: m.gauge("pid_controller_integral", "Sum of the pid controller's errors over time."),
  pidDerivative: m.gauge("pid_controller_derivative", "Change of the pid controller's error per second."),
});

import {
  decimal,
  duration,
  listOf,
  type OptionsOf,
  oneOf,
  optionGroup,
  type Parser,
  positiveDuration,
  uint,
  url,
} from "@rnode/program";
import { type DaBytes, daBytes } from "@rnode/protocol";
import type { ThrottleOptions } from "./throttle.ts";
import { THROTTLE_CONTROLLERS } from "./throttle-controller.ts";

const within = (expects: string, isValid: (value: number) => boolean): Parser<number> => ({
  ...decimal,
  expects,
  parse: (value) => {
    const parsed = decimal.parse(value);
    return parsed !== undefined && isValid(parsed) ? parsed : undefined;
  },
});
/** A size of data or a limit, as transactions are estimated. */
const daSize: Parser<DaBytes> = {
  ...uint,
  parse: (value) => {
    const parsed = uint.parse(value);
    return parsed === undefined ? undefined : daBytes(parsed);
  },
};
const gain = within("a number, 0 or more", (value) => value >= 0);
const LOWER = "throttle.unsafe-da-bytes-lower-threshold";
const PID = "throttle.controller-type=pid";

export const throttleOptions = optionGroup("throttle", {
  controllerType: {
    parse: oneOf(...THROTTLE_CONTROLLERS),
    default: "quadratic",
    help: "How the limits follow the estimated size of blocks that are not safe: step is all or nothing, linear and quadratic rise between the thresholds, pid follows the excess, its sum and its change.",
  },
  lowerThreshold: {
    parse: daSize,
    flag: LOWER,
    default: daBytes(3_200_000),
    unit: "bytes",
    help: "Above this estimated size of blocks that are not safe, block builders are told by miner_setMaxDASize to put less into blocks. 0: they are never told anything.",
  },
  upperThreshold: {
    parse: daSize,
    flag: "throttle.unsafe-da-bytes-upper-threshold",
    default: daBytes(12_800_000),
    unit: "bytes",
    check: (upper: DaBytes, other) => {
      const lower = Number(other(LOWER));
      return upper > lower ? undefined : `expected more than --${LOWER} (${lower}), found ${upper}`;
    },
    help: "Estimated size of blocks that are not safe at which the limits are lowest (linear and quadratic).",
  },
  txSizeLowerLimit: {
    parse: daSize,
    default: daBytes(150),
    unit: "bytes",
    help: "Limit of a transaction at the strongest throttling. 0: transactions are not limited further than by the upper limit.",
  },
  txSizeUpperLimit: {
    parse: daSize,
    default: daBytes(20_000),
    unit: "bytes",
    help: "Limit of a transaction when throttling begins; without throttling there is none. 0: only the lower limit counts.",
  },
  blockSizeLowerLimit: {
    parse: daSize,
    default: daBytes(2_000),
    unit: "bytes",
    help: "Limit of a block at the strongest throttling. 0: blocks are not limited further than by the upper limit.",
  },
  blockSizeUpperLimit: {
    parse: daSize,
    default: daBytes(130_000),
    unit: "bytes",
    help: "Limit of a block without throttling. 0: none.",
  },
  additionalEndpoints: {
    parse: listOf(url),
    default: [],
    help: "Block builders that are told the limits, besides the endpoints of --l2-eth-rpc.",
  },
  intervalMs: { parse: positiveDuration, default: 2000, help: "Time between two looks at that size." },
  pidKp: { parse: gain, default: 0.33, needs: PID, help: "Weight of the excess." },
  pidKi: { parse: gain, default: 0.01, needs: PID, help: "Weight of the sum of the excess." },
  pidKd: { parse: gain, default: 0.05, needs: PID, help: "Weight of the change of the excess." },
  pidIntegralMax: {
    parse: within("a number above 0", (value) => value > 0),
    default: 1000,
    needs: PID,
    help: "The most that the sum can become.",
  },
  pidOutputMax: {
    parse: within("a number above 0 and at most 1", (value) => value > 0 && value <= 1),
    default: 1,
    needs: PID,
    help: "The strongest throttling.",
  },
  pidSampleTimeMs: { parse: duration, default: 2000, needs: PID, help: "The least time between two updates." },
});

export function throttleOptionsOf(options: OptionsOf<typeof throttleOptions>): ThrottleOptions {
  const {
    pidKp: kp,
    pidKi: ki,
    pidKd: kd,
    pidIntegralMax: integralMax,
    pidOutputMax: outputMax,
    pidSampleTimeMs: sampleTimeMs,
  } = options;
  return { ...options, pid: { kp, ki, kd, integralMax, outputMax, sampleTimeMs } };
}

import { type DaBytes, daBytes } from "@rnode/protocol";

/** How hard the block builder is throttled, as a function of what waits to be published. */
export type ThrottleControllerType = (typeof THROTTLE_CONTROLLERS)[number];
export const THROTTLE_CONTROLLERS = ["step", "linear", "quadratic", "pid"] as const;

export interface PidGains {
  readonly kp: number;
  readonly ki: number;
  readonly kd: number;
  /** the most that the sum of errors can become */
  readonly integralMax: number;
  /** above 0, at most 1 */
  readonly outputMax: number;
  readonly sampleTimeMs: number;
}

export interface ThrottleLimits {
  /** load above which blocks are throttled; 0: never */
  readonly lowerThreshold: DaBytes;
  /** load at which throttling is strongest (linear and quadratic) */
  readonly upperThreshold: DaBytes;
  /** limit of a transaction at full strength, and just above none; 0: no limit */
  readonly txSizeLowerLimit: DaBytes;
  readonly txSizeUpperLimit: DaBytes;
  /** limit of a block at full strength, and without throttling; 0: no limit */
  readonly blockSizeLowerLimit: DaBytes;
  readonly blockSizeUpperLimit: DaBytes;
}

/** Parameters of `miner_setMaxDASize`. */
export interface DaSizes {
  /** 0: none. 1: full */
  readonly intensity: number;
  /** 0: no limit */
  readonly maxTxSize: DaBytes;
  readonly maxBlockSize: DaBytes;
}

/**
 * Turns the load into limits for the block builder. Spec: docs/protocol/05-services.md#throttling
 *
 * Between the thresholds, linear rises evenly and quadratic gently at first; step is all or nothing; pid follows the excess over the lower
 * threshold, its sum and its change.
 */
export class ThrottleController {
  readonly type: ThrottleControllerType;
  readonly #limits: ThrottleLimits;
  readonly #pid: PidController;
  #last: DaSizes;

  constructor(type: ThrottleControllerType, limits: ThrottleLimits, gains: PidGains) {
    this.type = type;
    this.#limits = limits;
    this.#pid = new PidController(gains, limits.lowerThreshold);
    this.#last = this.#sizesAt(0);
  }

  /** as of the last update */
  get current(): DaSizes {
    return this.#last;
  }

  /** the excess, its sum and its change, as the pid controller last saw them */
  get pidState(): { readonly error: number; readonly integral: number; readonly derivative: number } {
    return this.#pid.state;
  }

  update(load: DaBytes, nowMs: number): DaSizes {
    this.#last = this.#sizesAt(this.#intensity(load, nowMs));
    return this.#last;
  }

  reset(): void {
    this.#pid.reset();
    this.#last = this.#sizesAt(0);
  }

  #intensity(load: DaBytes, nowMs: number): number {
    const { lowerThreshold, upperThreshold } = this.#limits;
    if (this.type === "pid") return this.#pid.update(load, nowMs);
    if (lowerThreshold === 0 || load <= lowerThreshold) return 0;
    if (this.type === "step") return 1;
    const part = Math.min(1, (load - lowerThreshold) / Math.max(1, upperThreshold - lowerThreshold));
    return this.type === "linear" ? part : part ** 2;
  }

  #sizesAt(intensity: number): DaSizes {
    const { txSizeLowerLimit, txSizeUpperLimit, blockSizeLowerLimit, blockSizeUpperLimit } = this.#limits;
    if (intensity === 0) return { intensity, maxTxSize: daBytes(0), maxBlockSize: blockSizeUpperLimit };
    return {
      intensity,
      maxTxSize: between(txSizeUpperLimit, txSizeLowerLimit, intensity),
      maxBlockSize: between(blockSizeUpperLimit, blockSizeLowerLimit, intensity),
    };
  }
}

/** @param upper without throttling @param lower at full strength; 0: no limit at all */
function between(upper: DaBytes, lower: DaBytes, intensity: number): DaBytes {
  if (lower === 0) return upper;
  if (upper === 0 || upper <= lower) return lower;
  return daBytes(Math.floor(upper - intensity * (upper - lower)));
}

class PidController {
  readonly #gains: PidGains;
  readonly #threshold: DaBytes;
  #lastMs: number | undefined;
  #output = 0;
  state = { error: 0, integral: 0, derivative: 0 };

  constructor(gains: PidGains, threshold: DaBytes) {
    this.#gains = gains;
    this.#threshold = threshold;
  }

  reset(): void {
    this.#lastMs = undefined;
    this.#output = 0;
    this.state = { error: 0, integral: 0, derivative: 0 };
  }

  update(load: DaBytes, nowMs: number): number {
    const { kp, ki, kd, integralMax, outputMax, sampleTimeMs } = this.#gains;
    const elapsedMs = this.#lastMs === undefined ? 0 : nowMs - this.#lastMs;
    if (this.#lastMs !== undefined && elapsedMs < sampleTimeMs) return this.#output;
    this.#lastMs = nowMs;
    if (this.#threshold === 0 || load <= this.#threshold) {
      this.state = { error: 0, integral: 0, derivative: 0 };
      this.#output = 0;
      return 0;
    }
    const seconds = elapsedMs / 1000;
    const error = (load - this.#threshold) / this.#threshold;
    const integral = Math.min(integralMax, this.state.integral + error * seconds);
    const derivative = seconds === 0 ? 0 : (error - this.state.error) / seconds;
    this.state = { error, integral, derivative };
    this.#output = Math.max(0, Math.min(outputMax, kp * error + ki * integral + kd * derivative));
    return this.#output;
  }
}

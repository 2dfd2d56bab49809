import { RpcError } from "@rnode/jsonrpc";
import { errorText, type Logger } from "@rnode/observe";
import { type Clock, toQuantity } from "@rnode/primitives";
import type { DaBytes } from "@rnode/protocol";
import {
  type DaSizes,
  type PidGains,
  THROTTLE_CONTROLLERS,
  ThrottleController,
  type ThrottleControllerType,
  type ThrottleLimits,
} from "./throttle-controller.ts";
import type { ThrottleMetrics } from "./throttle-metrics.ts";

export interface ThrottleOptions extends ThrottleLimits {
  readonly controllerType: ThrottleControllerType;
  readonly intervalMs: number;
  readonly pid: PidGains;
}

/** A sequencer's execution client, or a block builder. */
export interface ThrottledEndpoint {
  readonly name: string;
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export interface ThrottleDeps {
  readonly endpoints: readonly ThrottledEndpoint[];
  /** what L2 blocks take on L1 that are not safe yet */
  readonly load: () => DaBytes;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ThrottleMetrics;
}

/** What `admin_getThrottleController` answers. */
export interface ThrottleInfo {
  readonly type: ThrottleControllerType;
  readonly lower_threshold: number;
  readonly upper_threshold: number;
  readonly current_load: number;
  readonly intensity: number;
  readonly max_tx_size: number;
  readonly max_block_size: number;
}

const METHOD = "miner_setMaxDASize";
const METHOD_NOT_FOUND = -32601;
/** The limits are repeated this often even if they have not changed: the client may have been restarted without them. */
const REPEAT_MS = 30_000;

interface EndpointState {
  readonly endpoint: ThrottledEndpoint;
  told: string | undefined;
  toldAtMs: number;
  /** of the last failure; empty: none */
  trouble: string;
}

/** Tells the block builders how much data they may put into blocks, the less the more waits to be published. */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #deps: ThrottleDeps;
  readonly #endpoints: readonly EndpointState[];
  #controller: ThrottleController;

  constructor(options: ThrottleOptions, deps: ThrottleDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#endpoints = deps.endpoints.map((endpoint) => ({ endpoint, told: undefined, toldAtMs: 0, trouble: "" }));
    this.#controller = new ThrottleController(options.controllerType, options, options.pid);
  }

  get isThrottling(): boolean {
    return this.#controller.current.intensity > 0;
  }

  info(): ThrottleInfo {
    const { intensity, maxTxSize, maxBlockSize } = this.#controller.current;
    return {
      type: this.#controller.type,
      lower_threshold: this.#options.lowerThreshold,
      upper_threshold: this.#options.upperThreshold,
      current_load: this.#deps.load(),
      intensity,
      max_tx_size: maxTxSize,
      max_block_size: maxBlockSize,
    };
  }

  setController(type: ThrottleControllerType, pid: PidGains = this.#options.pid): void {
    this.#controller = new ThrottleController(type, this.#options, pid);
  }

  reset(): void {
    this.#controller.reset();
  }

  /** Runs until the signal is aborted. Failed requests are repeated; endpoints without the method are skipped. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.step();
      await this.#deps.clock.sleep(this.#options.intervalMs, signal);
    }
  }

  async step(): Promise<void> {
    const { clock, metrics } = this.#deps;
    const load = this.#deps.load();
    const sizes = this.#controller.update(load, clock.monotonicMs());
    const { type } = this.#controller;
    for (const each of THROTTLE_CONTROLLERS) {
      metrics.intensity.set(each === type ? sizes.intensity : 0, { type: each });
      metrics.controllerType.set(each === type ? 1 : 0, { type: each });
    }
    metrics.maxTxSize.set(sizes.maxTxSize);
    metrics.maxBlockSize.set(sizes.maxBlockSize);
    metrics.unsafeBytesRatio.set(load / Math.max(1, this.#options.lowerThreshold), { type });
    metrics.pidError.set(this.#controller.pidState.error);
    metrics.pidIntegral.set(this.#controller.pidState.integral);
    metrics.pidDerivative.set(this.#controller.pidState.derivative);
    await Promise.all(this.#endpoints.map((state) => this.#tell(state, sizes)));
  }

  async #tell(state: EndpointState, { maxTxSize, maxBlockSize, intensity }: DaSizes): Promise<void> {
    const { clock, log } = this.#deps;
    const key = `${maxTxSize} ${maxBlockSize}`;
    if (state.told === key && clock.monotonicMs() - state.toldAtMs < REPEAT_MS) return;
    const { name } = state.endpoint;
    try {
      await state.endpoint.call(METHOD, [toQuantity(maxTxSize), toQuantity(maxBlockSize)]);
      if (state.told !== key)
        log.info("block builder told what it may put into blocks", { endpoint: name, maxTxSize, maxBlockSize, intensity });
      if (state.trouble !== "") log.info("block builder takes limits again", { endpoint: name });
      state.trouble = "";
      state.told = key;
    } catch (error) {
      const isMissing = error instanceof RpcError && error.code === METHOD_NOT_FOUND;
      const trouble = errorText(error);
      if (trouble !== state.trouble && isMissing) {
        log.error(`the block builder has no ${METHOD}, so that it is not throttled when batches pile up`, {
          endpoint: name,
          remedy:
            "serve the miner namespace there (rengine: --http.api=…,miner), or turn throttling off with --throttle.unsafe-da-bytes-lower-threshold=0",
        });
      } else if (trouble !== state.trouble)
        log.warn("cannot tell the block builder its limits", { endpoint: name, error: trouble });
      state.trouble = trouble;
      if (isMissing) state.told = key; // asked again at the next change, or later
    }
    state.toldAtMs = clock.monotonicMs();
  }
}

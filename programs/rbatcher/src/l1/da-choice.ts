import { errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ChannelConfig, ChannelConfigs } from "../channels/channel-config.ts";
import { areBlobsCheaper, fullTransactionCost } from "./da-cost.ts";
import type { L1Access } from "./l1-access.ts";

export interface DaChoiceDeps {
  readonly l1: Pick<L1Access, "feeMarket">;
  /** the least priority fee that is offered, wei */
  readonly minTipWei: bigint;
  /** whether the backlog is so large that larger transactions are preferred at any price */
  readonly isThrottling: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const PRICE_LIMIT_MS = 10_000;

/** Blobs or calldata, whichever L1 charges less for. Spec: docs/protocol/05-services.md#channel-building */
export class DaChoice {
  readonly #configs: ChannelConfigs;
  readonly #deps: DaChoiceDeps;
  #current: ChannelConfig;

  constructor(configs: ChannelConfigs, deps: DaChoiceDeps) {
    this.#configs = configs;
    this.#deps = deps;
    this.#current = (configs.blobs ?? configs.calldata)!;
  }

  get current(): ChannelConfig {
    return this.#current;
  }

  /** The config of the next channel. Without prices, the last choice stays. */
  async choose(): Promise<ChannelConfig> {
    const { blobs, calldata } = this.#configs;
    if (blobs === undefined || calldata === undefined) return this.#current;
    const { l1, clock, log, minTipWei, isThrottling } = this.#deps;
    const limit = new AbortController();
    try {
      const market = await Promise.race([
        l1.feeMarket({ withBlobs: true }),
        clock.sleep(PRICE_LIMIT_MS, limit.signal).then(() => {
          throw new Error(`no answer within ${PRICE_LIMIT_MS} ms`);
        }),
      ]);
      const tipWei = market.tip > minTipWei ? market.tip : minTipWei;
      const [blobCost, calldataCost] = [blobs, calldata].map((config) => fullTransactionCost(config, market, tipWei));
      const next = isThrottling() || areBlobsCheaper(blobCost!, calldataCost!) ? blobs : calldata;
      if (next !== this.#current) {
        log.info("batches go elsewhere now", {
          to: next.carrier,
          blobGweiPerKilobyte: gweiPerKilobyte(blobCost!.feeWei, blobCost!.sizeBytes),
          calldataGweiPerKilobyte: gweiPerKilobyte(calldataCost!.feeWei, calldataCost!.sizeBytes),
        });
      }
      this.#current = next;
    } catch (error) {
      log.warn("cannot compare the prices of blobs and calldata: batches go where they went", {
        to: this.#current.carrier,
        error: errorText(error),
      });
    } finally {
      limit.abort();
    }
    return this.#current;
  }
}

const gweiPerKilobyte = (feeWei: bigint, sizeBytes: bigint): bigint => (feeWei * 1000n) / sizeBytes / 10n ** 9n;

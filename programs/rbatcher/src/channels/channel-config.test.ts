import { describe, expect, it } from "vitest";
import { CHANNEL_OPTIONS } from "../testing/sim-channels.ts";
import { simRollupConfig } from "../testing/sim-rollup.ts";
import { type ChannelConfig, type ChannelOptions, channelConfigs } from "./channel-config.ts";

const NOW = 1_800_000_000;
const noFork = Object.fromEntries(
  ["delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"].map((fork) => [`${fork}_time`, undefined]),
);

const channelConfig = (...args: Parameters<typeof channelConfigs>): ChannelConfig => channelConfigs(...args).calldata!;

describe("channelConfigs", () => {
  it("follows from options and rollup", () => {
    const config = channelConfig({ ...CHANNEL_OPTIONS, compressionAlgo: "brotli" }, simRollupConfig(), NOW);
    expect(config).toMatchObject({
      batchType: "span",
      algorithm: "brotli-10",
      maxFrameBytes: 1999,
      channelTimeout: 50, // Granite's, whatever the configuration says
      seqWindowSize: 3600,
    });
  });

  it("takes Granite's timeout as soon as Granite is scheduled", () => {
    const later = simRollupConfig({ ...noFork, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: NOW + 1 });
    expect(channelConfig(CHANNEL_OPTIONS, later, NOW).channelTimeout).toBe(50);
    const never = simRollupConfig({ ...noFork, delta_time: 0 });
    expect(channelConfig(CHANNEL_OPTIONS, never, NOW).channelTimeout).toBe(300);
  });

  it.each<[string, Partial<ChannelOptions>, Record<string, unknown>, string]>([
    ["span batches before Delta", {}, noFork, "--batch-type: 1 does not do; expected 0"],
    [
      "brotli before Fjord",
      { batchType: 0, compressionAlgo: "brotli-9" },
      noFork,
      "--compression-algo: brotli-9 does not do; expected zlib",
    ],
    [
      "a margin above the channel timeout",
      { subSafetyMargin: 51 },
      {},
      "--sub-safety-margin: 51 does not do; expected at most the channel timeout of 50",
    ],
    [
      "a margin above the sequencing window",
      { subSafetyMargin: 21 },
      { seq_window_size: 20 },
      "at most the sequencing window of 20",
    ],
    ["transactions without room for a frame", { maxL1TxSizeBytes: 24 }, {}, "--max-l1-tx-size-bytes: 24 does not do"],
    ["stored brotli", { compressor: "none", compressionAlgo: "brotli" }, {}, "--compressor: none does not do"],
  ])("refuses %s", (_, options, rollup, message) => {
    expect(() => channelConfig({ ...CHANNEL_OPTIONS, ...options }, simRollupConfig(rollup), NOW)).toThrow(message);
  });
});

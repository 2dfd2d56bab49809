import { parseOptions, referenceTable } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { rbatcherOptions } from "./options.ts";

const REQUIRED = [
  "--l1-eth-rpc=http://127.0.0.1:8545",
  "--l2-eth-rpc=http://127.0.0.1:9545",
  "--rollup-rpc=http://127.0.0.1:7545",
  `--private-key=${"11".repeat(32)}`,
];

function parse(args: readonly string[], env: Record<string, string> = {}): string | Record<string, unknown> {
  const parsed = parseOptions(rbatcherOptions, [...REQUIRED, ...args], env);
  if (parsed.kind !== "options") return parsed.kind === "error" ? parsed.faults.join("\n") : parsed.kind;
  return { ...parsed.options.batches, ...parsed.options.transactions, ...parsed.options.rpc };
}

describe("rbatcher's options", () => {
  it("have upstream's defaults", () => {
    expect(parse([])).toMatchObject({
      pollIntervalMs: 6000,
      maxPendingTransactions: 1,
      subSafetyMargin: 10,
      maxChannelDuration: 0,
      maxL1TxSizeBytes: 120_000,
      targetNumFrames: 1,
      approxComprRatio: 0.6,
      compressor: "shadow",
      compressionAlgo: "zlib",
      batchType: 0,
      dataAvailabilityType: "calldata",
      confirmations: 10,
      safeAbortNonceTooLowCount: 3,
      feeLimitMultiplier: 5,
      feeLimitThresholdWei: 100_000_000_000n,
      minTipWei: 1_000_000_000n,
      resubmissionTimeoutMs: 48_000,
      networkTimeoutMs: 10_000,
      sendTimeoutMs: 600_000,
      notInMempoolTimeoutMs: 120_000,
      receiptQueryIntervalMs: 12_000,
      enableAdmin: false,
    });
  });

  it("have upstream's defaults of throttling", () => {
    const parsed = parseOptions(rbatcherOptions, REQUIRED, {});
    expect(parsed.kind === "options" && parsed.options.throttle).toMatchObject({
      controllerType: "quadratic",
      lowerThreshold: 3_200_000,
      upperThreshold: 12_800_000,
      txSizeLowerLimit: 150,
      txSizeUpperLimit: 20_000,
      blockSizeLowerLimit: 2_000,
      blockSizeUpperLimit: 130_000,
    });
  });

  it("come from flags and from the environment", () => {
    expect(
      parse(["--txmgr.min-tip-cap=0.5", "--batch-type=1"], {
        RBATCHER_POLL_INTERVAL: "1s",
        RBATCHER_TXMGR_MIN_BASEFEE: "2.000000001",
      }),
    ).toMatchObject({
      minTipWei: 500_000_000n,
      minBaseFeeWei: 2_000_000_001n,
      batchType: 1,
      pollIntervalMs: 1000,
    });
  });

  it.each<[string, string[], string]>([
    ["seven blobs", ["--data-availability-type=blobs", "--target-num-frames=7"], "expected at most 6, the number of blobs"],
    [
      "seven blobs in auto mode",
      ["--data-availability-type=auto", "--target-num-frames=7"],
      "expected at most 6, the number of blobs",
    ],
    ["a spend limit of nothing", ["--max-l1-spend-per-hour=0"], "expected an amount of ether above 0"],
    [
      "an upper threshold below the lower one",
      ["--throttle.unsafe-da-bytes-upper-threshold=1000"],
      "expected more than --throttle.unsafe-da-bytes-lower-threshold (3200000), found 1000",
    ],
    [
      "more calldata than the gas of a transaction pays for",
      ["--max-l1-tx-size-bytes=261910"],
      "--max-l1-tx-size-bytes: expected at most 261909, because more calldata can need more than the 16777216 gas that L1 allows a transaction (EIP-7825, EIP-7976), found 261910",
    ],
    [
      "the same where calldata is one of two",
      ["--data-availability-type=auto", "--max-l1-tx-size-bytes=1000000"],
      "--max-l1-tx-size-bytes: expected at most 261909",
    ],
    ["an unknown controller", ["--throttle.controller-type=cubic"], "expected one of step, linear, quadratic, pid"],
    ["an unknown place for data", ["--data-availability-type=celestia"], "expected one of calldata, blobs, auto"],
    ["batch type 2", ["--batch-type=2"], "expected 0 (singular batches) or 1 (span batches)"],
    ["a ratio of 0", ["--approx-compr-ratio=0"], "expected a ratio above 0 and at most 1"],
    ["no poll interval", ["--poll-interval=0s"], "above 0"],
    ["a transaction of one byte", ["--max-l1-tx-size-bytes=1"], "expected a whole number from 2"],
    ["no frames", ["--target-num-frames=0"], "expected a whole number from 1"],
    ["a depth of 129", ["--check-recent-txs-depth=129"], "expected a whole number from 0 to 128"],
    [
      "stored brotli",
      ["--compressor=none", "--compression-algo=brotli"],
      '--compressor: "none" does nothing without --compression-algo=zlib',
    ],
    ["a send timeout below the pool's", ["--txmgr.send-timeout=1s"], "--txmgr.send-timeout: expected at least"],
    ["a fee of many decimals", ["--txmgr.min-tip-cap=0.0000000001"], "at most nine decimals"],
    [
      "a zero key",
      [`--private-key=${"00".repeat(32)}`],
      "--private-key: the value is not valid, expected a private key as 64 hex digits",
    ],
    [
      "more execution clients than rollup nodes",
      ["--l2-eth-rpc=http://a,http://b"],
      "--rollup-rpc: expected as many endpoints as --l2-eth-rpc has (3), found 1",
    ],
    [
      "a key and a remote signer",
      ["--signer.endpoint=https://x", `--signer.address=0x${"11".repeat(20)}`],
      "--signer.endpoint: a private key (--private-key) and a remote signer exclude each other",
    ],
    ["half a remote signer", ["--signer.endpoint=https://x"], "signer endpoint and address must both be set or not set"],
    ["an unknown option", ["--poll-intervall=1s"], "did you mean --poll-interval?"],
  ])("refuse %s", (_, args, message) => {
    expect(parse(args)).toContain(message);
  });

  it("want a key or a remote signer", () => {
    const withoutKey = REQUIRED.filter((arg) => !arg.startsWith("--private-key"));
    const faults = (args: readonly string[]) => {
      const parsed = parseOptions(rbatcherOptions, [...withoutKey, ...args], {});
      return parsed.kind === "error" ? parsed.faults : [];
    };
    expect(faults([])).toEqual([expect.stringMatching(/^--private-key.* is required/)]);
    expect(faults(["--signer.endpoint=https://x", `--signer.address=0x${"11".repeat(20)}`])).toEqual([]);
  });

  it("never show the key", () => {
    expect(parse(["--private-key=123456"])).toBe(
      "--private-key: the value is not valid, expected a private key as 64 hex digits, from 1 to the order of the curve",
    );
  });
});

describe("OPTIONS.md", () => {
  it("is what the table says (vitest -u writes it)", async () => {
    const page = `# Options of \`rbatcher\`\n\nMade from \`src/options.ts\`. Flags beat variables; an empty variable is unset.\n\n${referenceTable(rbatcherOptions)}`;
    await expect(page).toMatchFileSnapshot("../OPTIONS.md");
  });
});

import type { RpcResponse } from "./rpc-io.ts";
import type { ProfileName } from "./rpc-program.ts";

/** Intended differences from Geth's recorded answers. */
export interface RpcDeviation {
  readonly because: string;
  /** names of the tests; it is a failure if one of them is answered as recorded */
  readonly tests: readonly string[];
  /** The answer expected instead of the recorded one; parts that depend on the node are taken from the actual answer. */
  expectedInstead(recorded: RpcResponse, answer: RpcResponse): RpcResponse;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const withError = (recorded: RpcResponse, more: Fields): RpcResponse => ({
  ...recorded,
  error: { ...fieldsOf(recorded.error), ...more },
});

/** The differences listed in docs/faces.md, and the codes and data of R's errors. */
const OF_R: readonly RpcDeviation[] = [
  {
    because: "the sync status is an object with stages, also when synced",
    tests: ["eth_syncing/check-syncing"],
    expectedInstead: (recorded, { result }) => ("stages" in fieldsOf(result) ? { ...recorded, result } : recorded),
  },
  {
    because: "what is not there has the code −32001",
    tests: ["eth_simulateV1/ethSimulate-empty-with-block-num-set-plus1", "eth_simulateV1/ethSimulate-make-call-with-future-block"],
    expectedInstead: (recorded) => withError(recorded, { code: -32001 }),
  },
  {
    because: "errors of parameters say in their data which parameter is wrong",
    tests: [
      "debug_getRawBlock/get-invalid-number",
      "debug_getRawHeader/get-invalid-number",
      "debug_getRawReceipts/get-invalid-number",
      "debug_getRawTransaction/get-invalid-hash",
      "debug_traceBlockByNumber/trace-block-invalid-number",
      "eth_getStorageAt/get-storage-invalid-key",
      "eth_getStorageAt/get-storage-invalid-key-too-large",
      "eth_getStorageValues/get-storage-values-empty-request",
    ],
    expectedInstead: (recorded, { error }) => {
      const { data } = fieldsOf(error);
      return typeof data === "string" ? withError(recorded, { data }) : recorded;
    },
  },
];

const OF_G: readonly RpcDeviation[] = [
  {
    because: "blocks have totalDifficulty, which Geth no longer shows and G does",
    tests: [
      "eth_getBlockByHash/get-block-by-hash",
      ...["cancun", "london", "merge", "prague", "shanghai"].map((fork) => `eth_getBlockByNumber/get-block-${fork}-fork`),
      ...["finalized", "genesis", "latest", "safe"].map((tag) => `eth_getBlockByNumber/get-${tag}`),
      "testing_buildBlockV1/build-block-invalid-transaction", // shows the head afterwards
    ],
    expectedInstead: (recorded, { result }) => {
      const { totalDifficulty } = fieldsOf(result);
      return typeof totalDifficulty === "string" && /^0x[1-9a-f][0-9a-f]*$/.test(totalDifficulty)
        ? { ...recorded, result: { ...fieldsOf(recorded.result), totalDifficulty } }
        : recorded;
    },
  },
];

const BY_PROFILE: Readonly<Record<ProfileName, readonly RpcDeviation[]>> = { R: OF_R, G: OF_G };

export function deviationsOf(profile: ProfileName): ReadonlyMap<string, RpcDeviation> {
  return new Map(BY_PROFILE[profile].flatMap((deviation) => deviation.tests.map((name) => [name, deviation] as const)));
}

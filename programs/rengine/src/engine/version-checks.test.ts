import { type Hex, hexToBytes } from "@rnode/primitives";
import { parseChainConfig } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { checkForkchoiceVersion, checkGetPayloadVersion, checkNewPayloadVersion, type NewPayloadInput } from "./version-checks.ts";

const CONFIG = parseChainConfig({
  chainId: 901,
  homesteadBlock: 0,
  eip150Block: 0,
  eip155Block: 0,
  eip158Block: 0,
  byzantiumBlock: 0,
  constantinopleBlock: 0,
  petersburgBlock: 0,
  istanbulBlock: 0,
  berlinBlock: 0,
  londonBlock: 0,
  mergeNetsplitBlock: 0,
  bedrockBlock: 0,
  terminalTotalDifficulty: 0,
  regolithTime: 0,
  canyonTime: 100,
  shanghaiTime: 100,
  ecotoneTime: 200,
  cancunTime: 200,
  isthmusTime: 300,
  pragueTime: 300,
  jovianTime: 400,
  fjordTime: 200,
  graniteTime: 200,
  holoceneTime: 200,
  optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
});
const BEDROCK = 50;
const CANYON = 150;
const ECOTONE = 250;
const ISTHMUS = 350;
const JOVIAN = 450;
const HASH = new Uint8Array(32);

const attributes = (timestamp: number, fields: object = {}) => ({
  timestamp,
  prevRandao: HASH,
  suggestedFeeRecipient: new Uint8Array(20),
  noTxPool: true,
  ...fields,
});

/** Lists of requests, and what is wrong with them. */
const REQUESTS: readonly (readonly [readonly Hex[], string | undefined])[] = [
  [["0x0001"], undefined],
  [["0x0001", "0x0101", "0xff00"], undefined],
  [["0x"], "executionRequests[0] is empty: expected a type and data"],
  [["0x00"], "executionRequests[0] is empty: expected a type and data"],
  [["0x0001", "0x01"], "executionRequests[1] is empty: expected a type and data"],
  [["0x0100", "0x0000"], "executionRequests[1] has type 0 after type 1: types must ascend"],
  [["0x0001", "0x0002"], "executionRequests[1] has type 0 after type 0: types must ascend"],
  [["0x0001", "0x0201", "0x0101"], "executionRequests[2] has type 1 after type 2: types must ascend"],
];

describe("forkchoiceUpdated", () => {
  it.each<[1 | 2 | 3, number, object, string | undefined]>([
    [1, BEDROCK, {}, undefined],
    [1, CANYON, {}, "unsupported-fork"],
    [1, BEDROCK, { withdrawals: [] }, "invalid-params"],
    [2, CANYON, { withdrawals: [] }, undefined],
    [2, BEDROCK, {}, undefined],
    [2, ECOTONE, { withdrawals: [] }, "unsupported-fork"],
    [2, CANYON, { parentBeaconBlockRoot: HASH }, "invalid-attributes"],
    [3, ECOTONE, {}, undefined],
    [3, JOVIAN, {}, undefined],
    [3, CANYON, {}, "unsupported-fork"],
  ])("V%i at %i with %j: %s", (version, time, fields, error) => {
    expect(checkForkchoiceVersion(CONFIG, version, attributes(time, fields))?.error).toBe(error);
  });

  it("takes any version without attributes", () => {
    for (const version of [1, 2, 3] as const) expect(checkForkchoiceVersion(CONFIG, version, undefined)).toBeUndefined();
  });
});

describe("newPayload", () => {
  const payload = (timestamp: number, fields: object = {}): NewPayloadInput["payload"] => ({
    parentHash: HASH,
    feeRecipient: new Uint8Array(20),
    stateRoot: HASH,
    receiptsRoot: HASH,
    logsBloom: new Uint8Array(256),
    prevRandao: HASH,
    blockNumber: 1,
    gasLimit: 1n,
    gasUsed: 0n,
    timestamp,
    extraData: new Uint8Array(0),
    baseFeePerGas: 1n,
    blockHash: HASH,
    transactions: [],
    ...fields,
  });
  const W = { withdrawals: [] };
  const B = { ...W, blobGasUsed: 0n, excessBlobGas: 0n };
  const R = { ...B, withdrawalsRoot: HASH };
  const V3 = { versionedHashes: [], parentBeaconBlockRoot: HASH };
  const V4 = { ...V3, executionRequests: [] };
  it.each<readonly [1 | 2 | 3 | 4, number, object, object, string | undefined]>([
    [1, BEDROCK, {}, {}, undefined],
    [1, BEDROCK, W, {}, "withdrawals not supported in V1"],
    [2, BEDROCK, {}, {}, undefined],
    [2, BEDROCK, W, {}, "non-nil withdrawals pre-shanghai"],
    [2, CANYON, W, {}, undefined],
    [2, CANYON, {}, {}, "nil withdrawals post-shanghai"],
    [2, CANYON, B, {}, "non-nil excessBlobGas pre-cancun"],
    [2, ECOTONE, W, {}, "newPayloadV2 called post-cancun"],
    [3, ECOTONE, B, V3, undefined],
    [3, ECOTONE, W, V3, "nil excessBlobGas post-cancun"],
    [3, ECOTONE, B, { ...V3, versionedHashes: undefined }, "nil versionedHashes post-cancun"],
    [3, ECOTONE, B, { ...V3, parentBeaconBlockRoot: undefined }, "nil beaconRoot post-cancun"],
    [3, CANYON, B, V3, "newPayloadV3 must only be called for cancun payloads"],
    [3, ISTHMUS, R, V3, "newPayloadV3 must only be called for cancun payloads"],
    [4, ISTHMUS, R, V4, undefined],
    [4, JOVIAN, R, V4, undefined],
    [4, ISTHMUS, B, V4, "nil withdrawalsRoot post-isthmus"],
    [4, ISTHMUS, R, V3, "nil executionRequests post-prague"],
    [4, ECOTONE, B, V4, "newPayloadV4 must only be called for prague payloads"],
    ...REQUESTS.map(
      ([hex, detail]) => [4, ISTHMUS, R, { ...V3, executionRequests: hex.map((one) => hexToBytes(one)) }, detail] as const,
    ),
    [4, ECOTONE, B, { ...V3, executionRequests: [new Uint8Array()] }, "newPayloadV4 must only be called for prague payloads"],
  ])("V%i at %i", (version, time, fields, rest, detail) => {
    const input = {
      payload: payload(time, fields),
      versionedHashes: undefined,
      parentBeaconBlockRoot: undefined,
      executionRequests: undefined,
      ...rest,
    };
    expect(checkNewPayloadVersion(CONFIG, version, input)?.detail).toBe(detail);
  });
});

describe("getPayload", () => {
  it.each<[1 | 2 | 3 | 4 | 5, number, boolean]>([
    [1, BEDROCK, true],
    [1, CANYON, false],
    [2, BEDROCK, true],
    [2, CANYON, true],
    [2, ECOTONE, false],
    [3, ECOTONE, true],
    [3, ISTHMUS, false],
    [4, ISTHMUS, true],
    [4, JOVIAN, true],
    [4, ECOTONE, false],
    [5, JOVIAN, false],
  ])("V%i at %i: %s", (version, time, fits) => {
    expect(checkGetPayloadVersion(CONFIG, version, time) === undefined).toBe(fits);
  });
});

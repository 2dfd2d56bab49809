import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { genesisBlock } from "@rnode/chain";
import { chainConfigOfSuite, type EngineUnderTest, genesisOfTest, runEngineTests } from "@rnode/conformance";
import { bytesToHex, EMPTY_REQUESTS_HASH, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import {
  CONSOLIDATION_REQUESTS_ADDRESS,
  type Genesis,
  type Header,
  hashHeader,
  parseGenesis,
  payloadFromJson,
  payloadToHeader,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { beforeAll, describe, expect, it } from "vitest";
import { startTestEngine } from "../engine/test-engine.ts";
import { enginetest } from "./enginetest.ts";

// Fixtures in the form of execution-spec-tests (blockchain_tests_engine), made here: two empty blocks, and what is wrong with others.

const ZERO: Hex = `0x${"00".repeat(32)}`;
const SENDER: Hex = `0x${"5e".repeat(20)}`;
const PRE = {
  [SENDER]: { nonce: "0x00", balance: "0x0de0b6b3a7640000", code: "0x", storage: {} },
  ...Object.fromEntries(
    [WITHDRAWAL_REQUESTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS].map((address) => [
      bytesToHex(address),
      { nonce: "0x01", balance: "0x00", code: "0x00", storage: {} },
    ]),
  ),
};
const SCHEDULE = {
  Cancun: { target: "0x03", max: "0x06", baseFeeUpdateFraction: "0x32f0ed" },
  Prague: { target: "0x06", max: "0x09", baseFeeUpdateFraction: "0x4c6964" },
  Osaka: { target: "0x06", max: "0x09", baseFeeUpdateFraction: "0x4c6964" },
  BPO1: { target: "0x0a", max: "0x0f", baseFeeUpdateFraction: "0x7f5a51" },
  BPO2: { target: "0x0e", max: "0x15", baseFeeUpdateFraction: "0xb24b3f" },
};

type Payload = Record<string, unknown> & { readonly blockHash: Hex; readonly stateRoot: Hex };
type Entry = Record<string, unknown> & { readonly params: readonly unknown[] };
type Fixture = Record<string, unknown> & { readonly engineNewPayloads: readonly Entry[] };

const genesisHeaderJson = (header: Header): Record<string, string> => {
  const quantity = (value: bigint | number): string => `0x${value.toString(16).padStart(2, "0")}`;
  const optional = Object.entries({
    withdrawalsRoot: header.withdrawalsRoot && bytesToHex(header.withdrawalsRoot),
    blobGasUsed: header.blobGasUsed === undefined ? undefined : quantity(header.blobGasUsed),
    excessBlobGas: header.excessBlobGas === undefined ? undefined : quantity(header.excessBlobGas),
    parentBeaconBlockRoot: header.parentBeaconBlockRoot && bytesToHex(header.parentBeaconBlockRoot),
    requestsHash: header.requestsHash && bytesToHex(header.requestsHash),
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    parentHash: bytesToHex(header.parentHash),
    uncleHash: bytesToHex(header.ommersHash),
    coinbase: bytesToHex(header.beneficiary),
    stateRoot: bytesToHex(header.stateRoot),
    transactionsTrie: bytesToHex(header.transactionsRoot),
    receiptTrie: bytesToHex(header.receiptsRoot),
    bloom: bytesToHex(header.logsBloom),
    difficulty: quantity(header.difficulty),
    number: quantity(header.number),
    gasLimit: quantity(header.gasLimit),
    gasUsed: quantity(header.gasUsed),
    timestamp: quantity(header.timestamp),
    extraData: bytesToHex(header.extraData),
    mixHash: bytesToHex(header.mixHash),
    nonce: bytesToHex(header.nonce),
    baseFeePerGas: quantity(header.baseFeePerGas!),
    hash: bytesToHex(hashHeader(header)),
    ...Object.fromEntries(optional),
  };
};

/** A valid fixture of two blocks at these times. @param versions of newPayload, one a block */
async function fixtureOf(network: string, times: readonly (number | bigint)[], versions: readonly number[]): Promise<Fixture> {
  const config = chainConfigOfSuite(network, { blobSchedule: SCHEDULE })!;
  const given = parseGenesis({ config: { chainId: 1 }, gasLimit: "0x5f5e100", baseFeePerGas: "0x7", alloc: PRE });
  const { header } = genesisBlock(given, config).block;
  const genesis: Genesis = genesisOfTest(header, PRE);
  const engine = await startTestEngine(genesis, config);
  const entries: Entry[] = [];
  try {
    let head: Hex = bytesToHex(hashHeader(header));
    for (const [index, timestamp] of times.entries()) {
      const version = versions[index]!;
      const state = { headBlockHash: head, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
      const attributes = {
        timestamp: toQuantity(timestamp),
        prevRandao: ZERO,
        suggestedFeeRecipient: SENDER,
        ...(version >= 2 && { withdrawals: [] }),
        ...(version >= 3 && { parentBeaconBlockRoot: ZERO }),
      };
      const forkchoiceUpdatedVersion = version >= 3 ? "3" : String(version);
      const chosen = await resultOf<{ payloadId: Hex }>(engine, `engine_forkchoiceUpdatedV${forkchoiceUpdatedVersion}`, [
        state,
        attributes,
      ]);
      const getVersion = /Osaka|BPO/.test(network) ? 5 : version;
      type Built = { readonly executionPayload: Payload; readonly executionRequests?: Hex[] };
      const built = await resultOf<Payload | Built>(engine, `engine_getPayloadV${getVersion}`, [chosen.payloadId]);
      const { executionPayload, executionRequests }: Built =
        getVersion === 1 ? { executionPayload: built as Payload } : (built as Built);
      const params = [executionPayload, ...(version >= 3 ? [[], ZERO] : []), ...(version >= 4 ? [executionRequests] : [])];
      entries.push({ params, newPayloadVersion: String(version), forkchoiceUpdatedVersion });
      head = executionPayload.blockHash;
      await resultOf(engine, `engine_newPayloadV${version}`, params);
    }
    return {
      network,
      config: { network, chainid: "0x01", blobSchedule: SCHEDULE },
      genesisBlockHeader: genesisHeaderJson(header),
      pre: PRE,
      postStateHash: (entries.at(-1)!.params[0] as Payload).stateRoot,
      lastblockhash: head,
      engineNewPayloads: entries,
      _info: { comment: "made by enginetest.test.ts" },
    };
  } finally {
    await engine.close();
  }
}

async function resultOf<T>(engine: EngineUnderTest, method: string, params: readonly unknown[]): Promise<T> {
  const answer = await engine.call(method, params);
  if (answer.kind === "error") throw new Error(`${method}: ${answer.code} ${answer.message}`);
  return answer.result as T;
}

/** The last payload with other fields, and the hash that belongs to them. */
function altered(fixture: Fixture, fields: object, expectation: object): Fixture {
  const last = fixture.engineNewPayloads.at(-1)!;
  const given = last.params[0] as Payload;
  const payload = { ...given, ...fields };
  const requestsHash = Number(last.newPayloadVersion) >= 4 ? EMPTY_REQUESTS_HASH : undefined;
  const envelope = { executionPayload: payloadFromJson(payload, ""), parentBeaconBlockRoot: hexToBytes(ZERO) };
  const blockHash = bytesToHex(hashHeader(payloadToHeader(envelope, requestsHash, orderedTrieRoot)));
  const parent = fixture.engineNewPayloads.at(-2)!.params[0] as Payload;
  return {
    ...fixture,
    lastblockhash: parent.blockHash,
    postStateHash: parent.stateRoot,
    engineNewPayloads: [
      ...fixture.engineNewPayloads.slice(0, -1),
      {
        ...last,
        params: [{ ...payload, blockHash, ...("blockHash" in fields && fields) }, ...last.params.slice(1)],
        ...expectation,
      },
    ],
  };
}

let folder = "";
let prague: Fixture;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "enginetest-"));
  prague = await fixtureOf("Prague", [12, 24], [4, 4]);
});

async function report(fixture: object): Promise<{ passed: number; failures: readonly string[]; skipped: readonly string[] }> {
  const own = mkdtempSync(join(folder, "case-"));
  mkdirSync(join(own, "blockchain_tests_engine", "prague"), { recursive: true });
  writeFileSync(join(own, "blockchain_tests_engine", "prague", "case.json"), JSON.stringify({ "tests/x.py::test[fork]": fixture }));
  return runEngineTests([own], startTestEngine);
}
const failureOf = async (fixture: object): Promise<string | undefined> => (await report(fixture)).failures[0];

describe("rengine enginetest", () => {
  it.each<[string, readonly (number | bigint)[], readonly number[]]>([
    ["Paris", [12, 24], [1, 1]],
    ["Shanghai", [12, 24], [2, 2]],
    ["Cancun", [12, 24], [3, 3]],
    ["Osaka", [12, 24], [4, 4]],
    ["BPO1", [12, 24], [4, 4]],
    ["BPO2", [12, 24], [4, 4]],
    ["ShanghaiToCancunAtTime15k", [14_999, 15_000], [2, 3]],
    ["OsakaToBPO1AtTime15k", [14_999, 15_000], [4, 4]],
    ["BPO1ToBPO2AtTime15k", [14_999, 15_000], [4, 4]],
    ["Cancun", [12, 2 ** 53 - 1, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n], [3, 3, 3, 3, 3, 3, 3]],
  ])("runs valid payloads of %s", async (network, times, versions) => {
    expect(await report(await fixtureOf(network, times, versions))).toEqual({ passed: 1, failures: [], skipped: [] });
  });

  it("judges timestamps and numbers of 64 bits exactly, and refuses larger ones", async () => {
    const late = await fixtureOf("Cancun", [2n ** 64n - 3n, 2n ** 64n - 2n], [3, 3]); // both round to 2^64
    const older = { validationError: "BlockException.INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT" };
    const notNext = { validationError: "BlockException.INVALID_BLOCK_NUMBER" };
    for (const [fields, expectation] of [
      [{ timestamp: "0xfffffffffffffffd" }, older],
      [{ timestamp: "0xfffffffffffffffc" }, older],
      [{ timestamp: "0x20000000000001" }, older],
      [{ blockNumber: "0xffffffffffffffff" }, notNext],
      [{ blockNumber: "0x20000000000001" }, notNext],
    ] as const) {
      expect([fields, await failureOf(altered(late, fields, expectation))]).toEqual([fields, undefined]);
    }
    const valid = late.engineNewPayloads.at(-1)!;
    for (const field of ["timestamp", "blockNumber"]) {
      const payload = { ...(valid.params[0] as Payload), [field]: "0x10000000000000000" };
      const entry = { ...valid, params: [payload, ...valid.params.slice(1)], errorCode: "-32602" };
      const fixture = { ...late, engineNewPayloads: [...late.engineNewPayloads, entry] };
      expect([field, await failureOf(fixture)]).toEqual([field, undefined]);
    }
  });

  it("runs payloads that are invalid or refused as the fixture says", async () => {
    const block = (name: string) => ({ validationError: `BlockException.${name}` });
    for (const [fields, expectation] of [
      [{ gasUsed: "0x1" }, block("INVALID_GAS_USED")],
      [{ stateRoot: ZERO }, block("INVALID_STATE_ROOT")],
      [{ receiptsRoot: ZERO }, block("INVALID_RECEIPTS_ROOT")],
      [{ timestamp: "0xc" }, block("INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT")],
      [{ baseFeePerGas: "0x1" }, block("INVALID_BASEFEE_PER_GAS")],
      [{ excessBlobGas: "0x20000" }, block("INCORRECT_EXCESS_BLOB_GAS")],
      [{ blobGasUsed: "0x20000" }, { validationError: "BlockException.INCORRECT_BLOB_GAS_USED|BlockException.INVALID_BLOCK_HASH" }],
      [{ blockHash: ZERO }, block("INVALID_BLOCK_HASH")],
      [{ transactions: ["0x02c0"] }, block("RLP_STRUCTURES_ENCODING")],
    ] as const) {
      expect([fields, await failureOf(altered(prague, fields, expectation))]).toEqual([fields, undefined]);
    }
    for (const requests of [["0x"], ["0x00"], ["0x0100", "0x0000"], ["0x0001", "0x0002"]]) {
      const refused = altered(prague, {}, { errorCode: "-32602" });
      const last = refused.engineNewPayloads.at(-1)!;
      const params = [...last.params.slice(0, 3), requests];
      expect(
        await failureOf({ ...refused, engineNewPayloads: [prague.engineNewPayloads[0], { ...last, params }] }),
      ).toBeUndefined();
    }
  });

  it("fails where the client does not do what the fixture says", async () => {
    const other = { validationError: "BlockException.INVALID_GAS_USED" };
    expect(await failureOf(altered(prague, { stateRoot: ZERO }, other))).toMatch(
      /payload 1: refused \(state-root-mismatch.*expected INVALID_GAS_USED/,
    );
    expect(await failureOf(altered(prague, { stateRoot: ZERO }, {}))).toMatch(/payload 1: INVALID \(.*, expected VALID/);
    expect(await failureOf(altered(prague, {}, other))).toMatch(/payload 1: VALID, expected INVALID/);
    expect(await failureOf(altered(prague, {}, { errorCode: "-38005" }))).toMatch(/answered .*, expected the error -38005/);
    const [first] = prague.engineNewPayloads;
    const old = [{ ...first, newPayloadVersion: "3", params: first!.params.slice(0, 3) }];
    expect(await failureOf({ ...prague, engineNewPayloads: old })).toMatch(/payload 0: error -38005/);
    expect(await failureOf({ ...prague, engineNewPayloads: [{ ...old[0], errorCode: "-32602" }] })).toMatch(
      /error -38005 .*expected -32602/,
    );
    expect(await failureOf({ ...prague, lastblockhash: ZERO })).toMatch(/last block .*, expected 0x00/);
    expect(await failureOf({ ...prague, postStateHash: ZERO })).toMatch(/state root .*, expected 0x00/);
    expect(await failureOf({ ...prague, postState: {} })).toMatch(/state root .*, expected 0x/);
    expect(await failureOf({ ...prague, pre: {} })).toMatch(/genesis: computed/);
    expect(await failureOf({ ...prague, network: "Osaka" })).toBeUndefined(); // the same blocks are valid there
    expect(await failureOf({ ...prague, network: "Shanghai" })).toMatch(/^case\.json tests\/x\.py::test\[fork\]: /);
  });

  it("skips forks that we do not have, by name", async () => {
    const { passed, failures, skipped } = await report({ ...prague, network: "BPO2ToAmsterdamAtTime15k" });
    expect([passed, failures, skipped]).toEqual([0, [], ["case.json tests/x.py::test[fork]: network BPO2ToAmsterdamAtTime15k"]]);
  });

  it("counts refusals whose expected exceptions are not known", async () => {
    const refused = altered(prague, { stateRoot: ZERO }, { validationError: "BlockException.A_NEW_ONE|BlockException.ANOTHER" });
    expect(await report(refused)).toEqual({ passed: 1, failures: [], skipped: [], uncompared: { "A_NEW_ONE|ANOTHER": 1 } });
  });

  describe("with shared states", () => {
    /** of a release since tests@v20.0.2. @param cases by name, in two files */
    async function shared(cases: Readonly<Record<string, Fixture>>, change: Readonly<Record<string, unknown>> = {}) {
      const own = join(mkdtempSync(join(folder, "shared-")), "blockchain_tests_engine_x");
      for (const name of ["pre_alloc", "prague/a", "prague/b"]) mkdirSync(join(own, name), { recursive: true });
      const group = {
        network: "Prague",
        chainId: 1,
        testIds: [],
        testCount: 2,
        preAccountCount: 3,
        genesis: prague.genesisBlockHeader,
      };
      writeFileSync(join(own, "pre_alloc", "0x0123456789abcdef.json"), JSON.stringify({ ...group, pre: PRE, ...change }));
      writeFileSync(join(own, "pre_alloc", "index.json"), "{}");
      const formed = Object.entries(cases).map(([name, { genesisBlockHeader: _genesis, pre: _pre, ...test }]) => [
        name,
        { preHash: "0x0123456789abcdef", postStateDiff: {}, ...test },
      ]);
      for (const [at, file] of ["a", "b"].entries()) {
        const part = Object.fromEntries(formed.filter((_case, index) => index % 2 === at));
        writeFileSync(join(own, "prague", file, "cases.json"), JSON.stringify(part));
      }
      let starts = 0;
      const result = await runEngineTests([own], (...given) => {
        starts++;
        return startTestEngine(...given);
      });
      return { ...result, starts };
    }

    it("runs the cases of a group on one client, each from the genesis on", async () => {
      const other = await fixtureOf("Prague", [13, 25, 37], [4, 4, 4]);
      const short = await fixtureOf("Prague", [13], [4]);
      const invalid = altered(prague, { stateRoot: ZERO }, { validationError: "BlockException.INVALID_STATE_ROOT" });
      const cases = { first: prague, other, invalid, short, again: prague };
      expect(await shared(cases)).toEqual({ passed: 5, failures: [], skipped: [], starts: 1 });
    });

    it("compares the end with the shared state and its difference", async () => {
      const changed = (postStateDiff: unknown) => ({ ...prague, postStateHash: undefined, postStateDiff });
      const sender = { ...PRE[SENDER], nonce: "0x01" };
      const cases = {
        removed: changed({ [SENDER]: null }),
        other: changed({ [SENDER]: sender }),
        same: changed({ [SENDER]: PRE[SENDER] }),
      };
      const { passed, failures } = await shared(cases);
      expect([passed, failures.length]).toEqual([1, 2]);
      for (const failure of failures) expect(failure).toMatch(/(removed|other): state root .*, expected 0x/);
    });

    it.each<[string, Record<string, unknown>, RegExp]>([
      ["is of another genesis", { genesis: { stateRoot: ZERO } }, /has no parentHash/],
      ["has no genesis", { genesis: undefined }, /has no genesis header: take a release of the tests from tests@v20\.0\.2 on/],
      ["has other accounts", { pre: {} }, /genesis: computed/],
    ])("fails where the shared state %s", async (_, change, words) => {
      expect((await shared({ prague }, change)).failures).toEqual([expect.stringMatching(words)]);
    });

    it("fails where there is none", async () => {
      expect(await failureOf({ ...prague, preHash: "0xff" })).toMatch(/there is no pre_alloc\/0xff\.json/);
    });
  });

  it("is a command, which fails when a case fails or there is none", async () => {
    const own = mkdtempSync(join(folder, "command-"));
    const run = async (fixtures: object) => {
      writeFileSync(join(own, "fixtures.json"), JSON.stringify(fixtures));
      const out: string[] = [];
      const io = { out: (line: string) => void out.push(line), err: () => undefined, progress: () => undefined };
      return [await enginetest([own], {}, io), out.at(-1)];
    };
    expect(await run({ prague })).toEqual([0, "1 passed, 0 failed"]);
    expect(await run({ prague, broken: { ...prague, lastblockhash: ZERO } })).toEqual([1, "1 passed, 1 failed"]);
    await expect(run({})).rejects.toThrow("no engine test found");
  });
});

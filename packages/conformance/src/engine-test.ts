import { statSync } from "node:fs";
import { basename } from "node:path";
import { genesisBlock } from "@rnode/chain";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { type ChainConfig, type Genesis, type Header, hashHeader, positionFields } from "@rnode/protocol";
import { genesisOfTest } from "./blockchain-test.ts";
import { wrongRefusal } from "./expected-exceptions.ts";
import { chainConfigOfSuite, isKnownNetwork, type SuiteConfig } from "./suite-forks.ts";
import { type CaseResult, jsonFilesBelow, readJsonFile, reportOf, type SuiteReport } from "./vectors.ts";

/** An execution client that a case talks to, on a database of its own. */
export interface EngineUnderTest {
  /** Sends a request of the Engine API. */
  call(method: string, params: readonly unknown[]): Promise<EngineAnswer>;
  close(): Promise<void>;
}
export type EngineAnswer =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string };
export type StartEngine = (genesis: Genesis, config: ChainConfig) => Promise<EngineUnderTest>;

type Numeric = string | number;

interface EnginePayload {
  /** of `engine_newPayload`, as they are sent */
  readonly params: readonly unknown[];
  readonly newPayloadVersion: Numeric;
  readonly forkchoiceUpdatedVersion: Numeric;
  /** the payload must be found invalid */
  readonly validationError?: string | readonly string[] | null;
  /** the request must be refused with this code */
  readonly errorCode?: Numeric | null;
}

interface EngineCase {
  readonly network: string;
  readonly genesisBlockHeader: Readonly<Record<string, string>>;
  readonly pre: unknown;
  readonly postState?: unknown;
  readonly postStateHash?: string;
  readonly lastblockhash: string;
  readonly config?: SuiteConfig;
  readonly engineNewPayloads: readonly EnginePayload[];
  /** of the form with shared states (`blockchain_tests_engine_x`), which has no genesis of its own */
  readonly preHash?: string;
}

/**
 * `blockchain_tests_engine` of execution-spec-tests: payloads are sent to a client by `engine_newPayload`, and valid ones become its head by
 * `engine_forkchoiceUpdated`, each with the version that the case names. Status, reason, error code, last block and state are compared.
 *
 * @param paths files and folders
 */
export async function runEngineTests(
  paths: readonly string[],
  start: StartEngine,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<SuiteReport> {
  const files = paths.flatMap((path) => (statSync(path).isDirectory() ? jsonFilesBelow(path) : [path]));
  const results: CaseResult[] = [];
  const skipped: string[] = [];
  for (const [index, file] of files.entries()) {
    for (const [name, test] of Object.entries(readJsonFile(file) as Record<string, EngineCase>)) {
      const title = `${basename(file)} ${name}`;
      if (!isKnownNetwork(test.network)) skipped.push(`${title}: network ${test.network}`);
      else if (test.preHash !== undefined) skipped.push(`${title}: its state is shared with others (pre_alloc)`);
      else results.push({ name: title, failure: await failureOf(test, start) });
    }
    onProgress(index + 1, files.length);
  }
  return { ...reportOf(results), skipped };
}

async function failureOf(test: EngineCase, start: StartEngine): Promise<string | undefined> {
  try {
    const config = chainConfigOfSuite(test.network, test.config)!;
    const header = headerOf(test.genesisBlockHeader);
    const genesis = genesisOfTest(header, test.pre);
    const hash = bytesToHex(hashHeader(genesisBlock(genesis, config).block.header));
    const expected = test.genesisBlockHeader.hash ?? bytesToHex(hashHeader(header));
    if (hash !== expected) return `genesis: computed ${hash}, expected ${expected}`;
    const engine = await start(genesis, config);
    try {
      return await runCase(test, engine, hash, config);
    } finally {
      await engine.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function runCase(
  test: EngineCase,
  engine: EngineUnderTest,
  genesisHash: string,
  config: ChainConfig,
): Promise<string | undefined> {
  const { engineNewPayloads: payloads } = test;
  const first = await choose(engine, payloads[0]?.forkchoiceUpdatedVersion ?? 1, genesisHash);
  if (first !== undefined) return `genesis as head: ${first}`;
  let last = { hash: genesisHash, stateRoot: test.genesisBlockHeader.stateRoot };
  for (const [index, payload] of payloads.entries()) {
    const wrong = wrongVerdict(payload, await engine.call(`engine_newPayloadV${payload.newPayloadVersion}`, payload.params));
    if (wrong !== undefined) return `payload ${index}: ${wrong}`;
    if (isSet(payload.errorCode) || isSet(payload.validationError)) continue;
    const { blockHash, stateRoot } = payload.params[0] as { readonly blockHash: string; readonly stateRoot: string };
    last = { hash: blockHash, stateRoot };
    const refused = await choose(engine, payload.forkchoiceUpdatedVersion, blockHash);
    if (refused !== undefined) return `payload ${index} as head: ${refused}`;
  }
  if (last.hash !== test.lastblockhash) return `last block ${last.hash}, expected ${test.lastblockhash}`;
  const expectedRoot =
    test.postState === undefined || test.postState === null
      ? test.postStateHash
      : bytesToHex(genesisBlock(genesisOfTest(headerOf(test.genesisBlockHeader), test.postState), config).block.header.stateRoot);
  return expectedRoot === undefined || last.stateRoot === expectedRoot
    ? undefined
    : `state root ${last.stateRoot}, expected ${expectedRoot}`;
}

const isSet = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/** What is wrong with the answer to a payload. */
function wrongVerdict({ validationError, errorCode }: EnginePayload, answer: EngineAnswer): string | undefined {
  if (isSet(errorCode)) {
    if (answer.kind === "result") return `answered ${JSON.stringify(answer.result)}, expected the error ${errorCode}`;
    return answer.code === Number(errorCode) ? undefined : `error ${answer.code} (${answer.message}), expected ${errorCode}`;
  }
  if (answer.kind === "error") return `error ${answer.code} (${answer.message})`;
  const { status, validationError: reason } = answer.result as { readonly status: string; readonly validationError: string | null };
  if (!isSet(validationError)) return status === "VALID" ? undefined : `${status} (${reason}), expected VALID`;
  // Version 1 says INVALID_BLOCK_HASH where later versions say INVALID.
  if (!status.startsWith("INVALID")) return `${status}, expected INVALID: ${String(validationError)}`;
  return wrongRefusal(validationError, reason ?? "");
}

const ZERO_HASH = `0x${"00".repeat(32)}`;

/** Makes a block the head. @returns why it is not */
async function choose(engine: EngineUnderTest, version: Numeric, headBlockHash: string): Promise<string | undefined> {
  const state = { headBlockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH };
  const answer = await engine.call(`engine_forkchoiceUpdatedV${version}`, [state, null]);
  if (answer.kind === "error") return `error ${answer.code} (${answer.message})`;
  const { payloadStatus } = answer.result as { readonly payloadStatus: { readonly status: string } };
  return payloadStatus.status === "VALID" ? undefined : payloadStatus.status;
}

/** A header in the names of the tests; numbers may have leading zeros. @throws Error it lacks a field */
function headerOf(json: Readonly<Record<string, string>>): Header {
  const text = (name: string): string => {
    const value = json[name];
    if (value === undefined) throw new Error(`genesisBlockHeader has no ${name}`);
    return value;
  };
  const bytes = (name: string): Uint8Array => hexToBytes(text(name));
  const number = (name: string): bigint => BigInt(text(name));
  const optional = <T>(name: string, parse: (name: string) => T): T | undefined => (isSet(json[name]) ? parse(name) : undefined);
  return {
    parentHash: bytes("parentHash"),
    ommersHash: bytes("uncleHash"),
    beneficiary: bytes("coinbase"),
    stateRoot: bytes("stateRoot"),
    transactionsRoot: bytes("transactionsTrie"),
    receiptsRoot: bytes("receiptTrie"),
    logsBloom: bytes("bloom"),
    difficulty: number("difficulty"),
    ...positionFields(number("number"), number("timestamp")),
    gasLimit: number("gasLimit"),
    gasUsed: number("gasUsed"),
    extraData: bytes("extraData"),
    mixHash: bytes("mixHash"),
    nonce: bytes("nonce"),
    baseFeePerGas: optional("baseFeePerGas", number),
    withdrawalsRoot: optional("withdrawalsRoot", bytes),
    blobGasUsed: optional("blobGasUsed", number),
    excessBlobGas: optional("excessBlobGas", number),
    parentBeaconBlockRoot: optional("parentBeaconBlockRoot", bytes),
    requestsHash: optional("requestsHash", bytes),
  };
}

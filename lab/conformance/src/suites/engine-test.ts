import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { genesisBlock } from "@rnode/chain";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { type ChainConfig, type Genesis, type Header, hashHeader, positionFields } from "@rnode/protocol";
import { type CaseResult, jsonFilesBelow, type NoteUncompared, readJsonFile, reportOf, type SuiteReport } from "../vectors.ts";
import { genesisOfTest } from "./blockchain-test.ts";
import { wrongRefusal } from "./expected-exceptions.ts";
import { chainConfigOfSuite, isKnownNetwork, type SuiteConfig } from "./suite-forks.ts";

/** The execution client of a case, with its own database. */
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
  /** absent where the state is shared */
  readonly genesisBlockHeader?: HeaderJson;
  readonly pre?: unknown;
  readonly postState?: unknown;
  readonly postStateHash?: string;
  readonly lastblockhash: string;
  readonly config?: SuiteConfig;
  readonly engineNewPayloads: readonly EnginePayload[];
  /** of the form with shared states (`blockchain_tests_engine_x`): the genesis is in `pre_alloc/<preHash>.json` */
  readonly preHash?: string;
  /** accounts that differ from the shared state in the end; null: removed */
  readonly postStateDiff?: Readonly<Record<string, unknown>> | null;
}

type HeaderJson = Readonly<Record<string, string>>;

/** The initial state of a group of cases; since tests@v20.0.2 with a genesis header. */
interface SharedState {
  readonly genesis?: HeaderJson;
  readonly pre: Readonly<Record<string, unknown>>;
}
const SHARED_STATES = "pre_alloc";

interface Located {
  readonly title: string;
  readonly file: string;
  readonly test: EngineCase;
}

/**
 * `blockchain_tests_engine` and `blockchain_tests_engine_x` of execution-spec-tests. Payloads are sent to a client by
 * `engine_newPayload`, and valid ones become its head by `engine_forkchoiceUpdated`, each with the version of the case. Status,
 * reason, error code, last block and state are compared. Cases with a shared state run on one client, one after the other, each
 * from the genesis on.
 *
 * @param paths files and folders
 */
export async function runEngineTests(
  paths: readonly string[],
  start: StartEngine,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<SuiteReport> {
  const files = paths
    .flatMap((path) => (statSync(path).isDirectory() ? jsonFilesBelow(path) : [path]))
    .filter((file) => basename(dirname(file)) !== SHARED_STATES);
  const results: CaseResult[] = [];
  const skipped: string[] = [];
  const clients = new SharedClients(start);
  try {
    for (const [index, file] of files.entries()) {
      for (const [name, test] of Object.entries(readJsonFile(file) as Record<string, EngineCase>)) {
        const title = `${basename(file)} ${name}`;
        if (!isKnownNetwork(test.network)) skipped.push(`${title}: network ${test.network}`);
        else results.push(await resultOfCase({ title, file, test }, start, clients));
      }
      onProgress(index + 1, files.length);
    }
  } finally {
    await clients.close();
  }
  return { ...reportOf(results), skipped };
}

async function resultOfCase({ title, file, test }: Located, start: StartEngine, clients: SharedClients): Promise<CaseResult> {
  const uncompared: string[] = [];
  const note: NoteUncompared = (exception) => uncompared.push(exception);
  try {
    const config = chainConfigOfSuite(test.network, test.config)!;
    const failure = await (test.preHash === undefined
      ? failureOf(test, config, start, note)
      : clients.run(file, test, config, note));
    return { name: title, failure, ...(uncompared.length > 0 && { uncompared }) };
  } catch (error) {
    return { name: title, failure: error instanceof Error ? error.message : String(error) };
  }
}

async function failureOf(
  test: EngineCase,
  config: ChainConfig,
  start: StartEngine,
  note: NoteUncompared,
): Promise<string | undefined> {
  const { genesis, hash } = genesisFrom(test.genesisBlockHeader, test.pre, config);
  const engine = await start(genesis, config);
  try {
    return await runCase(test, engine, { header: test.genesisBlockHeader!, hash, pre: undefined }, config, note);
  } finally {
    await engine.close();
  }
}

/** @throws Error the header is missing, or not that of the state */
function genesisFrom(
  json: HeaderJson | undefined,
  pre: unknown,
  config: ChainConfig,
): { readonly genesis: Genesis; readonly hash: string } {
  if (json === undefined) throw new Error("there is no genesis header");
  const header = headerOf(json);
  const genesis = genesisOfTest(header, pre);
  const hash = bytesToHex(hashHeader(genesisBlock(genesis, config).block.header));
  const expected = json.hash ?? bytesToHex(hashHeader(header));
  if (hash !== expected) throw new Error(`genesis: computed ${hash}, expected ${expected}`);
  return { genesis, hash };
}

/** Clients that are open at a time: fixtures of a folder mostly belong to few groups. */
const MAX_CLIENTS = 4;

interface SharedClient extends Start {
  readonly engine: EngineUnderTest;
}

/** One client for each shared state and network. */
class SharedClients {
  readonly #start: StartEngine;
  /** the least recently used first */
  readonly #open = new Map<string, SharedClient>();

  constructor(start: StartEngine) {
    this.#start = start;
  }

  async run(file: string, test: EngineCase, config: ChainConfig, note: NoteUncompared): Promise<string | undefined> {
    const path = sharedStateFile(file, test.preHash!);
    const key = JSON.stringify([path, test.network, test.config ?? null]);
    const client = this.#open.get(key) ?? (await this.#client(path, test, config));
    this.#open.delete(key);
    this.#open.set(key, client);
    const [oldest] = this.#open;
    if (this.#open.size > MAX_CLIENTS && oldest !== undefined) {
      this.#open.delete(oldest[0]);
      await oldest[1].engine.close();
    }
    return runCase(test, client.engine, client, config, note);
  }

  async close(): Promise<void> {
    for (const { engine } of this.#open.values()) await engine.close();
    this.#open.clear();
  }

  async #client(path: string, test: EngineCase, config: ChainConfig): Promise<SharedClient> {
    const state = readJsonFile(path) as SharedState;
    const header = state.genesis ?? test.genesisBlockHeader;
    if (header === undefined) throw new Error(`${path} has no genesis header: take a release of the tests from tests@v20.0.2 on`);
    const { genesis, hash } = genesisFrom(header, state.pre, config);
    return { engine: await this.#start(genesis, config), header, hash, pre: state.pre };
  }
}

/** `pre_alloc/<preHash>.json` in the file's folder, or in a parent folder. @throws Error if there is none */
function sharedStateFile(file: string, preHash: string): string {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, SHARED_STATES, `${preHash}.json`);
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) throw new Error(`there is no ${SHARED_STATES}/${preHash}.json in the file's folder or above`);
  }
}

/** The initial state of a case. */
interface Start {
  readonly header: HeaderJson;
  readonly hash: string;
  /** `undefined`: the state is not shared */
  readonly pre: SharedState["pre"] | undefined;
}

async function runCase(
  test: EngineCase,
  engine: EngineUnderTest,
  { header, hash: genesisHash, pre }: Start,
  config: ChainConfig,
  note: NoteUncompared,
): Promise<string | undefined> {
  const { engineNewPayloads: payloads } = test;
  const first = await choose(engine, payloads[0]?.forkchoiceUpdatedVersion ?? 1, genesisHash);
  if (first !== undefined) return `genesis as head: ${first}`;
  let last = { hash: genesisHash, stateRoot: header.stateRoot };
  for (const [index, payload] of payloads.entries()) {
    const wrong = wrongVerdict(payload, await engine.call(`engine_newPayloadV${payload.newPayloadVersion}`, payload.params), note);
    if (wrong !== undefined) return `payload ${index}: ${wrong}`;
    if (isSet(payload.errorCode) || isSet(payload.validationError)) continue;
    const { blockHash, stateRoot } = payload.params[0] as { readonly blockHash: string; readonly stateRoot: string };
    last = { hash: blockHash, stateRoot };
    const refused = await choose(engine, payload.forkchoiceUpdatedVersion, blockHash);
    if (refused !== undefined) return `payload ${index} as head: ${refused}`;
  }
  if (last.hash !== test.lastblockhash) return `last block ${last.hash}, expected ${test.lastblockhash}`;
  const expectedRoot =
    isSet(test.postState) || (isSet(test.postStateDiff) && pre !== undefined)
      ? rootOf(test, header, pre, config)
      : test.postStateHash;
  return expectedRoot === undefined || last.stateRoot === expectedRoot
    ? undefined
    : `state root ${last.stateRoot}, expected ${expectedRoot}`;
}

/** The root of the state in the end, given whole or as a difference from a shared one. */
function rootOf(test: EngineCase, header: HeaderJson, pre: Start["pre"], config: ChainConfig): string {
  const all = isSet(test.postState) ? (test.postState as object) : { ...pre, ...test.postStateDiff };
  const accounts = Object.fromEntries(Object.entries(all).filter(([, account]) => account !== null));
  return bytesToHex(genesisBlock(genesisOfTest(headerOf(header), accounts), config).block.header.stateRoot);
}

const isSet = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/** The error in the answer to a payload. */
function wrongVerdict(
  { validationError, errorCode }: EnginePayload,
  answer: EngineAnswer,
  note: NoteUncompared,
): string | undefined {
  if (isSet(errorCode)) {
    if (answer.kind === "result") return `answered ${JSON.stringify(answer.result)}, expected the error ${errorCode}`;
    return answer.code === Number(errorCode) ? undefined : `error ${answer.code} (${answer.message}), expected ${errorCode}`;
  }
  if (answer.kind === "error") return `error ${answer.code} (${answer.message})`;
  const { status, validationError: reason } = answer.result as { readonly status: string; readonly validationError: string | null };
  if (!isSet(validationError)) return status === "VALID" ? undefined : `${status} (${reason}), expected VALID`;
  // Version 1 answers INVALID_BLOCK_HASH where later versions answer INVALID.
  if (!status.startsWith("INVALID")) return `${status}, expected INVALID: ${String(validationError)}`;
  return wrongRefusal(validationError, reason ?? "", note);
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
function headerOf(json: HeaderJson): Header {
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

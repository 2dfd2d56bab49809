import type { EvmEngine } from "@rnode/evm";
import { bytesToHex, type ExactInteger, equalBytes, type Hex, toQuantity } from "@rnode/primitives";
import {
  attributesFromJson,
  type ChainConfig,
  decodeHeader,
  encodeHeader,
  exactNumber,
  exactTimestamp,
  type Header,
  hashHeader,
  headerFromRpc,
  type JsonParser,
  jsonArray,
  jsonBytes,
  jsonFlexibleBigint,
  jsonFlexibleNumber,
  jsonHash,
  jsonObject,
  OP_FORKS,
  type OpFork,
  optionalField,
  type PayloadAttributes,
  requiredField,
} from "@rnode/protocol";
import { startBuild } from "../build/payload-builder.ts";
import { create2DeployerCodeIn } from "../execute/create2-deployer.ts";
import type { ExecutedBlock } from "../execute/executed-block.ts";
import { ChainError } from "../faults.ts";
import { plainSenders } from "../senders/find-senders.ts";
import { type Witness, witnessState } from "./witness-state.ts";

/** One block to execute without a database: `rengine stateless`. Format: docs/stateless-block.md. */
export interface BlockFile {
  readonly config: ChainConfig;
  readonly parentHeader: Header;
  readonly parentHash: Uint8Array;
  readonly attributes: PayloadAttributes;
  readonly witness: Witness;
  readonly expected: ExpectedResult;
}

/** The expected results in the file; every result that is present is compared. */
export interface ExpectedResult {
  readonly blockHash: Uint8Array | undefined;
  readonly transactionsRoot: Uint8Array | undefined;
  readonly header: Header | undefined;
  readonly headerRlp: Uint8Array | undefined;
  readonly gasUsed: bigint | undefined;
  readonly number: bigint | undefined;
  readonly timestamp: bigint | undefined;
}

export interface Mismatch {
  readonly field: string;
  readonly expected: string;
  readonly computed: string;
}

export interface StatelessResult {
  readonly executed: ExecutedBlock;
  /** empty if all expectations hold */
  readonly mismatches: readonly Mismatch[];
}

export interface StatelessOptions {
  readonly engine: EvmEngine;
  /** the code that Canyon's first block deploys, where the witness lacks it */
  readonly create2DeployerCode?: (() => Uint8Array) | undefined;
}

/**
 * Builds the block that the attributes describe, on the witness's state.
 *
 * @throws {CodedError} chain/bad-block-file if it cannot be built: a forced transaction is invalid, or the witness lacks something
 */
export function executeStateless(file: BlockFile, { engine, create2DeployerCode }: StatelessOptions): StatelessResult {
  const context = {
    config: file.config,
    engine,
    senders: plainSenders(),
    create2DeployerCode: create2DeployerCodeIn(file.witness.codes, create2DeployerCode),
  };
  const parent = witnessState(file.parentHeader, file.parentHash, file.witness);
  const started = startBuild(context, parent, { ...file.attributes, noTxPool: true });
  if (started.kind === "invalid") {
    throw new ChainError("chain/bad-block-file", { reason: started.problem.reason });
  }
  const executed = started.build.seal();
  return { executed, mismatches: compare(file.expected, executed) };
}

/** @throws {CodedError} json/invalid naming the key, chain/bad-block-file */
export function parseBlockFile(json: unknown): BlockFile {
  const object = jsonObject(json, "block");
  const optional = <T>(name: string, parse: JsonParser<T>): T | undefined => optionalField(object, "", name, parse);
  const parentHeader = parseParentHeader(optional("parentHeaderRlp", jsonBytes()), object.parentHeader);
  const parentHash = hashHeader(parentHeader);
  const given = optional("parentHash", jsonHash);
  if (given !== undefined && !equalBytes(given, parentHash)) {
    throw new ChainError("chain/bad-block-file", {
      reason: "parentHash is not the hash of the parent header",
      parentHash: bytesToHex(given),
      computed: bytesToHex(parentHash),
    });
  }
  return {
    config: requiredField(object, "", "chain", parseChain),
    parentHeader,
    parentHash,
    attributes: requiredField(object, "", "payloadAttributes", attributesFromJson),
    witness: requiredField(object, "", "witness", parseWitness),
    expected: {
      blockHash: optional("expectedBlockHash", jsonHash),
      transactionsRoot: optional("expectedTransactionsRoot", jsonHash),
      header: optional("expectedHeader", headerFromRpc),
      headerRlp: optional("expectedHeaderRlp", jsonBytes()),
      gasUsed: optional("gasUsed", jsonFlexibleBigint),
      number: optional("number", jsonFlexibleBigint),
      timestamp: optional("timestamp", jsonFlexibleBigint),
    },
  };
}

/** The header as RLP, as JSON, or as both, which must then be the same. */
function parseParentHeader(rlp: Uint8Array | undefined, json: unknown): Header {
  const fromJson = json === undefined || json === null ? undefined : headerFromRpc(json);
  const fromRlp = rlp === undefined ? undefined : decodeHeader(rlp);
  const header = fromRlp ?? fromJson;
  if (header === undefined) {
    throw new ChainError("chain/bad-block-file", { reason: "parentHeader or parentHeaderRlp is required" });
  }
  if (fromRlp !== undefined && fromJson !== undefined && !equalBytes(hashHeader(fromRlp), hashHeader(fromJson))) {
    throw new ChainError("chain/bad-block-file", { reason: "parentHeader and parentHeaderRlp differ" });
  }
  return header;
}

const parseChain: JsonParser<ChainConfig> = (value, path) => {
  const object = jsonObject(value, path);
  const times = requiredField(object, path, "forkTimes", jsonObject);
  const forkTimes: Partial<Record<OpFork, number>> = {};
  for (const fork of OP_FORKS) {
    const time = optionalField(times, `${path}.forkTimes`, fork, jsonFlexibleNumber);
    if (time !== undefined) forkTimes[fork] = time;
  }
  const fees = requiredField(object, path, "eip1559", jsonObject);
  const feesPath = `${path}.eip1559`;
  const eip1559Denominator = requiredField(fees, feesPath, "denominator", jsonFlexibleNumber);
  return {
    chainId: requiredField(object, path, "chainId", jsonFlexibleBigint),
    forkBlocks: {},
    evmForkTimes: {},
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    optimism: {
      eip1559Elasticity: requiredField(fees, feesPath, "elasticity", jsonFlexibleNumber),
      eip1559Denominator,
      eip1559DenominatorCanyon: optionalField(fees, feesPath, "denominatorCanyon", jsonFlexibleNumber) ?? eip1559Denominator,
      forkTimes,
      bedrockBlock: 0,
    },
  };
};

export const parseWitness: JsonParser<Witness> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    state: requiredField(object, path, "state", jsonItems),
    codes: requiredField(object, path, "codes", jsonItems),
    headers: optionalField(object, path, "headers", jsonHeaders) ?? [],
  };
};

/** RLP, or as Geth gives them: JSON objects. */
const jsonHeaders: JsonParser<Uint8Array[]> = (value, path) =>
  jsonArray<Uint8Array>((item, at) => (typeof item === "string" ? jsonBytes()(item, at) : encodeHeader(headerFromRpc(item))))(
    value,
    path,
  );

/** A list of hex strings, or an object whose values are hex strings (older clients give a map by hash). */
const jsonItems: JsonParser<Uint8Array[]> = (value, path) =>
  jsonArray(jsonBytes())(Array.isArray(value) ? value : Object.values(jsonObject(value, path)), path);

function compare(expected: ExpectedResult, { block, hash }: ExecutedBlock): Mismatch[] {
  const { header } = block;
  const mismatches: Mismatch[] = [];
  const check = (field: string, wanted: string | undefined, computed: string): void => {
    if (wanted !== undefined && wanted !== computed) mismatches.push({ field, expected: wanted, computed });
  };
  const hex = (bytes: Uint8Array | undefined): Hex | undefined => (bytes === undefined ? undefined : bytesToHex(bytes));
  check("blockHash", hex(expected.blockHash), bytesToHex(hash));
  check("number", expected.number?.toString(), exactNumber(header).toString());
  check("timestamp", expected.timestamp?.toString(), exactTimestamp(header).toString());
  check("gasUsed", expected.gasUsed?.toString(), header.gasUsed.toString());
  check("transactionsRoot", hex(expected.transactionsRoot), bytesToHex(header.transactionsRoot));
  if (expected.header !== undefined) {
    const [wanted, computed] = [fieldsOf(expected.header), fieldsOf(header)];
    for (const field of Object.keys({ ...wanted, ...computed }) as (keyof typeof wanted)[]) {
      check(`header.${field}`, shown(wanted[field]), shown(computed[field]));
    }
  }
  check("headerRlp", hex(expected.headerRlp), bytesToHex(encodeHeader(header)));
  return mismatches;
}

/** The encoded fields of a header. */
function fieldsOf(
  header: Header,
): Omit<Header, "exact" | "number" | "timestamp"> & Readonly<Record<"number" | "timestamp", ExactInteger>> {
  const { exact: _, ...fields } = header;
  return { ...fields, number: exactNumber(header), timestamp: exactTimestamp(header) };
}

function shown(value: Uint8Array | bigint | number | undefined): string {
  if (value === undefined) return "(none)";
  return value instanceof Uint8Array ? bytesToHex(value) : toQuantity(value);
}

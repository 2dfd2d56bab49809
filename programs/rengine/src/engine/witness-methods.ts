import {
  type Chain,
  decodeWitness,
  type ExecutionLimit,
  encodeWitness,
  executePayloadStateless,
  requestsHash,
  type SenderSource,
  type StatelessVerdict,
} from "@rnode/chain";
import { type JsonObject, type TraceableBlock, UNLIMITED_WORK, type WitnessService } from "@rnode/eth-api";
import { dataShape, type MethodTable, method, type Params, param } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import { encodeHeader, type NewPayloadVersion } from "@rnode/protocol";
import * as results from "./engine-results.ts";
import { receivedBlock } from "./received-block.ts";
import { checkNewPayloadVersion, type NewPayloadInput, type VersionFault } from "./version-checks.ts";

/** The methods without witnesses, which these extend. */
export interface WitnessedMethods {
  readonly chain: Chain;
  readonly senders: SenderSource;
  readonly witnesses: Pick<WitnessService, "collect">;
  /** of the execution on a witness */
  readonly limit: ExecutionLimit;
  readonly newPayload: (version: NewPayloadVersion, input: NewPayloadInput) => Promise<JsonObject>;
  readonly forkchoiceUpdated: (version: 1 | 2 | 3, args: never) => Promise<JsonObject>;
  readonly refuse: (fault: VersionFault | undefined) => void;
  /** parameters of `engine_newPayload`, the payload first, and those of `engine_forkchoiceUpdated` */
  readonly payloadParams: Params;
  readonly forkchoiceParams: Params;
  /** called with the id of a payload that is to be fetched with its witness */
  readonly onWitnessWanted: (payloadId: Hex) => void;
}

const NEW_PAYLOAD_VERSIONS = [1, 2, 3, 4] as const;
const FORKCHOICE_VERSIONS = [1, 2, 3] as const;
/** of `newPayload`: version 3 brings hashes and beacon root, 4 requests */
const PARAMS_OF_VERSION = { 1: 1, 2: 1, 3: 3, 4: 4 } as const;

const inputOf = ([payload, hashes, root, requests]: readonly unknown[]): NewPayloadInput =>
  ({ payload, versionedHashes: hashes, parentBeaconBlockRoot: root, executionRequests: requests }) as NewPayloadInput;

/** The witness of a block as Geth encodes it. @throws {RpcError} its parent's state is no longer available */
export async function witnessText(witnesses: Pick<WitnessService, "collect">, block: TraceableBlock): Promise<Hex> {
  const { ancestors, codes, state } = await witnesses.collect(UNLIMITED_WORK, block);
  return bytesToHex(encodeWitness({ headers: ancestors.map(({ header }) => encodeHeader(header)), codes, state }));
}

/**
 * Methods of op-geth that give the witness of a block with its verdict or its payload, and that execute a payload on a witness.
 * Source: op-geth eth/catalyst/witness.go
 */
export function witnessMethods(own: WitnessedMethods): MethodTable {
  const { chain, senders, witnesses, limit, refuse } = own;

  async function newPayloadWithWitness(version: NewPayloadVersion, input: NewPayloadInput): Promise<JsonObject> {
    const status = await own.newPayload(version, input);
    if (status.status !== "VALID") return status;
    const stored = chain.resolve({ kind: "hash", hash: input.payload.blockHash, requireCanonical: false });
    return stored === undefined ? status : { ...status, witness: await witnessText(witnesses, stored) };
  }

  async function executeStateless(version: NewPayloadVersion, input: NewPayloadInput, encoded: Uint8Array): Promise<JsonObject> {
    refuse(checkNewPayloadVersion(chain.config, version, input));
    const { payload, parentBeaconBlockRoot, executionRequests } = input;
    let verdict: StatelessVerdict;
    try {
      const witness = decodeWitness(encoded);
      const hash = executionRequests === undefined ? undefined : requestsHash(executionRequests);
      const sources = { chain: { preparedBlockOf: () => undefined, readAhead: () => undefined }, senders };
      const block = await receivedBlock({ executionPayload: payload, parentBeaconBlockRoot }, hash, sources);
      verdict = executePayloadStateless({ config: chain.config, senders, limit }, block, witness);
    } catch (error) {
      if (!isCodedError(error) || error.code === "chain/execution-too-long") throw error;
      verdict = { kind: "invalid", reason: error.message };
    }
    return verdict.kind === "valid"
      ? {
          status: "VALID",
          stateRoot: bytesToHex(verdict.stateRoot),
          receiptsRoot: bytesToHex(verdict.receiptsRoot),
          validationError: null,
        }
      : { status: "INVALID", stateRoot: ZERO_ROOT, receiptsRoot: ZERO_ROOT, validationError: verdict.reason };
  }

  const methods: Record<string, MethodTable[string]> = {};
  for (const version of FORKCHOICE_VERSIONS) {
    methods[`engine_forkchoiceUpdatedWithWitnessV${version}`] = method({
      result: results.forkchoiceUpdated,
      params: own.forkchoiceParams,
      summary: "The payload that is built is fetched with its witness.",
      handler: async (args) => {
        const updated = await own.forkchoiceUpdated(version, args as never);
        if (updated.payloadId !== null) own.onWitnessWanted(updated.payloadId as Hex);
        return updated;
      },
    });
  }
  for (const version of NEW_PAYLOAD_VERSIONS) {
    const params = own.payloadParams.slice(0, PARAMS_OF_VERSION[version]);
    methods[`engine_newPayloadWithWitnessV${version}`] = method({
      result: results.witnessedStatus,
      params,
      summary: "Also gives the witness of a valid block.",
      handler: (args) => newPayloadWithWitness(version, inputOf(args)),
    });
    methods[`engine_executeStatelessPayloadV${version}`] = method({
      result: results.statelessStatus,
      params: [...params, param("witness", dataShape)],
      summary: "Executes a payload on a witness instead of the chain's state; the roots are computed, not compared.",
      handler: (args) => executeStateless(version, inputOf(args.slice(0, params.length)), args.at(-1) as Uint8Array),
    });
  }
  return methods;
}

const ZERO_ROOT: Hex = `0x${"00".repeat(32)}`;

import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToFixedBytes, parseQuantity } from "@rnode/primitives";
import {
  attributesToJson,
  type ExecutionPayloadEnvelope,
  type ForkTimes,
  type PayloadAttributes,
  payloadFromJson,
  payloadToJson,
} from "@rnode/protocol";
import { ENGINE_CODES, EngineError, type EngineRpc, isEngineCode, isUnknownMethod, toEngineError } from "./engine-error.ts";
import { forkchoiceVersion, getPayloadVersion, newPayloadVersion } from "./engine-versions.ts";
import { readAnswer, VerifiedPayload } from "./verified-payload.ts";

export interface ForkchoiceState {
  readonly head: Hex;
  readonly safe: Hex;
  readonly finalized: Hex;
}

export type ForkchoiceOutcome =
  /** the head is set; `payloadId` is there if attributes were given */
  | { readonly kind: "valid"; readonly payloadId: Hex | undefined }
  | { readonly kind: "syncing" }
  | { readonly kind: "invalid"; readonly latestValidHash: Hex | undefined; readonly reason: string }
  /** −38002: safe or finalized is unknown or not below the head */
  | { readonly kind: "invalid-state"; readonly reason: string }
  /** −38003 */
  | { readonly kind: "invalid-attributes"; readonly reason: string }
  /** another code of the Engine API */
  | { readonly kind: "refused"; readonly engineCode: number; readonly reason: string };

export type NewPayloadOutcome =
  | { readonly kind: "valid" }
  | { readonly kind: "invalid"; readonly latestValidHash: Hex | undefined; readonly reason: string }
  /** SYNCING or ACCEPTED: the engine does not know the parent */
  | { readonly kind: "syncing" };

export type GetPayloadOutcome =
  | { readonly kind: "payload"; readonly envelope: ExecutionPayloadEnvelope; readonly valueWei: bigint }
  /** the id is unknown or building failed: build again */
  | { readonly kind: "expired"; readonly reason: string };

interface PayloadStatus {
  readonly status: string;
  readonly latestValidHash: Hex | undefined;
  readonly reason: string;
}

const ZERO_HASH_HEX: Hex = `0x${"00".repeat(32)}`;

/**
 * The Engine API, with the method version chosen by fork. Failures are `EngineError`s; the engine's verdicts are
 * outcomes.
 */
export class EngineClient {
  private readonly rpc: EngineRpc;
  private readonly forkTimes: ForkTimes;

  constructor(rpc: EngineRpc, forkTimes: ForkTimes) {
    this.rpc = rpc;
    this.forkTimes = forkTimes;
  }

  /** Sets the heads and, if attributes are given, starts building on the new head. @throws {EngineError} */
  async forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceOutcome> {
    const method = `engine_forkchoiceUpdatedV${forkchoiceVersion(this.forkTimes, attributes?.timestamp)}`;
    const stateJson = { headBlockHash: state.head, safeBlockHash: state.safe, finalizedBlockHash: state.finalized };
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, [stateJson, attributes === undefined ? null : attributesToJson(attributes)]);
    } catch (error) {
      return refusalOf(method, error);
    }
    const { payloadStatus, payloadId } = fieldsOf(method, answer);
    const status = readStatus(method, payloadStatus);
    switch (status.status) {
      case "VALID":
        assertAbout(method, status, state.head);
        return { kind: "valid", payloadId: readPayloadId(method, payloadId) };
      case "SYNCING":
      case "ACCEPTED":
        return { kind: "syncing" };
      case "INVALID":
      case "INVALID_BLOCK_HASH":
        return { kind: "invalid", latestValidHash: status.latestValidHash, reason: status.reason };
      default:
        throw new EngineError("engine/bad-answer", { method, status: status.status });
    }
  }

  /**
   * Fetches the payload that was built and recomputes its hash: if a payload altered on the way were passed on, it
   * would count as an invalid block.
   *
   * @param timestampSec of the payload; it decides the method version
   * @throws {EngineError} engine/unavailable, engine/bad-answer
   */
  async getPayload(id: Hex, timestampSec: number): Promise<GetPayloadOutcome> {
    const method = `engine_getPayloadV${getPayloadVersion(this.forkTimes, timestampSec)}`;
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, [id]);
    } catch (error) {
      const failure = toEngineError(method, error);
      if (failure.code === "engine/rpc-error") return { kind: "expired", reason: failure.message };
      throw failure;
    }
    const { executionPayload, blockValue, parentBeaconBlockRoot } = fieldsOf(method, answer);
    return readAnswer(method, () => {
      const envelope = {
        executionPayload: payloadFromJson(executionPayload),
        ...(typeof parentBeaconBlockRoot === "string" ? { parentBeaconBlockRoot: hexToFixedBytes(parentBeaconBlockRoot, 32) } : {}),
      };
      return {
        kind: "payload",
        valueWei: typeof blockValue === "string" ? parseQuantity(blockValue) : 0n,
        envelope: VerifiedPayload.check(method, envelope, this.forkTimes),
      };
    });
  }

  /** Lets the engine execute a payload. @throws {EngineError} */
  async newPayload({ executionPayload, parentBeaconBlockRoot }: ExecutionPayloadEnvelope): Promise<NewPayloadOutcome> {
    const version = newPayloadVersion(this.forkTimes, executionPayload.timestamp);
    const method = `engine_newPayloadV${version}`;
    const params: unknown[] = [payloadToJson(executionPayload)];
    // no blob transactions and no requests on an OP Stack chain: always empty lists, never null
    if (version >= 3) params.push([], parentBeaconBlockRoot === undefined ? ZERO_HASH_HEX : bytesToHex(parentBeaconBlockRoot));
    if (version >= 4) params.push([]);
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, params);
    } catch (error) {
      throw toEngineError(method, error);
    }
    const status = readStatus(method, answer);
    switch (status.status) {
      case "VALID":
        assertAbout(method, status, bytesToHex(executionPayload.blockHash));
        return { kind: "valid" };
      case "SYNCING":
      case "ACCEPTED":
        return { kind: "syncing" };
      case "INVALID":
      case "INVALID_BLOCK_HASH":
        return { kind: "invalid", latestValidHash: status.latestValidHash, reason: status.reason };
      default:
        throw new EngineError("engine/bad-answer", { method, status: status.status });
    }
  }

  /** The method names that the engine lists; undefined if it does not know how to list them. @throws {EngineError} */
  async capabilities(): Promise<readonly string[] | undefined> {
    try {
      const answer = await this.rpc.call("engine_exchangeCapabilities", [[]]);
      return Array.isArray(answer) ? answer.map(String) : [];
    } catch (error) {
      const failure = toEngineError("engine_exchangeCapabilities", error);
      if (failure.code === "engine/rpc-error") return undefined;
      throw failure;
    }
  }

  /**
   * Whether the endpoint knows a method. It is called without parameters, which no method of the Engine API allows, so nothing
   * happens. @throws {EngineError}
   */
  async knows(method: string): Promise<boolean> {
    try {
      await this.rpc.call(method, []);
      return true;
    } catch (error) {
      const failure = toEngineError(method, error);
      if (failure.code !== "engine/rpc-error") throw failure;
      return !isUnknownMethod(failure);
    }
  }
}

function refusalOf(method: string, error: unknown): ForkchoiceOutcome {
  if (!(error instanceof RpcError) || !isEngineCode(error.code)) throw toEngineError(method, error);
  const { code, message: reason } = error;
  if (code === ENGINE_CODES.invalidForkchoiceState) return { kind: "invalid-state", reason };
  if (code === ENGINE_CODES.invalidPayloadAttributes) return { kind: "invalid-attributes", reason };
  return { kind: "refused", engineCode: code, reason };
}

function fieldsOf(method: string, answer: unknown): Readonly<Record<string, unknown>> {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw new EngineError("engine/bad-answer", { method, got: answer === null ? "null" : typeof answer });
  }
  return answer as Readonly<Record<string, unknown>>;
}

function readStatus(method: string, answer: unknown): PayloadStatus {
  const { status, latestValidHash, validationError } = fieldsOf(method, answer);
  if (typeof status !== "string") throw new EngineError("engine/bad-answer", { method, missing: "status" });
  return {
    status,
    latestValidHash: typeof latestValidHash === "string" ? (latestValidHash.toLowerCase() as Hex) : undefined,
    reason: typeof validationError === "string" ? validationError : status,
  };
}

/** The latest valid block of a valid payload is the payload itself. An engine that omits the hash is believed. */
function assertAbout(method: string, { latestValidHash }: PayloadStatus, hash: Hex): void {
  if (latestValidHash === undefined || latestValidHash === hash) return;
  throw new EngineError("engine/bad-answer", { method, asked: hash, latestValidHash });
}

function readPayloadId(method: string, id: unknown): Hex | undefined {
  if (id === null || id === undefined) return undefined;
  if (typeof id !== "string" || !/^0x[0-9a-fA-F]{16}$/.test(id))
    throw new EngineError("engine/bad-answer", { method, got: "payloadId" });
  return id as Hex;
}

import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, hexToFixedBytes, parseQuantity } from "@rnode/primitives";
import {
  attributesToJson,
  type ExecutionPayloadEnvelope,
  type ForkTimes,
  type HashedPayload,
  type PayloadAttributes,
  payloadFromJson,
  payloadToJson,
  type SignalledVersions,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { ENGINE_CODES, EngineError, type EngineRpc, isEngineCode, isUnknownMethod, toEngineError } from "./engine-error.ts";
import { forkchoiceVersion, getPayloadVersion, newPayloadVersion } from "./engine-versions.ts";
import { checkPayload, payloadFromHeader, readAnswer } from "./verified-payload.ts";

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

export type BuildBlocksOutcome =
  | {
      readonly kind: "built";
      /** consecutive blocks; fewer than requested if the engine took too long or rejected one */
      readonly blocks: readonly HashedPayload[];
      /** why the next block is invalid; undefined: it was not tried, or all blocks were built */
      readonly refusal: string | undefined;
    }
  /** the engine does not have the extension */
  | { readonly kind: "unsupported" }
  | Exclude<ForkchoiceOutcome, { kind: "valid" | "invalid-attributes" }>;

/** How programs of the Engine API name themselves. */
export interface ClientVersion {
  /** two letters: GE is Geth, RH Reth, EG Erigon, RN rengine and rnode */
  readonly code: string;
  readonly name: string;
  readonly version: string;
  readonly commit: string;
}

export type GetPayloadOutcome =
  | { readonly kind: "payload"; readonly envelope: ExecutionPayloadEnvelope; readonly valueWei: bigint }
  /** the id is unknown or building failed: build again */
  | { readonly kind: "expired"; readonly reason: string };

interface PayloadStatus {
  readonly status: string;
  readonly latestValidHash: Hex | undefined;
  readonly reason: string;
}

const BUILD_BLOCKS = "engine_rnodeBuildBlocksV1";
/** Roots that are computed in one go. */
const BLOCKS_A_TURN = 8;
const ZERO_HASH_HEX: Hex = `0x${"00".repeat(32)}`;

/**
 * The Engine API, with the method version chosen by fork. Failures are `EngineError`s; the engine's verdicts are
 * outcomes.
 */
export class EngineClient {
  private readonly rpc: EngineRpc;
  private readonly forkTimes: ForkTimes;
  /** whether the engine supports building several blocks in one request; undefined: not determined yet */
  private buildsBlocks: boolean | undefined;

  /** @param usesExtensions false: only the standard methods are called */
  constructor(rpc: EngineRpc, forkTimes: ForkTimes, { usesExtensions = true }: { readonly usesExtensions?: boolean } = {}) {
    this.rpc = rpc;
    this.forkTimes = forkTimes;
    if (!usesExtensions) this.buildsBlocks = false;
  }

  /**
   * Sets the heads like `forkchoiceUpdated`, then has blocks built on the new head, one on another, which become canonical. An extension
   * of rengine: one call and few commits instead of four calls and a commit for each block. The answer has the headers, which must form
   * a chain and commit to the transactions; the caller compares the other fields with the attributes.
   *
   * @param attributes without transactions from the pool
   * @throws {EngineError}
   */
  async buildBlocks(state: ForkchoiceState, attributes: readonly PayloadAttributes[]): Promise<BuildBlocksOutcome> {
    this.buildsBlocks ??= (await this.capabilities())?.includes(BUILD_BLOCKS) === true;
    if (!this.buildsBlocks) return { kind: "unsupported" };
    const asked = this.rpc.call(BUILD_BLOCKS, [forkchoiceStateJson(state), attributes.map(attributesToJson)]);
    asked.catch(() => {}); // reported when it is awaited
    const roots = await transactionsRoots(attributes); // PERF: the engine has nothing to do while its answer is being checked
    let answer: unknown;
    try {
      answer = await asked;
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) {
        this.buildsBlocks = undefined; // another engine is there now
        return { kind: "unsupported" };
      }
      const refused = refusalOf(BUILD_BLOCKS, error);
      if (refused.kind === "valid" || refused.kind === "invalid-attributes") throw toEngineError(BUILD_BLOCKS, error);
      return refused;
    }
    const { payloadStatus, headers, refusal } = fieldsOf(BUILD_BLOCKS, answer);
    const status = readStatus(BUILD_BLOCKS, payloadStatus);
    switch (status.status) {
      case "VALID":
        assertAbout(BUILD_BLOCKS, status, state.head);
        return { kind: "built", blocks: this.readBlocks(state.head, attributes, roots, headers), refusal: readRefusal(refusal) };
      case "SYNCING":
      case "ACCEPTED":
        return { kind: "syncing" };
      case "INVALID":
        return { kind: "invalid", latestValidHash: status.latestValidHash, reason: status.reason };
      default:
        throw new EngineError("engine/bad-answer", { method: BUILD_BLOCKS, status: status.status });
    }
  }

  private readBlocks(
    head: Hex,
    attributes: readonly PayloadAttributes[],
    roots: readonly Uint8Array[],
    headers: unknown,
  ): HashedPayload[] {
    const method = BUILD_BLOCKS;
    if (!Array.isArray(headers) || headers.length > attributes.length) {
      throw new EngineError("engine/bad-answer", { method, expected: `at most ${attributes.length} headers` });
    }
    let parentHash = head;
    return headers.map((encoded: unknown, index) => {
      const { transactions = [] } = attributes[index]!;
      const block = readAnswer(method, () =>
        payloadFromHeader(method, hexToBytes(String(encoded)), transactions, roots[index]!, this.forkTimes),
      );
      const { parentHash: parent, blockHash } = block.executionPayload;
      if (bytesToHex(parent) !== parentHash) throw new EngineError("engine/bad-answer", { method, index, mismatch: "parent hash" });
      parentHash = bytesToHex(blockHash);
      return block;
    });
  }

  /** Sets the heads and, if attributes are given, starts building on the new head. @throws {EngineError} */
  async forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceOutcome> {
    const method = `engine_forkchoiceUpdatedV${forkchoiceVersion(this.forkTimes, attributes?.timestamp)}`;
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, [
        forkchoiceStateJson(state),
        attributes === undefined ? null : attributesToJson(attributes),
      ]);
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
        envelope: checkPayload(method, envelope, this.forkTimes),
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
   * Sends the protocol versions that L1 requires and recommends.
   *
   * @returns the version that the engine implements, 32 bytes; undefined: it does not have the method
   * @throws {EngineError}
   */
  async signalSuperchain({ recommended, required }: SignalledVersions): Promise<Uint8Array | undefined> {
    const method = "engine_signalSuperchainV1";
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, [{ recommended: bytesToHex(recommended), required: bytesToHex(required) }]);
    } catch (error) {
      const failure = toEngineError(method, error);
      if (isUnknownMethod(failure)) return undefined;
      throw failure;
    }
    return readAnswer(method, () => hexToFixedBytes(String(answer), 32));
  }

  /** The engine's name and version; undefined: it does not have the method. @throws {EngineError} */
  async clientVersion(self: ClientVersion): Promise<ClientVersion | undefined> {
    const method = "engine_getClientVersionV1";
    let answer: unknown;
    try {
      answer = await this.rpc.call(method, [self]);
    } catch (error) {
      const failure = toEngineError(method, error);
      if (failure.code === "engine/rpc-error") return undefined;
      throw failure;
    }
    const [first] = Array.isArray(answer) ? (answer as unknown[]) : [];
    if (first === undefined) return undefined;
    const fields = fieldsOf(method, first);
    const textOf = (name: keyof ClientVersion): string => (typeof fields[name] === "string" ? fields[name].slice(0, 64) : "");
    return { code: textOf("code"), name: textOf("name"), version: textOf("version"), commit: textOf("commit") };
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

const forkchoiceStateJson = ({ head, safe, finalized }: ForkchoiceState) => ({
  headBlockHash: head,
  safeBlockHash: safe,
  finalizedBlockHash: finalized,
});

/**
 * The transactions roots that the headers of these blocks must have. Yields to other tasks between blocks, so that the request in
 * flight makes progress.
 */
async function transactionsRoots(attributes: readonly PayloadAttributes[]): Promise<Uint8Array[]> {
  const roots: Uint8Array[] = [];
  for (const { transactions = [] } of attributes) {
    if (roots.length % BLOCKS_A_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    roots.push(orderedTrieRoot(transactions));
  }
  return roots;
}

/** Why the engine calls the next block invalid. @throws {EngineError} it was not built for another reason */
function readRefusal(refusal: unknown): string | undefined {
  if (refusal === null || refusal === undefined) return undefined;
  const { code, message } = fieldsOf(BUILD_BLOCKS, refusal);
  if (code === ENGINE_CODES.invalidPayloadAttributes || code === INVALID_PARAMS) return String(message);
  throw new EngineError("engine/rpc-error", { method: BUILD_BLOCKS, rpcCode: Number(code), reason: String(message) });
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

/** For a valid payload, latestValidHash must be the hash of the payload. An answer without it is accepted. */
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

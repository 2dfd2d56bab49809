import { type BuiltPayload, type Chain, ExecutionLimit, requestsHash, type SenderSource } from "@rnode/chain";
import {
  attributesShape,
  blobsBundle,
  engineError,
  type JsonObject,
  type Profile,
  type SidecarSource,
  type WitnessService,
} from "@rnode/eth-api";
import {
  anyJson,
  arrayShape,
  countShape,
  dataShape,
  hashShape,
  type JsonText,
  type MethodTable,
  method,
  objectShape,
  optionalParam,
  param,
  type RpcError,
  rpcErrorOf,
  textShape,
} from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { bytesToHex, equalBytes, type Hex, isCodedError, LruCache } from "@rnode/primitives";
import {
  type BlobSidecar,
  encodeTransaction,
  type GetPayloadVersion,
  LOCAL_PROTOCOL_VERSION,
  type NewPayloadVersion,
  type PayloadAttributes,
  type PayloadStatusV1,
  type SignalledVersions,
  withdrawalToJson,
} from "@rnode/protocol";
import type { ChainSync } from "@rnode/sync";
import { VERSION } from "../version.ts";
import { ATTRIBUTES_V4, amsterdamFault, PAYLOAD_V4, payloadBeforeV4Shape, requiring } from "./amsterdam.ts";
import { buildBlocks, MAX_BLOCKS } from "./build-blocks.ts";
import * as results from "./engine-results.ts";
import { payloadAnswer } from "./payload-answer.ts";
import { pooledBlobs } from "./pooled-blobs.ts";
import { receivedBlock } from "./received-block.ts";
import { transitionConfigurationMethods } from "./transition-configuration.ts";
import {
  checkForkchoiceVersion,
  checkGetPayloadVersion,
  checkNewPayloadVersion,
  missingPayloadField,
  type NewPayloadInput,
  postMergeRulesAt,
  type VersionFault,
} from "./version-checks.ts";
import { witnessMethods, witnessText } from "./witness-methods.ts";

export interface EngineServices {
  readonly chain: Chain;
  /** moves the heads: a sync in front of the chain; default: the chain itself */
  readonly heads?: EngineHeads | undefined;
  readonly profile: Profile;
  readonly senders: SenderSource;
  /** undefined: the witness methods are off */
  readonly witnesses?: Pick<WitnessService, "collect"> | undefined;
  /** the pool, which has the blobs of transactions that go into payloads */
  readonly sidecars?: SidecarSource | undefined;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** of the first execution of a payload on a witness; 0: no limit. Default: 0 */
  readonly maxExecutionMs?: number | undefined;
  /** called with the protocol versions that L1 recommends and requires */
  readonly onSignal: (versions: SignalledVersions) => void;
}

/** What moves the heads of the chain, at once or after an import was interrupted for it. */
type EngineHeads = Pick<ChainSync, "newPayload" | "forkchoiceUpdated" | "extend">;

/** Offered to rollup nodes of this project; others use the standard methods. */
const BUILD_BLOCKS = "engine_rnodeBuildBlocksV1";
const MAX_BODIES = 1024;
const MAX_BLOBS = 128;
/** How many payloads stay available after they were fetched, because a client may request one again. */
const KEPT_PAYLOADS = 10;

const rpcError = (...fault: Parameters<typeof engineError>): RpcError => rpcErrorOf(engineError(...fault));

function refuse(fault: VersionFault | undefined): void {
  if (fault !== undefined) throw rpcError(fault.error, fault.detail);
}

/** The Engine API. Spec: docs/protocol/04-rpc.md#engine-api */
export function engineMethods({
  chain,
  profile,
  senders,
  witnesses,
  sidecars = {},
  log,
  onSignal,
  nowMs,
  maxExecutionMs = 0,
  heads = chain,
}: EngineServices): MethodTable {
  const { config } = chain;
  const delivered = new LruCache<Hex, BuiltPayload>(KEPT_PAYLOADS);
  /** payloads that are to be fetched with their witness */
  const witnessed = new LruCache<Hex, true>(KEPT_PAYLOADS);

  async function forkchoiceUpdated(
    version: 1 | 2 | 3,
    [state, attributes]: readonly [Parameters<Chain["forkchoiceUpdated"]>[0], PayloadAttributes | undefined],
  ): Promise<JsonObject> {
    refuse(checkForkchoiceVersion(config, version, attributes));
    const result = await heads.forkchoiceUpdated(state, attributes, version);
    switch (result.kind) {
      case "updated":
        return { payloadStatus: results.statusToJson(result.status), payloadId: result.payloadId ?? null };
      case "invalid-state":
        throw rpcErrorOf(profile.errors.forkchoice(result.reason));
      case "invalid-attributes":
        throw rpcErrorOf(profile.errors.attributes(result.fault, result.reason));
    }
  }

  async function newPayload(version: NewPayloadVersion, input: NewPayloadInput): Promise<JsonObject> {
    refuse(checkNewPayloadVersion(config, version, input));
    const { payload, parentBeaconBlockRoot, executionRequests, versionedHashes } = input;
    const hash = executionRequests === undefined ? undefined : requestsHash(executionRequests);
    let status: PayloadStatusV1;
    try {
      const received = await receivedBlock({ executionPayload: payload, parentBeaconBlockRoot }, hash, { chain, senders });
      const blobHashes = received.block.transactions.flatMap((tx) => (tx.type === 0x03 ? tx.blobVersionedHashes : []));
      // Checked first, and for known hashes as well: a payload is validated by its own fields, even if its blockHash is that of a
      // known block.
      const fault = !equalBytes(received.hash, payload.blockHash)
        ? `blockhash mismatch: computed ${received.hashHex}, given ${bytesToHex(payload.blockHash)}`
        : versionedHashes !== undefined && !isSameList(versionedHashes, blobHashes)
          ? "invalid versionedHashes"
          : undefined;
      status =
        fault === undefined
          ? await heads.newPayload(received)
          : { status: "INVALID", latestValidHash: null, validationError: fault };
    } catch (error) {
      if (!isCodedError(error, "tx/") && !isCodedError(error, "rlp/")) throw error;
      status = { status: "INVALID", latestValidHash: null, validationError: `invalid transaction: ${error.message}` };
    }
    if (status.status === "INVALID") {
      log.warn("payload refused", { number: payload.blockNumber, hash: payload.blockHash, reason: status.validationError });
    }
    return results.statusToJson(status);
  }

  function getPayload(version: GetPayloadVersion, id: Hex): JsonText | Promise<JsonText> {
    const built = delivered.get(id) ?? chain.getPayload(id);
    if (built === undefined) throw rpcError("unknown-payload");
    delivered.set(id, built);
    const { header } = built.block;
    refuse(checkGetPayloadVersion(config, version, header.timestamp));
    const { hasMessagePasserRoot } = postMergeRulesAt(config, header.timestamp);
    const answer = (witness?: Hex): JsonText =>
      payloadAnswer(version, built, hasMessagePasserRoot, blobsBundle(built.block, sidecars), witness);
    return witnesses === undefined || !witnessed.has(id) ? answer() : witnessOfBuilt(witnesses, built).then(answer);
  }

  async function witnessOfBuilt(source: Pick<WitnessService, "collect">, { block, hash }: BuiltPayload): Promise<Hex> {
    return witnessText(source, { block, hash, senders: (await senders.recoverAhead(block.transactions)) ?? [] });
  }

  function bodyOf(selector: Parameters<Chain["resolve"]>[0]): JsonObject | null {
    const stored = chain.bodyOf(selector);
    if (stored === undefined) return null;
    return {
      transactions: stored.block.transactions.map((tx) => bytesToHex(encodeTransaction(tx))),
      withdrawals: stored.block.withdrawals?.map(withdrawalToJson) ?? null,
    };
  }

  /** undefined: this chain has no blobs, or none of that version yet */
  function blobs(version: BlobSidecar["version"], hashes: readonly Uint8Array[]): (JsonObject | null)[] | undefined {
    if (hashes.length > MAX_BLOBS) throw rpcError("too-large", `requested ${hashes.length} blobs, limit ${MAX_BLOBS}`);
    const isServed = config.optimism === undefined && (version === 0 || provesBlobCells());
    return isServed ? pooledBlobs(sidecars.sidecars?.() ?? [], version, hashes) : undefined;
  }

  function provesBlobCells(): boolean {
    const head = chain.headerOf({ kind: "tag", tag: "latest" });
    return head !== undefined && postMergeRulesAt(config, head.header.timestamp).provesBlobCells;
  }

  const state = param("forkchoiceState", results.forkchoiceStateShape);
  const attributes = optionalParam("payloadAttributes", attributesShape);
  const id = param("payloadId", results.payloadIdShape);
  const receivedPayload = results.payloadShape((hash) => chain.preparedBlockOf(hash)?.encodedTransactions);
  const payload = param("executionPayload", payloadBeforeV4Shape(receivedPayload));
  const executionRequests = optionalParam("executionRequests", arrayShape(dataShape));
  const versionedHashes = optionalParam("expectedBlobVersionedHashes", arrayShape(hashShape));
  const versionedHashesAsked = param("versionedHashes", arrayShape(hashShape));
  const beaconRoot = optionalParam("parentBeaconBlockRoot", hashShape);
  const none = { versionedHashes: undefined, parentBeaconBlockRoot: undefined, executionRequests: undefined };

  // Version 2 differs only in what Amsterdam adds.
  const bodiesByHash = method({
    result: results.bodies,
    params: [param("hashes", arrayShape(hashShape))],
    handler: ([hashes]) => {
      if (hashes.length > MAX_BODIES) throw rpcError("too-large", `requested ${hashes.length} bodies, limit ${MAX_BODIES}`);
      return hashes.map((hash) => bodyOf({ kind: "hash", hash, requireCanonical: false }));
    },
  });
  const bodiesByRange = method({
    result: results.bodies,
    params: [param("start", countShape), param("count", countShape)],
    handler: ([start, count]) => {
      if (start === 0 || count === 0) throw rpcError("invalid-params", "start and count must not be 0");
      if (count > MAX_BODIES) throw rpcError("too-large", `requested ${count} bodies, limit ${MAX_BODIES}`);
      const last = Math.min(start + count - 1, chain.head().number); // blocks after the head are left out of the answer
      const bodies: (JsonObject | null)[] = [];
      for (let number = start; number <= last; number++) bodies.push(bodyOf({ kind: "number", number }));
      return bodies;
    },
  });

  const methods: Record<string, MethodTable[string]> = {
    engine_forkchoiceUpdatedV1: method({
      result: results.forkchoiceUpdated,
      params: [state, attributes],
      handler: (args) => forkchoiceUpdated(1, args),
    }),
    engine_forkchoiceUpdatedV2: method({
      result: results.forkchoiceUpdated,
      params: [state, attributes],
      handler: (args) => forkchoiceUpdated(2, args),
    }),
    engine_forkchoiceUpdatedV3: method({
      result: results.forkchoiceUpdated,
      params: [state, attributes],
      handler: (args) => forkchoiceUpdated(3, args),
    }),
    engine_forkchoiceUpdatedV4: method({
      result: results.forkchoiceUpdated,
      params: [
        state,
        optionalParam("payloadAttributes", requiring(attributesShape, ATTRIBUTES_V4)),
        optionalParam("custodyColumns", anyJson),
      ],
      summary: "From Amsterdam: without attributes as V3; refused with them, as no chain has that fork.",
      handler: ([given, wanted]) => {
        if (wanted !== undefined) refuse(amsterdamFault("forkchoiceUpdatedV4", "invalid-attributes", wanted.missing));
        return forkchoiceUpdated(3, [given, undefined]);
      },
    }),
    engine_newPayloadV1: method({
      result: results.payloadStatus,
      params: [payload],
      handler: ([given]) => newPayload(1, { payload: given, ...none }),
    }),
    engine_newPayloadV2: method({
      result: results.payloadStatus,
      params: [payload],
      handler: ([given]) => newPayload(2, { payload: given, ...none }),
    }),
    engine_newPayloadV3: method({
      result: results.payloadStatus,
      params: [payload, versionedHashes, beaconRoot],
      handler: ([given, hashes, root]) =>
        newPayload(3, { payload: given, versionedHashes: hashes, parentBeaconBlockRoot: root, executionRequests: undefined }),
    }),
    engine_newPayloadV4: method({
      result: results.payloadStatus,
      params: [payload, versionedHashes, beaconRoot, executionRequests],
      handler: ([given, hashes, root, requests]) =>
        newPayload(4, { payload: given, versionedHashes: hashes, parentBeaconBlockRoot: root, executionRequests: requests }),
    }),
    engine_newPayloadV5: method({
      result: results.payloadStatus,
      params: [param("executionPayload", requiring(receivedPayload, PAYLOAD_V4)), versionedHashes, beaconRoot, executionRequests],
      summary: "From Amsterdam: refused, as no chain has that fork.",
      handler: ([{ value, missing }, hashes, root, requests]) => {
        const input = { payload: value, versionedHashes: hashes, parentBeaconBlockRoot: root, executionRequests: requests };
        refuse(amsterdamFault("newPayloadV5", "invalid-params", missingPayloadField(4, input) ?? missing));
      },
    }),
    engine_getPayloadV1: method({ result: results.payloadV1, params: [id], handler: ([given]) => getPayload(1, given) }),
    engine_getPayloadV2: method({ result: results.payloadV2, params: [id], handler: ([given]) => getPayload(2, given) }),
    engine_getPayloadV3: method({ result: results.payloadV3, params: [id], handler: ([given]) => getPayload(3, given) }),
    engine_getPayloadV4: method({ result: results.payloadV4, params: [id], handler: ([given]) => getPayload(4, given) }),
    engine_getPayloadV5: method({ result: results.payloadV4, params: [id], handler: ([given]) => getPayload(5, given) }),
    engine_getPayloadV6: method({
      result: results.payloadV4,
      params: [id],
      summary: "From Amsterdam: refused, as no chain has that fork.",
      // A payload's id begins with the version of the attributes that it was built from.
      handler: ([given]) => refuse(amsterdamFault("getPayloadV6", "unknown-payload", given.startsWith("0x04") ? "" : undefined)),
    }),
    engine_getPayloadBodiesByHashV1: bodiesByHash,
    engine_getPayloadBodiesByHashV2: bodiesByHash,
    engine_getPayloadBodiesByRangeV1: bodiesByRange,
    engine_getPayloadBodiesByRangeV2: bodiesByRange,
    engine_getBlobsV1: method({
      result: results.blobsV1,
      params: [versionedHashesAsked],
      summary: "Blobs of the pool with their proofs; null for one that is not there. Until Osaka.",
      handler: ([hashes]) => {
        if (provesBlobCells()) throw rpcError("unsupported-fork", "getBlobsV1 is not for Osaka: use getBlobsV2");
        return blobs(0, hashes) ?? hashes.map(() => null);
      },
    }),
    engine_getBlobsV2: method({
      result: results.blobsV2,
      params: [versionedHashesAsked],
      summary: "Blobs of the pool with their cell proofs: all, or null. From Osaka.",
      handler: ([hashes]) => {
        const found = blobs(1, hashes);
        return found === undefined || found.includes(null) ? null : found;
      },
    }),
    engine_getBlobsV3: method({
      result: results.blobsV3,
      params: [versionedHashesAsked],
      summary: "Blobs of the pool with their cell proofs; null for one that is not there. From Osaka.",
      handler: ([hashes]) => blobs(1, hashes) ?? null,
    }),
    engine_getClientVersionV1: method({
      result: results.clientVersions,
      params: [
        param("clientVersion", objectShape({ code: textShape, name: textShape, version: textShape, commit: textShape }, {})),
      ],
      handler: () => [{ code: "RN", name: "rengine", version: `v${VERSION}`, commit: "0x00000000" }],
    }),
    engine_signalSuperchainV1: method({
      result: results.protocolVersion,
      params: [param("signal", objectShape({ recommended: hashShape, required: hashShape }, {}))],
      summary: "Protocol versions that L1 recommends and requires; the answer is this client's own.",
      handler: ([{ recommended, required }]) => {
        onSignal({ recommended, required });
        return bytesToHex(LOCAL_PROTOCOL_VERSION);
      },
    }),
  };
  if (witnesses !== undefined) {
    const forkchoiceParams = [state, attributes] as const;
    Object.assign(
      methods,
      witnessMethods({
        chain,
        senders,
        witnesses,
        limit: new ExecutionLimit(nowMs, maxExecutionMs),
        newPayload,
        forkchoiceUpdated,
        refuse,
        payloadParams: [payload, versionedHashes, beaconRoot, executionRequests],
        forkchoiceParams,
        onWitnessWanted: (built) => witnessed.set(built, true),
      }),
    );
  }
  if (config.optimism !== undefined) {
    methods[BUILD_BLOCKS] = method({
      result: results.builtBlocks,
      params: [state, param("payloadAttributes", arrayShape(attributesShape))],
      summary:
        "Extension: builds blocks without pool transactions, one on another, and makes them canonical. The answer has the RLP of their headers; there may be fewer than were asked for.",
      handler: ([given, wanted]) => {
        if (wanted.length > MAX_BLOCKS) throw rpcError("too-large", `asked for ${wanted.length} blocks, limit ${MAX_BLOCKS}`);
        return buildBlocks(given, wanted, { heads, profile, senders, nowMs });
      },
    });
  }
  if (profile.servesTransitionConfiguration) {
    const hashOf = (number: number): Hex | undefined => {
      const found = chain.headerOf({ kind: "number", number });
      return found === undefined ? undefined : bytesToHex(found.hash);
    };
    Object.assign(methods, transitionConfigurationMethods({ config, hashOf }));
  }
  return {
    ...methods,
    engine_exchangeCapabilities: method({
      result: results.capabilities,
      params: [param("methods", arrayShape(textShape))],
      handler: () => Object.keys(methods),
    }),
  };
}

const isSameList = (a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean =>
  a.length === b.length && a.every((item, index) => equalBytes(item, b[index]!));

import { RpcError } from "@rnode/jsonrpc";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  equalBytes,
  type Hex,
  hexToBytes,
  keccak256,
  parseQuantityNumber,
  toQuantity,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  attributesFromJson,
  blockToPayload,
  decodeTransaction,
  type ExecutionPayloadEnvelope,
  extraDataFromAttributes,
  type Header,
  hashHeader,
  hasMinBaseFee,
  type L2BlockRef,
  type Log,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  payloadFromJson,
  type RollupConfig,
  rollupRulesAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import type { ScenarioEngine } from "./scenario-engine.ts";
import { headerOf, KnownBlocks, SimBlock, whyInvalid } from "./sim-block.ts";
import { bloomOfTransactions } from "./sim-logs.ts";

const zeros = (length: number): Uint8Array => new Uint8Array(length);

const ENGINE_ERRORS = {
  unknownPayload: [-38001, "Unknown payload"],
  invalidForkchoiceState: [-38002, "Invalid forkchoice state"],
  invalidPayloadAttributes: [-38003, "Invalid payload attributes"],
} as const;

const engineError = (name: keyof typeof ENGINE_ERRORS): RpcError => new RpcError(ENGINE_ERRORS[name][0], ENGINE_ERRORS[name][1]);

/**
 * An execution client in memory, behind the Engine API's JSON. Its blocks are real, with hashes that cover everything; its state is
 * only a hash of the transactions that led to it, and its rules for transactions are that they decode and are not marked as invalid.
 */
export class SimEngine implements ScenarioEngine {
  readonly #config: RollupConfig;
  readonly #blocks = new Map<Hex, SimBlock>();
  readonly #jobs = new Map<Hex, SimBlock>();
  readonly #known: KnownBlocks;
  readonly #hasPeers: boolean;
  /** the canonical chain from the genesis on */
  #canonical: SimBlock[];
  #safe: Hex;
  #finalized: Hex;
  #nextJob = 1;
  /** blocks that it refuses for good */
  readonly #denied = new Set<Hex>();
  #pool: Uint8Array[] = [];
  /** users' transactions for a block that it builds, beside those of the pool */
  contentOf: ((parent: L2BlockRef, timestampSec: number) => readonly Uint8Array[]) | undefined;

  /**
   * @param known shared with other clients: their decoded blocks
   * @param hasPeers whether it gets blocks that it lacks from there, when it is told a head
   */
  constructor(config: RollupConfig, genesis: ExecutionPayloadEnvelope, known = new KnownBlocks(), hasPeers = false) {
    this.#config = config;
    this.#known = known;
    this.#hasPeers = hasPeers;
    const ref: L2BlockRef = {
      hash: config.genesis.l2.hash,
      number: config.genesis.l2.number,
      parentHash: bytesToHex(genesis.executionPayload.parentHash),
      timestamp: config.genesis.l2TimeSec,
      l1Origin: config.genesis.l1,
      sequenceNumber: 0,
    };
    const block = this.#store(new SimBlock(config, genesis, ref));
    this.#canonical = [block];
    this.#safe = block.ref.hash;
    this.#finalized = block.ref.hash;
  }

  get head(): L2BlockRef {
    return this.#canonical.at(-1)!.ref;
  }

  get finalized(): L2BlockRef | undefined {
    return this.refByHash(this.#finalized);
  }

  refByHash(hash: Hex): L2BlockRef | undefined {
    return this.#blocks.get(hash)?.ref;
  }

  canonicalRef(number: number): L2BlockRef | undefined {
    return this.#canonical[number]?.ref;
  }

  canonicalPayload(number: number): ExecutionPayloadEnvelope | undefined {
    return this.#canonical[number]?.envelope;
  }

  canonicalLogs(number: number): readonly Log[] {
    return this.#canonical[number]?.logs ?? [];
  }

  addUserTransaction(encoded: Uint8Array): void {
    this.#pool.push(encoded);
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  /** A crash: the newest blocks were not on the disk yet. @returns the new head */
  loseUnsafe(count: number): number {
    const safe = this.#blocks.get(this.#safe)!.ref.number;
    this.#truncate(Math.max(safe + 1, this.#canonical.length - count));
    return this.head.number;
  }

  /** Refuses the canonical block at a height from now on: its parent becomes the head. */
  deny(number: number): L2BlockRef {
    const { ref } = this.#canonical[number]!;
    this.#denied.add(ref.hash);
    this.#truncate(number);
    if (!this.#blocks.has(this.#safe)) this.#safe = this.head.hash;
    return ref;
  }

  /** Deletes side blocks and blocks above the new head. */
  #truncate(length: number): void {
    this.#canonical.length = length;
    for (const [hash, block] of this.#blocks) if (!this.#isCanonical(block)) this.#blocks.delete(hash);
    this.#jobs.clear();
  }

  handle(method: string, params: readonly unknown[]): unknown {
    if (method.startsWith("engine_forkchoiceUpdated")) return this.#forkchoiceUpdated(params);
    if (method.startsWith("engine_getPayload")) return this.#getPayload(params[0] as Hex);
    if (method.startsWith("engine_newPayload")) return this.#newPayload(params);
    switch (method) {
      case "engine_exchangeCapabilities":
        return [1, 2, 3].map((version) => `engine_forkchoiceUpdatedV${version}`);
      case "eth_chainId":
        return toQuantity(this.#config.l2ChainId);
      case "eth_getLogs":
        return this.#logs((params[0] as { readonly blockHash: Hex }).blockHash);
      case "eth_getBlockByHash":
        return this.#show(this.#blocks.get(params[0] as Hex), params[1]);
      case "eth_getBlockByNumber":
        return this.#show(this.#bySelector(String(params[0])), params[1]);
      default:
        throw new RpcError(-32601, `the method ${method} does not exist`);
    }
  }

  #bySelector(selector: string): SimBlock | undefined {
    if (selector === "latest") return this.#canonical.at(-1);
    if (selector === "safe") return this.#blocks.get(this.#safe);
    if (selector === "finalized") return this.#blocks.get(this.#finalized);
    return this.#canonical[parseQuantityNumber(selector)];
  }

  #logs(blockHash: Hex): unknown {
    const block = this.#blocks.get(blockHash);
    if (block === undefined) throw new RpcError(-32000, `unknown block ${blockHash}`);
    return block.logsJson();
  }

  #show(block: SimBlock | undefined, full: unknown): unknown {
    return block === undefined ? null : block.json(full === true);
  }

  #isCanonical({ ref }: SimBlock): boolean {
    return this.#canonical[ref.number]?.ref.hash === ref.hash;
  }

  /** Makes a block the head. @returns false if a parent is missing */
  #makeCanonical(head: SimBlock): boolean {
    const path: SimBlock[] = [];
    let at: SimBlock | undefined = head;
    while (at !== undefined && !this.#isCanonical(at)) {
      path.unshift(at);
      at = this.#blocks.get(at.ref.parentHash);
    }
    if (at === undefined) return false;
    this.#canonical.length = at.ref.number + 1;
    this.#canonical.push(...path);
    return true;
  }

  #forkchoiceUpdated([state, attributesJson]: readonly unknown[]): unknown {
    const { headBlockHash, safeBlockHash, finalizedBlockHash } = state as Record<string, Hex>;
    const head = this.#blocks.get(headBlockHash!);
    if (head === undefined) {
      if (this.#hasPeers) this.#syncTo(headBlockHash!);
      return { payloadStatus: { status: "SYNCING", latestValidHash: null }, payloadId: null };
    }
    const before = this.#canonical;
    if (head !== before.at(-1)) {
      this.#canonical = [...before];
      if (!this.#makeCanonical(head)) throw new Error("a stored block has no parent");
    }
    for (const label of [safeBlockHash!, finalizedBlockHash!]) {
      const block = this.#blocks.get(label);
      if (block !== undefined && this.#isCanonical(block)) continue;
      this.#canonical = before;
      throw engineError("invalidForkchoiceState");
    }
    this.#safe = safeBlockHash!;
    this.#finalized = finalizedBlockHash!;
    const payloadStatus = { status: "VALID", latestValidHash: headBlockHash, validationError: null };
    if (attributesJson === null || attributesJson === undefined) return { payloadStatus, payloadId: null };
    const attributes = attributesFromJson(attributesJson);
    if (attributes.timestamp <= head.ref.timestamp) throw engineError("invalidPayloadAttributes");
    if (whyInvalid(attributes.transactions ?? []) !== undefined) throw engineError("invalidPayloadAttributes");
    const payloadId: Hex = `0x${(this.#nextJob++).toString(16).padStart(16, "0")}`;
    const user = attributes.noTxPool ? [] : [...this.#pool.splice(0), ...(this.contentOf?.(head.ref, attributes.timestamp) ?? [])];
    this.#jobs.set(payloadId, this.#build(head, attributes, user));
    return { payloadStatus, payloadId };
  }

  /** Gets a block and its missing ancestors from peers, so that the next fork choice finds them. A block that no client has made does not exist. */
  #syncTo(hash: Hex): void {
    const path: SimBlock[] = [];
    for (let at = this.#known.get(hash); at !== undefined; at = this.#known.get(at.ref.parentHash)) {
      path.push(at);
      if (this.#blocks.has(at.ref.parentHash)) {
        for (const block of path.reverse()) this.#store(block);
        return;
      }
    }
  }

  #getPayload(id: Hex): unknown {
    const block = this.#jobs.get(id);
    if (block === undefined) throw engineError("unknownPayload");
    this.#jobs.delete(id);
    const { payloadJson: executionPayload, parentBeaconRootJson: parentBeaconBlockRoot } = block;
    return {
      executionPayload,
      blockValue: "0x0",
      ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }),
    };
  }

  #newPayload([payloadJson, , beaconRoot]: readonly unknown[]): unknown {
    const { parentHash: parentJson, blockHash: hashJson } = payloadJson as Record<string, Hex>;
    if (this.#denied.has(hashJson!)) return { status: "INVALID", latestValidHash: parentJson, validationError: "denied" };
    const known = this.#known.find(payloadJson, beaconRoot);
    if (known !== undefined && this.#blocks.has(known.ref.parentHash)) {
      this.#store(known);
      return { status: "VALID", latestValidHash: known.ref.hash, validationError: null };
    }
    const executionPayload = payloadFromJson(payloadJson);
    const envelope: ExecutionPayloadEnvelope = {
      executionPayload,
      parentBeaconBlockRoot: typeof beaconRoot === "string" ? hexToBytes(beaconRoot) : undefined,
    };
    const { parentHash, blockHash, transactions } = executionPayload;
    const parent = this.#blocks.get(bytesToHex(parentHash));
    if (parent === undefined) return { status: "SYNCING", latestValidHash: null, validationError: null };
    const invalid = (reason: string) => ({ status: "INVALID", latestValidHash: bytesToHex(parentHash), validationError: reason });
    if (!equalBytes(hashHeader(headerOf(this.#config, envelope)), blockHash)) return invalid("block hash mismatch");
    const reason = whyInvalid(transactions);
    if (reason !== undefined) return invalid(reason);
    if (!equalBytes(executionPayload.stateRoot, stateAfter(parent, transactions))) return invalid("state root mismatch");
    const { hasMessagePasserRoot } = rollupRulesAt(this.#config.forkTimes, executionPayload.timestamp);
    if (hasMessagePasserRoot && !equalBytes(executionPayload.withdrawalsRoot!, messagePasserRootOf(executionPayload.stateRoot)))
      return invalid("withdrawals root mismatch");
    const block = this.#store(new SimBlock(this.#config, envelope, l2BlockRefFromPayload(this.#config, executionPayload)));
    this.#known.add(block);
    return { status: "VALID", latestValidHash: bytesToHex(blockHash), validationError: null };
  }

  #build(parent: SimBlock, attributes: PayloadAttributes, user: readonly Uint8Array[]): SimBlock {
    const transactions = [...(attributes.transactions ?? []), ...user.filter((tx) => whyInvalid([tx]) === undefined)];
    const envelope = sealed(this.#config, {
      parentHash: parent.stored.hash,
      number: parent.ref.number + 1,
      stateRoot: stateAfter(parent, transactions),
      attributes: { ...attributes, transactions },
    });
    const block = new SimBlock(this.#config, envelope, l2BlockRefFromPayload(this.#config, envelope.executionPayload));
    this.#known.add(block);
    return block;
  }

  #store(block: SimBlock): SimBlock {
    this.#blocks.set(block.ref.hash, block);
    return block;
  }
}

export function stateAfter({ envelope }: Pick<SimBlock, "envelope">, transactions: readonly Uint8Array[]): Uint8Array {
  return keccak256(envelope.executionPayload.stateRoot, ...transactions.map((tx) => keccak256(tx)));
}

export const messagePasserRootOf = (stateRoot: Uint8Array): Uint8Array => keccak256(stateRoot, uint64ToBytes(0x16));

interface BlockParts {
  readonly parentHash: Uint8Array;
  readonly number: number;
  readonly stateRoot: Uint8Array;
  readonly attributes: PayloadAttributes;
}

function sealed(config: RollupConfig, { parentHash, number, stateRoot, attributes }: BlockParts): ExecutionPayloadEnvelope {
  const rules = rollupRulesAt(config.forkTimes, attributes.timestamp);
  const { eip1559Elasticity: elasticity, eip1559DenominatorCanyon: denominator } = config.chainOpConfig;
  const extraData =
    rules.extraDataVersion === undefined
      ? zeros(0)
      : extraDataFromAttributes(
          attributes.eip1559Params ?? zeros(8),
          { denominator, elasticity },
          hasMinBaseFee(rules.extraDataVersion) ? (attributes.minBaseFee ?? 0n) : undefined,
        );
  const hasBlobGas = attributes.parentBeaconBlockRoot !== undefined;
  const transactions = (attributes.transactions ?? []).map(decodeTransaction);
  const withdrawalsRoot = rules.hasMessagePasserRoot
    ? messagePasserRootOf(stateRoot)
    : attributes.withdrawals === undefined
      ? undefined
      : EMPTY_TRIE_ROOT;
  const header: Header = {
    parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: attributes.suggestedFeeRecipient,
    stateRoot,
    transactionsRoot: orderedTrieRoot(attributes.transactions ?? []),
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: bloomOfTransactions(transactions),
    difficulty: 0n,
    number,
    gasLimit: attributes.gasLimit ?? 0n,
    gasUsed: 0n,
    timestamp: attributes.timestamp,
    extraData,
    mixHash: attributes.prevRandao,
    nonce: zeros(8),
    baseFeePerGas: 1n,
    withdrawalsRoot,
    blobGasUsed: hasBlobGas ? 0n : undefined,
    excessBlobGas: hasBlobGas ? 0n : undefined,
    parentBeaconBlockRoot: attributes.parentBeaconBlockRoot,
    requestsHash: rules.hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined,
  };
  const block = { header, transactions, ommers: [], withdrawals: attributes.withdrawals };
  return blockToPayload(block, hashHeader(header), rules.hasMessagePasserRoot);
}

/** The genesis block of a rollup: all of its configuration but its own hash must be known. */
export function genesisPayload(config: RollupConfig): ExecutionPayloadEnvelope {
  const { genesis, forkTimes } = config;
  const rules = rollupRulesAt(forkTimes, genesis.l2TimeSec);
  return sealed(config, {
    parentHash: zeros(32),
    number: genesis.l2.number,
    stateRoot: keccak256(zeros(32)),
    attributes: {
      timestamp: genesis.l2TimeSec,
      prevRandao: zeros(32),
      suggestedFeeRecipient: zeros(20),
      transactions: [],
      noTxPool: true,
      gasLimit: genesis.systemConfig.gasLimit,
      ...(rules.hasWithdrawals ? { withdrawals: [] } : {}),
      ...(rules.hasBeaconRoot ? { parentBeaconBlockRoot: zeros(32) } : {}),
      ...(rules.extraDataVersion === undefined ? {} : { eip1559Params: zeros(8) }),
      ...(hasMinBaseFee(rules.extraDataVersion) ? { minBaseFee: 0n } : {}),
    },
  });
}

import {
  type BlockSelector,
  blockEnvironment,
  executedBlock,
  LayeredState,
  layeredNodes,
  messagePasserRoot,
  type ParentTrie,
  PreparedBlock,
  payBlockRewards,
  receiptsRoot,
  requestsHash,
  rulesOfBlock,
  StateLayers,
  stateLayerOf,
  stateUpdate,
} from "@rnode/chain";
import type { BlockExecution, CallOutcome, EvmEngine } from "@rnode/evm";
import { INVALID_PARAMS, RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, EMPTY_BYTES, EMPTY_OMMERS_HASH, EMPTY_TRIE_ROOT, equalBytes, toQuantity, ZERO_HASH } from "@rnode/primitives";
import {
  BEACON_ROOTS_ADDRESS,
  type BlockRules,
  daFootprint,
  encodeTransaction,
  encodeWithdrawal,
  exactTimestamp,
  GAS_PER_BLOB,
  type Header,
  HISTORY_STORAGE_ADDRESS,
  hashTransaction,
  logsBloom,
  mergeBlooms,
  nextBaseFee,
  nextExcessBlobGas,
  positionFields,
  type Receipt,
  type SignedTransaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { blockIdOf, type HeaderAt, pendingOnHead, type ReadBackend, requireState } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import { blockToJson } from "../json/block-json.ts";
import { l1InfoOfBlock } from "../json/l1-fee-fields.ts";
import { logToJson, placeOf } from "../json/receipt-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { MAX_SIMULATED_BLOCKS, type SimulatedBlock, type SimulateRequest } from "../params/simulate-request.ts";
import type { CallLimits } from "./call-service.ts";
import { gasPriceOf } from "./call-validity.ts";
import { applyStateOverrides, overriddenEnvironment } from "./overrides.ts";
import { type BaseOfBlocks, pendingBase } from "./pending-base.ts";
import { failureOf, simulationError, simulationFault, transactionOfCall } from "./simulated-call.ts";
import { interruptible, limitedCall } from "./time-limit.ts";
import { type IndexedLog, TransferTracer } from "./transfer-tracer.ts";

const SECONDS_A_BLOCK = 12n;
const WEI_PER_GWEI = 1_000_000_000n;

/** A block to simulate, with its number and timestamp decided. */
interface PlannedBlock {
  readonly number: number;
  /** seconds */
  readonly timestamp: bigint;
  readonly asked: SimulatedBlock;
}

interface CallRun {
  readonly tx: SignedTransaction;
  readonly sender: Uint8Array;
  readonly outcome: CallOutcome;
  /** the logs to show, including ether transfers if those were requested */
  readonly logs: readonly IndexedLog[];
}

/** What the earlier calls of the block have used. */
interface BlockProgress {
  readonly gasLeft: bigint;
  /** number of logs so far */
  readonly logCount: number;
  readonly tracer: TransferTracer | undefined;
}

/** What all blocks of a simulation share. */
interface Simulation {
  readonly work: Work;
  readonly request: SimulateRequest;
  readonly base: BaseOfBlocks;
  /** newest first */
  readonly layers: StateLayers;
  gasBudget: bigint;
}

/** `eth_simulateV1`: executes hypothetical blocks, one on top of the other. Spec: execution-apis */
export class SimulateService {
  readonly #backend: ReadBackend;
  readonly #engine: EvmEngine;
  readonly #limits: CallLimits;

  constructor(backend: ReadBackend, engine: EvmEngine, limits: CallLimits) {
    this.#backend = backend;
    this.#engine = engine;
    this.#limits = limits;
  }

  /** @throws {RpcError} */
  simulate(work: Work, request: SimulateRequest, selector: BlockSelector): JsonObject[] {
    const base = this.#base(selector);
    const planned = planBlocks(request.blockStateCalls, base.header, this.#backend.profile.simulation.noBlocksText);
    const limited = limitedCall(work, this.#limits.timeoutMs, this.#backend.profile);
    const simulation: Simulation = {
      work: limited,
      request,
      base,
      layers: new StateLayers(),
      gasBudget: this.#limits.gasCap,
    };
    try {
      return interruptible(this.#engine, limited, () => {
        let parent: HeaderAt = base;
        return planned.map((block) => {
          limited.check();
          const { json, at } = this.#simulateBlock(simulation, parent, block);
          parent = at;
          return json;
        });
      });
    } finally {
      this.#engine.setTracer(undefined);
    }
  }

  /** @throws {RpcError} */
  #base(selector: BlockSelector): BaseOfBlocks {
    const { chain, profile } = this.#backend;
    const at = requireState(this.#backend, selector);
    const pending = pendingOnHead(this.#backend);
    if (pending !== undefined && equalBytes(pending.hash, at.hash)) {
      const base = pendingBase(this.#backend, pending, chain.head());
      if (base !== undefined) return base;
    }
    const nodes = chain.trieNodesAt(blockIdOf(at));
    if (nodes === undefined) throw rpcErrorOf(profile.errors.proofUnavailable(selector));
    const { header, hash, state } = at;
    return { header, hash, state, nodes };
  }

  #simulateBlock(simulation: Simulation, parent: HeaderAt, planned: PlannedBlock): { json: JsonObject; at: HeaderAt } {
    const { request, layers, base } = simulation;
    const { config } = this.#backend.chain;
    const { asked } = planned;
    const overrides = asked.blockOverrides;
    const open = this.#openHeader(simulation, parent, planned);
    const rules = rulesOfBlock(config, open);
    const parentId = blockIdOf(parent);
    const reader = layers.depth === 0 ? base.state : new LayeredState(parentId, base.state, layers);
    const nodes = layers.depth === 0 ? base.nodes : layeredNodes(base.nodes, layers);
    const tracer = request.traceTransfers ? new TransferTracer() : undefined;
    this.#engine.setTracer(tracer);
    const environment = overriddenEnvironment(blockEnvironment(rules, open), {
      number: undefined,
      time: undefined,
      difficulty: undefined,
      gasLimit: undefined,
      feeRecipient: undefined,
      prevRandao: undefined,
      baseFeePerGas: undefined,
      blobBaseFee: overrides?.blobBaseFee,
    });
    const execution = this.#engine.beginBlock(rules, environment, reader);
    applyStateOverrides(execution, asked.stateOverrides ?? []);
    if (rules.storesParentHash) execution.systemCall(HISTORY_STORAGE_ADDRESS, parent.hash);
    if (open.parentBeaconBlockRoot !== undefined) execution.systemCall(BEACON_ROOTS_ADDRESS, open.parentBeaconBlockRoot);
    tracer?.take();

    const runs: CallRun[] = [];
    let gasUsed = 0n;
    let logCount = 0;
    for (const call of asked.calls ?? []) {
      const run = this.#runCall(simulation, execution, { gasLeft: open.gasLimit - gasUsed, logCount, tracer }, call);
      gasUsed += run.outcome.gasUsed;
      logCount += run.outcome.logs.length;
      simulation.gasBudget -= run.outcome.gasUsed;
      runs.push(run);
    }
    for (const { address, amount } of overrides?.withdrawals ?? []) execution.addBalance(address, amount * WEI_PER_GWEI);

    if (!rules.isPostMerge) payBlockRewards(execution, rules, open, []);

    const footprint = this.#daFootprint(simulation, rules, runs);
    const receipts = receiptsOf(runs);
    const bloom = mergeBlooms(receipts.map((receipt) => receipt.bloom));
    const result = {
      receipts,
      gasUsed,
      logsBloom: bloom,
      requests: [],
      daFootprint: footprint,
      changes: execution.changes(),
      tipsWei: 0n,
    };
    const trie: ParentTrie = {
      stateRoot: parent.header.stateRoot,
      nodes,
      storageRootOf: (address) => reader.readAccount(address)?.storageRoot,
    };
    const update = stateUpdate(trie, result.changes);
    const transactions = runs.map(({ tx }) => tx);
    const withdrawals = rules.hasWithdrawals ? (overrides?.withdrawals ?? []) : undefined;
    const blobs = transactions.reduce((count, tx) => count + (tx.type === 0x03 ? tx.blobVersionedHashes.length : 0), 0);
    const header: Header = {
      ...open,
      ...(open.blobGasUsed !== undefined && {
        blobGasUsed: rules.op === undefined ? BigInt(blobs) * GAS_PER_BLOB : footprint,
      }),
      stateRoot: update.stateRoot,
      transactionsRoot: orderedTrieRoot(transactions.map(encodeTransaction)),
      receiptsRoot: receiptsRoot(result),
      logsBloom: bloom,
      gasUsed,
      ...(withdrawals !== undefined && {
        withdrawalsRoot: rules.hasMessagePasserRoot
          ? messagePasserRoot(trie, update)
          : orderedTrieRoot(withdrawals.map(encodeWithdrawal)),
      }),
      ...(rules.hasExecutionRequests && { requestsHash: requestsHash([]) }),
    };
    const senders = runs.map(({ sender }) => sender);
    const block = new PreparedBlock({ header, transactions, ommers: [], withdrawals }, { senders });
    const executed = executedBlock(block, senders, result, update);
    layers.add(stateLayerOf(executed));
    return { json: this.#blockJson(request, executed, runs), at: block };
  }

  /** The header fields that are known before the block runs. */
  #openHeader({ base, request }: Simulation, parent: HeaderAt, { number, timestamp, asked }: PlannedBlock): Header {
    const position = positionFields(BigInt(number), timestamp);
    const timestampSec = position.timestamp;
    const { profile, chain } = this.#backend;
    const { config } = chain;
    const overrides = asked.blockOverrides;
    const difficulty = overrides?.difficulty ?? parent.header.difficulty;
    const rules: BlockRules = rulesOfBlock(config, { number, timestamp: timestampSec, difficulty });
    // Without validation the base fee is 0 unless the request sets one.
    const feeParent = { ...parent.header, extraData: base.header.extraData }; // which a simulated parent may lack
    const baseFee = overrides?.baseFeePerGas ?? (request.validation === true ? nextBaseFee(config, feeParent, timestampSec) : 0n);
    return {
      parentHash: parent.hash,
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: overrides?.feeRecipient ?? parent.header.beneficiary,
      stateRoot: EMPTY_TRIE_ROOT,
      transactionsRoot: EMPTY_TRIE_ROOT,
      receiptsRoot: EMPTY_TRIE_ROOT,
      logsBloom: new Uint8Array(256),
      difficulty,
      ...position,
      gasLimit: overrides?.gasLimit ?? parent.header.gasLimit,
      gasUsed: 0n,
      // On an OP Stack chain, extraData holds the parameters for the base fee of the next block.
      extraData: rules.op === undefined || !profile.simulation.keepsExtraData ? new Uint8Array(0) : parent.header.extraData,
      mixHash: overrides?.prevRandao ?? ZERO_HASH,
      nonce: new Uint8Array(8),
      ...(rules.hasBaseFee && { baseFeePerGas: baseFee }),
      ...(rules.hasBlobGas && {
        blobGasUsed: 0n,
        excessBlobGas: rules.op === undefined ? nextExcessBlobGas(config, parent.header, timestampSec) : 0n,
      }),
      ...(rules.hasBeaconRoot && {
        parentBeaconBlockRoot:
          overrides?.beaconRoot ??
          (profile.simulation.keepsBeaconRoot ? parent.header.parentBeaconBlockRoot : undefined) ??
          ZERO_HASH,
      }),
    };
  }

  /**
   * The DA footprint of the block's transactions, with the L1 attributes of the base block; 0 if the profile's client does not
   * compute it.
   */
  #daFootprint({ base }: Simulation, rules: BlockRules, runs: readonly CallRun[]): bigint {
    const { profile, chain } = this.#backend;
    if (!rules.hasDaFootprint || !profile.simulation.countsFootprint) return 0n;
    const block = chain.bodyOf({ kind: "hash", hash: base.hash, requireCanonical: false })?.block;
    const l1 = block && l1InfoOfBlock(block);
    if (l1 === undefined) return 0n;
    return runs.reduce((sum, { tx }) => sum + daFootprint(rules, l1.params, encodeTransaction(tx)), 0n);
  }

  #runCall(
    simulation: Simulation,
    execution: BlockExecution,
    { gasLeft, logCount, tracer }: BlockProgress,
    call: NonNullable<SimulatedBlock["calls"]>[number],
  ): CallRun {
    const { gasBudget, request } = simulation;
    const { gasCap } = this.#limits;
    if (gasBudget <= 0n) throw simulationError("client-limit", `gas cap of the simulation is used up: ${gasCap}`);
    const wanted = call.gas ?? gasLeft;
    if (wanted > gasLeft)
      throw simulationError("block-gas-limit", `block gas limit reached: remaining: ${gasLeft}, required: ${wanted}`);
    const gasLimit = wanted < gasBudget ? wanted : gasBudget;
    const nonce = execution.getNonce(call.from ?? new Uint8Array(20));
    const simulated = transactionOfCall(call, this.#backend.chain.config.chainId, nonce, gasLimit);
    const { tx, sender } = simulated;
    const { profile } = this.#backend;
    const fault = simulationFault({ profile, execution, validation: request.validation ?? false }, call, simulated);
    if (fault !== undefined) throw rpcErrorOf(profile.errors.simulation(fault));
    const gasPrice = gasPriceOf(profile, call, execution.environment.baseFeePerGas);
    if (tx.type === 0x03) payBlobFee(execution, sender, tx.blobVersionedHashes.length);
    const outcome = execution.applyMessage({
      from: sender,
      to: tx.to,
      gasLimit,
      value: tx.value,
      data: tx.data,
      gasPrice,
      accessList: "accessList" in tx ? tx.accessList : (call.accessList ?? []),
      ...(tx.type === 0x04 && { authorizationList: tx.authorizationList }),
      ...(tx.type === 0x03 && { blobVersionedHashes: tx.blobVersionedHashes }),
    });
    const logs = tracer?.take() ?? outcome.logs.map((log, position) => ({ log, index: logCount + position }));
    return { tx, sender, outcome, logs: outcome.status === 0 ? [] : logs };
  }

  #blockJson(request: SimulateRequest, executed: ReturnType<typeof executedBlock>, runs: readonly CallRun[]): JsonObject {
    const { profile } = this.#backend;
    const place = placeOf(executed);
    const calls = runs.map(({ tx, outcome, logs }, transactionIndex): JsonObject => {
      const transactionHash = hashTransaction(tx);
      return {
        returnData: bytesToHex(outcome.status === 0 ? EMPTY_BYTES : outcome.output),
        logs: logs.map(({ log, index }) => logToJson(log, { block: place, transactionHash, transactionIndex, logIndex: index })),
        gasUsed: toQuantity(outcome.gasUsed),
        maxUsedGas: toQuantity(outcome.maxGasUsed),
        status: toQuantity(outcome.status),
        ...(outcome.halt !== undefined && { error: failureOf(outcome.halt, outcome) }),
      };
    });
    const full = request.returnFullTransactions ?? false;
    return { ...blockToJson(profile, executed, { full, totalDifficulty: undefined }), calls };
  }
}

/** Decides the numbers and timestamps of the blocks, and fills gaps in the numbers with empty blocks. @throws {RpcError} */
function planBlocks(asked: readonly SimulatedBlock[], base: Header, noBlocksText: string): PlannedBlock[] {
  if (asked.length === 0) throw new RpcError(INVALID_PARAMS, noBlocksText);
  if (asked.length > MAX_SIMULATED_BLOCKS) throw simulationError("client-limit", "too many blocks");
  const planned: PlannedBlock[] = [];
  let { number } = base;
  let timestamp = BigInt(exactTimestamp(base));
  for (const block of asked) {
    const wanted = block.blockOverrides?.number ?? number + 1;
    if (wanted <= number) throw simulationError("number-order", `block numbers must be in order: ${wanted} <= ${number}`);
    if (wanted - base.number > MAX_SIMULATED_BLOCKS) throw simulationError("client-limit", "too many blocks");
    while (number + 1 < wanted) {
      number++;
      timestamp += SECONDS_A_BLOCK;
      planned.push({ number, timestamp, asked: EMPTY });
    }
    const time = block.blockOverrides?.time ?? timestamp + SECONDS_A_BLOCK;
    if (time <= timestamp) throw simulationError("time-order", `block timestamps must be in order: ${time} <= ${timestamp}`);
    if (time >> 64n) throw simulationError("time-order", `block timestamps must be below 2^64: ${time}`);
    number = wanted;
    timestamp = time;
    planned.push({ number, timestamp, asked: block });
  }
  return planned;
}

const EMPTY: SimulatedBlock = { blockOverrides: undefined, stateOverrides: undefined, calls: undefined };

function payBlobFee(execution: BlockExecution, sender: Uint8Array, blobs: number): void {
  const fee = BigInt(blobs) * GAS_PER_BLOB * execution.environment.blobBaseFee;
  execution.setBalance(sender, execution.getBalance(sender) - fee);
}

function receiptsOf(runs: readonly CallRun[]): Receipt[] {
  let cumulativeGasUsed = 0n;
  return runs.map(({ tx, outcome }) => {
    cumulativeGasUsed += outcome.gasUsed;
    const logs = outcome.status === 0 ? [] : outcome.logs;
    return { type: tx.type, status: outcome.status, cumulativeGasUsed, bloom: logsBloom(logs), logs };
  });
}

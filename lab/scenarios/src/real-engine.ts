import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type BlockSelector,
  type Chain,
  createSenderCache,
  GenesisState,
  initGenesis,
  openChain,
  type PendingTransaction,
  rulesOfBlock,
  type SealedGenesis,
  sealGenesis,
} from "@rnode/chain";
import { rootsHere } from "@rnode/chain/testing";
import { type BlockPeers, ServedChain } from "@rnode/devp2p";
import { blockToJson, type JsonObject, PROFILE_G, PROFILE_R, type Profile, receiptsToJson } from "@rnode/eth-api";
import { type MethodTable, type RequestContext, RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { type Logger, silentLogger } from "@rnode/observe";
import { bytesToHex, type Clock, equalBytes, type Hex, hexToBytes, parseQuantityNumber, toQuantity } from "@rnode/primitives";
import {
  attributesFromJson,
  blockToPayload,
  type ChainConfig,
  decodeTransaction,
  type ExecutionPayloadEnvelope,
  type ExecutionPayloadJson,
  extraDataFromAttributes,
  hashTransaction,
  hasMinBaseFee,
  isDepositTransaction,
  isSigned,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  PREDEPLOYS,
  parseGenesis,
  payloadToJson,
  type RollupConfig,
  rollupRulesAt,
} from "@rnode/protocol";
import { engineMethods } from "@rnode/rengine";
import { createSnapshot, loadSnapshot, restoreSnapshot, type SnapshotMade } from "@rnode/snapshot";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { ChainSync, HeaderFile } from "@rnode/sync";
import { fairRefunds } from "./gas-refunds.ts";
import type { Random } from "./random.ts";
import type { ScenarioEngine } from "./scenario-engine.ts";
import { scratchFolder } from "./scratch.ts";

const word = (digits: string): string => `0x${digits.padStart(64, "0")}`;
const NOBODY: RequestContext = { transport: "http", remoteAddress: "", isGone: false, onGone: () => () => {} };

function chainConfigOf({ l2ChainId, forkTimes, chainOpConfig }: RollupConfig): ChainConfig {
  return {
    chainId: l2ChainId,
    forkBlocks: {},
    evmForkTimes: {},
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    optimism: { ...chainOpConfig, forkTimes, bedrockBlock: 0 },
  };
}

/** Code at an address from the genesis on. */
export interface GenesisContract {
  readonly address: Uint8Array;
  readonly code: Uint8Array;
}

/** The genesis file, but for its `config`, of a rollup whose user has money, and whose fees are as good as nothing. */
function genesisFields(config: RollupConfig, user: Uint8Array, contracts: readonly GenesisContract[]): JsonObject {
  const { l2TimeSec, systemConfig } = config.genesis;
  const { extraDataVersion } = rollupRulesAt(config.forkTimes, l2TimeSec);
  const { eip1559DenominatorCanyon: denominator, eip1559Elasticity: elasticity } = config.chainOpConfig;
  const extraData =
    extraDataVersion === undefined
      ? new Uint8Array(0)
      : extraDataFromAttributes(new Uint8Array(8), { denominator, elasticity }, hasMinBaseFee(extraDataVersion) ? 0n : undefined);
  return {
    timestamp: l2TimeSec,
    gasLimit: toQuantity(systemConfig.gasLimit),
    extraData: bytesToHex(extraData),
    baseFeePerGas: "0x1",
    alloc: {
      [bytesToHex(user)]: { balance: toQuantity(10n ** 24n) },
      [bytesToHex(PREDEPLOYS.l1Block)]: { balance: "0x0", nonce: "0x1" }, // not empty, so a deposit to it does not delete it
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { balance: "0x0", nonce: "0x1", storage: { [word("1")]: word("1") } },
      ...Object.fromEntries(
        contracts.map(({ address, code }) => [bytesToHex(address), { balance: "0x0", nonce: "0x1", code: bytesToHex(code) }]),
      ),
    },
  };
}

function sealedGenesis(config: RollupConfig, user: Uint8Array, contracts: readonly GenesisContract[]): SealedGenesis {
  const { header, alloc } = parseGenesis({ config: null, ...genesisFields(config, user, contracts) });
  return sealGenesis(header, chainConfigOf(config), GenesisState.of(alloc));
}

/** The hash of the genesis block that a `RealEngine` has. All of the configuration but this hash must be known. */
export const realGenesisHash = (config: RollupConfig, user: Uint8Array, contracts: readonly GenesisContract[] = []): Hex =>
  bytesToHex(sealedGenesis(config, user, contracts).hash);

export interface RealEngineOptions {
  readonly user: Uint8Array;
  readonly profile: "R" | "G";
  readonly contracts?: readonly GenesisContract[] | undefined;
  /** fills the empty database; default: the genesis */
  readonly fill?: ((store: ChainDatabase) => void) | undefined;
  /** it can get blocks from these; default: it has no peers, and answers SYNCING for good where a parent is missing */
  readonly peers?: BlockPeers | undefined;
  readonly log?: Logger | undefined;
  /** it refunds gas in half of the blocks that it builds with users' transactions, from Lagoon on; default: never, as rengine */
  readonly refunds?: Random | undefined;
}

/** The resources of a start. */
interface Opened {
  readonly store: ChainDatabase;
  readonly chain: Chain;
  readonly sync: ChainSync | undefined;
  readonly served: ServedChain;
  readonly methods: MethodTable;
}

/** rengine without sockets: the chain with its database, the Engine API's methods over it, and its sync from peers. */
export class RealEngine implements ScenarioEngine {
  readonly #config: RollupConfig;
  readonly #clock: Clock;
  readonly #options: RealEngineOptions;
  readonly #profile: Profile;
  readonly #folder = scratchFolder("rnode-engine-");
  #opened: Opened;
  /** whether the program runs */
  #isUp = true;
  readonly #senders = createSenderCache({ workers: 0 });
  /** users' transactions, by nonce: those of a replaced block return to the pool */
  readonly #pool = new Map<bigint, PendingTransaction>();
  readonly #refs = new Map<Hex, L2BlockRef>();
  /** of the latest build with transactions from the pool */
  #building: { readonly id: Hex; readonly attributes: PayloadAttributes } | undefined;

  constructor(config: RollupConfig, clock: Clock, options: RealEngineOptions) {
    this.#config = config;
    this.#clock = clock;
    this.#options = options;
    this.#profile = options.profile === "R" ? PROFILE_R : PROFILE_G;
    const { user, contracts = [], fill = (store) => initGenesis(store, sealedGenesis(config, user, contracts)) } = options;
    this.#opened = this.#open(fill);
  }

  #open(fill: (store: ChainDatabase) => void = () => {}): Opened {
    const clock = this.#clock;
    const nowMs = () => clock.unixMs();
    const store = openChainStore(this.#folder, { sync: "interval" });
    fill(store);
    const chain = openChain(
      // No thread for an import's state roots, because its time is not simulated.
      { store, config: chainConfigOf(this.#config), senders: this.#senders, nowMs, startGroupRoots: rootsHere },
      { maxStateTrieNodes: 10_000 },
    );
    chain.setPendingSource({ best: () => this.#pending() });
    const { peers, log = silentLogger } = this.#options;
    const genesis = { number: chain.genesis.block.header.number, hash: chain.genesis.hash };
    const sync =
      peers &&
      new ChainSync({
        chain,
        peers,
        clock,
        log,
        adviceWithoutPeers: "",
        store: new HeaderFile(join(this.#folder, "sync"), genesis, log),
      });
    const methods = engineMethods({
      chain,
      heads: sync,
      profile: this.#profile,
      senders: this.#senders,
      nowMs,
      log: silentLogger,
      onSignal: () => {},
    });
    return { store, chain, sync, served: new ServedChain(store), methods };
  }

  /** Kills the program at any point, and restarts it with its stored data. */
  async restart(): Promise<void> {
    await this.#stop();
    this.#opened = this.#open();
    this.#refs.clear();
    this.#isUp = true;
  }

  async #stop(): Promise<void> {
    this.#isUp = false;
    await this.#opened.sync?.close();
    await this.#opened.chain.close();
  }

  /** The blocks for its peers; `undefined`: it is not running. */
  get served(): ServedChain | undefined {
    return this.#isUp ? this.#opened.served : undefined;
  }

  /** whether it is on its way to a head */
  get isSyncing(): boolean {
    return this.#opened.sync?.status !== undefined;
  }

  get #chain(): Chain {
    return this.#opened.chain;
  }

  /** An engine of the same chain that begins with a snapshot. */
  static async restored(
    file: string,
    config: RollupConfig,
    clock: Clock,
    options: Omit<RealEngineOptions, "fill">,
  ): Promise<RealEngine> {
    const genesisHash = hexToBytes(config.genesis.l2.hash);
    const loaded = await loadSnapshot(file, { config: chainConfigOf(config), genesisHash });
    try {
      return new RealEngine(config, clock, { ...options, fill: (store) => void restoreSnapshot(store, loaded) });
    } finally {
      loaded.close();
    }
  }

  /** Writes a snapshot to a file. @param blocks default: the number needed to start from it */
  async snapshot(file: string, blockNumber: number, blocks?: number): Promise<SnapshotMade> {
    const { genesis } = this.#config;
    const config = chainConfigOf(this.#config);
    const request = { config, genesisHash: hexToBytes(genesis.l2.hash), blockNumber, blocks };
    return await createSnapshot(this.#opened.store, request, async (bytes) => appendFileSync(file, bytes));
  }

  get head(): L2BlockRef {
    return this.#ref({ kind: "tag", tag: "latest" })!;
  }

  get finalized(): L2BlockRef | undefined {
    return this.#ref({ kind: "tag", tag: "finalized" });
  }

  refByHash(hash: Hex): L2BlockRef | undefined {
    const known = this.#refs.get(hash);
    if (known !== undefined) return known;
    const ref = this.#ref({ kind: "hash", hash: hexToBytes(hash), requireCanonical: false });
    if (ref !== undefined) this.#refs.set(hash, ref);
    return ref;
  }

  canonicalRef(number: number): L2BlockRef | undefined {
    return this.#ref({ kind: "number", number });
  }

  canonicalPayload(number: number): ExecutionPayloadEnvelope | undefined {
    return this.#payload({ kind: "number", number });
  }

  addUserTransaction(encoded: Uint8Array): void {
    const transaction = decodeTransaction(encoded);
    if (!isSigned(transaction)) throw new Error("users sign their transactions");
    this.#pool.set(transaction.nonce, { transaction, sender: this.#options.user, encoded, hash: hashTransaction(transaction) });
  }

  /** Returns with an older head, as after a rewind: its labels and executed blocks still exist. */
  loseUnsafe(count: number): number {
    const [head, safe, finalized] = (["latest", "safe", "finalized"] as const).map((tag) =>
      this.#chain.headerOf({ kind: "tag", tag }),
    );
    const number = Math.max(safe?.header.number ?? 0, head!.header.number - count);
    const { hash } = this.#chain.headerOf({ kind: "number", number })!;
    const zero = new Uint8Array(32);
    const state = { headBlockHash: hash, safeBlockHash: safe?.hash ?? zero, finalizedBlockHash: finalized?.hash ?? zero };
    const result = this.#chain.forkchoiceUpdated(state, undefined, 3);
    if (result.kind !== "updated") throw new Error(`the engine cannot go back to block ${number}: ${result.kind}`);
    return number;
  }

  handle(method: string, params: readonly unknown[]): unknown {
    if (!this.#isUp) throw unreachable();
    const declared = this.#opened.methods[method];
    if (declared !== undefined) {
      const args = declared.params.map(({ shape, optional }, i) => {
        const given = params[i];
        if (optional && (given === undefined || given === null)) return undefined;
        return shape.parse(given);
      });
      const answer = plain(this.#whileUp(declared.handler(args, NOBODY)));
      return this.#options.refunds === undefined ? answer : this.#producing(this.#options.refunds, method, params, answer);
    }
    switch (method) {
      case "eth_chainId":
        return toQuantity(this.#config.l2ChainId);
      case "eth_getBlockReceipts": {
        const stored = this.#chain.resolve({ kind: "hash", hash: hexToBytes(params[0] as Hex), requireCanonical: false });
        if (stored === undefined) return null;
        return receiptsToJson(this.#profile, rulesOfBlock(chainConfigOf(this.#config), stored.block.header), stored);
      }
      case "eth_getBlockByHash":
        return this.#show({ kind: "hash", hash: hexToBytes(params[0] as Hex), requireCanonical: false }, params[1]);
      case "eth_getBlockByNumber": {
        const which = String(params[0]);
        const isTag = which === "latest" || which === "safe" || which === "finalized";
        return this.#show(isTag ? { kind: "tag", tag: which } : { kind: "number", number: parseQuantityNumber(which) }, params[1]);
      }
      default:
        throw new RpcError(-32601, `the method ${method} does not exist`);
    }
  }

  /** Adds gas refunds to blocks, as a third party's producer does: it builds the block, then the same block with its refunds. */
  async #producing(random: Random, method: string, params: readonly unknown[], answered: Promise<unknown>): Promise<unknown> {
    const answer = await answered;
    if (method.startsWith("engine_forkchoiceUpdated")) {
      const { payloadId } = answer as { payloadId: Hex | null };
      const attributes = payloadId === null ? undefined : attributesFromJson(params[1]);
      if (payloadId !== null && attributes?.noTxPool === false) this.#building = { id: payloadId, attributes };
    }
    const building = this.#building;
    if (!method.startsWith("engine_getPayloadV") || building === undefined || building.id !== params[0]) return answer;
    const { executionPayload, ...others } = answer as { executionPayload: ExecutionPayloadJson };
    const { attributes } = building;
    const { acceptsGasRefunds } = rollupRulesAt(this.#config.forkTimes, attributes.timestamp);
    const transactions = executionPayload.transactions.map(hexToBytes);
    if (!acceptsGasRefunds || transactions.every(isDepositTransaction) || random.chance(0.5)) return answer;
    transactions.push(fairRefunds(random, BigInt(executionPayload.blockNumber), transactions));
    const built = this.#chain.buildBlock(hexToBytes(executionPayload.parentHash), { ...attributes, noTxPool: true, transactions });
    if (built.kind !== "built") throw new Error(`a block with refunds: ${JSON.stringify(built)}`);
    const { block, hash } = built.payload;
    const { executionPayload: refunded } = blockToPayload(block, hash, true);
    return { ...others, executionPayload: JSON.parse(JSON.stringify(payloadToJson(refunded))) };
  }

  /** Who waits for an answer of a program that ends gets none. */
  async #whileUp<T>(answer: T | Promise<T>): Promise<T> {
    const opened = this.#opened;
    const isGone = (): boolean => !this.#isUp || this.#opened !== opened;
    try {
      const value = await answer;
      if (isGone()) throw unreachable();
      return value;
    } catch (error) {
      throw isGone() ? unreachable() : error;
    }
  }

  async remove(): Promise<void> {
    await this.#stop();
    await this.#senders.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #show(selector: BlockSelector, full: unknown): JsonObject | null {
    const stored = this.#chain.resolve(selector);
    if (stored === undefined) return null;
    return blockToJson(this.#profile, stored, { full: full === true, totalDifficulty: undefined });
  }

  #payload(selector: BlockSelector): ExecutionPayloadEnvelope | undefined {
    const stored = this.#chain.bodyOf(selector);
    if (stored === undefined) return undefined;
    const { hasMessagePasserRoot } = rollupRulesAt(this.#config.forkTimes, stored.block.header.timestamp);
    return blockToPayload(stored.block, stored.hash, hasMessagePasserRoot);
  }

  #ref(selector: BlockSelector): L2BlockRef | undefined {
    const payload = this.#payload(selector)?.executionPayload;
    if (payload === undefined) return undefined;
    const { genesis } = this.#config;
    if (payload.blockNumber === genesis.l2.number && equalBytes(payload.blockHash, hexToBytes(genesis.l2.hash))) {
      const parentHash = bytesToHex(payload.parentHash);
      return { ...genesis.l2, parentHash, timestamp: genesis.l2TimeSec, l1Origin: genesis.l1, sequenceNumber: 0 };
    }
    return l2BlockRefFromPayload(this.#config, payload);
  }

  /** The user's transactions that follow the state of the head. */
  #pending() {
    let nonce = this.#chain.stateAt(this.#chain.head())?.readAccount(this.#options.user)?.nonce ?? 0n;
    let isSkipped = false;
    return {
      next: () => (isSkipped ? undefined : this.#pool.get(nonce++)),
      skipSender: () => {
        isSkipped = true;
      },
    };
  }
}

const unreachable = (): RpcTransportError =>
  new RpcTransportError("rpc/unreachable", { endpoint: "engine", reason: "connection refused" });

/** An answer as it arrives: JSON. */
async function plain(answer: unknown): Promise<unknown> {
  return JSON.parse(JSON.stringify((await answer) ?? null));
}

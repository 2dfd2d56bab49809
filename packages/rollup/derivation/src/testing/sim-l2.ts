import {
  bigintToBytes,
  bytesToHex,
  concatBytes,
  EMPTY_BYTES,
  encodeRlp,
  type Hex,
  hexToBytes,
  keccak256,
  rlpUint,
} from "@rnode/primitives";
import {
  type ExecutionPayload,
  hasMinBaseFee,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  type RollupConfig,
  rollupRulesAt,
  type SystemConfig,
  systemConfigFromPayload,
} from "@rnode/protocol";
import type { L2Provider } from "../l1/providers.ts";

/** An L2 engine in memory that executes nothing: a block's hash commits to its parent and its attributes. */
export class SimL2 implements L2Provider {
  readonly #config: RollupConfig;
  readonly #byHash = new Map<Hex, ExecutionPayload>();
  #chain: ExecutionPayload[] = [];
  /** number of calls that will still fail */
  failures = 0;

  constructor(config: RollupConfig) {
    this.#config = config;
    this.#add(genesisPayload(config));
  }

  get head(): L2BlockRef {
    return this.#ref(this.#chain.at(-1)!);
  }
  get payloads(): readonly ExecutionPayload[] {
    return this.#chain;
  }
  /** hashes of all blocks, from the genesis on */
  get hashes(): Hex[] {
    return this.#chain.map(({ blockHash }) => bytesToHex(blockHash));
  }

  /** Builds a block on `parent`, which becomes the head. */
  build(parent: L2BlockRef, attributes: PayloadAttributes): L2BlockRef {
    this.rewind(parent.number);
    const payload = payloadOf(this.#config, parent, attributes);
    this.#add(payload);
    return this.#ref(payload);
  }

  /** Makes block `number` the head; the blocks after it stay known by hash. */
  rewind(number: number): void {
    this.#chain.length = number - this.#config.genesis.l2.number + 1;
  }

  /** Takes over another engine's chain. */
  adopt(other: SimL2): void {
    this.#chain = [];
    for (const payload of other.payloads) this.#add(payload);
  }

  refAt(number: number): L2BlockRef {
    return this.#ref(this.#chain[number - this.#config.genesis.l2.number]!);
  }

  #add(payload: ExecutionPayload): void {
    this.#chain.push(payload);
    this.#byHash.set(bytesToHex(payload.blockHash), payload);
  }

  #ref(payload: ExecutionPayload): L2BlockRef {
    return l2BlockRefFromPayload(this.#config, payload);
  }

  #failOnDemand(): void {
    if (this.failures === 0) return;
    this.failures--;
    throw new Error("L2 failed");
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    this.#failOnDemand();
    const payload = this.#chain[number - this.#config.genesis.l2.number];
    return payload === undefined ? undefined : this.#ref(payload);
  }
  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    this.#failOnDemand();
    const payload = this.#byHash.get(hash);
    return payload === undefined ? undefined : this.#ref(payload);
  }
  async payloadByNumber(number: number): Promise<ExecutionPayload | undefined> {
    this.#failOnDemand();
    return this.#chain[number - this.#config.genesis.l2.number];
  }
  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    this.#failOnDemand();
    const payload = this.#byHash.get(hash);
    return payload === undefined ? undefined : systemConfigFromPayload(this.#config, payload);
  }
}

const common = {
  feeRecipient: new Uint8Array(20),
  stateRoot: new Uint8Array(32),
  receiptsRoot: new Uint8Array(32),
  logsBloom: new Uint8Array(256),
  gasUsed: 0n,
  baseFeePerGas: 1n,
};

function genesisPayload({ genesis }: RollupConfig): ExecutionPayload {
  return {
    ...common,
    parentHash: new Uint8Array(32),
    prevRandao: new Uint8Array(32),
    blockNumber: genesis.l2.number,
    gasLimit: genesis.systemConfig.gasLimit,
    timestamp: genesis.l2TimeSec,
    extraData: EMPTY_BYTES,
    blockHash: hexToBytes(genesis.l2.hash),
    transactions: [],
  };
}

function payloadOf(config: RollupConfig, parent: L2BlockRef, attributes: PayloadAttributes): ExecutionPayload {
  const { timestamp, prevRandao, gasLimit = 0n, transactions = [] } = attributes;
  const extraData = extraDataOf(config, attributes);
  const commitment = encodeRlp([
    hexToBytes(parent.hash),
    rlpUint(parent.number + 1),
    rlpUint(timestamp),
    prevRandao,
    rlpUint(gasLimit),
    extraData,
    attributes.parentBeaconBlockRoot ?? EMPTY_BYTES,
    attributes.withdrawals === undefined ? EMPTY_BYTES : [],
    [...transactions],
  ]);
  return {
    ...common,
    parentHash: hexToBytes(parent.hash),
    feeRecipient: attributes.suggestedFeeRecipient,
    prevRandao,
    blockNumber: parent.number + 1,
    gasLimit,
    timestamp,
    extraData,
    blockHash: keccak256(commitment),
    transactions,
    withdrawals: attributes.withdrawals,
  };
}

function extraDataOf({ forkTimes, chainOpConfig }: RollupConfig, attributes: PayloadAttributes): Uint8Array {
  const { timestamp, eip1559Params, minBaseFee } = attributes;
  const { extraDataVersion } = rollupRulesAt(forkTimes, timestamp);
  if (eip1559Params === undefined && minBaseFee === undefined && extraDataVersion === undefined) return EMPTY_BYTES;
  if (
    eip1559Params === undefined ||
    extraDataVersion === undefined ||
    (minBaseFee !== undefined) !== hasMinBaseFee(extraDataVersion)
  )
    throw new Error("attributes of another fork");
  const params = eip1559Params.every((byte) => byte === 0)
    ? concatBytes(
        bigintToBytes(BigInt(chainOpConfig.eip1559DenominatorCanyon), 4),
        bigintToBytes(BigInt(chainOpConfig.eip1559Elasticity), 4),
      )
    : eip1559Params;
  const version = Uint8Array.of(extraDataVersion);
  return minBaseFee === undefined ? concatBytes(version, params) : concatBytes(version, params, bigintToBytes(minBaseFee, 8));
}

import {
  type BeginBuild,
  type ExecutedBlock,
  type FillLimits,
  type HeadChange,
  type ParentState,
  type PartsOptions,
  type PartVerdict,
  PayloadJobs,
  type PendingBlock,
  type PendingSource,
  type PendingTransaction,
  type StoredBlock,
} from "@rnode/chain";
import { bytesToHex, type Hex, hexToBytes, keccak256, uint64ToBytes, ZERO_HASH } from "@rnode/primitives";
import {
  decodeTransaction,
  encodeTransaction,
  type Flashblock,
  type Header,
  hashTransaction,
  isSigned,
  type PayloadAttributes,
  type Receipt,
  type Transaction,
} from "@rnode/protocol";

/** A sealed block, with the next nonce of each user. */
export interface SimBlock extends StoredBlock {
  readonly hashHex: Hex;
  readonly nonces: ReadonlyMap<string, bigint>;
}

const GAS_LIMIT = 30_000_000n;
const GAS = 1_000_000n;
const NO_BLOOM = new Uint8Array(256);
const NOBODY = new Uint8Array(20);

export const headerOf = ({ block }: StoredBlock): Header => block.header;

export function genesisOf(timestampSec: number): SimBlock {
  const header = { number: 0, timestamp: timestampSec, parentHash: ZERO_HASH, gasLimit: GAS_LIMIT } as Header;
  return {
    hash: ZERO_HASH,
    hashHex: bytesToHex(ZERO_HASH),
    nonces: new Map(),
    block: { header, transactions: [], ommers: [] },
    receipts: [],
    senders: [],
  };
}

export const rootAfter = (root: Uint8Array, transactions: readonly Transaction[]): Uint8Array =>
  transactions.reduce((before, each) => keccak256(before, hashTransaction(each)), root);

/** Execution, reduced to nonces: it rejects a user's transaction with another nonce, and its root depends on all transactions in their order. */
class FakeRun {
  readonly transactions: Transaction[] = [];
  readonly receipts: Receipt[] = [];
  readonly senders: Uint8Array[] = [];
  readonly nonces: Map<string, bigint>;
  readonly #base: Header;
  #root: Uint8Array;

  constructor(parent: SimBlock, attributes: Pick<PayloadAttributes, "timestamp" | "prevRandao">) {
    const { number, gasLimit } = headerOf(parent);
    this.nonces = new Map(parent.nonces);
    this.#root = parent.hash;
    const { timestamp, prevRandao: mixHash } = attributes;
    const fields = { number: number + 1, timestamp, mixHash, gasLimit, parentHash: parent.hash, baseFeePerGas: 1n };
    this.#base = {
      ...fields,
      beneficiary: NOBODY,
      extraData: new Uint8Array(0),
      parentBeaconBlockRoot: ZERO_HASH,
      logsBloom: NO_BLOOM,
    } as unknown as Header;
  }

  get gasUsed(): bigint {
    return GAS * BigInt(this.transactions.length);
  }

  get header(): Header {
    return { ...this.#base, receiptsRoot: this.#root, gasUsed: this.gasUsed };
  }

  apply(transaction: Transaction): "applied" | "nonce-too-low" | "nonce-too-high" {
    if (isSigned(transaction)) {
      const user = userOf(transaction);
      const expected = this.nonces.get(user) ?? 0n;
      if (transaction.nonce !== expected) return transaction.nonce < expected ? "nonce-too-low" : "nonce-too-high";
      this.nonces.set(user, expected + 1n);
    }
    this.transactions.push(transaction);
    this.#root = rootAfter(this.#root, [transaction]);
    this.receipts.push({ type: 2, status: 1, cumulativeGasUsed: this.gasUsed, bloom: NO_BLOOM, logs: [] });
    this.senders.push(NOBODY);
    return "applied";
  }

  block(): StoredBlock {
    const { header, transactions, receipts, senders } = this;
    const block = { header, transactions: transactions.slice(), ommers: [] };
    return {
      hash: keccak256(header.parentHash, uint64ToBytes(header.timestamp), header.mixHash, header.receiptsRoot),
      block,
      receipts: receipts.slice(),
      senders: senders.slice(),
    };
  }

  part(place: Pick<PendingBlock, "payloadId" | "index" | "earlier">): PendingBlock {
    return { ...place, ...this.block(), changes: { accounts: [], codes: [] } };
  }
}

/** @returns the user, who is in the signature, so that it need not be recovered */
export const userOf = ({ signature }: { readonly signature?: { readonly r: Uint8Array } | undefined }): string =>
  String(signature!.r[31]);

/** What `PayloadJobs` and `PartStream` use of a build, over fake execution. */
class FakeBuild {
  readonly header: Header;
  readonly blockTimeSec: number;
  readonly usesPool: boolean;
  readonly #run: FakeRun;
  readonly #included = new Set<Hex>();

  constructor(parent: SimBlock, attributes: PayloadAttributes) {
    this.#run = new FakeRun(parent, attributes);
    this.header = this.#run.header;
    this.blockTimeSec = attributes.timestamp - headerOf(parent).timestamp;
    this.usesPool = !attributes.noTxPool;
    for (const encoded of attributes.transactions ?? []) this.#run.apply(decodeTransaction(encoded));
  }

  get transactionCount(): number {
    return this.#run.transactions.length;
  }

  fill(source: PendingSource, { maxBlockGas }: FillLimits): void {
    const best = source.best(1n, { number: this.header.number, timestampSec: this.header.timestamp });
    const limit = maxBlockGas === 0n ? GAS_LIMIT : maxBlockGas;
    for (let next = best.next(); next !== undefined; next = best.next()) {
      const hash = bytesToHex(next.hash);
      if (this.#included.has(hash)) continue;
      if (this.#run.gasUsed + GAS > limit) return;
      const applied = this.#run.apply(next.transaction);
      if (applied === "applied") this.#included.add(hash);
      else if (applied === "nonce-too-high") best.skipSender();
    }
  }

  keep(promised: readonly PendingTransaction[]): number {
    const before = this.transactionCount;
    let at = 0;
    this.fill({ best: () => ({ next: () => promised[at++], skipSender: () => {} }) }, { maxBlockGas: 0n } as FillLimits);
    return promised.length - (this.transactionCount - before);
  }

  hasExactly(transactions: readonly Transaction[]): boolean {
    const own = this.#run.transactions;
    return own.length === transactions.length && own.every((each, at) => idOf(each) === idOf(transactions[at]!));
  }

  soFar(place: Pick<PendingBlock, "payloadId" | "index" | "earlier">): PendingBlock {
    return this.#run.part(place);
  }

  seal(): ExecutedBlock {
    return sealed(this.#run) as unknown as ExecutedBlock;
  }
}

const sealed = (run: FakeRun): SimBlock => {
  const block = run.block();
  return { ...block, hashHex: bytesToHex(block.hash), nonces: new Map(run.nonces) };
};

export const idOf = (transaction: Transaction): Hex => bytesToHex(hashTransaction(transaction));

export interface FakeChainDeps {
  readonly nowMs: () => number;
  readonly pool: PendingSource;
  /** a build that publishes parts begins */
  readonly onBuild: (id: Hex, parent: SimBlock) => void;
}

/** A chain with real payload jobs and parts, over fake execution: the part of rengine's chain that subblocks use. */
export class FakeChain {
  readonly #jobs: PayloadJobs;
  readonly #blocks = new Map<Hex, SimBlock>();
  readonly #listeners: ((change: HeadChange) => void)[] = [];
  #head: SimBlock;
  #open: { readonly payloadId: Hex; readonly parent: SimBlock; readonly run: FakeRun; index: number } | undefined;

  constructor(blocks: readonly SimBlock[], { nowMs, pool, onBuild }: FakeChainDeps) {
    for (const block of blocks) this.#blocks.set(block.hashHex, block);
    this.#head = blocks.at(-1)!;
    const begin: BeginBuild = (id, { hash }, attributes) => {
      const parent = this.#blocks.get(bytesToHex(hash))!;
      if (!attributes.noTxPool) onBuild(id, parent);
      return { kind: "started", build: new FakeBuild(parent, attributes) };
    };
    this.#jobs = new PayloadJobs(begin, nowMs);
    this.#jobs.source = pool;
  }

  get tip(): SimBlock {
    return this.#head;
  }

  head(): { readonly hash: Hex; readonly number: number } {
    return { hash: this.#head.hashHex, number: headerOf(this.#head).number };
  }

  knows(hash: Hex): boolean {
    return this.#blocks.has(hash);
  }

  onHeadChange(listener: (change: HeadChange) => void): () => void {
    this.#listeners.push(listener);
    return () => {};
  }

  publishParts(options: PartsOptions): void {
    this.#jobs.partsOptions = options;
  }

  /** `forkchoiceUpdated` on the head with attributes. */
  build(attributes: PayloadAttributes): Hex {
    const started = this.#jobs.start(this.#head as unknown as ParentState, attributes, 3);
    if (started.kind === "invalid") throw new Error(started.problem.reason);
    return started.id;
  }

  getPayload(id: Hex): SimBlock | undefined {
    return this.#jobs.finish(id) as unknown as SimBlock | undefined;
  }

  /** `newPayload` and `forkchoiceUpdated` with a child of the head. @throws Error the block is not what its transactions give */
  insert(block: SimBlock): void {
    const { header, transactions } = block.block;
    const run = new FakeRun(this.#head, { timestamp: header.timestamp, prevRandao: header.mixHash });
    for (const each of transactions)
      if (run.apply(each) !== "applied") throw new Error(`block ${header.number} has an invalid transaction`);
    if (bytesToHex(run.block().hash) !== block.hashHex)
      throw new Error(`block ${header.number} has another hash on ${this.#head.hashHex}`);
    this.#blocks.set(block.hashHex, block);
    this.#jobs.suspend("head-changed");
    this.#head = block;
    const change = { head: block, removed: [], added: [block], addedHashes: [block.hash] } as unknown as HeadChange;
    for (const listener of this.#listeners) listener(change);
  }

  /** As `PendingExecutor`: on the head, in order, with the claimed results. */
  executePart(part: Flashblock): PartVerdict {
    const { payloadId, index, base, diff } = part;
    const parentHash = base === undefined ? this.#open?.parent.hashHex : bytesToHex(base.parentHash);
    const refused = (fault: "out-of-order" | "transaction" | "receipts", reason: string): PartVerdict => {
      this.#open = undefined;
      return { kind: "refused", fault, reason };
    };
    if (base === undefined && (this.#open?.payloadId !== payloadId || this.#open.index + 1 !== index))
      return refused("out-of-order", `part ${index}`);
    if (parentHash !== this.#head.hashHex) {
      this.#open = undefined;
      return { kind: "other-parent" };
    }
    if (base !== undefined) this.#open = { payloadId, parent: this.#head, run: new FakeRun(this.#head, base), index: 0 };
    const open = this.#open!;
    const earlier = open.run.transactions.length;
    for (const encoded of diff.transactions)
      if (open.run.apply(decodeTransaction(encoded)) !== "applied") return refused("transaction", "its nonce");
    const pending = open.run.part({ payloadId, index, earlier });
    if (bytesToHex(pending.block.header.receiptsRoot) !== bytesToHex(diff.receiptsRoot)) return refused("receipts", "another root");
    open.index = index;
    return { kind: "executed", pending };
  }
}

const pendingTransaction = (transaction: PendingTransaction["transaction"]): PendingTransaction => ({
  transaction,
  sender: NOBODY,
  encoded: encodeTransaction(transaction),
  hash: hashTransaction(transaction),
});

/** A deposit that tells attributes apart. */
export const depositOf = (seed: number): Uint8Array =>
  encodeTransaction({
    type: 0x7e,
    sourceHash: keccak256(uint64ToBytes(seed)),
    from: NOBODY,
    to: NOBODY,
    mint: 0n,
    value: 0n,
    gasLimit: 1n,
    isSystemTx: false,
    data: new Uint8Array(0),
  });

export const userTransaction = (user: number, nonce: number, variant: number): PendingTransaction =>
  pendingTransaction({
    type: 0x02,
    chainId: 1n,
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: BigInt(variant),
    maxFeePerGas: 10n,
    gasLimit: GAS,
    to: NOBODY,
    value: 0n,
    data: new Uint8Array(0),
    accessList: [],
    signature: {
      r: hexToBytes(`0x${(user + 1).toString(16).padStart(64, "0")}`),
      s: hexToBytes(`0x${"01".padStart(64, "0")}`),
      yParity: 0,
    },
  });

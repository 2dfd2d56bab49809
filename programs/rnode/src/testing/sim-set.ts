import { type MessageBlock, messagesOfBlock } from "@rnode/interop";
import { asciiToBytes, bigintToBytes, bytesToHex, concatBytes, type Hex, keccak256 } from "@rnode/primitives";
import { type BlockId, type Log, messageHash, PREDEPLOYS } from "@rnode/protocol";
import type { ChainLabels, LabelledChain } from "../set/labelled-chain.ts";
import { type LocalSafeBlock, type SetChain, timeOf } from "../set/set-chain.ts";
import type { SetDatabase } from "../set/set-database.ts";

const EVENT = keccak256(asciiToBytes("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));
const ORIGIN = new Uint8Array(20).fill(7);

/** The place of a log that a simulated block executes. */
export interface NamedLog {
  readonly chainId: bigint;
  readonly number: number;
  readonly logIndex: number;
  readonly timestamp: number;
  /** of the log that it is said to be; default: that of its place */
  readonly content?: number;
}

/** A simulated block: so many plain logs, then one for each message that it executes. */
export interface SimContent {
  readonly logs: number;
  readonly executes: readonly NamedLog[];
}

interface SimBlock extends MessageBlock {
  readonly content: SimContent;
  readonly derivedFrom: BlockId;
}

const plainLog = (content: number): Log => ({ address: ORIGIN, topics: [], data: bigintToBytes(BigInt(content), 8) });
/** What is in a plain log says where it is. */
const contentAt = (chainId: bigint, number: number, logIndex: number): number =>
  Number(chainId) * 1_000_000 + number * 100 + logIndex;

const executingLog = ({ chainId, number, logIndex, timestamp, content = contentAt(chainId, number, logIndex) }: NamedLog): Log => ({
  address: PREDEPLOYS.crossL2Inbox,
  topics: [EVENT, messageHash(plainLog(content))],
  data: concatBytes(
    new Uint8Array(12),
    ORIGIN,
    ...[BigInt(number), BigInt(logIndex), BigInt(timestamp), chainId].map((word) => bigintToBytes(word, 32)),
  ),
});

export const hashOf = (...parts: readonly (string | number | bigint)[]): Hex => bytesToHex(keccak256(asciiToBytes(parts.join())));

/** A chain of a set in memory: what L1 says of it, and the replacement of what was denied. */
export class SimSetChain implements LabelledChain {
  readonly chainId: bigint;
  readonly config: SetChain["config"];
  verdicts = 0;
  private blocks: SimBlock[] = [];
  private readonly database: SetDatabase;
  /** what L1 says, by number from the genesis on */
  private readonly said: { content: SimContent; derivedFrom: BlockId }[] = [];

  constructor(chainId: bigint, config: { genesisSec: number; blockTimeSec: number; lagoonSec: number }, database: SetDatabase) {
    this.chainId = chainId;
    this.config = {
      blockTimeSec: config.blockTimeSec,
      forkTimes: { lagoon: config.lagoonSec },
      genesis: { l2: { number: 0, hash: hashOf(chainId, 0) }, l2TimeSec: config.genesisSec },
    } as SetChain["config"];
    this.database = database;
  }

  /** L1 says one more block. */
  say(content: SimContent, derivedFrom: BlockId): void {
    this.said.push({ content, derivedFrom });
    this.derive();
  }

  /** L1 takes back all blocks from a number on. */
  takeBack(number: number): void {
    this.said.length = Math.min(this.said.length, number);
    this.blocks.length = Math.min(this.blocks.length, number);
  }

  get length(): number {
    return this.blocks.length;
  }

  get tip(): SimBlock | undefined {
    return this.blocks.at(-1);
  }

  /** All blocks are local-safe, none but the first is final. */
  get labels(): ChainLabels | undefined {
    const { tip } = this;
    return tip && { unsafe: tip, localSafe: tip, finalized: this.blocks[0]! };
  }

  logsOf(number: number): Log[] {
    const { content } = this.blocks[number]!;
    const plain = Array.from({ length: content.logs }, (_, i) => plainLog(contentAt(this.chainId, number, i)));
    return [...plain, ...content.executes.map(executingLog)];
  }

  /** The messages of the chain's block as its log should have them. */
  messagesAt(number: number): ReturnType<typeof messagesOfBlock> {
    return messagesOfBlock(this.chainId, this.blocks[number]!, [{ logs: this.logsOf(number) }]);
  }

  contentOf(number: number): SimContent {
    return this.blocks[number]!.content;
  }

  async localSafe(number: number): Promise<LocalSafeBlock | undefined> {
    const block = this.blocks[number];
    return block && { block, derivedFrom: block.derivedFrom };
  }

  async blockAt(number: number): Promise<MessageBlock | undefined> {
    return this.blocks[number];
  }

  async receiptsOf({ number, hash }: MessageBlock) {
    if (this.blocks[number]?.hash !== hash) throw new Error(`no block ${number} ${hash}`);
    return [{ logs: this.logsOf(number) }];
  }

  async outputOf() {
    return { stateRoot: new Uint8Array(32).fill(1), messagePasserStorageRoot: new Uint8Array(32).fill(2) };
  }

  onVerdict(): void {
    this.verdicts++;
    const after = this.database.rederivedAfter(this.chainId);
    if (after !== undefined) {
      this.blocks.length = Math.min(this.blocks.length, after + 1);
      this.database.atomically(() => this.database.setRederivedAfter(this.chainId, undefined), { isFlushed: false });
    }
    const denied = this.blocks.findIndex(({ number, hash }) => this.database.denied.has(this.chainId, number, hash));
    if (denied >= 0) this.blocks.length = denied;
    this.derive();
  }

  private derive(): void {
    while (this.blocks.length < this.said.length) {
      const number = this.blocks.length;
      const { content, derivedFrom } = this.said[number]!;
      const whole = this.blockOf(number, content, derivedFrom);
      const isDenied = this.database.denied.has(this.chainId, number, whole.hash);
      this.blocks.push(isDenied ? this.blockOf(number, { logs: 0, executes: [] }, derivedFrom) : whole);
    }
  }

  private blockOf(number: number, content: SimContent, derivedFrom: BlockId): SimBlock {
    const parentHash = this.blocks[number - 1]?.hash ?? hashOf("none");
    const hash = hashOf(
      this.chainId,
      number,
      parentHash,
      JSON.stringify(content, (_, v) => (typeof v === "bigint" ? String(v) : v)),
    );
    return { number, hash, parentHash, timestamp: timeOf(this.config, number), content, derivedFrom };
  }
}

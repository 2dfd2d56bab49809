import { hexToBytes, uint64ToBytes } from "@rnode/primitives";
import type { ChainConfig } from "./chain-config.ts";

/**
 * A node's announcement of its chain's forks. Spec: https://eips.ethereum.org/EIPS/eip-2124,
 * https://eips.ethereum.org/EIPS/eip-6122
 */
export interface ForkId {
  /** CRC32 of the genesis hash and the passed forks, 4 bytes */
  readonly hash: Uint8Array;
  /** the next known fork, block or time; 0: none */
  readonly next: number;
}

/** The parts of a chain's head on which forks depend. */
export interface ForkHead {
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
}

export type ForkIdVerdict = "compatible" | "remote-stale" | "incompatible";

/** Later than any block number, earlier than any time of a fork. */
const FIRST_TIMESTAMP = 1_438_269_973;
const OP_MAINNET_CHAIN_ID = 10n;
/** Bedrock is OP Mainnet's first block with available state, but fork ids use the genesis before Bedrock. */
const OP_MAINNET_GENESIS = hexToBytes("0x7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b");

/** The genesis hash for fork ids. @param firstBlock hash of the first stored block */
export const networkGenesisHash = (config: ChainConfig, firstBlock: Uint8Array): Uint8Array =>
  config.chainId === OP_MAINNET_CHAIN_ID ? OP_MAINNET_GENESIS : firstBlock;

/** The forks of a chain in their order, for fork ids. */
export class ForkIds {
  readonly #forks: readonly number[];
  /** how many of the forks are by block */
  readonly #blockForks: number;
  /** `hashes[n]` is the hash after n forks */
  readonly #hashes: readonly Uint8Array[];

  /**
   * @param genesisHash for fork ids (`networkGenesisHash`)
   * @param genesisTimeSec of the genesis block
   */
  constructor(config: ChainConfig, genesisHash: Uint8Array, genesisTimeSec: number) {
    const byBlock = ascending(blocksOf(config)).filter((block) => block > 0);
    const byTime = ascending(timesOf(config)).filter((time) => time > genesisTimeSec);
    this.#forks = [...byBlock, ...byTime];
    this.#blockForks = byBlock.length;
    let crc = crc32(genesisHash);
    const hashes = [crcBytes(crc)];
    for (const fork of this.#forks) {
      crc = crc32(uint64ToBytes(fork), crc);
      hashes.push(crcBytes(crc));
    }
    this.#hashes = hashes;
  }

  /** Number of forks that have passed at this head. */
  #passed(head: ForkHead): number {
    const isAhead = (fork: number, index: number): boolean => fork > (index < this.#blockForks ? head.number : head.timestamp);
    const next = this.#forks.findIndex(isAhead);
    return next < 0 ? this.#forks.length : next;
  }

  at(head: ForkHead): ForkId {
    const passed = this.#passed(head);
    return { hash: this.#hashes[passed]!, next: this.#forks[passed] ?? 0 };
  }

  /** Whether a peer with this fork id can be on the same chain. The rules are those of EIP-2124, in its order. */
  check({ hash, next }: ForkId, head: ForkHead): ForkIdVerdict {
    const passed = this.#passed(head);
    const known = this.#hashes.findIndex((own) => own.every((byte, index) => byte === hash[index]));
    if (known === passed) {
      const isPassedHere = next > 0 && (head.number >= next || (next > FIRST_TIMESTAMP && head.timestamp >= next));
      return isPassedHere ? "incompatible" : "compatible";
    }
    if (known < 0) return "incompatible";
    if (known > passed) return "compatible"; // the local node is behind
    return this.#forks[known] === next ? "compatible" : "remote-stale";
  }
}

function blocksOf(config: ChainConfig): number[] {
  const { forkBlocks, daoForkBlock, difficultyBombBlocks = {}, optimism } = config;
  const { paris, ...others } = forkBlocks;
  const blocks = [...Object.values(others), daoForkBlock, ...Object.values(difficultyBombBlocks), optimism?.bedrockBlock];
  // Mainnet merged at a total difficulty; elsewhere a configured block of the merge counts.
  if (config.chainId !== 1n) blocks.push(paris);
  return blocks.filter((block) => block !== undefined);
}

function timesOf({ evmForkTimes, blobSchedule, optimism }: ChainConfig): number[] {
  const { delta: _, ...opTimes } = optimism?.forkTimes ?? {}; // a fork of derivation: not in the configuration of execution clients
  return [...Object.values(evmForkTimes), ...blobSchedule.map(({ timeSec }) => timeSec), ...Object.values(opTimes)];
}

/** Without duplicates and without "never". */
const ascending = (values: readonly number[]): number[] =>
  [...new Set(values)].filter((value) => value < Number.MAX_SAFE_INTEGER).sort((a, b) => a - b);

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** IEEE CRC32, continued from `crc`. */
function crc32(bytes: Uint8Array, crc = 0): number {
  let value = ~crc;
  for (const byte of bytes) value = (value >>> 8) ^ CRC_TABLE[(value ^ byte) & 0xff]!;
  return ~value >>> 0;
}

const crcBytes = (crc: number): Uint8Array => Uint8Array.of(crc >>> 24, (crc >>> 16) & 255, (crc >>> 8) & 255, crc & 255);

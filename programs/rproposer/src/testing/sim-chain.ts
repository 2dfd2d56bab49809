import type { ContractAnswer, ContractCall } from "@rnode/l1";
import { encodeCall } from "@rnode/l1";
import { type Output, outputFromJson, type SuperRootAnswer, type SyncStatus, superRootAnswerFromJson } from "@rnode/node-clients";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  equalBytes,
  type Hex,
  hexToBytes,
  keccak256,
  uint64ToBytes,
} from "@rnode/primitives";
import { createSuperRoot, decodeSuperRoot, type L2BlockRef, superRootHash } from "@rnode/protocol";
import type { SimL1 } from "@rnode/tx-manager/testing";
import type { ContractReader } from "../output-contract.ts";
import type { OutputNode } from "../output-root-source.ts";
import type { SuperRootNode } from "../super-root-source.ts";

export const CONTRACT = new Uint8Array(20).fill(0xcc);
const selectorOf = (signature: string): Hex => bytesToHex(encodeCall(signature, []));
const PROPOSE = selectorOf("proposeL2Output(bytes32,uint256,bytes32,uint256)");
const CREATE = selectorOf("create(uint32,bytes32,bytes)");
const word = (value: bigint | number): Uint8Array => bigintToBytes(BigInt(value), 32);
const wordOf = (data: Uint8Array, index: number): Uint8Array => data.subarray(4 + 32 * index, 36 + 32 * index);
const words = (...all: readonly Uint8Array[]): ContractAnswer => ({ kind: "words", words: all });
const reverted = (message: string): ContractAnswer => ({ kind: "reverted", message: `execution reverted: ${message}` });

interface Posted {
  readonly root: Uint8Array;
  /** of a super root its time */
  readonly blockNumber: number;
  /** of a game; 1 if it is not given */
  readonly gameType?: number;
  readonly l1TimeSec: number;
  readonly by: Uint8Array;
}

/**
 * The state of the L1 contracts after the blocks of a `SimL1`, computed from their transactions: an output oracle with an output
 * every `interval` L2 blocks, or a dispute game factory.
 */
export class SimContracts implements ContractReader {
  readonly interval = 10;
  readonly bondWei = 7n;
  /** the account whose transactions are in the blocks */
  readonly #account: Uint8Array;
  readonly #l1: SimL1;
  /** what the portal says, and the factory has an implementation of */
  gameType = 1;
  /** games of others */
  readonly foreignGames: Posted[] = [];
  /** replaces the root of the newest output, to contradict the node */
  forgedRoot: Uint8Array | undefined;

  constructor(l1: SimL1, account: Uint8Array) {
    this.#l1 = l1;
    this.#account = account;
  }

  /** Outputs that count, in order. Transactions that the oracle would revert have no effect. */
  get oracleOutputs(): Posted[] {
    const outputs: Posted[] = [];
    for (const { ref, transactions } of this.#l1.blocks) {
      for (const { data } of transactions) {
        if (bytesToHex(data.subarray(0, 4)) !== PROPOSE || this.#whyOracleRefuses(data, outputs) !== undefined) continue;
        const blockNumber = Number(bytesToBigint(wordOf(data, 1)));
        outputs.push({ root: wordOf(data, 0), blockNumber, l1TimeSec: ref.timestamp, by: this.#account });
      }
    }
    return outputs;
  }

  /** Every transaction that was sent to post something and is on L1, whether it had an effect or not. */
  get included(): number {
    return this.#l1.transactions.length;
  }

  get games(): Posted[] {
    const games: Posted[] = [];
    for (const { ref, transactions } of this.#l1.blocks) {
      for (const { data, value } of transactions) {
        if (bytesToHex(data.subarray(0, 4)) !== CREATE || this.#whyFactoryRefuses(data, value, games) !== undefined) continue;
        const { gameType, root, sequenceNumber } = gameOf(data);
        games.push({ root, blockNumber: sequenceNumber!, gameType, l1TimeSec: ref.timestamp, by: this.#account });
      }
    }
    return [...games, ...this.foreignGames].sort((a, b) => a.l1TimeSec - b.l1TimeSec);
  }

  #whyOracleRefuses(data: Uint8Array, outputs: readonly Posted[]): string | undefined {
    if (Number(bytesToBigint(wordOf(data, 1))) !== (outputs.length + 1) * this.interval)
      return "block number must be equal to next";
    const l1Block = this.#l1.blocks[Number(bytesToBigint(wordOf(data, 3)))];
    return l1Block?.ref.hash === bytesToHex(wordOf(data, 2)) ? undefined : "block hash does not match";
  }

  #whyFactoryRefuses(data: Uint8Array, value: bigint, games: readonly Posted[]): string | undefined {
    if (value !== this.bondWei) return "IncorrectBondAmount";
    const { gameType, sequenceNumber } = gameOf(data);
    if (gameType !== this.gameType) return "NoImplementation";
    if (sequenceNumber === undefined) return "BadExtraData";
    return games.some(({ root }) => equalBytes(root, wordOf(data, 1))) ? "GameAlreadyExists" : undefined;
  }

  async read(to: Uint8Array, signature: string, args: readonly (bigint | Uint8Array)[] = []): Promise<ContractAnswer> {
    if (this.#l1.isDown) throw new Error("L1 is away");
    if (!equalBytes(to, CONTRACT)) return this.#readGame(Number(bytesToBigint(to)), signature);
    const outputs = this.oracleOutputs;
    const { games } = this;
    switch (signature) {
      case "nextBlockNumber()":
        return words(word((outputs.length + 1) * this.interval));
      case "nextOutputIndex()":
        return words(word(outputs.length));
      case "getL2Output(uint256)": {
        const { root, l1TimeSec, blockNumber } = outputs[Number(args[0])]!;
        return words(this.forgedRoot ?? root, word(l1TimeSec), word(blockNumber));
      }
      case "gameCount()":
        return words(word(games.length));
      case "gameAtIndex(uint256)":
        return words(word(games[Number(args[0])]!.gameType ?? 1), word(games[Number(args[0])]!.l1TimeSec), word(Number(args[0])));
      case "initBonds(uint32)":
        return words(word(this.bondWei));
      case "games(uint32,bytes32,bytes)": {
        const found = games.some(({ root }) => equalBytes(root, args[1] as Uint8Array));
        return words(word(found ? 1 : 0), word(0));
      }
      default:
        return reverted("unknown function");
    }
  }

  #readGame(index: number, signature: string): ContractAnswer {
    const { root, blockNumber, by, gameType } = this.games[index]!;
    if (signature === "rootClaim()") return words(root);
    // a game of the first release, and one of super roots that nobody plays move by move
    switch (`${isSuperGame(gameType)} ${signature}`) {
      case "false claimData(uint256)":
        return words(word(2 ** 32 - 1), word(0), word(bytesToBigint(by)), word(this.bondWei), root, word(1), word(0));
      case "false l2BlockNumber()":
      case "true l2SequenceNumber()":
        return words(word(blockNumber));
      case "true gameCreator()":
        return words(word(bytesToBigint(by)));
      default:
        return reverted("unknown function");
    }
  }

  async simulate({ data, valueWei = 0n }: ContractCall): Promise<ContractAnswer> {
    if (this.#l1.isDown) throw new Error("L1 is away");
    const isOracle = bytesToHex(data.subarray(0, 4)) === PROPOSE;
    const why = isOracle ? this.#whyOracleRefuses(data, this.oracleOutputs) : this.#whyFactoryRefuses(data, valueWei, this.games);
    return why === undefined ? words() : reverted(why);
  }
}

const isSuperGame = (gameType: number | undefined): boolean => gameType === 5 || gameType === 9;

/** The arguments of `create`: the contracts of super games take only the preimage of their claim as extra data. */
function gameOf(data: Uint8Array): {
  readonly gameType: number;
  readonly root: Uint8Array;
  readonly sequenceNumber: number | undefined;
} {
  const [gameType, root, length] = [
    Number(bytesToBigint(wordOf(data, 0))),
    wordOf(data, 1),
    Number(bytesToBigint(wordOf(data, 3))),
  ];
  const extraData = data.subarray(4 + 4 * 32, 4 + 4 * 32 + length);
  if (data.length !== 4 + 4 * 32 + Math.ceil(length / 32) * 32) return { gameType, root, sequenceNumber: undefined };
  if (!isSuperGame(gameType)) {
    return { gameType, root, sequenceNumber: length === 32 ? Number(bytesToBigint(extraData)) : undefined };
  }
  const isPreimage = equalBytes(keccak256(extraData), root);
  return { gameType, root, sequenceNumber: isPreimage ? decodeSuperRoot(extraData).timestampSec : undefined };
}

/** A rollup node with configurable safe and final heads. Its outputs depend on the block number and on the branch. */
export class SimNode implements OutputNode, SuperRootNode {
  readonly #l1: SimL1;
  safe = 0;
  finalized = 0;
  isDown = false;
  /** another one: other blocks, with other outputs */
  branch = 0;
  /** how many L1 blocks it is behind */
  lag = 0;

  constructor(l1: SimL1) {
    this.#l1 = l1;
  }

  async syncStatus(): Promise<SyncStatus> {
    if (this.isDown) throw new Error("the node is away");
    const head = this.#l1.blocks.at(-1)!.ref;
    const currentL1 = this.#l1.blocks[Math.max(0, head.number - this.lag)]!.ref;
    const safeL2 = this.#block(this.safe);
    return { headL1: head, currentL1, unsafeL2: safeL2, safeL2, finalizedL2: this.#block(this.finalized) };
  }

  async outputAtBlock(number: number): Promise<Output> {
    const status = await this.syncStatus();
    const json = {
      version: bytesToHex(word(0)),
      outputRoot: this.rootOf(number),
      stateRoot: bytesToHex(word(number)),
      withdrawalStorageRoot: bytesToHex(word(this.branch)),
      blockRef: { ...refJson(this.#block(number)) },
      syncStatus: {
        head_l1: status.headL1,
        current_l1: status.currentL1,
        unsafe_l2: refJson(status.unsafeL2),
        safe_l2: refJson(status.safeL2),
        finalized_l2: refJson(status.finalizedL2),
      },
    };
    return outputFromJson(json, number);
  }

  readonly name: string = "node";

  /** Of a chain with a block every two seconds from 1,800,000,000 on. */
  async atTimestamp(timestampSec: number): Promise<SuperRootAnswer> {
    const { currentL1, safeL2, finalizedL2 } = await this.syncStatus();
    const superRoot = this.superRootAt(timestampSec);
    const data = {
      super: {
        timestamp: `0x${timestampSec.toString(16)}`,
        chains: superRoot.chains.map(({ chainId, outputRoot }) => ({ ChainID: String(chainId), Output: bytesToHex(outputRoot) })),
      },
      super_root: bytesToHex(superRootHash(superRoot)),
    };
    const json = {
      current_l1: { hash: currentL1.hash, number: currentL1.number },
      safe_timestamp: safeL2.timestamp,
      finalized_timestamp: finalizedL2.timestamp,
      chain_ids: ["901", "902"],
      ...(timestampSec <= safeL2.timestamp ? { data } : {}),
    };
    return superRootAnswerFromJson(json, timestampSec);
  }

  superRootAt(timestampSec: number) {
    const number = Math.floor((timestampSec - 1_800_000_000) / 2);
    const outputs = [902n, 901n].map((chainId) => ({
      chainId,
      outputRoot: keccak256(hexToBytes(this.rootOf(number)), word(chainId)),
    }));
    return createSuperRoot(timestampSec, outputs);
  }

  rootOf(number: number): Hex {
    return bytesToHex(keccak256(word(0), word(number), word(this.branch), hexToBytes(this.#block(number).hash)));
  }

  #block(number: number): L2BlockRef {
    const hash = bytesToHex(keccak256(uint64ToBytes(number), uint64ToBytes(this.branch)));
    const zero = bytesToHex(word(0));
    return {
      hash,
      number,
      parentHash: zero,
      timestamp: 1_800_000_000 + 2 * number,
      l1Origin: { hash: zero, number: 0 },
      sequenceNumber: 0,
    };
  }
}

const refJson = ({ l1Origin, ...ref }: L2BlockRef): object => ({ ...ref, l1origin: l1Origin });

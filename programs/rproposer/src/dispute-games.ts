import { type ContractCall, encodeCall } from "@rnode/l1";
import { bytesToBigint, bytesToHex, type Clock, equalBytes, hexToBytes, isZeroBytes } from "@rnode/primitives";
import {
  type ContractReader,
  type ContractState,
  type OutputContract,
  type PostedRoot,
  readWords,
  wordToAddress,
  wordToNumber,
} from "./output-contract.ts";
import type { Proposal } from "./proposal.ts";

export interface DisputeGameOptions {
  /** time between two games of this proposer */
  readonly proposalIntervalMs: number;
}

export interface DisputeGamesDeps {
  /** The type of games to create now: an upgrade of the contracts changes it. Rejects if none can be created. */
  readonly findGameType: () => Promise<number>;
  /** the account whose games count */
  readonly proposer: Uint8Array;
  readonly reader: ContractReader;
  readonly clock: Clock;
}

interface Game {
  readonly address: Uint8Array;
  readonly gameType: number;
  readonly createdSec: number;
}

/** The maximum number of games of other proposers that are read in the search for the last own game. */
const MAX_GAMES_LOOKED_AT = 500;
const WORD_BYTES = 32;

/** The `DisputeGameFactory`: a game for a root whenever the last one of this account is old enough. */
export class DisputeGames implements OutputContract {
  readonly kind = "dispute games";
  readonly checksL1Block = false;
  readonly address: Uint8Array;
  readonly #options: DisputeGameOptions;
  readonly #findGameType: () => Promise<number>;
  /** as of the last `state()` */
  #gameType = 0;
  readonly #proposer: Uint8Array;
  readonly #reader: ContractReader;
  readonly #clock: Clock;

  constructor(address: Uint8Array, options: DisputeGameOptions, { findGameType, proposer, reader, clock }: DisputeGamesDeps) {
    this.address = address;
    this.#options = options;
    this.#findGameType = findGameType;
    this.#proposer = proposer;
    this.#reader = reader;
    this.#clock = clock;
  }

  async state(): Promise<ContractState> {
    this.#gameType = await this.#findGameType();
    const last = await this.#lastOwnGame();
    if (last === undefined) return { next: { kind: "newest" }, latest: undefined };
    const dueMs = last.createdSec * 1000 + this.#options.proposalIntervalMs;
    const next = dueMs > this.#clock.unixMs() ? ({ kind: "later", atMs: dueMs } as const) : ({ kind: "newest" } as const);
    return { next, latest: await this.#postedBy(last) };
  }

  /** The factory rejects a second game for the same root, whoever created the first. */
  async has(proposal: Proposal): Promise<boolean> {
    const words = await this.#read("games(uint32,bytes32,bytes)", this.#gameArguments(proposal), 2);
    return !isZeroBytes(wordToAddress(words[0]!));
  }

  async transaction(proposal: Proposal): Promise<ContractCall> {
    const [bond] = await this.#read("initBonds(uint32)", [BigInt(this.#gameType)], 1);
    const data = encodeCall("create(uint32,bytes32,bytes)", this.#gameArguments(proposal));
    return { to: this.address, data, valueWei: bytesToBigint(bond!) };
  }

  /** Type, claim, and where the bytes of the extra data begin; then their number and these bytes, in whole words. */
  #gameArguments({ root, extraData }: Proposal): readonly (bigint | Uint8Array)[] {
    const words: Uint8Array[] = [];
    for (let at = 0; at < extraData.length; at += WORD_BYTES) {
      const word = new Uint8Array(WORD_BYTES);
      word.set(extraData.subarray(at, at + WORD_BYTES));
      words.push(word);
    }
    const fixed = [BigInt(this.#gameType), hexToBytes(root), BigInt(3 * WORD_BYTES), BigInt(extraData.length)];
    return [...fixed, ...words];
  }

  async #lastOwnGame(): Promise<Game | undefined> {
    const [word] = await this.#read("gameCount()", [], 1);
    const count = wordToNumber(word!, this.address, "gameCount()");
    const cutoffSec = (this.#clock.unixMs() - this.#options.proposalIntervalMs) / 1000;
    let newest: Game | undefined;
    for (let index = count - 1; index >= Math.max(0, count - MAX_GAMES_LOOKED_AT); index--) {
      const game = await this.#gameAt(index);
      if (game.gameType === this.#gameType && (await this.#isOwn(game))) newest = game;
      // Older games do not prevent a proposal. The search goes on only for the last own game, if it is the next one.
      if (newest !== undefined || game.createdSec < cutoffSec) break;
    }
    return newest;
  }

  async #gameAt(index: number): Promise<Game> {
    const [gameType, createdSec, address] = await this.#read("gameAtIndex(uint256)", [BigInt(index)], 3);
    return {
      gameType: wordToNumber(gameType!, this.address, "gameAtIndex"),
      createdSec: wordToNumber(createdSec!, this.address, "gameAtIndex"),
      address: wordToAddress(address!),
    };
  }

  /** The games of old releases have no `gameCreator`: their first claim is the root claim, of (parent, countered by, claimant, …). */
  async #isOwn({ address }: Game): Promise<boolean> {
    const creator = await this.#reader.read(address, "gameCreator()");
    const hasCreator = creator.kind === "words" && creator.words.length > 0;
    const word = hasCreator ? creator.words[0] : (await readWords(this.#reader, address, "claimData(uint256)", [0n], 3))[2];
    return equalBytes(wordToAddress(word!), this.#proposer);
  }

  /** Those of old releases have only `l2BlockNumber`, those of super roots only `l2SequenceNumber`. */
  async #postedBy({ address }: Game): Promise<PostedRoot> {
    const [[root], sequence] = await Promise.all([
      readWords(this.#reader, address, "rootClaim()", [], 1),
      this.#reader.read(address, "l2SequenceNumber()"),
    ]);
    const hasSequence = sequence.kind === "words" && sequence.words.length > 0;
    const what = hasSequence ? "l2SequenceNumber()" : "l2BlockNumber()";
    const [number] = hasSequence ? sequence.words : await readWords(this.#reader, address, what, [], 1);
    return { root: bytesToHex(root!), sequenceNumber: wordToNumber(number!, address, what) };
  }

  #read(signature: string, args: readonly (bigint | Uint8Array)[], count: number): Promise<readonly Uint8Array[]> {
    return readWords(this.#reader, this.address, signature, args, count);
  }
}

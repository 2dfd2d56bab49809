import { type ContractCall, encodeCall } from "@rnode/l1";
import type { Output } from "@rnode/node-clients";
import { bytesToBigint, bytesToHex, type Clock, equalBytes, hexToBytes, isZeroBytes } from "@rnode/primitives";
import {
  type ContractReader,
  type ContractState,
  type OutputContract,
  type PostedOutput,
  readWords,
  wordToAddress,
  wordToNumber,
} from "./output-contract.ts";

export interface DisputeGameOptions {
  readonly gameType: number;
  /** time between two games of this proposer */
  readonly proposalIntervalMs: number;
}

interface Game {
  readonly address: Uint8Array;
  readonly gameType: number;
  readonly createdSec: number;
}

/** The maximum number of games of other proposers that are read in the search for the last own game. */
const MAX_GAMES_LOOKED_AT = 500;
/** `extraData` of a fault dispute game: the L2 block number as one word. */
const EXTRA_DATA_BYTES = 32n;

/** The `DisputeGameFactory`: a game for an output whenever the last one of this account is old enough. */
export class DisputeGames implements OutputContract {
  readonly kind = "dispute games";
  readonly checksL1Block = false;
  readonly address: Uint8Array;
  readonly #options: DisputeGameOptions;
  readonly #proposer: Uint8Array;
  readonly #reader: ContractReader;
  readonly #clock: Clock;

  /** @param proposer whose games count */
  constructor(
    address: Uint8Array,
    options: DisputeGameOptions,
    { proposer, reader, clock }: { readonly proposer: Uint8Array; readonly reader: ContractReader; readonly clock: Clock },
  ) {
    this.address = address;
    this.#options = options;
    this.#proposer = proposer;
    this.#reader = reader;
    this.#clock = clock;
  }

  async state(): Promise<ContractState> {
    const last = await this.#lastOwnGame();
    if (last === undefined) return { next: { kind: "newest" }, latest: undefined };
    const dueMs = last.createdSec * 1000 + this.#options.proposalIntervalMs;
    const next = dueMs > this.#clock.unixMs() ? ({ kind: "later", atMs: dueMs } as const) : ({ kind: "newest" } as const);
    return { next, latest: await this.#postedBy(last) };
  }

  /** The factory rejects a second game for the same output, whoever created the first. */
  async has({ root, block }: Output): Promise<boolean> {
    const words = await this.#read("games(uint32,bytes32,bytes)", this.#gameArguments(root, block.number), 2);
    return !isZeroBytes(wordToAddress(words[0]!));
  }

  async proposal({ root, block }: Output): Promise<ContractCall> {
    const [bond] = await this.#read("initBonds(uint32)", [BigInt(this.#options.gameType)], 1);
    const data = encodeCall("create(uint32,bytes32,bytes)", this.#gameArguments(root, block.number));
    return { to: this.address, data, valueWei: bytesToBigint(bond!) };
  }

  /** Type, claim, and where the bytes of the extra data begin; then these bytes. */
  #gameArguments(root: Output["root"], blockNumber: number): readonly (bigint | Uint8Array)[] {
    const { gameType } = this.#options;
    return [BigInt(gameType), hexToBytes(root), 3n * EXTRA_DATA_BYTES, EXTRA_DATA_BYTES, BigInt(blockNumber)];
  }

  async #lastOwnGame(): Promise<Game | undefined> {
    const [word] = await this.#read("gameCount()", [], 1);
    const count = wordToNumber(word!, this.address, "gameCount()");
    const cutoffSec = (this.#clock.unixMs() - this.#options.proposalIntervalMs) / 1000;
    let newest: Game | undefined;
    for (let index = count - 1; index >= Math.max(0, count - MAX_GAMES_LOOKED_AT); index--) {
      const game = await this.#gameAt(index);
      if (game.gameType === this.#options.gameType && (await this.#isOwn(game))) newest = game;
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

  /** The root claim is the first one: (parent, countered by, claimant, …). */
  async #isOwn({ address }: Game): Promise<boolean> {
    const words = await readWords(this.#reader, address, "claimData(uint256)", [0n], 3);
    return equalBytes(wordToAddress(words[2]!), this.#proposer);
  }

  async #postedBy({ address }: Game): Promise<PostedOutput> {
    const [[root], [blockNumber]] = await Promise.all([
      readWords(this.#reader, address, "rootClaim()", [], 1),
      readWords(this.#reader, address, "l2BlockNumber()", [], 1),
    ]);
    return { root: bytesToHex(root!), blockNumber: wordToNumber(blockNumber!, address, "l2BlockNumber()") };
  }

  #read(signature: string, args: readonly (bigint | Uint8Array)[], count: number): Promise<readonly Uint8Array[]> {
    return readWords(this.#reader, this.address, signature, args, count);
  }
}

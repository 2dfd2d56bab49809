import { bytesToHex, type Clock, isZeroBytes } from "@rnode/primitives";
import { DisputeGames } from "./dispute-games.ts";
import { rootKindOfGame, wantedSource } from "./game-types.ts";
import { type ContractReader, type OutputContract, wordToAddress, wordToNumber } from "./output-contract.ts";
import { OutputOracle } from "./output-oracle.ts";
import type { RootKind } from "./proposal.ts";
import { ProposerError } from "./proposer-error.ts";

export interface ContractOptions {
  readonly l2ooAddress: Uint8Array | undefined;
  readonly gameFactoryAddress: Uint8Array | undefined;
  /** undefined: the respected game type of the portal, or else 0 */
  readonly gameType: number | undefined;
  /** 0: not given */
  readonly proposalIntervalMs: number;
}

export interface FindContractDeps {
  readonly reader: ContractReader;
  readonly proposer: Uint8Array;
  /** the OptimismPortal of the rollup's configuration; undefined: the sources name none, and the options name contract and game type */
  readonly portal: Uint8Array | undefined;
  /** the roots at hand */
  readonly rootKind: RootKind;
  readonly clock: Clock;
}

/** The type of a permissionless fault dispute game. */
const DEFAULT_GAME_TYPE = 0;

/**
 * The contract that options name, or else the one that the rollup's portal proves withdrawals against.
 *
 * @throws {ProposerError} proposer/no-contract, proposer/bad-config
 */
export async function findContract(options: ContractOptions, deps: FindContractDeps): Promise<OutputContract> {
  const { l2ooAddress, gameFactoryAddress } = options;
  if (l2ooAddress !== undefined) return oracleAt(l2ooAddress, options, deps, "--l2oo-address");
  if (gameFactoryAddress !== undefined) return gamesAt(gameFactoryAddress, options, deps, "--game-factory-address");
  const factory = await addressFrom(deps, "disputeGameFactory()");
  if (factory !== undefined) return gamesAt(factory, options, deps, "the portal's dispute game factory");
  const oracle = await addressFrom(deps, "l2Oracle()");
  if (oracle !== undefined) return oracleAt(oracle, options, deps, "the portal's output oracle");
  throw new ProposerError("proposer/no-contract", {
    option: "the rollup's portal",
    address: deps.portal === undefined ? "unknown" : bytesToHex(deps.portal),
    reason: "it names neither an output oracle nor a dispute game factory on this L1",
    remedy: "name one with --l2oo-address or --game-factory-address",
  });
}

async function addressFrom({ reader, portal }: FindContractDeps, signature: string): Promise<Uint8Array | undefined> {
  if (portal === undefined) return undefined;
  const answer = await reader.read(portal, signature);
  if (answer.kind === "reverted" || answer.words.length !== 1) return undefined;
  const address = wordToAddress(answer.words[0]!);
  return isZeroBytes(address) ? undefined : address;
}

async function oracleAt(
  address: Uint8Array,
  { proposalIntervalMs, gameType }: ContractOptions,
  { reader }: FindContractDeps,
  option: string,
): Promise<OutputContract> {
  await assertAnswers(reader, address, "nextBlockNumber()", option, "L2OutputOracle");
  const unused = proposalIntervalMs !== 0 ? "--proposal-interval" : gameType !== undefined ? "--game-type" : undefined;
  if (unused !== undefined) {
    throw new ProposerError("proposer/bad-config", {
      option: unused,
      value: proposalIntervalMs !== 0 ? `${proposalIntervalMs / 1000}s` : String(gameType),
      expected: `nothing: the chain has an output oracle (${bytesToHex(address)}), which says itself when the next output is due`,
    });
  }
  return new OutputOracle(address, reader);
}

async function gamesAt(
  address: Uint8Array,
  options: ContractOptions,
  { reader, proposer, portal, rootKind, clock }: FindContractDeps,
  option: string,
): Promise<OutputContract> {
  await assertAnswers(reader, address, "gameCount()", option, "DisputeGameFactory");
  const { proposalIntervalMs } = options;
  if (proposalIntervalMs === 0) {
    throw new ProposerError("proposer/bad-config", {
      option: "--proposal-interval",
      value: "0s",
      expected: `the time between two proposals, for example 1h: the chain has dispute games (${bytesToHex(address)})`,
    });
  }
  const findGameType = async (): Promise<number> => {
    const gameType = options.gameType ?? (await respectedGameType(reader, portal));
    await assertCanBeMade(reader, address, gameType, rootKind);
    return gameType;
  };
  await findGameType();
  return new DisputeGames(address, { proposalIntervalMs }, { findGameType, proposer, reader, clock });
}

/** @throws {ProposerError} proposer/bad-config: the factory has no such games, or their claims are of the other kind */
async function assertCanBeMade(reader: ContractReader, factory: Uint8Array, gameType: number, rootKind: RootKind): Promise<void> {
  const implementation = await reader.read(factory, "gameImpls(uint32)", [BigInt(gameType)]);
  if (implementation.kind === "reverted" || implementation.words.length !== 1 || isZeroBytes(implementation.words[0]!)) {
    throw new ProposerError("proposer/bad-config", {
      option: "--game-type",
      value: gameType,
      expected: `a type that the factory ${bytesToHex(factory)} has an implementation of`,
    });
  }
  const wanted = rootKindOfGame(gameType) ?? (await rootKindOf(reader, wordToAddress(implementation.words[0]!)));
  if (wanted === rootKind) return;
  throw new ProposerError("proposer/bad-config", { option: "--game-type", value: gameType, expected: wantedSource(wanted) });
}

/** Games with output roots have an L2 block number; those with super roots have a sequence number alone, which is a time. */
async function rootKindOf(reader: ContractReader, implementation: Uint8Array): Promise<RootKind> {
  const answer = await reader.read(implementation, "l2BlockNumber()");
  return answer.kind === "words" && answer.words.length > 0 ? "output root" : "super root";
}

async function respectedGameType(reader: ContractReader, portal: Uint8Array | undefined): Promise<number> {
  if (portal === undefined) return DEFAULT_GAME_TYPE;
  const answer = await reader.read(portal, "respectedGameType()");
  if (answer.kind === "reverted" || answer.words.length !== 1) return DEFAULT_GAME_TYPE;
  return wordToNumber(answer.words[0]!, portal, "respectedGameType()");
}

async function assertAnswers(
  reader: ContractReader,
  address: Uint8Array,
  signature: string,
  option: string,
  name: string,
): Promise<void> {
  const answer = await reader.read(address, signature);
  if (answer.kind === "words" && answer.words.length === 1) return;
  throw new ProposerError("proposer/no-contract", {
    option,
    address: bytesToHex(address),
    reason: answer.kind === "words" ? "there is no contract" : `${signature} answers "${answer.message}"`,
    remedy: `expected a ${name} on the L1 of --l1-eth-rpc`,
  });
}

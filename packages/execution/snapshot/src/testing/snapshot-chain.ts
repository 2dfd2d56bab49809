import {
  ACCOUNTS,
  attributesFor,
  type DevChain,
  devConfig,
  devGenesis,
  LOGGER,
  openDevChain,
  produce,
  transaction,
} from "@rnode/chain/testing";
import { bigintToBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { encodeTransaction, type Genesis, type GenesisAccount } from "@rnode/protocol";
import { createSnapshot, type SnapshotMade, type SnapshotRequest } from "../create/create-snapshot.ts";

/** Destroys itself when it is called, with all its slots. */
export const DOOMED = hexToBytes("0x00000000000000000000000000000000000010dd");
/** A contract with many slots. */
const LARGE = hexToBytes("0x00000000000000000000000000000000000010ee");
const DOOMED_CODE = hexToBytes("0x33ff");
/** stores the second word of its calldata in the slot that the first one names */
const WRITER_CODE = hexToBytes("0x602035600035550000");
const word = (value: number): Uint8Array => bigintToBytes(BigInt(value), 32);

/** Before Cancun, because contracts can no longer be destroyed since. */
const FORK = "regolith";
export const CONFIG = devConfig(FORK);

function contract(address: Uint8Array, code: Uint8Array, slots: number): GenesisAccount {
  const storage = Array.from({ length: slots }, (_, i) => ({
    slot: i % 2 === 0 ? word(i) : keccak256(word(i)),
    value: word(i + 1),
  }));
  return { address, nonce: 1n, balance: 5n, code, storage };
}

/** A contract that will be destroyed, one with many slots, several with the same code, and `accounts` others. */
function snapshotGenesis(accounts: number, slots: number): Genesis {
  const genesis = devGenesis(FORK);
  const others = Array.from({ length: accounts }, (_, i) => ({
    ...contract(keccak256(word(i)).subarray(12), i % 3 === 0 ? WRITER_CODE : new Uint8Array(0), i % 6 === 0 ? 3 : 0),
    balance: BigInt(i) ** 7n,
  }));
  return {
    ...genesis,
    alloc: [...genesis.alloc, contract(DOOMED, DOOMED_CODE, 30), contract(LARGE, WRITER_CODE, slots), ...others],
  };
}

export const openSnapshotChain = (accounts = 40, slots = 200): DevChain =>
  openDevChain(FORK, { genesis: snapshotGenesis(accounts, slots) });

/** Makes a block with a payment, a log, and a changed, a new and a deleted slot; one of them destroys the contract. */
export function produceChanges(dev: DevChain, destroys = false): void {
  const { number } = dev.chain.head();
  const call = (to: Uint8Array, data: Uint8Array = new Uint8Array(0), at = 0) =>
    encodeTransaction(transaction(0, nonceOf(dev) + at, { to, value: 0n, data, gasLimit: 200_000n }));
  const write = (slot: number, value: number) => Uint8Array.of(...word(slot), ...word(value));
  const calls = [
    call(LOGGER, word(number + 1)),
    call(LARGE, write(2 * (number % 8), 7000 + number), 1),
    call(LARGE, write(100_000 + number, 1), 2),
    call(LARGE, write(20 + 2 * (number % 8), 0), 3),
    ...(destroys ? [call(DOOMED, undefined, 4)] : []),
  ];
  const forced = attributesFor(dev, number + 1).transactions!;
  produce(dev, number + 1, { transactions: [...forced, ...calls] });
}

const nonceOf = ({ chain }: DevChain): number => Number(chain.stateAt(chain.head())!.readAccount(ACCOUNTS[0]!)!.nonce);

/** The bytes of a snapshot of a chain. @param meanwhile runs after each piece of the file */
export async function snapshotOf(
  dev: DevChain,
  request: Partial<SnapshotRequest> = {},
  meanwhile: () => void = () => {},
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly made: SnapshotMade }> {
  const pieces: Uint8Array[] = [];
  const own = { config: CONFIG, genesisHash: dev.chain.genesis.hash, blocks: 256, frameBytes: 2048 };
  const made = await createSnapshot(dev.store, { ...own, ...request }, async (bytes) => {
    pieces.push(bytes);
    meanwhile();
  });
  return { bytes: new Uint8Array(Buffer.concat(pieces)), made };
}

import { bigintToBytes, bytesToHex, type Hex } from "@rnode/primitives";
import {
  BEACON_ROOTS_ADDRESS,
  CONSOLIDATION_REQUESTS_ADDRESS,
  HISTORY_STORAGE_ADDRESS,
  type SignedTransaction,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from "@rnode/protocol";
import type { NextBlock } from "../block-maker.ts";
import type { DevPool } from "../dev-pool.ts";
import type { RemoteState, RemoteTarget } from "./remote-state.ts";

/** Of the ring buffers of EIP-2935 and EIP-4788. */
const RING_SLOTS = 8191;
/** Of the request contracts of EIP-7002 and EIP-7251: excess, count, head and tail. */
const REQUEST_SLOTS = [0, 1, 2, 3];

/** While a block is made, what its transactions and the system contracts read is fetched together. */
export const readingAhead =
  (state: RemoteState, pool: Pick<DevPool, "pending">, isRollup: boolean) =>
  <T>(block: NextBlock, make: () => T): T =>
    state.expecting(
      {
        calls: () => [...pool.pending()].map(({ transaction, sender }) => callOf(transaction, sender)),
        targets: () => readBySystem(block, isRollup),
      },
      make,
    );

function readBySystem({ number, timestampSec }: NextBlock, isRollup: boolean): RemoteTarget[] {
  const time = timestampSec % RING_SLOTS;
  return [
    targetOf(HISTORY_STORAGE_ADDRESS, [(number - 1) % RING_SLOTS]),
    targetOf(BEACON_ROOTS_ADDRESS, [time, time + RING_SLOTS]),
    ...(isRollup ? [] : [WITHDRAWAL_REQUESTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS].map((at) => targetOf(at, REQUEST_SLOTS))),
  ];
}

const targetOf = (address: Uint8Array, slots: readonly number[]): RemoteTarget => ({
  address: bytesToHex(address),
  slots: slots.map((slot) => bytesToHex(bigintToBytes(BigInt(slot), 32))),
});

function callOf({ to, value, data }: SignedTransaction, sender: Uint8Array): Readonly<Record<string, Hex>> {
  return {
    from: bytesToHex(sender),
    ...(to !== undefined && { to: bytesToHex(to) }),
    ...(value > 0n && { value: `0x${value.toString(16)}` }),
    input: bytesToHex(data),
  };
}

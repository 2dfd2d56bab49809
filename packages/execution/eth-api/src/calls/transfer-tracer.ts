import type { EvmTracer, TraceMessage, TraceResult } from "@rnode/evm";
import { bigintToBytes, hexToBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import type { Log } from "@rnode/protocol";

/** The address that logs of ether transfers seem to come from. Spec: execution-apis, eth_simulateV1 */
const TRANSFER_ADDRESS = hexToBytes(`0x${"ee".repeat(20)}`);
const TRANSFER_TOPIC = keccak256(new TextEncoder().encode("Transfer(address,address,uint256)"));

/** A log with its index among all logs that the block's transactions emitted, including those of failed calls. */
export interface IndexedLog {
  readonly log: Log;
  readonly index: number;
}

/** The logs of a block's transactions, with an ERC-20-like log for each transfer of ether. */
export class TransferTracer implements EvmTracer {
  readonly detail = "messages";
  /** for each open message, the logs of its successful parts */
  readonly #open: IndexedLog[][] = [];
  #done: IndexedLog[] = [];
  #count = 0;

  /** Returns the logs of the last transaction and clears them. */
  take(): readonly IndexedLog[] {
    const logs = this.#done;
    this.#done = [];
    this.#open.length = 0;
    return logs;
  }

  onEnter({ kind, from, to, value }: TraceMessage): void {
    this.#open.push([]);
    if (kind === "delegatecall" || kind === "callcode" || to === undefined) return;
    this.#transfer(from, to, value);
  }

  onExit({ halt }: TraceResult): void {
    const logs = this.#open.pop();
    if (logs === undefined || halt !== undefined) return;
    (this.#open.at(-1) ?? this.#done).push(...logs);
  }

  onSelfDestruct(self: Uint8Array, beneficiary: Uint8Array, balance: bigint): void {
    this.#transfer(self, beneficiary, balance);
  }

  onLog(address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array): void {
    this.#add({ address: address.slice(), topics: topics.map((topic) => topic.slice()), data: data.slice() });
  }

  #transfer(from: Uint8Array, to: Uint8Array, value: bigint): void {
    if (value === 0n) return;
    this.#add({
      address: TRANSFER_ADDRESS,
      topics: [TRANSFER_TOPIC, padBytesLeft(from, 32), padBytesLeft(to, 32)],
      data: bigintToBytes(value, 32),
    });
  }

  #add(log: Log): void {
    (this.#open.at(-1) ?? this.#done).push({ log, index: this.#count++ });
  }
}

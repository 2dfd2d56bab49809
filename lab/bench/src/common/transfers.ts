import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import type { Sender } from "./load-generator.ts";

/** Every eighth transfer goes to an account that does not exist yet. */
const NEW_RECEIVER_EVERY = 8;

/** Signed transfers by many senders in turn. */
export class Transfers {
  readonly #senders: readonly Sender[];
  readonly #chainId: bigint;
  readonly #nonces: bigint[];
  #count = 0;

  constructor(senders: readonly Sender[], chainId: number) {
    this.#senders = senders;
    this.#chainId = BigInt(chainId);
    this.#nonces = senders.map(() => 0n);
  }

  /** The next ones, encoded; one of each sender if `count` is their number. */
  next(count: number): Uint8Array[] {
    return Array.from({ length: count }, () => {
      const index = this.#count++ % this.#senders.length;
      const { privateKey } = this.#senders[index]!;
      const isNew = this.#count % NEW_RECEIVER_EVERY === 0;
      const transaction: FeeMarketTransaction = {
        type: 0x02,
        chainId: this.#chainId,
        nonce: this.#nonces[index]!++,
        gasLimit: 21_000n,
        to: isNew ? this.#newReceiver() : this.#senders[(index * 7 + 1) % this.#senders.length]!.address,
        value: 1n,
        data: new Uint8Array(0),
        maxPriorityFeePerGas: 1_000_000n,
        maxFeePerGas: 50_000_000_000n,
        accessList: [],
      };
      return encodeTransaction(signTransaction(transaction, privateKey));
    });
  }

  #newReceiver(): Uint8Array {
    const address = new Uint8Array(20).fill(0xbe);
    new DataView(address.buffer).setUint32(0, Math.imul(this.#count, 0x9e37_79b1));
    return address;
  }
}

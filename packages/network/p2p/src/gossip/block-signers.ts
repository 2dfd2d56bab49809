import { type Clock, equalBytes, isZeroBytes, ZERO_ADDRESS } from "@rnode/primitives";

/** How long blocks of the former signer are accepted after L1 named another one, as op-node has it. */
export const SIGNER_GRACE_MS = 3 * 3_600_000;

/**
 * The accepted signers of blocks: L1's current signer, and for a time the previous one, so that an operator can replace a key on
 * L1 and at the sequencer one after the other. The first block of the new signer ends that time. Spec:
 * docs/protocol/03-p2p.md#validation-order-and-verdict
 */
export class BlockSigners {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #current: Uint8Array = ZERO_ADDRESS;
  #former: { readonly address: Uint8Array; readonly untilMs: number } | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** 20 bytes, all zero if L1 names none */
  get current(): Uint8Array {
    return this.#current;
  }

  /** L1 names this signer. @param address 20 bytes, all zero if L1 names none */
  rotate(address: Uint8Array): void {
    const former = this.#current;
    if (equalBytes(former, address)) return;
    this.#current = address;
    if (!isZeroBytes(former)) this.#former = { address: former, untilMs: this.#clock.monotonicMs() + SIGNER_GRACE_MS };
  }

  /** `none` if L1 names no signer */
  check(address: Uint8Array): "current" | "former" | "other" | "none" {
    if (isZeroBytes(this.#current)) return "none";
    if (equalBytes(address, this.#current)) return "current";
    const former = this.#former;
    return former !== undefined && this.#clock.monotonicMs() < former.untilMs && equalBytes(address, former.address)
      ? "former"
      : "other";
  }

  /** A block of the current signer was seen: blocks of the former signer are no longer accepted. */
  confirm(): void {
    this.#former = undefined;
  }
}

import type { EvmTracer, TraceMessage, TraceStep } from "@rnode/evm";
import { bigintToBytes, bytesToBigint, bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { AccessListEntry } from "@rnode/protocol";
import type { Work } from "../backend/work.ts";

const SLOAD = 0x54;
const SSTORE = 0x55;
/** opcodes with an account on top of the stack: BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT */
const ACCOUNT_ON_TOP = new Set([0x31, 0x3b, 0x3c, 0x3f, 0xff]);
/** CALL, CALLCODE, DELEGATECALL and STATICCALL: the account is one below the top of the stack, under the gas */
const ACCOUNT_BELOW_TOP = new Set([0xf1, 0xf2, 0xf4, 0xfa]);
const ADDRESS_MASK = (1n << 160n) - 1n;
const LAST_PRECOMPILE = 0x11n;
const P256_PRECOMPILE = 0x100n;

/** Collects the accounts and slots that a call touches. */
export class AccessListTracer implements EvmTracer {
  readonly detail = "touches";
  readonly onTick: () => void;
  readonly #slots = new Map<Hex, Set<Hex>>();
  /** accounts that are warm anyway and are therefore not listed */
  readonly #excluded: Set<Hex>;

  constructor(work: Work, given: readonly AccessListEntry[], excluded: readonly Uint8Array[]) {
    this.onTick = () => work.check();
    this.#excluded = new Set(excluded.map(bytesToHex));
    for (const { address, storageKeys } of given) {
      const slots = this.#slotsOf(bytesToHex(address));
      for (const key of storageKeys) slots.add(bytesToHex(key));
    }
  }

  onEnter({ kind, to }: TraceMessage): void {
    if ((kind === "create" || kind === "create2") && to !== undefined) this.#excluded.add(bytesToHex(to));
  }

  onStep(step: TraceStep): void {
    const { opcode, stackSize } = step;
    if ((opcode === SLOAD || opcode === SSTORE) && stackSize >= 1) {
      this.#slotsOf(bytesToHex(step.address)).add(bytesToHex(bigintToBytes(step.stack(0), 32)));
    } else if (ACCOUNT_ON_TOP.has(opcode) && stackSize >= 1) this.#touch(step.stack(0));
    else if (ACCOUNT_BELOW_TOP.has(opcode) && stackSize >= 5) this.#touch(step.stack(1));
  }

  /** Accounts in the order of their first touch. An excluded account is listed only if its slots were touched. */
  list(): AccessListEntry[] {
    const entries: AccessListEntry[] = [];
    for (const [address, slots] of this.#slots) {
      if (slots.size === 0 && this.#excluded.has(address)) continue;
      entries.push({ address: hexToBytes(address), storageKeys: [...slots].map(hexToBytes) });
    }
    return entries;
  }

  #touch(word: bigint): void {
    const address = bigintToBytes(word & ADDRESS_MASK, 20);
    const number = bytesToBigint(address);
    if ((number >= 1n && number <= LAST_PRECOMPILE) || number === P256_PRECOMPILE) return;
    this.#slotsOf(bytesToHex(address));
  }

  #slotsOf(address: Hex): Set<Hex> {
    let slots = this.#slots.get(address);
    if (slots === undefined) this.#slots.set(address, (slots = new Set()));
    return slots;
  }
}

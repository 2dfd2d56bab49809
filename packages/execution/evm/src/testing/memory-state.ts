import { bytesToHex, EMPTY_KECCAK, type ExactInteger, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { type BlockRules, type EvmFork, forkRules, type OpFork } from "@rnode/protocol";
import type { BlockEnvironment } from "../execution.ts";
import type { AccountRecord, StateReader } from "../state.ts";

export interface TestAccount {
  readonly balance?: bigint;
  readonly nonce?: bigint;
  readonly code?: Hex | Uint8Array;
  readonly storage?: Readonly<Record<Hex, bigint>>;
}

/** A `StateReader` over maps; counts its reads. */
export class MemoryState implements StateReader {
  readonly reads = { accounts: [] as Hex[], slots: 0, codes: 0 };
  readonly #accounts = new Map<Hex, { record: AccountRecord; storage: Map<Hex, Uint8Array> }>();
  readonly #codes = new Map<Hex, Uint8Array>();

  constructor(accounts: Readonly<Record<Hex, TestAccount>>) {
    for (const [addressHex, { balance = 0n, nonce = 0n, code = "0x", storage = {} }] of Object.entries(accounts)) {
      const bytes = typeof code === "string" ? hexToBytes(code) : code;
      const codeHash = bytes.length === 0 ? EMPTY_KECCAK : keccak256(bytes);
      this.#codes.set(bytesToHex(codeHash), bytes);
      const slots = Object.entries(storage).map(([slot, value]) => [bytesToHex(word(BigInt(slot))), word(value)] as const);
      this.#accounts.set(addressHex as Hex, { record: { nonce, balance, codeHash }, storage: new Map(slots) });
    }
  }

  readAccount(address: Uint8Array): AccountRecord | undefined {
    this.reads.accounts.push(bytesToHex(address));
    return this.#accounts.get(bytesToHex(address))?.record;
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    this.reads.slots++;
    return this.#accounts.get(bytesToHex(address))?.storage.get(bytesToHex(slot));
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    this.reads.codes++;
    const code = this.#codes.get(bytesToHex(codeHash));
    if (code === undefined) throw new Error(`no code ${bytesToHex(codeHash)}`);
    return code;
  }

  hasStorage(address: Uint8Array): boolean {
    return (this.#accounts.get(bytesToHex(address))?.storage.size ?? 0) > 0;
  }

  readBlockHash(number: ExactInteger): Uint8Array {
    return word(BigInt(number) + 0xb10c_0000n);
  }
}

export const word = (value: bigint): Uint8Array => hexToBytes(`0x${BigInt.asUintN(256, value).toString(16).padStart(64, "0")}`);

export const address = (hex: Hex): Uint8Array => hexToBytes(hex);

/** 0x00…00nn */
export const addressHex = (number: number): Hex => `0x${number.toString(16).padStart(40, "0")}`;

export const ethereumRules = (evm: EvmFork): BlockRules => ({
  ...forkRules(evm),
  chainId: 1n,
  blobParams: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n },
  isDaoForkBlock: false,
});

export const opRules = (evm: EvmFork, op: OpFork): BlockRules => ({
  ...forkRules(evm, op),
  chainId: 10n,
  blobParams: undefined,
  isDaoForkBlock: false,
});

export const COINBASE = addressHex(0xc0ffee);

export const environment: BlockEnvironment = {
  number: 1000n,
  timestamp: 1_700_000_000n,
  beneficiary: hexToBytes(COINBASE),
  gasLimit: 30_000_000n,
  baseFeePerGas: 7n,
  difficulty: 0n,
  prevRandao: new Uint8Array(32).fill(0x42),
  blobBaseFee: 1n,
};

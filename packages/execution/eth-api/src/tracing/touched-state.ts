import type { EvmTracer, TraceResult, TraceStep } from "@rnode/evm";
import { bigintToBytes, bytesToHex, encodeRlp, equalBytes, type Hex, hexToBytes, isZeroBytes, keccak256 } from "@rnode/primitives";
import { PREDEPLOYS } from "@rnode/protocol";
import { OP } from "../instructions/opcodes.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import type { TraceContext, TraceState } from "./transaction-tracer.ts";

export interface AccountState {
  readonly balance: bigint;
  readonly nonce: bigint;
  readonly code: Uint8Array;
}

export interface TouchedAccount extends AccountState {
  readonly address: Uint8Array;
  /** the touched slots with their values before the transaction */
  readonly storage: Map<Hex, Uint8Array>;
}

const ADDRESS_MASK = (1n << 160n) - 1n;
/** The instructions of the detail "touches". */
const TOUCHING: ReadonlySet<number> = new Set<number>([
  ...[OP.sload, OP.sstore, OP.balance, OP.extCodeSize, OP.extCodeCopy, OP.extCodeHash, OP.selfdestruct],
  ...[OP.call, OP.callcode, OP.delegatecall, OP.staticcall, OP.create, OP.create2],
]);
const DELEGATION_PREFIX = [0xef, 0x01, 0x00] as const;
const DELEGATION_BYTES = 23;

const addressOf = (word: bigint): Uint8Array => bigintToBytes(word & ADDRESS_MASK, 20);
const createdAddressOf = (creator: Uint8Array, nonce: bigint): Uint8Array =>
  keccak256(encodeRlp([creator, nonce === 0n ? new Uint8Array(0) : bigintToBytes(nonce)])).subarray(12);

/** Remembers accounts and slots as they were before a transaction first touched them. */
export class TouchedState implements EvmTracer {
  readonly accounts = new Map<Hex, TouchedAccount>();
  /** destroyed by SELFDESTRUCT, as far as the fork allows that */
  readonly destroyed = new Set<Hex>();
  readonly created = new Set<Hex>();
  readonly #dialect: TraceDialect;
  /** undoes the touches that only the last instruction made */
  readonly #ofLastStep: (() => void)[] = [];
  #state!: TraceState;
  #isDestructionLimited = false;

  constructor(dialect: TraceDialect) {
    this.#dialect = dialect;
  }

  get state(): TraceState {
    return this.#state;
  }

  onStart({ state, message, beneficiary, rules }: TraceContext, isDestructionLimited = true): void {
    this.#state = state;
    this.#isDestructionLimited = isDestructionLimited;
    this.#ofLastStep.length = 0;
    const { from, to, delegations, isDeposit, isPostExec } = message;
    if (isPostExec) return;
    if (to === undefined) {
      const created = createdAddressOf(from, state.getNonce(from));
      this.created.add(bytesToHex(created));
      this.touch(from);
      this.touch(created);
    } else {
      this.touch(from);
      this.touch(to);
      // The delegation of this transaction replaces the one that the account had.
      if (!delegations.some(({ authority }) => equalBytes(authority, to))) this.#touchDelegate(to);
    }
    const { vaults, hasVaultsOfDeposits } = this.#dialect.prestate;
    if (!isDeposit || hasVaultsOfDeposits) this.touch(beneficiary);
    for (const { authority, target } of delegations) {
      this.touch(authority);
      if (to !== undefined && equalBytes(authority, to) && !isZeroBytes(target)) this.touch(target);
    }
    if (rules.op !== undefined && (!isDeposit || hasVaultsOfDeposits)) for (const vault of vaults) this.touch(PREDEPLOYS[vault]);
    this.#ofLastStep.length = 0;
  }

  onExit({ halt, lastStep }: TraceResult): void {
    if (halt === undefined || halt === "revert" || this.#ofLastStep.length === 0) return;
    const opcode = lastStep()?.opcode;
    // Where not all steps are reported, another instruction may have failed since.
    const isOfTouch = opcode !== undefined && TOUCHING.has(opcode);
    if (isOfTouch && !this.#dialect.failedTouch(halt, opcode)) for (const undo of this.#ofLastStep) undo();
    this.#ofLastStep.length = 0;
  }

  onStep(step: TraceStep): void {
    this.#ofLastStep.length = 0;
    const { opcode, stackSize, stack } = step;
    switch (opcode) {
      case OP.sload:
      case OP.sstore:
        if (stackSize >= 1) this.touchSlot(step.address.slice(), bigintToBytes(stack(0), 32));
        break;
      case OP.balance:
      case OP.extCodeSize:
      case OP.extCodeCopy:
      case OP.extCodeHash:
        if (stackSize >= 1) this.touch(addressOf(stack(0)));
        break;
      case OP.selfdestruct: {
        const self = bytesToHex(step.address);
        if (stackSize >= 1) this.touch(addressOf(stack(0)));
        if (!this.#isDestructionLimited || this.created.has(self)) this.destroyed.add(self);
        break;
      }
      case OP.call:
      case OP.callcode:
      case OP.delegatecall:
      case OP.staticcall:
        if (stackSize >= 5) {
          const target = addressOf(stack(1));
          this.touch(target);
          this.#touchDelegate(target);
        }
        break;
      case OP.create: {
        const creator = step.address.slice();
        this.#create(createdAddressOf(creator, this.#state.getNonce(creator)));
        break;
      }
      case OP.create2:
        if (stackSize >= 4) this.#create2(step);
        break;
      default:
    }
  }

  touch(address: Uint8Array): TouchedAccount {
    const key = bytesToHex(address);
    let account = this.accounts.get(key);
    if (account === undefined) {
      account = { address: address.slice(), ...this.read(address), storage: new Map() };
      this.accounts.set(key, account);
      this.#ofLastStep.push(() => this.accounts.delete(key));
    }
    return account;
  }

  touchSlot(address: Uint8Array, slot: Uint8Array): void {
    const { storage } = this.touch(address);
    const key = bytesToHex(slot);
    if (storage.has(key)) return;
    storage.set(key, this.#state.getStorage(address, slot));
    this.#ofLastStep.push(() => storage.delete(key));
  }

  /** The account in its current state. */
  read(address: Uint8Array): AccountState {
    return {
      balance: this.#state.getBalance(address),
      nonce: this.#state.getNonce(address),
      code: this.#state.getCode(address),
    };
  }

  readSlot(address: Uint8Array, slot: Hex): Uint8Array {
    return this.#state.getStorage(address, hexToBytes(slot));
  }

  #create(address: Uint8Array): void {
    this.touch(address);
    this.created.add(bytesToHex(address));
  }

  #create2({ stack, memory, address }: TraceStep): void {
    const offset = stack(1);
    const length = stack(2);
    const salt = bigintToBytes(stack(3), 32);
    if (offset + length > 1n << 32n) return; // gas could not pay for more
    const data = new Uint8Array(Number(length));
    if (length > 0n) data.set(memory().subarray(Number(offset), Number(offset + length)));
    const seed = new Uint8Array(85);
    seed[0] = 0xff;
    seed.set(address, 1);
    seed.set(salt, 21);
    seed.set(keccak256(data), 53);
    this.#create(keccak256(seed).subarray(12));
  }

  /** EIP-7702: the account whose code is delegated to is touched, too. */
  #touchDelegate(address: Uint8Array): void {
    const code = this.#state.getCode(address); // the current code: the transaction itself may have set it
    if (code.length === DELEGATION_BYTES && DELEGATION_PREFIX.every((byte, index) => code[index] === byte)) {
      this.touch(code.subarray(DELEGATION_PREFIX.length));
    }
  }
}

import type { AccountRecord, EvmEngine, EvmTracer, StateReader } from "@rnode/evm";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  EMPTY_KECCAK,
  encodeRlp,
  type Hex,
  isZeroBytes,
  keccak256,
  rlpUint,
  signHash,
} from "@rnode/primitives";
import { type Authorization, type BlockRules, forkRules, type SignedTransaction } from "@rnode/protocol";
import {
  accountText,
  type FuzzAuthorization,
  type FuzzCase,
  type FuzzFork,
  type FuzzOutcome,
  type FuzzStep,
  type FuzzTransaction,
  TRACED_STACK_ITEMS,
  type TransactionEffect,
} from "./fuzz-case.ts";
import { FUZZ_CHAIN_ID, fuzzKey } from "./generate.ts";

/** The hash of block `number` that both sides use. */
export const fuzzBlockHash = (number: number): Uint8Array => keccak256(bigintToBytes(BigInt(number), 32));

/** Runs a case on our engine. @param onStep called for every instruction, which is slower */
export function runOurs(engine: EvmEngine, fuzzCase: FuzzCase, onStep?: (step: FuzzStep) => void): FuzzOutcome {
  const state = new CaseState(fuzzCase);
  engine.setTracer(onStep === undefined ? undefined : stepTracer(onStep));
  try {
    const block = engine.beginBlock(rulesOf(fuzzCase), fuzzCase.environment, state);
    const transactions = fuzzCase.transactions.map((transaction): TransactionEffect => {
      const signed = toSigned(fuzzCase.fork, transaction, block.getNonce(fuzzCase.sender));
      const result = block.applyTransaction(signed, { sender: fuzzCase.sender, encoded: new Uint8Array(0) });
      if (result.kind === "rejected") return { kind: "rejected" };
      const { status, gasUsed, output, halt, createdAddress, logs } = result.outcome;
      return {
        kind: "included",
        status,
        isRevert: halt === "revert",
        gasUsed,
        output: bytesToHex(output),
        created: status === 1 && createdAddress !== undefined ? bytesToHex(createdAddress) : undefined,
        logs: logs.map(({ address, topics, data }) => [address, ...topics, data].map(bytesToHex).join(" ")),
      };
    });
    return { transactions, state: state.after(block.changes()) };
  } finally {
    engine.setTracer(undefined);
  }
}

function rulesOf({ fork }: FuzzCase): BlockRules {
  const rules = forkRules(fork);
  return { ...rules, chainId: FUZZ_CHAIN_ID, blobParams: rules.defaultBlobParams, isDaoForkBlock: false };
}

function toSigned(fork: FuzzFork, transaction: FuzzTransaction, nonce: bigint): SignedTransaction {
  const { authorizations, blobs, accessList, maxFeePerGas, maxPriorityFeePerGas, ...fields } = transaction;
  const common = { ...fields, chainId: FUZZ_CHAIN_ID, nonce };
  const rules = forkRules(fork);
  if (!rules.acceptsDynamicFees) {
    const gasPrice = maxFeePerGas;
    // EIP-155
    const chainId = rules.allowsChainIdInSignature ? FUZZ_CHAIN_ID : undefined;
    return accessList.length === 0 ? { type: 0x00, ...common, chainId, gasPrice } : { type: 0x01, ...common, gasPrice, accessList };
  }
  const dynamic = { ...common, accessList, maxFeePerGas, maxPriorityFeePerGas };
  if (authorizations !== undefined) {
    return { type: 0x04, ...dynamic, authorizationList: authorizations.map(signAuthorization) };
  }
  if (blobs !== undefined) {
    return { type: 0x03, ...dynamic, blobVersionedHashes: blobs.versionedHashes, maxFeePerBlobGas: blobs.maxFeePerBlobGas };
  }
  return { type: 0x02, ...dynamic };
}

/** EIP-7702: keccak256(5 ‖ rlp([chain id, address, nonce])) */
function signAuthorization({ chainId, address, nonce, signer }: FuzzAuthorization): Authorization {
  const hash = keccak256(Uint8Array.of(5), encodeRlp([rlpUint(chainId), address, rlpUint(nonce)]));
  const { r, s, yParity } = signHash(hash, fuzzKey(signer));
  return { chainId, address, nonce, yParity, r: bytesToBigint(r), s: bytesToBigint(s) };
}

interface MemoryAccount {
  readonly record: AccountRecord;
  readonly storage: ReadonlyMap<Hex, Uint8Array>;
}

class CaseState implements StateReader {
  readonly #accounts = new Map<Hex, MemoryAccount>();
  readonly #codes = new Map<Hex, Uint8Array>();

  constructor({ accounts }: FuzzCase) {
    for (const { address, nonce, balance, code, storage } of accounts) {
      const codeHash = code.length === 0 ? EMPTY_KECCAK : keccak256(code);
      this.#codes.set(bytesToHex(codeHash), code);
      this.#accounts.set(bytesToHex(address), {
        record: { nonce, balance, codeHash },
        storage: new Map(storage.map(([slot, value]) => [bytesToHex(bigintToBytes(slot, 32)), bigintToBytes(value, 32)])),
      });
    }
  }

  readAccount(address: Uint8Array): AccountRecord | undefined {
    return this.#accounts.get(bytesToHex(address))?.record;
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.#accounts.get(bytesToHex(address))?.storage.get(bytesToHex(slot));
  }

  hasStorage(address: Uint8Array): boolean {
    return (this.#accounts.get(bytesToHex(address))?.storage.size ?? 0) > 0;
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    const code = this.#codes.get(bytesToHex(codeHash));
    if (code === undefined) throw new Error(`no code ${bytesToHex(codeHash)}`);
    return code;
  }

  readBlockHash(number: number): Uint8Array {
    return fuzzBlockHash(number);
  }

  /** The state with the block's changes, as text. */
  after({ accounts, codes }: ReturnType<ReturnType<EvmEngine["beginBlock"]>["changes"]>): ReadonlyMap<Hex, string> {
    for (const { codeHash, code } of codes) this.#codes.set(bytesToHex(codeHash), code);
    const state = new Map(this.#accounts);
    for (const { address, after, storageCleared, storage } of accounts) {
      const key = bytesToHex(address);
      if (after === undefined) {
        state.delete(key);
        continue;
      }
      const slots = new Map(storageCleared ? [] : state.get(key)?.storage);
      for (const { slot, after: value } of storage) {
        if (isZeroBytes(value)) slots.delete(bytesToHex(slot));
        else slots.set(bytesToHex(slot), value);
      }
      state.set(key, { record: after, storage: slots });
    }
    return new Map(
      [...state].map(([key, { record, storage }]) => {
        const isEmptyCode = bytesToHex(record.codeHash) === bytesToHex(EMPTY_KECCAK);
        const code = isEmptyCode ? "0x" : bytesToHex(this.readCode(record.codeHash));
        const slots = [...storage].map(([slot, value]) => [slot, bytesToHex(value)] as const);
        return [key, accountText(record.nonce, record.balance, code, slots)];
      }),
    );
  }
}

function stepTracer(onStep: (step: FuzzStep) => void): EvmTracer {
  return {
    onStep({ pc, opcode, gas, depth, stack, stackSize, address }) {
      const items = Math.min(stackSize, TRACED_STACK_ITEMS);
      const top = Array.from({ length: items }, (_, index) => stack(index));
      onStep({ pc, opcode, gas, depth, stack: top, stackSize, address: bytesToHex(address) });
    },
  };
}

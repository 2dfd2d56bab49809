import { Common, type CustomCrypto, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM, type EVM, EVMError, getActivePrecompiles, type InterpreterStep } from "@ethereumjs/evm";
import { SimpleStateManager } from "@ethereumjs/statemanager";
import { Account, Address, createAccount, createAddressFromString, bytesToHex as toPrefixedHex } from "@ethereumjs/util";
import { bigintToBytes, bytesToHex, concatBytes, type Hex, hexToBytes } from "@rnode/primitives";
import { knowNoEof } from "./ef-code.ts";
import {
  accountText,
  type FuzzCase,
  type FuzzFork,
  type FuzzOutcome,
  type FuzzStep,
  type FuzzTransaction,
  isFuzzForkAtLeast,
  TRACED_STACK_ITEMS,
  type TransactionEffect,
} from "./fuzz-case.ts";
import { FUZZ_CHAIN_ID, SIGNER_ADDRESSES } from "./generate.ts";
import { fuzzBlockHash } from "./our-engine.ts";

const HARDFORKS: Readonly<Record<FuzzFork, Hardfork>> = {
  frontier: Hardfork.Chainstart,
  homestead: Hardfork.Homestead,
  tangerineWhistle: Hardfork.TangerineWhistle,
  spuriousDragon: Hardfork.SpuriousDragon,
  byzantium: Hardfork.Byzantium,
  constantinople: Hardfork.Constantinople,
  petersburg: Hardfork.Petersburg,
  istanbul: Hardfork.Istanbul,
  berlin: Hardfork.Berlin,
  london: Hardfork.London,
  paris: Hardfork.Paris,
  shanghai: Hardfork.Shanghai,
  cancun: Hardfork.Cancun,
  prague: Hardfork.Prague,
  osaka: Hardfork.Osaka,
};

const BLOB_GAS = 131_072n;
const BLS_SCALAR_ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;
const INFINITY_POINT = `0xc0${"00".repeat(47)}`;

/** Point evaluation without a trusted setup: the generator only uses the commitment to the zero polynomial. */
const kzg = {
  verifyProof(commitment: string, z: string, y: string, proof: string): boolean {
    if (BigInt(z) >= BLS_SCALAR_ORDER || BigInt(y) >= BLS_SCALAR_ORDER) throw new Error("C_KZG_BADARGS: not a field element");
    if (commitment !== INFINITY_POINT) throw new Error("C_KZG_BADARGS: a commitment that the generator does not make");
    return BigInt(y) === 0n && proof === INFINITY_POINT;
  },
} as unknown as NonNullable<CustomCrypto["kzg"]>;

/**
 * The oracle's state in maps. The library's own state manager keeps bytecode and storage of deleted accounts, and returns accounts
 * that it continues to use; its MPT state manager does neither.
 */
class OracleState extends SimpleStateManager {
  override async getAccount(address: Address): Promise<Account | undefined> {
    const account = await super.getAccount(address);
    if (account === undefined) return undefined;
    return createAccount({ nonce: account.nonce, balance: account.balance, codeHash: account.codeHash });
  }

  override async deleteAccount(address: Address): Promise<void> {
    await super.deleteAccount(address);
    this.topCodeStack().delete(address.toString());
    await this.clearStorage(address);
  }

  /** only accounts that exist */
  text(): ReadonlyMap<Hex, string> {
    const slots = new Map<string, [Hex, Hex][]>();
    for (const [key, value] of this.topStorageStack()) {
      const [address = "", slot = "0x"] = key.split("_");
      const word = bytesToHex(bigintToBytes(BigInt(value.length === 0 ? "0x0" : toPrefixedHex(value)), 32));
      if (BigInt(word) === 0n) continue;
      const list = slots.get(address) ?? [];
      list.push([slot as Hex, word]);
      slots.set(address, list);
    }
    const state = new Map<Hex, string>();
    for (const [address, account] of this.topAccountStack()) {
      if (account === undefined) continue;
      const code = account.isContract() ? bytesToHex(this.topCodeStack().get(address) ?? new Uint8Array(0)) : "0x";
      state.set(address, accountText(account.nonce, account.balance, code, slots.get(address) ?? []));
    }
    return state;
  }
}

const COMMONS = new Map<FuzzFork, Common>();

function commonOf(fork: FuzzFork): Common {
  const known = COMMONS.get(fork);
  if (known !== undefined) return known;
  const common = new Common({ chain: Mainnet, hardfork: HARDFORKS[fork], customCrypto: { kzg } });
  COMMONS.set(fork, common);
  return common;
}

const toAddress = (bytes: Uint8Array): Address => new Address(bytes.slice());

/**
 * Runs a case on @ethereumjs/evm, which has no transactions: the steps around the message are implemented here, by the Yellow
 * Paper and the EIPs.
 */
export async function runOracle(fuzzCase: FuzzCase, onStep?: (step: FuzzStep) => void): Promise<FuzzOutcome> {
  const common = commonOf(fuzzCase.fork);
  const state = new OracleState({ common });
  for (const { address, nonce, balance, code, storage } of fuzzCase.accounts) {
    await state.putAccount(toAddress(address), createAccount({ nonce, balance }));
    if (code.length > 0) await state.putCode(toAddress(address), code);
    for (const [slot, value] of storage) {
      await state.putStorage(
        toAddress(address),
        bigintToBytes(slot, 32),
        bigintToBytes(value, Math.ceil(value.toString(16).length / 2)),
      );
    }
  }
  const evm = await createEVM({
    common,
    stateManager: state,
    blockchain: {
      getBlock: (number: number) => Promise.resolve({ hash: () => fuzzBlockHash(number) }),
      putBlock: () => Promise.resolve(),
      shallowCopy() {
        return this;
      },
    } as never,
  });
  knowNoEof(evm);
  if (onStep !== undefined) evm.events!.on("step", (step) => onStep(stepOf(step)));
  const transactions: TransactionEffect[] = [];
  let blockGasLeft = fuzzCase.environment.gasLimit;
  for (const transaction of fuzzCase.transactions) {
    const effect: TransactionEffect =
      transaction.gasLimit > blockGasLeft ? { kind: "rejected" } : await applyTransaction(evm, state, fuzzCase, transaction);
    if (effect.kind === "included") blockGasLeft -= effect.gasUsed;
    transactions.push(effect);
  }
  // each EVM adds listeners to its Common, which outlives it
  common.events.removeAllListeners();
  return { transactions, state: state.text() };
}

function stepOf({ pc, opcode, gasLeft, depth, stack, address }: InterpreterStep): FuzzStep {
  const top = stack.slice(-TRACED_STACK_ITEMS).reverse();
  return {
    pc,
    opcode: opcode.code,
    gas: gasLeft,
    depth,
    stack: top,
    stackSize: stack.length,
    address: bytesToHex(address.bytes),
  };
}

async function applyTransaction(
  evm: EVM,
  state: OracleState,
  fuzzCase: FuzzCase,
  transaction: FuzzTransaction,
): Promise<TransactionEffect> {
  const { fork, environment } = fuzzCase;
  const { to, data, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas, authorizations, blobs } = transaction;
  const caller = toAddress(fuzzCase.sender);
  const intrinsic = intrinsicGas(fork, transaction);
  const floor = floorGas(fork, data);
  const isInitCodeTooLong = to === undefined && isFuzzForkAtLeast(fork, "shanghai") && data.length > 49_152;
  const before = (await state.getAccount(caller)) ?? new Account();
  if (gasLimit < intrinsic || gasLimit < floor || isInitCodeTooLong) return { kind: "rejected" };
  if (maxFeePerGas < environment.baseFeePerGas || maxPriorityFeePerGas > maxFeePerGas) return { kind: "rejected" };
  if (blobs !== undefined && !isBlobListValid(fuzzCase, transaction, blobs)) return { kind: "rejected" };
  // EIP-7825
  if (isFuzzForkAtLeast(fork, "osaka") && gasLimit > 2n ** 24n) return { kind: "rejected" };
  const blobGas = BLOB_GAS * BigInt(blobs?.versionedHashes.length ?? 0);
  if (before.balance < gasLimit * maxFeePerGas + value + blobGas * (blobs?.maxFeePerBlobGas ?? 0n)) return { kind: "rejected" };
  const senderCode = await state.getCode(caller);
  if (senderCode.length > 0 && !isDesignator(senderCode)) return { kind: "rejected" };

  const tip = min(maxPriorityFeePerGas, maxFeePerGas - environment.baseFeePerGas);
  const gasPrice = environment.baseFeePerGas + tip;
  before.balance -= gasLimit * gasPrice + blobGas * environment.blobBaseFee;
  await evm.journal.putAccount(caller, before);
  warmUp(evm, fuzzCase, transaction);
  let refund = 0n;
  if (authorizations !== undefined) {
    // runCall increases the nonce, but authorizations must see it increased
    before.nonce += 1n;
    await evm.journal.putAccount(caller, before);
    refund += await applyAuthorizations(evm, state, authorizations);
  }
  const { execResult, createdAddress } = await evm.runCall({
    block: {
      header: {
        number: environment.number,
        coinbase: toAddress(environment.beneficiary),
        timestamp: environment.timestamp,
        difficulty: environment.difficulty,
        prevRandao: environment.prevRandao,
        gasLimit: environment.gasLimit,
        baseFeePerGas: environment.baseFeePerGas,
        slotNumber: 0n,
        getBlobGasPrice: () => environment.blobBaseFee,
      },
    } as never,
    caller,
    origin: caller,
    ...(to !== undefined && { to: toAddress(to) }),
    data,
    value,
    gasPrice,
    gasLimit: gasLimit - intrinsic,
    skipNonceIncrement: authorizations !== undefined,
    ...(blobs !== undefined && { blobVersionedHashes: blobs.versionedHashes.map((hash) => bytesToHex(hash)) }),
  });
  const { executionGasUsed, gasRefund, selfdestruct, createdAddresses, logs, returnValue } = execResult;
  const exceptionError = isForgiven(fork, execResult.exceptionError) ? undefined : execResult.exceptionError;
  refund += exceptionError === undefined ? (gasRefund ?? 0n) : 0n;
  let gasUsed = intrinsic + executionGasUsed;
  // EIP-3529
  gasUsed -= min(refund, gasUsed / (isFuzzForkAtLeast(fork, "london") ? 5n : 2n));
  if (gasUsed < floor) gasUsed = floor;

  const after = (await state.getAccount(caller)) ?? new Account();
  after.balance += (gasLimit - gasUsed) * gasPrice;
  await evm.journal.putAccount(caller, after);
  const beneficiary = toAddress(environment.beneficiary);
  const miner = (await state.getAccount(beneficiary)) ?? new Account();
  miner.balance += gasUsed * tip;
  await evm.journal.putAccount(beneficiary, miner);
  for (const [address] of selfdestruct ?? []) {
    // EIP-6780: only contracts that this transaction created
    if (isFuzzForkAtLeast(fork, "cancun") && createdAddresses?.has(address) !== true) continue;
    await evm.journal.deleteAccount(createAddressFromString(address));
  }
  await evm.journal.cleanup();
  state.originalStorageCache.clear();
  (evm as unknown as { transientStorage: { clear(): void } }).transientStorage.clear();
  return {
    kind: "included",
    status: exceptionError === undefined ? 1 : 0,
    isRevert: exceptionError?.error === EVMError.errorMessages.REVERT,
    gasUsed,
    output: bytesToHex(returnValue),
    created:
      to === undefined && exceptionError === undefined && createdAddress !== undefined
        ? bytesToHex(createdAddress.bytes)
        : undefined,
    logs: (logs ?? []).map(([address, topics, bytes]) => [address, ...topics, bytes].map(bytesToHex).join(" ")),
  };
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Frontier: a contract whose code cannot be paid for is created without code. */
const isForgiven = (fork: FuzzFork, error: EVMError | undefined): boolean =>
  fork === "frontier" && error?.error === EVMError.errorMessages.CODESTORE_OUT_OF_GAS;

/** EIP-4844, EIP-7594 (six per transaction) */
function isBlobListValid(
  { fork, environment }: FuzzCase,
  { to }: FuzzTransaction,
  { versionedHashes, maxFeePerBlobGas }: NonNullable<FuzzTransaction["blobs"]>,
): boolean {
  const most = fork === "prague" ? 9 : 6;
  return (
    to !== undefined &&
    maxFeePerBlobGas >= environment.blobBaseFee &&
    versionedHashes.length > 0 &&
    versionedHashes.length <= most &&
    versionedHashes.every((hash) => hash[0] === 1)
  );
}

/** Yellow paper §6.2; EIP-2, 2028, 2930, 3860, 7702 */
function intrinsicGas(fork: FuzzFork, { to, data, accessList, authorizations }: FuzzTransaction): bigint {
  let gas = 21_000n;
  const nonZero = isFuzzForkAtLeast(fork, "istanbul") ? 16n : 68n;
  for (const byte of data) gas += byte === 0 ? 4n : nonZero;
  if (to === undefined) {
    if (isFuzzForkAtLeast(fork, "homestead")) gas += 32_000n;
    if (isFuzzForkAtLeast(fork, "shanghai")) gas += 2n * BigInt(Math.ceil(data.length / 32));
  }
  for (const { storageKeys } of accessList) gas += 2400n + 1900n * BigInt(storageKeys.length);
  return gas + 25_000n * BigInt(authorizations?.length ?? 0);
}

/** EIP-7623 */
function floorGas(fork: FuzzFork, data: Uint8Array): bigint {
  if (!isFuzzForkAtLeast(fork, "prague")) return 0n;
  let tokens = 0n;
  for (const byte of data) tokens += byte === 0 ? 1n : 4n;
  return 21_000n + 10n * tokens;
}

const unprefixed = (bytes: Uint8Array): string => bytesToHex(bytes).slice(2);

/** EIP-2929, 2930, 3651 */
function warmUp(evm: EVM, { fork, sender, environment }: FuzzCase, { to, accessList }: FuzzTransaction): void {
  const { journal } = evm;
  if (!isFuzzForkAtLeast(fork, "berlin")) return;
  for (const address of getActivePrecompiles(evm.common).keys()) journal.addAlwaysWarmAddress(address);
  journal.addAlwaysWarmAddress(unprefixed(sender));
  if (to !== undefined) journal.addAlwaysWarmAddress(unprefixed(to));
  if (isFuzzForkAtLeast(fork, "shanghai")) journal.addAlwaysWarmAddress(unprefixed(environment.beneficiary));
  for (const { address, storageKeys } of accessList) {
    journal.addAlwaysWarmAddress(unprefixed(address));
    for (const key of storageKeys) journal.addAlwaysWarmSlot(unprefixed(address), unprefixed(key));
  }
}

const DESIGNATOR = hexToBytes("0xef0100");
const isDesignator = (code: Uint8Array): boolean => code.length === 23 && bytesToHex(code.subarray(0, 3)) === "0xef0100";

/** EIP-7702 § Behavior, after recovery: the signer is known. */
async function applyAuthorizations(
  evm: EVM,
  state: OracleState,
  authorizations: NonNullable<FuzzTransaction["authorizations"]>,
): Promise<bigint> {
  let refund = 0n;
  for (const { chainId, address, nonce, signer } of authorizations) {
    if ((chainId !== 0n && chainId !== FUZZ_CHAIN_ID) || nonce === 2n ** 64n - 1n) continue;
    const authority = toAddress(SIGNER_ADDRESSES[signer]!);
    evm.journal.addAlwaysWarmAddress(unprefixed(authority.bytes));
    const code = await state.getCode(authority);
    if (code.length > 0 && !isDesignator(code)) continue;
    const existing = await state.getAccount(authority);
    if ((existing?.nonce ?? 0n) !== nonce) continue;
    if (existing !== undefined) refund += 12_500n;
    const account = existing ?? new Account();
    account.nonce += 1n;
    await evm.journal.putAccount(authority, account);
    await state.putCode(authority, address.every((byte) => byte === 0) ? new Uint8Array(0) : concatBytes(DESIGNATOR, address));
  }
  return refund;
}

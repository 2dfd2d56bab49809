import {
  bytesToBigint,
  bytesToHex,
  EMPTY_BYTES,
  encodeRlp,
  type Hex,
  hexToBytes,
  keccak256,
  privateKeyToAddress,
  rlpUint,
  signHash,
} from "@rnode/primitives";
import {
  type Authorization,
  type BlockRules,
  encodeTransaction,
  type L1FeeParams,
  l1Cost,
  operatorFee,
  PREDEPLOYS,
  postExecTransaction,
  type SignedTransaction,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createEvm } from "../evm.ts";
import type { TransactionOutcome, TransactionResult } from "../execution.ts";
import { asm } from "../testing/asm.ts";
import { engineModule } from "../testing/engine.ts";
import {
  address,
  addressHex,
  COINBASE,
  environment,
  ethereumRules,
  MemoryState,
  opRules,
  type TestAccount,
} from "../testing/memory-state.ts";

const engine = createEvm(engineModule);
const SENDER = addressHex(0x5e4d);
const TARGET = addressHex(0x1000);
const L1_BLOCK = bytesToHex(PREDEPLOYS.l1Block);
const ETHER = 10n ** 18n;

const begin = (rules: BlockRules, accounts: Record<Hex, TestAccount> = {}) =>
  engine.beginBlock(rules, environment, new MemoryState({ [SENDER]: { balance: ETHER, nonce: 3n }, ...accounts }));

const transaction = (fields: Partial<Extract<SignedTransaction, { type: 0x02 }>> = {}, chainId = 10n): SignedTransaction => ({
  type: 0x02,
  chainId,
  nonce: 3n,
  gasLimit: 100_000n,
  to: address(TARGET),
  value: 5n,
  data: EMPTY_BYTES,
  maxFeePerGas: 20n,
  maxPriorityFeePerGas: 2n,
  accessList: [],
  ...fields,
});

const encoded = hexToBytes(`0x02${"f8c0ffee00".repeat(40)}`);
const context = { sender: address(SENDER), encoded };

function included(result: TransactionResult): TransactionOutcome {
  if (result.kind === "rejected") throw new Error(`rejected: ${result.reason}`);
  return result.outcome;
}

/** L1Block's storage: base fee, scalars, blob base fee, operator fee. */
const l1Block: TestAccount = {
  nonce: 1n,
  storage: {
    "0x1": 30n * 10n ** 9n,
    "0x3": (5000n << 96n) | (800_000n << 64n),
    "0x5": 188n,
    "0x6": 684_000n,
    "0x7": 10n ** 9n,
    "0x8": (400n << 96n) | (1500n << 64n) | 77n,
  },
};
const feeParams: L1FeeParams = {
  l1BaseFee: 30n * 10n ** 9n,
  baseFeeScalar: 5000n,
  blobBaseFeeScalar: 800_000n,
  blobBaseFee: 10n ** 9n,
  overhead: 188n,
  scalar: 684_000n,
  operatorFeeScalar: 1500n,
  operatorFeeConstant: 77n,
  daFootprintGasScalar: 400n,
};

describe("fees", () => {
  it.each([
    ["paris", "bedrock"],
    ["shanghai", "canyon"],
    ["cancun", "ecotone"],
    ["cancun", "fjord"],
    ["prague", "isthmus"],
    ["prague", "jovian"],
  ] as const)("go to the vaults (%s, %s)", (evm, op) => {
    const rules = opRules(evm, op);
    const block = begin(rules, { [L1_BLOCK]: l1Block, [TARGET]: { code: asm("1 1 SSTORE STOP") } });
    const outcome = included(block.applyTransaction(transaction(), context));
    const { gasUsed } = outcome;
    const l1Fee = l1Cost(rules, feeParams, encoded);
    const operator = operatorFee(rules, feeParams, gasUsed);
    expect(outcome).toMatchObject({ status: 1, l1Fee, effectiveTip: 2n });
    expect(l1Fee).toBeGreaterThan(0n);
    expect(operator > 0n).toBe(op === "isthmus" || op === "jovian");
    const balance = (of: Uint8Array) => block.getBalance(of);
    expect(balance(address(COINBASE))).toBe(2n * gasUsed);
    expect(balance(PREDEPLOYS.baseFeeVault)).toBe(7n * gasUsed);
    expect(balance(PREDEPLOYS.l1FeeVault)).toBe(l1Fee);
    expect(balance(PREDEPLOYS.operatorFeeVault)).toBe(operator);
    expect(balance(address(SENDER))).toBe(ETHER - 5n - 9n * gasUsed - l1Fee - operator);
    expect(block.gasLeft).toBe(environment.gasLimit - gasUsed);
    // a vault that received nothing is not created
    const touched = block.changes().accounts.map((change) => bytesToHex(change.address));
    expect(touched.includes(bytesToHex(PREDEPLOYS.operatorFeeVault))).toBe(operator > 0n);
  });

  it("are charged when execution reverts", () => {
    const rules = opRules("prague", "jovian");
    const block = begin(rules, { [L1_BLOCK]: l1Block, [TARGET]: { code: asm("0 0 REVERT") } });
    const outcome = included(block.applyTransaction(transaction(), context));
    const cost = 9n * outcome.gasUsed + outcome.l1Fee + operatorFee(rules, feeParams, outcome.gasUsed);
    expect(outcome.status).toBe(0);
    expect(block.getBalance(address(SENDER))).toBe(ETHER - cost);
    expect(block.getNonce(address(SENDER))).toBe(4n);
  });

  it("must be covered together", () => {
    const rules = opRules("prague", "jovian");
    const tx = transaction();
    const needed = tx.gasLimit * 20n + tx.value + l1Cost(rules, feeParams, encoded) + operatorFee(rules, feeParams, tx.gasLimit);
    const attempt = (balance: bigint) =>
      begin(rules, { [SENDER]: { balance, nonce: 3n }, [L1_BLOCK]: l1Block }).applyTransaction(tx, context).kind;
    expect(attempt(needed)).toBe("included");
    expect(attempt(needed - 1n)).toBe("rejected");
  });

  it("burn the base fee on Ethereum", () => {
    const block = begin(ethereumRules("cancun"));
    const { gasUsed } = included(block.applyTransaction(transaction({}, 1n), context));
    expect(gasUsed).toBe(21_000n);
    expect(block.getBalance(address(SENDER))).toBe(ETHER - 5n - 9n * gasUsed);
    expect(block.getBalance(address(COINBASE))).toBe(2n * gasUsed);
    expect(block.changes().accounts.length).toBe(3);
  });
});

describe("rejections leave no trace", () => {
  const rules = ethereumRules("prague");
  it.each<[string, SignedTransaction, Record<Hex, TestAccount>?]>([
    ["nonce-too-low", transaction({ nonce: 2n }, 1n)],
    ["nonce-too-high", transaction({ nonce: 4n }, 1n)],
    ["nonce-max", transaction({ nonce: 2n ** 64n - 1n }, 1n)],
    ["wrong-chain-id", transaction({}, 5n)],
    ["intrinsic-gas-too-low", transaction({ gasLimit: 20_999n }, 1n)],
    ["floor-data-gas-too-high", transaction({ gasLimit: 22_000n, data: new Uint8Array(60).fill(1) }, 1n)],
    ["gas-limit-exceeds-block", transaction({ gasLimit: 30_000_001n }, 1n)],
    ["fee-cap-below-base-fee", transaction({ maxFeePerGas: 6n }, 1n)],
    ["tip-above-fee-cap", transaction({ maxPriorityFeePerGas: 21n }, 1n)],
    ["insufficient-funds", transaction({ value: ETHER }, 1n)],
    ["sender-not-eoa", transaction({}, 1n), { [SENDER]: { balance: ETHER, nonce: 3n, code: "0x00" } }],
    ["initcode-too-large", transaction({ to: undefined, data: new Uint8Array(49_153), gasLimit: 10_000_000n }, 1n)],
    ["gas-overflow", transaction({ maxFeePerGas: 2n ** 255n }, 1n)],
  ])("%s", (reason, tx, accounts = {}) => {
    const block = begin(rules, accounts);
    expect(block.applyTransaction(tx, context)).toMatchObject({ kind: "rejected", reason });
    expect(block.changes()).toEqual({ accounts: [], codes: [] });
    expect(block.gasLeft).toBe(environment.gasLimit);
  });
});

describe("EIP-7702 authorizations", () => {
  const KEY = hexToBytes(`0x${"11".repeat(32)}`);
  const AUTHORITY = privateKeyToAddress(KEY);
  const authorize = (fields: Partial<Authorization> = {}): Authorization => {
    const { chainId = 1n, address: delegate = address(TARGET), nonce = 0n } = fields;
    const hash = keccak256(Uint8Array.of(5), encodeRlp([rlpUint(chainId), delegate, rlpUint(nonce)]));
    const { r, s, yParity } = signHash(hash, KEY);
    return { chainId, address: delegate, nonce, yParity, r: bytesToBigint(r), s: bytesToBigint(s), ...fields };
  };
  const setCode = (authorizationList: readonly Authorization[], fields: Partial<SignedTransaction> = {}): SignedTransaction =>
    ({ ...transaction({}, 1n), type: 0x04, to: AUTHORITY, authorizationList, ...fields }) as SignedTransaction;
  const code = asm("7 1 SSTORE STOP");

  it("set a delegation and run it", () => {
    const block = begin(ethereumRules("prague"), { [TARGET]: { code } });
    included(block.applyTransaction(setCode([authorize()]), context));
    expect(bytesToHex(block.getCode(AUTHORITY))).toBe(`0xef0100${TARGET.slice(2)}`);
    expect(block.getNonce(AUTHORITY)).toBe(1n);
    expect(block.changes().accounts.find((change) => bytesToHex(change.address) === bytesToHex(AUTHORITY))?.storage.length).toBe(1);
  });

  it("stand when execution reverts", () => {
    const block = begin(ethereumRules("prague"), { [TARGET]: { code: asm("0 0 REVERT") } });
    expect(included(block.applyTransaction(setCode([authorize()]), context)).status).toBe(0);
    expect(block.getCode(AUTHORITY).length).toBe(23);
  });

  it("give gas back for an account that exists", () => {
    const gasUsed = (accounts: Record<Hex, TestAccount>) =>
      included(begin(ethereumRules("prague"), accounts).applyTransaction(setCode([authorize()], { value: 0n }), context)).gasUsed;
    const fresh = gasUsed({});
    const existing = gasUsed({ [bytesToHex(AUTHORITY)]: { balance: 1n } });
    expect(fresh).toBe(46_000n);
    expect(existing).toBe(46_000n - 46_000n / 5n);
  });

  it.each<[string, Authorization]>([
    ["another chain", authorize({ chainId: 2n })],
    ["another nonce", authorize({ nonce: 1n })],
    ["the highest nonce", authorize({ nonce: 2n ** 64n - 1n })],
    ["a bad parity", { ...authorize(), yParity: 2 }],
    ["a high s", { ...authorize(), s: 2n ** 255n }],
  ])("are skipped for %s", (_name, authorization) => {
    const block = begin(ethereumRules("prague"), { [TARGET]: { code } });
    included(block.applyTransaction(setCode([authorization]), context));
    expect(block.getCode(AUTHORITY).length).toBe(0);
  });

  it("can be cleared", () => {
    const delegated = hexToBytes(`0xef0100${TARGET.slice(2)}`);
    const block = begin(ethereumRules("prague"), { [bytesToHex(AUTHORITY)]: { code: delegated, nonce: 4n } });
    included(block.applyTransaction(setCode([authorize({ address: new Uint8Array(20), nonce: 4n })]), context));
    expect(block.getCode(AUTHORITY).length).toBe(0);
  });

  it("let the account send transactions", () => {
    const delegated = hexToBytes(`0xef0100${TARGET.slice(2)}`);
    const block = begin(ethereumRules("prague"), { [SENDER]: { balance: ETHER, nonce: 3n, code: delegated } });
    included(block.applyTransaction(transaction({}, 1n), context));
  });
});

describe("gas refunds of the block", () => {
  const rules = opRules("osaka", "lagoon");
  const accounts: Record<Hex, TestAccount> = {
    [L1_BLOCK]: l1Block,
    [TARGET]: { code: asm("1 0 SSTORE 0 1 SSTORE STOP"), storage: { "0x1": 7n } },
  };
  const plain = (fields: Parameters<typeof transaction>[0] = {}): TransactionOutcome =>
    included(begin(rules, accounts).applyTransaction(transaction(fields), context));
  const OF_FEES = [
    SENDER,
    COINBASE,
    ...[PREDEPLOYS.baseFeeVault, PREDEPLOYS.l1FeeVault, PREDEPLOYS.operatorFeeVault].map(bytesToHex),
  ];

  it.each([1n, 777n, 20_000n])("of %i take the shares of the fees back", (gasRefund) => {
    const { gasUsed: raw, logs } = plain();
    const before = begin(rules, accounts);
    before.applyTransaction(transaction(), context);
    const balancesBefore = OF_FEES.map((of) => before.getBalance(address(of)));
    const block = begin(rules, accounts);
    const outcome = included(block.applyTransaction(transaction(), { ...context, gasRefund }));
    expect(outcome).toMatchObject({ status: 1, gasUsed: raw - gasRefund, effectiveTip: 2n, logs });
    expect(block.gasLeft).toBe(environment.gasLimit - raw);
    const operator = operatorFee(rules, feeParams, raw) - operatorFee(rules, feeParams, raw - gasRefund);
    expect(operator).toBe(gasRefund * 150_000n);
    const changes = [9n * gasRefund + operator, -2n * gasRefund, -7n * gasRefund, 0n, -operator];
    expect(OF_FEES.map((of) => block.getBalance(address(of)))).toEqual(balancesBefore.map((old, i) => old + changes[i]!));
  });

  it("of all gas leave no empty accounts behind", () => {
    const { gasUsed: raw } = plain();
    const block = begin(rules, accounts);
    const outcome = included(block.applyTransaction(transaction(), { ...context, gasRefund: raw }));
    expect(outcome.gasUsed).toBe(0n);
    const paid = 5n + outcome.l1Fee + feeParams.operatorFeeConstant;
    expect(block.getBalance(address(SENDER))).toBe(ETHER - paid);
    const touched = block.changes().accounts.map((change) => bytesToHex(change.address));
    expect(touched).not.toContain(bytesToHex(PREDEPLOYS.baseFeeVault));
    expect(touched).not.toContain(COINBASE);
    expect(block.getBalance(PREDEPLOYS.operatorFeeVault)).toBe(feeParams.operatorFeeConstant);
  });

  it.each([
    ["after the refund counter", {}, undefined],
    ["after the calldata floor", { data: new Uint8Array(1000).fill(1), to: address(addressHex(0x99)) }, 61_000n],
    ["of a failed transaction", { to: undefined, data: Uint8Array.of(0xfe) }, 100_000n],
  ] as const)("are at most the gas used %s; a higher one leaves no trace", (_, fields, expected) => {
    const { gasUsed: raw } = plain(fields);
    if (expected !== undefined) expect(raw).toBe(expected);
    const tx = transaction(fields);
    expect(included(begin(rules, accounts).applyTransaction(tx, { ...context, gasRefund: raw })).gasUsed).toBe(0n);
    const other = begin(rules, accounts);
    const untouched = other.changes();
    included(other.applyTransaction(tx, context));
    const changed = other.changes();
    const block = begin(rules, accounts);
    expect(block.applyTransaction(tx, { ...context, gasRefund: raw + 1n })).toEqual({
      kind: "rejected",
      reason: "gas-refund-too-high",
      data: { gasRefund: raw + 1n, gasUsed: raw },
    });
    expect(block.gasLeft).toBe(environment.gasLimit);
    expect(block.changes()).toEqual(untouched);
    included(block.applyTransaction(tx, context));
    expect(block.changes()).toEqual(changed);
  });

  it("come before a destroyed beneficiary is removed", () => {
    const beneficiary = keccak256(encodeRlp([address(SENDER), rlpUint(3n)])).subarray(12);
    const state = new MemoryState({ [SENDER]: { balance: ETHER, nonce: 3n }, ...accounts });
    const block = engine.beginBlock(rules, { ...environment, beneficiary }, state);
    const tx = transaction({ to: undefined, value: 0n, data: asm("CALLER SELFDESTRUCT") });
    const { gasUsed, l1Fee } = included(block.applyTransaction(tx, { ...context, gasRefund: 1000n }));
    expect(block.getBalance(beneficiary)).toBe(0n);
    expect(block.getBalance(address(SENDER))).toBe(ETHER - 9n * gasUsed - l1Fee - operatorFee(rules, feeParams, gasUsed));
  });

  it("are nothing to a post-exec transaction, which changes nothing", () => {
    const untouched = begin(rules, accounts).changes();
    const block = begin(rules, accounts);
    const postExec = postExecTransaction({ blockNumber: 1n, refunds: [] });
    const outcome = included(
      block.applyTransaction(postExec, { sender: new Uint8Array(20), encoded: encodeTransaction(postExec) }),
    );
    expect(outcome).toMatchObject({ status: 1, gasUsed: 0n, logs: [], l1Fee: 0n, halt: undefined });
    expect(block.gasLeft).toBe(environment.gasLimit);
    expect(block.changes()).toEqual(untouched);
    const earlier = begin(opRules("osaka", "karst"), accounts);
    expect(earlier.applyTransaction(postExec, context)).toMatchObject({ kind: "rejected", reason: "type-not-supported" });
  });
});

import { hexToBytes, privateKeyToAddress } from "@rnode/primitives";
import type { AccessListEntry, Authorization, BlobParams, EvmFork, SignedTransaction } from "@rnode/protocol";
import { blobParamsAtEra, type SuiteConfig } from "./suite-forks.ts";

/** One test in the GeneralStateTests form; only the fields that are used. Numbers are hex. */
export interface StateTest {
  readonly env: Readonly<Record<string, string>>;
  readonly pre: Readonly<Record<string, PreAccount>>;
  readonly transaction: {
    readonly data: readonly string[];
    readonly gasLimit: readonly string[];
    readonly value: readonly string[];
    readonly nonce: string;
    readonly to: string;
    readonly gasPrice?: string;
    readonly maxFeePerGas?: string;
    readonly maxPriorityFeePerGas?: string;
    readonly maxFeePerBlobGas?: string;
    readonly blobVersionedHashes?: readonly string[];
    readonly accessLists?: readonly (readonly { readonly address: string; readonly storageKeys: readonly string[] }[] | null)[];
    readonly authorizationList?: readonly Readonly<Record<string, string>>[];
    readonly sender?: string;
    readonly secretKey?: string;
  };
  readonly post: Readonly<Record<string, readonly PostState[]>>;
  readonly config?: SuiteConfig;
}

interface PreAccount {
  readonly balance: string;
  readonly nonce: string;
  readonly code: string;
  readonly storage: Readonly<Record<string, string>>;
}

interface PostState {
  readonly hash: string;
  readonly logs: string;
  readonly indexes: { readonly data: number; readonly gas: number; readonly value: number };
  readonly expectException?: string;
}

/** One combination of a test. */
export interface StateTestCase {
  readonly test: StateTest;
  readonly fork: EvmFork;
  readonly chainId: bigint;
  /** undefined before blobs */
  readonly blobParams: BlobParams | undefined;
  readonly sender: Uint8Array;
  /** `undefined`: it cannot be encoded (a value above 256 bits) */
  readonly transaction: SignedTransaction | undefined;
  readonly expected: PostState;
}

/** Fork and index in `post` of all combinations. */
export function* stateTestCases(test: StateTest): Iterable<{ forkName: string; index: number }> {
  for (const [forkName, states] of Object.entries(test.post)) {
    for (let index = 0; index < states.length; index++) yield { forkName, index };
  }
}

export function stateTestCase(test: StateTest, forkName: string, fork: EvmFork, index: number): StateTestCase {
  const expected = test.post[forkName]![index]!;
  const { sender, secretKey } = test.transaction;
  const chainId = BigInt(test.config?.chainid ?? test.config?.chainId ?? 1);
  return {
    test,
    fork,
    chainId,
    blobParams: blobParamsAtEra(forkName, test.config),
    sender: sender === undefined ? privateKeyToAddress(hexToBytes(secretKey!)) : hexToBytes(sender),
    transaction: transactionOf(test.transaction, expected.indexes, chainId),
    expected,
  };
}

const MAX_WORD = 2n ** 256n;

/** A hex number in any form of the tests: an odd number of digits, leading zeros, or empty. `undefined`: more than 256 bits */
export function testNumber(hex: string): bigint | undefined {
  const text = hex.replace(/^0x:bigint /, "");
  const value = text === "0x" || text === "" ? 0n : BigInt(text);
  return value < MAX_WORD ? value : undefined;
}

function transactionOf(
  fields: StateTest["transaction"],
  indexes: PostState["indexes"],
  chainId: bigint,
): SignedTransaction | undefined {
  const value = testNumber(fields.value[indexes.value]!);
  const gasLimit = testNumber(fields.gasLimit[indexes.gas]!);
  const optional = (hex: string | undefined) => (hex === undefined ? 0n : testNumber(hex));
  const gasPrice = optional(fields.gasPrice);
  const maxFeePerGas = optional(fields.maxFeePerGas);
  const maxPriorityFeePerGas = optional(fields.maxPriorityFeePerGas);
  const maxFeePerBlobGas = optional(fields.maxFeePerBlobGas);
  const numbers = [value, gasLimit, gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas];
  if (numbers.includes(undefined)) return undefined;
  const common = {
    nonce: testNumber(fields.nonce)!,
    gasLimit: gasLimit!,
    to: fields.to === "" ? undefined : hexToBytes(fields.to),
    value: value!,
    data: hexToBytes(fields.data[indexes.data]!),
  };
  const list = fields.accessLists?.[indexes.data];
  const accessList: AccessListEntry[] = (list ?? []).map(({ address, storageKeys }) => ({
    address: hexToBytes(address),
    storageKeys: storageKeys.map((key) => hexToBytes(key)),
  }));
  const fees = { chainId, accessList, maxFeePerGas: maxFeePerGas!, maxPriorityFeePerGas: maxPriorityFeePerGas! };
  if (fields.authorizationList !== undefined) {
    return { type: 0x04, ...common, ...fees, authorizationList: fields.authorizationList.map(authorizationOf) };
  }
  if (fields.blobVersionedHashes !== undefined || fields.maxFeePerBlobGas !== undefined) {
    const blobVersionedHashes = (fields.blobVersionedHashes ?? []).map((hash) => hexToBytes(hash));
    return { type: 0x03, ...common, ...fees, maxFeePerBlobGas: maxFeePerBlobGas!, blobVersionedHashes };
  }
  if (fields.maxFeePerGas !== undefined) return { type: 0x02, ...common, ...fees };
  if (list !== undefined && list !== null) return { type: 0x01, ...common, chainId, accessList, gasPrice: gasPrice! };
  return { type: 0x00, ...common, chainId: undefined, gasPrice: gasPrice! };
}

function authorizationOf(fields: Readonly<Record<string, string>>): Authorization {
  const number = (name: string) => BigInt(fields[name] ?? "0x0");
  return {
    chainId: number("chainId"),
    address: hexToBytes(fields.address!),
    nonce: number("nonce"),
    yParity: Number(number(fields.yParity === undefined ? "v" : "yParity")),
    r: number("r"),
    s: number("s"),
  };
}

/** The address or word of a test's map key. */
export const testBytes = (hex: string): Uint8Array => {
  const bytes = new Uint8Array(32);
  const number = testNumber(hex)!;
  const digits = hexToBytes(`0x${number.toString(16).padStart(64, "0")}`);
  bytes.set(digits);
  return bytes;
};

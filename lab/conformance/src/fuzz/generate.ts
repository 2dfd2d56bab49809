import { concatBytes, hexToBytes, privateKeyToAddress } from "@rnode/primitives";
import {
  FUZZ_FORKS,
  type FuzzAccount,
  type FuzzAuthorization,
  type FuzzCase,
  type FuzzFocus,
  type FuzzFork,
  type FuzzTransaction,
  isFuzzForkAtLeast,
} from "./fuzz-case.ts";
import { generateInitCode, generateNest, generateProgram } from "./program.ts";
import { address, Random } from "./random.ts";

export const FUZZ_CHAIN_ID = 1n;
const ETHER = 10n ** 18n;
const BLOCK_GAS_LIMIT = 30_000_000n;

/** Key number `index` of the accounts that sign. */
export const fuzzKey = (index: number): Uint8Array => concatBytes(new Uint8Array(30), Uint8Array.of(0xfa, index + 1));
const SIGNERS = [0, 1, 2, 3];
/** by key */
export const SIGNER_ADDRESSES: readonly Uint8Array[] = SIGNERS.map((index) => privateKeyToAddress(fuzzKey(index)));

const RECENT_FORKS = FUZZ_FORKS.filter((name) => isFuzzForkAtLeast(name, "london"));

/** The case of a seed, always the same (as long as the generator does not change). */
export function generateCase(seed: number, onlyFork?: FuzzFork, focus?: FuzzFocus): FuzzCase {
  const random = new Random(seed);
  const drawn = random.pick(random.oneIn(3) ? FUZZ_FORKS.filter((name) => !isFuzzForkAtLeast(name, "london")) : RECENT_FORKS);
  const fork = onlyFork ?? drawn;
  const isPrague = isFuzzForkAtLeast(fork, "prague");
  const contracts = Array.from({ length: random.between(2, 5) }, (_, index) => address((0xc0de01 + index).toString(16)));
  const plain = [address("e0a1"), ...SIGNER_ADDRESSES];
  const beneficiary = random.pick([address("c01bba5e"), contracts[0]!, SIGNER_ADDRESSES[0]!]);
  const targets = [...contracts, ...contracts, ...plain, beneficiary];
  const programOptions = { random, fork, targets, nesting: 2, focus };
  const accounts: FuzzAccount[] = contracts.map((contract) => ({
    address: contract,
    nonce: random.oneIn(12) ? 2n ** 64n - 1n : BigInt(random.between(1, 3)),
    balance: random.oneIn(2) ? 0n : BigInt(random.below(100_000)),
    code: random.oneIn(4)
      ? generateNest({ ...programOptions, statements: random.between(1, 4) })
      : generateProgram({ ...programOptions, statements: random.between(2, 45) }),
    storage: [0n, 1n, 2n, 3n].filter(() => random.oneIn(2)).map((slot) => [slot, BigInt(random.between(1, 3))] as const),
  }));
  for (const [index, signer] of SIGNER_ADDRESSES.entries()) {
    const isDelegated = isPrague && index > 0 && random.oneIn(2);
    if (index > 1 && random.oneIn(3)) continue;
    accounts.push({
      address: signer,
      nonce: BigInt(random.below(3)) + (isDelegated ? 1n : 0n),
      balance: index === 0 ? 1000n * ETHER : BigInt(random.between(1, 9000)),
      code: isDelegated ? concatBytes(hexToBytes("0xef0100"), random.pick(targets)) : new Uint8Array(0),
      storage: isDelegated && random.oneIn(2) ? [[0n, 1n]] : [],
    });
  }
  const baseFeePerGas = random.oneIn(3) || !isFuzzForkAtLeast(fork, "london") ? 0n : BigInt(random.between(1, 1000));
  const blobBaseFee = random.oneIn(3) ? 1n : BigInt(random.between(1, 100_000));
  const transactions = Array.from(
    {
      length: random.weighted([
        [5, 1],
        [3, 2],
        [2, 3],
      ]),
    },
    () => generateTransaction({ random, fork, focus, targets, contracts, baseFeePerGas, blobBaseFee }),
  );
  return {
    seed,
    fork,
    environment: {
      number: 1000n,
      timestamp: BigInt(random.between(1_700_000_000, 1_800_000_000)),
      beneficiary,
      gasLimit: BLOCK_GAS_LIMIT,
      baseFeePerGas,
      difficulty: isFuzzForkAtLeast(fork, "paris") ? 0n : BigInt(random.below(1_000_000)),
      prevRandao: random.bytes(32),
      blobBaseFee,
    },
    accounts,
    sender: SIGNER_ADDRESSES[0]!,
    transactions,
  };
}

interface TransactionOptions {
  readonly random: Random;
  readonly fork: FuzzFork;
  readonly focus: FuzzFocus | undefined;
  readonly targets: readonly Uint8Array[];
  readonly contracts: readonly Uint8Array[];
  readonly baseFeePerGas: bigint;
  readonly blobBaseFee: bigint;
}

function generateTransaction(options: TransactionOptions): FuzzTransaction {
  const { random, fork, focus, targets, contracts, baseFeePerGas } = options;
  const isCreation = random.oneIn(8);
  const authorizations =
    !isCreation && isFuzzForkAtLeast(fork, "prague") && random.oneIn(3)
      ? Array.from({ length: random.between(1, 4) }, () => generateAuthorization(random, targets))
      : undefined;
  const hasBlobs = authorizations === undefined && isFuzzForkAtLeast(fork, "cancun") && random.oneIn(isCreation ? 50 : 5);
  const to = random.oneIn(5) ? random.pick(targets) : random.pick(contracts);
  const data = isCreation ? generateInitCode({ random, fork, targets, focus, statements: 0, nesting: 2 }) : generateData(random);
  const gasLimit = random.weighted([
    [20, random.between(21_000, 80_000)],
    [50, random.between(80_000, 400_000)],
    [30, random.between(400_000, 1_500_000)],
    [focus === undefined ? 2 : 100, random.between(5_000_000, 8_000_000)],
    [isFuzzForkAtLeast(fork, "osaka") ? 1 : 0, 2 ** 24 + random.below(2)],
  ]);
  const tipCap = BigInt(random.below(50));
  const isLegacy = !isFuzzForkAtLeast(fork, "london");
  const isTooCheap = !isLegacy && random.oneIn(60);
  return {
    to: isCreation ? undefined : to,
    data,
    value: random.oneIn(2) ? 0n : BigInt(random.below(100_000)),
    gasLimit: BigInt(gasLimit),
    maxFeePerGas: isTooCheap ? (baseFeePerGas * 9n) / 10n : baseFeePerGas + tipCap,
    maxPriorityFeePerGas: random.oneIn(2) || isLegacy ? tipCap : BigInt(random.below(Number(tipCap) + 1)),
    blobs: hasBlobs ? generateBlobs(options) : undefined,
    accessList:
      isFuzzForkAtLeast(fork, "berlin") && random.oneIn(3)
        ? Array.from({ length: random.below(4) }, () => ({
            address: random.pick(targets),
            storageKeys: Array.from({ length: random.below(3) }, () => {
              const key = new Uint8Array(32);
              key[31] = random.below(4);
              return key;
            }),
          }))
        : [],
    authorizations,
  };
}

/** Calldata; its first word is often a counter that limits the depth of nested calls. */
function generateData(random: Random): Uint8Array {
  if (random.oneIn(3)) return new Uint8Array(0);
  const data = random.bytes(random.below(130));
  if (random.oneIn(2) || data.length < 32) return data;
  data.fill(0, 0, 30);
  data[30] = random.oneIn(6) ? random.below(8) : 0;
  return data;
}

function generateBlobs({ random, blobBaseFee }: TransactionOptions): NonNullable<FuzzTransaction["blobs"]> {
  const length = random.oneIn(20) ? random.pick([0, 7, 10]) : random.between(1, 6);
  const versionedHashes = Array.from({ length }, () => {
    const hash = random.bytes(32);
    hash[0] = random.oneIn(100) ? 2 : 1;
    return hash;
  });
  const surplus = random.oneIn(20) ? -1n : BigInt(random.below(10));
  return { versionedHashes, maxFeePerBlobGas: blobBaseFee + surplus };
}

function generateAuthorization(random: Random, targets: readonly Uint8Array[]): FuzzAuthorization {
  return {
    chainId: random.pick([0n, FUZZ_CHAIN_ID, FUZZ_CHAIN_ID, FUZZ_CHAIN_ID + 1n]),
    address: random.oneIn(6) ? new Uint8Array(20) : random.pick(targets),
    nonce: random.oneIn(15) ? 2n ** 64n - 1n : BigInt(random.below(4)),
    signer: random.below(SIGNER_ADDRESSES.length),
  };
}

import { keccak256, uint64ToBytes } from "@rnode/primitives";

/** A state of any size, the same each time. */
export interface StateSize {
  readonly accounts: number;
  readonly slots: number;
}

export interface GeneratedAccount {
  readonly address: Uint8Array;
  readonly nonce: bigint;
  readonly balance: bigint;
  /** empty: none */
  readonly code: Uint8Array;
  /** number of its first slot, and how many it has */
  readonly firstSlot: number;
  readonly slots: number;
}

/** One account of this many is a contract. */
const CONTRACT_EVERY = 10;
/** Different codes, each of many contracts, most of which are proxies. */
const CODES = 1_000;
const [PROXY_BYTES, CODE_BYTES] = [45, 2_000];
const CODE_EVERY = 8;
/** Of all slots, what the largest contract has; each further one of the largest has half of the one before. */
const LARGEST_SHARE = 10;
const LARGE_CONTRACTS = 10;

const random32 = (kind: number, seed: number): Uint8Array => keccak256(uint64ToBytes(kind), uint64ToBytes(seed));

/** The accounts. A tenth are contracts; a few have many slots, the others share the rest. */
export function* generatedAccounts({ accounts, slots }: StateSize): Generator<GeneratedAccount> {
  const contracts = Math.ceil(accounts / CONTRACT_EVERY);
  let firstSlot = 0;
  for (let i = 0; i < accounts; i++) {
    const isContract = i % CONTRACT_EVERY === 0;
    const place = i / CONTRACT_EVERY;
    const left = slots - firstSlot;
    const large = place < LARGE_CONTRACTS ? Math.floor(slots / LARGEST_SHARE / 2 ** place) : 0;
    const own = !isContract ? 0 : place < LARGE_CONTRACTS ? large : Math.floor(left / (contracts - place));
    yield {
      address: random32(1, i).subarray(0, 20),
      nonce: BigInt(isContract ? 1 : i % 300),
      balance: isContract && i % 3 === 0 ? 0n : BigInt(i + 1) * 10n ** 13n,
      code: isContract ? codeOf(place % CODES) : NO_CODE,
      firstSlot,
      slots: own,
    };
    firstSlot += own;
  }
}

const NO_CODE = new Uint8Array(0);
const codes: Uint8Array[] = [];

function codeOf(place: number): Uint8Array {
  const size = place % CODE_EVERY === 0 ? CODE_BYTES : PROXY_BYTES;
  return (codes[place] ??= new Uint8Array(size).fill(1 + (place % 200)).fill(place >> 8, 0, 1));
}

/** The key of a slot, and its value: short numbers, addresses and hashes. */
export function slotOf(number: number): { readonly slot: Uint8Array; readonly value: Uint8Array } {
  const value = new Uint8Array(32);
  const source = random32(3, number);
  const size = [4, 9, 20, 32][number % 4]!;
  value.set(source.subarray(0, size), 32 - size);
  value[31]! |= 1;
  return { slot: random32(2, number), value };
}

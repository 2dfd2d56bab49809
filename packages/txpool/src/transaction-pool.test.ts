import { bytesToHex, keccak256, uint64ToBytes } from "@rnode/primitives";
import type { FeeMarketTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { PooledTransaction, PoolHead, PoolLimits } from "./pool-types.ts";
import { TransactionPool } from "./transaction-pool.ts";

const ALICE = new Uint8Array(20).fill(0xa1);
const BOB = new Uint8Array(20).fill(0xb0);
const CONTRACT = new Uint8Array(20).fill(0xc0);
const GWEI = 1_000_000_000n;

let unique = 0n;

function pooled(
  sender: Uint8Array,
  nonce: number,
  fields: Partial<FeeMarketTransaction> & { size?: number; isLocal?: boolean } = {},
): PooledTransaction {
  const { size = 120, isLocal = false, ...rest } = fields;
  const transaction: FeeMarketTransaction = {
    type: 0x02,
    chainId: 901n,
    nonce: BigInt(nonce),
    gasLimit: 21_000n,
    to: BOB,
    value: 0n,
    data: new Uint8Array(0),
    maxPriorityFeePerGas: GWEI,
    maxFeePerGas: 2n * GWEI,
    accessList: [],
    ...rest,
  };
  return { transaction, sender, encoded: new Uint8Array(size), hash: keccak256(uint64ToBytes(unique++)), isLocal, arrivedAtSec: 0 };
}

function head(overrides: Partial<PoolHead> = {}, nonces: Record<string, bigint> = {}, balance = 10n ** 18n): PoolHead {
  return {
    chainId: 901n,
    baseFeeWei: GWEI,
    gasLimit: 30_000_000n,
    transactionGasCap: undefined,
    acceptsSetCode: true,
    maxInitcodeBytes: 49_152,
    readAccount: (address) => ({ nonce: nonces[bytesToHex(address)] ?? 0n, balance, isContract: address === CONTRACT }),
    minimumGas: () => 21_000n,
    rollupFee: () => 1_000n,
    ...overrides,
  };
}

const nonces = (list: readonly PooledTransaction[]) => list.map(({ transaction }) => Number(transaction.nonce));
const contentOf = (pool: TransactionPool, sender: Uint8Array) => {
  const [content] = [...pool.content(sender)];
  return { pending: nonces(content?.pending ?? []), queued: nonces(content?.queued ?? []) };
};

describe("refusals", () => {
  const cost = 21_000n * 2n * GWEI + 1_000n;
  const cases: { name: string; tx: PooledTransaction; head?: PoolHead; limits?: Partial<PoolLimits>; refusal: object }[] = [
    {
      name: "chain id",
      tx: pooled(ALICE, 0, { chainId: 1n }),
      refusal: { reason: "wrong-chain-id", data: { have: 1n, want: 901n } },
    },
    {
      name: "size",
      tx: pooled(ALICE, 0, { size: 131_073 }),
      refusal: { reason: "oversized", data: { size: 131_073n, limit: 131_072n } },
    },
    {
      name: "initcode",
      tx: pooled(ALICE, 0, { to: undefined, data: new Uint8Array(49_153) }),
      refusal: { reason: "initcode-too-large", data: { size: 49_153n, limit: 49_152n } },
    },
    {
      name: "block gas",
      tx: pooled(ALICE, 0, { gasLimit: 30_000_001n }),
      refusal: { reason: "exceeds-block-gas-limit", data: { gas: 30_000_001n, limit: 30_000_000n } },
    },
    {
      name: "gas cap",
      tx: pooled(ALICE, 0, { gasLimit: 17_000_000n }),
      head: head({ transactionGasCap: 16_777_216n }),
      refusal: { reason: "exceeds-transaction-gas-cap", data: { gas: 17_000_000n, cap: 16_777_216n } },
    },
    {
      name: "tip above cap",
      tx: pooled(ALICE, 0, { maxPriorityFeePerGas: 3n * GWEI }),
      refusal: { reason: "tip-above-fee-cap", data: { tip: 3n * GWEI, cap: 2n * GWEI } },
    },
    {
      name: "tip",
      tx: pooled(ALICE, 0, { maxPriorityFeePerGas: 1n }),
      limits: { minimumTipWei: 2n },
      refusal: { reason: "underpriced", data: { tip: 1n, minimum: 2n } },
    },
    {
      name: "intrinsic gas",
      tx: pooled(ALICE, 0, { gasLimit: 20_999n }),
      refusal: { reason: "intrinsic-gas-too-low", data: { gas: 20_999n, minimum: 21_000n } },
    },
    { name: "contract sender", tx: pooled(CONTRACT, 0), refusal: { reason: "sender-not-eoa", data: {} } },
    {
      name: "nonce",
      tx: pooled(ALICE, 3),
      head: head({}, { [bytesToHex(ALICE)]: 4n }),
      refusal: { reason: "nonce-too-low", data: { next: 4n, nonce: 3n } },
    },
    {
      name: "funds, with the L1 fee",
      tx: pooled(ALICE, 0),
      head: head({}, {}, cost - 1n),
      refusal: { reason: "insufficient-funds", data: { balance: cost - 1n, cost, queued: 0n, overshot: 1n } },
    },
  ];
  it.each(cases)("$name", ({ tx, head: poolHead = head(), limits = {}, refusal }) => {
    const pool = new TransactionPool(poolHead, limits);
    expect(pool.add(tx)).toEqual({ kind: "refused", ...refusal });
    expect(pool.size).toBe(0);
  });

  it("the same transaction twice", () => {
    const pool = new TransactionPool(head());
    const transaction = pooled(ALICE, 0);
    pool.add(transaction);
    expect(pool.add(transaction)).toMatchObject({ reason: "already-known" });
  });

  it("funds that pending transactions need", () => {
    const pool = new TransactionPool(head({}, {}, 2n * cost - 1n));
    expect(pool.add(pooled(ALICE, 0))).toMatchObject({ kind: "added" });
    expect(pool.add(pooled(ALICE, 1))).toMatchObject({ reason: "insufficient-funds", data: { queued: cost, overshot: 1n } });
  });
});

describe("pending and queued", () => {
  it("a gap waits, and is promoted when filled", () => {
    const pool = new TransactionPool(head());
    const announced: number[][] = [];
    pool.onPending((list) => announced.push(nonces(list)));
    pool.add(pooled(ALICE, 0));
    expect(pool.add(pooled(ALICE, 2))).toMatchObject({ kind: "added", isPending: false });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0], queued: [2] });
    pool.add(pooled(ALICE, 1));
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0, 1, 2], queued: [] });
    expect(pool.nextNonce(ALICE)).toBe(3n);
    expect(announced).toEqual([[0], [1, 2]]);
  });

  it("a new head drops what was mined and promotes the rest", () => {
    const pool = new TransactionPool(head());
    for (const nonce of [0, 1, 2]) pool.add(pooled(ALICE, nonce));
    pool.reset(head({}, { [bytesToHex(ALICE)]: 2n }), [], 10);
    expect(contentOf(pool, ALICE)).toEqual({ pending: [2], queued: [] });
    expect(pool.counts()).toEqual({ pending: 1, queued: 0 });
  });

  it("a reorganisation brings transactions back", () => {
    const pool = new TransactionPool(head({}, { [bytesToHex(ALICE)]: 1n }));
    pool.add(pooled(ALICE, 1));
    pool.reset(head(), [pooled(ALICE, 0)], 10);
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0, 1], queued: [] });
  });

  it("queued transactions expire, pending ones do not", () => {
    const pool = new TransactionPool(head(), { queuedLifetimeSec: 100 });
    pool.add(pooled(ALICE, 0));
    pool.add(pooled(ALICE, 5));
    pool.reset(head(), [], 101);
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0], queued: [] });
    expect(pool.size).toBe(1);
  });

  it("limits what one sender may queue", () => {
    const pool = new TransactionPool(head(), { maxQueuedPerSender: 2 });
    pool.add(pooled(ALICE, 2));
    pool.add(pooled(ALICE, 3));
    expect(pool.add(pooled(ALICE, 4))).toMatchObject({ reason: "account-limit-exceeded", data: { pooled: 2n } });
    expect(pool.add(pooled(ALICE, 0))).toMatchObject({ kind: "added", isPending: true });
  });
});

describe("replacement", () => {
  const base = { maxPriorityFeePerGas: 100n, maxFeePerGas: 2n * GWEI };
  it.each([
    { name: "9 % more", fees: { maxPriorityFeePerGas: 109n, maxFeePerGas: (2n * GWEI * 109n) / 100n }, replaced: false },
    { name: "10 % more", fees: { maxPriorityFeePerGas: 110n, maxFeePerGas: (2n * GWEI * 110n) / 100n }, replaced: true },
    { name: "only the tip", fees: { maxPriorityFeePerGas: 200n, maxFeePerGas: 2n * GWEI }, replaced: false },
  ])("$name", ({ fees, replaced }) => {
    const pool = new TransactionPool(head());
    const old = pooled(ALICE, 0, base);
    pool.add(old);
    pool.add(pooled(ALICE, 1));
    const result = pool.add(pooled(ALICE, 0, fees));
    if (replaced) expect(result).toMatchObject({ kind: "added", replaced: old, isPending: true });
    else expect(result).toMatchObject({ reason: "replacement-underpriced" });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0, 1], queued: [] });
    expect(pool.size).toBe(2);
  });
});

describe("a full pool", () => {
  it("evicts the cheapest, whose followers then wait", () => {
    const pool = new TransactionPool(head(), { maxSlots: 3 });
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 5n }));
    pool.add(pooled(ALICE, 1, { maxPriorityFeePerGas: 50n }));
    pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 20n }));
    expect(pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 4n }))).toMatchObject({ reason: "pool-full" });
    expect(pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 30n }))).toMatchObject({ kind: "added" });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [], queued: [1] });
    expect(contentOf(pool, BOB)).toEqual({ pending: [0, 1], queued: [] });
  });

  it("keeps local transactions", () => {
    const pool = new TransactionPool(head(), { maxSlots: 1 });
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 1n, isLocal: true }));
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 100n }))).toMatchObject({ reason: "pool-full" });
  });
});

describe("best", () => {
  it("goes by tip, keeps each sender's nonces in order and skips a sender", () => {
    const pool = new TransactionPool(head());
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 10n }));
    pool.add(pooled(ALICE, 1, { maxPriorityFeePerGas: 90n }));
    pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 50n }));
    pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 40n }));
    const tips = (skipAfter?: bigint) => {
      const best = pool.best(GWEI);
      const seen: bigint[] = [];
      for (let next = best.next(); next !== undefined; next = best.next()) {
        const tip = (next.transaction as FeeMarketTransaction).maxPriorityFeePerGas;
        seen.push(tip);
        if (tip === skipAfter) best.skipSender();
      }
      return seen;
    };
    expect(tips()).toEqual([50n, 40n, 10n, 90n]);
    expect(tips(50n)).toEqual([50n, 10n, 90n]);
  });

  it("leaves out what cannot pay the base fee", () => {
    const pool = new TransactionPool(head());
    pool.add(pooled(ALICE, 0));
    expect(pool.best(2n * GWEI + 1n).next()).toBeUndefined();
    expect(pool.best(2n * GWEI).next()).toBeDefined();
  });
});

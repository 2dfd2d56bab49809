import { bytesToHex, keccak256, uint64ToBytes } from "@rnode/primitives";
import type { FeeMarketTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { PooledTransaction, PoolHead, PoolLimits } from "./pool-types.ts";
import { TransactionPool } from "./transaction-pool.ts";

const ALICE = new Uint8Array(20).fill(0xa1);
const BOB = new Uint8Array(20).fill(0xb0);
const CAROL = new Uint8Array(20).fill(0xca);
const CONTRACT = new Uint8Array(20).fill(0xc0);
const GWEI = 1_000_000_000n;

let unique = 0n;

function pooled(
  sender: Uint8Array,
  nonce: number,
  fields: Partial<FeeMarketTransaction> & { size?: number; isLocal?: boolean; authorities?: readonly Uint8Array[] } = {},
): PooledTransaction {
  const { size = 120, isLocal = false, authorities, ...rest } = fields;
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
  const hash = keccak256(uint64ToBytes(unique++));
  return { transaction, sender, encoded: new Uint8Array(size), hash, isLocal, authorities, arrivedAtSec: 0 };
}

function head(overrides: Partial<PoolHead> = {}, nonces: Record<string, bigint> = {}, balance = 10n ** 18n): PoolHead {
  return {
    chainId: 901n,
    baseFeeWei: GWEI,
    gasLimit: 30_000_000n,
    transactionGasCap: undefined,
    acceptsSetCode: true,
    maxInitcodeBytes: 49_152,
    readAccount: (address) => ({
      nonce: nonces[bytesToHex(address)] ?? 0n,
      balance,
      isContract: address === CONTRACT,
      isDelegated: false,
    }),
    intrinsicGas: () => 21_000n,
    floorDataGas: () => 0n,
    rollupFee: () => 1_000n,
    ...overrides,
  };
}

describe("waitOf", () => {
  const pool = new TransactionPool(head({}, { [bytesToHex(ALICE)]: 5n }), { maxPendingPerSender: 2 });
  pool.add(pooled(ALICE, 5));
  pool.add(pooled(BOB, 0));
  pool.add(pooled(BOB, 1));

  it.each<[string, PooledTransaction, object | undefined]>([
    ["the sender's next nonce", pooled(ALICE, 6), undefined],
    ["a nonce after a gap", pooled(ALICE, 7), { kind: "nonce-gap", next: 6n }],
    ["the first transaction of a sender", pooled(CAROL, 0), undefined],
    ["a sender that has no transactions, after a gap", pooled(CAROL, 1), { kind: "nonce-gap", next: 0n }],
    ["a replacement", pooled(BOB, 1, { maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: 2n * GWEI }), undefined],
    ["more pending transactions than one may have", pooled(BOB, 2), { kind: "queued" }],
    ["a transaction that is refused", pooled(ALICE, 4), undefined],
  ])("%s", (_, transaction, wait) => {
    const before = pool.counts();
    expect(pool.waitOf(transaction)).toEqual(wait);
    expect(pool.counts()).toEqual(before);
    // Its result equals that of `add`.
    const added = new TransactionPool(head({}, { [bytesToHex(ALICE)]: 5n }), { maxPendingPerSender: 2 });
    for (const own of [pooled(ALICE, 5), pooled(BOB, 0), pooled(BOB, 1)]) added.add(own);
    const result = added.add(transaction);
    if (result.kind === "added") expect(result.isPending).toBe(wait === undefined);
  });
});

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
    {
      name: "calldata floor",
      tx: pooled(ALICE, 0, { gasLimit: 22_000n }),
      head: head({ floorDataGas: () => 22_001n }),
      refusal: { reason: "floor-data-gas-too-low", data: { gas: 22_000n, minimum: 22_001n } },
    },
    {
      name: "no authorization",
      tx: {
        ...pooled(ALICE, 0),
        transaction: { ...pooled(ALICE, 0).transaction, type: 0x04, to: BOB, authorizationList: [] } as never,
      },
      refusal: { reason: "empty-authorization-list", data: {} },
    },
    {
      name: "authorizations before their fork",
      tx: {
        ...pooled(ALICE, 0),
        transaction: { ...pooled(ALICE, 0).transaction, type: 0x04, to: BOB, authorizationList: [] } as never,
      },
      head: head({ acceptsSetCode: false }),
      refusal: { reason: "type-not-supported", data: { type: 4n } },
    },
    {
      name: "blobs",
      tx: { ...pooled(ALICE, 0), transaction: { ...pooled(ALICE, 0).transaction, type: 0x03 } as never },
      refusal: { reason: "type-not-supported", data: { type: 3n } },
    },
    {
      name: "the last nonce there is",
      tx: { ...pooled(ALICE, 0), transaction: { ...pooled(ALICE, 0).transaction, nonce: 2n ** 64n - 1n } },
      refusal: { reason: "nonce-max", data: {} },
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
    const pool = new TransactionPool(head(), { queuedLifetimeMs: 100_000 });
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
    expect(pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 4n }))).toMatchObject({ reason: "underpriced-when-full" });
    expect(pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 5n }))).toMatchObject({ reason: "underpriced-when-full" });
    expect(pool.add(pooled(BOB, 1, { maxPriorityFeePerGas: 30n }))).toMatchObject({ kind: "added" });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [], queued: [1] });
    expect(contentOf(pool, BOB)).toEqual({ pending: [0, 1], queued: [] });
  });

  it("evicts remote transactions before local ones, and local ones only for local ones that pay more", () => {
    const pool = new TransactionPool(head(), { maxSlots: 2 });
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 2n, isLocal: true }));
    pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 100n }));
    expect(pool.add(pooled(CAROL, 0, { maxPriorityFeePerGas: 1n, isLocal: true }))).toMatchObject({ kind: "added" });
    expect(contentOf(pool, BOB)).toEqual({ pending: [], queued: [] });
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 100n }))).toMatchObject({ reason: "pool-full" });
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 1n, isLocal: true }))).toMatchObject({
      reason: "underpriced-when-full",
    });
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 3n, isLocal: true }))).toMatchObject({ kind: "added" });
    expect(contentOf(pool, CAROL)).toEqual({ pending: [], queued: [] });
    expect(pool.size).toBe(2);
  });

  it("evicts none when a transaction that needs the place of several cannot have it", () => {
    const pool = new TransactionPool(head(), { maxSlots: 4 });
    for (const [nonce, tip] of [1n, 2n, 50n, 60n].entries()) pool.add(pooled(ALICE, nonce, { maxPriorityFeePerGas: tip }));
    const large = { size: 100_000, maxPriorityFeePerGas: 10n };
    expect(pool.add(pooled(BOB, 0, large))).toMatchObject({ reason: "pool-full" });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [0, 1, 2, 3], queued: [] });
    expect(pool.add(pooled(BOB, 0, { ...large, maxPriorityFeePerGas: 55n }))).toMatchObject({ reason: "pool-full" });
    expect(pool.add(pooled(BOB, 0, { ...large, maxPriorityFeePerGas: 61n }))).toMatchObject({ kind: "added" });
    expect(pool.size).toBe(1);
  });

  it("lets a replacement stay in its place", () => {
    const pool = new TransactionPool(head(), { maxSlots: 1 });
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 10n }));
    const fees = { maxPriorityFeePerGas: 20n, maxFeePerGas: 3n * GWEI };
    expect(pool.add(pooled(ALICE, 0, fees))).toMatchObject({ kind: "added" });
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 15n }))).toMatchObject({ reason: "underpriced-when-full" });
    expect(pool.add(pooled(BOB, 0, { maxPriorityFeePerGas: 21n }))).toMatchObject({ kind: "added" });
  });

  it("has no place for what waits at the cost of what does not", () => {
    const pool = new TransactionPool(head(), { maxSlots: 2 });
    pool.add(pooled(ALICE, 0, { maxPriorityFeePerGas: 1n }));
    pool.add(pooled(ALICE, 2, { maxPriorityFeePerGas: 2n }));
    expect(pool.add(pooled(BOB, 7, { maxPriorityFeePerGas: 100n }))).toMatchObject({ reason: "future-replaces-pending" });
    pool.add(pooled(CAROL, 0, { maxPriorityFeePerGas: 50n }));
    expect(contentOf(pool, ALICE)).toEqual({ pending: [], queued: [2] });
    expect(pool.add(pooled(BOB, 7, { maxPriorityFeePerGas: 100n }))).toMatchObject({ kind: "added", isPending: false });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [], queued: [] });
  });

  it("bounds what waits: who queues most loses its last", () => {
    const pool = new TransactionPool(head(), { maxQueued: 3 });
    for (const nonce of [5, 6, 7]) pool.add(pooled(ALICE, nonce));
    expect(pool.add(pooled(BOB, 3))).toMatchObject({ kind: "added", isPending: false });
    expect(contentOf(pool, ALICE)).toEqual({ pending: [], queued: [5, 6] });
    expect(pool.add(pooled(ALICE, 9))).toMatchObject({ reason: "pool-full" });
    expect(pool.add(pooled(ALICE, 0))).toMatchObject({ kind: "added", isPending: true });
    expect(pool.counts()).toEqual({ pending: 1, queued: 3 });
  });

  it("counts what it holds, whatever happens", () => {
    const pool = new TransactionPool(head(), { maxSlots: 12, maxQueued: 5, maxPendingPerSender: 4 });
    let state = 7;
    const random = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >>> 8) % limit;
    };
    const senders = [ALICE, BOB, CAROL];
    for (let step = 0; step < 600; step++) {
      const sender = senders[random(3)]!;
      const tip = BigInt(1 + random(50));
      const fields = {
        maxPriorityFeePerGas: tip,
        maxFeePerGas: 2n * GWEI + tip,
        size: 100 + random(2) * 40_000,
        isLocal: random(4) === 0,
      };
      pool.add(pooled(sender, random(8), fields));
      if (step % 40 === 39) pool.reset(head({}, { [bytesToHex(ALICE)]: BigInt(random(3)) }), [], step);
      const all = [...pool.content()];
      const pending = all.reduce((sum, content) => sum + content.pending.length, 0);
      const queued = all.reduce((sum, content) => sum + content.queued.length, 0);
      expect(pool.counts()).toEqual({ pending, queued });
      expect(pool.size).toBe(pending + queued);
      const slots = all
        .flatMap((content) => [...content.pending, ...content.queued])
        .map(({ encoded }) => Math.ceil(encoded.length / 32_768));
      expect(slots.reduce((sum, own) => sum + own, 0)).toBeLessThanOrEqual(12);
      expect(queued).toBeLessThanOrEqual(5);
    }
  });
});

describe("accounts that others may spend from (EIP-7702)", () => {
  const delegated = head({ readAccount: () => ({ nonce: 3n, balance: 10n ** 18n, isContract: false, isDelegated: true }) });

  it("have one transaction in flight, which may be replaced", () => {
    const pool = new TransactionPool(delegated);
    expect(pool.add(pooled(ALICE, 4))).toMatchObject({ reason: "delegated-gap" });
    expect(pool.add(pooled(ALICE, 3))).toMatchObject({ kind: "added" });
    expect(pool.add(pooled(ALICE, 4))).toMatchObject({ reason: "delegated-limit" });
    expect(pool.add(pooled(ALICE, 3, { maxPriorityFeePerGas: 3n * GWEI, maxFeePerGas: 4n * GWEI }))).toMatchObject({
      kind: "added",
    });
    expect(pool.size).toBe(1);
  });

  it("are also those whose authorization is in the pool", () => {
    const pool = new TransactionPool(head());
    const authorizing = pooled(BOB, 0, { authorities: [ALICE] });
    expect(pool.add(authorizing)).toMatchObject({ kind: "added" });
    expect(pool.add(pooled(ALICE, 1))).toMatchObject({ reason: "delegated-gap" });
    expect(pool.add(pooled(ALICE, 0))).toMatchObject({ kind: "added" });
    expect(pool.add(pooled(ALICE, 1))).toMatchObject({ reason: "delegated-limit" });
    pool.remove(authorizing.hash);
    expect(pool.add(pooled(ALICE, 1))).toMatchObject({ kind: "added" });
  });

  it("cannot be authorized while they have several transactions here", () => {
    const pool = new TransactionPool(head());
    pool.add(pooled(ALICE, 0));
    expect(pool.add(pooled(BOB, 0, { authorities: [ALICE] }))).toMatchObject({ kind: "added" });
    pool.add(pooled(CAROL, 0));
    pool.add(pooled(CAROL, 1));
    expect(pool.add(pooled(BOB, 1, { authorities: [ALICE, CAROL] }))).toMatchObject({ reason: "authority-reserved" });
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

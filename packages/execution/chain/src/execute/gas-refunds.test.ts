import { bytesToHex, hexToBytes, padBytesLeft } from "@rnode/primitives";
import {
  attributesToJson,
  decodeTransaction,
  effectiveGasPrice,
  encodeHeader,
  encodeTransaction,
  type GasRefund,
  hashHeader,
  l1FeeParamsFromL1BlockStorage,
  operatorFee,
  type PostExecPayload,
  PREDEPLOYS,
  postExecTransaction,
  rollupRules,
  type Transaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { genesisBlock } from "../genesis/genesis.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { executeStateless, parseBlockFile } from "../stateless/stateless.ts";
import {
  ACCOUNTS,
  attributesDeposit,
  attributesFor,
  BLOCK_TIME_SEC,
  build,
  type DevChain,
  devConfig,
  devGenesis,
  fixedPool,
  forkchoice,
  GENESIS_TIME_SEC,
  LOGGER,
  openDevChain,
  produce,
  rewind,
  transaction,
} from "../testing/dev-chain.ts";
import { newEngine } from "./engine-module.ts";

// docs/protocol/01-execution.md#sequencer-defined-metering

/** Slot 8 of L1Block: DA footprint scalar 1, operator fee scalar 3, constant 70. */
const OPERATOR_FEE = "1000000030000000000000046";
const NO_OPERATOR_FEE = "1000000000000000000000000";

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

function open(slot8 = OPERATOR_FEE, folder?: string): DevChain {
  const chain = openDevChain("lagoon", { genesis: devGenesis("lagoon", slot8), ...(folder !== undefined && { folder }) });
  opened.push(chain);
  return chain;
}

const transfer = (from: number, nonce: number, fields: Parameters<typeof transaction>[2] = {}): Transaction =>
  transaction(from, nonce, fields);
const logging = (from: number, nonce: number): Transaction =>
  transaction(from, nonce, { to: LOGGER, value: 0n, data: padBytesLeft(Uint8Array.of(from + 1, nonce + 1), 32) });
/** A creation whose code is an invalid instruction: it uses all of its gas. */
const failing = (from: number, nonce: number): Transaction =>
  transaction(from, nonce, { to: undefined, value: 0n, data: Uint8Array.of(0xfe) });
const postExec = (refunds: readonly (readonly [index: number | bigint, gas: number | bigint])[], blockNumber = 1n): Transaction =>
  postExecTransaction({ blockNumber, refunds: refunds.map(([index, gas]) => ({ index: BigInt(index), gas: BigInt(gas) })) });

const withL1 = (transactions: readonly Transaction[], seed = 1) => ({
  transactions: [attributesDeposit(seed), ...transactions].map(encodeTransaction),
});

const WATCHED = [...ACCOUNTS, ...([PREDEPLOYS.sequencerFeeVault, PREDEPLOYS.baseFeeVault] as const), PREDEPLOYS.operatorFeeVault];
const balances = ({ chain }: DevChain): bigint[] => {
  const state = chain.stateAt(chain.head())!;
  return WATCHED.map((address) => state.readAccount(address)?.balance ?? 0n);
};
const gasOf = ({ chain }: DevChain): bigint[] => {
  const { receipts } = chain.resolve({ kind: "tag", tag: "latest" })!;
  return receipts.map(({ cumulativeGasUsed }, i) => cumulativeGasUsed - (receipts[i - 1]?.cumulativeGasUsed ?? 0n));
};

/** What the balances of `WATCHED` become: each recipient of fees pays its share of a refund back to the sender. */
function settled(
  before: readonly bigint[],
  slot8: string,
  transactions: readonly Transaction[],
  gas: readonly bigint[],
  refunds: readonly GasRefund[],
  baseFee: bigint,
): bigint[] {
  const rules = rollupRules("lagoon");
  const params = l1FeeParamsFromL1BlockStorage((slot) => (slot === 8 ? BigInt(`0x${slot8}`) : 0n), rules);
  const after = [...before];
  for (const { index, gas: refund } of refunds) {
    const tx = transactions[Number(index)]!;
    const used = gas[Number(index)]!;
    const price = effectiveGasPrice(tx, baseFee);
    const operator = operatorFee(rules, params, used) - operatorFee(rules, params, used - refund);
    const sender = ACCOUNTS.findIndex((account) => bytesToHex(account) === senderOf(tx));
    after[sender]! += refund * price + operator;
    after[ACCOUNTS.length]! -= refund * (price - baseFee);
    after[ACCOUNTS.length + 1]! -= refund * baseFee;
    after[ACCOUNTS.length + 2]! -= operator;
  }
  return after;
}

const senders = new Map<Transaction, number>();
const from = (account: number, tx: Transaction): Transaction => {
  senders.set(tx, account);
  return tx;
};
const senderOf = (tx: Transaction): string => bytesToHex(ACCOUNTS[senders.get(tx)!]!);

const USERS: Transaction[] = [
  from(0, transfer(0, 0)),
  from(1, logging(1, 0)),
  from(2, failing(2, 0)),
  from(0, transfer(0, 1, { maxPriorityFeePerGas: 0n })),
];

describe.each([
  ["with an operator fee", OPERATOR_FEE],
  ["without an operator fee", NO_OPERATOR_FEE],
])("settlement %s", (_, slot8) => {
  it("moves the fees of the refunded gas back, from everybody who received a share", () => {
    const dev = open(slot8);
    const plain = produce(dev, 1, withL1(USERS));
    const rawGas = gasOf(dev);
    const before = balances(dev);
    const plainReceipts = dev.chain.resolve({ kind: "tag", tag: "latest" })!.receipts;
    rewind(dev, 0);

    const refunds: [number, bigint][] = [
      [1, 20_999n],
      [2, 1n],
      [3, rawGas[3]!], // all of it
      [4, 5n],
    ];
    const tx = postExec(refunds);
    const { block, hash } = produce(dev, 1, withL1([...USERS, tx]));
    const { receipts } = dev.chain.resolve({ kind: "tag", tag: "latest" })!;
    const expected = rawGas.map((gas, index) => gas - (refunds.find(([at]) => at === index)?.[1] ?? 0n));
    expect(gasOf(dev)).toEqual([...expected, 0n]);
    expect(block.header.gasUsed).toBe(expected.reduce((sum, gas) => sum + gas));
    expect(receipts.at(-1)).toEqual({
      type: 0x7d,
      status: 1,
      cumulativeGasUsed: block.header.gasUsed,
      bloom: new Uint8Array(256),
      logs: [],
    });
    expect(receipts.slice(0, -1).map(({ logs, status }) => ({ logs, status }))).toEqual(
      plainReceipts.map(({ logs, status }) => ({ logs, status })),
    );
    // the footprint counts nothing for it
    expect(block.header.blobGasUsed).toBe(plain.block.header.blobGasUsed);
    const all = [attributesDeposit(1), ...USERS];
    const entries = refunds.map(([index, gas]) => ({ index: BigInt(index), gas }));
    expect(balances(dev)).toEqual(settled(before, slot8, all, rawGas, entries, block.header.baseFeePerGas!));
    expect(block.header.stateRoot).not.toEqual(plain.block.header.stateRoot);

    const other = open(slot8);
    expect(other.chain.newPayload(new PreparedBlock(block))).toMatchObject({ status: "VALID", latestValidHash: bytesToHex(hash) });
  });

  it("an empty list of refunds changes nothing but the transactions", () => {
    const dev = open(slot8);
    const plain = build(dev, 1, withL1(USERS));
    const { block } = produce(dev, 1, withL1([...USERS, postExec([])]));
    expect(block.header.stateRoot).toEqual(plain.block.header.stateRoot);
    expect(block.header.gasUsed).toBe(plain.block.header.gasUsed);
    expect(block.header.receiptsRoot).not.toEqual(plain.block.header.receiptsRoot);
  });
});

describe("a block whose post-exec transaction is not valid", () => {
  // 0: L1 attributes, 1 and 2: users, 3: post-exec
  const users = USERS.slice(0, 2);
  const CASES: [string, readonly Transaction[], RegExp][] = [
    ["before another transaction", [users[0]!, postExec([]), users[1]!], /^post-exec-not-last index=2 last=3/],
    ["before a deposit", [...users, postExec([]), attributesDeposit(9)], /^post-exec-not-last index=3 last=4/],
    ["twice", [...users, postExec([]), postExec([])], /^post-exec-not-last index=3 last=4/],
    ["of another block", [...users, postExec([[1, 1]], 2n)], /^post-exec-block-number got=2 expected=1/],
    ["of block 0", [...users, postExec([], 0n)], /^post-exec-block-number got=0 expected=1/],
    ["of a block beyond 2^53", [...users, postExec([], 2n ** 64n - 1n)], /^post-exec-block-number got=18446744073709551615/],
    ["with a refund of 0", [...users, postExec([[1, 0]])], /^gas-refund-zero index=1/],
    ["with two refunds of one transaction", [...users, postExec([[1, 1], [2, 1], [1, 1]])], /^gas-refund-duplicate index=1/], // biome-ignore format: a table
    ["with a refund of a deposit", [...users, postExec([[0, 1]])], /^gas-refund-target index=0 transactions=4 type=126/],
    ["with a refund of itself", [...users, postExec([[3, 1]])], /^gas-refund-target index=3 transactions=4 type=none/],
    ["with a refund beyond the block", [...users, postExec([[1, 1], [4, 1]])], /^gas-refund-target index=4/], // biome-ignore format: a table
    ["with a refund at 2^64 − 1", [...users, postExec([[2n ** 64n - 1n, 1]])], /^gas-refund-target index=18446744073709551615/],
    ["with a refund at 2^32 + 1", [...users, postExec([[2n ** 32n + 1n, 1]])], /^gas-refund-target index=4294967297/],
    [
      "with a refund above the gas used",
      [...users, postExec([[1, 21_001]])],
      /^transaction-rejected index=1 reason=gas-refund-too-high gasRefund=21001 gasUsed=21000/,
    ],
    [
      "with a refund of 2^64 − 1",
      [...users, postExec([[2, 2n ** 64n - 1n]])],
      /^transaction-rejected index=2 reason=gas-refund-too-high/,
    ],
  ];

  it.each(CASES)("%s is refused from elsewhere", (_, transactions, fault) => {
    const dev = open();
    const plain = build(dev, 1, withL1(users)).block;
    const all = [attributesDeposit(1), ...transactions];
    const header = { ...plain.header, transactionsRoot: orderedTrieRoot(all.map(encodeTransaction)) };
    const status = dev.chain.newPayload(new PreparedBlock({ ...plain, header, transactions: all }));
    expect(status.status).toBe("INVALID");
    expect(status.validationError).toMatch(fault);
    expect(dev.chain.newPayload(new PreparedBlock(plain))).toMatchObject({ status: "VALID" });
  });

  it.each(CASES)("%s is refused in attributes", (_, transactions) => {
    const dev = open();
    const head = forkchoice(hexToBytes(dev.chain.head().hash));
    const result = dev.chain.forkchoiceUpdated(head, attributesFor(dev, 1, withL1(transactions)), 3);
    expect(result).toMatchObject({ kind: "invalid-attributes", fault: "transaction-invalid" });
    produce(dev, 1, withL1(users));
  });

  it("is refused in attributes that let the pool add transactions", () => {
    const dev = open();
    dev.chain.setPendingSource(fixedPool(() => [{ from: 1, tx: transaction(1, 0) }]));
    const head = forkchoice(hexToBytes(dev.chain.head().hash));
    const attributes = attributesFor(dev, 1, { ...withL1([postExec([])]), noTxPool: false });
    expect(dev.chain.forkchoiceUpdated(head, attributes, 3)).toMatchObject({
      kind: "invalid-attributes",
      fault: "transaction-invalid",
    });
  });

  it("cannot be decoded in attributes", () => {
    const dev = open();
    const head = forkchoice(hexToBytes(dev.chain.head().hash));
    for (const bytes of ["0x7d", "0x7dc0", "0x7dc3022ac0", "0x7dc6012ac3c2030700"]) {
      const transactions = [...withL1(users).transactions, hexToBytes(bytes)];
      const result = dev.chain.forkchoiceUpdated(head, attributesFor(dev, 1, { transactions }), 3);
      expect(result, bytes).toMatchObject({ kind: "invalid-attributes", fault: "transaction-undecodable" });
    }
  });

  it("before the fork is refused because of its type", async () => {
    const dev = openDevChain("karst");
    opened.push(dev);
    const plain = build(dev, 1, withL1(users)).block;
    const all = [...plain.transactions, postExec([])];
    const header = { ...plain.header, transactionsRoot: orderedTrieRoot(all.map(encodeTransaction)) };
    const status = dev.chain.newPayload(new PreparedBlock({ ...plain, header, transactions: all }));
    expect(status).toMatchObject({ status: "INVALID" });
    expect(status.validationError).toMatch(/^transaction-type-not-allowed index=3 type=125/);
    const head = forkchoice(hexToBytes(dev.chain.head().hash));
    const attributes = attributesFor(dev, 1, withL1([...users, postExec([])]));
    expect(dev.chain.forkchoiceUpdated(head, attributes, 3)).toMatchObject({ fault: "transaction-invalid" });
  });

  it("whose results ignore its refunds is refused", () => {
    const dev = open();
    const plain = build(dev, 1, withL1(users)).block;
    const { block } = build(dev, 1, withL1([...users, postExec([[1, 5]])]));
    for (const [field, fault] of [
      ["gasUsed", /^gas-used-mismatch/],
      ["stateRoot", /^state-root-mismatch/],
      ["receiptsRoot", /^receipts-root-mismatch/],
    ] as const) {
      const header = { ...block.header, [field]: plain.header[field] };
      const status = dev.chain.newPayload(new PreparedBlock({ ...block, header }));
      expect(status.validationError).toMatch(fault);
    }
  });
});

it("the block's gas limit counts gas before refunds", () => {
  const dev = open();
  const all = [transfer(0, 0, { gasLimit: 1_000_000n }), transfer(1, 0, { gasLimit: 1_000_000n })];
  produce(dev, 1, withL1(all));
  const [deposit, used] = gasOf(dev);
  rewind(dev, 0);
  const enough = deposit! + used! + 1_000_000n;
  const withRefund = withL1([...all, postExec([[1, used!]])]);
  const head = forkchoice(hexToBytes(dev.chain.head().hash));
  const tight = attributesFor(dev, 1, { ...withRefund, gasLimit: enough - 1n });
  const result = dev.chain.forkchoiceUpdated(head, tight, 3);
  expect(JSON.stringify(result)).toMatch(/transaction-rejected index=2 reason=gas-limit-exceeds-block/);
  const { block } = produce(dev, 1, { ...withRefund, gasLimit: enough });
  expect(block.header.gasUsed).toBe(deposit! + 21_000n);
});

it("the first block of a fork may have one, which cannot refund anything there", () => {
  const config = devConfig("karst");
  const forkTimes = { karst: 0, lagoon: GENESIS_TIME_SEC + BLOCK_TIME_SEC };
  const optimism = { ...config.optimism!, forkTimes };
  const chain = openDevChain("karst", { config: { ...config, optimism }, genesis: devGenesis("karst") });
  opened.push(chain);
  const dev = { ...chain, fork: "lagoon" as const };
  const { block } = produce(dev, 1, withL1([postExec([])]));
  expect(block.transactions.map(({ type }) => type)).toEqual([0x7e, 0x7d]);
});

describe("a chain with refunded blocks", () => {
  const refunded = (number: number) => withL1([transfer(0, number - 1), postExec([[1, number]], BigInt(number))], number);

  it("is reorganised from one, to one, and back", () => {
    const dev = open();
    const made = [1, 2, 3].map((number) => produce(dev, number, refunded(number)));
    const third = made[2]!;
    const withRefunds = balances(dev);
    rewind(dev, 2);
    const sibling = produce(dev, 13, withL1([transfer(0, 2)], 13));
    const without = balances(dev);
    const { header, transactions } = third.block;
    const price = effectiveGasPrice(transactions[1]!, header.baseFeePerGas);
    expect(withRefunds[0]! - without[0]!).toBe(3n * (price + 300n)); // the operator's scalar is 3, times 100
    for (const [{ hash }, expected] of [
      [third, withRefunds],
      [sibling, without],
      [third, withRefunds],
    ] as const) {
      // biome-ignore format: a table
      expect(dev.chain.newPayload(new PreparedBlock(hash === third.hash ? third.block : sibling.block))).toMatchObject({ status: "VALID" });
      expect(dev.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3)).toMatchObject({ kind: "updated" });
      expect(balances(dev)).toEqual(expected);
    }
  });

  it("is the same after a restart, and continues", async () => {
    const dev = open();
    for (const number of [1, 2, 3]) produce(dev, number, refunded(number));
    const before = { balances: balances(dev), gas: gasOf(dev), head: dev.chain.head() };
    await dev.chain.close();
    const again = open(OPERATOR_FEE, dev.folder);
    expect({ balances: balances(again), gas: gasOf(again), head: again.chain.head() }).toEqual(before);
    const { block, receipts, senders: stored } = again.chain.resolve({ kind: "number", number: 2 })!;
    expect(block.transactions.at(-1)).toEqual(postExec([[1, 2]], 2n));
    expect(receipts.at(-1)).toMatchObject({ type: 0x7d, status: 1 });
    expect(stored.at(-1)).toEqual(new Uint8Array(20));
    produce(again, 4, refunded(4));
  });

  it("is executed from a witness", () => {
    const dev = open();
    const attributes = attributesFor(dev, 1, refunded(1));
    const { block, hash } = build(dev, 1, refunded(1));
    const genesis = genesisBlock(devGenesis("lagoon", OPERATOR_FEE), devConfig("lagoon"));
    const file = {
      chain: {
        chainId: 901,
        l1ChainId: 900,
        blockTime: 2,
        genesisTime: 1000,
        eip1559: { elasticity: 6, denominator: 50, denominatorCanyon: 250 },
        forkTimes: { lagoon: 0 },
      },
      parentHeaderRlp: bytesToHex(encodeHeader(genesis.block.header)),
      parentHash: bytesToHex(genesis.hash),
      payloadAttributes: attributesToJson(attributes),
      witness: {
        state: genesis.nodes.map(({ rlp }) => bytesToHex(rlp!)),
        codes: genesis.changes.codes.map(({ code }) => bytesToHex(code)),
        keys: [],
        headers: [bytesToHex(encodeHeader(genesis.block.header))],
      },
      expectedBlockHash: bytesToHex(hash),
      gasUsed: Number(block.header.gasUsed),
    };
    const { executed, mismatches } = executeStateless(parseBlockFile(file), { engine: newEngine() });
    expect(mismatches).toEqual([]);
    expect(hashHeader(executed.block.header)).toEqual(hash);
  });
});

/** The rules once more, as plainly as possible. */
function isValid(
  block: readonly Transaction[],
  rawGas: readonly bigint[],
  payloads: ReadonlyMap<Transaction, PostExecPayload>,
): boolean {
  const places = block.flatMap((tx, index) => (tx.type === 0x7d ? [index] : []));
  if (places.length === 0) return true;
  if (places.length > 1 || places[0] !== block.length - 1) return false;
  const { blockNumber, refunds } = payloads.get(block.at(-1)!)!;
  if (blockNumber !== 1n) return false;
  const list = [...refunds];
  return list.every(
    ({ index, gas }, at) =>
      gas > 0n &&
      index < BigInt(block.length) &&
      block[Number(index)]!.type !== 0x7e &&
      block[Number(index)]!.type !== 0x7d &&
      gas <= rawGas[Number(index)]! &&
      list.findIndex((other) => other.index === index) === at,
  );
}

describe("random payloads against the rules", () => {
  const users = fc.constantFrom(...Array.from({ length: USERS.length + 1 }, (_, count) => USERS.slice(0, count)));
  const index = fc.oneof(
    { arbitrary: fc.bigInt({ min: 0n, max: 6n }), weight: 8 },
    fc.constantFrom(2n ** 32n, 2n ** 53n, 2n ** 64n - 1n),
  );
  const gas = fc.oneof(
    { arbitrary: fc.bigInt({ min: 0n, max: 21_001n }), weight: 4 },
    fc.constantFrom(0n, 1n, 21_000n, 100_000n, 100_001n, 2n ** 64n - 1n),
  );
  const plainly = fc.record({
    blockNumber: fc.oneof({ arbitrary: fc.constant(1n), weight: 9 }, fc.constantFrom(0n, 2n, 2n ** 64n - 1n)),
    refunds: fc.array(fc.record({ index, gas }), { maxLength: 4 }),
  });
  /** mostly valid ones: distinct user transactions, little gas */
  const validly = fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }).chain((places) =>
    fc.record({
      blockNumber: fc.constant(1n),
      refunds: fc.tuple(
        ...places.map((place) => fc.record({ index: fc.constant(BigInt(place)), gas: fc.bigInt({ min: 1n, max: 21_000n }) })),
      ),
    }),
  );
  const payload: fc.Arbitrary<PostExecPayload & { refunds: readonly GasRefund[] }> = fc.oneof(plainly, validly);
  const given = fc.record({
    users,
    payloads: fc.oneof(
      { arbitrary: payload.map((one) => [{ payload: one, at: 100 }]), weight: 6 },
      fc.array(fc.record({ payload, at: fc.nat(6) }), { maxLength: 2 }),
    ),
  });

  it("are accepted if and only if the rules say so, with the balances that the rules say", () => {
    const dev = open();
    const other = open();
    const seen = { valid: 0, invalid: 0 };
    const rawGasOf = new Map<number, { gas: bigint[]; balances: bigint[] }>();
    fc.assert(
      fc.property(given, ({ users: list, payloads }) => {
        let raw = rawGasOf.get(list.length);
        if (raw === undefined) {
          produce(dev, 1, withL1(list));
          raw = { gas: gasOf(dev), balances: balances(dev) };
          rawGasOf.set(list.length, raw);
          rewind(dev, 0);
        }
        const block: Transaction[] = [attributesDeposit(1), ...list];
        const payloadOf = new Map<Transaction, PostExecPayload>();
        const places = new Map<Transaction, number>();
        for (const { payload: one, at } of payloads) {
          const tx = postExecTransaction(one);
          payloadOf.set(tx, one);
          block.splice(Math.max(1, Math.min(at, block.length)), 0, tx);
        }
        for (const [place, tx] of block.entries()) places.set(tx, place);
        const gasBefore = block.map((tx) => {
          const place = tx.type === 0x7e ? 0 : list.indexOf(tx) + 1;
          return tx.type === 0x7d ? 0n : raw.gas[place]!;
        });
        const valid = isValid(block, gasBefore, payloadOf);
        seen[valid ? "valid" : "invalid"]++;
        const head = forkchoice(hexToBytes(dev.chain.head().hash));
        const attributes = attributesFor(dev, 1, { transactions: block.map(encodeTransaction) });
        const result = dev.chain.forkchoiceUpdated(head, attributes, 3);
        expect(result.kind).toBe(valid ? "updated" : "invalid-attributes");
        if (result.kind !== "updated") return;
        const built = dev.chain.getPayload(result.payloadId!)!;
        const received = {
          ...built.block,
          transactions: built.block.transactions.map((tx) => decodeTransaction(encodeTransaction(tx).slice())),
        };
        expect(other.chain.newPayload(new PreparedBlock(received))).toMatchObject({ status: "VALID" });
        expect(other.chain.forkchoiceUpdated(forkchoice(built.hash), undefined, 3)).toMatchObject({ kind: "updated" });
        const refunds = [...(payloadOf.get(block.at(-1)!)?.refunds ?? [])];
        const { baseFeePerGas } = built.block.header;
        expect(balances(other)).toEqual(settled(raw.balances, OPERATOR_FEE, block, gasBefore, refunds, baseFeePerGas!));
        expect(gasOf(other)).toEqual(
          gasBefore.map((used, at) => used - (refunds.find((refund) => refund.index === BigInt(at))?.gas ?? 0n)),
        );
        rewind(other, 0);
      }),
      { numRuns: 150 },
    );
    expect(seen.valid).toBeGreaterThan(10);
    expect(seen.invalid).toBeGreaterThan(10);
  });
});

import {
  bytesToHex,
  concatBytes,
  EMPTY_BYTES,
  type ExactInteger,
  exactInteger,
  type Hex,
  hexToBytes,
  keccak256,
  sha256,
} from "@rnode/primitives";
import type { EvmFork, SignedTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import type { CallMessage, TransactionOutcome, TransactionResult } from "./execution.ts";
import { asm, deployer } from "./testing/asm.ts";
import { engineModule } from "./testing/engine.ts";
import {
  address,
  addressHex,
  COINBASE,
  environment,
  ethereumRules,
  MemoryState,
  type TestAccount,
  word,
} from "./testing/memory-state.ts";

const engine = createEvm(engineModule);

const SENDER = addressHex(0x5e4d);
const MAIN = addressHex(0x1000);
const OTHER = addressHex(0x2000);
const ETHER = 10n ** 18n;

function begin(accounts: Record<Hex, TestAccount>, fork: EvmFork = "cancun", evm = engine) {
  const state = new MemoryState({ [SENDER]: { balance: ETHER }, ...accounts });
  return { state, block: evm.beginBlock(ethereumRules(fork), environment, state) };
}

const legacy = (fields: Partial<Extract<SignedTransaction, { type: 0x00 }>> = {}): SignedTransaction => ({
  type: 0x00,
  chainId: undefined,
  nonce: 0n,
  gasPrice: 10n,
  gasLimit: 1_000_000n,
  to: address(MAIN),
  value: 0n,
  data: EMPTY_BYTES,
  ...fields,
});

const message = (fields: Partial<CallMessage> = {}): CallMessage => ({
  from: address(SENDER),
  to: address(MAIN),
  gasLimit: 1_000_000n,
  value: 0n,
  data: EMPTY_BYTES,
  gasPrice: 0n,
  ...fields,
});

const context = { sender: address(SENDER), encoded: EMPTY_BYTES };

function included(result: TransactionResult): TransactionOutcome {
  if (result.kind === "rejected") throw new Error(`rejected: ${result.reason}`);
  return result.outcome;
}

/** Output of code as a number. */
function evaluate(code: string, fork: EvmFork = "cancun", accounts: Record<Hex, TestAccount> = {}): bigint {
  const { block } = begin({ [MAIN]: { code: asm(`${code} 0 MSTORE 32 0 RETURN`) }, ...accounts }, fork);
  const { output, halt } = block.call(message());
  if (halt !== undefined) throw new Error(halt);
  return BigInt(bytesToHex(output));
}

describe("instructions", () => {
  it.each<[string, bigint]>([
    ["NUMBER", 1000n],
    ["TIMESTAMP", 1_700_000_000n],
    ["COINBASE", 0xc0ffeen],
    ["CHAINID", 1n],
    ["BASEFEE", 7n],
    ["BLOBBASEFEE", 1n],
    ["GASLIMIT", 30_000_000n],
    ["PREVRANDAO", BigInt(`0x${"42".repeat(32)}`)],
    ["CALLER", BigInt(SENDER)],
    ["ADDRESS", BigInt(MAIN)],
    ["PC", 0n],
    ["0 POP PC", 3n],
    ["CODESIZE", 9n],
    ["999 BLOCKHASH", 999n + 0xb10c_0000n],
    ["744 BLOCKHASH", 744n + 0xb10c_0000n],
    ["743 BLOCKHASH", 0n],
    ["1000 BLOCKHASH", 0n],
    ["0 BLOBHASH", 0n],
    ["0x100000000000000000000000000000005e4d BALANCE", 0n],
    [`${SENDER} BALANCE`, ETHER],
  ])("%s", (code, value) => {
    expect(evaluate(code)).toBe(value);
  });

  it("BLOCKHASH asks the state once a block for each hash, known or not", () => {
    const code = asm(`:a ${"744 BLOCKHASH 745 BLOCKHASH ADD 0 MSTORE ".repeat(3)} 32 0 RETURN`);
    const state = new MemoryState({ [SENDER]: {}, [MAIN]: { code } });
    const asked: ExactInteger[] = [];
    const run = (hashes: Readonly<Record<number, bigint>>): bigint => {
      const reader = {
        readAccount: (address: Uint8Array) => state.readAccount(address),
        readStorage: (address: Uint8Array, slot: Uint8Array) => state.readStorage(address, slot),
        readCode: (codeHash: Uint8Array) => state.readCode(codeHash),
        readBlockHash: (number: ExactInteger) => {
          asked.push(number);
          const hash = hashes[Number(number)];
          return hash === undefined ? undefined : word(hash);
        },
      };
      const block = engine.beginBlock(ethereumRules("cancun"), environment, reader);
      const outputs = [block.call(message()).output, block.call(message()).output].map((output) => BigInt(bytesToHex(output)));
      expect(outputs[1]).toBe(outputs[0]);
      return outputs[0]!;
    };
    expect(run({ 744: 5n })).toBe(5n);
    expect(asked).toEqual([744, 745]);
    expect(run({ 744: 6n, 745: 7n })).toBe(13n); // another block, with other hashes
    expect(asked).toEqual([744, 745, 744, 745]);
  });

  it.each([2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n])("number and timestamp %i are exact, and so are the ancestors", (value) => {
    const asked: ExactInteger[] = [];
    const code = asm(
      "NUMBER 0 MSTORE TIMESTAMP 32 MSTORE 1 NUMBER SUB BLOCKHASH 64 MSTORE 2 NUMBER SUB BLOCKHASH 96 MSTORE 128 0 RETURN",
    );
    const state = new MemoryState({ [SENDER]: {}, [MAIN]: { code } });
    state.readBlockHash = (number) => {
      asked.push(number);
      return word(BigInt(number));
    };
    const block = engine.beginBlock(ethereumRules("cancun"), { ...environment, number: value, timestamp: value }, state);
    const { output } = block.call(message());
    expect(bytesToHex(output)).toBe(bytesToHex(concatBytes(...[value, value, value - 1n, value - 2n].map(word))));
    expect(asked).toEqual([value - 1n, value - 2n].map(exactInteger));
  });

  it("SHA-256 of long inputs is left to native code, at the same price and with the same result", () => {
    const hashed: number[] = [];
    const native = createEvm(engineModule, {
      sha256: (data) => {
        hashed.push(data.length);
        return sha256(data);
      },
    });
    for (const bytes of [0, 511, 512, 5000]) {
      const code = asm(`0x5eed ${bytes} MSTORE 32 0 ${bytes} 0 2 0x10000 STATICCALL 32 MSTORE 64 0 RETURN`);
      const outcomes = [native, engine].map((evm) => begin({ [MAIN]: { code } }, "osaka", evm).block.call(message()));
      expect(outcomes[0]).toEqual(outcomes[1]);
      expect(outcomes[0]!.output[63]).toBe(1);
    }
    expect(hashed).toEqual([512, 5000]);
  });

  it("CLZ from Osaka on", () => {
    expect(evaluate("1 CLZ", "osaka")).toBe(255n);
    expect(() => evaluate("1 CLZ", "prague")).toThrow("invalid-opcode");
  });

  it.each<[string, EvmFork, EvmFork]>([
    ["0 0 SHL", "constantinople", "byzantium"],
    ["RETURNDATASIZE", "byzantium", "spuriousDragon"],
    ["CHAINID", "istanbul", "petersburg"],
    ["SELFBALANCE", "istanbul", "petersburg"],
    ["BASEFEE", "london", "berlin"],
    ["PUSH0", "shanghai", "paris"],
    ["BLOBBASEFEE", "cancun", "shanghai"],
    ["0 TLOAD", "cancun", "shanghai"],
  ])("%s exists from %s on", (code, first, before) => {
    const run = (fork: EvmFork) => {
      const { block } = begin({ [MAIN]: { code: asm(`${code} 1 MSTORE`) } }, fork);
      return block.call(message()).halt;
    };
    expect(run(first)).toBeUndefined();
    expect(run(before)).toBe("invalid-opcode");
  });
});

describe("calls", () => {
  it("go 1024 deep and no deeper", () => {
    // counts the depth that calls reach: each call adds one to the result of the next
    const code = asm("32 0 0 0 ADDRESS GAS STATICCALL 0 MLOAD MUL 1 ADD 0 MSTORE 32 0 RETURN");
    const { block } = begin({ [MAIN]: { code } });
    const { output } = block.call(message({ gasLimit: 1n << 60n }));
    expect(BigInt(bytesToHex(output))).toBe(1025n);
  });

  it("give back the stipend of a call that is not made", () => {
    const { block } = begin({ [MAIN]: { code: asm("0 0 0 0 5 0x2000 0 CALL 0 MSTORE 32 0 RETURN") } });
    const { gasUsed, output } = block.call(message());
    expect(BigInt(bytesToHex(output))).toBe(0n);
    // 21000, 7 pushes, cold account 2600, value 9000, new account 25000, less the stipend 2300; then 3 pushes, MSTORE, one word of memory
    expect(gasUsed).toBe(21_000n + 7n * 3n + 2600n + 9000n + 25_000n - 2300n + 3n * 3n + 3n + 3n);
  });

  it("keep each frame's memory apart, also when it grows", () => {
    const other = asm("0xbb 0 MSTORE 0xcc 200000 MSTORE 64 0 RETURN");
    const code = asm(
      `0xaa 0 MSTORE 32 64 0 0 ${OTHER} GAS STATICCALL POP 0xdd 100000 MSTORE 0 MLOAD 64 MLOAD MUL 100000 MLOAD ADD 0 MSTORE 32 0 RETURN`,
    );
    const { block } = begin({ [MAIN]: { code }, [OTHER]: { code: other } });
    expect(BigInt(bytesToHex(block.call(message({ gasLimit: 10_000_000n })).output))).toBe(0xaan * 0xbbn + 0xddn);
  });

  it("expose return data of the last call only", () => {
    const code = asm(
      `0 0 0 0 ${OTHER} GAS STATICCALL POP RETURNDATASIZE 0 0 0 0 0x7777 GAS STATICCALL POP RETURNDATASIZE 0x100 MUL ADD 0 MSTORE 32 0 RETURN`,
    );
    const { block } = begin({ [MAIN]: { code }, [OTHER]: { code: asm("7 0 RETURN") } });
    expect(BigInt(bytesToHex(block.call(message()).output))).toBe(7n);
  });

  it("end when return data is read beyond its end", () => {
    const { block } = begin({ [MAIN]: { code: asm("1 0 0 RETURNDATACOPY STOP") } });
    expect(block.call(message()).halt).toBe("return-data-out-of-bounds");
  });

  it("grow linear memory far beyond the start", () => {
    const size = 60 << 20;
    const { block } = begin({ [MAIN]: { code: asm(`1 ${size - 32} MSTORE ${size - 32} MLOAD 0 MSTORE 32 0 RETURN`) } });
    const { output } = block.call(message({ gasLimit: 1n << 40n }));
    expect(BigInt(bytesToHex(output))).toBe(1n);
  });
});

describe("state", () => {
  it("lists only what differs", () => {
    const { block } = begin({ [MAIN]: { code: asm("9 1 SSTORE 5 1 SSTORE 7 2 SSTORE STOP"), storage: { "0x1": 5n } } });
    included(block.applyTransaction(legacy(), context));
    const { accounts } = block.changes();
    expect(accounts.map((change) => bytesToHex(change.address)).sort()).toEqual([SENDER, MAIN, COINBASE].sort());
    const main = accounts.find((change) => bytesToHex(change.address) === MAIN)!;
    expect(main.storage).toEqual([{ slot: word(2n), before: word(0n), after: word(7n) }]);
    expect(main.storageCleared).toBe(false);
  });

  it("a call leaves nothing behind", () => {
    const { block } = begin({
      [MAIN]: { code: asm("9 1 SSTORE 0 0 0 0 1 0x8888 GAS CALL 1 1 TSTORE 0 0 LOG0 STOP"), balance: 5n },
    });
    const outcome = block.call(message({ value: 3n }));
    expect(outcome.status).toBe(1);
    expect(outcome.logs.length).toBe(1);
    expect(block.changes()).toEqual({ accounts: [], codes: [] });
    expect(block.call(message({ value: 3n })).gasUsed).toBe(outcome.gasUsed);
  });

  it("a transaction sees the ones before, but not their warmth or transient storage", () => {
    const code = asm("1 SLOAD 1 ADD DUP1 1 SSTORE 1 TLOAD ADD 1 1 TSTORE 0 MSTORE 32 0 RETURN");
    const { block } = begin({ [MAIN]: { code } });
    const first = included(block.applyTransaction(legacy(), context));
    const second = included(block.applyTransaction(legacy({ nonce: 1n }), context));
    expect(BigInt(bytesToHex(first.output))).toBe(1n);
    expect(BigInt(bytesToHex(second.output))).toBe(2n);
    // the slot is cold again, but no longer new
    expect(first.gasUsed - second.gasUsed).toBe(20_000n - 2900n);
  });

  it("overrides are seen by calls, and are changes", () => {
    const { block } = begin({ [MAIN]: { code: asm("STOP"), storage: { "0x1": 5n, "0x2": 6n } } });
    block.setCode(address(OTHER), asm("1 SLOAD 2 SLOAD ADD SELFBALANCE ADD 0 MSTORE 32 0 RETURN"));
    block.setStorage(address(OTHER), word(1n), word(40n));
    block.setBalance(address(OTHER), 1000n);
    block.setNonce(address(OTHER), 9n);
    expect(BigInt(bytesToHex(block.call(message({ to: address(OTHER) })).output))).toBe(1040n);
    block.clearStorage(address(MAIN));
    block.setStorage(address(MAIN), word(2n), word(8n));
    expect(block.getStorage(address(MAIN), word(1n))).toEqual(word(0n));
    expect(block.getNonce(address(OTHER))).toBe(9n);
    const { accounts, codes } = block.changes();
    const of = (hex: Hex) => accounts.find((change) => bytesToHex(change.address) === hex)!;
    expect(of(MAIN)).toMatchObject({ storageCleared: true, storage: [{ slot: word(2n), before: word(6n), after: word(8n) }] });
    expect(of(OTHER).before).toBeUndefined();
    expect(of(OTHER).after).toMatchObject({ nonce: 9n, balance: 1000n });
    expect(codes.length).toBe(1);
    expect(codes[0]!.codeHash).toEqual(keccak256(codes[0]!.code));
  });

  it("addBalance of 0 creates nothing", () => {
    const { block } = begin({});
    block.addBalance(address(OTHER), 0n);
    block.addBalance(address(MAIN), 3n);
    expect(block.changes().accounts.map((change) => bytesToHex(change.address))).toEqual([MAIN]);
    expect(block.getBalance(address(MAIN))).toBe(3n);
  });

  it("a contract is deleted with its storage, and may come back", () => {
    // a factory that creates, by CREATE2, a contract that destroys itself when called; before Cancun
    const child = deployer(asm("CALLDATASIZE @store JUMPI CALLER SELFDESTRUCT :store 1 1 SSTORE STOP"));
    const salted = keccak256(Uint8Array.of(0xff), address(MAIN), word(0n), keccak256(child)).subarray(12);
    const code = asm(`CALLDATASIZE 0 0 CALLDATACOPY 0 CALLDATASIZE 0 0 CREATE2 STOP`);
    const { block } = begin({ [MAIN]: { code, nonce: 1n } }, "shanghai");
    let nonce = 0n;
    const send = (to: Uint8Array, data: Uint8Array) =>
      included(block.applyTransaction(legacy({ nonce: nonce++, to, data }), context));
    send(address(MAIN), child);
    send(salted, Uint8Array.of(1));
    expect(block.getStorage(salted, word(1n))).toEqual(word(1n));
    send(salted, EMPTY_BYTES);
    expect(block.getCode(salted).length).toBe(0);
    expect(block.getNonce(salted)).toBe(0n);
    send(address(MAIN), child);
    expect(block.getCode(salted).length).toBeGreaterThan(0);
    expect(block.getStorage(salted, word(1n))).toEqual(word(0n));
    const change = block.changes().accounts.find((entry) => bytesToHex(entry.address) === bytesToHex(salted))!;
    expect(change).toMatchObject({ before: undefined, storageCleared: false, storage: [] });
  });

  it("reads no state that execution does not need", () => {
    const { state, block } = begin({ [MAIN]: { code: asm("STOP") }, [OTHER]: { code: asm("STOP"), storage: { "0x1": 1n } } });
    expect(block.systemCall(address(MAIN), EMPTY_BYTES)?.status).toBe(1);
    expect(block.systemCall(address("0x9999999999999999999999999999999999999999"), EMPTY_BYTES)).toBeUndefined();
    expect(state.reads.accounts).toEqual([MAIN, "0x9999999999999999999999999999999999999999"]);
    const listed: SignedTransaction = {
      ...legacy({}),
      type: 0x01,
      chainId: 1n,
      gasPrice: 10n,
      accessList: [{ address: address(OTHER), storageKeys: [word(1n)] }],
    } as SignedTransaction;
    included(block.applyTransaction(listed, context));
    expect(state.reads.accounts).not.toContain(OTHER);
    expect(state.reads.slots).toBe(0);
  });

  it("an earlier block cannot be used any more", () => {
    const { block } = begin({});
    begin({});
    expect(() => block.getBalance(address(SENDER))).toThrow(expect.objectContaining({ code: "evm/stale-block" }));
  });
});

describe("engine", () => {
  it("recovers from a reader that throws", () => {
    const { state, block } = begin({ [MAIN]: { code: asm("1 SLOAD STOP") } });
    state.readStorage = () => {
      throw new Error("the disk is gone");
    };
    expect(() => block.call(message())).toThrow("the disk is gone");
    expect(evaluate("1 2 ADD")).toBe(3n);
  });

  it("can be interrupted, and used again", () => {
    const evm = createEvm(engineModule);
    let slices = 0;
    evm.setInterrupt(() => {
      if (++slices === 3) throw new Error("too long");
    });
    const { block } = begin({ [MAIN]: { code: asm(":loop @loop JUMP") } }, "cancun", evm);
    expect(() => block.call(message({ gasLimit: 1n << 50n }))).toThrow("too long");
    evm.setInterrupt(undefined);
    const again = begin({ [MAIN]: { code: asm("1 0 MSTORE 32 0 RETURN") } }, "cancun", evm);
    expect(again.block.call(message()).status).toBe(1);
  });

  it("can be interrupted between calls that are short each, and before a long precompile", () => {
    const evm = createEvm(engineModule);
    const asked: bigint[] = [];
    evm.setInterrupt((stepGas) => asked.push(stepGas));
    // Each call spends some 10,000 gas, which its caller passes on with the rest of its gas.
    const caller = asm(`:loop 0 0 0 0 ${OTHER} GAS STATICCALL POP @loop JUMP`);
    const callee = asm("10000 0 KECCAK256 POP STOP");
    const { block } = begin({ [MAIN]: { code: caller }, [OTHER]: { code: callee } }, "cancun", evm);
    block.call(message({ gasLimit: 10_000_000n }));
    expect(asked.length).toBeGreaterThanOrEqual(15);
    asked.length = 0;
    // A pairing of 30 points at infinity.
    const pairing = begin({ [MAIN]: { code: asm("0 0 5760 0 8 GAS STATICCALL POP STOP") } }, "cancun", evm);
    pairing.block.call(message({ gasLimit: 2_000_000n }));
    expect(asked[0]).toBe(45_000n + 30n * 34_000n);
  });

  it.each([
    ["KECCAK256 over 4 MiB", "4194304 0 KECCAK256 POP", 6n],
    ["CALLDATACOPY", "4194304 0 0 CALLDATACOPY", 6n],
    ["CODECOPY", "4194304 0 0 CODECOPY", 6n],
    ["EXTCODECOPY", `4194304 0 0 ${OTHER} EXTCODECOPY`, 6n],
    ["MCOPY", "4194304 0 1 MCOPY", 6n],
    ["LOG0", "4194304 0 LOG0", 6n],
    ["SHA-256", "0 0 4194304 0 2 GAS STATICCALL POP", 6n],
    ["identity", "0 0 4194304 0 4 GAS STATICCALL POP", 6n],
    ["BLAKE2", "0x00ffffff 224 SHL 0 MSTORE 0 0 213 0 9 GAS STATICCALL POP", undefined],
  ])("can be interrupted between long steps without a jump: %s", (_, step, gasPerWord) => {
    const evm = createEvm(engineModule);
    const code = asm(`${step} `.repeat(3) + "STOP");
    const asked: bigint[] = [];
    evm.setInterrupt((stepGas) => {
      if (stepGas > 0n) asked.push(stepGas);
      if (asked.length === 2) throw new Error("too long");
    });
    const { block } = begin({ [MAIN]: { code } }, "cancun", evm);
    expect(() => block.call(message({ gasLimit: 1n << 50n }))).toThrow("too long");
    const expected = gasPerWord === undefined ? 0xffffffn : gasPerWord * 131_072n;
    expect(asked).toEqual([expected, expected]);
  });

  it("drops code when the cache is full, also in the middle of a transaction", () => {
    const evm = createEvm(engineModule, { codeCacheBytes: 20_000 });
    const accounts: Record<Hex, TestAccount> = {};
    // each contract has 2 KB of code and calls the next; when the calls return, the callers' code must still be in the cache
    const count = 60;
    for (let i = 0; i < count; i++) {
      const next = addressHex(0x5000 + i + 1);
      const padding = " 0 POP".repeat(700);
      const body =
        i === count - 1
          ? "1 0 MSTORE 32 0 RETURN"
          : `32 0 0 0 ${next} GAS STATICCALL POP 0 MLOAD ${i} ADD 0 MSTORE 32 0 RETURN ${padding}`;
      accounts[addressHex(0x5000 + i)] = { code: asm(body) };
    }
    const { block } = begin(accounts, "cancun", evm);
    const call = () => BigInt(bytesToHex(block.call(message({ to: address(addressHex(0x5000)), gasLimit: 30_000_000n })).output));
    const expected = 1n + BigInt(((count - 2) * (count - 1)) / 2);
    expect(call()).toBe(expected);
    expect(call()).toBe(expected);
  });

  it("keeps many accounts and slots", () => {
    const code = asm(":loop DUP1 DUP1 SSTORE 1 ADD DUP1 3000 GT @loop JUMPI STOP".replace(":loop", "1 :loop"));
    const { block } = begin({ [MAIN]: { code } });
    const outcome = included(block.applyTransaction(legacy({ gasLimit: 30_000_000n, gasPrice: 7n }), { ...context }));
    expect(outcome.status).toBe(0); // out of gas, since 3000 slots cost more than a block
    const rich = begin({ [MAIN]: { code } });
    const result = rich.block.call(message({ gasLimit: 1n << 40n }));
    expect(result.status).toBe(1);
    expect(result.gasUsed).toBeGreaterThan(2999n * 22_100n);
  });

  it("takes no memory before its first block", () => {
    const unused = createEvm(engineModule);
    unused.setInterrupt(() => {});
    unused.setTracer(undefined);
    expect([unused.memoryBytes, unused.gasBurned]).toEqual([0, 0n]);
  });

  it("warms up without a trace", () => {
    engine.warmUp();
    expect(evaluate("1 2 ADD")).toBe(3n);
  });
});

describe("tracing", () => {
  it("ends when its tracer is taken away, in a block that has begun, too", () => {
    const evm = createEvm(engineModule);
    const seen: number[] = [];
    evm.setTracer({ onStep: ({ opcode }) => seen.push(opcode) });
    const run = (isTakenAway: boolean): number => {
      const { block } = begin({ [MAIN]: { code: asm("1 2 ADD STOP") } }, "cancun", evm);
      if (isTakenAway) evm.setTracer(undefined);
      block.call(message({ gasLimit: 100_000n }));
      return seen.splice(0).length;
    };
    expect(run(false)).toBe(4);
    expect(run(true)).toBe(0);
  });

  it("reports steps, calls, logs", () => {
    const evm = createEvm(engineModule);
    const events: string[] = [];
    evm.setTracer({
      onStep: ({ pc, opcode, gas, depth, stackSize, stack }) =>
        events.push(
          `${depth}:${pc} ${opcode.toString(16)} gas ${gas} stack ${Array.from({ length: stackSize }, (_, i) => stack(i)).join(",")}`,
        ),
      onEnter: ({ kind, depth, gas, value, input, to }) =>
        events.push(`enter ${kind} ${depth} ${bytesToHex(to!).slice(-4)} gas ${gas} value ${value} input ${bytesToHex(input)}`),
      onExit: ({ depth, halt, gasLeft, output }) => events.push(`exit ${depth} ${halt} ${gasLeft} ${bytesToHex(output)}`),
      onLog: (_address, topics, data) => events.push(`log ${topics.length} ${bytesToHex(data)}`),
    });
    const main = asm("0 0 1 0 0 0x2000 10000 CALL 0 1 LOG0 STOP");
    const { block } = begin({ [MAIN]: { code: main }, [OTHER]: { code: asm("5 7 ADD JUMPDEST INVALID") } }, "cancun", evm);
    block.call(message({ gasLimit: 121_000n }));
    expect(events).toEqual([
      "enter call 0 1000 gas 100000 value 0 input 0x",
      "0:0 60 gas 100000 stack ",
      "0:2 60 gas 99997 stack 0",
      "0:4 60 gas 99994 stack 0,0",
      "0:6 60 gas 99991 stack 1,0,0",
      "0:8 60 gas 99988 stack 0,1,0,0",
      "0:10 61 gas 99985 stack 0,0,1,0,0",
      "0:13 61 gas 99982 stack 8192,0,0,1,0,0",
      "0:16 f1 gas 99979 stack 10000,8192,0,0,1,0,0",
      "enter call 1 2000 gas 10000 value 0 input 0x00",
      "1:0 60 gas 10000 stack ",
      "1:2 60 gas 9997 stack 5",
      "1:4 1 gas 9994 stack 7,5",
      "1:5 5b gas 9991 stack 12",
      "1:6 fe gas 9990 stack 12",
      "exit 1 invalid-opcode 0 0x",
      "0:17 60 gas 87376 stack 0",
      "0:19 60 gas 87373 stack 0,0",
      "0:21 a0 gas 87370 stack 1,0,0",
      "log 0 0x",
      "0:22 0 gas 86995 stack 0",
      "exit 0 undefined 86995 0x",
    ]);
  });
});

describe("EIP-7702", () => {
  it("runs the delegate's code on the account", () => {
    const delegated = hexToBytes(`0xef0100${OTHER.slice(2)}`);
    const { block } = begin(
      {
        [MAIN]: { code: delegated, nonce: 1n, storage: { "0x1": 33n } },
        [OTHER]: { code: asm("1 SLOAD 0 MSTORE ADDRESS 32 MSTORE 64 0 RETURN"), storage: { "0x1": 44n } },
      },
      "prague",
    );
    expect(bytesToHex(block.call(message()).output)).toBe(bytesToHex(word(33n)) + bytesToHex(word(BigInt(MAIN))).slice(2));
    expect(block.getCode(address(MAIN))).toEqual(delegated);
  });

  it("charges for the delegate's account", () => {
    const delegated = hexToBytes(`0xef0100${OTHER.slice(2)}`);
    const third = addressHex(0x3000);
    const gasOf = (fork: EvmFork, code: Uint8Array) => {
      const { block } = begin(
        {
          [third]: { code: asm("0 0 0 0 0x1000 GAS STATICCALL STOP") },
          [MAIN]: { code, nonce: 1n },
          [OTHER]: { code: asm("STOP") },
        },
        fork,
      );
      return block.call(message({ to: address(third) })).gasUsed;
    };
    expect(gasOf("prague", delegated) - gasOf("prague", asm("STOP"))).toBe(2600n);
    // before Prague it is ordinary code, and 0xef is not an opcode
    expect(gasOf("cancun", delegated)).toBeGreaterThan(900_000n);
  });

  it("a delegation to a precompile runs nothing", () => {
    const delegated = hexToBytes(`0xef0100${addressHex(4).slice(2)}`);
    const { block } = begin({ [MAIN]: { code: delegated, nonce: 1n } }, "prague");
    expect(block.call(message({ data: Uint8Array.of(1, 2, 3) }))).toMatchObject({ status: 1, output: EMPTY_BYTES });
  });

  it("moves precompiles until the next block", () => {
    const data = Uint8Array.of(1, 2, 3);
    const at = (number: number) => hexToBytes(addressHex(number));
    const outputAt = (block: ReturnType<typeof begin>["block"], to: Hex) =>
      block.call(message({ to: hexToBytes(to), data })).output;
    const { block } = begin({ [MAIN]: { code: asm("STOP"), nonce: 1n } });
    expect(block.movePrecompile(address(MAIN), address(OTHER))).toBe(false); // there is no precompile
    expect(block.movePrecompile(at(4), address(MAIN))).toBe(true);
    expect(block.movePrecompile(at(4), address(OTHER))).toBe(false); // it has been moved away
    expect([outputAt(block, MAIN), outputAt(block, addressHex(4))]).toEqual([data, EMPTY_BYTES]);
    expect(block.call(message({ data })).gasUsed).toBe(21_000n + 3n * 16n + 18n);
    expect(block.movePrecompile(address(MAIN), at(4))).toBe(true); // and it can be moved back
    expect([outputAt(block, MAIN), outputAt(block, addressHex(4))]).toEqual([EMPTY_BYTES, data]);
    expect(block.movePrecompile(at(4), undefined)).toBe(true);
    expect(outputAt(block, addressHex(4))).toEqual(EMPTY_BYTES);
    for (let id = 1; id <= 10; id++) block.movePrecompile(at(id), at(0x3000 + id));
    expect(() => {
      for (let i = 0; i < 64; i++) block.movePrecompile(at(0x3001 + i), at(0x3002 + i));
    }).toThrow(expect.objectContaining({ code: "evm/too-many-moved-precompiles" }));
    const next = begin({}).block;
    expect(outputAt(next, addressHex(4))).toEqual(data);
  });

  it("reports the gas before refunds", () => {
    const { block } = begin({ [MAIN]: { code: asm("0 1 SSTORE STOP"), storage: { "0x1": 5n } } });
    const { gasUsed, maxGasUsed } = block.call(message());
    expect(maxGasUsed - gasUsed).toBe(4800n);
  });
});

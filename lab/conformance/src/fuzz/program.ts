import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { type FuzzFocus, type FuzzFork, isFuzzForkAtLeast } from "./fuzz-case.ts";
import { CHAIN_AT, CHAIN_LENGTH, pointChain } from "./point-chain.ts";
import { precompileInput } from "./precompile-inputs.ts";
import { address, type Random } from "./random.ts";

/** opcode, number of operands and results; and data for sensible operands */
const PLAIN: readonly (readonly [opcode: number, pops: number, pushes: number, from?: FuzzFork])[] = [
  ...[0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b].map((op) => [op, 2, 1] as const),
  ...[0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a].map((op) => [op, 2, 1] as const),
  ...[0x1b, 0x1c, 0x1d].map((op) => [op, 2, 1, "constantinople"] as const),
  ...[0x08, 0x09].map((op) => [op, 3, 1] as const),
  ...[0x15, 0x19, 0x31, 0x35, 0x3b, 0x40].map((op) => [op, 1, 1] as const),
  ...[0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a].map((op) => [op, 0, 1] as const),
  ...[0x41, 0x42, 0x43, 0x44, 0x45, 0x58, 0x59, 0x5a].map((op) => [op, 0, 1] as const),
  [0x50, 1, 0],
  [0x3d, 0, 1, "byzantium"],
  [0x3f, 1, 1, "constantinople"],
  [0x46, 0, 1, "istanbul"],
  [0x47, 0, 1, "istanbul"],
  [0x48, 0, 1, "london"],
  [0x1e, 1, 1, "osaka"],
  [0x49, 1, 1, "cancun"],
  [0x4a, 0, 1, "cancun"],
  [0x5f, 0, 1, "shanghai"],
];

const CALL = 0xf1;
const CALLCODE = 0xf2;
const DELEGATECALL = 0xf4;
const STATICCALL = 0xfa;
const LAST_PRECOMPILE: readonly (readonly [from: FuzzFork, number: number])[] = [
  ["prague", 17],
  ["cancun", 10],
  ["istanbul", 9],
  ["byzantium", 8],
  ["frontier", 4],
];
const lastPrecompile = (fork: FuzzFork): number => LAST_PRECOMPILE.find(([from]) => isFuzzForkAtLeast(fork, from))?.[1] ?? 0;

/** Gas limits of inner calls close to some boundary: stipends, prices of calls, storage and new accounts. */
const EDGE_GAS: readonly number[] = [0, 1, 100, 699, 700, 2299, 2300, 2301, 2600, 2900, 5000, 9000, 20_000, 25_000, 32_000, 34_000];

export interface ProgramOptions {
  readonly random: Random;
  readonly fork: FuzzFork;
  /** accounts worth calling */
  readonly targets: readonly Uint8Array[];
  readonly statements: number;
  /** use many precompiles and little else */
  readonly focus?: FuzzFocus | undefined;
  /** how deeply initialisation code may contain further initialisation code */
  readonly nesting: number;
}

/** Bytecode that mostly makes sense: operands are present, jumps have valid destinations, calls have existing targets. */
export function generateProgram(options: ProgramOptions): Uint8Array {
  return new ProgramWriter(options).write();
}

/** Initialisation code that does a few things and deploys something (or not). */
export function generateInitCode(options: ProgramOptions): Uint8Array {
  const { random } = options;
  const body = new ProgramWriter({ ...options, statements: random.between(0, 4) }).body();
  const deployed = random.oneIn(8)
    ? concatBytes(Uint8Array.of(random.pick([0xef, 0xfe, 0x00])), random.bytes(random.below(5)))
    : generateProgram({ ...options, statements: random.between(1, 8), nesting: options.nesting - 1 });
  if (random.oneIn(10)) return body;
  // code of zeros, at the limit of EIP-170: PUSH2 size, PUSH1 0, RETURN
  if (random.oneIn(15)) return concatBytes(body, Uint8Array.of(0x61, 0x60, random.below(2), 0x60, 0, 0xf3));
  // CODECOPY of the code after it: PUSH2 length, PUSH2 offset, PUSH1 0, CODECOPY, PUSH2 length, PUSH1 0, RETURN
  const length = [deployed.length >> 8, deployed.length & 0xff];
  const size = body.length + 15;
  const tail = Uint8Array.of(0x61, ...length, 0x61, size >> 8, size & 0xff, 0x60, 0, 0x39, 0x61, ...length, 0x60, 0, 0xf3);
  return concatBytes(body, tail, deployed);
}

/**
 * A contract that calls itself or others, to the depth in the first word of its calldata. It changes state on the way down and
 * back, and sometimes fails.
 */
export function generateNest(options: ProgramOptions): Uint8Array {
  return new ProgramWriter(options).nest();
}

class ProgramWriter {
  readonly #options: ProgramOptions;
  readonly #random: Random;
  readonly #bytes: number[] = [];
  /** number of stack items, as far as it can be known */
  #height = 0;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#random = options.random;
  }

  write(): Uint8Array {
    this.#statements(this.#options.statements, 2);
    this.#end();
    return Uint8Array.from(this.#bytes);
  }

  body(): Uint8Array {
    this.#statements(this.#options.statements, 1);
    return Uint8Array.from(this.#bytes);
  }

  nest(): Uint8Array {
    const mask = this.#random.oneIn(4) ? 0x7ffn : 0x1fn;
    const counter = (): void => {
      this.#push(mask);
      this.#push(0n);
      this.#op(0x35, 1, 1);
      this.#op(0x16, 2, 1);
    };
    counter();
    const deeper = this.#pushLabel();
    this.#op(0x57, 2, 0);
    this.#statements(this.#options.statements, 1);
    this.#end();
    this.#height = 0;
    this.#land(deeper);
    this.#statements(this.#random.below(3), 0);
    this.#balanceTo(0);
    for (let calls = this.#random.oneIn(6) ? 2 : 1; calls > 0; calls--) {
      // mem[0] = counter − 1
      this.#push(1n);
      counter();
      this.#op(0x03, 2, 1);
      this.#push(0n);
      this.#op(0x52, 2, 0);
      this.#nestedCall();
      this.#statements(this.#random.below(3), 0);
      this.#balanceTo(0);
    }
    // fails if the counter has certain bits
    this.#push(BigInt(this.#random.between(1, 7)));
    counter();
    this.#op(0x16, 2, 1);
    const goesOn = this.#pushLabel();
    this.#op(0x57, 2, 0);
    if (this.#random.oneIn(2)) {
      this.#push(this.#size());
      this.#push(0n);
      this.#op(0xfd);
    } else this.#end();
    this.#height = 0;
    this.#land(goesOn);
    this.#statements(this.#random.below(4), 0);
    this.#end();
    return Uint8Array.from(this.#bytes);
  }

  #nestedCall(): void {
    const opcode = this.#callOpcode();
    const hasValue = opcode === CALL || opcode === CALLCODE;
    this.#push(this.#size());
    this.#push(BigInt(this.#random.below(3) * 32));
    this.#push(BigInt(this.#random.oneIn(8) ? 31 : 32));
    this.#push(0n);
    if (hasValue) this.#push(this.#random.oneIn(3) ? 1n : 0n);
    if (this.#random.oneIn(2)) this.#op(0x30, 0, 1);
    else this.#pushBytes(this.#random.pick(this.#options.targets));
    if (this.#random.oneIn(4)) this.#gas();
    else {
      // before EIP-150 a call cannot request more gas than available
      if (!this.#isFork("tangerineWhistle")) this.#push(BigInt(this.#random.between(1000, 60_000)));
      this.#op(0x5a, 0, 1);
      if (!this.#isFork("tangerineWhistle")) this.#op(0x03, 2, 1);
    }
    this.#op(opcode, hasValue ? 7 : 6, 1);
  }

  #callOpcode(): number {
    return this.#random.weighted([
      [6, CALL],
      [2, CALLCODE],
      [this.#isFork("homestead") ? 4 : 0, DELEGATECALL],
      [this.#isFork("byzantium") ? 3 : 0, STATICCALL],
    ]);
  }

  #isFork(fork: FuzzFork): boolean {
    return isFuzzForkAtLeast(this.#options.fork, fork);
  }

  #op(opcode: number, pops = 0, pushes = 0): void {
    this.#bytes.push(opcode);
    this.#height += pushes - pops;
  }

  #push(value: bigint): void {
    if (value === 0n && this.#isFork("shanghai") && !this.#random.oneIn(4)) {
      this.#op(0x5f, 0, 1);
      return;
    }
    const minimal = value === 0n ? 1 : Math.ceil(value.toString(16).length / 2);
    const width = this.#random.oneIn(12) ? this.#random.between(minimal, 32) : minimal;
    this.#op(0x5f + width, 0, 1);
    this.#bytes.push(...bigintToBytes(value, width));
  }

  #pushBytes(bytes: Uint8Array): void {
    this.#op(0x5f + bytes.length, 0, 1);
    this.#bytes.push(...bytes);
  }

  /** A value: usually a constant, sometimes one from the stack or the environment. */
  #operand(value: bigint): void {
    if (this.#height > 0 && this.#random.oneIn(8)) {
      this.#op(0x80 + this.#random.below(Math.min(16, this.#height)), 0, 1);
    } else this.#push(value);
  }

  /** offset or size in memory: small, rarely enormous */
  #memory(): bigint {
    const { below, oneIn } = bound(this.#random);
    if (oneIn(400)) return this.#random.word();
    return oneIn(3) ? BigInt(below(20) * 32) : BigInt(below(400));
  }

  #size(): bigint {
    const { below, oneIn } = bound(this.#random);
    if (oneIn(400)) return this.#random.word();
    return oneIn(4) ? 0n : BigInt(below(130));
  }

  #target(): Uint8Array {
    const { targets, fork } = this.#options;
    const kind = this.#random.below(20);
    if (kind === 0) return address((0xdead00 + this.#random.below(4)).toString(16));
    if (kind <= 2) return address(this.#random.between(1, lastPrecompile(fork) + 1).toString(16));
    return this.#random.pick(targets);
  }

  #statements(count: number, depth: number): void {
    for (let i = 0; i < count; i++) this.#statement(depth);
  }

  #statement(depth: number): void {
    const { focus } = this.#options;
    const hasCurves = this.#isFork("byzantium");
    const statement = this.#random.weighted<(depth: number) => void>([
      [30, () => this.#plain()],
      [10, () => this.#memoryAccess()],
      [14, () => this.#storage()],
      [6, () => this.#transient()],
      [8, () => this.#copy()],
      [4, () => this.#hash()],
      [4, () => this.#log()],
      [6, () => this.#stackShuffle()],
      [10, () => this.#call()],
      [focus === "precompiles" ? 120 : 5, () => this.#precompileCall()],
      [!hasCurves ? 0 : focus === "precompiles" ? 80 : 1, () => this.#pointChain()],
      [5, () => this.#create()],
      [4, (inner) => this.#skip(inner)],
      [3, (inner) => this.#loop(inner)],
      [2, () => this.#conditionalEnd()],
      [1, () => this.#odd()],
    ]);
    statement(depth);
    // a deep stack does not help later opcodes, but an overflow must occur sometimes
    while (this.#height > 24 && !this.#random.oneIn(40)) this.#op(0x50, 1, 0);
  }

  #plain(): void {
    const [opcode, pops, pushes, from] = this.#random.pick(PLAIN);
    if (from !== undefined && !this.#isFork(from) && !this.#random.oneIn(30)) return;
    const wantsAddress = opcode === 0x31 || opcode === 0x3b || opcode === 0x3f;
    for (let i = 0; i < pops; i++) {
      if (wantsAddress) this.#pushBytes(this.#target());
      else if (opcode === 0x40) this.#push(BigInt(this.#random.between(700, 1010)));
      else if (opcode === 0x0a && i === 0)
        this.#push(this.#random.oneIn(3) ? this.#random.word() : BigInt(this.#random.below(70_000)));
      else this.#operand(this.#random.word());
    }
    this.#op(opcode, pops, pushes);
  }

  #memoryAccess(): void {
    const kind = this.#random.below(4);
    if (kind === 3 && this.#isFork("cancun")) {
      this.#push(this.#size());
      this.#push(this.#memory());
      this.#push(this.#memory());
      this.#op(0x5e, 3, 0);
      return;
    }
    if (kind !== 0) this.#operand(this.#random.word());
    this.#push(this.#memory());
    if (kind === 0) this.#op(0x51, 1, 1);
    else this.#op(kind === 1 ? 0x53 : 0x52, 2, 0);
  }

  #slot(): bigint {
    return this.#random.oneIn(10) ? this.#random.word() : BigInt(this.#random.below(4));
  }

  #storage(): void {
    if (this.#random.oneIn(3)) {
      this.#push(this.#slot());
      this.#op(0x54, 1, 1);
      return;
    }
    this.#operand(this.#random.oneIn(3) ? 0n : BigInt(this.#random.below(4)));
    this.#push(this.#slot());
    this.#op(0x55, 2, 0);
  }

  #transient(): void {
    if (!this.#isFork("cancun") && !this.#random.oneIn(30)) return;
    const isLoad = this.#random.oneIn(2);
    if (!isLoad) this.#operand(this.#random.word());
    this.#push(this.#slot());
    if (isLoad) this.#op(0x5c, 1, 1);
    else this.#op(0x5d, 2, 0);
  }

  #copy(): void {
    const opcode = this.#random.pick([0x37, 0x39, 0x3c, this.#isFork("byzantium") ? 0x3e : 0x39]);
    if (opcode === 0x3e && !this.#random.oneIn(6)) {
      this.#op(0x3d, 0, 1); // RETURNDATASIZE
      this.#push(0n);
    } else {
      this.#push(this.#size());
      this.#push(this.#memory());
    }
    this.#push(this.#memory());
    if (opcode === 0x3c) this.#pushBytes(this.#target());
    this.#op(opcode, opcode === 0x3c ? 4 : 3, 0);
  }

  #hash(): void {
    this.#push(this.#size());
    this.#push(this.#memory());
    this.#op(0x20, 2, 1);
  }

  #log(): void {
    const topics = this.#random.below(5);
    for (let i = 0; i < topics; i++) this.#operand(this.#random.word());
    this.#push(this.#size());
    this.#push(this.#memory());
    this.#op(0xa0 + topics, 2 + topics, 0);
  }

  #stackShuffle(): void {
    if (this.#height === 0) {
      this.#push(this.#random.word());
      return;
    }
    if (this.#random.oneIn(4)) {
      // DUP and SWAP only reach far in a deep stack
      for (let i = this.#random.between(8, 18); i > 0; i--) this.#push(BigInt(this.#random.below(1000)));
    }
    const reach = Math.min(16, this.#height);
    const kind = this.#random.below(3);
    if (kind === 0) this.#op(0x50, 1, 0);
    else if (kind === 1) this.#op(0x80 + this.#random.below(reach), 0, 1);
    else if (this.#height > 1) this.#op(0x90 + this.#random.below(Math.min(16, this.#height - 1)));
  }

  #gas(): void {
    const kind = this.#random.below(10);
    // passing on most of the gas in each call would end most cases out of gas, deep in a recursion
    if (kind < 2) this.#op(0x5a, 0, 1);
    else if (kind < 4) this.#push(BigInt(this.#random.pick(EDGE_GAS)));
    else if (kind < 9 || !this.#random.oneIn(4)) this.#push(BigInt(this.#random.below(40_000)));
    else this.#push(this.#random.word());
  }

  #value(): bigint {
    if (!this.#random.oneIn(4)) return 0n;
    return this.#random.oneIn(12) ? this.#random.word() : BigInt(this.#random.below(2000));
  }

  #call(): void {
    const opcode = this.#callOpcode();
    const hasValue = opcode === CALL || opcode === CALLCODE;
    for (let i = 0; i < 2; i++) {
      this.#push(this.#size());
      this.#push(this.#memory());
    }
    if (hasValue) this.#push(this.#value());
    this.#pushBytes(this.#target());
    this.#gas();
    this.#op(opcode, hasValue ? 7 : 6, 1);
    if (this.#random.oneIn(2)) this.#op(0x50, 1, 0);
  }

  /** stores bytes in memory from `base` on */
  #storeBytes(bytes: Uint8Array, base = 0): void {
    for (let at = 0; at < bytes.length; at += 32) {
      const chunk = new Uint8Array(32);
      chunk.set(bytes.subarray(at, at + 32));
      this.#pushBytes(chunk);
      this.#push(BigInt(base + at));
      this.#op(0x52, 2, 0);
    }
  }

  #precompileCall(): void {
    const { fork } = this.#options;
    const { number, input } = precompileInput(this.#random, lastPrecompile(fork), this.#isFork("osaka"));
    this.#storeBytes(input);
    const opcode = this.#callOpcode();
    const outputAt = BigInt(this.#random.below(4) * 32);
    this.#push(BigInt(this.#random.pick([0, 32, 64, 96])));
    this.#push(outputAt);
    this.#push(
      this.#random.weighted([
        [9, () => BigInt(input.length)],
        [2, () => BigInt(this.#random.below(input.length + 40))],
        [1, () => BigInt(this.#random.below(5000))],
        [
          1,
          () =>
            this.#random.oneIn(10) ? this.#random.word() : BigInt(this.#random.pick([127, 128, 129, 191, 192, 193, 213, 384])),
        ],
      ])(),
    );
    this.#push(0n);
    const hasValue = opcode === CALL || opcode === CALLCODE;
    if (hasValue) this.#push(this.#random.oneIn(8) ? 1n : 0n);
    this.#push(BigInt(number));
    this.#gas();
    this.#op(opcode, hasValue ? 7 : 6, 1);
    if (!this.#random.oneIn(3)) return;
    this.#push(outputAt);
    this.#op(0x51, 1, 1);
    this.#push(this.#slot());
    this.#op(0x55, 2, 0);
  }

  #pointChain(): void {
    for (const step of pointChain(this.#random, this.#isFork("prague"))) {
      if (step.kind === "store") {
        this.#storeBytes(step.bytes, step.at);
        continue;
      }
      for (const value of [step.outputLength, step.outputAt, step.length, step.at, step.precompile]) this.#push(BigInt(value));
      this.#op(0x5a, 0, 1);
      this.#op(STATICCALL, 6, 1);
      this.#op(0x50, 1, 0);
    }
    // logs all results
    this.#push(BigInt(CHAIN_LENGTH));
    this.#push(BigInt(CHAIN_AT));
    this.#op(0xa0, 2, 0);
  }

  #create(): void {
    const { nesting } = this.#options;
    if (nesting <= 0) return;
    const code = generateInitCode({ ...this.#options, nesting: nesting - 1 });
    if (this.#bytes.length + code.length > 6000) return;
    if (this.#random.oneIn(12)) {
      // at the limit of EIP-3860
      this.#push(BigInt(49_151 + this.#random.below(3)));
      this.#push(BigInt(this.#random.below(2)));
    } else if (this.#random.oneIn(3)) {
      // whatever the memory happens to contain
      this.#push(this.#size());
      this.#push(this.#memory());
    } else {
      this.#storeBytes(code);
      this.#push(BigInt(code.length));
      this.#push(0n);
    }
    const isCreate2 = this.#isFork("constantinople") && this.#random.oneIn(2);
    if (isCreate2) {
      // reorders salt offset size (top first) to offset size salt
      this.#push(BigInt(this.#random.below(2)));
      this.#op(0x91);
      this.#op(0x90);
      this.#push(this.#value());
      this.#op(0xf5, 4, 1);
    } else {
      this.#push(this.#value());
      this.#op(0xf0, 3, 1);
    }
    // calls the created contract
    if (!this.#random.oneIn(3)) return;
    const size = BigInt(this.#random.below(64));
    this.#push(size);
    this.#push(0n);
    this.#push(size);
    this.#push(0n);
    this.#push(this.#value());
    this.#op(0x85, 0, 1); // DUP6: the address
    this.#op(0x5a, 0, 1);
    this.#op(CALL, 7, 1);
  }

  /** The position is patched in once it is known. */
  #pushLabel(): number {
    this.#op(0x61, 0, 1);
    this.#bytes.push(0, 0);
    return this.#bytes.length - 2;
  }

  #land(label: number): void {
    const at = this.#bytes.length;
    this.#bytes[label] = at >> 8;
    this.#bytes[label + 1] = at & 0xff;
    this.#op(0x5b);
  }

  #balanceTo(height: number): void {
    while (this.#height > height) this.#op(0x50, 1, 0);
    while (this.#height < height) this.#push(0n);
  }

  #skip(depth: number): void {
    if (depth === 0) return;
    this.#operand(BigInt(this.#random.below(2)));
    const label = this.#pushLabel();
    this.#op(0x57, 2, 0);
    const height = this.#height;
    this.#statements(this.#random.between(1, 4), depth - 1);
    this.#balanceTo(height);
    this.#land(label);
  }

  #loop(depth: number): void {
    if (depth === 0) return;
    this.#push(BigInt(this.#random.between(1, 12)));
    const start = this.#bytes.length;
    this.#op(0x5b);
    const height = this.#height;
    this.#statements(this.#random.between(1, 4), depth - 1);
    this.#balanceTo(height);
    this.#push(1n);
    this.#op(0x90);
    this.#op(0x03, 2, 1);
    this.#op(0x80, 0, 1);
    this.#op(0x61, 0, 1);
    this.#bytes.push(start >> 8, start & 0xff);
    this.#op(0x57, 2, 0);
    this.#op(0x50, 1, 0);
  }

  #conditionalEnd(): void {
    this.#operand(BigInt(this.#random.below(2)));
    const label = this.#pushLabel();
    this.#op(0x57, 2, 0);
    const height = this.#height;
    this.#end();
    this.#height = height;
    this.#land(label);
  }

  #end(): void {
    const opcode = this.#random.weighted([
      [5, 0x00],
      [8, 0xf3],
      [this.#isFork("byzantium") || this.#random.oneIn(20) ? 4 : 0, 0xfd],
      [3, 0xff],
      [1, 0xfe],
    ]);
    if (opcode === 0xf3 || opcode === 0xfd) {
      this.#push(this.#size());
      this.#push(this.#memory());
      this.#op(opcode, 2, 0);
    } else if (opcode === 0xff) {
      if (this.#random.oneIn(3)) this.#op(0x30, 0, 1);
      else this.#pushBytes(this.#target());
      this.#op(opcode, 1, 0);
    } else this.#op(opcode);
  }

  /** Things that a compiler would not write. */
  #odd(): void {
    const kind = this.#random.below(5);
    if (kind === 0) this.#bytes.push(...this.#random.bytes(this.#random.between(1, 4)));
    else if (kind === 1) {
      this.#push(BigInt(this.#random.below(this.#bytes.length + 10)));
      this.#op(0x56, 1, 0);
    } else if (kind === 2) this.#op(this.#random.below(256));
    else if (kind === 3) {
      for (let i = this.#random.between(1, 8); i > 0; i--) this.#op(0x5b);
    } else {
      // fills the stack in a loop until it overflows or the gas runs out
      const start = this.#bytes.length;
      this.#op(0x5b);
      this.#push(this.#random.word());
      this.#op(0x61, 0, 1);
      this.#bytes.push(start >> 8, start & 0xff);
      this.#op(0x56, 1, 0);
    }
  }
}

const bound = (random: Random): { below: (n: number) => number; oneIn: (n: number) => boolean } => ({
  below: (n) => random.below(n),
  oneIn: (n) => random.oneIn(n),
});

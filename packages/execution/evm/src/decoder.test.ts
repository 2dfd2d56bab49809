import { bytesToHex, EMPTY_BYTES } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState } from "./testing/memory-state.ts";

/**
 * Code is decoded in runs, when execution first reaches it (assembly/decoder.ts). With a tracer, every instruction is a separate
 * block. With and without one, execution must take the same path and use the same gas.
 */
const plain = createEvm(engineModule);
const stepping = createEvm(engineModule);
stepping.setTracer({});

const CODE_ADDRESS = addressHex(0x1000);
const GAS_LIMIT = 60_000n;

/** More than fits into one run, which therefore ends in the middle of it. */
const FILLERS = [0, 0, 0, 1, 3, 40, 400, 1500];

type Ending =
  | { readonly kind: "jump" | "jump-if" | "computed" | "computed-if"; readonly section: number }
  | { readonly kind: "fall" | "revert" | "stop" };

interface Section {
  /** pairs of ADDRESS and POP at the start */
  readonly filler: number;
  /** begins with JUMPDEST */
  readonly isDestination: boolean;
  readonly mark: number;
  readonly ending: Ending;
}

const section: fc.Arbitrary<Section> = fc.record({
  filler: fc.constantFrom(...FILLERS),
  isDestination: fc.integer({ min: 0, max: 7 }).map((n) => n > 0),
  mark: fc.integer({ min: 1, max: 255 }),
  ending: fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("jump", "computed"), section: fc.nat(9) }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom("jump-if", "computed-if"), section: fc.nat(9) }) },
    { weight: 5, arbitrary: fc.constant({ kind: "fall" } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("revert", "stop") }) },
  ) as fc.Arbitrary<Ending>,
});

/** Bytes of an ending; `destinations` are positions of sections. */
function endingBytes(ending: Ending, destinations: readonly number[]): number[] {
  if (!("section" in ending)) {
    if (ending.kind === "fall") return [];
    return ending.kind === "stop" ? [0x5f, 0x5f, 0x00] : [0x60, 0x20, 0x5f, 0xfd];
  }
  const position = destinations[ending.section % destinations.length] ?? 0;
  const push = [0x61, position >> 8, position & 0xff];
  // a condition that varies: bit 0 of the gas left, divided
  const condition = [0x5a, 0x60, 3, 0x1c, 0x60, 1, 0x16];
  switch (ending.kind) {
    case "jump":
      return [...push, 0x56];
    case "computed":
      return [...push, 0x5f, 0x01, 0x56];
    case "jump-if":
      return [...condition, ...push, 0x57];
    case "computed-if":
      return [...condition, ...push, 0x5f, 0x01, 0x57];
  }
}

/** Each section folds its mark into word 0 of the memory. */
function assemble(sections: readonly Section[]): Uint8Array {
  const write = (destinations: readonly number[]): { bytes: number[]; positions: number[] } => {
    const bytes: number[] = [];
    const positions: number[] = [];
    for (const { filler, isDestination, mark, ending } of sections) {
      positions.push(bytes.length);
      if (isDestination) bytes.push(0x5b);
      for (let i = 0; i < filler; i++) bytes.push(0x30, 0x50);
      // memory[0] = memory[0] × 3 + mark
      bytes.push(0x5f, 0x51, 0x60, 3, 0x02, 0x60, mark, 0x01, 0x5f, 0x52);
      bytes.push(...endingBytes(ending, destinations));
    }
    return { bytes: [...bytes, 0x60, 0x20, 0x5f, 0xf3], positions };
  };
  // destinations have the same width wherever they point
  return Uint8Array.from(write(write([]).positions).bytes);
}

function run(engine: typeof stepping, code: Uint8Array) {
  const state = new MemoryState({ [CODE_ADDRESS]: { code } });
  const block = engine.beginBlock(ethereumRules("cancun"), environment, state);
  const call = { from: address(addressHex(1)), to: address(CODE_ADDRESS), value: 0n, data: EMPTY_BYTES, gasPrice: 0n };
  // with less gas some sections are reached only by the second call, when others are decoded
  const [first, second] = [GAS_LIMIT / 3n, GAS_LIMIT].map((gasLimit) => {
    const { status, halt, gasUsed, output } = block.call({ ...call, gasLimit });
    return { status, halt, gasUsed, output: bytesToHex(output) };
  });
  return { first, second };
}

describe("code that is decoded when it is reached", () => {
  it("takes the way that single steps take", () => {
    const ends = new Set<string>();
    const property = fc.property(fc.array(section, { minLength: 1, maxLength: 10 }), (sections) => {
      const code = assemble(sections);
      const result = run(plain, code);
      expect(result).toEqual(run(stepping, code));
      ends.add(result.second?.halt ?? "success");
    });
    fc.assert(property, { numRuns: 200, seed: 4 });
    expect([...ends].sort()).toEqual(["invalid-jump", "out-of-gas", "revert", "success"]);
  });

  it("goes on behind a JUMPI when what follows was decoded before", () => {
    const code = Uint8Array.of(
      ...[0x60, 0x08, 0x56], // 0: to B
      ...[0x5b, 0x5f, 0x60, 0x00, 0x57], // 3: A; a JUMPI that is not taken
      ...[0x5b, 0x5f, 0x51, 0x80, 0x60, 0x01, 0x01, 0x5f, 0x52], // 8: B; memory[0]++
      ...[0x15, 0x60, 0x03, 0x57], // the first time: to A
      ...[0x60, 0x20, 0x5f, 0xf3],
    );
    const { second } = run(plain, code);
    expect(second).toMatchObject({ status: 1, output: `0x${"2".padStart(64, "0")}` });
    expect(second).toEqual(run(stepping, code).second);
  });

  it("is broken off behind a JUMPI and goes on", () => {
    for (let filler = 1300; filler < 1400; filler++) {
      const code = Uint8Array.from([
        ...Array.from({ length: filler }, () => [0x5f, 0x5f, 0x57]).flat(),
        ...Array.from({ length: 300 }, () => [0x30, 0x50]).flat(),
        ...[0x60, 0x2a, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3],
      ]);
      const { second } = run(plain, code);
      expect(second).toMatchObject({ status: 1, output: `0x${"2a".padStart(64, "0")}` });
    }
  });
});

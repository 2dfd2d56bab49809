import assert from "node:assert/strict";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { GoProgram, type InteropCase, runCases } from "@rnode/program/testing";
import { L1DataGenerator, type LogBytes } from "../l1-data/generate.ts";
import { type Reading, readAttributes, readBatch, readConfig, readDeposits, readFrames } from "../l1-data/read.ts";

const INPUTS = 8_000;
/** The program answers sequentially: this number of requests is in flight at once. */
const AT_ONCE = 200;
const CHAIN_IDS = [1n, 10n, 901n, 2n ** 63n, 2n ** 64n - 1n];

type Go = GoProgram<object, Readonly<Record<string, unknown>>, { readonly event: string }>;

interface Question {
  /** for op-node's derivation */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ours: () => Reading;
  /** the numbers and times of a reading that ours has as numbers */
  readonly numbersOf?: (reading: readonly unknown[]) => unknown;
}

const jsonOf = (logs: readonly LogBytes[]) =>
  logs.map(({ topics, data }) => ({ topics: topics.map(bytesToHex), data: bytesToHex(data) }));

const QUESTIONS: Readonly<Record<string, (generator: L1DataGenerator) => Question>> = {
  frames: (generator) => {
    const data = generator.frames();
    return { fields: { data: bytesToHex(data) }, ours: () => readFrames(data) };
  },
  batch: (generator) => {
    const data = generator.batch();
    const chain = { chainId: generator.pick(CHAIN_IDS), blockTimeSec: generator.pick([1, 2, 12]), genesisTimeSec: 1_686_068_903 };
    const { chainId, blockTimeSec, genesisTimeSec } = chain;
    return {
      fields: {
        data: bytesToHex(data),
        chainId: toQuantity(chainId),
        blockTime: toQuantity(blockTimeSec),
        genesisTime: toQuantity(genesisTimeSec),
      },
      ours: () => readBatch(data, chain),
      numbersOf: (reading) => reading,
    };
  },
  config: (generator) => {
    const logs = generator.configUpdates();
    const isEcotone = generator.pick([true, false]);
    return {
      fields: { logs: jsonOf(logs), isEcotone, gasLimit: "0x1c9c380" },
      ours: () => readConfig(logs, isEcotone, 30_000_000n),
    };
  },
  deposits: (generator) => {
    const logs = generator.deposits();
    return { fields: { logs: jsonOf(logs) }, ours: () => readDeposits(logs) };
  },
  attributes: (generator) => {
    const { data, layout } = generator.attributes();
    return {
      fields: { data: bytesToHex(data), layout },
      ours: () => readAttributes(data, layout),
      numbersOf: ([number, time, , , sequenceNumber]) => [number, time, sequenceNumber],
    };
  },
};

/** op-node's answer in the form of ours. */
function readingOf(answer: unknown): Reading {
  if (Array.isArray(answer)) return answer;
  const { refused, dropped } = answer as { readonly refused?: string; readonly dropped?: string };
  if (refused !== undefined) return null;
  assert.ok(dropped !== undefined, `an unexpected answer: ${JSON.stringify(answer)}`);
  return "dropped";
}

/**
 * rnode has numbers and times as numbers, which are exact to 2^53, and does not let them wrap at 2^64: no chain has such values,
 * and checks on both sides refuse such a block.
 */
const isBeyondNumbers = (numbers: unknown): boolean =>
  /"0x(?:[2-9a-f][0-9a-f]{13}|[0-9a-f]{15,16})"/.test(JSON.stringify(numbers ?? null));

interface Stage {
  readonly go: () => Promise<Go>;
}

function caseOf(command: string): InteropCase<Stage> {
  return {
    name: `op-node's derivation reads ${INPUTS} generated inputs as ours does: ${command}`,
    run: async ({ go }) => {
      const theirs = await go();
      const generator = new L1DataGenerator(1);
      const question = QUESTIONS[command]!;
      const kinds = { read: 0, dropped: 0, refused: 0, beyond: 0 };
      for (let done = 0; done < INPUTS; done += AT_ONCE) {
        const asked = Array.from({ length: AT_ONCE }, () => question(generator));
        const answers = await Promise.all(asked.map(({ fields }) => theirs.ask<unknown>(command, fields)));
        for (const [i, { fields, ours, numbersOf }] of asked.entries()) {
          const expected = readingOf(answers[i]);
          if (Array.isArray(expected) && isBeyondNumbers(numbersOf?.(expected))) {
            kinds.beyond++;
            continue;
          }
          kinds[expected === null ? "refused" : expected === "dropped" ? "dropped" : "read"]++;
          assert.deepEqual(ours(), expected, JSON.stringify({ command, ...fields }));
        }
      }
      const isCovered = kinds.read > INPUTS / 10 && kinds.beyond < INPUTS / 4;
      assert.ok(isCovered, `the inputs are too uniform: ${JSON.stringify(kinds)}`);
    },
  };
}

/** Compares op-node's derivation with rnode's. @returns numbers of passed and failed cases */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: (close: () => Promise<unknown>) => void): Stage => ({
    go: async () => {
      const program: Go = await GoProgram.start(binary, []);
      onClose(() => program.close());
      return program;
    },
  });
  return runCases(Object.keys(QUESTIONS).map(caseOf), stageOf, print);
}

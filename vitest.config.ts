import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take longest, so they begin first; otherwise one of them would run alone at the end. */
const LONG = [
  "scenarios/src/scenarios",
  "conductor/src/sim-cluster",
  "execution-client/src/commands/full-disk",
  "execution-client/src/commands/kill",
  "execution-client/src/readers/on-demand",
  "program/src/planted-secrets",
  "devnet/src/mistakes",
  "chain/src/built-workers",
  "execution-client/src/answers/subscriptions",
  "execution-client/src/options",
  "storage/src/pruning/pruning",
  "evm/src/out-of-gas",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.includes(`/packages/${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** They measure the process they run in: each has one of its own. */
const ALONE = [
  "packages/chain/src/memory.test.ts",
  "packages/evm/src/memory-bound.test.ts",
  "packages/bench/src/process-usage.test.ts",
  "packages/program/src/pprof/pprof.test.ts",
];

// Packages are tested from their sources: the "rnode-source" condition of each package's exports.
const sources = {
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
};
const common = { testTimeout: 30_000, hookTimeout: 60_000, pool: "forks" as const };

export default defineConfig({
  test: {
    // `npm test` leaves them out, `npm run test:long` runs nothing else (scripts/test.mjs).
    tags: [{ name: "long", description: "takes long by nature: many seeds, kills, full disks, long chains" }],
    // Many files wait for clocks and processes: one more than there are cores.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...sources,
        // Files share processes, one a core: loading the sources costs more than the tests of most files.
        test: { ...common, name: "shared", isolate: false, include: ["packages/*/src/**/*.test.ts"], exclude: ALONE },
      },
      { ...sources, test: { ...common, name: "alone", include: ALONE } },
    ],
  },
});

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** They measure the process they run in: each has one of its own. */
const ALONE = [
  "packages/chain/src/memory.test.ts",
  "packages/evm/src/memory-bound.test.ts",
  "packages/bench/src/process-usage.test.ts",
];

// Packages are tested from their sources: the "rnode-source" condition of each package's exports.
const sources = {
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
};
const common = { testTimeout: 30_000, hookTimeout: 60_000, pool: "forks" as const };

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
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

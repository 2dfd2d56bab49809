import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Packages without sockets, files and process state: their test files can share one process. */
const PURE = ["primitives", "protocol", "trie", "evm", "derivation", "txpool", "compression"];

// Packages are tested from their sources: the "rnode-source" condition of each package's exports.
const sources = {
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
};
const limits = { testTimeout: 30_000, hookTimeout: 60_000, pool: "forks" as const };

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    projects: [
      {
        ...sources,
        test: { ...limits, name: "pure", isolate: false, include: PURE.map((name) => `packages/${name}/src/**/*.test.ts`) },
      },
      {
        ...sources,
        test: {
          ...limits,
          name: "services",
          include: ["packages/*/src/**/*.test.ts"],
          exclude: PURE.map((name) => `packages/${name}/**`),
        },
      },
    ],
  },
});

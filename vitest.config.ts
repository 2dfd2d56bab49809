import { defineConfig } from "vitest/config";

// Packages are tested from their sources: the "rnode-source" condition of each package's exports.
export default defineConfig({
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

import { defineConfig } from "vitest/config";

// The end-to-end tests: each file runs a devnet of real programs, its steps in order. The programs run from their build. Three devnets run at
// a time, whatever the machine has: most of their time is waiting for the next block.
// biome-ignore lint/style/noDefaultExport: vitest reads the default export
export default defineConfig({
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
  test: {
    root: import.meta.dirname,
    setupFiles: ["../../vitest.setup.ts"],
    include: ["src/e2e/*.e2e.ts"],
    pool: "forks",
    tags: [{ name: "long" }],
    maxWorkers: 3,
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});

import { defineConfig } from "vitest/config";

// The end-to-end test: one devnet of real programs, its steps in order. The programs run from their build.
// biome-ignore lint/style/noDefaultExport: vitest reads the default export
export default defineConfig({
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
  test: {
    root: import.meta.dirname,
    include: ["src/e2e/*.e2e.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

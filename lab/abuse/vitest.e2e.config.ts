import { defineConfig } from "vitest/config";

// The short form of the attacks, on the built programs.
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
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});

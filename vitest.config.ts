import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take longest, so they begin first; otherwise one of them would run alone at the end. */
const LONG = [
  "lab/scenarios/src/set/set",
  "lab/scenarios/src/scenarios",
  "programs/rengine/src/commands/import-op-reth",
  "programs/rengine/src/commands/import-state-kill",
  "programs/rengine/src/commands/full-disk",
  "programs/rengine/src/commands/kill",
  "programs/rengine/src/readers/costly",
  "programs/rconductor/src/sim-cluster",
  "lab/scenarios/src/gas-refunds",
  "lab/scenarios/src/cluster/cluster",
  "packages/execution/evm/src/out-of-gas",
  "programs/rengine/src/commands/snapshot",
  "lab/scenarios/src/supernode",
  "programs/rengine/src/readers/on-demand",
  "packages/execution/storage/src/pruning/pruning",
  "programs/devnet/src/mistakes",
  "programs/rengine/src/setup/genesis-file",
  "programs/rengine/src/answers/subscriptions",
  "packages/rollup/derivation/src/restart",
  "lab/scenarios/src/failover/failover",
  "programs/rnode/src/set/killed-set",
  "packages/execution/chain/src/model-chain",
  "packages/network/sync/src/chain-sync",
  "programs/rengine/src/options",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.includes(`/${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** They measure the process they run in, or replace modules in it: each has one of its own. */
const ALONE = [
  "programs/rnode/src/unsafe/gossiped-block.test.ts",
  "packages/execution/chain/src/memory.test.ts",
  "packages/execution/evm/src/memory-bound.test.ts",
  "lab/bench/src/common/process-usage.test.ts",
  "packages/kit/program/src/pprof/pprof.test.ts",
];

// Packages are tested from their sources: the "rnode-source" condition of each package's exports.
const sources = {
  resolve: { conditions: ["rnode-source"] },
  ssr: { resolve: { conditions: ["rnode-source"] } },
};
// Limits are for a machine that is many times slower, or busy: they end what hangs, and are no measurements.
const common = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
  pool: "forks" as const,
  setupFiles: [new URL("vitest.setup.ts", import.meta.url).pathname],
};

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
        test: {
          ...common,
          name: "shared",
          isolate: false,
          include: ["{packages/*,programs,lab}/*/src/**/*.test.ts"],
          exclude: ALONE,
        },
      },
      { ...sources, test: { ...common, name: "alone", include: ALONE } },
    ],
  },
});

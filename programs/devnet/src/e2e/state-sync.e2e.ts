// @module-tag long
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { devnetPaths } from "../files.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const BLOCKS = 20;

describe("a follower with an empty rengine", () => {
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const datadir = mkdtempSync(join(tmpdir(), "rnode-state-sync-e2e-"));
  let devnet: Devnet;
  let view: ChainView;
  let isEmpty = false;

  beforeAll(async () => {
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      nodes: 3,
      supervise: false,
      parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 1 },
      changeArgs: (name, args) => {
        if (!isEmpty) return args;
        if (name === "followerEngine" && args[1] !== "init") return [...args, "--snapsync.min-blocks=0"];
        return name === "followerNode" ? [...args, "--syncmode=execution-layer"] : args;
      },
    });
    view = new ChainView(devnet);
  });
  afterAll(async () => {
    await scope.close();
  });

  it("takes the state of the sequencer's rengine, and its rnode derives from there", async () => {
    const { followerEngine, followerNode } = devnet.programs;
    await waitFor("some blocks", 120_000, async () => (await view.unsafeNumber("sequencer")) >= BLOCKS || undefined);
    await followerNode!.stop();
    await followerEngine!.stop();
    rmSync(devnetPaths(datadir).engine("follower"), { recursive: true });
    isEmpty = true;
    await followerEngine!.start();
    await followerNode!.start();
    const logOf = (program: typeof followerEngine): string => readFileSync(program!.spec.logPath, "utf8");
    await waitFor("the state", 60_000, () => logOf(followerEngine).includes("the state is complete") || undefined);
    await waitFor(
      "the end of the sync",
      60_000,
      () => logOf(followerNode).includes("execution-layer sync is finished") || undefined,
    );
    const head = await view.unsafeNumber("follower");
    expect(head).toBeGreaterThanOrEqual(BLOCKS);
    expect(await view.blockHash("follower", head)).toBe(await view.blockHash("sequencer", head));
    await waitFor(`a safe block after ${head}`, 90_000, async () => (await view.safeNumber("follower")) > head || undefined);
    const safe = await view.safeNumber("follower");
    expect(await view.blockHash("follower", safe)).toBe(await view.blockHash("sequencer", safe));
    await expect(view.engine("follower", "eth_getBalance", [`0x${"00".repeat(20)}`, "0x1"])).rejects.toThrow(); // before the state
  });
});

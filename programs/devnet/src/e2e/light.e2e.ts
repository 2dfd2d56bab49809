// @module-tag long
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import type { SyncStatus } from "../status.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

// Light mode with the real programs: the follower takes safe blocks from the verifier, then derives them, then takes them again.

describe("a devnet with a light follower", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-light-e2e-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;
  let view: ChainView;
  let isLight = true;

  beforeAll(async () => {
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      nodes: 3,
      dashboard: false,
      isLight: true,
      parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 1 },
      changeArgs: (name, args) =>
        name !== "followerNode"
          ? args
          : [
              ...args.filter((arg) => isLight || !arg.startsWith("--l2.follow.source")),
              `--safedb.path=${join(datadir, "safe-heads")}`,
            ],
    });
    view = new ChainView(devnet);
  }, 120_000);
  afterAll(() => scope.close());

  const log = (): string => readFileSync(devnet.programs.followerNode!.spec.logPath, "utf8");
  const restart = async (asLight: boolean): Promise<void> => {
    await devnet.programs.followerNode!.stop();
    isLight = asLight;
    await devnet.programs.followerNode!.start();
  };
  /** The follower's safe and finalized blocks pass what they were at `start`, with the sequencer's blocks. */
  const followsOn = async ({ safe_l2: safe, finalized_l2: finalized }: SyncStatus): Promise<number> => {
    await waitFor("newer safe and finalized blocks of the follower", 90_000, async () => {
      const now = await view.syncStatus("follower");
      return (now.safe_l2.number > safe.number + 3 && now.finalized_l2.number > finalized.number) || undefined;
    });
    const number = await view.safeNumber("follower");
    expect(await view.blockHash("follower", number)).toBe(await view.blockHash("sequencer", number));
    return number;
  };
  /** @param from where in the follower's log to begin */
  const logged = (text: string, from: number): Promise<unknown> =>
    waitFor(`the line "${text}"`, 60_000, () => log().includes(text, from) || undefined);
  const safeHeadNow = async (): Promise<unknown> =>
    view.node("follower", "optimism_safeHeadAtL1Block", [await view.l1("eth_blockNumber")]);

  it("has the verifier's safe and finalized blocks, and derives none", { timeout: 120_000 }, async () => {
    await followsOn(await view.syncStatus("follower"));
    expect(log()).toContain("light mode: safe blocks come from another node");
    await expect(safeHeadNow()).rejects.toThrow("this node does not derive (--l2.follow.source)");
  });

  it("derives after a restart, and follows again after the next, on the same data", { timeout: 240_000 }, async () => {
    const before = await view.syncStatus("follower");
    await restart(false);
    const derived = await followsOn(before);
    await waitFor("an entry of the safe-head database", 30_000, () =>
      safeHeadNow().then(
        () => true,
        () => undefined,
      ),
    );
    const atEnd = await view.syncStatus("follower");
    expect(atEnd.safe_l2.number).toBeGreaterThanOrEqual(derived);
    await restart(true);
    await followsOn(atEnd);
  });

  it("waits while its source is down, says so, and goes on", { timeout: 240_000 }, async () => {
    const before = log().length;
    await devnet.programs.verifierNode!.stop();
    await logged("the source is not followed at the moment", before);
    const atEnd = await view.syncStatus("follower");
    await devnet.programs.verifierNode!.start();
    await followsOn(atEnd);
    await logged("the source is followed again", before);
  });
});

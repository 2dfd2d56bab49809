import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { createRandom } from "@rnode/primitives/testing";
import { expect, it, onTestFinished } from "vitest";
import { hashOf } from "../testing/sim-set.ts";
import { SetDatabase } from "./set-database.ts";

const A = 1n;
const B = 2n;
const block = (chainId: bigint, number: number) => ({ number, hash: hashOf(chainId, number) });

it("knows its newest rows after commits, failed commits, and a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "set-"));
  const open = () => SetDatabase.open(folder, [A, B], silentLogger);
  let database = open();
  onTestFinished(() => database.close());
  const random = createRandom(3);
  const facts = () => ({
    verified: database.verified.last?.timestamp,
    tips: [A, B].map((chainId) => database.messageLog(chainId).last?.number),
    denied: [A, B].map((chainId) => database.denied.count(chainId)),
    newest: [A, B].map((chainId) => database.denied.newest(chainId, 3).map((one) => one.block.number)),
  });
  /** from the rows alone */
  const stored = () => {
    const denied = [A, B].map((chainId) => [...database.denied.list(chainId)].map((one) => one.block.number));
    return {
      verified: database.verified.upTo(1_000_000)?.timestamp,
      tips: [A, B].map((chainId) => Array.from({ length: 200 }, (_, i) => i).findLast((i) => database.messageLog(chainId).at(i))),
      denied: denied.map(({ length }) => length),
      newest: denied.map((numbers) => numbers.slice(-3).reverse()),
    };
  };
  const step = (): void => {
    const chainId = [A, B][random(2)]!;
    const { verified, denied } = database;
    const log = database.messageLog(chainId);
    const [timestamp, tip] = [verified.last?.timestamp ?? 0, log.last?.number ?? -1];
    const actions = [
      () => verified.append({ timestamp: timestamp + 1, l1: block(0n, 1), heads: new Map() }),
      () => verified.rewind(Math.max(0, timestamp - random(3))),
      () =>
        log.append({
          block: { ...block(chainId, tip + 1), parentHash: hashOf(chainId, tip), timestamp: tip + 1 },
          checksums: [],
          executing: [],
        }),
      () => log.rewind(Math.max(0, tip - random(3))),
      () => log.prune(random(tip + 2)),
      () => {
        const roots = { stateRoot: new Uint8Array(32), messagePasserStorageRoot: new Uint8Array(32) };
        denied.add({ chainId, block: block(chainId, random(20)), timestamp, l1: block(0n, 1), reason: "", ...roots });
      },
      () => void denied.rewind(timestamp - random(2)),
    ];
    actions[random(actions.length)]!();
  };
  for (let round = 0; round < 400; round++) {
    const fails = random(4) === 0;
    const commit = () =>
      database.atomically(
        () => {
          for (let steps = 0; steps <= random(3); steps++) step();
          if (fails) throw new Error("disk");
        },
        { isFlushed: false },
      );
    const before = facts();
    if (fails) {
      expect(commit).toThrow("disk");
      expect(facts()).toEqual(before);
    } else commit();
    expect(facts()).toEqual(stored());
    if (round % 100 === 99) {
      await database.close();
      database = open();
      expect(facts()).toEqual(stored());
    }
  }
  expect(Math.min(...facts().denied)).toBeGreaterThan(0);
});

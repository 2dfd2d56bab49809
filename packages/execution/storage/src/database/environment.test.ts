import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { Environment } from "./environment.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "rnode-environment-"));
});

// If the environment is closed while the flushing thread uses it, the library ends the process.
it("waits at closing for a flush that is on its way", async () => {
  const rowsRead: number[] = [];
  for (let round = 0; round < 40; round++) {
    const folder = join(root, String(round));
    const environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "interval", syncIntervalMs: 1 });
    const table = environment.openTable("rows")!;
    environment.atomically(() => {
      for (let i = 0; i < 1000; i++) table.write(Uint8Array.of(i >> 8, i), new Uint8Array(1900));
    });
    await sleep(1); // the flush starts
    rowsRead.push(table.read(Uint8Array.of(3, 231))?.length ?? 0);
    await environment.close();
  }
  expect(new Set(rowsRead)).toEqual(new Set([1900]));
});

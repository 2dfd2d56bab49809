import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createThreadedKzg } from "./create-kzg.ts";
import type { Kzg } from "./kzg.ts";

// The built thread, which is terminated during its work.

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const FAULTY = pathToFileURL(join(PACKAGE, "../../kit/threads/test-programs/faulty-worker.mjs"));
/** The polynomial 0: commitment and proof are the point at infinity, and the library takes a moment instead of 50 ms. */
const blob = new Uint8Array(131_072);
const INFINITY = Uint8Array.from({ length: 48 }, (_, i) => (i === 0 ? 0xc0 : 0));
const TIMEOUT_MS = 60_000;

let folder: string;
let faultFile: string;
const opened: Kzg[] = [];
const open = (): Kzg => {
  const kzg = createThreadedKzg({}, { program: FAULTY, execArgv: [] });
  opened.push(kzg);
  return kzg;
};

beforeAll(() => {
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
  folder = mkdtempSync(join(tmpdir(), "rnode-kzg-"));
  faultFile = join(folder, "fault");
  vi.stubEnv("RNODE_FAULT", faultFile);
  vi.stubEnv("RNODE_WORKER", pathToFileURL(join(PACKAGE, "lib/kzg-worker.js")).href);
}, TIMEOUT_MS);
afterAll(async () => {
  for (const kzg of opened) await kzg.close();
  vi.unstubAllEnvs();
});

describe("the thread that computes commitments", () => {
  it("answers as the library does, and is asked again where it was lost", { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const kzg = open();
    expect(await kzg.verifyBlobProof(blob, INFINITY, INFINITY)).toBe(true);
    writeFileSync(faultFile, "exit"); // with the next question
    expect(await kzg.commitment(blob)).toEqual(INFINITY);
    expect(await kzg.verifyBlobProof(blob, INFINITY, INFINITY.subarray(1))).toBe(false);
    expect(await kzg.commitment(new Uint8Array(131_072).fill(0xff))).toBeUndefined();
  });
});

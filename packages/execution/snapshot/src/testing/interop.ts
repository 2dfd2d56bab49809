import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type InteropCase, runCases, until } from "@rnode/program/testing";
import { downloadSnapshot } from "../download/download-snapshot.ts";
import { publishSnapshot } from "../publish/publish-snapshot.ts";
import { PublishedSnapshots } from "../publish/published-snapshots.ts";
import { publicKeyOf } from "../publish/snapshot-index.ts";
import { openSnapshotStore } from "../publish/store-place.ts";
import { loadSnapshot } from "../read/load-snapshot.ts";
import { CONFIG, openSnapshotChain, produceChanges } from "./snapshot-chain.ts";

interface Stage {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly onClose: (close: () => Promise<unknown>) => void;
}

const BUCKET = "the-bucket";
const PLACE = `s3://${BUCKET}/op sepolia/snapshots`;
/** three parts */
const LARGE_BYTES = 40 << 20;

/** A store with the S3 protocol that checks signatures, and what publishes to it. @returns how many cases passed and failed */
export async function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-s3-"));
  for (const name of [BUCKET, ".sidecar"]) mkdirSync(join(folder, name === BUCKET ? `data/${name}` : name), { recursive: true });
  const port = await freePort();
  const env = {
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "a-secret-key",
    AWS_REGION: "eu-west-1",
    AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
  };
  const own = ["--port", `127.0.0.1:${port}`, "--access", env.AWS_ACCESS_KEY_ID, "--secret", env.AWS_SECRET_ACCESS_KEY];
  const backend = ["--region", env.AWS_REGION, "posix", "--sidecar", join(folder, ".sidecar"), join(folder, "data")];
  const server = spawn(binary, [...own, ...backend], { stdio: "ignore" });
  const ended = once(server, "exit");
  try {
    await until("the store", async () => (await fetch(env.AWS_ENDPOINT_URL)).status > 0);
    return await runCases(CASES, (onClose): Stage => ({ env, folder, onClose }), print);
  } finally {
    server.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "snapshots are published, retained, and read by signed addresses",
    async run({ env, folder, onClose }) {
      const dev = openSnapshotChain();
      onClose(() => dev.remove());
      for (let number = 1; number <= 4; number++) produceChanges(dev);
      const key = generateKeyPairSync("ed25519").privateKey;
      const store = await openSnapshotStore(PLACE, env);
      const genesisHash = dev.chain.genesis.hash;
      for (const blockNumber of [1, 2, 3, 4]) {
        const request = { config: CONFIG, genesisHash, blockNumber, blocks: 256 };
        const published = await publishSnapshot(dev.store, store, { request, key, keep: 1, nowUnixMs: 0 });
        assert.equal(published.kind, "made");
      }
      const trusted = { chainId: CONFIG.chainId, genesisHash, publicKey: publicKeyOf(key) };
      const published = await PublishedSnapshots.read(PLACE, trusted, { env });
      const [newest, ...others] = published.snapshots;
      // the index, its snapshot, and the one that has just left it
      assert.deepEqual([newest!.number, others, (await store.list()).length], [4, [], 3]);
      const file = join(folder, "downloaded");
      await downloadSnapshot(await published.urlOf(newest!), file, { expected: { config: CONFIG, genesisHash } });
      (await loadSnapshot(file, { config: CONFIG, genesisHash })).close();
    },
  },
  {
    name: "a large file is stored in parts, and leaves nothing when it is given up",
    async run({ env }) {
      const store = await openSnapshotStore(`s3://${BUCKET}/parts`, env);
      const bytes = Buffer.alloc(LARGE_BYTES, "part");
      const upload = await store.create("large");
      for (let from = 0; from < bytes.length; from += 3 << 20) await upload.write(bytes.subarray(from, from + (3 << 20)));
      await upload.finish();
      assert.ok(bytes.equals((await store.read("large"))!));
      const given = await store.create("given-up");
      await given.write(bytes);
      await given.abort();
      assert.deepEqual(await store.list(), ["large"]);
      await store.remove("large");
      assert.deepEqual([await store.list(), await store.read("large")], [[], undefined]);
    },
  },
  {
    name: "another key than the store's is refused",
    async run({ env }) {
      const store = await openSnapshotStore(PLACE, { ...env, AWS_SECRET_ACCESS_KEY: "another" });
      await assert.rejects(store.read("index.json"), /does not take a request: .*SignatureDoesNotMatch/);
    },
  },
];

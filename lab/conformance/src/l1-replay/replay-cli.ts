import { once } from "node:events";
import { createKzg } from "@rnode/kzg";
import { checkBlobs, checkBlock } from "./check-l1.ts";
import { folderCommand, naturalNumber, type Print } from "./cli-values.ts";
import type { L1Store } from "./l1-store.ts";
import { openRecording } from "./recording.ts";
import { serveL1 } from "./serve-l1.ts";

const HELP = `npm run replay-l1 -- DIR [options]
Serves recorded L1 blocks, receipts and blobs until it is stopped: JSON-RPC (--l1) and the beacon API (--l1.beacon) on one port.
  --port=N             default 8551; 0: any free one
  --head=N             the newest block at the start (default: the last one)
  --block-time=S       one more block every S seconds
  --finality=N         \`safe\` and \`finalized\` are N blocks behind (default 0)
  --latency=MS         each answer comes after so long
  --check              check every block and blob against its hashes, and do not serve
  --trust              with --check: not the transactions roots
npm run record-l1 writes such a folder.`;

const OPTIONS = {
  port: { type: "string", default: "8551" },
  head: { type: "string" },
  "block-time": { type: "string" },
  finality: { type: "string", default: "0" },
  latency: { type: "string", default: "0" },
  check: { type: "boolean", default: false },
  trust: { type: "boolean", default: false },
} as const;

/** @param stop ends the serving. @returns the exit code */
export function replayL1(args: readonly string[], print: Print, stop: AbortSignal): Promise<number> {
  return folderCommand({ name: "replay-l1", help: HELP, options: OPTIONS }, args, print, async (folder, values) => {
    const store = openRecording(folder);
    const what = `${store.entries.length} blocks of L1 chain ${store.chain.chainId}, ${store.first.number} to ${store.last.number}`;
    if (values.check) {
      print.out(`${what}: ${await checkAll(store, values.trust, print)} blobs, all as their hashes say`);
      return;
    }
    const server = await serveL1(store, {
      port: naturalNumber("--port", values.port),
      head: naturalNumber("--head", values.head),
      blockTimeSec: naturalNumber("--block-time", values["block-time"]),
      finalityBlocks: naturalNumber("--finality", values.finality),
      latencyMs: naturalNumber("--latency", values.latency),
    });
    print.out(`${what}, at ${server.url}`);
    if (!stop.aborted) await once(stop, "abort");
    await server.close();
  });
}

async function checkAll(store: L1Store, trust: boolean, print: Print): Promise<number> {
  const kzg = createKzg();
  try {
    let blobs = 0;
    for (const [index, entry] of store.entries.entries()) {
      await checkBlock(store, entry, trust);
      blobs += await checkBlobs(store, entry, kzg);
      print.progress(`checked ${index + 1} of ${store.entries.length}`);
    }
    return blobs;
  } finally {
    await kzg.close();
  }
}

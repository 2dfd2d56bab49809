import { setTimeout as sleep } from "node:timers/promises";
import { createRpcClient } from "@rnode/jsonrpc";
import { createKzg } from "@rnode/kzg";
import { BeaconClient, createBeaconMetrics } from "@rnode/l1";
import { noMetrics } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { folderCommand, naturalNumber, type Print } from "./cli-values.ts";
import type { JsonObject, RecordedBeacon } from "./l1-store.ts";
import { type RecordL1Deps, recordL1 } from "./record-l1.ts";

const HELP = `npm run record-l1 -- DIR --l1=URL --from=N --to=N [options]
Writes L1 blocks, their receipts and blobs into a folder, each checked against its hashes. What is there already stays.
  --l1=URL             JSON-RPC endpoint
  --from=N --to=N      first and last block
  --also=N,N           further blocks, such as the L1 origin of the L2 genesis
  --beacon=URL,URL     beacon node, and archivers that have older blobs; without it, no blobs are recorded
  --inbox=ADDRESS      only the blobs of transactions to this address: the batch inbox
  --slot-sec=S         for beacon nodes that do not say how long a slot is
  --trust              do not compute transactions roots`;

const OPTIONS = {
  l1: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  also: { type: "string" },
  beacon: { type: "string" },
  inbox: { type: "string" },
  "slot-sec": { type: "string" },
  trust: { type: "boolean", default: false },
} as const;

const MAX_BLOCKS = 100_000;
const CLOCK = { unixMs: () => Date.now(), monotonicMs: () => Date.now(), sleep: (ms: number) => sleep(ms) };
/** The used keys of the beacon chain's configuration; the whole is long. */
const SPEC_KEYS = [
  "SECONDS_PER_SLOT",
  "SLOT_DURATION_MS",
  "SLOTS_PER_EPOCH",
  "FULU_FORK_EPOCH",
  "DEPOSIT_CHAIN_ID",
  "MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS",
];

/** @returns the exit code */
export function recordL1Command(args: readonly string[], print: Print): Promise<number> {
  return folderCommand({ name: "record-l1", help: HELP, options: OPTIONS }, args, print, async (folder, values) => {
    if (values.l1 === undefined) throw new Error("give an L1 endpoint with --l1");
    if (values.inbox !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(values.inbox)) {
      throw new Error(`--inbox is "${values.inbox}", expected an address`);
    }
    const blocks = blockNumbers(values.from, values.to, values.also);
    const slotSec = naturalNumber("--slot-sec", values["slot-sec"]);
    const closing: (() => Promise<void>)[] = [];
    try {
      const rpc = createRpcClient({ url: values.l1, timeoutMs: 60_000 });
      closing.push(() => rpc.close());
      const beacon = values.beacon === undefined ? undefined : await connectBeacon(values.beacon.split(","), slotSec, print);
      if (beacon !== undefined) closing.push(() => beacon.close());
      const recorded = await recordL1(
        { folder, blocks, inbox: values.inbox as Hex | undefined, trust: values.trust },
        { rpc, beacon, onBlock: (number, done) => print.progress(`block ${number}, ${done} of ${blocks.length}`) },
      );
      print.out(`${recorded.blocks} blocks and ${recorded.blobs} blobs are in ${folder}`);
    } finally {
      for (const close of closing) await close();
    }
  });
}

function blockNumbers(from: string | undefined, to: string | undefined, also: string | undefined): number[] {
  if (from === undefined || to === undefined) throw new Error("give the blocks with --from and --to");
  const [first, last] = [naturalNumber("--from", from), naturalNumber("--to", to)];
  if (last < first) throw new Error(`--from=${first} is after --to=${last}`);
  if (last - first >= MAX_BLOCKS) throw new Error(`--from to --to are ${last - first + 1} blocks, at most ${MAX_BLOCKS}`);
  const further = (also ?? "").split(",").filter((each) => each !== "");
  return [
    ...further.map((each) => naturalNumber("--also", each)),
    ...Array.from({ length: last - first + 1 }, (_, index) => first + index),
  ];
}

/** @throws {Error} with the endpoint, if it does not identify its chain */
async function connectBeacon(
  urls: readonly string[],
  slotSec: number | undefined,
  print: Print,
): Promise<NonNullable<RecordL1Deps["beacon"]> & { close(): Promise<void> }> {
  const [main, ...archivers] = urls;
  const genesis = await dataOf(`${main}/eth/v1/beacon/genesis`);
  const spec: JsonObject =
    slotSec === undefined ? await dataOf(`${main}/eth/v1/config/spec`) : { SECONDS_PER_SLOT: String(slotSec) };
  const chain: RecordedBeacon = {
    genesis: { genesis_time: genesis.genesis_time },
    spec: Object.fromEntries(SPEC_KEYS.flatMap((key) => (spec[key] === undefined ? [] : [[key, spec[key]]]))),
  };
  const kzg = createKzg();
  const client = new BeaconClient(
    { urls: [main!, ...archivers], fetchesAll: false, slotSec },
    {
      kzg,
      clock: CLOCK,
      log: { warn: (text, fields) => print.err(`${text} ${JSON.stringify(fields)}`), debug: () => {} },
      metrics: createBeaconMetrics(noMetrics),
    },
  );
  const close = async (): Promise<void> => {
    await client.close();
    await kzg.close();
  };
  return { chain, client, close };
}

async function dataOf(url: string): Promise<JsonObject> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answers ${response.status} ${(await response.text()).slice(0, 200)}`);
  const { data } = (await response.json()) as { data?: unknown };
  if (typeof data !== "object" || data === null) throw new Error(`${url} answers without data`);
  return data as JsonObject;
}

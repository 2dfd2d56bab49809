import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { kzgContext } from "@rnode/kzg";
import { hexToBytes } from "@rnode/primitives";
import {
  batchInputFromPayload,
  blockToPayload,
  decodeBlock,
  encodeBatcherData,
  encodeBlob,
  rollupConfigFromJson,
  type SpanBatchInput,
} from "@rnode/protocol";
import { spanBatch } from "@rnode/protocol/testing";
import { type Account, createWalletClient, type Hex, http, numberToHex } from "viem";
import type { DevnetInfo } from "../files.ts";
import { rpcCall } from "../rpc.ts";
import { l1ViemChain } from "../viem-chains.ts";

/** A range of the sequencer's L2 blocks as one span batch, in a channel of two frames, each in a separate blob. */
export async function blobsOfBlocks(info: DevnetInfo, from: number, to: number): Promise<Uint8Array[]> {
  const config = rollupConfigFromJson(JSON.parse(readFileSync(info.paths.rollupConfig, "utf8")));
  const blocks: SpanBatchInput[] = [];
  for (let number = from; number <= to; number++) {
    const url = info.endpoints.sequencer.http;
    const id = numberToHex(number);
    const [raw, { hash }] = await Promise.all([
      rpcCall<Hex>(url, "debug_getRawBlock", [id]),
      rpcCall<{ hash: Hex }>(url, "eth_getBlockByNumber", [id, false]),
    ]);
    const { executionPayload } = blockToPayload(decodeBlock(hexToBytes(raw)), hexToBytes(hash), true);
    blocks.push(batchInputFromPayload(config, executionPayload));
  }
  const content = deflateSync(spanBatch(config, blocks));
  const channelId = new Uint8Array(16).fill(0xb1);
  const half = Math.ceil(content.length / 2);
  return [content.subarray(0, half), content.subarray(half)].map((data, number) =>
    encodeBlob(encodeBatcherData([{ channelId, number, data, isLast: number === 1 }])),
  );
}

/** anvil loads its trusted setup when it sees the first blob. */
const SEND_TIMEOUT_MS = 30_000;

/** Takes two seconds, once a process: may be called while others are at work. */
export const loadTrustedSetup = (): void => void kzgContext();

/** Sends a transaction with blobs to the batch inbox, and returns before it is mined. */
export function sendBlobs(info: DevnetInfo, account: Account, blobs: readonly Uint8Array[]): Promise<Hex> {
  const wallet = createWalletClient({
    account,
    chain: l1ViemChain(info),
    transport: http(undefined, { timeout: SEND_TIMEOUT_MS }),
  });
  return wallet.sendTransaction({
    type: "eip4844",
    to: info.parameters.batchInbox,
    blobs,
    kzg: kzgContext(),
    gas: 100_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 9n,
  });
}

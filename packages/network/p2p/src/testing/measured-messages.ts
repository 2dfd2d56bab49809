import { randomBytes } from "node:crypto";
import { compressSnappyBlock } from "@rnode/peering";
import { systemClock } from "@rnode/program";
import type { ExecutionPayloadEnvelope, HashedPayload, RollupConfig } from "@rnode/protocol";
import type { Signer } from "@rnode/signer";
import { BlockSigners } from "../gossip/block-signers.ts";
import { BlockValidator, openGossipMessage } from "../gossip/block-validator.ts";
import { decodeReceivedBlock, encodeReceivedBlock } from "../thread/encoded-block.ts";
import { encodeGossipMessage } from "../wire/gossip-message.ts";
import { nowSec } from "./running-clock.ts";
import { signatureOf, testBlock } from "./test-blocks.ts";

/** Of a block that is only measured: as in the Go program. */
const TRANSACTION_BYTES = 200;
const VERSION = 4;

export interface SignedBlock {
  readonly envelope: ExecutionPayloadEnvelope;
  readonly signature: Uint8Array;
}

/** A signed block with this number of incompressible transaction bytes. */
export async function measuredBlock(rollup: RollupConfig, number: number, sizeBytes: number, signer: Signer): Promise<SignedBlock> {
  const transactions: Uint8Array[] = [];
  for (let made = 0; made < sizeBytes; made += TRANSACTION_BYTES) {
    transactions.push(new Uint8Array(randomBytes(Math.min(TRANSACTION_BYTES, sizeBytes - made))));
  }
  const envelope = testBlock(rollup, { number, timestampSec: nowSec(), transactions });
  return { envelope, signature: await signatureOf(rollup, envelope, signer) };
}

/** A signed block as it comes from the wire. */
export const wireMessage = ({ envelope, signature }: SignedBlock): Uint8Array =>
  compressSnappyBlock(encodeGossipMessage(envelope, VERSION, signature));

/** Takes a message from the wire to the thread of the node: it is decompressed, validated, encoded and decoded. @throws it is not accepted */
export function receive(rollup: RollupConfig, message: Uint8Array, signer: Uint8Array): HashedPayload {
  const signers = new BlockSigners(systemClock);
  signers.rotate(signer);
  const validator = new BlockValidator({ config: rollup, version: VERSION, timestampThresholdMs: 3_600_000 });
  const opened = openGossipMessage(message);
  const context = { nowMs: undefined, signers, isClockTrusted: true };
  const verdict = opened instanceof Uint8Array ? validator.validate(opened, context) : opened;
  if (verdict.kind !== "accept") throw new Error(`the block is not accepted: ${verdict.fault} ${verdict.detail}`);
  return decodeReceivedBlock(encodeReceivedBlock(verdict.envelope));
}

/** Applies all rules to messages as they come from the wire, without a network. @returns nanoseconds for all @throws one is not accepted */
export function validationNs(rollup: RollupConfig, blocks: readonly SignedBlock[], signer: Uint8Array): number {
  const messages = blocks.map(wireMessage);
  const validator = new BlockValidator({ config: rollup, version: VERSION, timestampThresholdMs: 3_600_000 });
  const signers = new BlockSigners(systemClock);
  signers.rotate(signer);
  const began = process.hrtime.bigint();
  for (const message of messages) {
    const opened = openGossipMessage(message);
    const context = { nowMs: systemClock.unixMs(), signers, isClockTrusted: true };
    const verdict = opened instanceof Uint8Array ? validator.validate(opened, context) : opened;
    if (verdict.kind !== "accept") throw new Error(`a measured block is not accepted: ${verdict.fault} ${verdict.detail}`);
  }
  return Number(process.hrtime.bigint() - began);
}

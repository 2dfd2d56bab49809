import { decompressSnappyBlock, snappyBlockLength } from "@rnode/peering";
import { bytesToHex, isCodedError, recoverAddress } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, HashedPayload, type RollupConfig, rollupRulesAt } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { decodeEnvelope } from "../wire/envelope.ts";
import {
  decodeSignature,
  type GossipMessage,
  gossipSigningHash,
  MAX_MESSAGE_BYTES,
  MIN_MESSAGE_BYTES,
  splitGossipMessage,
} from "../wire/gossip-message.ts";
import type { PayloadVersion } from "../wire/payload-ssz.ts";
import type { BlockSigners } from "./block-signers.ts";
import { SeenBlocks } from "./seen-blocks.ts";

/** Why a message is not accepted, in the order of the rules. */
export type BlockFault =
  | "bad-length"
  | "bad-snappy"
  | "bad-signature"
  | "unknown-signer"
  | "wrong-signer"
  | "bad-ssz"
  | "too-old"
  | "from-the-future"
  | "wrong-hash"
  | "wrong-withdrawals"
  | "unexpected-blob-gas"
  | "wrong-blob-gas"
  | "no-beacon-root"
  | "wrong-withdrawals-root"
  | "too-many-of-height"
  | "seen"
  /** the check itself failed */
  | "exception";

export type BlockVerdict =
  | { readonly kind: "accept"; readonly envelope: HashedPayload }
  /** ignored: not forwarded, without a penalty; rejected: the sending peer gets a penalty */
  | { readonly kind: "ignore" | "reject"; readonly fault: BlockFault; readonly detail: string };

export interface BlockValidatorOptions {
  readonly config: Pick<RollupConfig, "l2ChainId" | "forkTimes">;
  /** of the topic */
  readonly version: PayloadVersion;
  /** age from which on blocks are not accepted */
  readonly timestampThresholdMs: number;
}

/** The input of a verdict besides the message and the accepted blocks. */
export interface ValidationContext {
  /** `undefined`: the block's age does not matter */
  readonly nowMs: number | undefined;
  readonly signers: Pick<BlockSigners, "current" | "check" | "confirm">;
  /** The local clock is known to be right, and the process was not suspended. */
  readonly isClockTrusted: boolean;
}

const MAX_FUTURE_SEC = 5;
/**
 * Tolerance beyond the limits of a block's time before its sender is penalised. Honest peers have other clocks, are suspended,
 * and have buffered messages, but no connection survives an hour of silence.
 */
const TIME_MARGIN_SEC = 3_600;

const reject = (fault: BlockFault, detail = ""): BlockVerdict => ({ kind: "reject", fault, detail });
const ignore = (fault: BlockFault, detail = ""): BlockVerdict => ({ kind: "ignore", fault, detail });

/**
 * Rules 1 and 2 of a message: its decompressed bytes, or why it is rejected. The length is checked before anything is allocated.
 * Spec: docs/protocol/03-p2p.md#validation-order-and-verdict
 */
export function openGossipMessage(compressed: Uint8Array): Uint8Array | Extract<BlockVerdict, { kind: "reject" | "ignore" }> {
  try {
    const length = snappyBlockLength(compressed);
    if (length < MIN_MESSAGE_BYTES || length > MAX_MESSAGE_BYTES) return faulty("bad-length", `${length} bytes`);
    return decompressSnappyBlock(compressed, MAX_MESSAGE_BYTES);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return faulty(error.code === "snappy/bad-length" ? "bad-length" : "bad-snappy", error.message);
  }
}

const faulty = (fault: BlockFault, detail: string) => ({ kind: "reject", fault, detail }) as const;

/**
 * Validates the messages of one topic by rules 3 to 17, in that order, and stores the accepted blocks. Spec:
 * docs/protocol/03-p2p.md#validation-order-and-verdict
 */
export class BlockValidator {
  private readonly options: BlockValidatorOptions;
  private readonly seen = new SeenBlocks();

  constructor(options: BlockValidatorOptions) {
    this.options = options;
  }

  /** @param message decompressed; an accepted envelope consists of views into it */
  validate(message: Uint8Array, context: ValidationContext): BlockVerdict {
    const { version, timestampThresholdMs } = this.options;
    let parts: GossipMessage;
    try {
      parts = splitGossipMessage(message);
    } catch (error) {
      return reject("bad-length", messageOf(error));
    }
    const unsigned = this.checkSignature(parts, context);
    if (unsigned !== undefined) return unsigned;

    let envelope: ExecutionPayloadEnvelope;
    try {
      envelope = decodeEnvelope(parts.body, version);
    } catch (error) {
      return reject("bad-ssz", messageOf(error));
    }
    const { blockHash, blockNumber, timestamp } = envelope.executionPayload;
    const untimely = timeFault(timestamp, timestampThresholdMs / 1000, context);
    if (untimely !== undefined) return untimely;

    // as the topic's version has it, whatever the block's time is: a block on a topic of another fork does not have its hash
    const hashed = HashedPayload.hash(envelope, version >= 4, orderedTrieRoot);
    if (!(hashed instanceof HashedPayload)) {
      return reject("wrong-hash", `states ${bytesToHex(blockHash)}, has ${bytesToHex(hashed)}`);
    }
    const fault = contentFault(envelope, version, this.options.config);
    if (fault !== undefined) return reject(fault);

    switch (this.seen.check(blockNumber, blockHash)) {
      case "full":
        // the signer made too many; the peer may have accepted other six
        return ignore("too-many-of-height", `block ${blockNumber}`);
      case "seen":
        return ignore("seen", `block ${blockNumber}`);
      case "new":
        this.seen.add(blockNumber, blockHash);
        return { kind: "accept", envelope: hashed };
    }
  }

  private checkSignature({ signature, body }: GossipMessage, { signers }: ValidationContext): BlockVerdict | undefined {
    let signer: Uint8Array;
    try {
      const { r, s, yParity } = decodeSignature(signature);
      signer = recoverAddress(gossipSigningHash(body, this.options.config.l2ChainId), r, s, yParity);
    } catch (error) {
      return reject("bad-signature", messageOf(error));
    }
    switch (signers.check(signer)) {
      case "current":
        signers.confirm();
        return undefined;
      case "former":
        return undefined;
      case "none":
        return ignore("unknown-signer");
      case "other":
        return reject("wrong-signer", `${bytesToHex(signer)}, expected ${bytesToHex(signers.current)}`);
    }
  }
}

/** Rules 7 and 8. Lateness is no proof of guilt: only a trusted clock blames, and only far beyond the limits. */
function timeFault(timestamp: number, maxAgeSec: number, { nowMs, isClockTrusted }: ValidationContext): BlockVerdict | undefined {
  if (nowMs === undefined) return undefined;
  const nowSec = Math.floor(nowMs / 1000);
  const lateSec = nowSec - maxAgeSec - timestamp;
  const earlySec = timestamp - nowSec - MAX_FUTURE_SEC;
  if (lateSec <= 0 && earlySec <= 0) return undefined;
  const isProof = isClockTrusted && Math.max(lateSec, earlySec) > TIME_MARGIN_SEC;
  return (isProof ? reject : ignore)(lateSec > 0 ? "too-old" : "from-the-future", `time ${timestamp}, now ${nowSec}`);
}

/**
 * Rules 10 to 14: the allowed content of a block of this version. Some rules follow from the encoding and are checked
 * nevertheless. Spec: docs/protocol/03-p2p.md#validation-order-and-verdict
 */
export function contentFault(
  { executionPayload: payload, parentBeaconBlockRoot }: ExecutionPayloadEnvelope,
  version: PayloadVersion,
  { forkTimes }: Pick<RollupConfig, "forkTimes">,
): BlockFault | undefined {
  const { withdrawals, blobGasUsed, excessBlobGas, withdrawalsRoot } = payload;
  if (version === 1 ? withdrawals !== undefined : withdrawals?.length !== 0) return "wrong-withdrawals";
  if (version <= 2) {
    if (blobGasUsed !== undefined || excessBlobGas !== undefined) return "unexpected-blob-gas";
  } else {
    const { hasDaFootprint } = rollupRulesAt(forkTimes, payload.timestamp);
    if (excessBlobGas !== 0n || (blobGasUsed !== 0n && !(hasDaFootprint && blobGasUsed !== undefined))) return "wrong-blob-gas";
    if (parentBeaconBlockRoot === undefined) return "no-beacon-root";
  }
  if ((withdrawalsRoot !== undefined) !== (version === 4)) return "wrong-withdrawals-root";
  return undefined;
}

/** @throws errors that are not the message's fault */
function messageOf(error: unknown): string {
  if (!isCodedError(error)) throw error;
  return error.message;
}

import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { BLOCK_DOMAIN, type Signer } from "@rnode/signer";
import { encodeEnvelope } from "./envelope.ts";
import { bodyHash, encodeSignature } from "./gossip-message.ts";
import { payloadVersionAt } from "./payload-ssz.ts";

/**
 * Signs a block for gossip.
 *
 * @returns 65 bytes. Spec: docs/protocol/03-p2p.md#message-body
 * @throws {SignerError}
 */
export async function signBlock(
  { forkTimes, l2ChainId }: Pick<RollupConfig, "forkTimes" | "l2ChainId">,
  envelope: ExecutionPayloadEnvelope,
  signer: Signer,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const version = payloadVersionAt(forkTimes, envelope.executionPayload.timestamp);
  const payloadHash = bodyHash(encodeEnvelope(envelope, version));
  return encodeSignature(await signer.signBlock({ domain: BLOCK_DOMAIN, chainId: l2ChainId, payloadHash }, signal));
}

import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import type { BlobTransaction, FeeMarketTransaction } from "@rnode/protocol";
import type { BlockSigningRequest } from "../block-signing.ts";

/** The one parameter of `opsigner_signBlockPayloadV2`. Spec: docs/protocol/05-services.md#remote-signer */
export const blockArgsV2 = ({ domain, chainId, payloadHash }: BlockSigningRequest, sender: Uint8Array) => ({
  domain: bytesToHex(domain),
  chainId: String(chainId),
  payloadHash: bytesToHex(payloadHash),
  senderAddress: bytesToHex(sender),
});

/** The one parameter of `opsigner_signBlockPayload`: as Go encodes arrays and slices of bytes. */
export const blockArgsV1 = ({ domain, chainId, payloadHash }: BlockSigningRequest, sender: Uint8Array) => ({
  domain: [...domain],
  chainId: Number(chainId),
  payloadHash: Buffer.from(payloadHash).toString("base64"),
  senderAddress: bytesToHex(sender),
});

/** The one parameter of `eth_signTransaction`, as op-service sends it: the two nulls too. */
export function transactionArgs(tx: FeeMarketTransaction | BlobTransaction, from: Uint8Array): Record<string, unknown> {
  const list = tx.accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map((key): Hex => bytesToHex(key)),
  }));
  return {
    from: bytesToHex(from),
    to: tx.to === undefined ? null : bytesToHex(tx.to),
    gas: toQuantity(tx.gasLimit),
    gasPrice: null,
    maxFeePerGas: toQuantity(tx.maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(tx.maxPriorityFeePerGas),
    value: toQuantity(tx.value),
    nonce: toQuantity(tx.nonce),
    data: null,
    input: bytesToHex(tx.data),
    accessList: list,
    chainId: toQuantity(tx.chainId),
    ...(tx.type === 0x03 && {
      blobVersionedHashes: tx.blobVersionedHashes.map((hash) => bytesToHex(hash)),
      maxFeePerBlobGas: toQuantity(tx.maxFeePerBlobGas),
    }),
  };
}

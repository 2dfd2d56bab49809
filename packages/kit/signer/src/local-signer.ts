import { hexToFixedBytes, isCodedError, isPrivateKey, privateKeyToAddress, signHash } from "@rnode/primitives";
import { encodeTransaction, signTransaction } from "@rnode/protocol";
import { blockSigningHash } from "./block-signing.ts";
import { type Signer, SignerError } from "./signer.ts";

/** The 32 bytes of a private key from 64 hex digits, with or without `0x`; undefined if they are not a valid key. */
export function parsePrivateKey(text: string): Uint8Array | undefined {
  try {
    const key = hexToFixedBytes(text.startsWith("0x") ? text : `0x${text}`, 32);
    return isPrivateKey(key) ? key : undefined;
  } catch (error) {
    if (isCodedError(error, "bytes/")) return undefined;
    throw error;
  }
}

/** A signer that holds the key in memory. @throws {SignerError} signer/bad-key */
export function localSigner(privateKey: Uint8Array): Signer {
  if (!isPrivateKey(privateKey)) throw new SignerError("signer/bad-key");
  const key = privateKey.slice();
  return {
    address: privateKeyToAddress(key),
    signTransaction: async (transaction) => encodeTransaction(signTransaction(transaction, key)),
    signBlock: async (request) => signHash(blockSigningHash(request), key),
  };
}

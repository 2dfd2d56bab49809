import type { OptionsOf } from "@rnode/program";
import { localSigner } from "./local-signer.ts";
import { RemoteSigner, type RemoteSignerDeps, tlsFilesOf } from "./remote/remote-signer.ts";
import type { Signer } from "./signer.ts";
import { remoteSignerOf, type remoteSignerOptions } from "./signer-options.ts";

export interface OpenSigner extends Signer {
  close(): Promise<void>;
}

/**
 * The signer that options name: the remote one if there is one, else that of the local key.
 *
 * @param privateKey what `--private-key` is; not looked at with a remote signer
 * @returns undefined if there is neither
 * @throws {SignerError} signer/bad-key, and those of `RemoteSigner.open`
 */
export async function openSigner(
  privateKey: Uint8Array,
  options: OptionsOf<typeof remoteSignerOptions>,
  deps: RemoteSignerDeps,
): Promise<OpenSigner>;
export async function openSigner(
  privateKey: Uint8Array | undefined,
  options: OptionsOf<typeof remoteSignerOptions>,
  deps: RemoteSignerDeps,
): Promise<OpenSigner | undefined>;
export async function openSigner(
  privateKey: Uint8Array | undefined,
  options: OptionsOf<typeof remoteSignerOptions>,
  deps: RemoteSignerDeps,
): Promise<OpenSigner | undefined> {
  const remote = remoteSignerOf(options);
  if (remote !== undefined) return RemoteSigner.open(remote, deps);
  return privateKey && { ...localSigner(privateKey), close: () => Promise.resolve() };
}

/** Refuses the files that a remote signer would be reached with, without asking it. @throws {TlsFileError} */
export function checkSignerFiles(options: OptionsOf<typeof remoteSignerOptions>): void {
  const remote = remoteSignerOf(options);
  if (remote !== undefined) tlsFilesOf(remote);
}

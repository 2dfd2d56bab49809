import { KeyFileError, readOrCreateNetworkKey } from "@rnode/devp2p";
import { UserError } from "@rnode/program";

/**
 * The key that is this node's identity among execution clients.
 *
 * @param onCreated called where there was no file, and one was made
 * @throws {UserError}
 */
export function nodeKeyAt(path: string, onCreated: (path: string) => void = () => {}): Uint8Array {
  try {
    const { key, isNew } = readOrCreateNetworkKey(path);
    if (isNew) onCreated(path);
    return key;
  } catch (cause) {
    if (!(cause instanceof KeyFileError)) throw cause;
    throw new UserError(`--nodekey: ${cause.message}`, { cause });
  }
}

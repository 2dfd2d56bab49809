import { type DownloadOptions, errorCauses, resumableBody } from "@rnode/download";
import { isCodedError } from "@rnode/primitives";
import type { RegistrySource } from "./api.ts";
import { isUrl } from "./published-files.ts";
import { RegistryError } from "./registry-error.ts";
import { registryFolder } from "./registry-folder.ts";

/** What a superchain registry is read from: the address of a mirror, or a folder. */
export const registryAt = (place: string, options?: RegistryUrlOptions): RegistrySource =>
  isUrl(place) ? registryUrl(place, options) : registryFolder(place);

export type RegistryUrlOptions = Pick<DownloadOptions, "idleMs" | "maxFailures" | "firstWaitMs" | "onRetry" | "signal">;

/** A registry behind an http(s) URL: `<base>/superchain/configs/…`. */
export function registryUrl(base: string, options: RegistryUrlOptions = {}): RegistrySource {
  const root = base.replace(/\/+$/, "");
  return {
    describe: () => root,
    read: async (path, maxBytes) => {
      if (path.split("/").some((part) => !/^[\w.+-]+$/.test(part) || /^\.+$/.test(part)))
        throw new RegistryError("registry/bad-path", { file: path });
      const file = `${root}/${path}`;
      const pieces: Uint8Array[] = [];
      try {
        for await (const piece of resumableBody(file, { ...options, maxBytes })) pieces.push(piece);
      } catch (error) {
        if (isCodedError(error, "download/not-found")) return undefined;
        if (!isCodedError(error, "download/")) throw error;
        throw new RegistryError(
          "registry/unreadable",
          { file, reason: String(error.data.reason ?? errorCauses(error)) },
          { cause: error },
        );
      }
      return Buffer.concat(pieces);
    },
  };
}

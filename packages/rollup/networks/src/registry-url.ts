import { type DownloadOptions, errorCauses, resumableBody } from "@rnode/download";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import type { RegistrySource } from "./api.ts";
import { isUrl } from "./published-files.ts";
import { RegistryError } from "./registry-error.ts";
import { registryFolder } from "./registry-folder.ts";

/** The source of a superchain registry: the address of a mirror, or a folder. */
export const registryAt = (place: string, options?: RegistryUrlOptions): RegistrySource =>
  isUrl(place) ? registryUrl(place, options) : registryFolder(place);

export interface RegistryUrlOptions extends Pick<DownloadOptions, "idleMs" | "maxFailures" | "firstWaitMs" | "signal"> {
  /** called before a retry, if the registry did not answer completely */
  readonly onRetry?: (url: string, reason: string, waitMs: number) => void;
}

/** For a program's log. */
export const registryRetriesIn = (log: Pick<Logger, "warn">): Required<Pick<RegistryUrlOptions, "onRetry">> => ({
  onRetry: (url, reason, waitMs) => log.warn("the registry does not answer: asking again", { url, reason, waitMs }),
});

/** A registry behind an http(s) URL: `<base>/superchain/configs/…`. */
export function registryUrl(base: string, { onRetry, ...limits }: RegistryUrlOptions = {}): RegistrySource {
  const root = base.replace(/\/+$/, "");
  return {
    describe: () => root,
    read: async (path, maxBytes) => {
      if (path.split("/").some((part) => !/^[\w.+-]+$/.test(part) || /^\.+$/.test(part)))
        throw new RegistryError("registry/bad-path", { file: path });
      const file = `${root}/${path}`;
      const pieces: Uint8Array[] = [];
      try {
        const options = { ...limits, maxBytes, onRetry: (reason: string, waitMs: number) => onRetry?.(file, reason, waitMs) };
        for await (const piece of resumableBody(file, options)) pieces.push(piece);
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

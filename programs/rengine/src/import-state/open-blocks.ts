import type { CommandIo } from "@rnode/program";
import { isUrl } from "../setup/read-input.ts";
import type { Blocks } from "./block-source.ts";
import { endpointBlocks } from "./endpoint-blocks.ts";
import { openFileBlocks } from "./file-blocks.ts";

/** Opens what `--blocks` names: the URL of an execution client, or a file of RLP blocks. @throws {UserError} */
export async function openBlocks(source: string, folder: string, io: Pick<CommandIo, "progress">): Promise<Blocks> {
  if (isUrl(source)) return endpointBlocks(source);
  return await openFileBlocks(source, { folder, onProgress: (blocks) => io.progress(`reading ${source}: ${blocks} blocks`) });
}

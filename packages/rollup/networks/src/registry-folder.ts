import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError } from "@rnode/primitives";
import type { RegistrySource } from "./api.ts";
import { RegistryError } from "./registry-error.ts";

/** A registry in a folder of this machine. Symbolic links are followed: the folder is the operator's. */
export function registryFolder(root: string): RegistrySource {
  return {
    describe: () => root,
    read: (path, maxBytes) => readBounded(inside(root, path), maxBytes),
    list: (folder) => listFolder(inside(root, folder)),
  };
}

/** Reads a regular file of at most `maxBytes`; refuses FIFOs and devices. `undefined` if there is none. */
export async function readBounded(file: string, maxBytes: number): Promise<Uint8Array | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (!stat.isFile()) throw new RegistryError("registry/unreadable", { file, reason: "not a regular file" });
    if (stat.size > maxBytes) throw new RegistryError("registry/too-large", { file, maxBytes });
    const bytes = new Uint8Array(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    return missingOrThrow(error, file);
  } finally {
    await handle?.close();
  }
}

async function listFolder(folder: string): Promise<readonly string[] | undefined> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    return missingOrThrow(error, folder);
  }
}

function inside(root: string, path: string): string {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || /[\\\0]/.test(part))) {
    throw new RegistryError("registry/bad-path", { file: path });
  }
  return join(root, ...parts);
}

function missingOrThrow(error: unknown, file: string): undefined {
  if (!isSystemError(error)) throw error;
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw new RegistryError("registry/unreadable", { file, reason: error.message }, { cause: error });
}

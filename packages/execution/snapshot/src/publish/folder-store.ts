import { closeSync, fsyncSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "@rnode/primitives";
import { openForOthers } from "@rnode/program";
import type { SnapshotStore, StoreUpload } from "./snapshot-store.ts";

const PARTIAL_SUFFIX = ".partial";

/** A folder that a web server serves, or a mounted disk. It is made if it is not there. */
export function openFolderStore(folder: string): SnapshotStore {
  mkdirSync(folder, { recursive: true });
  // a killed process leaves them
  for (const name of readdirSync(folder)) if (name.endsWith(PARTIAL_SUFFIX)) rmSync(join(folder, name));
  return {
    place: folder,
    list: async () => readdirSync(folder),
    async read(name) {
      try {
        return readFileSync(join(folder, name));
      } catch (error) {
        if (isSystemError(error, "ENOENT")) return undefined;
        throw error;
      }
    },
    async write(name, bytes) {
      const upload = fileUpload(join(folder, name));
      await upload.write(bytes);
      await upload.finish();
    },
    create: async (name) => fileUpload(join(folder, name)),
    remove: async (name) => rmSync(join(folder, name), { force: true }),
  };
}

function fileUpload(path: string): StoreUpload {
  const partial = path + PARTIAL_SUFFIX;
  const file = openForOthers(partial);
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    },
    async finish() {
      fsyncSync(file);
      closeSync(file);
      renameSync(partial, path);
    },
    async abort() {
      closeSync(file);
      rmSync(partial, { force: true });
    },
  };
}

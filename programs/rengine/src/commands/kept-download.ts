import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_PREFIX = "rengine-snapshot-";
/** Within the folder: the id of the process that uses it. */
const OWNER_FILE = "owner";

/**
 * A folder for temporary files of one URL. A later process finds it again if this one is killed or calls `keep`. If another
 * process uses the folder, or another user owns it, a new folder is made that is not found again.
 */
export class KeptDownload {
  readonly folder: string;
  readonly #isFoundAgain: boolean;

  private constructor(folder: string, isFoundAgain: boolean) {
    this.folder = folder;
    this.#isFoundAgain = isFoundAgain;
  }

  static of(url: string): KeptDownload {
    const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
    const folder = join(tmpdir(), `${FOLDER_PREFIX}${name}`);
    if (takeFolder(folder)) return new KeptDownload(folder, true);
    return new KeptDownload(mkdtempSync(join(tmpdir(), FOLDER_PREFIX)), false);
  }

  /** Leaves the files for a later process. @returns false: they were removed, because no process would find them */
  keep(): boolean {
    if (this.#isFoundAgain) rmSync(join(this.folder, OWNER_FILE), { force: true });
    else this.remove();
    return this.#isFoundAgain;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** @returns whether the folder is this process's now */
function takeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    // The system's folder for temporary files is shared, and the name can be guessed.
    const stat = lstatSync(folder);
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) return false;
  }
  return takeOwnership(join(folder, OWNER_FILE));
}

function takeOwnership(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  if (isAlive(Number(readFileSync(file, "utf8")))) return false;
  writeFileSync(file, String(process.pid));
  return true;
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

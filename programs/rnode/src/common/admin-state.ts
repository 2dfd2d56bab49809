import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "@rnode/program";
import { StartError } from "./start-error.ts";

/** State that the admin namespace changes and that must survive a restart. Spec: docs/protocol/05-services.md#admin-state-file */
export interface AdminState {
  readonly sequencerStarted: boolean;
}

/** The file of `--rpc.admin-state`. Without a path, nothing is stored. */
export class AdminStateFile {
  private readonly path: string | undefined;

  constructor(path: string | undefined) {
    this.path = path;
  }

  /** @returns undefined if nothing is stored. @throws {StartError} start/bad-admin-state */
  load(): AdminState | undefined {
    const { path } = this;
    if (path === undefined || !existsSync(path)) return undefined;
    let json: unknown;
    try {
      json = JSON.parse(readFileSync(path, "utf8"));
    } catch (cause) {
      throw new StartError("start/bad-admin-state", `--rpc.admin-state ${path}: ${(cause as Error).message}`, { cause });
    }
    const keys = typeof json === "object" && json !== null ? Object.keys(json) : [];
    const { sequencerStarted } = (json ?? {}) as { sequencerStarted?: unknown };
    if (keys.length !== 1 || typeof sequencerStarted !== "boolean") {
      throw new StartError(
        "start/bad-admin-state",
        `--rpc.admin-state ${path}: expected {"sequencerStarted": true or false} and nothing else`,
      );
    }
    return { sequencerStarted };
  }

  /** Replaces the file atomically: a kill leaves either the old or the new state. @throws the file system's errors */
  save(state: AdminState): void {
    const { path } = this;
    if (path === undefined) return;
    makeFolder(dirname(path), { mode: 0o755 });
    const temporaryPath = `${path}.tmp`;
    const file = openSync(temporaryPath, "w", 0o600);
    try {
      writeSync(file, `${JSON.stringify(state)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporaryPath, path);
  }
}

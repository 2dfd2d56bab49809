import { accessSync, constants, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { OptionsOf } from "../options/option-group.ts";
import type { ProfileType } from "../options/profile-types.ts";
import type { pprofOptions } from "../options/standard-options.ts";
import { UserError } from "../process/failure.ts";
import type { Scope } from "../process/scope.ts";
import { namingPorts } from "../servers/naming-ports.ts";
import { startPprofServer } from "./pprof-server.ts";
import { Profiler } from "./profiler.ts";

export interface PprofDeps {
  readonly scope: Scope;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves profiles, and writes one when the scope closes, as the options say. @throws {UserError} naming the option that is wrong */
export async function openPprof(options: OptionsOf<typeof pprofOptions>, { scope, clock, log }: PprofDeps): Promise<void> {
  const { enabled, addr, type } = options;
  if (!enabled && type === undefined) return;
  const file = type && profileFile(options.path, type);
  const profiler = await scope.use(
    "profiler",
    async () => {
      const made = new Profiler(() => clock.unixMs());
      await made.ready();
      return made;
    },
    (made) => made.close(),
  );
  if (type !== undefined && file !== undefined) {
    const finish = await record(profiler, type);
    log.info("profile is taken until the program ends", { type, file });
    scope.onClose("profile", async () => {
      try {
        writeFileSync(file, await finish());
        log.info("profile written", { type, file });
      } catch (error) {
        log.error("the profile cannot be written (--pprof.path)", { file, error: errorText(error) });
      }
    });
  }
  if (!enabled) return;
  const server = await scope.use(
    "profile server",
    () => namingPorts({ "pprof.port": options.port }, () => startPprofServer(profiler, options)),
    (running) => running.close(),
  );
  log.info("profiles listen", { addr, port: server.port, path: "/debug/pprof/" });
}

/** @returns ends the profile */
async function record(profiler: Profiler, type: ProfileType): Promise<() => Promise<Uint8Array>> {
  switch (type) {
    case "cpu":
    case "allocs": {
      const recording = await profiler[type]();
      return () => recording.stop();
    }
    case "heap":
      return () => profiler.heap();
    default:
      return async () => profiler.goroutine();
  }
}

/** Where a profile goes; that it can be written is known before hours are spent on it. */
function profileFile(given: string | undefined, type: ProfileType): string {
  const target = given ?? process.cwd();
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(target, `${type}.prof`) : target;
  try {
    accessSync(dirname(file), constants.W_OK);
    return file;
  } catch (error) {
    throw new UserError(`--pprof.path: ${file} cannot be written: ${errorText(error)}`, { cause: error });
  }
}

import { appendFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { isMainThread } from "node:worker_threads";

/*
 * Loaded before every thread's program (`node --import`): writes which of the system's threads runs it into the file of RNODE_THREAD_NAMES,
 * a line each: number ‖ space ‖ name of the program, "main" for the first. Linux only.
 */

const file = process.env.RNODE_THREAD_NAMES;
if (file !== undefined && process.platform === "linux") {
  const number = basename(readlinkSync("/proc/thread-self"));
  const name = isMainThread ? "main" : basename(process.argv[1] ?? "thread", ".js");
  appendFileSync(file, `${number} ${name}\n`);
}

import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "rnode-thread-cpu-"));
const built = (name: string): string => fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));

const PROGRAM = `
import { Worker } from "node:worker_threads";
import { OTHER_THREADS, ThreadCpu } from ${JSON.stringify(built("import/thread-cpu.js"))};
const worker = new Worker(process.argv[2]);
await new Promise((resolve) => worker.once("message", resolve));
const cpu = new ThreadCpu(process.env.RNODE_THREAD_NAMES);
cpu.look();
const { [OTHER_THREADS]: others, ...named } = cpu.byName();
console.log(JSON.stringify(named));
await worker.terminate();
`;
const BUSY = `
import { parentPort } from "node:worker_threads";
for (const endMs = performance.now() + 300; performance.now() < endMs; );
parentPort.postMessage("done");
setInterval(() => {}, 1000);
`;

describe.skipIf(process.platform !== "linux")("ThreadCpu", () => {
  it("tells the CPU time of each thread that runs a program", () => {
    writeFileSync(join(folder, "program.mjs"), PROGRAM);
    writeFileSync(join(folder, "busy.js"), BUSY);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const env = { ...process.env, RNODE_THREAD_NAMES: join(folder, "names") };
    const args = ["--import", built("common/thread-name.js"), join(folder, "program.mjs"), join(folder, "busy.js")];
    const cpuMs = JSON.parse(execFileSync(process.execPath, args, { env, encoding: "utf8" })) as Record<string, number>;
    expect(Object.keys(cpuMs).sort()).toEqual(["busy", "main"]);
    expect(cpuMs.busy).toBeGreaterThan(20); // of 300 ms, on a machine with other work
  });
});

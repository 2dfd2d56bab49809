// A program of two parts, built on the skeleton and nothing else (src/run-program.test.ts). `--behaviour` selects what
// goes wrong. Standard output says, line by line, what started and what closed.

import { writeSync } from "node:fs";
import { createServer } from "node:net";
import {
  Halt,
  launch,
  logOptions,
  metricsOptions,
  oneOf,
  optionGroup,
  optionTable,
  pprofOptions,
  runProgram,
  shutdownOptions,
  text,
  UserError,
} from "@rnode/program";

const BEHAVIOURS = [
  "runs",
  "start-refuses",
  "start-breaks",
  "start-waits",
  "start-hangs",
  "close-hangs",
  "close-throws",
  "ends-badly",
  "rejection",
  "rejection-while-closing",
  "leak",
  "halts",
  "restarts",
];
const table = optionTable({
  program: "small",
  summary: "A small program.",
  envPrefix: "SMALL_",
  groups: {
    main: optionGroup("", { behaviour: { parse: oneOf(...BEHAVIOURS), default: "runs", help: "What goes wrong." } }),
    secrets: optionGroup("", { key: { parse: text, secret: true, help: "A secret." } }),
    log: logOptions,
    metrics: metricsOptions,
    pprof: pprofOptions,
    shutdown: shutdownOptions,
  },
});
const say = (line) => writeSync(1, `${line}\n`);
const never = new Promise(() => {});
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let starts = 0;

async function start({ main: { behaviour } }, { scope, metrics, stop, restart, clock, log }) {
  const failure = {
    "start-refuses": () => {
      throw new UserError("--behaviour: refused\nin two lines");
    },
    "start-breaks": () => {
      throw new TypeError("nothing is not a function");
    },
    "start-waits": () => {
      say("waiting");
      return clock.sleep(60_000, scope.signal);
    },
    "start-hangs": () => {
      say("waiting");
      return wait(60_000);
    },
  }[behaviour];
  await scope.use(
    "first",
    () => say("first starts"),
    () => say("first closes"),
  );
  await scope.use(
    "second",
    async () => {
      say("second starts");
      await failure?.();
    },
    async () => {
      say("second closes");
      if (behaviour === "close-hangs") await never;
      if (behaviour === "close-throws") throw new Error("stuck");
      if (behaviour === "rejection-while-closing") {
        void Promise.reject(new Error("nobody cares"));
        await wait(20);
      }
    },
    { closeLimitMs: 300 },
  );
  metrics.counter("parts_total", "Parts.").add(2);
  if (behaviour === "leak") createServer().listen(0);
  if (behaviour === "rejection") setTimeout(() => void Promise.reject(new Error("nobody cares")), 10);
  if (behaviour === "ends-badly") return { failure: wait(10).then(() => Promise.reject(new UserError("the chain is gone"))) };
  if (behaviour === "halts") return { failure: wait(10).then(() => Promise.reject(new Halt("enough", 60_000))) };
  if (behaviour === "restarts") {
    if (++starts === 1) setTimeout(() => restart("the test"), 10);
  } else if (behaviour !== "runs") setTimeout(() => stop("the test"), 10);
  let turns = 0;
  return { status: { everyMs: 50, print: () => log.info("status", { turns: turns++ }) } };
}

const program = { name: "small", version: "v1.2.3", table, metricsPrefix: "small_", start };
await launch("small", async () => ({ main: (args, env) => runProgram(program, args, env) }));

// Scripted networks in a thread. One fails to start with the configuration { fails: true }.

import { threadId } from "node:worker_threads";
import { CodedError } from "@rnode/primitives";
import { serveNetworks } from "@rnode/threads";

serveNetworks((metrics) => metrics.counter("rejections_total", "Promises that failed."), run);

async function run(program) {
  const identity = { name: program.config.name, port: program.config.port || 4_000 };

  const answers = {
    echo: async ({ bytes }) => bytes,
    refuse: async () => {
      throw new CodedError("plain/refused", { number: 7 });
    },
    level: async () => program.log.level,
    thread: async () => threadId,
    reject: async () => void Promise.reject(new Error("nobody waits")),
    never: () => new Promise(() => {}),
    die: async () => process.exit(3),
  };

  await program.run(
    async () => {
      if (program.config.fails) throw new CodedError("plain/bad-setting", { setting: "name" });
      return { identity, close: async () => program.log.info("closed", {}) };
    },
    () => {
      program.urgent.on("message", ({ id }) => void program.answer(id, async () => "urgent"));
      return ({ id, what, ...rest }) => {
        Atomics.add(program.counters, 0, 1);
        if (what === "throw") throw new Error("nobody waits for this either");
        if (what === "tell") program.send({ told: rest.text });
        else
          void program.answer(
            id,
            () => answers[what](rest),
            (value) => (value instanceof Uint8Array ? [value.buffer] : []),
          );
      };
    },
  );
}

import { setTimeout as sleep } from "node:timers/promises";
import { createRpcClient } from "@rnode/jsonrpc";
import {
  command,
  listenForStop,
  listOf,
  oneOf,
  optionGroup,
  optionTable,
  path,
  positiveDuration,
  text,
  uint,
  url,
  urlOf,
} from "@rnode/program";
import { BlockStream, runStream } from "../stream/block-stream.ts";
import { NatsBroker } from "../stream/nats-broker.ts";
import { HEADS, RpcNode } from "../stream/rpc-node.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine stream",
  summary:
    "Publishes the blocks of any execution client to NATS JetStream, each once, with retractions of blocks that a reorganisation removes.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      rpc: {
        parse: url,
        required: true,
        help: "JSON-RPC of an execution client: a rengine, an op-reth or op-geth, or a balancer in front of several.",
      },
      from: { parse: uint, env: false, unit: "block number", help: "First block of an empty stream. Default: the head." },
      head: {
        parse: oneOf(...HEADS),
        default: "latest",
        help: "The newest block to publish. Of safe and finalized blocks there are hardly retractions.",
      },
      pollIntervalMs: { parse: positiveDuration, default: 500, help: "How often the client is asked for the next block." },
    }),
    nats: optionGroup("nats", {
      url: {
        parse: listOf(urlOf("nats", "tls")),
        required: true,
        help: "Servers of the cluster: nats:// or tls://, with user and password if they need them.",
      },
      creds: { parse: path, help: "Credentials file (JWT and seed) of the user." },
      stream: {
        parse: text,
        default: "rnode",
        help: "Name of the JetStream stream. It is made if there is none, with files and without limits.",
      },
      subject: { parse: text, default: "rnode.blocks", help: "Subject of the messages: a chain needs one of its own." },
    }),
  },
});

/** `rengine stream`: runs until a signal. A kill at any moment loses and repeats nothing. */
export const streamBlocks = command({ table, version: VERSION }, async ({ options }, io) => {
  const { rpc, from, head, pollIntervalMs } = options.main;
  const { url: servers, ...nats } = options.nats;
  const stop = listenForStop(() => process.exit(1));
  const ending = new AbortController();
  const { signal } = ending;
  void stop.asked.then(() => ending.abort());
  const client = createRpcClient({ url: rpc });
  const broker = new NatsBroker({ ...nats, servers, mayBeginAgain: from !== undefined });
  try {
    await runStream(new BlockStream(new RpcNode(client, head), broker, from), {
      pollMs: pollIntervalMs,
      signal,
      sleep: (ms) => sleep(ms, undefined, { signal }).catch(() => {}), // the signal ends the sleep
      onTrouble: (error) => io.err(`${error instanceof Error ? error.message : String(error)}; trying again`),
    });
    return 0;
  } finally {
    stop.forget();
    await broker.close();
    await client.close();
  }
});

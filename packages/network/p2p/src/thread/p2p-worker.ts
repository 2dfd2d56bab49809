import "../with-resolvers.ts";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { systemClock } from "@rnode/program";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { type NetworkProgram, serveNetworks } from "@rnode/threads";
import { startNetwork } from "../host/start-network.ts";
import type { P2PHandlers, P2PNetwork } from "../network.ts";
import { callPeerApi } from "../peers/peer-api.ts";
import { decodeBlock, encodeReceivedBlock } from "./encoded-block.ts";
import { observeEventLoop } from "./event-loop-metrics.ts";
import type { P2PTypes, Publish } from "./messages.ts";
import { Outbox } from "./outbox.ts";

// The thread of `P2PThread`s: runs their networks, and forwards the output of each.

serveNetworks<P2PTypes>(
  (metrics) => metrics.counter("p2p_unhandled_rejections_total", "Promises of libraries that failed and that nobody waited for."),
  (program) => {
    const asked: Questions = new Map();
    const { config, log, metrics, urgent } = program;
    return program.run(
      () => startNetwork(config, handlersOf(program, asked), { clock: systemClock, random: Math.random, log, metrics }),
      (network) => {
        observeEventLoop(metrics, "p2p", monitorEventLoopDelay({ resolution: 10 }));
        urgent.on("message", ({ id, block, signature }: Publish) => {
          void program.answer(id, () => network.publish(decodeBlock(block), signature));
        });
        return (message) => take(program, network, asked, message);
      },
    );
  },
);

/** Requests to the node for blocks, by id. */
type Questions = Map<
  number,
  { readonly resolve: (block: ExecutionPayloadEnvelope | undefined) => void; readonly reject: (error: Error) => void }
>;

function handlersOf(program: NetworkProgram<P2PTypes>, asked: Questions): P2PHandlers {
  const outbox = new Outbox(program.counters, (message, transfer) => program.send(message, transfer));
  const dropped = program.metrics.counter(
    "p2p_unsafe_payloads_dropped_total",
    "Blocks of the network that were dropped because the node did not get to take them.",
  );
  let lastId = 0;
  return {
    onUnsafePayload(envelope, from) {
      if (!outbox.payload(encodeReceivedBlock(envelope), from)) dropped.inc();
    },
    payloadByNumber(number) {
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        asked.set(id, { resolve, reject });
        program.send({ kind: "ask", id, number });
      });
    },
  };
}

function take(program: NetworkProgram<P2PTypes>, network: P2PNetwork, asked: Questions, message: P2PTypes["to"]): void {
  switch (message.kind) {
    case "signer":
      network.setUnsafeBlockSigner(message.address);
      return;
    case "gap":
      network.requestGap(message.gap);
      return;
    case "block": {
      const { id, block, error } = message;
      const waiting = asked.get(id);
      asked.delete(id);
      if (error === undefined) waiting?.resolve(block && decodeBlock(block));
      else waiting?.reject(new Error(error));
      return;
    }
    case "call":
      void program.answer(message.id, () => callPeerApi(network.api, message.call));
      return;
  }
}

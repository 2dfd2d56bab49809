import type { Libp2p, PeerId } from "@libp2p/interface";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { P2PConfig, UnsafeGap } from "../network.ts";
import type { PartDeps, PayloadSink, ResponseScores, StaticPeers, SyncPart } from "../parts.ts";
import { payloadByNumberProtocols } from "../wire/payload-by-number.ts";
import { PayloadRequests } from "./payload-requests.ts";
import { MAX_STREAMS_OF_PEER, PayloadServer } from "./payload-server.ts";
import { requestMetrics } from "./request-metrics.ts";
import { SyncClient } from "./sync-client.ts";
import { Libp2pStream, type WireStream } from "./wire-stream.ts";

export interface SyncDeps extends PartDeps {
  readonly node: Pick<Libp2p, "handle" | "unhandle" | "getPeers" | "getConnections" | "addEventListener" | "removeEventListener">;
  readonly sink: PayloadSink;
  readonly scores: ResponseScores;
  readonly staticPeers: StaticPeers;
  /** @returns `undefined`: this node does not have the block. @throws if the engine is not available */
  readonly payloadByNumber: (number: number) => Promise<ExecutionPayloadEnvelope | undefined>;
}

/**
 * Serves blocks to peers and requests blocks from peers; with `requestResponse` off it does neither, and does not register the
 * protocol.
 */
export function createSync({ rollup: config, sync }: Pick<P2PConfig, "rollup" | "sync">, deps: SyncDeps): SyncPart {
  const { node, sink, scores, staticPeers, clock, log } = deps;
  const protocols = [...payloadByNumberProtocols(config.l2ChainId)];
  const metrics = requestMetrics(deps.metrics);
  const server = new PayloadServer({ config, payloadByNumber: deps.payloadByNumber, clock, log, metrics });

  /** Peers that are not connected are not dialled for it. */
  async function open(peer: string, signal: AbortSignal): Promise<WireStream> {
    const connection = node.getConnections().find(({ remotePeer, status }) => status === "open" && remotePeer.toString() === peer);
    if (connection === undefined) throw new Error("the peer is not connected");
    return new Libp2pStream(await connection.newStream(protocols, { signal }));
  }
  const requests = new PayloadRequests({ config, open, clock });
  const client = new SyncClient({
    config,
    ask: (peer, number, signal) => requests.ask(peer, number, signal),
    mayAsk: (peer) => !sync.onlyRequestToStatic || staticPeers.has(peer),
    sink,
    scores,
    clock,
    log,
    metrics,
  });
  const onConnect = ({ detail }: CustomEvent<PeerId>): void => client.addPeer(detail.toString());
  const onDisconnect = ({ detail }: CustomEvent<PeerId>): void => client.removePeer(detail.toString());

  return {
    async start() {
      if (!sync.requestResponse) return;
      node.addEventListener("peer:connect", onConnect);
      node.addEventListener("peer:disconnect", onDisconnect);
      for (const peer of node.getPeers()) client.addPeer(peer.toString());
      await node.handle(
        protocols,
        (stream, { remotePeer }) => server.handle(new Libp2pStream(stream), remotePeer.toString()),
        // the server counts as well: a peer may have several connections
        { maxInboundStreams: MAX_STREAMS_OF_PEER },
      );
    },
    requestGap(gap: UnsafeGap) {
      if (sync.requestResponse) client.requestGap(gap);
    },
    async close() {
      node.removeEventListener("peer:connect", onConnect);
      node.removeEventListener("peer:disconnect", onDisconnect);
      if (sync.requestResponse) await node.unhandle(protocols);
      server.close();
      await client.close();
    },
  };
}

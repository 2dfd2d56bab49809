import "../with-resolvers.ts";
import { yamux } from "@chainsafe/libp2p-yamux";
import { privateKeyFromRaw } from "@libp2p/crypto/keys";
import { type Identify, type IdentifyPush, identify, identifyPush } from "@libp2p/identify";
import type { ConnectionGater, Libp2p, ServiceMap } from "@libp2p/interface";
import { mplex } from "@libp2p/mplex";
import { noise } from "@libp2p/noise";
import { peerIdFromPrivateKey } from "@libp2p/peer-id";
import { type Ping, ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import type { Multiaddr } from "@multiformats/multiaddr";
import type { Clock } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import type { Datastore } from "interface-datastore";
import { createLibp2p, type ServiceFactoryMap } from "libp2p";
import { tcpAddress, withPeerId } from "../multiaddresses.ts";
import type { ConnectionLimits } from "../network.ts";
import { boundedInbound } from "./bounded-inbound.ts";
import { quietLogger } from "./quiet-logger.ts";

/** The services of every node. */
interface HostServices extends ServiceMap {
  readonly identify: Identify;
  readonly identifyPush: IdentifyPush;
  readonly ping: Ping;
}

export type Host<S extends ServiceMap = ServiceMap> = Libp2p<HostServices & S>;

export interface HostOptions<S extends ServiceMap> {
  /** secp256k1, 32 bytes */
  readonly networkKey: Uint8Array;
  /** `undefined`: does not listen, only dials */
  readonly listen?: { readonly ip: string; readonly tcpPort: number } | undefined;
  /** selects the announced addresses; default: the addresses of the socket */
  readonly announce?: ((listening: readonly Multiaddr[]) => readonly Multiaddr[]) | undefined;
  /** the agent version in identify */
  readonly userAgent: string;
  readonly limits: ConnectionLimits;
  /** default: the machine's */
  readonly clock?: Clock | undefined;
  /** stores addresses of peers; `undefined`: memory */
  readonly datastore?: Datastore | undefined;
  readonly gater?: ConnectionGater | undefined;
  /** in addition to identify and ping */
  readonly services?: ServiceFactoryMap<S> | undefined;
}

const DIAL_TIMEOUT_MS = 10_000;
/** Addresses from peers are kept for a day. Static peers and discovery provide theirs again. */
const MAX_ADDRESS_AGE_MS = 24 * 3_600_000;
const MAX_PEER_AGE_MS = 7 * 24 * 3_600_000;
/** gossip, requests, identify and ping need a handful */
const MAX_STREAMS = 64;
/** A peer that opens more mplex streams per second is disconnected, because mplex has no backpressure. */
const MPLEX_STREAMS_PER_SEC = 50;
/** More than the largest message. A peer that does not read is disconnected. */
const MAX_WRITE_BUFFER_BYTES = 16 * 1024 * 1024;
/** Maximum data in flight on a yamux stream that is not read: less than the 4 MiB at which a stream is aborted. */
const MAX_WINDOW_BYTES = 2 * 1024 * 1024;

/**
 * A libp2p node for the OP Stack's network, not started yet: TCP, noise, yamux before mplex, identify and ping. Users register
 * their protocols before `start`.
 *
 * Spec: docs/protocol/03-p2p.md#identity-and-transport
 */
export async function createHost<S extends ServiceMap = Record<never, never>>(options: HostOptions<S>): Promise<Host<S>> {
  const { listen, limits } = options;
  const privateKey = privateKeyFromRaw(options.networkKey);
  const peerId = peerIdFromPrivateKey(privateKey).toString();
  const services: ServiceFactoryMap<HostServices> = {
    identify: identify({ maxInboundStreams: 4 }),
    identifyPush: identifyPush({ maxInboundStreams: 4 }),
    ping: ping(),
  };
  return (await createLibp2p({
    start: false,
    privateKey,
    nodeInfo: { name: "rnode", userAgent: options.userAgent },
    addresses: {
      listen: listen === undefined ? [] : [tcpAddress(listen.ip, listen.tcpPort)],
      announceFilter: (addresses) => (options.announce?.(addresses) ?? addresses).map((address) => withPeerId(address, peerId)),
    },
    transports: [
      tcp({
        // Idle connections are not closed; yamux detects dead ones.
        inboundSocketInactivityTimeout: 0,
        outboundSocketInactivityTimeout: 0,
        // refused by the system, before they cost anything
        maxConnections: limits.maxConnections + limits.maxPending,
        dialOpts: { noDelay: true, keepAlive: true },
        listenOpts: { noDelay: true, keepAlive: true },
      }),
    ],
    connectionEncrypters: [noise()],
    streamMuxers: [
      yamux({
        maxInboundStreams: MAX_STREAMS,
        maxOutboundStreams: MAX_STREAMS,
        streamOptions: { maxWriteBufferLength: MAX_WRITE_BUFFER_BYTES, maxStreamWindowSize: MAX_WINDOW_BYTES },
      }),
      mplex({ disconnectThreshold: MPLEX_STREAMS_PER_SEC }),
    ],
    connectionManager: {
      maxConnections: limits.maxConnections,
      maxIncomingPendingConnections: limits.maxPending,
      inboundConnectionThreshold: limits.acceptsPerSecOfAddress,
      dialTimeout: DIAL_TIMEOUT_MS,
      addressDialTimeout: DIAL_TIMEOUT_MS,
      inboundUpgradeTimeout: DIAL_TIMEOUT_MS,
      // static peers are dialled by ourselves
      reconnectRetries: 0,
    },
    connectionMonitor: { enabled: false },
    connectionGater: boundedInbound(limits, options.gater ?? {}, options.clock ?? systemClock),
    peerStore: { maxAddressAge: MAX_ADDRESS_AGE_MS, maxPeerAge: MAX_PEER_AGE_MS },
    logger: quietLogger,
    services: { ...services, ...options.services } as ServiceFactoryMap<HostServices & S>,
    ...(options.datastore !== undefined && { datastore: options.datastore }),
  })) as Host<S>;
}

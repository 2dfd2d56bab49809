import { parseSubnet, type Subnet } from "@rnode/peering";
import { CodedError } from "@rnode/primitives";
import type { P2PConfig } from "../network.ts";
import type { PartDeps, PeersPart, StaticPeers } from "../parts.ts";
import { blockTopics, publishingTopic } from "../wire/topics.ts";
import { ApplicationScores, noApplicationScores } from "./application-scores.ts";
import { Bandwidth } from "./bandwidth.ts";
import { ConnectionGate } from "./connection-gate.ts";
import type { GossipView } from "./gossip-view.ts";
import { gossipView } from "./gossip-view.ts";
import { openPeerDatastore } from "./peer-datastore.ts";
import { PeerDirectory } from "./peer-directory.ts";
import { libp2pHost, type PeerHost } from "./peer-host.ts";
import { PeerProtection } from "./peer-protection.ts";
import { PeerRecords } from "./peer-records.ts";
import { type PeerTiming, PeerUpkeep } from "./peer-upkeep.ts";
import { epochsMs, lightScoring, noScoring, SCORE_THRESHOLDS, slotMs } from "./score-params.ts";

/** Connection-manager tag of nodes of our chain: their value when peers are pruned. */
const CHAIN_TAG_VALUE = 42;
const SCORE_RETENTION_EPOCHS = 100;

export interface PeersOptions extends Pick<P2PConfig, "rollup" | "peers" | "netrestrict"> {
  readonly staticPeers: StaticPeers;
  /** for tests on real sockets, which cannot wait so long */
  readonly timing?: Partial<PeerTiming> | undefined;
}

/**
 * Opens the peer store, before the node exists.
 *
 * @throws {CodedError} peer-store/in-use, peers/bad-subnet
 */
export async function openPeers(options: PeersOptions, { clock, log, metrics }: PartDeps): Promise<PeersPart> {
  const { rollup, peers: settings, staticPeers } = options;
  const slot = slotMs(rollup.blockTimeSec);
  const nowSec = (): number => Math.floor(clock.unixMs() / 1000);
  const topics = blockTopics(rollup.l2ChainId).map(({ topic }) => topic) as [string, string, string, string];
  const liveTopic = (): string => publishingTopic(rollup.l2ChainId, rollup.forkTimes, nowSec()).topic;
  const netrestrict = options.netrestrict.map(toSubnet);

  const scoreRetentionSec = epochsMs(SCORE_RETENTION_EPOCHS, slot) / 1000;
  const records = new PeerRecords({ scoreRetentionSec, log });
  const { store } = await openPeerDatastore(settings.path, log, (found) => records.load(found));
  records.collectGarbage(nowSec());

  const isScoring = settings.scoring === "light";
  const application = isScoring ? new ApplicationScores(records, { slot, nowSec }) : noApplicationScores;
  const applicationScore = (peer: string): number => application.score(peer);
  const protection = new PeerProtection(records, staticPeers, nowSec);
  const bandwidth = new Bandwidth(metrics);
  let gossip: GossipView | undefined;
  let host: PeerHost | undefined;
  /** found before there was a node to tag them in */
  const early = new Set<string>();
  const tag = (of: PeerHost, peer: string, chainId: number): void => {
    of.tag(peer, `opstack-${chainId}-0`, CHAIN_TAG_VALUE).catch((error: unknown) =>
      log.debug("peer cannot be tagged", { peer, error }),
    );
  };
  let upkeep: PeerUpkeep | undefined;
  const onPeerUnbanned = (peer: string): void => {
    records.scores.delete(peer);
    gossip?.forget(peer);
  };
  const gate = new ConnectionGate({ records, netrestrict, nowSec, metrics, log, bandwidth, onPeerUnbanned });

  return {
    gater: gate,
    datastore: store.libp2p,
    gossipScoring: {
      scoreParams: isScoring ? lightScoring({ slot, topics, liveTopic: liveTopic(), applicationScore }) : noScoring(slot),
      scoreThresholds: SCORE_THRESHOLDS,
    },
    onValidResponse: (peer) => application.onValidResponse(peer),
    onErrorResponse: (peer) => application.onErrorResponse(peer),
    onRejectedPayload: (peer) => application.onRejectedPayload(peer),
    onSignerChanged: () => gossip?.forgiveInvalid(),
    isProtected: (peer) => protection.isProtected(peer),
    onDiscovered(peer, { enr, chainId }) {
      records.setMetadata(peer, enr, chainId, nowSec());
      if (host === undefined) early.add(peer);
      else tag(host, peer, chainId);
    },
    attach(network) {
      const { node, pubsub, discovery } = network;
      host = libp2pHost(node);
      for (const peer of early) tag(host, peer, Number(rollup.l2ChainId));
      early.clear();
      gossip = gossipView(pubsub, metrics, clock);
      upkeep = new PeerUpkeep({
        settings,
        slot,
        timing: options.timing,
        isScoring,
        host,
        gossip,
        records,
        application,
        protection,
        isStatic: (peer) => staticPeers.has(peer),
        liveTopic,
        bandwidth,
        clock,
        metrics,
        log,
      });
      upkeep.start();
      return new PeerDirectory({
        host,
        gossip,
        discovery,
        equivocations: network.equivocations,
        latencyNs: (peer) => network.latencyNs(peer),
        records,
        gate,
        protection,
        topics,
        chainId: Number(rollup.l2ChainId),
        nowSec,
        onPeerUnbanned,
      });
    },
    async close() {
      await upkeep?.close();
      await records.written();
      await store.close();
    },
  };
}

function toSubnet(text: string): Subnet {
  const subnet = parseSubnet(text.trim());
  if (subnet === undefined) throw new CodedError("peers/bad-subnet", { subnet: text });
  return subnet;
}

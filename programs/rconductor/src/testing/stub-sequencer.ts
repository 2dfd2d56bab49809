import {
  anyJson,
  createRpcServer,
  type MethodTable,
  method,
  optionalParam,
  RpcError,
  type SubscriptionSink,
  subscription,
} from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { testRollupConfigJson } from "@rnode/protocol/testing";
import { hashOf } from "./sample-payload.ts";

const ZERO = `0x${"00".repeat(32)}`;
/** A rollup node and its execution client at one address, of which only the head and the sequencer's state exist. */
export interface StubSequencer {
  readonly url: string;
  head: { number: number; hash: string };
  isActive: boolean;
  asksConductor: boolean;
  l2ChainId: number;
  peers: number;
  executionPeers: number;
  /** names the L1 blocks from `l1ReplacedFrom` on (`sampleOrigin`) */
  l1Branch: string;
  l1ReplacedFrom: number;
  /** the calls in order, without read-only ones */
  readonly calls: string[];
  /** the head becomes this one when a payload is posted */
  onPost: (envelope: { readonly executionPayload: { readonly blockNumber: string; readonly blockHash: string } }) => void;
  /** tells all who have subscribed to new heads */
  notify(head: unknown): void;
  /** how many have */
  readonly subscribers: number;
  close(): Promise<void>;
}

export async function startStubSequencer(): Promise<StubSequencer> {
  const ref = ({ number, hash }: StubSequencer["head"]) => ({
    hash,
    number,
    parentHash: ZERO,
    timestamp: Math.floor(Date.now() / 1000),
    l1origin: { hash: ZERO, number: 0 },
    sequenceNumber: 0,
  });
  const say = (text: string): never => {
    throw new RpcError(-32000, text);
  };
  const rollupConfig = () => testRollupConfigJson({ block_time: 1, l2_chain_id: stub.l2ChainId });
  const answers: Readonly<Record<string, (...given: readonly unknown[]) => unknown>> = {
    rnode_rollupConfig: rollupConfig,
    optimism_rollupConfig: rollupConfig,
    rnode_syncStatus: () => {
      const l1 = { hash: ZERO, number: 0, parentHash: ZERO, timestamp: 0 };
      const head = ref(stub.head);
      return { current_l1: l1, head_l1: l1, unsafe_l2: head, safe_l2: head, finalized_l2: head };
    },
    optimism_syncStatus: () => ({ of: stub.url }),
    optimism_outputAtBlock: (number) => ({ of: stub.url, number }),
    opp2p_peerStats: () => ({ connected: stub.peers }),
    net_peerCount: () => `0x${stub.executionPeers.toString(16)}`,
    admin_peers: () => Array.from({ length: stub.executionPeers }, (_, i) => ({ id: String(i) })),
    eth_blockNumber: () => `0x${stub.head.number.toString(16)}`,
    eth_chainId: () => "0x385",
    eth_getBlockByNumber: (number, isFull) => ({ number, isFull }),
    miner_setMaxDASize: (ofTransaction, ofBlock) => {
      stub.calls.push(`limits ${String(ofTransaction)} ${String(ofBlock)}`);
      return true;
    },
    admin_sequencerActive: () => stub.isActive,
    admin_conductorEnabled: () => stub.asksConductor,
    admin_l1BlockRef: (argument) => {
      const number = Number(argument);
      const hash = hashOf(`L1 ${number} ${number < stub.l1ReplacedFrom ? "" : stub.l1Branch}`);
      return { hash: bytesToHex(hash), number, parentHash: ZERO, timestamp: 0 };
    },
    admin_startSequencer: (hash) => {
      stub.calls.push(`start ${String(hash)}`);
      if (stub.isActive) say("sequencer already running");
      if (hash !== stub.head.hash) say(`block hash does not match: head ${stub.head.hash}, received ${String(hash)}`);
      stub.isActive = true;
      return null;
    },
    admin_stopSequencer: () => {
      stub.calls.push("stop");
      if (!stub.isActive) say("sequencer not running");
      stub.isActive = false;
      return stub.head.hash;
    },
    admin_postUnsafePayload: (envelope) => {
      stub.calls.push("post");
      stub.onPost(envelope as Parameters<StubSequencer["onPost"]>[0]);
      return null;
    },
  };
  const methods: MethodTable = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      method({ params: [optionalParam("a", anyJson), optionalParam("b", anyJson)], handler: (given) => answer(...given) }),
    ]),
  );
  const sinks = new Set<SubscriptionSink>();
  const newHeads = subscription({
    params: [],
    start: (_, sink) => {
      sinks.add(sink);
      return () => sinks.delete(sink);
    },
  });
  const at = { host: "127.0.0.1", port: 0 };
  const ws = { ...at, subscriptions: { eth: { newHeads } } };
  const server = createRpcServer({ http: at, ws, methods, log: silentLogger });
  const { httpPort } = await server.listen();
  const stub: StubSequencer = {
    url: `http://127.0.0.1:${httpPort}`,
    head: { number: 0, hash: testRollupConfigJson().genesis.l2.hash },
    isActive: false,
    asksConductor: true,
    l2ChainId: 901,
    peers: 2,
    executionPeers: 5,
    l1Branch: "",
    l1ReplacedFrom: 0,
    calls: [],
    onPost: ({ executionPayload }) => {
      stub.head = { number: Number(executionPayload.blockNumber), hash: executionPayload.blockHash };
    },
    notify: (head) => {
      for (const sink of sinks) sink.notify(head);
    },
    get subscribers() {
      return sinks.size;
    },
    close: () => server.close(),
  };
  return stub;
}

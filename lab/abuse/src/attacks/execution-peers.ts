import { createSocket } from "node:dgram";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address, AnswerPooled, HostileEthPeer, HostileV4Node } from "@rnode/devp2p/testing";
import { hexToBytes, keccak256, privateKeyToAddress } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { encodeTransaction } from "@rnode/protocol";
import type { Attacker } from "../attacker/attacker.ts";
import { MADE_UP_INTERNET, type MadeUpInternet } from "../attacker/made-up-internet.ts";
import { RENGINE, startProgram } from "../attacker/own-program.ts";
import { call, times } from "../attacker/requests.ts";
import { ask, nonceOf, toHex, transfer } from "../attacker/transfers.ts";
import { pause } from "../pause.ts";
import type { Attack, Prepared } from "./attack.ts";

/** Attacks on the network of execution clients. The verifier's client uses it by TCP, and by discovery on the same UDP port. */

/** Loaded by these attacks only. */
const kit = () => import("@rnode/devp2p/testing");

async function prepare(): Promise<Prepared> {
  await kit();
  return [];
}

/** Each withholds in its own way: answers with nothing at once, after 4 s, or not at all. */
const WITHHOLDING: readonly AnswerPooled[] = [
  async () => [],
  () => pause(4_000).then(() => []),
  () => new Promise<undefined>(() => {}),
];
const AGAIN_MS = 200;
/** Each peer that withholds may cost half a second, on a machine that has other work. */
const DELIVERY_LIMIT_MS = 15_000;
/**
 * A peer must be disconnected after repeating undelivered announcements this often in 12 s. The third variant is slow: it takes
 * three timeouts of 15 s.
 */
const MOST_ANNOUNCED_AGAIN = 60;

export const withheldTransactions: Attack = {
  name: "withheld-transactions",
  what: "3 devp2p peers announce a transaction first, deliver nothing and announce it again; an honest peer's must come through",
  bounds: { connections: 8 },
  prepare,
  async run(target, attacker) {
    const { HostileEthPeer: Peer } = await kit();
    const { verifierEnode, verifierHttp, l2ChainId } = target;
    const port = Number(verifierEnode.split(":").at(-1));
    const key = hexToBytes(target.peerPrivateKey);
    let announced: Parameters<HostileEthPeer["announce"]>[0] = [];
    const open = async (pooled: AnswerPooled): Promise<HostileEthPeer | undefined> => {
      const socket = await attacker.connect(port);
      const peer = socket && (await Peer.open(socket, verifierEnode).catch(() => undefined));
      void peer?.answer(pooled);
      return peer;
    };
    const withhold = async (pooled: AnswerPooled, index: number): Promise<void> => {
      while (!attacker.signal.aborted) {
        const peer = await open(pooled);
        // Data from other peers is no fault of this one, so it also announces non-existent transactions repeatedly.
        const invented = { hash: crypto.getRandomValues(new Uint8Array(32)), size: 110, type: 2 };
        for (let again = 0; peer?.isConnected === true && !attacker.signal.aborted; again++) {
          peer.announce([...announced, invented]);
          attacker.count("announcements");
          if (again > MOST_ANNOUNCED_AGAIN && index < 2) attacker.breach("a peer that delivers nothing stays connected");
          await attacker.pause(AGAIN_MS);
        }
        attacker.count("peers lost");
        await attacker.pause(AGAIN_MS); // the next one has another key
      }
    };
    const deliver = async (): Promise<void> => {
      let honest: HostileEthPeer | undefined;
      let current: Uint8Array = new Uint8Array(0);
      let nonce = await nonceOf(attacker, verifierHttp, privateKeyToAddress(key));
      while (!attacker.signal.aborted) {
        while (honest?.isConnected !== true && !attacker.signal.aborted) {
          honest = await open(async () => [current]);
          if (honest === undefined) await attacker.pause(AGAIN_MS);
        }
        current = encodeTransaction(transfer(l2ChainId, key, nonce++));
        const announcement = { hash: keccak256(current), size: current.length, type: current[0]! };
        announced = [announcement];
        await attacker.pause(5 * AGAIN_MS); // all the others got requests first
        honest?.announce(announced);
        await mustArrive(announcement.hash);
      }
    };
    const mustArrive = async (hash: Uint8Array): Promise<void> => {
      const limitMs = performance.now() + DELIVERY_LIMIT_MS;
      while (!attacker.signal.aborted) {
        const answer = await ask(attacker, verifierHttp, call("eth_getTransactionByHash", [toHex(hash)]));
        if (answer?.includes(toHex(hash)) === true) return attacker.count("transactions delivered");
        if (performance.now() > limitMs) return attacker.breach("an honest peer's transaction was not asked for in 15 s");
        await attacker.pause(50);
      }
    };
    await Promise.all([...WITHHOLDING.map(withhold), deliver()]);
  },
};

const FLOOD_KEYS = 200;
/** The node takes 60 packets of an address at once and then 20 a second: half of them are left for answers. */
const FIRST_PINGS = 30;
const PING_MS = 100;
const NEIGHBOURS = 12;
/**
 * A walk sends requests to at most 24 nodes, and begins 5 s after the previous one ended; pinging keys also get requests, 16 per
 * address.
 */
const MOST_ASKED = (seconds: number): number => 16 + 24 * (1 + seconds / 5);
const NEWCOMERS = 5;
/** A new node gets a record request after a second, and is dialled within another one or two. */
const NEWCOMER_MS = 3_500;
/** Late answers of this attacker are ignored: only with this number of answers must the node have dialled. */
const ENOUGH_RECORDS = 3;

export const dialPlanFlood: Attack = {
  name: "dial-plan-flood",
  what: "one address with 200 discv4 keys and ever new records, whose TCP port says nothing, beside a newcomer that must be dialled",
  bounds: { connections: 1 },
  prepare,
  async run({ verifierEnode }, attacker) {
    const { HostileV4Node: Node, forkIdOfRecord, recordOfNewKey, parseEnode } = await kit();
    const { host, udpPort } = parseEnode(verifierEnode);
    // Always other addresses, because the node counts the keys of an address. The scout requests the node's record, which has its
    // chain.
    const network = `127.0.${1 + attacker.random(254)}`;
    const [flooder, newcomerIp, scoutIp] = [`${network}.1`, `${network}.2`, `${network}.3`];
    const victim: Address = { ip: host, port: udpPort };
    const sinks = await Promise.all([listenAt(flooder), listenAt(newcomerIp)]);
    const [flooded, newcomer] = sinks;
    const nodes = await Promise.all(times(FLOOD_KEYS, () => Node.open(flooder, flooded.port)));
    const newcomers: HostileV4Node[] = [];
    const scout = await Node.open(scoutIp);
    try {
      const forkId = forkIdOfRecord(await recordOf(scout, victim, attacker));
      const fromMs = performance.now();
      const asked = new Set<HostileV4Node>();
      for (const node of nodes) {
        node.onMessage = (message, hash, from) => {
          if (message.kind !== "pong") asked.add(node);
          if (message.kind === "find-node") {
            const neighbours = times(NEIGHBOURS, () => nodes[attacker.random(nodes.length)]!.node);
            node.say({ kind: "neighbours", nodes: neighbours }, from);
          } else if (message.kind === "record-request") {
            attacker.count("records");
            const record = recordOfNewKey(forkId, flooder, flooded.port, node.node.udpPort);
            node.say({ kind: "record", requestHash: hash, record }, from);
          }
        };
      }
      const flood = async (): Promise<void> => {
        for (let at = 0; !attacker.signal.aborted; at++) {
          nodes[at % nodes.length]!.ping(victim);
          attacker.count("pings");
          await attacker.pause(at < FIRST_PINGS ? 0 : PING_MS);
        }
      };
      // New nodes come one after the other, each with its own key, because an answer can be late on a busy machine.
      const join = async (): Promise<void> => {
        let given = 0;
        const isOver = (): boolean => newcomer.connections() > 0 || attacker.signal.aborted;
        for (let tried = 0; tried < NEWCOMERS && !isOver(); tried++) {
          const node = await Node.open(newcomerIp, newcomer.port);
          newcomers.push(node);
          const record = recordOfNewKey(forkId, newcomerIp, newcomer.port, node.node.udpPort);
          node.onMessage = (message, hash, from) => {
            if (message.kind === "find-node") node.say({ kind: "neighbours", nodes: [] }, from);
            if (message.kind !== "record-request") return;
            given++;
            node.say({ kind: "record", requestHash: hash, record }, from);
          };
          node.ping(victim);
          for (let waitedMs = 0; waitedMs < NEWCOMER_MS && !isOver(); waitedMs += 100) await attacker.pause(100);
        }
        attacker.count("newcomers dialled", newcomer.connections());
        if (!isOver() && (given === 0 || given >= ENOUGH_RECORDS))
          attacker.breach(`none of ${NEWCOMERS} newcomers was dialled, which were asked for ${given} records`);
      };
      await Promise.all([flood(), join()]);
      attacker.count("keys asked", asked.size);
      attacker.count("dials of the flooder", flooded.connections());
      const most = MOST_ASKED((performance.now() - fromMs) / 1_000);
      if (asked.size > most) attacker.breach(`${asked.size} keys of one address were asked, at most ${Math.ceil(most)} expected`);
    } finally {
      for (const node of [...nodes, ...newcomers, scout]) node.close();
      for (const sink of sinks) sink.close();
    }
  },
};

/** Repeats the request until the node's record comes: the address must be proved first. */
async function recordOf(node: HostileV4Node, victim: Address, attacker: Attacker): Promise<Uint8Array> {
  let record: Uint8Array | undefined;
  node.onMessage = (message) => {
    if (message.kind === "record") record = message.record;
  };
  while (record === undefined) {
    if (attacker.signal.aborted) throw new Error("the node's record did not come");
    node.ping(victim);
    await attacker.pause(200);
    node.say({ kind: "record-request" }, victim);
    await attacker.pause(200);
  }
  return record;
}

/** A TCP port that accepts and counts connections, and stays silent. */
async function listenAt(ip: string): Promise<{ readonly port: number; connections(): number; close(): void }> {
  let count = 0;
  const server: Server = createServer((socket) => {
    count++;
    socket.on("error", () => {});
    socket.unref();
  });
  await new Promise<void>((resolve) => server.listen(0, ip, resolve));
  return { port: (server.address() as AddressInfo).port, connections: () => count, close: () => void server.close() };
}

/** A stranger on the internet, and a node there that it may name. */
const STRANGER = { public: "8.8.8.8", loopback: "127.0.0.203" };
const NAMED = { public: "9.9.9.9", loopback: "127.0.0.204" };
/** None of them may get a packet because a remote node names it. */
const FORBIDDEN = [
  ...["127.0.0.1", "127.0.0.53", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"],
  ...["0.0.0.0", "224.0.0.1", "239.255.255.250", "255.255.255.255", "192.0.2.1", "198.18.0.1"],
];
const WALK_LIMIT_MS = 45_000;
/** A key of no node: requests for it get no answer. */
const randomKey = (): Uint8Array => crypto.getRandomValues(new Uint8Array(64));

export const relayedNeighbours: Attack = {
  name: "relayed-neighbours",
  what: "a stranger tells an execution client by discv4 of nodes at loopback, private, link-local and multicast addresses",
  bounds: { connections: 1 },
  prepare,
  async run({ l2ChainFile }, attacker) {
    const { HostileV4Node: Node } = await kit();
    const folder = mkdtempSync(join(tmpdir(), "rnode-abuse-relay-"));
    const [port, authPort, reportPort] = [await freePort(), await freePort(), await freePort()];
    const [stranger, named] = await Promise.all([Node.open(STRANGER.loopback), Node.open(NAMED.loopback)]);
    const hosts = { [STRANGER.public]: STRANGER.loopback, [NAMED.public]: NAMED.loopback };
    // The program's datagrams to other addresses come here instead.
    const report = createSocket("udp4");
    await new Promise<void>((resolve) => report.bind(reportPort, "127.0.0.1", resolve));
    const network = ["--addr=127.0.0.1", `--port=${port}`, "--nat=none", `--authrpc.port=${authPort}`];
    const child = startProgram(RENGINE, [`--chain=${l2ChainFile}`, `--datadir=${folder}`, ...network], {
      env: {
        NODE_OPTIONS: `--import=${new URL("../attacker/made-up-internet.js", import.meta.url).href}`, // in its threads as well
        [MADE_UP_INTERNET]: JSON.stringify({ hosts, reportPort } satisfies MadeUpInternet),
      },
    });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const victim: Address = { ip: "127.0.0.1", port };
    try {
      let wasNamedAsked = false;
      report.on("message", (where) => attacker.breach(`a packet to ${where.toString()}, which a stranger named`));
      named.onMessage = () => {
        wasNamedAsked = true;
      };
      stranger.onMessage = (message, _hash, from) => {
        if (message.kind !== "find-node") return;
        attacker.count("walks");
        const good = { ...named.node, ip: NAMED.public };
        const bad = FORBIDDEN.map((ip) => ({ ip, udpPort: 30_303, tcpPort: 30_303, publicKey: randomKey() }));
        const lowPort = { ...good, udpPort: 53, publicKey: randomKey() };
        for (const nodes of [bad.slice(0, 8), [...bad.slice(8), lowPort, good]]) stranger.say({ kind: "neighbours", nodes }, from);
      };
      // A node sends requests for nodes some seconds after the first contact. The test waits for that, regardless of the attack's
      // time.
      const limitMs = performance.now() + WALK_LIMIT_MS;
      while (performance.now() < limitMs && !(wasNamedAsked && attacker.signal.aborted)) {
        stranger.ping(victim);
        await pause(200);
      }
      if (!wasNamedAsked)
        attacker.breach("a node on the internet that a stranger named was not asked: the attack did not take place");
    } finally {
      for (const node of [stranger, named]) node.close();
      report.close();
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

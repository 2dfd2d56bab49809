import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { anyJson, createJwt, createRpcClient, createRpcServer, method, param, type RpcClient, RpcError } from "@rnode/jsonrpc";
import { WebSocket } from "@rnode/jsonrpc/testing";
import { silentLogger } from "@rnode/observe";
import {
  bytesToHex,
  type Hex,
  hexToBytes,
  keccak256,
  parseQuantityNumber,
  privateKeyToAddress,
  toQuantity,
} from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import {
  decodeTransaction,
  encodeMessageAccess,
  encodeTransaction,
  forksUpTo,
  genesisForkTimesToJson,
  isDepositTransaction,
  type L1BlockRef,
  logFromRpc,
  type MessageIdentifier,
  messageChecksum,
  messageHash,
  PREDEPLOYS,
  type RollupConfig,
  replacedOutput,
  rollupConfigToJson,
  signTransaction,
} from "@rnode/protocol";
import type { ManagedEventJson } from "@rnode/rnode";
import { afterEach, describe, expect, it } from "vitest";
import { INTEROP_CONTRACTS, MESSAGE_EMITTER } from "./interop-contracts.ts";
import { configOf, planOf, USER_ADDRESS, USER_KEY } from "./plan.ts";
import { genesisFields, realGenesisHash } from "./real-engine.ts";
import { type NodeLink, SimSupervisor, validateMessageCalldata } from "./sim-supervisor.ts";

// What one process cannot show: the built programs over sockets. `RNODE_INTEROP_PROCESSES=1`; most of a minute.

const { RNODE_INTEROP_PROCESSES: WANTED } = process.env;
const LIMIT_MS = 60_000;
const bin = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const RENGINE = bin("programs/rengine/bin/rengine.js");
const RNODE = bin("programs/rnode/bin/rnode.js");
const RBATCHER = bin("programs/rbatcher/bin/rbatcher.js");

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
}, LIMIT_MS);

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const endMs = performance.now() + LIMIT_MS;
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found !== undefined && found !== false) return found;
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(100);
  }
}

function clientOf(url: string, jwtSecret?: Uint8Array): RpcClient {
  const client = createRpcClient({ url, jwtSecret });
  closers.push(() => client.close());
  return client;
}

/** A folder with what programs need, and the programs. */
class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), "rnode-interop-"));

  file(name: string, content: object | string): string {
    const path = join(this.folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
    return path;
  }

  path(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  start(name: string, args: readonly string[]): ChildProcess {
    const log = openSync(join(this.folder, `${name}.log`), "a");
    const child = spawn(process.execPath, args, { stdio: ["ignore", log, log], cwd: this.folder });
    closeSync(log);
    closers.push(async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await exited;
      clearTimeout(timer);
    });
    return child;
  }

  async run(name: string, args: readonly string[]): Promise<void> {
    const child = this.start(name, args);
    const [code] = (await once(child, "exit")) as [number];
    if (code !== 0) throw new Error(`${name} ended with code ${code}: ${readFileSync(join(this.folder, `${name}.log`), "utf8")}`);
  }
}

/** As supervisors connect: one WebSocket for requests, one for events, each with a token. */
async function linkOver(url: string, secret: Uint8Array): Promise<NodeLink> {
  const rpc = clientOf(url, secret);
  await until(`the interop server at ${url}`, () => rpc.call<string>("interop_chainID"));
  return {
    call: (name, ...params) => rpc.call(`interop_${name}`, params),
    subscribe: (hear) => {
      const authorization = `Bearer ${createJwt(secret, Math.floor(Date.now() / 1000))}`;
      const socket = new WebSocket(url, { headers: { authorization } });
      closers.push(() => socket.terminate());
      socket.on("open", () => socket.send('{"jsonrpc":"2.0","id":1,"method":"interop_subscribe","params":["events"]}'));
      socket.on("message", (text: Buffer) => {
        type Told = { method?: string; params?: { result: { data: ManagedEventJson } } };
        const { method: name, params } = JSON.parse(text.toString()) as Told;
        if (name !== "interop_subscription") return;
        const absent = {
          reset: null,
          unsafeBlock: null,
          derivationUpdate: null,
          exhaustL1: null,
          replaceBlock: null,
          derivationOriginUpdate: null,
        };
        hear({ ...absent, ...params!.result.data });
      });
    },
  };
}

interface Chain {
  readonly id: bigint;
  readonly engine: RpcClient;
  readonly node: RpcClient;
  readonly link: NodeLink;
}
type Label = "unsafe_l2" | "cross_unsafe_l2" | "local_safe_l2" | "safe_l2";
const labels = ({ node }: Chain) => node.call<Record<Label, { hash: Hex; number: number }>>("optimism_syncStatus");

describe.skipIf(WANTED === undefined)("two rnodes and two rengines under one supervisor", () => {
  it("call blocks with messages of each other safe, and replace the one whose message does not exist", {
    timeout: 180_000,
  }, async () => {
    const startedMs = performance.now();
    const place = new Workshop();
    const l1Port = await freePort();
    const l1Url = `http://127.0.0.1:${l1Port}`;
    const l1Args = [
      "--dev.chain-id=900",
      "--dev.fork=prague",
      "--dev.block-time=1s",
      "--dev.slot-time=1",
      "--dev.slots-in-an-epoch=4",
    ];
    place.start("l1", [
      RENGINE,
      "--dev",
      `--datadir=${place.path("l1")}`,
      "--http.addr=127.0.0.1",
      `--http.port=${l1Port}`,
      ...l1Args,
    ]);
    const l1 = clientOf(l1Url);
    const refOf = async (block: Hex | "finalized"): Promise<L1BlockRef | undefined> => {
      type Block = { hash: Hex; parentHash: Hex; number: Hex; timestamp: Hex };
      const found = await l1.call<Block | null>("eth_getBlockByNumber", [block, false]);
      if (found === null) return undefined;
      const [number, timestamp] = [found.number, found.timestamp].map(parseQuantityNumber) as [number, number];
      return { hash: found.hash, parentHash: found.parentHash, number, timestamp };
    };
    const blockAt = (number: number) => refOf(toQuantity(number));
    const genesis = (await until("L1", () => blockAt(0)))!;

    // The pools ask it. It lets all pass, until the supervisor has found a message invalid: then it refuses that one.
    const checked: Hex[][] = [];
    const refused = new Set<Hex>();
    let isKnownInvalid = false;
    let wrongChecksum: Hex = "0x";
    const checks = createRpcServer({
      http: { host: "127.0.0.1", port: 0 },
      methods: {
        supervisor_checkAccessList: method({
          params: [param("keys", anyJson), param("minSafety", anyJson), param("executing", anyJson)],
          handler: ([keys]) => {
            checked.push(keys as Hex[]);
            const unknown = isKnownInvalid ? checked.at(-1)!.find((key) => key === wrongChecksum) : undefined;
            if (unknown === undefined) return null;
            refused.add(unknown);
            throw new RpcError(-320600, "conflicting data");
          },
        }),
      },
      log: silentLogger,
    });
    const { httpPort: checksPort } = await checks.listen();
    closers.push(() => checks.close());
    const dependencies = place.file("dependencies.json", { dependencies: { 901: {}, 902: {} } });
    const l1Config = place.file("l1-chain.json", L1_CONFIG);

    const startChain = async (id: bigint): Promise<Chain> => {
      const tag = Number(id & 0xffn);
      const batcherKey = new Uint8Array(32).fill(tag);
      await l1.call("anvil_setBalance", [bytesToHex(privateKeyToAddress(batcherKey)), toQuantity(10n ** 21n)]);
      const base = configOf(
        { ...planOf(1, { hasUpgradeCode: false }), engine: "simulated", forkTimes: forksUpTo("interop") },
        genesis,
      );
      const { systemConfig } = base.genesis;
      const unsealed: RollupConfig = {
        ...base,
        blockTimeSec: 1,
        seqWindowSize: 100,
        maxSequencerDriftSec: 600,
        channelTimeoutL1Blocks: 50,
        l2ChainId: id,
        batchInboxAddress: new Uint8Array(20).fill(tag),
        genesis: {
          ...base.genesis,
          l2TimeSec: genesis.timestamp,
          systemConfig: { ...systemConfig, batcherAddress: privateKeyToAddress(batcherKey) },
        },
      };
      const hash = realGenesisHash(unsealed, USER_ADDRESS, INTEROP_CONTRACTS);
      const config: RollupConfig = { ...unsealed, genesis: { ...unsealed.genesis, l2: { hash, number: 0 } } };
      const chain = place.file(`genesis-${id}.json`, {
        config: { chainId: Number(id), ...MERGED, ...genesisForkTimesToJson(config.forkTimes), optimism: config.chainOpConfig },
        ...genesisFields(config, USER_ADDRESS, INTEROP_CONTRACTS),
      });
      const rollup = place.file(`rollup-${id}.json`, rollupConfigToJson(config));
      const secret = new Uint8Array(32).fill(tag);
      const jwt = place.file(`jwt-${id}.hex`, bytesToHex(secret));
      const [http, auth, rpc, interop] = [await freePort(), await freePort(), await freePort(), await freePort()];
      const at = (port: number): string => `http://127.0.0.1:${port}`;
      const datadir = place.path(`engine-${id}`);
      await place.run(`init-${id}`, [RENGINE, "init", `--chain=${chain}`, `--datadir=${datadir}`]);
      place.start(`rengine-${id}`, [
        ...[RENGINE, `--chain=${chain}`, `--datadir=${datadir}`, "--max-peers=0"],
        ...["--http", "--http.addr=127.0.0.1", `--http.port=${http}`, "--http.api=eth"],
        ...["--authrpc.addr=127.0.0.1", `--authrpc.port=${auth}`, `--authrpc.jwtsecret=${jwt}`],
        `--rollup.supervisor-http=http://127.0.0.1:${checksPort}`,
      ]);
      place.start(`rnode-${id}`, [
        ...[RNODE, `--l1=${l1Url}`, "--l1.beacon.ignore", "--l1.http-poll-interval=500ms", "--l1.epoch-poll-interval=2s"],
        ...[`--rollup.config=${rollup}`, `--rollup.l1-chain-config=${l1Config}`, `--l2=${at(auth)}`, `--l2.jwt-secret=${jwt}`],
        ...["--p2p.disable", "--rpc.addr=127.0.0.1", `--rpc.port=${rpc}`, "--sequencer.enabled", "--sequencer.l1-confs=0"],
        ...["--interop.rpc.addr=127.0.0.1", `--interop.rpc.port=${interop}`, `--interop.jwt-secret=${jwt}`],
        `--interop.dependency-set=${dependencies}`,
      ]);
      const node = clientOf(at(rpc));
      const link = await linkOver(`ws://127.0.0.1:${interop}`, secret);
      place.start(`rbatcher-${id}`, [
        ...[RBATCHER, `--l1-eth-rpc=${l1Url}`, `--l2-eth-rpc=${at(auth)}`, `--l2-jwt-secret=${jwt}`, `--rollup-rpc=${at(rpc)}`],
        ...[`--private-key-file=${place.file(`batcher-${id}.hex`, bytesToHex(batcherKey))}`, "--rpc.addr=127.0.0.1"],
        ...[`--rpc.port=${await freePort()}`, "--poll-interval=500ms", "--max-channel-duration=1", "--sub-safety-margin=2"],
        ...["--num-confirmations=1", "--txmgr.receipt-query-interval=300ms", "--data-availability-type=calldata"],
      ]);
      return { id, engine: clientOf(at(http)), node, link };
    };
    const [a, b] = await Promise.all([startChain(901n), startChain(902n)]);

    const invalid: string[] = [];
    let isOver = false;
    closers.push(() => (isOver = true));
    const supervisor = new SimSupervisor({
      l1: {
        blockAt,
        finalizedNumber: async () => (await refOf("finalized"))?.number ?? 0,
        isCanonical: async ({ number, hash }) => (await blockAt(number))?.hash === hash,
      },
      clock: { after: (ms, act) => setTimeout(() => isOver || act(), ms) },
      onInvalid: (chainId, number) => {
        isKnownInvalid = true;
        invalid.push(`${chainId} ${number}`);
      },
    });
    for (const { id, link } of [a, b]) supervisor.add(`node ${id}`, id, link);
    supervisor.start();
    closers.push(() => supervisor.stop());

    const nonces = new Map<bigint, bigint>();
    /** @returns the number of the block that has it */
    const send = async ({ id, engine }: Chain, to: Uint8Array, data: Uint8Array, storageKeys: Uint8Array[] = []) => {
      const nonce = nonces.get(id) ?? 0n;
      nonces.set(id, nonce + 1n);
      const accessList = storageKeys.length === 0 ? [] : [{ address: PREDEPLOYS.crossL2Inbox, storageKeys }];
      const fees = { maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n, gasLimit: 200_000n };
      const tx = { type: 2 as const, chainId: id, ...fees, nonce, to, value: 0n, data, accessList };
      const hash = await until(`a pool that takes it on ${id}`, () =>
        engine.call<Hex>("eth_sendRawTransaction", [bytesToHex(encodeTransaction(signTransaction(tx, USER_KEY)))]),
      );
      const receipt = await until(`its receipt on ${id}`, async () => {
        type Receipt = { blockNumber: Hex; blockHash: Hex; status: Hex; logs: unknown[] };
        return (await engine.call<Receipt | null>("eth_getTransactionReceipt", [hash])) ?? undefined;
      });
      expect(receipt.status).toBe("0x1");
      return { ...receipt, number: parseQuantityNumber(receipt.blockNumber) };
    };
    const initiated = async (chain: Chain, data: Uint8Array): Promise<{ id: MessageIdentifier; payloadHash: Uint8Array }> => {
      const { number, logs } = await send(chain, MESSAGE_EMITTER, data);
      const log = logFromRpc(logs[0]);
      const { timestamp } = await chain.engine.call<{ timestamp: Hex }>("eth_getBlockByNumber", [toQuantity(number), false]);
      const at = { origin: MESSAGE_EMITTER, blockNumber: BigInt(number), logIndex: log.logIndex, chainId: chain.id };
      return { id: { ...at, timestamp: BigInt(timestamp) }, payloadHash: messageHash(log) };
    };
    const execute = (chain: Chain, { id, payloadHash }: { id: MessageIdentifier; payloadHash: Uint8Array }) =>
      send(
        chain,
        PREDEPLOYS.crossL2Inbox,
        validateMessageCalldata({ ...id, blockNumber: Number(id.blockNumber), timestamp: Number(id.timestamp) }, payloadHash),
        encodeMessageAccess({ ...id, checksum: messageChecksum(id, payloadHash) }),
      );

    const [fromA, fromB] = [await initiated(a, Uint8Array.of(1, 2, 3)), await initiated(b, Uint8Array.of(4, 5))];
    const [onB, onA] = await Promise.all([execute(b, fromA), execute(a, fromB)]);
    expect(checked.length).toBeGreaterThanOrEqual(2);
    for (const [chain, block] of [
      [a, onA],
      [b, onB],
    ] as const) {
      await until(
        `block ${block.number} of ${chain.id} to be safe`,
        async () => (await labels(chain)).safe_l2.number >= block.number,
      );
      const found = await chain.engine.call<{ hash: Hex }>("eth_getBlockByNumber", [block.blockNumber, false]);
      expect(found.hash).toBe(block.blockHash);
    }
    expect(invalid).toEqual([]);

    const nowhere = { ...fromA, payloadHash: keccak256(Uint8Array.of(9)) };
    wrongChecksum = bytesToHex(messageChecksum(nowhere.id, nowhere.payloadHash));
    const wrong = await execute(b, nowhere);
    await until("the block after the replacement to be safe", async () => {
      const { safe_l2: safe } = await labels(b);
      return safe.number > wrong.number;
    });
    expect(new Set(invalid)).toEqual(new Set([`902 ${wrong.number}`]));
    expect([...refused]).toEqual([wrongChecksum]); // by the pool that got the transaction back
    const member = supervisor.members.find(({ chainId }) => chainId === 902n)!;
    type Full = { hash: Hex; transactions: Hex[] };
    const replacement = await b.engine.call<Full>("eth_getBlockByNumber", [wrong.blockNumber, false]);
    expect(member.replaced).toEqual([{ number: wrong.number, invalidated: wrong.blockHash, replacement: replacement.hash }]);
    const raw = await Promise.all(
      replacement.transactions.map((hash) => b.engine.call<Hex>("eth_getRawTransactionByHash", [hash])),
    );
    const transactions = raw.map((transaction) => hexToBytes(transaction));
    expect(transactions.every(isDepositTransaction)).toBe(true);
    expect(transactions.map(decodeTransaction)).toHaveLength(2); // of L1's attributes, and of what was replaced
    expect(bytesToHex(replacedOutput(transactions)!.blockHash)).toBe(wrong.blockHash);
    const status = await labels(a);
    expect(status.safe_l2.number).toBeGreaterThan(onA.number);
    expect(status.cross_unsafe_l2.number).toBeGreaterThanOrEqual(status.safe_l2.number);
    console.log(
      `${((performance.now() - startedMs) / 1000).toFixed(0)} s: block ${wrong.number} of 902 replaced, ${checked.length} checks of pools`,
    );
  });
});

/** Of the L1: its blob schedule says what blobs cost there. */
const L1_CONFIG = {
  chainId: 900,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  },
};
const MERGED = { londonBlock: 0, mergeNetsplitBlock: 0, terminalTotalDifficulty: 0, bedrockBlock: 0 };

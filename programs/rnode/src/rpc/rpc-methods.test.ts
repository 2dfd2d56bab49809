import { createRpcClient, createRpcServer } from "@rnode/jsonrpc";
import { L1Error } from "@rnode/l1";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, CodedError, type Hex } from "@rnode/primitives";
import { envelopeToJson, outputRoot, rollupConfigToJson } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headsAfterReset } from "../common/heads.ts";
import { L1View } from "../derive/l1-view.ts";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import type { Offered } from "../unsafe/unsafe-inbox.ts";
import { adminMethods, type NodeAdminApi, type Replaced, rollupMethods, type StartRefusal } from "./rpc-methods.ts";
import { knownHeadOf, syncStatusToJson } from "./sync-status.ts";

const config = testConfig();
const l1 = new FakeL1(5);
const engine = new FakeEngine(config);
const genesis = engine.block(engine.head);
const one = engine.make(genesis.ref, attributesOn(config, genesis.ref, l1.blocks[0]!));
engine.head = one.ref.hash;
const ZERO = `0x${"00".repeat(32)}`;

const view = new L1View();
view.update("latest", l1.blocks[4]!);
view.update("finalized", l1.blocks[1]!);
const status = () =>
  syncStatusToJson({
    heads: headsAfterReset({ unsafe: one.ref, safe: genesis.ref, finalized: genesis.ref, base: genesis.ref }),
    l1: view,
    currentL1: l1.blocks[3],
    queuedUnsafe: undefined,
  });

it("compares the unsafe head with the newest block that the node has heard of", () => {
  const heads = headsAfterReset({ unsafe: one.ref, safe: genesis.ref, finalized: genesis.ref, base: genesis.ref });
  const { number, timestamp } = one.ref;
  const head = { number, timestampSec: timestamp };
  expect(knownHeadOf(undefined, [])).toBeUndefined();
  expect(knownHeadOf(heads, [undefined, genesis.ref])).toEqual({ ...head, target: number });
  expect(knownHeadOf(heads, [{ ...one.ref, number: number + 500 }, one.ref])).toEqual({ ...head, target: number + 500 });
});

describe("the RPC of rnode", () => {
  const asked: unknown[] = [];
  let refusal: StartRefusal | undefined;
  let conductor: { overrideLeader(): void } | undefined;
  let busy: CodedError | undefined;
  let offered: Offered = { kind: "queued" };
  let replaced: Replaced = { kind: "replaced" };
  const adminApi: NodeAdminApi = {
    hasSequencer: true,
    isSequencerActive: () => true,
    startSequencer: async (head) => {
      if (busy !== undefined) throw busy;
      asked.push(["start", head]);
      return refusal;
    },
    stopSequencer: async () => {
      if (busy !== undefined) throw busy;
      return refusal?.kind === "not-running" ? refusal : { kind: "stopped", head: one.ref.hash };
    },
    get conductor() {
      return conductor;
    },
    setRecoverMode: async (isOn) => {
      if (busy !== undefined) throw busy;
      asked.push(["recover", isOn]);
    },
    resetDerivationPipeline: () => asked.push("reset"),
    postUnsafePayload: (envelope) => {
      asked.push(["payload", envelope.executionPayload.blockNumber]);
      return offered;
    },
    replaceUnsafePayload: async (envelope) => {
      if (busy !== undefined) throw busy;
      asked.push(["replace", envelope.executionPayload.blockNumber]);
      return replaced;
    },
    l1BlockRef: async (number) => {
      if (number === 13) throw new L1Error("l1/unavailable", { what: "block 13" });
      return l1.blocks[number];
    },
    parseLogLevel: (text) => (text === "debug" ? "debug" : undefined),
    setLogLevel: (level) => asked.push(["level", level]),
  };
  const recorded = { l1Block: { hash: l1.blocks[2]!.hash, number: 2 }, safeHead: { hash: one.ref.hash, number: 1 } };
  const refused = [{ block: one.ref, cause: "l1-origin", reason: "its L1 origin is not on L1", time: 1_700_000_000 }] as const;
  let recordFault: CodedError | undefined;
  const node = rollupMethods(
    { fetchWithdrawalRootFromState: false },
    {
      safeHeads: {
        isEnabled: true,
        at: (number) => {
          if (recordFault !== undefined) throw recordFault;
          return number >= 2 ? recorded : undefined;
        },
      },
      config,
      dependencySet: { chainIds: [901n, 902n], expiryWindowSec: 604_800 },
      version: "v1.2.3",
      syncStatus: status,
      refusedBlocks: () => refused,
      l2: {
        blockByNumber: (number) => engine.blockByNumber(number),
        messagePasserStorageRoot: async () => new Uint8Array(32).fill(9),
      },
    },
  );
  const fromState = rollupMethods(
    { fetchWithdrawalRootFromState: true },
    {
      safeHeads: { isEnabled: false, at: () => undefined },
      config,
      version: "v1.2.3",
      syncStatus: status,
      refusedBlocks: () => refused,
      l2: {
        blockByNumber: (number) => engine.blockByNumber(number),
        messagePasserStorageRoot: async () => new Uint8Array(32).fill(9),
      },
    },
  );
  const servers = {
    all: createRpcServer({
      http: { host: "127.0.0.1", port: 0 },
      methods: { ...node, ...adminMethods(adminApi) },
      log: silentLogger,
    }),
    public: createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods: fromState, log: silentLogger }),
    verifier: createRpcServer({
      http: { host: "127.0.0.1", port: 0 },
      methods: adminMethods({ ...adminApi, hasSequencer: false }),
      log: silentLogger,
    }),
  };
  const clients = new Map<keyof typeof servers, ReturnType<typeof createRpcClient>>();
  const call = (method: string, params: unknown[] = [], server: keyof typeof servers = "all"): Promise<unknown> =>
    clients.get(server)!.call(method, params);

  beforeAll(async () => {
    for (const [name, server] of Object.entries(servers) as [keyof typeof servers, (typeof servers)["all"]][]) {
      const { httpPort } = await server.listen();
      clients.set(name, createRpcClient({ url: `http://127.0.0.1:${httpPort}` }));
    }
  });
  afterAll(async () => {
    for (const client of clients.values()) await client.close();
    for (const server of Object.values(servers)) await server.close();
  });

  it("answers the sync status with every key, zero refs for what is not known, and l1origin in lower case", async () => {
    const answer = (await call("rnode_syncStatus")) as Record<string, Record<string, unknown>>;
    expect(await call("optimism_syncStatus")).toEqual(answer);
    expect(Object.keys(answer).sort()).toEqual(
      [
        "current_l1",
        "current_l1_finalized",
        "head_l1",
        "safe_l1",
        "finalized_l1",
        "unsafe_l2",
        "safe_l2",
        "finalized_l2",
        "pending_safe_l2",
        "local_safe_l2",
        "queued_unsafe_l2",
        "engine_sync_target",
      ].sort(),
    );
    expect(answer.head_l1).toEqual({
      hash: l1.blocks[4]!.hash,
      number: 4,
      parentHash: l1.blocks[3]!.hash,
      timestamp: l1.blocks[4]!.timestamp,
    });
    expect(answer.current_l1?.number).toBe(3);
    expect(answer.safe_l1).toEqual({ hash: ZERO, number: 0, parentHash: ZERO, timestamp: 0 });
    expect(answer.unsafe_l2).toEqual({
      hash: one.ref.hash,
      number: 1,
      parentHash: genesis.ref.hash,
      timestamp: one.ref.timestamp,
      l1origin: { hash: l1.blocks[0]!.hash, number: 0 },
      sequenceNumber: 1,
    });
    expect(answer.queued_unsafe_l2).toEqual({
      hash: ZERO,
      number: 0,
      parentHash: ZERO,
      timestamp: 0,
      l1origin: { hash: ZERO, number: 0 },
      sequenceNumber: 0,
    });
  });

  it("answers output roots: an array for us, an object upstream", async () => {
    const expected = (storageRoot: Uint8Array): Hex =>
      bytesToHex(
        outputRoot({
          stateRoot: one.header.stateRoot,
          messagePasserStorageRoot: storageRoot,
          blockHash: one.envelope.executionPayload.blockHash,
        }),
      );
    const inHeader = one.header.withdrawalsRoot!;
    expect(await call("rnode_outputAtBlock", ["0x1"])).toEqual([ZERO, expected(inHeader)]);
    expect(await call("rnode_outputAtBlock", ["0x1"], "public")).toEqual([ZERO, expected(new Uint8Array(32).fill(9))]);
    expect(await call("optimism_outputAtBlock", ["0x1"])).toMatchObject({
      version: ZERO,
      outputRoot: expected(inHeader),
      blockRef: { number: 1, l1origin: { number: 0 } },
      withdrawalStorageRoot: bytesToHex(inHeader),
      stateRoot: bytesToHex(one.header.stateRoot),
      syncStatus: { unsafe_l2: { number: 1 } },
    });
    await expect(call("rnode_outputAtBlock", ["0x9"])).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(/^failed to get L2 block ref with sync status: /),
    });
    await expect(call("rnode_outputAtBlock", [])).rejects.toMatchObject({ code: -32602 });
    await expect(call("rnode_outputAtBlock", [1])).rejects.toMatchObject({ code: -32602 });
  });

  it("lists the unsafe blocks that were refused", async () => {
    const [{ cause, reason, time }] = refused;
    expect(await call("rnode_refusedUnsafeBlocks")).toMatchObject([
      { block: { hash: one.ref.hash, number: 1 }, cause, reason, time },
    ]);
  });

  it("answers with the recorded safe head, or says why it cannot", async () => {
    for (const namespace of ["rnode", "optimism"]) {
      expect(await call(`${namespace}_safeHeadAtL1Block`, ["0x3"])).toEqual(recorded);
      await expect(call(`${namespace}_safeHeadAtL1Block`, ["0x1"])).rejects.toMatchObject({ code: -32000, message: "not found" });
    }
    recordFault = new CodedError("safe-heads/invalid-db-entry", { row: "0x00" });
    await expect(call("rnode_safeHeadAtL1Block", ["0x2"])).rejects.toMatchObject({
      message: "failed to get safe head at l1 block 0x2: invalid db entry",
    });
    recordFault = undefined;
  });

  it("answers configuration and version, and says that there is no safe head database", async () => {
    const dependencySet = { dependencies: { 901: {}, 902: {} } };
    expect(await call("optimism_dependencySet")).toEqual(dependencySet);
    expect(await call("rnode_dependencySet")).toEqual(dependencySet);
    await expect(call("rnode_dependencySet", [], "public")).rejects.toMatchObject({ code: -32000, message: "not found" });
    expect(await call("rnode_rollupConfig")).toEqual(JSON.parse(JSON.stringify(rollupConfigToJson(config))));
    expect(await call("rnode_version")).toBe("v1.2.3");
    await expect(call("rnode_safeHeadAtL1Block", ["0x2"], "public")).rejects.toMatchObject({
      code: -32000,
      message: "failed to get safe head at l1 block 0x2: safe head database not enabled",
    });
  });

  it("serves the admin namespace only where it is enabled", async () => {
    await expect(call("admin_sequencerActive", [], "public")).rejects.toMatchObject({ code: -32601 });
    expect(await call("admin_sequencerActive")).toBe(true);
    await expect(call("rnode_unknown")).rejects.toMatchObject({
      code: -32601,
      message: "the method rnode_unknown does not exist/is not available",
    });
  });

  it("starts the sequencer with and without a hash, and passes refusals on", async () => {
    asked.length = 0;
    expect(await call("admin_startSequencer")).toBeNull();
    expect(await call("admin_startSequencer", [one.ref.hash])).toBeNull();
    expect(asked).toEqual([
      ["start", undefined],
      ["start", one.ref.hash],
    ]);
    refusal = { kind: "already-running" };
    await expect(call("admin_startSequencer")).rejects.toMatchObject({ code: -32000, message: "sequencer already running" });
    refusal = { kind: "wrong-head", head: { hash: one.ref.hash, number: 1 } };
    await expect(call("admin_startSequencer", [genesis.ref.hash])).rejects.toMatchObject({
      message: `block hash does not match: head ${one.ref.hash}:1, received ${genesis.ref.hash}`,
    });
    refusal = { kind: "no-head" };
    await expect(call("admin_startSequencer", [genesis.ref.hash])).rejects.toMatchObject({
      message: `no prestate, cannot determine if sequencer start at ${genesis.ref.hash} is safe`,
    });
    refusal = { kind: "not-leader" };
    await expect(call("admin_startSequencer")).rejects.toMatchObject({ message: "sequencer is not the leader, aborting" });
    refusal = { kind: "engine-syncing", description: "it is at block 3" };
    await expect(call("admin_startSequencer")).rejects.toMatchObject({
      message: "sequencer cannot start while the engine is syncing (it is at block 3)",
    });
    refusal = { kind: "leader-check-failed", reason: "it is away" };
    await expect(call("admin_startSequencer")).rejects.toMatchObject({ message: "sequencer leader check failed: it is away" });
    refusal = { kind: "not-running" };
    await expect(call("admin_stopSequencer")).rejects.toMatchObject({ message: "sequencer not running" });
    refusal = undefined;
    expect(await call("admin_stopSequencer")).toBeNull();
    for (const method of ["admin_startSequencer", "admin_stopSequencer", "admin_overrideLeader"]) {
      await expect(call(method, [], "verifier")).rejects.toMatchObject({ code: -32000, message: "sequencer is not enabled" });
    }
    asked.length = 0;
    expect(await call("admin_setRecoverMode", [true], "verifier")).toBeNull(); // as in op-node, where nothing happens
    expect(asked).toEqual([]);
  });

  it("with a conductor says so, overrides it, and stops at the head whose hash it returns", async () => {
    expect(await call("admin_conductorEnabled")).toBe(false);
    await expect(call("admin_overrideLeader")).rejects.toMatchObject({ message: "conductor is not enabled" });
    asked.length = 0;
    conductor = { overrideLeader: () => asked.push("override") };
    expect(await call("admin_conductorEnabled")).toBe(true);
    expect(await call("admin_overrideLeader")).toBeNull();
    expect(await call("admin_stopSequencer")).toBe(one.ref.hash);
    expect(asked).toEqual(["override"]);
    conductor = undefined;
  });

  it.each<[Offered, string | null]>([
    [{ kind: "queued" }, null],
    [{ kind: "duplicate" }, null],
    [{ kind: "bad-hash", stated: "0x01", actual: "0x02" }, "payload has bad block hash: 0x01, actual block hash is: 0x02"],
    [{ kind: "malformed", reason: "no L1 info" }, "payload cannot be a block of this chain: no L1 info"],
    [{ kind: "too-large", sizeBytes: 12, maxBytes: 10 }, "payload takes 12 bytes, more than the 10 that may wait"],
    [{ kind: "full", waiting: 7 }, "7 payloads wait already, all with lower numbers"],
  ])("answers for a payload that is %j: %s", async (verdict, message) => {
    offered = verdict;
    const answer = call("admin_postUnsafePayload", [envelopeToJson(one.envelope)]);
    if (message === null) expect(await answer).toBeNull();
    else await expect(answer).rejects.toMatchObject({ code: -32000, message });
    offered = { kind: "queued" };
  });

  it.each<readonly [Replaced, string | null]>([
    [{ kind: "replaced" }, null],
    [{ kind: "refused", reason: "the sequencer is active: stop it first" }, "the sequencer is active: stop it first"],
    [
      { kind: "bad-hash", stated: ZERO as Hex, actual: one.ref.hash },
      `payload has bad block hash: ${ZERO}, actual block hash is: ${one.ref.hash}`,
    ],
  ])("answers for a payload that was to replace unsafe blocks and is %j: %s", async (verdict, message) => {
    replaced = verdict;
    const answer = call("admin_replaceUnsafePayload", [envelopeToJson(one.envelope)]);
    if (message === null) expect(await answer).toBeNull();
    else await expect(answer).rejects.toMatchObject({ code: -32000, message });
  });

  it("says in words that the node is busy", async () => {
    busy = new CodedError("driver/busy", { reason: "the node is busy: 32 commands wait already" });
    for (const [method, ...params] of [
      ["admin_startSequencer"],
      ["admin_stopSequencer"],
      ["admin_setRecoverMode", true],
    ] as const) {
      await expect(call(method, params)).rejects.toMatchObject({
        code: -32000,
        message: "the node is busy: 32 commands wait already",
      });
    }
    busy = undefined;
  });

  it("says which block L1 has at a height", async () => {
    const { hash, number, parentHash, timestamp } = l1.blocks[2]!;
    expect(await call("admin_l1BlockRef", ["0x2"])).toEqual({ hash, number, parentHash, timestamp });
    expect(await call("admin_l1BlockRef", ["0x63"])).toBeNull();
    await expect(call("admin_l1BlockRef", ["0xd"])).rejects.toMatchObject({ code: -32000, message: expect.stringContaining("L1") });
  });

  it("resets, takes payloads, sets the log level", async () => {
    asked.length = 0;
    expect(await call("admin_resetDerivationPipeline")).toBeNull();
    expect(await call("admin_postUnsafePayload", [envelopeToJson(one.envelope)])).toBeNull();
    await expect(call("admin_postUnsafePayload", [{ executionPayload: {} }])).rejects.toMatchObject({ code: -32602 });
    expect(await call("admin_setLogLevel", ["debug"])).toBeNull();
    await expect(call("admin_setLogLevel", ["loud"])).rejects.toMatchObject({ message: "unknown level: loud" });
    expect(asked).toEqual(["reset", ["payload", 1], ["level", "debug"]]);
  });
});

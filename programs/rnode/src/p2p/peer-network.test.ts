import { noMetrics, silentLogger } from "@rnode/observe";
import { type P2PHandlers, type P2PNetwork, P2PSettingError, type Published } from "@rnode/p2p";
import { bytesToHex, type Clock, hexToBytes, recoverAddress } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import { Scope, systemClock } from "@rnode/program";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { BLOCK_DOMAIN, blockSigningHash, localSigner, type Signer } from "@rnode/signer";
import { afterEach, describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { PeerNetwork } from "./peer-network.ts";

const config = testConfig();
const signer = localSigner(new Uint8Array(32).fill(7));
const SIGNER_ON_L1 = new Uint8Array(20).fill(9);
const NEVER = new AbortController().signal;
const scope = () => new Scope({ log: silentLogger, clock: systemClock });
const scopes: Scope[] = [];
afterEach(async () => {
  for (const opened of scopes.splice(0)) await opened.close();
});

/** A network that notes what it is told. */
class FakeNetwork {
  readonly told: unknown[] = [];
  published: Published = { kind: "published", peers: 1 };
  handlers: P2PHandlers | undefined;
  isClosed = false;
  readonly network = {
    identity: { peerId: "16Uiu2HA", addresses: ["/ip4/192.0.2.1/tcp/1/p2p/16Uiu2HA"], tcpPort: 1 },
    api: { listBlockedPeers: async () => ["16Uiu2HB"] },
    setUnsafeBlockSigner: (address: Uint8Array) => this.told.push(address),
    publish: async (...args: unknown[]) => {
      this.told.push(args);
      return this.published;
    },
    requestGap: (gap: unknown) => this.told.push(gap),
    close: async () => {
      this.isClosed = true;
    },
  } as unknown as P2PNetwork;
}

async function start(fake: FakeNetwork, with_: { signer?: Signer; clock?: Clock } = { signer }): Promise<PeerNetwork> {
  const peers = new PeerNetwork(
    { config: { rollup: config } as never },
    {
      signer: with_.signer,
      clock: with_.clock ?? systemClock,
      random: Math.random,
      log: silentLogger,
      metrics: noMetrics,
      threadMetrics: undefined,
      open: async (_, handlers) => {
        fake.handlers = handlers;
        return fake.network;
      },
    },
  );
  const opened = scope();
  scopes.push(opened);
  await peers.start(opened, { onUnsafePayload: () => {}, payloadByNumber: async () => undefined });
  return peers;
}

const block: ExecutionPayloadEnvelope = {
  executionPayload: {
    parentHash: new Uint8Array(32),
    feeRecipient: new Uint8Array(20),
    stateRoot: new Uint8Array(32),
    receiptsRoot: new Uint8Array(32),
    logsBloom: new Uint8Array(256),
    prevRandao: new Uint8Array(32),
    blockNumber: 3,
    gasLimit: 1n,
    gasUsed: 0n,
    timestamp: 0,
    extraData: new Uint8Array(0),
    baseFeePerGas: 1n,
    blockHash: new Uint8Array(32).fill(1),
    transactions: [],
    withdrawals: [],
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    withdrawalsRoot: new Uint8Array(32),
  },
  parentBeaconBlockRoot: new Uint8Array(32),
};

describe("the network of peers as a part of the node", () => {
  it("is told who signs blocks, and is closed with the node", async () => {
    const fake = new FakeNetwork();
    const peers = await start(fake);
    peers.setUnsafeBlockSigner(SIGNER_ON_L1);
    expect(fake.told).toEqual([SIGNER_ON_L1]);
    expect(await peers.api.listBlockedPeers()).toEqual(["16Uiu2HB"]);
    await scopes.pop()!.close();
    expect(fake.isClosed).toBe(true);
  });

  it("publishes blocks with the signature of the signer", async () => {
    const fake = new FakeNetwork();
    const peers = await start(fake);
    // Spec: docs/protocol/03-p2p.md#message-body
    let signedHash = new Uint8Array();
    const peersOfNoting = await start(fake, {
      signer: {
        ...signer,
        signBlock: (request) => {
          signedHash = Uint8Array.from(blockSigningHash(request));
          expect([request.domain, request.chainId]).toEqual([BLOCK_DOMAIN, config.l2ChainId]);
          return signer.signBlock(request);
        },
      },
    });
    expect(await peers.publish(block, NEVER, await peers.sign(block, NEVER))).toEqual({ kind: "published" });
    expect(await peersOfNoting.publish(block, NEVER, await peersOfNoting.sign(block, NEVER))).toEqual({ kind: "published" });
    const published = fake.told.filter(Array.isArray) as [ExecutionPayloadEnvelope, Uint8Array][];
    const signature = published[0]?.[1];
    expect(published).toEqual([
      [block, signature],
      [block, signature],
    ]);
    const recovered = recoverAddress(signedHash, signature!.slice(0, 32), signature!.slice(32, 64), signature![64]!);
    expect(bytesToHex(recovered)).toBe(bytesToHex(signer.address));
  });

  it("says that there is no signer, in the words of the protocol", async () => {
    const peers = await start(new FakeNetwork(), {});
    await expect(peers.publish(block, NEVER, await peers.sign(block, NEVER))).rejects.toThrow(
      `node has no p2p signer, payload 0x${"01".repeat(32)}:3 cannot be published`,
    );
  });

  it("fails where no peer would take the block, or publishing is over", async () => {
    const fake = new FakeNetwork();
    const peers = await start(fake);
    fake.published = { kind: "refused", reason: "too-old" };
    const signed = await peers.sign(block, NEVER);
    await expect(peers.publish(block, NEVER, signed)).rejects.toThrow("no peer would take the block: too-old");
    const told = fake.told.length;
    await expect(peers.publish(block, AbortSignal.abort(new Error("too late")), signed)).rejects.toThrow("too late");
    expect(fake.told).toHaveLength(told);
  });

  it("asks for no signature while L1 names another signer", async () => {
    const fake = new FakeNetwork();
    let asked = 0;
    const signBlock: Signer["signBlock"] = (...args) => {
      asked++;
      return signer.signBlock(...args);
    };
    const peers = await start(fake, { signer: { ...signer, signBlock } });
    peers.setUnsafeBlockSigner(new Uint8Array(20).fill(9));
    const signed = await peers.sign(block, NEVER);
    expect([signed.kind, asked]).toEqual(["unsigned", 0]);
    await expect(peers.publish(block, NEVER, signed)).rejects.toThrow(
      `L1 names 0x${"09".repeat(20)} as the signer of blocks, but this node signs as ${bytesToHex(signer.address)}`,
    );
    for (const named of [signer.address, new Uint8Array(20)]) {
      peers.setUnsafeBlockSigner(named);
      expect((await peers.sign(block, NEVER)).kind).toBe("signed");
    }
  });

  it("goes on signing for three hours after L1 has named another signer", async () => {
    const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
    const peers = await start(new FakeNetwork(), { signer, clock });
    peers.setUnsafeBlockSigner(signer.address);
    peers.setUnsafeBlockSigner(SIGNER_ON_L1);
    const kindAfter = async (ms: number): Promise<string> => {
      clock.advance(ms);
      return (await peers.sign(block, NEVER)).kind;
    };
    expect([await kindAfter(0), await kindAfter(3 * 3_600_000 - 1), await kindAfter(1)]).toEqual(["signed", "signed", "unsigned"]);
  });

  it("passes on which blocks are missing", async () => {
    const fake = new FakeNetwork();
    const missing = {
      start: { number: 1, hash: hexToBytes("0x01") },
      end: { number: 3, hash: hexToBytes("0x03"), parentHash: hexToBytes("0x02") },
    };
    (await start(fake)).requestGap(missing);
    expect(fake.told.at(-1)).toBe(missing);
  });

  it("names the option that keeps it from starting", async () => {
    const peers = new PeerNetwork(
      { config: { rollup: config } as never },
      {
        signer: undefined,
        clock: systemClock,
        random: Math.random,
        log: silentLogger,
        metrics: noMetrics,
        threadMetrics: undefined,
        open: async () => {
          throw new P2PSettingError("listen.tcp", "TCP port 9222 is taken: choose another, or stop what listens there");
        },
      },
    );
    const opened = scope();
    scopes.push(opened);
    await expect(peers.start(opened, { onUnsafePayload: () => {}, payloadByNumber: async () => undefined })).rejects.toMatchObject({
      code: "start/bad-config",
      message: "--p2p.listen.tcp: TCP port 9222 is taken: choose another, or stop what listens there",
    });
  });
});

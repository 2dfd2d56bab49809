import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { superRootHash } from "@rnode/protocol";
import { SIM_SIGNER, SimL1, simManager } from "@rnode/tx-manager/testing";
import { afterEach, describe, expect, it } from "vitest";
import { DisputeGames } from "./dispute-games.ts";
import { OutputOracle } from "./output-oracle.ts";
import { OutputRootSource } from "./output-root-source.ts";
import { Proposer, type ProposerOptions } from "./proposer.ts";
import { createProposerMetrics } from "./proposer-metrics.ts";
import { SuperRootSource } from "./super-root-source.ts";
import { CONTRACT, SimContracts, SimNode } from "./testing/sim-chain.ts";

const L1_BLOCK_MS = 12_000;
const MINUTE_MS = 60_000;
const OPTIONS: ProposerOptions = {
  pollIntervalMs: 6_000,
  outputRetryIntervalMs: 3_000,
  allowNonFinalized: false,
  waitNodeSync: false,
  pendingLimitMs: 3 * 48_000,
};

class World {
  readonly clock = new SimClock();
  readonly l1 = new SimL1();
  readonly node = new SimNode(this.l1);
  readonly contracts = new SimContracts(this.l1, SIM_SIGNER.address);
  readonly running: Proposer[] = [];

  /** further sources of super roots */
  readonly others: SimNode[] = [];

  proposer(kind: "oracle" | "games" | "super games", options: Partial<ProposerOptions> = {}): Proposer {
    const { clock, l1, node, contracts } = this;
    const contract =
      kind === "oracle"
        ? new OutputOracle(CONTRACT, contracts)
        : new DisputeGames(
            CONTRACT,
            { proposalIntervalMs: 5 * MINUTE_MS },
            { findGameType: async () => contracts.gameType, proposer: SIM_SIGNER.address, reader: contracts, clock },
          );
    const transactions = simManager({ l1, clock }, { confirmations: 2, receiptQueryIntervalMs: 12_000 });
    const proposer = new Proposer(
      { ...OPTIONS, ...options },
      {
        contract,
        source:
          kind === "super games"
            ? new SuperRootSource([node, ...this.others], { clock, log: silentLogger })
            : new OutputRootSource({ node: async () => node, onFailure: () => {} }),
        l1: {
          head: () => l1.head(),
          nonce: (address, block) => l1.nonce(address, block),
          balance: () => l1.balance(),
          simulate: (call) => contracts.simulate(call),
        },
        transactions,
        clock,
        log: silentLogger,
        metrics: createProposerMetrics(noMetrics),
      },
    );
    this.running.push(proposer);
    proposer.start();
    return proposer;
  }

  /** Lets time pass, with an L1 block every twelve seconds and what `each` does after each. */
  async pass(ms: number, each: () => void = () => {}): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += L1_BLOCK_MS) {
      await this.clock.advance(L1_BLOCK_MS);
      this.l1.mine();
      each();
    }
  }

  get proposed(): number[] {
    return this.contracts.oracleOutputs.map(({ blockNumber }) => blockNumber);
  }
}

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await Promise.all(world.running.map((proposer) => proposer.stop()));
});
const newWorld = (): World => {
  const world = new World();
  worlds.push(world);
  return world;
};

describe("Proposer with an output oracle", () => {
  it("posts every output that is due, in order, with the node's roots", async () => {
    const world = newWorld();
    world.node.finalized = 35;
    world.proposer("oracle");
    await world.pass(5 * MINUTE_MS);
    expect(world.proposed).toEqual([10, 20, 30]);
    const roots = world.contracts.oracleOutputs.map(({ root }) => bytesToHex(root));
    expect(roots).toEqual([10, 20, 30].map((number) => world.node.rootOf(number)));
    expect(world.contracts.included).toBe(3);
    world.node.finalized = 40;
    await world.pass(2 * MINUTE_MS);
    expect(world.proposed).toEqual([10, 20, 30, 40]);
  });

  it.each([
    ["final blocks only", false, []],
    ["safe blocks when told to", true, [10, 20]],
  ])("proposes %s", async (_, allowNonFinalized, expected) => {
    const world = newWorld();
    world.node.safe = 25;
    world.node.finalized = 9;
    world.proposer("oracle", { allowNonFinalized });
    await world.pass(4 * MINUTE_MS);
    expect(world.proposed).toEqual(expected);
  });

  it("never posts an output twice, however often it is stopped and started", { tags: "long" }, async () => {
    const world = newWorld();
    let random = 7;
    let proposer = world.proposer("oracle");
    await world.pass(120 * MINUTE_MS, () => {
      world.node.finalized += 1;
      random = (random * 48_271) % 2_147_483_647;
      if (random % 3 !== 0) return;
      void proposer.stop(); // like a kill: its transactions stay in the pool
      proposer = world.proposer("oracle");
    });
    await world.pass(10 * MINUTE_MS);
    const last = Math.floor(world.node.finalized / 10) * 10;
    expect(world.proposed.at(-1)).toBe(last);
    expect(world.contracts.included).toBe(last / 10);
  });

  it.each([false, true])("posts again what an L1 reorganisation has removed (transactions lost: %s)", async (isLost) => {
    const world = newWorld();
    world.node.finalized = 10;
    world.proposer("oracle");
    await world.pass(3 * MINUTE_MS);
    expect(world.proposed).toEqual([10]);
    world.l1.reorg(world.l1.blocks.length - 2, isLost);
    expect(world.proposed).toEqual([]);
    world.node.finalized = 20;
    await world.pass(10 * MINUTE_MS);
    expect(world.proposed).toEqual([10, 20]);
  });

  it("does not let a proposal count on a branch of L1 without the block it was derived from", async () => {
    const world = newWorld();
    await world.pass(5 * MINUTE_MS);
    world.node.safe = 10;
    world.l1.includes = false;
    world.proposer("oracle", { allowNonFinalized: true });
    await world.pass(MINUTE_MS);
    expect(world.l1.pool.size).toBe(1);
    world.l1.reorg(8, false);
    world.node.branch = 1;
    world.l1.includes = true;
    await world.pass(10 * MINUTE_MS);
    expect(world.contracts.oracleOutputs.map(({ root }) => bytesToHex(root))).toEqual([world.node.rootOf(10)]);
  });

  it("gets over outages of L1 and of the rollup node", async () => {
    const world = newWorld();
    const proposer = world.proposer("oracle");
    world.l1.isDown = true;
    await world.pass(3 * MINUTE_MS);
    expect(proposer.status()).toMatchObject({ trouble: "L1 is away" });
    world.l1.isDown = false;
    world.node.isDown = true;
    await world.pass(3 * MINUTE_MS);
    expect(proposer.status()).toMatchObject({ trouble: "the node is away" });
    world.node.isDown = false;
    world.node.finalized = 20;
    await world.pass(4 * MINUTE_MS);
    expect(world.proposed).toEqual([10, 20]);
    expect(proposer.status()).toMatchObject({ lastProposedBlock: 20, waitingFor: "newer blocks that may be proposed" });
  });

  it("proposes nothing on an output that its own node contradicts", async () => {
    const world = newWorld();
    world.node.finalized = 10;
    const proposer = world.proposer("oracle");
    await world.pass(3 * MINUTE_MS);
    world.contracts.forgedRoot = hexToBytes(`0x${"66".repeat(32)}`);
    world.node.finalized = 30;
    await world.pass(5 * MINUTE_MS);
    expect(world.proposed).toEqual([10]);
    expect(proposer.status().waitingFor).toBe("the output root of block 10 on L1 to be the rollup node's");
    world.contracts.forgedRoot = undefined;
    await world.pass(5 * MINUTE_MS);
    expect(world.proposed).toEqual([10, 20, 30]);
  });

  it("waits for a node that is too far behind L1", async () => {
    const world = newWorld();
    await world.pass(60 * MINUTE_MS);
    world.node.lag = 250;
    world.node.finalized = 10;
    const proposer = world.proposer("oracle");
    await world.pass(MINUTE_MS);
    expect(proposer.status().waitingFor).toBe("the rollup node to come closer to the L1 head");
    world.node.lag = 5;
    await world.pass(2 * MINUTE_MS);
    expect(world.proposed).toEqual([10]);
  });

  it("waits at the start until the node has derived all of L1, when told to", async () => {
    const world = newWorld();
    await world.pass(5 * MINUTE_MS);
    world.node.finalized = 10;
    world.node.lag = 20;
    const proposer = world.proposer("oracle", { waitNodeSync: true });
    await world.pass(2 * MINUTE_MS);
    expect(proposer.status().waitingFor).toBe("the rollup node to derive up to the L1 head");
    expect(world.l1.transactions).toEqual([]);
    world.node.lag = 0;
    await world.pass(2 * MINUTE_MS);
    expect(world.proposed).toEqual([10]);
  });

  it("does nothing while it is stopped", async () => {
    const world = newWorld();
    const proposer = world.proposer("oracle");
    expect(proposer.start()).toBe(false);
    expect(await proposer.stop()).toBe(true);
    expect(await proposer.stop()).toBe(false);
    world.node.finalized = 10;
    await world.pass(2 * MINUTE_MS);
    expect(world.l1.transactions).toEqual([]);
    expect(proposer.status()).toEqual({ waitingFor: "admin_startProposer" });
    proposer.start();
    await world.pass(2 * MINUTE_MS);
    expect(world.proposed).toEqual([10]);
  });
});

describe("Proposer with dispute games", () => {
  it("creates a game for the newest block, with the bond, when its own last one is old enough", async () => {
    const world = newWorld();
    world.node.finalized = 5;
    world.proposer("games");
    await world.pass(20 * MINUTE_MS, () => {
      world.node.finalized += 1;
    });
    const { games } = world.contracts;
    expect(games.length).toBeGreaterThanOrEqual(3);
    for (const [index, game] of games.entries()) {
      expect(bytesToHex(game.root)).toBe(world.node.rootOf(game.blockNumber));
      if (index > 0) expect(game.l1TimeSec - games[index - 1]!.l1TimeSec).toBeGreaterThanOrEqual(5 * 60 - 12);
    }
    expect(world.contracts.included).toBe(games.length);
  });

  it("creates none without new blocks, and none for an output that has a game", async () => {
    const world = newWorld();
    world.node.finalized = 5;
    const root = hexToBytes(world.node.rootOf(5));
    world.contracts.foreignGames.push({ root, blockNumber: 5, l1TimeSec: 1_800_000_000, by: new Uint8Array(20).fill(9) });
    const proposer = world.proposer("games");
    await world.pass(20 * MINUTE_MS);
    expect(world.contracts.included).toBe(0);
    expect(proposer.status().waitingFor).toBe("a block whose output is not on L1 yet");
    world.node.finalized = 6;
    await world.pass(20 * MINUTE_MS);
    expect(world.contracts.included).toBe(1);
    expect(proposer.status().waitingFor).toBe("newer blocks that may be proposed");
  });

  it("counts its own games only, and finds them after a restart", async () => {
    const world = newWorld();
    world.node.finalized = 5;
    const first = world.proposer("games");
    await world.pass(2 * MINUTE_MS);
    await first.stop();
    world.node.finalized = 50;
    const now = world.l1.blocks.at(-1)!.ref.timestamp;
    const foreign = { root: new Uint8Array(32).fill(3), blockNumber: 7, l1TimeSec: now, by: new Uint8Array(20).fill(9) };
    world.contracts.foreignGames.push(foreign);
    const second = world.proposer("games");
    await world.pass(MINUTE_MS);
    expect(world.contracts.included).toBe(1);
    expect(second.status()).toMatchObject({ lastProposedBlock: 5, waitingFor: "the proposal interval to pass" });
    await world.pass(5 * MINUTE_MS);
    expect(world.contracts.games.map(({ blockNumber }) => blockNumber)).toEqual([5, 7, 50]);
  });
});

describe.each([5, 9])("Proposer with games of super roots, type %i", (gameType) => {
  const GENESIS_SEC = 1_800_000_000;
  const superWorld = (): World => {
    const world = newWorld();
    world.contracts.gameType = gameType;
    return world;
  };
  const timesOf = (world: World): number[] => world.contracts.games.map(({ blockNumber }) => blockNumber);

  it("creates a game for the newest finalized time, with the super root as claim and its preimage as extra data", async () => {
    const world = superWorld();
    world.node.safe = 9;
    world.node.finalized = 5;
    const proposer = world.proposer("super games");
    await world.pass(2 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 10]);
    const [game] = world.contracts.games;
    expect(game).toMatchObject({ gameType, root: superRootHash(world.node.superRootAt(GENESIS_SEC + 10)) });
    expect(proposer.status()).toMatchObject({ lastProposedL2Time: GENESIS_SEC + 10, waitingFor: "the proposal interval to pass" });
    world.node.finalized = 8;
    await world.pass(6 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 10, GENESIS_SEC + 16]);
    expect(world.contracts.included).toBe(2);
  });

  it("follows the source that has read most of L1, and takes the root of another one if that fails", async () => {
    const world = superWorld();
    await world.pass(MINUTE_MS);
    world.node.finalized = 50; // says more, and lags
    world.node.safe = 50;
    world.node.lag = 3;
    const best = new SimNode(world.l1);
    best.safe = 6;
    best.finalized = 4;
    world.others.push(best);
    const proposer = world.proposer("super games");
    await world.pass(2 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 8]);
    best.finalized = 6;
    best.atTimestamp = async (time) => {
      const answer = await SimNode.prototype.atTimestamp.call(best, time);
      return { ...answer, data: undefined };
    };
    await world.pass(6 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 8, GENESIS_SEC + 12]);
    best.isDown = true;
    await world.pass(6 * MINUTE_MS);
    expect(timesOf(world).at(-1)).toBe(GENESIS_SEC + 100);
    world.node.isDown = true;
    await world.pass(6 * MINUTE_MS);
    expect(String(proposer.status().trouble)).toContain("no source of --superroot-rpcs says what is safe: node: the node is away");
  });

  it("proposes no root of a source that does not call it final itself", async () => {
    const world = superWorld();
    await world.pass(MINUTE_MS);
    const lagging = new SimNode(world.l1);
    lagging.safe = 20;
    lagging.finalized = 3;
    lagging.lag = 3;
    world.others.push(lagging);
    world.node.finalized = 10;
    world.node.safe = 10;
    world.node.atTimestamp = async (time) => {
      const answer = await SimNode.prototype.atTimestamp.call(world.node, time);
      return { ...answer, data: undefined };
    };
    const proposer = world.proposer("super games");
    await world.pass(3 * MINUTE_MS);
    expect(timesOf(world)).toEqual([]);
    expect(proposer.status().waitingFor).toBe("the rollup node to call the block safe again");
    lagging.finalized = 10;
    await world.pass(2 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 20]);
  });

  it("proposes nothing on its own last game if the sources contradict it", async () => {
    const world = superWorld();
    world.node.finalized = 5;
    world.node.safe = 5;
    const proposer = world.proposer("super games");
    await world.pass(2 * MINUTE_MS);
    world.node.branch = 1;
    world.node.finalized = 9;
    world.node.safe = 9;
    await world.pass(8 * MINUTE_MS);
    expect(timesOf(world)).toEqual([GENESIS_SEC + 10]);
    expect(proposer.status().waitingFor).toBe(`the super root of L2 time ${GENESIS_SEC + 10} on L1 to be the rollup node's`);
  });
});

import { isDeepStrictEqual } from "node:util";
import { type Lie, liesAbout } from "@rnode/jsonrpc/testing";
import { isCodedError } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { L1Endpoints } from "./endpoints/endpoints.ts";
import { L1Client, type L1ClientOptions } from "./l1-client.ts";
import { type BlockFixture, blockFixture } from "./testing/block-json.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";
import { LyingEndpoint } from "./testing/lying-endpoint.ts";

const BLOCKS = [blockFixture(100, 0), blockFixture(101, 2)];
const [EMPTY, FULL] = BLOCKS as [BlockFixture, BlockFixture];

type Question = (l1: L1Client) => Promise<unknown>;

/** Derivation's requests for a block, in order. */
const wholeBlock =
  (fixture: BlockFixture): Question =>
  async (l1) => {
    const block = await l1.blockByNumber(fixture.header.number);
    return {
      block,
      header: block?.header,
      transactions: await l1.transactions(fixture.hash),
      receipts: await l1.receipts(fixture.hash),
    };
  };

const QUESTIONS: Readonly<Record<string, Question>> = {
  "a block with transactions": wholeBlock(FULL),
  "a block without transactions": wholeBlock(EMPTY),
  "the latest block": async (l1) => (await l1.blockByLabel("latest"))?.header,
  "the finalized block": async (l1) => (await l1.blockByLabel("finalized"))?.header,
  "a block by its hash": async (l1) => (await l1.blockByHash(FULL.hash))?.header,
  "transactions alone": (l1) => l1.transactions(FULL.hash),
  "receipts alone": (l1) => l1.receipts(FULL.hash),
};

function setUp(options: Partial<L1ClientOptions>) {
  const rpc = new LyingEndpoint(new FakeEndpoint(BLOCKS));
  const clock = new FakeClock();
  const log = { warn: () => {}, debug: () => {} };
  const endpoints = new L1Endpoints({ chainId: 900n }, { endpoints: [{ name: "liar", rpc }], clock, log });
  return { rpc, l1: new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 10, ...options }, { endpoints, clock }) };
}

type Outcome = "the truth" | "no answer" | "not there" | "a wrong answer" | "never well again";

/**
 * The outcome of one false answer, repeated for each request, and whether the truth is returned when the endpoint becomes honest.
 */
async function outcomeOf(
  options: Partial<L1ClientOptions>,
  ask: Question,
  truth: unknown,
  question: string,
  lie: Lie,
): Promise<Outcome> {
  const { rpc, l1 } = setUp(options);
  rpc.lie = { question, answer: lie.answer };
  let outcome: Outcome;
  try {
    const answer = await ask(l1);
    // null means that the endpoint does not have the data
    const isNothing = lie.answer === null;
    outcome = isDeepStrictEqual(answer, truth) ? "the truth" : isNothing ? "not there" : "a wrong answer";
  } catch (error) {
    if (!isCodedError(error, "l1/unavailable")) throw error;
    outcome = "no answer";
  }
  if (outcome === "a wrong answer") return outcome;
  rpc.lie = undefined;
  const afterwards = await ask(l1).catch(() => "no answer");
  return isDeepStrictEqual(afterwards, truth) ? outcome : "never well again";
}

/** Lies about every answer that a question needs, grouped by their outcome. */
async function lieAbout(options: Partial<L1ClientOptions>, ask: Question): Promise<Readonly<Record<Outcome, readonly string[]>>> {
  const outcomes: Record<Outcome, string[]> = {
    "the truth": [],
    "no answer": [],
    "not there": [],
    "a wrong answer": [],
    "never well again": [],
  };
  const honest = setUp(options);
  const truth = await ask(honest.l1);
  const asked = new Map(honest.rpc.exchanges.map(({ question, answer }) => [question, answer]));
  for (const [question, answer] of asked) {
    for (const lie of liesAbout(answer)) {
      outcomes[await outcomeOf(options, ask, truth, question, lie)].push(`${question} ${lie.name}`);
    }
  }
  return outcomes;
}

describe("L1Client and an endpoint that lies", () => {
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    const rpcKinds =
      name === "a block with transactions" ? (["standard", "basic", "debug_geth"] as const) : (["standard"] as const);
    for (const rpcKind of rpcKinds) {
      it(`never believes a lie about ${name}, ${rpcKind}, and finds the truth afterwards`, {
        tags: name === "a block with transactions" ? "long" : [],
      }, async () => {
        const outcomes = await lieAbout({ rpcKind }, ask);
        expect(outcomes["a wrong answer"]).toEqual([]);
        expect(outcomes["never well again"]).toEqual([]);
        expect(outcomes["no answer"].length).toBeGreaterThan(100);
        expect(outcomes["not there"].length).toBeLessThan(4);
      });
    }
  }

  // --l1.trustrpc skips the recomputation of two hashes; all other checks remain
  it.each([
    ["a block by its hash", /answer(: |\.hash)/],
    ["transactions alone", /answer(: |\.hash)|\.(hash|blockHash|transactionIndex): |: (an empty list|items? .* (swapped|twice))/],
    ["receipts alone", /./],
  ])("where it is trusted, still finds the lies about %s that need no hash to be recomputed", async (name, neverBelieved) => {
    const outcomes = await lieAbout({ trustRpc: true }, QUESTIONS[name]!);
    expect(outcomes["a wrong answer"].filter((lie) => neverBelieved.test(lie))).toEqual([]);
    expect(outcomes["no answer"].length).toBeGreaterThan(100);
  });
});

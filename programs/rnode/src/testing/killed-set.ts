import { silentLogger } from "@rnode/observe";
import type { BlockId } from "@rnode/protocol";
import { SetDatabase } from "../set/set-database.ts";
import { SetVerifier } from "../set/set-verifier.ts";
import { hashOf, type NamedLog, type SimContent, SimSetChain } from "./sim-set.ts";

// A program: verifies a set of simulated chains with a database on the disk until nothing is left to do, and prints what it has found. With
// a third argument it kills itself at that point: before, in, and after each commit, and at each question to a chain or L1.
//   node killed-set.js FOLDER backfill|rewind [POINT]

const A = 901n;
const B = 902n;
const EXPIRY_SEC = 60;
/** B begins later than A, whose messages of the time before are read first. */
const GENESIS_SEC = { [String(A)]: 100, [String(B)]: 160 };
const BLOCK_SEC = { [String(A)]: 2, [String(B)]: 1 };
const LAST = { [String(A)]: 60, [String(B)]: 60 };

export interface KilledSetOutput {
  /** at which it can be killed */
  readonly points: number;
  /** rounds, verdicts, and the messages of both chains */
  readonly found: string;
}

const [folder, stage, pointText] = process.argv.slice(2);
let points = 0;
const point = (): void => {
  if (++points === Number(pointText)) process.kill(process.pid, "SIGKILL");
};

const named = (chainId: bigint, number: number, logIndex: number): NamedLog => {
  const id = String(chainId);
  return { chainId, number, logIndex, timestamp: GENESIS_SEC[id]! + BLOCK_SEC[id]! * number };
};

/** What L1 says. After its reorganisation, block 20 of B has the log that block 40 of A executes. */
const isReorganised = stage === "rewind";
const contents: Record<string, Record<number, SimContent>> = {
  [String(A)]: {
    12: { logs: 2, executes: [] },
    33: { logs: 1, executes: [named(B, 6, 0)] },
    40: { logs: 1, executes: [named(B, 20, 0)] },
    44: { logs: 0, executes: [named(B, 28, 1)] },
  },
  [String(B)]: {
    3: { logs: 0, executes: [named(A, 12, 1)] },
    6: { logs: 1, executes: [] },
    20: { logs: isReorganised ? 1 : 0, executes: [] },
    21: { logs: 0, executes: [named(A, 40, 0)] },
    28: { logs: 1, executes: [named(A, 44, 0)] },
  },
};
const l1 = (number: number): BlockId => ({ number, hash: hashOf("l1", number, isReorganised && number >= 3 ? 1 : 0) });

const database = SetDatabase.open(folder!, [A, B], silentLogger);
const commit = database.atomically.bind(database);
database.atomically = (action, options) => {
  point();
  const result = commit(() => {
    const done = action();
    point();
    return done;
  }, options);
  point();
  return result;
};
const chains = [A, B].map((chainId) => {
  const id = String(chainId);
  const config = { genesisSec: GENESIS_SEC[id]!, blockTimeSec: BLOCK_SEC[id]!, lagoonSec: 100 };
  const chain = new SimSetChain(chainId, config, database);
  for (let number = 0; number <= LAST[id]!; number++) {
    const l1Number = 1 + Math.floor((GENESIS_SEC[id]! + BLOCK_SEC[id]! * number - 100) / 40);
    chain.say(contents[id]![number] ?? { logs: 1, executes: [] }, l1(l1Number));
  }
  chain.onVerdict(); // what a node does when it starts
  for (const method of ["localSafe", "blockAt", "receiptsOf", "outputOf"] as const) {
    const ask = chain[method].bind(chain) as (...args: unknown[]) => Promise<never>;
    chain[method] = async (...args: unknown[]) => {
      point();
      return ask(...args);
    };
  }
  return chain;
});
const verifier = new SetVerifier({
  chains,
  expiryWindowSec: EXPIRY_SEC,
  database,
  checkL1: async ({ number, hash }) => {
    point();
    return l1(number).hash === hash ? "canonical" : "replaced";
  },
  log: silentLogger,
});
while ((await verifier.round()).kind !== "waiting");

const rounds = [];
for (let time = verifier.startSec; time <= database.verified.last!.timestamp; time++) rounds.push(database.verified.upTo(time));
const logs = chains.map(({ chainId }) => database.messageLog(chainId)).map((log) => [log.first, log.last]);
const found = { rounds, denied: [...database.denied.list()], logs };
const output: KilledSetOutput = {
  points,
  found: JSON.stringify(found, (_, value: unknown) =>
    typeof value === "bigint"
      ? String(value)
      : value instanceof Map
        ? [...value]
        : value instanceof Uint8Array
          ? [...value]
          : value,
  ),
};
await database.close();
console.log(JSON.stringify(output));

import type { EvmEngine } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";
import {
  describeStep,
  type FuzzCase,
  type FuzzFork,
  type FuzzOutcome,
  type FuzzStep,
  type TransactionEffect,
} from "./fuzz-case.ts";
import { runOurs } from "./our-engine.ts";

export type Oracle = (fuzzCase: FuzzCase, onStep?: (step: FuzzStep) => void) => Promise<FuzzOutcome>;

/** Runs a case on both. @returns the differences; empty: none */
export async function compareCase(engine: EvmEngine, oracle: Oracle, fuzzCase: FuzzCase): Promise<readonly string[]> {
  return differences(fuzzCase, runOurs(engine, fuzzCase), await oracle(fuzzCase));
}

function differences({ fork }: FuzzCase, ours: FuzzOutcome, theirs: FuzzOutcome): string[] {
  const found: string[] = [];
  const compare = (what: string, a: string, b: string): void => {
    if (a !== b) found.push(`${what}\n    ours   ${a}\n    oracle ${b}`);
  };
  for (const [index, effect] of ours.transactions.entries()) {
    compare(`transaction ${index}`, describeEffect(fork, effect), describeEffect(fork, theirs.transactions[index]!));
  }
  for (const address of new Set([...ours.state.keys(), ...theirs.state.keys()])) {
    compare(`account ${address}`, ours.state.get(address) ?? "none", theirs.state.get(address) ?? "none");
  }
  return found;
}

function describeEffect(fork: FuzzFork, effect: TransactionEffect): string {
  if (effect.kind === "rejected") return "rejected";
  const { status, isRevert, gasUsed, output, created, logs } = effect;
  const end = status === 1 ? "success" : isRevert ? "revert" : "halt";
  // if Frontier could not pay for the code, the output of initialisation code is unspecified; the code itself is in the state
  const shownOutput = fork === "frontier" && created !== undefined ? "(code)" : output;
  return `${end} gas ${gasUsed} output ${shownOutput} created ${created ?? "-"} logs [${logs.join(", ")}]`;
}

const STEPS_BEFORE = 6;
const STEPS_AFTER = 6;

/** Both traces around the first step that differs. */
export async function firstDifferingSteps(engine: EvmEngine, oracle: Oracle, fuzzCase: FuzzCase): Promise<readonly string[]> {
  const ours: string[] = [];
  const theirs: string[] = [];
  runOurs(engine, fuzzCase, (step) => ours.push(describeStep(step)));
  await oracle(fuzzCase, (step) => theirs.push(describeStep(step)));
  const length = Math.max(ours.length, theirs.length);
  let at = 0;
  while (at < length && ours[at] === theirs[at]) at++;
  if (at === length) return ["every instruction is the same: they differ outside of the code"];
  const lines = [`first difference at step ${at}`];
  for (let i = Math.max(0, at - STEPS_BEFORE); i < at; i++) lines.push(`  both   ${ours[i]}`);
  for (let i = at; i < at + STEPS_AFTER; i++) lines.push(`  ours   ${ours[i] ?? "(end)"}`);
  for (let i = at; i < at + STEPS_AFTER; i++) lines.push(`  oracle ${theirs[i] ?? "(end)"}`);
  return lines;
}

export function describeCase({ fork, environment, accounts, transactions }: FuzzCase): readonly string[] {
  return [
    `fork ${fork} beneficiary ${bytesToHex(environment.beneficiary)} base fee ${environment.baseFeePerGas}`,
    ...accounts.map(({ address, nonce, balance, code, storage }) => {
      const slots = storage.map(([slot, value]) => `${slot}=${value}`).join(" ");
      return `account ${bytesToHex(address)} nonce ${nonce} balance ${balance} storage [${slots}] code ${bytesToHex(code)}`;
    }),
    ...transactions.map(({ to, data, value, gasLimit, authorizations, blobs }, index) => {
      const target = to === undefined ? "creates" : `to ${bytesToHex(to)}`;
      const lists = `authorizations ${authorizations?.length ?? 0} blobs ${blobs?.versionedHashes.length ?? 0}`;
      return `transaction ${index} ${target} value ${value} gas ${gasLimit} ${lists} data ${bytesToHex(data)}`;
    }),
  ];
}

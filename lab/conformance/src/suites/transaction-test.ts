import { basename } from "node:path";
import { bytesToHex, hexToBytes, isCodedError } from "@rnode/primitives";
import {
  type BlockRules,
  checkTransaction,
  decodeTransaction,
  forkRules,
  hashTransaction,
  intrinsicGas,
  recoverSender,
} from "@rnode/protocol";
import {
  type CaseResult,
  jsonFilesBelow,
  type NoteUncompared,
  readJsonFile,
  reportOf,
  resultOf,
  type SuiteReport,
} from "../vectors.ts";
import { wrongRefusal } from "./expected-exceptions.ts";
import { evmForkOfEra } from "./suite-forks.ts";

interface ForkResult {
  readonly exception?: string;
  readonly hash?: string;
  readonly intrinsicGas?: string;
  readonly sender?: string;
}

interface TransactionCase {
  readonly txbytes: string;
  readonly result: Readonly<Record<string, ForkResult>>;
}

/**
 * `TransactionTests` of ethereum/tests and `transaction_tests` of execution-spec-tests: which bytes are a valid transaction under which fork, and its hash, sender and intrinsic
 * gas.
 */
export function runTransactionTests(folder: string): SuiteReport {
  const results: CaseResult[] = [];
  for (const path of jsonFilesBelow(folder)) {
    for (const [name, { txbytes, result }] of Object.entries(readJsonFile(path) as Record<string, TransactionCase>)) {
      for (const [fork, expected] of Object.entries(result)) {
        results.push(
          resultOf(`${basename(path)} ${name} ${fork}`, (note) => compare(judge(txbytes, rulesOf(fork)), expected, note)),
        );
      }
    }
  }
  return reportOf(results);
}

function rulesOf(fork: string): BlockRules {
  const evm = evmForkOfEra(fork);
  if (evm === undefined) throw new Error(`unknown fork ${fork}`);
  return { ...forkRules(evm), chainId: 1n, blobParams: undefined, isDaoForkBlock: false };
}

function judge(txbytes: string, rules: BlockRules): ForkResult {
  try {
    const tx = decodeTransaction(hexToBytes(txbytes));
    const sender = recoverSender(tx, { allowHighS: rules.allowsHighS });
    const fault = checkTransaction(rules, tx);
    if (fault !== undefined) return { exception: fault };
    return { hash: bytesToHex(hashTransaction(tx)), intrinsicGas: String(intrinsicGas(rules, tx)), sender: bytesToHex(sender) };
  } catch (error) {
    if (isCodedError(error, "tx/")) return { exception: error.code };
    throw error;
  }
}

function compare(ours: ForkResult, expected: ForkResult, note: NoteUncompared): string | undefined {
  if (expected.exception !== undefined) {
    if (ours.exception === undefined) return `accepted, expected ${expected.exception}`;
    return wrongRefusal(expected.exception, ours.exception, note);
  }
  if (ours.exception !== undefined) return `refused with ${ours.exception}`;
  if (ours.hash !== expected.hash) return `hash ${ours.hash}, expected ${expected.hash}`;
  if (ours.sender !== expected.sender) return `sender ${ours.sender}, expected ${expected.sender}`;
  if (BigInt(ours.intrinsicGas!) !== BigInt(expected.intrinsicGas!)) return `intrinsic gas ${ours.intrinsicGas}`;
  return undefined;
}

import { availableParallelism } from "node:os";
import { contract, loadContracts, rpcCall } from "@rnode/devnet";
import { bytesToHex, concatBytes, type Hex, hexToBytes, padBytesLeft } from "@rnode/primitives";
import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import { encodeDeployData, parseEther } from "viem";
import { benchOptions } from "./bench-options.ts";
import { makeSenders, type Sender } from "./common/load-generator.ts";
import { treeCpuSec } from "./common/process-usage.ts";
import { FOREIGN_OPTIONS, foreignClients } from "./rpc/foreign-clients.ts";
import { httpRequest, type LoadResult, percentile, runLoad } from "./rpc/rpc-load.ts";
import { median, progressOf, type Row, report } from "./rpc/rpc-report.ts";
import { type RpcTarget, startAnvilTarget, startRengineTarget } from "./rpc/rpc-targets.ts";
import { measureVaried } from "./rpc/rpc-varied.ts";

const CHAIN_ID = 901;
const SENDERS = 100;
const GAS_LIMIT = 60_000_000n;
const BATCH = 100;
/** A server's code is compiled on use, in each of its processes, so many connections are needed. */
const WARM_UP_MS = 2000;
const WARM_UP_CONNECTIONS = 64;
/** Transactions prepared per second of load: about the servers' maximum. */
const TRANSACTIONS_PER_SEC = 8000;

interface Scenario {
  readonly name: string;
  /** number of requests in one HTTP request */
  readonly weight: number;
  /** bodies, sent repeatedly; `undefined`: transactions, each sent once */
  readonly bodies: ((target: RpcTarget) => Promise<readonly string[]>) | undefined;
}

/** `npm run bench -- rpc`: JSON-RPC over HTTP, rengine and anvil in turn, on chains with the same transactions. */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("rpc", args, {
    seconds: { type: "string", help: "length of a round (default 0.75, with --quick 0.5)" },
    rounds: { type: "string", help: "rounds of each row (default 4, with --quick 2)" },
    blocks: { type: "string", default: "20", help: "blocks with transactions before the requests" },
    connections: { type: "string", default: "1,16,256", help: "connections at once" },
    only: { type: "string", help: "regular expression: the rows to run" },
    "no-anvil": { type: "boolean", help: "rengine alone" },
    quick: { type: "boolean", help: "shorter and fewer rounds: enough to notice a change by a third" },
    workers: {
      type: "string",
      default: String(availableParallelism()),
      help: "--rpc.workers of rengine; anvil also has one thread per core",
    },
    "cpu-prof": { type: "string", help: "folder for CPU profiles" },
    json: { type: "boolean", help: "print JSON" },
    varied: {
      type: "boolean",
      help: "thousands of different requests about the blocks of a generated chain, instead of few that are repeated",
    },
    ...FOREIGN_OPTIONS,
  });
  const log = (line: string): void => console.error(line);
  const senders = makeSenders(SENDERS);
  const options = {
    chainId: CHAIN_ID,
    gasLimit: GAS_LIMIT,
    timestampSec: 1_700_000_000,
    rich: senders.map(({ address }) => bytesToHex(address)),
  };
  const profileTo = values["cpu-prof"];
  const seconds = Number(values.seconds ?? (values.quick ? 0.5 : 0.75));
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 4));
  const own = {
    nodeArgs: profileTo === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`],
    args: [`--rpc.workers=${values.workers}`],
  };
  if (values.varied) {
    const only = values.only === undefined ? undefined : new RegExp(values.only);
    const clients = foreignClients(values);
    const rows = await measureVaried({ seconds, rounds, only, own, clients, onRows: (measured) => log(progressOf(measured)) });
    console.log(values.json ? JSON.stringify(rows, undefined, 2) : report(rows));
    return rows.some(({ errors }) => errors > 0) ? 1 : 0;
  }
  const targets: RpcTarget[] = [];
  try {
    targets.push(await startRengineTarget(options, own));
    if (!values["no-anvil"]) targets.push(await startAnvilTarget(options));
    const chain = await prepare(targets, senders, Number(values.blocks), log);
    const chosen = scenarios(chain).filter(({ name }) => values.only === undefined || new RegExp(values.only).test(name));
    const rows: Row[] = [];
    for (const scenario of chosen) {
      await warmUp(targets, scenario, chain);
      for (const connections of values.connections.split(",").map(Number)) {
        const measured = await measure(targets, scenario, { connections, durationMs: seconds * 1000, rounds, chain });
        rows.push(...measured);
        log(progressOf(measured));
      }
    }
    console.log(values.json ? JSON.stringify(rows, undefined, 2) : report(rows));
    return rows.some(({ errors }) => errors > 0) ? 1 : 0;
  } finally {
    for (const target of targets) await target.stop();
  }
}

/** The content of both chains. */
interface BenchChain {
  readonly token: Hex;
  readonly senders: readonly Sender[];
  readonly lastBlock: number;
  /** of every sender */
  nonce: bigint;
}

const TRANSFER = hexToBytes("0xa9059cbb");
const BALANCE_OF = hexToBytes("0x70a08231");

function signed(sender: Sender, nonce: bigint, fields: Partial<FeeMarketTransaction>): Hex {
  const transaction: FeeMarketTransaction = {
    type: 0x02,
    chainId: BigInt(CHAIN_ID),
    nonce,
    gasLimit: 21_000n,
    to: sender.address,
    value: 1n,
    data: new Uint8Array(0),
    maxPriorityFeePerGas: 1_000_000n,
    maxFeePerGas: 50_000_000_000n,
    accessList: [],
    ...fields,
  };
  return bytesToHex(encodeTransaction(signTransaction(transaction, sender.privateKey)));
}

/** Deploys the token and creates blocks with one transfer of it per sender, and so one log each. */
async function prepare(
  targets: readonly RpcTarget[],
  senders: readonly Sender[],
  blocks: number,
  log: (line: string) => void,
): Promise<BenchChain> {
  const send = async (raw: Hex): Promise<Hex[]> =>
    Promise.all(targets.map(({ url }) => rpcCall<Hex>(url, "eth_sendRawTransaction", [raw])));
  const mine = async (): Promise<void> => void (await Promise.all(targets.map((target) => target.mine())));
  const { abi, creationCode } = contract(loadContracts(), "TestToken");
  const code = encodeDeployData({ abi, bytecode: creationCode, args: ["Bench", "BNC", parseEther("1000000000")] });
  const [first] = senders;
  const [deployed] = await send(signed(first!, 0n, { to: undefined, value: 0n, gasLimit: 5_000_000n, data: hexToBytes(code) }));
  await mine();
  const receipts = await Promise.all(
    targets.map(({ url }) => rpcCall<{ contractAddress: Hex; status: Hex } | null>(url, "eth_getTransactionReceipt", [deployed!])),
  );
  for (const receipt of receipts) if (receipt?.status !== "0x1") throw new Error(`token not deployed: ${JSON.stringify(receipt)}`);
  const token = receipts[0]!.contractAddress;
  const tokenCall = (to: Uint8Array, amount: bigint): Partial<FeeMarketTransaction> => ({
    to: hexToBytes(token),
    value: 0n,
    gasLimit: 100_000n,
    data: concatBytes(TRANSFER, padBytesLeft(to, 32), hexToBytes(`0x${amount.toString(16).padStart(64, "0")}`)),
  });
  // Aligns the nonces: every sender but the first has sent one transaction less.
  for (const [index, sender] of senders.entries()) {
    if (index > 0) await send(signed(sender, 0n, {}));
    await send(signed(first!, BigInt(index) + 1n, tokenCall(sender.address, 10n ** 18n)));
  }
  await mine();
  const nonceOf = async ({ address }: Sender): Promise<bigint> =>
    BigInt(await rpcCall<Hex>(targets[0]!.url, "eth_getTransactionCount", [bytesToHex(address), "latest"]));
  const nonces = await Promise.all(senders.map(nonceOf));
  for (let block = 0; block < blocks; block++) {
    for (const [index, sender] of senders.entries()) {
      await send(signed(sender, nonces[index]!, tokenCall(senders[(index + 1) % senders.length]!.address, 1n)));
      nonces[index]!++;
    }
    await mine();
  }
  const counts = await Promise.all(
    targets.map(async ({ url }) => {
      const { transactions } = await rpcCall<{ transactions: { hash: Hex; type: Hex }[] }>(url, "eth_getBlockByNumber", [
        "latest",
        true,
      ]);
      return transactions.filter(({ type }) => type !== "0x7e").length;
    }),
  );
  if (counts.some((count) => count !== senders.length)) throw new Error(`transactions in the last block: ${counts.join(", ")}`);
  const lastBlock = Number(await rpcCall<Hex>(targets[0]!.url, "eth_blockNumber"));
  log(`chains: ${lastBlock} blocks, ${senders.length} token transfers each`);
  // From here on the senders' nonces continue from that of the second sender; the first one is left out.
  return { token, senders: senders.slice(1), lastBlock, nonce: nonces[1]! };
}

function scenarios({ token, senders, lastBlock }: BenchChain): Scenario[] {
  const call = (method: string, params: readonly unknown[], id = 1): object => ({ jsonrpc: "2.0", id, method, params });
  const repeat =
    (method: string, paramsOf: (index: number) => readonly unknown[], count = 64) =>
    async () =>
      Array.from({ length: count }, (_, index) => JSON.stringify(call(method, paramsOf(index))));
  const account = (index: number): Hex => bytesToHex(senders[index % senders.length]!.address);
  const balanceOf = (index: number): Hex =>
    bytesToHex(concatBytes(BALANCE_OF, padBytesLeft(senders[index % senders.length]!.address, 32)));
  const block = (index: number): Hex => `0x${Math.max(1, lastBlock - (index % 8)).toString(16)}`;
  const batch = (method: string, paramsOf: (index: number) => readonly unknown[]) => async () => [
    JSON.stringify(Array.from({ length: BATCH }, (_, index) => call(method, paramsOf(index), index))),
  ];
  return [
    { name: "eth_blockNumber", weight: 1, bodies: repeat("eth_blockNumber", () => [], 1) },
    { name: "eth_getBalance", weight: 1, bodies: repeat("eth_getBalance", (index) => [account(index), "latest"]) },
    {
      name: "eth_call balanceOf",
      weight: 1,
      bodies: repeat("eth_call", (index) => [{ to: token, data: balanceOf(index) }, "latest"]),
    },
    {
      name: "eth_getLogs (1 block, 100 logs)",
      weight: 1,
      bodies: repeat("eth_getLogs", (index) => [{ address: token, fromBlock: block(index), toBlock: block(index) }]),
    },
    {
      name: "eth_getBlockByNumber full (100 txs)",
      weight: 1,
      bodies: repeat("eth_getBlockByNumber", (index) => [block(index), true]),
    },
    { name: "batch of 100 eth_getBalance", weight: BATCH, bodies: batch("eth_getBalance", (index) => [account(index), "latest"]) },
    {
      name: "batch of 100 eth_call balanceOf",
      weight: BATCH,
      bodies: batch("eth_call", (index) => [{ to: token, data: balanceOf(index) }, "latest"]),
    },
    { name: "eth_sendRawTransaction", weight: 1, bodies: undefined },
  ];
}

interface Measure {
  readonly connections: number;
  readonly durationMs: number;
  readonly rounds: number;
  readonly chain: BenchChain;
}

/** Measures the targets in turn, so that other work on the machine affects both. */
async function measure(
  targets: readonly RpcTarget[],
  scenario: Scenario,
  { connections, durationMs, rounds, chain }: Measure,
): Promise<Row[]> {
  const runs = new Map<RpcTarget, { results: LoadResult[]; cpuSec: number }>(
    targets.map((target) => [target, { results: [], cpuSec: 0 }]),
  );
  for (let round = 0; round < rounds; round++) {
    const transactions = scenario.bodies === undefined ? freshTransactions(chain, durationMs) : undefined;
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const requests = (transactions ?? (await scenario.bodies!(target))).map(httpRequest);
      let at = 0;
      const next = (): Buffer | undefined => (transactions === undefined ? requests[at++ % requests.length] : requests[at++]);
      const before = treeCpuSec(target.pid);
      const result = await runLoad({
        port: target.port,
        connections,
        next,
        durationMs: transactions === undefined ? durationMs : 60_000,
      });
      const run = runs.get(target)!;
      run.cpuSec += treeCpuSec(target.pid) - before;
      run.results.push(result);
      if (transactions !== undefined) await drain(target);
    }
  }
  return targets.map((target) => {
    const { results, cpuSec } = runs.get(target)!;
    const requests = results.reduce((sum, result) => sum + result.requests, 0) * scenario.weight;
    const perSec = results.map((result) => (result.requests * scenario.weight) / result.seconds);
    const latencies = Float64Array.from(results.flatMap(({ latenciesMs }) => latenciesMs)).sort();
    return {
      scenario: scenario.name,
      connections,
      target: target.name,
      rounds: perSec,
      requestsPerSec: median(perSec),
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      cpuUs: (cpuSec * 1e6) / requests,
      errors: results.reduce((sum, result) => sum + result.errors, 0),
    };
  });
}

async function warmUp(targets: readonly RpcTarget[], scenario: Scenario, chain: BenchChain): Promise<void> {
  const transactions = scenario.bodies === undefined ? freshTransactions(chain, WARM_UP_MS) : undefined;
  for (const target of targets) {
    const requests = (transactions ?? (await scenario.bodies!(target))).map(httpRequest);
    let at = 0;
    await runLoad({
      port: target.port,
      connections: WARM_UP_CONNECTIONS,
      next: () => (transactions === undefined ? requests[at++ % requests.length] : requests[at++]),
      durationMs: transactions === undefined ? WARM_UP_MS : 60_000,
    });
    if (transactions !== undefined) await drain(target);
  }
}

/** The same for every target. They are signed beforehand, so only the server's work is measured. */
function freshTransactions(chain: BenchChain, durationMs: number): string[] {
  const perSender = Math.ceil((TRANSACTIONS_PER_SEC * durationMs) / 1000 / chain.senders.length);
  const bodies: string[] = [];
  for (let count = 0; count < perSender; count++) {
    for (const sender of chain.senders) {
      const raw = signed(sender, chain.nonce, {});
      bodies.push(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] }));
    }
    chain.nonce++;
  }
  return bodies;
}

async function drain(target: RpcTarget): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    await target.mine();
    const { transactions } = await rpcCall<{ transactions: { type: Hex }[] }>(target.url, "eth_getBlockByNumber", ["latest", true]);
    if (transactions.every(({ type }) => type === "0x7e")) return;
  }
  throw new Error(`${target.name} does not mine what it took`);
}

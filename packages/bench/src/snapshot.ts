import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { GenesisState, initGenesis, openChain, sealGenesis, storedGenesisHash } from "@rnode/chain";
import { bigintToBytes, bytesToHex, hexToBytes, keccak256, ZERO_HASH } from "@rnode/primitives";
import { type ChainConfig, PREDEPLOYS, parseChainConfig, parseGenesisHead } from "@rnode/protocol";
import { createSnapshot, loadSnapshot, restoreSnapshot } from "@rnode/snapshot";
import { openChainStore } from "@rnode/storage";
import { benchOptions } from "./bench-options.ts";
import { CHAIN_CONFIG, GENESIS_HEADER_JSON, timestampOf } from "./import-generate.ts";

/*
 * Size, time and memory of a snapshot: of a state with so many accounts, every tenth of which is a contract with ten slots and one of fifty
 * codes. Each step is a process of its own. The snapshot of an older block reads what has changed since from the history.
 */

const STEPS = ["make", "create", "create-older", "verify", "restore"] as const;
type StepName = (typeof STEPS)[number];
const BLOCKS = 320;
const OLDER_BY = 60;
const CODES = 50;
const config: ChainConfig = parseChainConfig(CHAIN_CONFIG);
const word = (value: number): Uint8Array => bigintToBytes(BigInt(value), 32);

interface StepResult {
  readonly ms: number;
  /** of all threads */
  readonly cpuMs: number;
  readonly peakRssMib: number;
  readonly bytes?: number | undefined;
}

/** `npm run bench -- snapshot [--accounts=N]` */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("snapshot", args, {
    accounts: { type: "string", default: "1000000", help: "accounts of the state, and as many slots" },
    step: { type: "string", help: "one step alone, as the bench starts it" },
    folder: { type: "string", help: "with --step: where its files are" },
  });
  const accounts = Number(values.accounts);
  if (values.step !== undefined) {
    console.log(JSON.stringify(await runStep(values.step as StepName, values.folder!, accounts)));
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-snapshot-"));
  try {
    console.log(`${accounts.toLocaleString("en")} accounts, ${accounts.toLocaleString("en")} slots, ${BLOCKS} blocks`);
    console.log("| step | seconds | CPU seconds | peak memory, MiB | file, MiB |\n| --- | --- | --- | --- | --- |");
    for (const name of STEPS) {
      const { ms, cpuMs, peakRssMib, bytes } = await inProcess(name, folder, accounts);
      const size = bytes === undefined ? "" : (bytes / 2 ** 20).toFixed(1);
      console.log(`| ${name} | ${(ms / 1000).toFixed(1)} | ${(cpuMs / 1000).toFixed(1)} | ${peakRssMib} | ${size} |`);
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inProcess(step: StepName, folder: string, accounts: number): Promise<StepResult> {
  const code = `import(${JSON.stringify(import.meta.url)}).then(({ main }) => main(process.argv.slice(1)))`;
  const child = spawn(process.execPath, ["-e", code, "--", `--step=${step}`, `--folder=${folder}`, `--accounts=${accounts}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
  });
  await new Promise((resolve) => child.once("close", resolve));
  if (child.exitCode !== 0) throw new Error(`step ${step} ended with ${child.exitCode}`);
  return JSON.parse(output) as StepResult;
}

async function runStep(step: StepName, folder: string, accounts: number): Promise<StepResult> {
  const startMs = performance.now();
  const bytes = await STEP_FUNCTIONS[step](folder, accounts);
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage();
  return { ms, cpuMs: (user + system) / 1000, peakRssMib: Math.round(process.resourceUsage().maxRSS / 1024), bytes };
}

const database = (folder: string): string => join(folder, "database");
const file = (folder: string, name: string): string => join(folder, `${name}.snap`);

const STEP_FUNCTIONS: Readonly<Record<StepName, (folder: string, accounts: number) => Promise<number | undefined>>> = {
  make: makeChain,
  create: (folder) => create(folder, "latest", undefined),
  "create-older": (folder) => create(folder, "older", BLOCKS - OLDER_BY),
  verify: async (folder) => {
    (await loadSnapshot(file(folder, "latest"), { config }, { folder })).close();
    return undefined;
  },
  restore: async (folder) => {
    const loaded = await loadSnapshot(file(folder, "latest"), { config }, { folder });
    const store = openChainStore(join(folder, "restored"));
    restoreSnapshot(store, loaded);
    const { fileBytes } = store.storageStats();
    await store.close();
    loaded.close();
    return fileBytes;
  },
};

async function makeChain(folder: string, accounts: number): Promise<number> {
  const store = openChainStore(database(folder), { sync: "interval" });
  const state = new GenesisState({ folder });
  fill(state, accounts);
  const { header } = parseGenesisHead({ ...GENESIS_HEADER_JSON, config: CHAIN_CONFIG });
  initGenesis(store, sealGenesis(header, config, state));
  state.close();
  const chain = openChain({ store, config, nowMs: () => performance.now() });
  const choose = (head: Uint8Array) => ({ headBlockHash: head, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
  for (let number = 1; number <= BLOCKS; number++) {
    const attributes = {
      timestamp: timestampOf(number),
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
      transactions: [],
      noTxPool: true,
      gasLimit: 30_000_000n,
      eip1559Params: hexToBytes("0x000000fa00000006"),
      minBaseFee: 0n,
    };
    const started = chain.forkchoiceUpdated(choose(hexToBytes(chain.head().hash)), attributes, 3);
    if (started.kind !== "updated" || started.payloadId === undefined)
      throw new Error(`block ${number}: ${JSON.stringify(started)}`);
    chain.forkchoiceUpdated(choose(chain.getPayload(started.payloadId)!.hash), undefined, 3);
  }
  const { fileBytes } = store.storageStats();
  await chain.close();
  return fileBytes;
}

function fill(state: GenesisState, accounts: number): void {
  const codes = Array.from({ length: CODES }, (_, i) => state.addCode(new Uint8Array(2000 + i * 100).fill(i + 1)));
  const none = keccak256(new Uint8Array(0));
  for (let i = 0; i < accounts; i++) {
    const seed = keccak256(word(i));
    const address = seed.subarray(12);
    const isContract = i % 10 === 0;
    const balance = BigInt(bytesToHex(seed.subarray(0, 8)));
    state.addAccount(address, { nonce: BigInt(i % 100), balance, codeHash: isContract ? codes[(i / 10) % CODES]! : none });
    if (!isContract) continue;
    for (let slot = 0; slot < 10; slot++) {
      const value = slot % 2 === 0 ? word(i + slot + 1) : keccak256(word(i + slot));
      state.addSlot(address, { slot: slot < 3 ? word(slot) : keccak256(word(i * 16 + slot)), value });
    }
  }
}

async function create(folder: string, name: string, blockNumber: number | undefined): Promise<number> {
  const store = openChainStore(database(folder), { readOnly: true });
  const output = createWriteStream(file(folder, name));
  const request = { config, genesisHash: storedGenesisHash(store)!, blocks: 256, blockNumber };
  await createSnapshot(store, request, async (bytes) => {
    if (!output.write(bytes)) await new Promise<void>((resolve) => void output.once("drain", () => resolve()));
  });
  await new Promise<void>((resolve) => void output.end(() => resolve()));
  await store.close();
  return statSync(file(folder, name)).size;
}

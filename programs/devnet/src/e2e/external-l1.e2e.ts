import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { type Hex, parseEther } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { devAccounts } from "../accounts.ts";
import { type Devnet, type DevnetOptions, startDevnet } from "../devnet.ts";
import { choosePorts } from "../ports.ts";
import { RENGINE } from "../processes/commands.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const L1_CHAIN_ID = 4242;
const MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const folder = mkdtempSync(join(tmpdir(), "devnet-external-"));
const datadir = join(folder, "devnet");
let l1: Program;
let url = "";

beforeAll(async () => {
  const { l1: port } = await choosePorts(0);
  url = `http://127.0.0.1:${port}`;
  l1 = new Program({
    name: "L1 of somebody else",
    command: process.execPath,
    args: () => [
      ...[RENGINE, "--dev", "--dev.block-time=1s", `--dev.chain-id=${L1_CHAIN_ID}`, "--dev.fork=prague"],
      ...["--http.addr=127.0.0.1", `--http.port=${port}`, `--datadir=${join(folder, "l1")}`],
    ],
    logPath: join(folder, "l1.log"),
    isReady: async () => Number(await rpcCall<Hex>(url, "eth_chainId", [], 1000)) === L1_CHAIN_ID,
    readyTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
  });
  await l1.start();
});
afterAll(async () => {
  await l1.stop();
});

async function withDevnet(given: Partial<DevnetOptions>, use: (devnet: Devnet, view: ChainView) => Promise<void>): Promise<void> {
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  try {
    const devnet = await startDevnet(scope, { datadir, basePort: 0, nodes: 2, supervise: false, ...given });
    await use(devnet, new ChainView(devnet));
  } finally {
    await scope.close();
  }
}

const safeBeyond = (view: ChainView, number: number): Promise<number> =>
  waitFor(`a safe block after ${number} on the verifier`, 60_000, async () => {
    const safe = await view.safeNumber("verifier");
    return safe > number ? safe : undefined;
  });

it("the devnet runs on an L1 that runs already, with accounts of its own that another one pays for", {
  tags: "long",
  timeout: 180_000,
}, async () => {
  const mnemonicFile = join(folder, "mnemonic");
  const l1FunderKeyFile = join(folder, "key");
  writeFileSync(mnemonicFile, `${MNEMONIC}\n`);
  writeFileSync(l1FunderKeyFile, devAccounts(7)[6]!.privateKey);
  const { address: batcher } = devAccounts(3, MNEMONIC)[2]!;
  let safe = 0;
  await withDevnet(
    { l1: url, l1Beacon: url, mnemonicFile, l1FunderKeyFile, parameters: { l2BlockTimeSec: 1 } },
    async (devnet, view) => {
      const { info, programs } = devnet;
      expect([info.l1, info.l1ChainId, info.endpoints.l1, info.parameters.l1BlockTimeSec]).toEqual([
        "external",
        L1_CHAIN_ID,
        url,
        1,
      ]);
      expect(programs.l1).toBeUndefined();
      expect(info.accounts[2]!.address).toBe(batcher);
      safe = await safeBeyond(view, 0);
      expect(await view.blockHash("verifier", safe)).toBe(await view.blockHash("sequencer", safe));
      expect(await view.engine<Hex>("sequencer", "eth_getBalance", [batcher, "0x0"]).then(BigInt)).toBe(parseEther("10000"));
      const sent = await rpcCall<Hex>(url, "eth_getTransactionCount", [batcher, "latest"]);
      expect(Number(sent)).toBeGreaterThan(0);
    },
  );
  // Afterwards it knows where its L1 is.
  await withDevnet({}, async ({ isNew }, view) => {
    expect(isNew).toBe(false);
    await safeBeyond(view, safe);
  });
  await l1.stop();
  await expect(withDevnet({}, async () => {})).rejects.toThrow(`--l1 ${url} does not answer`);
});

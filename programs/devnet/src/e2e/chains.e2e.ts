// @module-tag long
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createPublicClient, http, parseAbi, parseEther } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevnetSet, startDevnetSet } from "../set/devnet-set.ts";
import { L2_TO_L2_MESSENGER } from "../set/sent-message.ts";
import { l2ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const ROOT = join(import.meta.dirname, "../../../..");
/** The operator's folder of published artifacts, as for the node. */
const upgradesDir = process.env.RNODE_ROLLUP_UPGRADES_DIR || undefined;
const has = (file: string): boolean => upgradesDir !== undefined && existsSync(join(upgradesDir, file));
const canRun = has("karst_nut_bundle.json") && has("lagoon_nut_bundle.json");
if (!canRun) console.log("not run: messages between two chains (RNODE_ROLLUP_UPGRADES_DIR has no contracts of them)");

/** `npm start -- --chains=2`, and the page about its first message. */
describe.runIf(canRun)("two chains of a set", () => {
  const folder = mkdtempSync(join(tmpdir(), "rnode-chains-e2e-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let set: DevnetSet;

  beforeAll(async () => {
    const parameters = { l1BlockTimeSec: 2, l2BlockTimeSec: 1 };
    set = await startDevnetSet(scope, { chains: 2, datadir: join(folder, "devnet"), basePort: 0, upgradesDir, parameters });
  }, 400_000);
  afterAll(() => scope.close(), 120_000);

  const clientOf = (index: number) => createPublicClient({ chain: l2ViemChain(set.chains[index]!.info), transport: http() });

  /** The blocks of code on the page, with the endpoints of this devnet. */
  function codeOfPage(): readonly [whole: string, call: string] {
    const page = readFileSync(join(ROOT, "docs/guide/first-message.md"), "utf8");
    const urls = set.chains.map(({ info }) => info.endpoints.sequencer.http);
    const [whole, call] = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!);
    return [whole!.replace("http://127.0.0.1:8546", urls[0]!).replace("http://127.0.0.1:8578", urls[1]!), call!];
  }

  async function run(code: string): Promise<string> {
    const file = join(ROOT, "programs/devnet/build", `first-message-${process.pid}.mjs`); // where viem is found
    writeFileSync(file, code);
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 240_000 });
      return stdout.trim();
    } finally {
      rmSync(file);
    }
  }

  it("sends ether as the page does", { timeout: 300_000 }, async () => {
    // messages begin with the second block of the fork that brings them
    await waitFor("the contracts of messages", 60_000, async () =>
      (await new ChainView(set.chains[1]!).unsafeNumber("sequencer")) > 4 ? true : undefined,
    );
    expect(await run(codeOfPage()[0])).toBe(`${parseEther("1")} wei on chain 902`);
    await waitFor("the relayer's count", 60_000, async () => (set.relayer.relayed === 1 ? true : undefined));
  });

  it("calls a contract as the page does", { timeout: 300_000 }, async () => {
    const [whole, call] = codeOfPage();
    const line = /^const hash = .*$/m.exec(whole)![0];
    await run(whole.replace(line, call));
    const abi = parseAbi(["function allowance(address, address) view returns (uint256)"]);
    const args = [L2_TO_L2_MESSENGER, set.chains[0]!.info.accounts[5]!.address] as const;
    const weth = "0x4200000000000000000000000000000000000006";
    expect(await clientOf(1).readContract({ address: weth, abi, functionName: "allowance", args })).toBe(42n);
  });

  it("has the blocks of both chains verified, with the messages in them", { timeout: 400_000 }, async () => {
    const view = new ChainView(set.chains[1]!);
    const number = await view.unsafeNumber("sequencer");
    await waitFor(`safe block ${number} of the set`, 300_000, async () =>
      (await view.safeNumber("verifier")) >= number && (await view.safeNumber("sequencer")) >= number ? true : undefined,
    );
    expect(await view.hashes("verifier", number)).toEqual(await view.hashes("sequencer", number));
    expect(set.relayer.waiting).toBe(0);
  });
});

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chainConfigOfNetwork } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { loadChainSpec, logChainSpec } from "./chain-spec.ts";

const folder = mkdtempSync(join(tmpdir(), "chain-spec-"));
const configs = join(folder, "registry/superchain/configs/sepolia");
mkdirSync(configs, { recursive: true });
const word = (digit: string): string => `"0x${digit.repeat(64)}"`;
const chainToml = (id: number, hardforks: string): string => `name = "Test"
chain_id = ${id}
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600
data_availability_type = "eth-da"
batch_inbox_addr = "0x${"1".repeat(40)}"
optimism = { eip1559_elasticity = 6, eip1559_denominator = 50, eip1559_denominator_canyon = 250 }
addresses = { OptimismPortalProxy = "0x${"2".repeat(40)}", SystemConfigProxy = "0x${"3".repeat(40)}" }
hardforks = { ${hardforks} }
[genesis]
l2_time = 1691802540
l1 = { hash = ${word("4")}, number = 1 }
l2 = { hash = ${word("5")}, number = 0 }
system_config = { batcherAddress = "0x${"6".repeat(40)}", overhead = ${word("0")}, scalar = ${word("1")}, gasLimit = 30000000 }
`;
writeFileSync(join(configs, "superchain.toml"), "[l1]\nchain_id = 11155111\n");
writeFileSync(join(configs, "op.toml"), chainToml(11_155_420, "canyon_time = 7"));
writeFileSync(join(configs, "base.toml"), chainToml(84_532, ""));
writeFileSync(join(configs, "celo.toml"), chainToml(11_142_220, "canyon_time = 7, cel2_time = 9"));

/** What the start logs of a chain. */
async function linesOf(given: Parameters<typeof loadChainSpec>[0], day: string): Promise<string[]> {
  const lines: string[] = [];
  const log = { info: (text: string) => void lines.push(`info ${text}`), warn: (text: string) => void lines.push(`warn ${text}`) };
  logChainSpec(await loadChainSpec(given), { log, clock: { unixMs: () => Date.parse(day) } });
  return lines;
}

describe("the chain that --chain names", () => {
  it("is of the table, which gets old", async () => {
    expect((await loadChainSpec({ chain: "op-sepolia" })).config).toEqual(chainConfigOfNetwork("op-sepolia"));
    expect((await loadChainSpec({ chain: "Sepolia" })).network).toBeUndefined();
    expect(await linesOf({ chain: "op-sepolia" }, "2026-11-27")).toEqual([]);
    expect(await linesOf({ chain: "op-sepolia" }, "2027-02-05")).toEqual(["warn the table of networks is older than six months"]);
    expect(await linesOf({ chain: "sepolia" }, "2027-02-05")).toEqual([]);
  });

  it("is of the registry that --registry names, or of a chain's file", async () => {
    const registry = join(folder, "registry");
    for (const given of [
      { chain: "op-sepolia", registry },
      { chain: join(configs, "op.toml") },
      { chain: `${registry}/op-sepolia` },
    ]) {
      const { config, network } = await loadChainSpec(given);
      expect(config.optimism?.forkTimes).toEqual({ regolith: 0, canyon: 7 });
      expect([config.chainId, network?.l1ChainId]).toEqual([11_155_420n, 11_155_111]);
      expect(await linesOf(given, "2030-01-01")).toEqual(["info the network's configuration is read from a registry"]);
    }
    expect(await loadChainSpec({ chain: "sepolia", registry }).catch((error: Error) => error.message)).toMatch(
      /has no network sepolia; it has/,
    );
    await expect(loadChainSpec({ chain: "celo-sepolia", registry })).rejects.toThrow(
      /^--chain: .*celo\.toml .*hardforks\.cel2_time: expected a fork that/,
    );
  });

  it("may have old keys in its genesis file, which is said", async () => {
    const chain = join(folder, "old-keys.json");
    const optimism = { eip1559Elasticity: 6, eip1559Denominator: 50 };
    const forks = ["regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian", "karst"];
    const times = Object.fromEntries(forks.map((fork) => [`${fork}Time`, 0]));
    const config = { chainId: 901, optimism, ...times, interopTime: 7 };
    writeFileSync(chain, JSON.stringify({ config, gasLimit: 1, alloc: {} }));
    expect((await loadChainSpec({ chain })).config.optimism?.forkTimes.lagoon).toBe(7);
    expect(await linesOf({ chain }, "2026-11-27")).toEqual(["warn the genesis file has a key under its old name"]);
  });

  it("is said to have left the OP Stack", async () => {
    for (const chain of ["base", "base-sepolia"]) {
      await expect(loadChainSpec({ chain })).rejects.toThrow(/^--chain: "base.*Base.* Run base-reth-node and base-consensus/);
    }
    const lines = await linesOf({ chain: join(configs, "base.toml") }, "2026-11-27");
    expect(lines.at(-1)).toBe("warn this chain left the OP Stack, and the node will stop or fork there");
    await expect(loadChainSpec({ chain: "lisk" })).rejects.toThrow(/lisk-mainnet was removed from the superchain registry/);
  });
});

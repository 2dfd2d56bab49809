import { anyJson, type MethodTable, method, optionalParam, param } from "@rnode/jsonrpc";
import { bytesToHex, EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { encodeProtocolVersion } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC } from "./testing/fake-chain.ts";
import { emptyL1Blocks, JOVIAN_HEADER } from "./testing/fake-endpoints.ts";
import { NodeFixture, type NodeFixtureOptions } from "./testing/running-node.ts";

// Options on their whole way, from the arguments of `main` to what others see: that of parts is tested beside them.

const VERSIONS = `0x${"77".repeat(20)}`;
const QUIET = ["--p2p.disable", "--log.level=warn"];

interface AtTimestamp {
  readonly optimistic_at_timestamp: Readonly<Record<string, object>>;
}

describe("an option given to main", () => {
  let fixture: NodeFixture;
  const open = async (options: NodeFixtureOptions): Promise<NodeFixture> => (fixture = await NodeFixture.open(options));
  afterEach(() => fixture.close());

  it("--verifier.l1-confs: derivation stays so far behind the L1 head", async () => {
    await open({ l1: { further: emptyL1Blocks(6), methods: { eth_getBlockReceipts: answer(() => []) } } });
    const derivedTo = async (args: string[]): Promise<unknown> => {
      const seen = new Set<number>();
      await fixture.running([...QUIET, "--l1.http-poll-interval=50ms", "--l1.rpckind=basic", ...args], async (call) => {
        const look = async (): Promise<number> => {
          const { current_l1, head_l1 } = (await call("rnode_syncStatus")) as Record<"current_l1" | "head_l1", { number: number }>;
          if (head_l1.number === 6) seen.add(current_l1.number);
          return current_l1.number;
        };
        await expect.poll(look).toBeGreaterThanOrEqual(args.length === 0 ? 6 : 4);
        for (let looks = 0; looks < 5; looks++) await look();
      });
      return Math.max(...seen);
    };
    expect([await derivedTo([]), await derivedTo(["--verifier.l1-confs=2"])]).toEqual([6, 4]);
  });

  it("--fetch-withdrawal-root-from-state: outputs are proven from the state", async () => {
    const asked: unknown[] = [];
    const proof = answer((args) => {
      asked.push(args[0]);
      return { accountProof: [] };
    });
    await open({
      config: { forkTimes: JOVIAN_FROM_GENESIS },
      l2: { header: JOVIAN_HEADER, methods: { eth_getProof: proof } },
    });
    const storageRoot = async (args: string[]): Promise<unknown> => {
      let output: unknown;
      await fixture.running([...QUIET, ...args], async (call) => {
        output = await call("optimism_outputAtBlock", "0x0");
        const genesisTime = `0x${GENESIS_TIME_SEC.toString(16)}`;
        const { outputRoot } = output as { readonly outputRoot: string };
        const { optimistic_at_timestamp: chains } = (await call("superroot_atTimestamp", genesisTime)) as AtTimestamp;
        expect(chains["901"]).toMatchObject({ output_root: outputRoot, required_l1: { number: 0 } });
      });
      return (output as { readonly withdrawalStorageRoot: string }).withdrawalStorageRoot;
    };
    expect(await storageRoot([])).toBe(bytesToHex(JOVIAN_HEADER.withdrawalsRoot!));
    expect(asked).toEqual([]);
    // The state is empty, and the proof says so.
    expect(await storageRoot(["--fetch-withdrawal-root-from-state"])).toBe(bytesToHex(EMPTY_TRIE_ROOT));
    expect(asked).toEqual(Array(2).fill("0x4200000000000000000000000000000000000016"));
  });

  it("--l2.enginekind: an execution client of another kind is warned about", async () => {
    const client = [{ code: "RH", name: "rengine", version: "v1", commit: "0x00000000" }];
    await open({ l2: { methods: { engine_getClientVersionV1: answer(() => client) } } });
    const warning = "the execution client is rengine: give --l2.enginekind=reth";
    expect(await fixture.running([...QUIET, "--l2.enginekind=geth"], async () => {})).toContain(warning);
    expect(await fixture.running(QUIET, async () => {})).not.toContain(warning);
  });

  describe("with protocol versions on L1", () => {
    let reads = 0;
    const openWith = (major: number) => {
      reads = 0;
      const required = bytesToHex(encodeProtocolVersion({ major, minor: 0, patch: 0, preRelease: 0 }));
      const storage = answer(([contract]) => {
        if (contract === VERSIONS) reads++;
        return required;
      });
      const protocolVersionsAddress = new Uint8Array(20).fill(0x77);
      return open({ config: { protocolVersionsAddress }, l1: { methods: { eth_getStorageAt: storage } } });
    };
    const args = [...QUIET, "--l1.trustrpc"];

    it("--rollup.halt: the node ends where L1 requires more", async () => {
      await openWith(99);
      const halted = "--rollup.halt=major: L1 requires protocol v99.0.0";
      expect(await fixture.until(halted, [...args, "--rollup.halt=major"])).toBe(1);
      expect(await fixture.until("L1 requires a newer protocol version", [...args, "--rollup.load-protocol-versions"])).toBe(0);
    });

    it("--l1.runtime-config-reload-interval: they are read again and again", async () => {
      await openWith(1);
      const loads = ["--rollup.load-protocol-versions", ...args];
      await fixture.running(loads, () => new Promise((resolve) => setTimeout(resolve, 300)));
      expect(reads).toBe(2);
      await fixture.running([...loads, "--l1.runtime-config-reload-interval=50ms"], () =>
        expect.poll(() => reads).toBeGreaterThanOrEqual(8),
      );
    });
  });
});

const JOVIAN_FROM_GENESIS = Object.fromEntries(
  ["regolith", "canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"].map((fork) => [fork, 0]),
);

/** A method of a fake endpoint. */
function answer(handler: (args: readonly unknown[]) => unknown): MethodTable[string] {
  return method({
    params: [param("first", anyJson), ...["second", "third"].map((name) => optionalParam(name, anyJson))],
    handler,
  });
}

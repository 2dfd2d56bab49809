import { AltDaError, altDaOptions } from "@rnode/alt-da";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, concatBytes } from "@rnode/primitives";
import { optionTable, parseOptions } from "@rnode/program";
import { SimClock } from "@rnode/program/testing";
import { encodeDaCommitment, keccakCommitment, type RollupConfig } from "@rnode/protocol";
import type { SendOutcome, TxCandidate } from "@rnode/tx-manager";
import { describe, expect, it } from "vitest";
import { assertAltDa, DaTransactions } from "./da-transactions.ts";
import { simRollupConfig } from "./testing/sim-rollup.ts";

const INBOX = new Uint8Array(20).fill(0xff);
const candidateOf = (byte: number): TxCandidate => ({ to: INBOX, carries: { kind: "calldata", data: Uint8Array.of(0, byte) } });
const commitmentHex = (byte: number): string =>
  bytesToHex(concatBytes(Uint8Array.of(1), encodeDaCommitment(keccakCommitment(Uint8Array.of(0, byte)))));

function setUp() {
  const clock = new SimClock();
  const sent: string[] = [];
  const putMs: number[] = [];
  const faults: Error[] = [];
  const transactions = new DaTransactions({
    transactions: {
      address: INBOX,
      send: async ({ carries }): Promise<SendOutcome> => {
        sent.push(carries.kind === "calldata" ? bytesToHex(carries.data) : carries.kind);
        return { kind: "failed", reason: "send-timeout", isPublished: false };
      },
    },
    store: {
      put: async (input) => {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        await clock.sleep(putMs.shift() ?? 0);
        return keccakCommitment(input);
      },
    },
    clock,
    log: silentLogger,
  });
  return { clock, sent, putMs, faults, transactions };
}

const away = () => new AltDaError("alt-da/unavailable", { server: "x", reason: "refused" });

describe("DaTransactions", () => {
  it("sends commitments in the order of the calls, however long storing takes", async () => {
    const { clock, sent, putMs, transactions } = setUp();
    putMs.push(500, 10, 100);
    const { signal } = new AbortController();
    const outcomes = [1, 2, 3].map((byte) => transactions.send(candidateOf(byte), signal));
    await clock.advance(1000);
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(["failed", "failed", "failed"]);
    expect(sent).toEqual([1, 2, 3].map(commitmentHex));
    expect(transactions.commitmentBytes).toBe(34);
  });

  it("tries until the data is stored, and sends nothing before", async () => {
    const { clock, sent, faults, transactions } = setUp();
    faults.push(away(), away());
    const outcome = transactions.send(candidateOf(1), new AbortController().signal);
    await clock.advance(2_500);
    expect(sent).toEqual([]);
    await clock.advance(1_000);
    await outcome;
    expect(sent).toEqual([commitmentHex(1)]);
  });

  it("ends when it is asked to stop", async () => {
    const { clock, sent, faults, transactions } = setUp();
    faults.push(...Array.from({ length: 10 }, away));
    const stopping = new AbortController();
    const outcome = transactions.send(candidateOf(1), stopping.signal);
    await clock.advance(3_000);
    stopping.abort();
    expect(await outcome).toEqual({ kind: "cancelled" });
    expect(sent).toEqual([]);
  });
});

describe("the rollup's alt_da and the options", () => {
  const table = optionTable({ program: "test", summary: "", envPrefix: "T_", groups: { altda: altDaOptions } });
  const ON = ["--altda.enabled", "--altda.da-server=http://127.0.0.1:1"];
  const altdaOf = (args: readonly string[]) => {
    const parsed = parseOptions(table, args, {});
    if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
    return parsed.options.altda;
  };
  const windows = { da_challenge_window: 16, da_resolve_window: 16 };
  const KECCAK = { da_challenge_contract_address: `0x${"da".repeat(20)}`, da_commitment_type: "KeccakCommitment", ...windows };
  const GENERIC = { da_commitment_type: "GenericCommitment", ...windows };
  const rollupOf = (altDa: object | undefined): RollupConfig => simRollupConfig(altDa === undefined ? {} : { alt_da: altDa });
  type Batches = Parameters<typeof assertAltDa>[0]["batches"];
  const batchesOf = (over: Partial<Batches> = {}): Batches =>
    ({ dataAvailabilityType: "calldata", maxL1TxSizeBytes: 120_000, ...over }) as Batches;

  it.each<[string, string[], object | undefined]>([
    ["none", [], undefined],
    ["keccak256", ON, KECCAK],
    ["a service", [...ON, "--altda.da-service"], GENERIC],
  ])("agree on %s", (_, args, altDa) => {
    expect(() => assertAltDa({ altda: altdaOf(args), batches: batchesOf() }, rollupOf(altDa))).not.toThrow();
  });

  it.each<[string, string[], object | undefined, Partial<Batches>, string]>([
    ["data on L1 that belongs on a server", [], KECCAK, {}, "--altda.enabled: false does not do"],
    ["data on a server that belongs on L1", ON, undefined, {}, "--altda.enabled: true does not do"],
    ["the other kind of commitments", ON, GENERIC, {}, "--altda.da-service: false does not do"],
    ["blobs", ON, KECCAK, { dataAvailabilityType: "blobs" }, "--data-availability-type: blobs does not do"],
    ["data that is too long to be shown", ON, KECCAK, { maxL1TxSizeBytes: 130_673 }, "--max-l1-tx-size-bytes: 130673 does not do"],
  ])("do not agree on %s", (_, args, altDa, over, message) => {
    expect(() => assertAltDa({ altda: altdaOf(args), batches: batchesOf(over) }, rollupOf(altDa))).toThrow(message);
  });

  it("want a server", () => {
    expect(parseOptions(table, ["--altda.enabled"], {})).toMatchObject({
      kind: "error",
      faults: [expect.stringContaining("--altda.da-server")],
    });
  });
});

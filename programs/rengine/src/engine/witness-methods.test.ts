import { decodeWitness, encodeWitness } from "@rnode/chain";
import { l1Info } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signTransfer } from "../testing/clients-of-test.ts";
import { type BuiltPayloadJson, startTestClient, type TestClient } from "../testing/test-client.ts";

const ZERO: Hex = `0x${"00".repeat(32)}`;

interface Status {
  readonly status: string;
  readonly witness?: Hex;
  readonly stateRoot?: Hex;
  readonly receiptsRoot?: Hex;
  readonly validationError: string | null;
}

// op-geth v1.101702.3 executes payloads on these witnesses, and this client on op-geth's, with the same roots.
describe.each(["R", "G"] as const)("witnesses over the Engine API, profile %s", (profile) => {
  let node: TestClient;
  let payload: BuiltPayloadJson["executionPayload"];
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
    await node.buildBlock();
    const built = await node.buildBlock({ transactions: [await signTransfer(0, { value: 5n })] });
    payload = built.payload.executionPayload;
  });
  afterAll(() => node.remove());

  const call = <T = Status>(method: string, ...params: unknown[]) => node.engine.call<T>(`engine_${method}`, params);
  const execute = (given: object, witness: Hex) => call("executeStatelessPayloadV4", given, [], ZERO, [], witness);
  const witnessed = async (): Promise<Hex> => (await call("newPayloadWithWitnessV4", payload, [], ZERO, [])).witness!;

  it("come with the verdict on a payload, and suffice to execute it", async () => {
    const status = await call("newPayloadWithWitnessV4", payload, [], ZERO, []);
    expect(status).toMatchObject({ status: "VALID", latestValidHash: payload.blockHash, witness: expect.stringMatching(/^0xf9/) });
    const roots = { stateRoot: payload.stateRoot, receiptsRoot: payload.receiptsRoot };
    const computed = { status: "VALID", ...roots, validationError: null };
    expect(await execute(payload, status.witness!)).toEqual(computed);
    // whoever asks for the roots does not know them
    expect(await execute({ ...payload, stateRoot: ZERO, receiptsRoot: ZERO }, status.witness!)).toEqual(computed);
  });

  it("that lack something, or a payload that is wrong, are refused in words", async () => {
    const witness = decodeWitness(hexToBytes(await witnessed()));
    const without = (fields: object): Hex => bytesToHex(encodeWitness({ ...witness, ...fields }));
    const { status, validationError } = await execute(payload, without({ state: witness.state.slice(1) }));
    expect([status, validationError]).toEqual(["INVALID", expect.any(String)]);
    expect(await execute(payload, without({ headers: [] }))).toMatchObject({
      status: "INVALID",
      stateRoot: ZERO,
      validationError: `the witness has no header ${payload.parentHash as string}, the parent`,
    });
    for (const bad of ["0x", "0x00", "0xc0", "0xc4c0c0c0c0", "0xc480808080"] as const)
      expect(await execute(payload, bad)).toMatchObject({ status: "INVALID" });
    expect(await execute({ ...payload, gasUsed: "0x1" }, await witnessed())).toMatchObject({
      status: "INVALID",
      validationError: expect.stringMatching(/^gas used: 1 in the payload/),
    });
    expect(await execute({ ...payload, transactions: ["0x01"] }, await witnessed())).toMatchObject({ status: "INVALID" });
  });

  it("come with the payload when the build asked for it, and not otherwise", async () => {
    const head = { headBlockHash: payload.blockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    const deposit = bytesToHex(encodeTransaction({ ...l1Info("jovian"), sourceHash: new Uint8Array(32).fill(0x77) }));
    const build = async (method: string, later: number) => {
      const { payloadId } = await call<{ payloadId: Hex }>(method, head, {
        timestamp: toQuantity(Number(payload.timestamp) + later),
        prevRandao: ZERO,
        suggestedFeeRecipient: payload.feeRecipient,
        withdrawals: [],
        parentBeaconBlockRoot: ZERO,
        transactions: [deposit, await signTransfer(1)],
        noTxPool: true,
        gasLimit: payload.gasLimit,
        eip1559Params: "0x000000fa00000006",
        minBaseFee: 0,
      });
      return call<BuiltPayloadJson & { witness?: Hex }>("getPayloadV4", payloadId);
    };
    const { executionPayload, witness } = await build("forkchoiceUpdatedWithWitnessV3", 2);
    expect(await execute(executionPayload, witness!)).toMatchObject({ status: "VALID", stateRoot: executionPayload.stateRoot });
    expect(await build("forkchoiceUpdatedV3", 4)).not.toHaveProperty("witness");
  });

  it("are bound to forks as the methods without them", async () => {
    await expect(call("newPayloadWithWitnessV3", payload, [], ZERO)).rejects.toMatchObject({ code: -38005 });
    await expect(call("executeStatelessPayloadV3", payload, [], ZERO, await witnessed())).rejects.toMatchObject({ code: -38005 });
    const { blobGasUsed: _, ...old } = payload;
    await expect(call("newPayloadWithWitnessV4", old, [], ZERO, [])).rejects.toMatchObject({ code: -32602 });
    const head = { headBlockHash: payload.blockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    expect(await call("forkchoiceUpdatedWithWitnessV1", head, null)).toMatchObject({ payloadId: null });
  });
});

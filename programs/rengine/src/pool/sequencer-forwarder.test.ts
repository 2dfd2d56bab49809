import { createLogger } from "@rnode/observe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, startTestClient, type TestClient } from "../testing/test-client.ts";
import { createSequencerForwarder } from "./sequencer-forwarder.ts";

describe("the probe of the sequencer's endpoint", () => {
  let sequencer: TestClient;
  beforeAll(async () => {
    sequencer = await startTestClient();
  });
  afterAll(() => sequencer.remove());

  const probed = async (url: string, chainId: number): Promise<string> => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const log = createLogger({ level: "info", format: "logfmt", color: false, pid: false, destination });
    const forwarder = createSequencerForwarder(url, BigInt(chainId), log);
    await forwarder.probe();
    await forwarder.close();
    return lines.join("");
  };

  it("says that it answers, that it is of another chain, or that it does not answer", async () => {
    expect(await probed(sequencer.httpUrl, CHAIN_ID)).toMatch(/lvl=info msg="sequencer endpoint answers"/);
    expect(await probed(sequencer.httpUrl, 10)).toMatch(
      /lvl=error msg="sequencer endpoint is on another chain".* answered=0x385 expected=0xa/,
    );
    expect(await probed("http://127.0.0.1:1", CHAIN_ID)).toMatch(/lvl=warn msg="sequencer endpoint does not answer: .*"/);
  });
});

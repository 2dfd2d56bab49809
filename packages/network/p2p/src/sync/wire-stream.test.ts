import type { Stream } from "@libp2p/interface";
import { concatBytes } from "@rnode/primitives";
import { afterEach, describe, expect, it } from "vitest";
import { createHost, type Host } from "../host/create-host.ts";
import { connectionLimits } from "../network.ts";
import { Libp2pStream } from "./wire-stream.ts";

const PROTOCOL = "/test/1";
const hosts: Host[] = [];
afterEach(async () => {
  await Promise.all(hosts.splice(0).map(async (host) => host.stop()));
});

async function startHost(): Promise<Host> {
  const host = await createHost({
    networkKey: crypto.getRandomValues(new Uint8Array(32)),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: "rnode/test",
    limits: connectionLimits(20),
  });
  hosts.push(host);
  await host.start();
  return host;
}

/** A stream without protocol negotiation, which libp2p does not offer. */
async function bareStream(from: Host, to: Host): Promise<Stream> {
  const connection = await from.dial(to.getMultiaddrs());
  await from.services.ping.ping(to.peerId); // both sides are ready
  const { muxer } = connection as unknown as { readonly muxer: { createStream(): Promise<Stream> } };
  return muxer.createStream();
}

const line = (text: string): Uint8Array => Uint8Array.of(text.length + 1, ...Buffer.from(`${text}\n`));

describe("a stream whose peer names the protocol, sends and closes in one go, as Go's libp2p does", () => {
  it.each([0, 50])("is read to its end, %i ms later", async (waitMs) => {
    const [from, to] = [await startHost(), await startHost()];
    const accepted = new Promise<Stream>((resolve) => void to.handle(PROTOCOL, (stream) => resolve(stream)));
    const sent = await bareStream(from, to);
    sent.send(concatBytes(line("/multistream/1.0.0"), line(PROTOCOL), Uint8Array.of(1, 2, 3)));
    void sent.close();
    const stream = new Libp2pStream(await accepted);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const got: number[] = [];
    await stream.read((chunk) => {
      got.push(...chunk);
      return true;
    }, AbortSignal.timeout(5_000));
    expect(got).toEqual([1, 2, 3]);
  });
});

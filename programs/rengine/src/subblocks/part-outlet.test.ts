import { describe, expect, it } from "vitest";
import { PartOutlet } from "./part-outlet.ts";

const outlet = ({ readers = 0, head = 4 } = {}) => {
  const chain = { head };
  const [sent, made]: [string[], string[]] = [[], []];
  const server = {
    readers,
    encode: (text: string) => Buffer.from(text),
    send: (message: Buffer) => void sent.push(String(message)),
  };
  const parts = new PartOutlet({ server, head: () => chain.head });
  const publish = (blockNumber: number, index: number, characters = 0, payloadId = `0x0${blockNumber}` as const): void => {
    const text = `${payloadId}/${index}`;
    const make = (): string => {
      made.push(text);
      return text;
    };
    parts.publish({ blockNumber, index, payloadId }, make, characters);
  };
  return { chain, sent, made, publish, missed: () => parts.missed().map(String) };
};

describe("the outlet of parts", () => {
  it("sends each part, and gives those of the latest block to one that connects within it", () => {
    const { sent, made, publish, missed } = outlet({ readers: 1 });
    for (const index of [0, 1, 2]) publish(5, index);
    expect(sent).toEqual(["0x05/0", "0x05/1", "0x05/2"]);
    for (let reader = 0; reader < 2; reader++) expect(missed()).toEqual(sent);
    expect(made).toEqual(sent); // once
    publish(6, 0);
    expect(missed()).toEqual(["0x06/0"]);
  });

  it("makes no message that nobody wants", () => {
    const { made, publish, missed } = outlet();
    for (const index of [0, 1]) publish(5, index);
    expect(made).toEqual([]);
    expect(missed()).toHaveLength(2);
  });

  it("has nothing of a block that is there, or that it does not know from its first part on", () => {
    const { chain, publish, missed } = outlet();
    publish(5, 0);
    chain.head = 5;
    expect(missed()).toEqual([]);
    publish(5, 1);
    publish(6, 1);
    expect(missed()).toEqual([]);
    publish(6, 0);
    publish(6, 2);
    publish(7, 1, 0, "0x08");
    expect(missed()).toEqual(["0x06/0"]);
  });

  it("keeps nothing of a block whose parts are too large", () => {
    const { publish, missed } = outlet();
    for (const index of [0, 1]) publish(5, index, 16 * 1024 * 1024);
    expect(missed()).toHaveLength(2);
    publish(5, 2, 1);
    publish(5, 0, 1, "0x06");
    publish(5, 1, 1);
    expect(missed()).toEqual(["0x06/0"]);
  });
});

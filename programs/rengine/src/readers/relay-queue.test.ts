import { ClientConnection } from "@rnode/jsonrpc";
import { noMetrics } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { RelayQueue } from "./relay-queue.ts";

/** Another process that answers when it is told to. */
function otherProcess() {
  const asked: { readonly text: string; readonly reader: number | undefined; readonly answer: (text: string) => void }[] = [];
  const send = (text: string, reader?: number): Promise<string> =>
    new Promise((resolve) => {
      asked.push({ text, reader, answer: resolve });
    });
  return { asked, send, texts: () => asked.map(({ text }) => text) };
}

const LIMITS = { maxWaiting: 8, maxWaitingBytes: 1000, maxSent: 2, maxAnswerBytes: 1000 };
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("requests for another process", () => {
  it("are sent a few at a time; those of a client that leaves are not sent any more", async () => {
    const { asked, send, texts } = otherProcess();
    const queue = new RelayQueue(send, LIMITS, noMetrics);
    const [greedy, other] = [new ClientConnection("http", "1.2.3.4"), new ClientConnection("http", "5.6.7.8")];
    const first = ["a", "b"].map((text) => queue.ask(text, greedy));
    const waiting = [queue.ask("c", greedy), queue.ask("d", greedy)].map((answer) => answer.catch((error: Error) => error.message));
    const honest = queue.ask("e", other);
    expect(texts()).toEqual(["a", "b"]);
    greedy.leave();
    expect(await Promise.all(waiting)).toEqual(Array(2).fill("the client has closed the connection"));
    asked[0]!.answer("A");
    expect(await first[0]).toBe("A");
    await settle();
    expect(texts()).toEqual(["a", "b", "e"]);
    asked[2]!.answer("E");
    expect(await honest).toBe("E");
    await expect(queue.ask("f", greedy)).rejects.toMatchObject({ code: -32000 });
  });

  it("wait for their process only", async () => {
    const { asked, send, texts } = otherProcess();
    const queue = new RelayQueue(send, LIMITS, noMetrics);
    const client = new ClientConnection("http", "1.2.3.4");
    void queue.ask("a", client, 1);
    void queue.ask("b", client, 1);
    void queue.ask("c", client, 1);
    void queue.ask("d", client);
    expect(texts()).toEqual(["a", "b", "d"]);
    expect(asked.map(({ reader }) => reader)).toEqual([1, 1, undefined]);
  });

  it("are refused when too many or too large ones wait; one network has a quarter of the places", async () => {
    const { send } = otherProcess();
    const queue = new RelayQueue(send, LIMITS, noMetrics);
    const client = new ClientConnection("http", "1.2.3.4");
    const other = new ClientConnection("http", "5.6.7.8");
    for (let index = 0; index < 4; index++) void queue.ask("x", client);
    await expect(queue.ask("x", client)).rejects.toMatchObject({ code: -32005, message: expect.stringMatching(/try again later/) });
    void queue.ask("x", other);
    await expect(queue.ask("x".repeat(1000), other)).rejects.toMatchObject({ code: -32005 });
  });

  it("with large answers are sent one at a time, once it is known that they are large", async () => {
    const { asked, send } = otherProcess();
    const queue = new RelayQueue(send, { ...LIMITS, maxSent: 10 }, noMetrics);
    const client = new ClientConnection("http", "1.2.3.4");
    const other = new ClientConnection("http", "5.6.7.8");
    const large = '{"jsonrpc":"2.0","id":0,"method":"txpool_content"}';
    const small = '{"jsonrpc":"2.0","id":0,"method":"txpool_status"}';
    for (let index = 0; index < 5; index++) void queue.ask(large, client);
    expect(asked.length).toBe(4); // each is taken for a quarter
    for (const { answer } of asked.slice(0, 4)) answer("x".repeat(900));
    await settle();
    expect(asked.length).toBe(5);
    void queue.ask(large, client);
    void queue.ask(small, other);
    expect(asked.length).toBe(5);
    asked[4]!.answer("x".repeat(900));
    await settle();
    expect(asked.slice(5).map(({ text }) => text)).toEqual([small]); // it has had less time
    asked[5]!.answer("y");
    await settle();
    expect(asked[6]!.text).toBe(large);
    void queue.ask(small, other); // small ones go beside it
    expect(asked.length).toBe(8);
  });

  it("that fail make room as well", async () => {
    let fails = 0;
    const queue = new RelayQueue(
      () => {
        fails++;
        return Promise.reject(new Error("gone"));
      },
      LIMITS,
      noMetrics,
    );
    const client = new ClientConnection("http", "1.2.3.4");
    const asked = ["a", "b", "c", "d"].map((text) => queue.ask(text, client));
    for (const answer of asked) await expect(answer).rejects.toThrow("gone");
    expect(fails).toBe(4);
  });
});

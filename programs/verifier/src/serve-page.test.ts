import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { servePage } from "./index.ts";

it("answers targets that are no paths, and goes on", async () => {
  const page = await servePage();
  onTestFinished(() => page.close());
  const statusOf = async (target: string): Promise<string> => {
    const socket = connect(Number(new URL(page.url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (part) => {
      text += part.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    await once(socket, "close");
    return text.split(" ", 2)[1] ?? "";
  };
  for (const target of ["/%", "//", "//[", "/%E0%A4%A", "/%00", "/../../package.json", "/..%2f..%2fpackage.json", "*", "/assets"])
    expect([target, await statusOf(target)]).toEqual([target, expect.stringMatching(/^40[04]$/)]);
});

import { describe, expect, it } from "vitest";
import { revertReason } from "./revert-reason.ts";

describe("revertReason", () => {
  const word = (value: number) => value.toString(16).padStart(64, "0");
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
  it.each([
    ["a text", `08c379a0${word(32)}${word(5)}${Buffer.from("hello").toString("hex").padEnd(64, "0")}`, "hello"],
    ["a panic", `4e487b71${word(0x11)}`, "arithmetic underflow or overflow"],
    ["an unknown panic", `4e487b71${word(0x99)}`, "unknown panic code: 0x99"],
    ["a custom error", `deadbeef${word(1)}`, undefined],
    ["nothing", "", undefined],
    ["an offset beyond the end", `08c379a0${word(320)}${word(5)}`, undefined],
    ["a length beyond the end", `08c379a0${word(32)}${word(500)}`, undefined],
    ["huge numbers", `08c379a0${"f".repeat(64)}${"f".repeat(64)}`, undefined],
  ])("reads %s", (_, hex, reason) => {
    expect(revertReason(bytes(hex))).toBe(reason);
  });
});

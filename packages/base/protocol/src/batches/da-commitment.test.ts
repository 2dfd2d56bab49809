import { bytesToHex, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { badChallenges } from "../testing/contract-logs.ts";
import {
  CHALLENGE_STATUS_TOPIC,
  challengeEventFromLog,
  DaCommitmentError,
  decodeDaCommitment,
  encodeDaCommitment,
  isInputOf,
  keccakCommitment,
  resolvedInput,
} from "./da-commitment.ts";

const INPUT = new TextEncoder().encode("some input");
const word = (value: number): string => value.toString(16).padStart(64, "0");

describe("a commitment", () => {
  it("is a type byte and what the type says", () => {
    const keccak = keccakCommitment(INPUT);
    expect(bytesToHex(encodeDaCommitment(keccak))).toBe(`0x00${bytesToHex(keccak256(INPUT)).slice(2)}`);
    expect(decodeDaCommitment(encodeDaCommitment(keccak))).toEqual(keccak);
    const generic = { kind: "generic", opaque: Uint8Array.of(0xff, 1) } as const;
    expect(bytesToHex(encodeDaCommitment(generic))).toBe("0x01ff01");
    expect(decodeDaCommitment(encodeDaCommitment(generic))).toEqual(generic);
  });

  it("tells its input from others if it is a hash", () => {
    expect(isInputOf(keccakCommitment(INPUT), INPUT)).toBe(true);
    expect(isInputOf(keccakCommitment(INPUT), Uint8Array.of(1))).toBe(false);
    expect(isInputOf({ kind: "generic", opaque: Uint8Array.of(1) }, INPUT)).toBe(true);
  });

  it.each([
    ["nothing", "0x", "da-commitment/empty"],
    ["31 bytes of a hash", `0x00${"11".repeat(31)}`, "da-commitment/wrong-length"],
    ["33 bytes of a hash", `0x00${"11".repeat(33)}`, "da-commitment/wrong-length"],
    ["a generic one without content", "0x01", "da-commitment/wrong-length"],
    ["an unknown type", "0x0211", "da-commitment/unknown-type"],
  ])("is not %s", (_, hex, code) => {
    expect(() => decodeDaCommitment(hexToBytes(hex))).toThrow(expect.objectContaining({ code }));
  });
});

describe("the challenge contract", () => {
  const commitment = encodeDaCommitment(keccakCommitment(INPUT));
  const hex = bytesToHex(commitment).slice(2).padEnd(128, "0");
  const event = (status: number, change: (data: string) => string = (data) => data) => ({
    address: new Uint8Array(20),
    topics: [CHALLENGE_STATUS_TOPIC, hexToBytes(word(77))],
    data: hexToBytes(change(word(64) + word(status) + word(33) + hex)),
  });

  it.each([
    [1, "active"],
    [2, "resolved"],
    [3, "other"],
  ])("says with status %i that a challenge is %s", (status, meaning) => {
    expect(challengeEventFromLog(event(status))).toEqual({
      status: meaning,
      challengedBlock: 77,
      commitment: keccakCommitment(INPUT),
    });
  });

  it.each<[string, () => unknown]>([
    ["an event without the block", () => challengeEventFromLog({ ...event(1), topics: [CHALLENGE_STATUS_TOPIC] })],
    ["an event whose commitment ends early", () => challengeEventFromLog(event(1, (data) => data.slice(0, -128)))],
    ["an event whose commitment is elsewhere", () => challengeEventFromLog(event(1, (data) => word(4096) + data.slice(64)))],
    ["an event with an enormous offset", () => challengeEventFromLog(event(1, (data) => "ff".repeat(32) + data.slice(64)))],
    ["a call of another function", () => resolvedInput(hexToBytes(`0x12345678${word(1)}`))],
    ["a call without arguments", () => resolvedInput(hexToBytes("0x7ae929d9"))],
  ])("is not read from %s", (_, read) => {
    expect(read).toThrow(expect.objectContaining({ code: "da-commitment/bad-abi" }));
  });

  it("is not read from any log that it cannot emit", () => {
    for (const log of badChallenges(new Uint8Array(20), keccakCommitment(INPUT))) {
      expect(() => challengeEventFromLog(log), bytesToHex(log.data)).toThrow(DaCommitmentError);
    }
  });

  it("takes the data as the third argument of resolve", () => {
    const input = bytesToHex(INPUT).slice(2).padEnd(64, "0");
    const call = `0x7ae929d9${word(77)}${word(96)}${word(192)}${word(33)}${hex}${word(INPUT.length)}${input}`;
    expect(resolvedInput(hexToBytes(call))).toEqual(INPUT);
  });
});

import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { compareProtocolVersions, encodeProtocolVersion, formatProtocolVersion, VERSION_DELTA } from "./protocol-version.ts";

const MAX = 2 ** 32 - 1;

/** `major.minor.patch-pre+build`, optionally after `type:`. */
function version(text: string): Uint8Array {
  const [, type = "0", major, minor, patch, preRelease = "0", build = ""] =
    /^(?:(\d+):)?(\d+)\.(\d+)\.(\d+)(?:-(\d+))?(?:\+(.*))?$/.exec(text)!;
  const encoded = encodeProtocolVersion({
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    preRelease: Number(preRelease),
  });
  encoded[0] = Number(type);
  encoded.set(Buffer.from(build, "latin1"), 8);
  return encoded;
}

describe("protocol versions", () => {
  it("are 32 bytes: type, build, and four numbers", () => {
    expect(bytesToHex(version("1.2.3-4"))).toBe(`0x${"00".repeat(16)}00000001000000020000000300000004`);
  });

  it.each([
    ["9.0.0", "9.0.0", "matching"],
    ["10.0.0", "9.9.9", "aheadMajor"],
    ["9.0.0", "10.0.0", "outdatedMajor"],
    ["9.1.0", "9.0.9", "aheadMinor"],
    ["9.0.9", "9.1.0", "outdatedMinor"],
    ["9.0.1", "9.0.0", "aheadPatch"],
    ["9.0.0", "9.0.1", "outdatedPatch"],
    ["9.0.0-2", "9.0.0-1", "aheadPreRelease"],
    ["9.0.0-1", "9.0.0-2", "outdatedPreRelease"],
    ["9.0.1-1", "9.0.0", "aheadPreRelease"], // a pre-release of 9.0.1 is newer than 9.0.0
    ["9.0.1-1", "9.0.1", "outdatedPatch"],
    ["9.1.0-1", "9.1.0", "outdatedMinor"],
    ["9.0.0-1", "9.0.0", "outdatedMajor"],
    ["0.0.0", "9.0.0", "empty"],
    ["9.0.0", "0.0.0", "empty"],
    ["1:9.0.0", "9.0.0", "unknownType"],
    ["9.0.0+a", "9.0.0+b", "differentBuild"],
    ["1:9.0.0+a", "9.0.0+b", "unknownType"], // the type is compared first
    [`9.0.${MAX}`, "9.0.0", "invalid"],
    ["9.0.0", `${MAX}.0.0`, "invalid"],
  ] as const)("%s beside %s is %s", (own, other, delta) => {
    expect(compareProtocolVersions(version(own), version(other))).toBe(VERSION_DELTA[delta]);
  });

  it.each([
    ["9.0.0", "v9.0.0"],
    ["9.1.2-3", "v9.1.2-3"],
    ["9.0.0+mybuild", "v9.0.0+mybuild"],
    ["9.0.0-1+a.b", "v9.0.0-1+a.b"],
    ["9.0.0+.a", "v9.0.0+0x2e61000000000000"],
    ["9.0.0+a\x01", "v9.0.0+0x6101000000000000"],
    ["5:9.0.0", `v0.0.0-unknown.0x05${"00".repeat(15)}00000009${"00".repeat(12)}`],
  ])("%s is written %s", (text, written) => {
    expect(formatProtocolVersion(version(text))).toBe(written);
  });
});

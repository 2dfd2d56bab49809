import { describe, expect, it } from "vitest";
import { dependencySetFromJson, dependencySetToJson } from "./dependency-set.ts";

describe("dependencySetToJson", () => {
  it.each([{ dependencies: { 1: {}, 901: {} } }, { dependencies: { 901: {} }, overrideMessageExpiryWindow: 3600 }])(
    "writes the file's form: %j",
    (json) => {
      expect(dependencySetToJson(dependencySetFromJson(json))).toEqual(json);
    },
  );
});

describe("the dependency set", () => {
  it("has its chains in order and an expiry window of seven days", () => {
    expect(dependencySetFromJson({ dependencies: { "902": {}, "10": {}, "901": { chainIndex: 1, activationTime: 0 } } })).toEqual({
      chainIds: [10n, 901n, 902n],
      expiryWindowSec: 604_800,
    });
  });

  it.each([
    [3600, 3600],
    [0, 604_800],
    [null, 604_800],
  ])("overrideMessageExpiryWindow %s is a window of %s s", (given, expected) => {
    expect(dependencySetFromJson({ dependencies: { "1": {} }, overrideMessageExpiryWindow: given }).expiryWindowSec).toBe(expected);
  });

  it.each([
    [[], ": expected an object, got []"],
    [{}, "dependencies: expected an object, got (missing)"],
    [{ dependencies: {} }, "dependencies: expected at least one chain, got {}"],
    [{ dependencies: { "0x1": {} } }, 'dependencies.0x1: expected a chain id in decimal as the key, got "0x1"'],
    [{ dependencies: { [`${2n ** 256n}`]: {} } }, "expected a chain id in decimal as the key"],
    [{ dependencies: { "1": 5 } }, "dependencies.1: expected an object, got 5"],
    [{ dependencies: { "1": { activationTime: "x" } } }, 'dependencies.1.activationTime: expected an integer, 0 or more, got "x"'],
    [{ dependencies: { "1": { colour: 1 } } }, "dependencies.1.colour: expected no such key, got 1"],
    [{ dependencies: { "1": {} }, overrideMessageExpiryWindow: -1 }, "overrideMessageExpiryWindow: expected an integer, 0 or more"],
    [{ dependencies: { "1": {} }, expiry: 1 }, "expiry: expected no such key, got 1"],
  ])("%j is refused with the path of what is wrong", (json, words) => {
    expect(() => dependencySetFromJson(json)).toThrow(words);
  });
});

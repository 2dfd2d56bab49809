import { describe, expect, it } from "vitest";
import { describeLoadFailure } from "../run/launch.ts";
import { describeFailure } from "./failure.ts";
import { connectionBudget, openFilesFault } from "./open-files.ts";

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const TOO_MANY = coded("EMFILE", "EMFILE: too many open files, open '/x.js'");

describe("file descriptors", () => {
  it("are enough from 256 on, of which some are not for connections", () => {
    expect(openFilesFault(255)).toMatch(
      /^the limit of open files is 255: raise it to \d+ \(ulimit -n .*; 256 is the least it runs with$/,
    );
    expect([openFilesFault(256), openFilesFault(undefined)]).toEqual([undefined, undefined]);
    expect([connectionBudget(256), connectionBudget(1024)]).toEqual([160, 928]);
  });

  it("that are missing are said in words, with what to do", () => {
    const words = /too many open files, open '\/x\.js': the limit of open files is \d+: raise it to/;
    expect(describeLoadFailure(TOO_MANY)).toMatch(words);
    expect(describeFailure(TOO_MANY)).toMatch(words);
    expect(describeFailure(new Error("cannot open the database", { cause: TOO_MANY }))).toBeUndefined(); // no error of the system
    expect(describeFailure(Object.assign(new Error("spawn", { cause: TOO_MANY }), { code: "ERR_X" }))).toMatch(words);
  });
});

describe("what cannot be loaded", () => {
  it("is an installation that is not complete, or a bug", () => {
    expect(describeLoadFailure(coded("ERR_MODULE_NOT_FOUND", "Cannot find package 'x'"))).toMatch(
      /^Cannot find package 'x': the inst/,
    );
    const native = "No native build was found for platform=linux arch=riscv64 runtime=node\n    loaded from: /x\n";
    expect(describeLoadFailure(new Error(native))).toMatch(
      /^a package has no prebuilt part for this platform \(platform=linux arch=riscv64 runtime=node\): install Python 3 and/,
    );
    expect(describeLoadFailure(new SyntaxError("Unexpected token"))).toBeUndefined();
  });
});

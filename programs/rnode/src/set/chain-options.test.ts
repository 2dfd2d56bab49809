import { expect, it } from "vitest";
import { optionsOfChain, readSetArguments } from "./chain-options.ts";

it("reads options of the set, of one chain, and of all, of which a chain's own replace", () => {
  const given = readSetArguments([
    "--chain=op-sepolia",
    ...["--chain", "b"],
    "--set.datadir=./set",
    ...["--l1=http://l1", "--log.level=warn", "--rpc.enable-admin"],
    ...["--op-sepolia.l2=http://a", "--b.l2", "http://b", "--b.log.level=debug"],
  ]);
  expect(given).toMatchObject({ names: ["op-sepolia", "b"], datadir: "./set" });
  expect(optionsOfChain(given, "op-sepolia")).toEqual([
    "--l1=http://l1",
    "--log.level=warn",
    "--rpc.enable-admin",
    "--l2=http://a",
  ]);
  expect(optionsOfChain(given, "b")).toEqual(["--l1=http://l1", "--rpc.enable-admin", "--l2", "http://b", "--log.level=debug"]);
});

it.each([
  [["--l1=x"], "--chain is required"],
  [["--chain=a", "--chain=a"], "--chain=a is given twice"],
  [["--chain=A b"], '"A b" is not a name'],
  [["stray", "--chain=a"], '"stray" is not an option'],
])("refuses %j", (args, text) => {
  expect(() => readSetArguments(args)).toThrow(text);
});

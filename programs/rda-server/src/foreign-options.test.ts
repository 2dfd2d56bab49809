import { parseOptions } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { daServerOptions } from "./main.ts";

const parse = (args: readonly string[], env: Record<string, string> = {}) =>
  parseOptions(daServerOptions, ["--datadir=/tmp/x", ...args], env);

describe("rda-server, coming from op-alt-da's da-server", () => {
  it.each([["--addr=127.0.0.1"], ["--port=3100"], ["--generic-commitment"], ["--log.level=debug"]])("takes %s", (arg) => {
    expect(parse([arg])).toMatchObject({ kind: "options", warnings: [] });
  });

  it.each([
    ["--file.path=/tmp/x", "use --datadir"],
    ["--s3.bucket=b", "leave it out, rda-server keeps the data in files below --datadir"],
  ])("says what to use instead of %s", (arg, text) => {
    expect(parse([arg])).toMatchObject({
      faults: [`unknown option ${arg.split("=")[0]}, an option of op-alt-da's da-server: ${text}`],
    });
  });

  it.each([
    ["OP_ALTDA_SERVER_PORT", "set RDA_SERVER_PORT"],
    ["OP_ALTDA_SERVER_FILESTORE_PATH", "use --datadir"],
    ["OP_ALTDA_SERVER_S3_BUCKET", "leave it out, rda-server keeps the data in files below --datadir"],
    ["OP_ALTDA_SERVER_NONE", "rda-server does not have it; rda-server --help lists its own"],
  ])("answers the variable %s", (name, text) => {
    expect(parse([], { [name]: "1" })).toMatchObject({
      warnings: [`${name} is a variable of op-alt-da's da-server: ${text}`],
    });
  });
});

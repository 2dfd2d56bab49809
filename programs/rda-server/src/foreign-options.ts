import type { ForeignProgram } from "@rnode/program";

/** Options of the da-server of op-alt-da that are not rda-server's under the same name. */
export const opDaServer: ForeignProgram = {
  name: "op-alt-da's da-server",
  envPrefix: "OP_ALTDA_SERVER_",
  noEffect: [],
  instead: [
    { text: "use --datadir", flags: ["file.path"] },
    {
      text: "leave it out, rda-server keeps the data in files below --datadir",
      flags: ["s3.bucket", "s3.endpoint", "s3.access-key-id", "s3.access-key-secret"],
    },
  ],
  variables: { FILESTORE_PATH: "file.path" },
};

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bool, optionGroup, optionTable } from "@rnode/options";
import { command } from "@rnode/program";
import { loadSnapshot } from "@rnode/snapshot";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { fileError, isUrl } from "../setup/read-input.ts";
import { VERSION } from "../version.ts";
import { chainOptions, downloaded, genesisHashOf, percent, printSnapshot, trust } from "./snapshot-shared.ts";

const table = optionTable({
  program: "rengine snapshot verify",
  summary:
    "Checks every byte of a snapshot, its blocks, and its state against the state root of its block. One at a URL is downloaded into a temporary file (TMPDIR).",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      ...chainOptions,
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    trust,
  },
  positionals: { name: "FILE|URL", min: 1, max: 1 },
});

/** `rengine snapshot verify`: prints what the file is of; exits with 1 and the reason if anything is wrong. */
export const verifySnapshotFile = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const spec = await loadChainSpec({ chain: options.main.chain });
  const expected = { config: spec.config, genesisHash: await genesisHashOf(spec), ...options.trust };
  const from = positionals[0]!;
  const folder = isUrl(from) ? mkdtempSync(join(tmpdir(), "rengine-snapshot-")) : undefined;
  try {
    const file = folder === undefined ? from : await downloaded(from, join(folder, "snapshot"), expected, io);
    const loaded = await loadSnapshot(file, expected, { folder, onProgress: percent(io, "reading") }).catch((cause: unknown) => {
      throw cause instanceof Error && "syscall" in cause ? fileError(file, cause) : cause;
    });
    try {
      printSnapshot(io, loaded, options.main.json);
    } finally {
      loaded.close();
    }
    if (options.trust.blockHash === undefined && options.trust.outputRoot === undefined) {
      io.err("the file fits itself; that its block is one of the chain, --block-hash or --output-root tells");
    }
    return 0;
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
});

import type { DevnetInfo } from "../files.ts";
import type { ShownProgram } from "../processes/devnet-dashboard.ts";
import type { Program } from "../processes/program.ts";

/** What a chain of a set shares with the others. */
export interface SetMembership {
  /** `rnode set`, which verifies the chain in place of a verifier's rnode */
  readonly program: Program;
  /** its JSON-RPC */
  readonly url: string;
  /** folder with the files of the forks that bring messages */
  readonly upgradesDir: string;
  /** index, among the accounts of the mnemonic, of the first account with a role */
  readonly firstRole: number;
  /** programs of the other chains, for the page of the first chain; `undefined`: this is another one, without a page */
  readonly further?: (() => readonly ShownProgram[]) | undefined;
  /** The chain is created, and its verifier's engine runs. Resolves once `rnode set` answers. @param args the chain's options of `rnode set` */
  join(info: DevnetInfo, args: readonly string[]): Promise<void>;
}

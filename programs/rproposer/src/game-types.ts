import type { RootKind } from "./proposal.ts";

/** What the claims of the known types of dispute games are. Spec: docs/protocol/05-services.md#proposer */
const ROOT_KINDS: ReadonlyMap<number, RootKind> = new Map([
  ...[0, 1, 2, 3, 6, 8, 254, 255, 1337].map((type) => [type, "output root"] as const),
  ...[4, 5, 7, 9].map((type) => [type, "super root"] as const),
]);

/** `undefined` if the type is not known here: its implementation can be asked. */
export const rootKindOfGame = (gameType: number): RootKind | undefined => ROOT_KINDS.get(gameType);

/** What a game of one kind needs where another kind of root is at hand. */
export const wantedSource = (kind: RootKind): string =>
  kind === "super root"
    ? "a type of games with output roots (0, 1, 8), or --superroot-rpcs in place of --rollup-rpc: this type's claims are super roots"
    : "a type of games with super roots (5, 9), or --rollup-rpc in place of --superroot-rpcs: this type's claims are output roots";

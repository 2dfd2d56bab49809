import type { Network } from "@rnode/protocol";

/** One fact that two sources have differently; `undefined` if one of them does not have it. */
export interface Difference {
  /** path of the fact: `forkTimes.karst` */
  readonly field: string;
  readonly here: string | undefined;
  readonly there: string | undefined;
}

export interface NetworkChange {
  readonly name: string;
  readonly l2ChainId: number;
  readonly change: "added" | "removed" | "changed";
  /** of a changed network, by field */
  readonly differences: readonly Difference[];
}

/** The changes of the networks `there` compared with `here`. Networks are matched by their path in the registry. */
export function compareNetworks(here: readonly Network[], there: readonly Network[]): readonly NetworkChange[] {
  const changes: NetworkChange[] = [];
  const others = new Map(there.map((network) => [network.path, network]));
  for (const network of here) {
    const { path, name, l2ChainId } = network;
    const other = others.get(path);
    others.delete(path);
    const differences = other === undefined ? [] : differencesOf(factsOf(network), factsOf(other));
    if (other === undefined) changes.push({ name, l2ChainId, change: "removed", differences });
    else if (differences.length > 0) changes.push({ name, l2ChainId, change: "changed", differences });
  }
  for (const { name, l2ChainId } of others.values()) changes.push({ name, l2ChainId, change: "added", differences: [] });
  return changes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function differencesOf(here: Facts, there: Facts): Difference[] {
  const fields = [...new Set([...here.keys(), ...there.keys()])].sort();
  return fields.flatMap((field) => {
    const [one, other] = [here.get(field), there.get(field)];
    return one === other ? [] : [{ field, here: one, there: other }];
  });
}

type Facts = ReadonlyMap<string, string>;

/** Each fact as text under its path. */
function factsOf(network: Network): Facts {
  const facts = new Map<string, string>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) facts.set(path, String(value));
    else if (Array.isArray(value)) facts.set(path, value.join(","));
    else for (const [key, inner] of Object.entries(value)) visit(inner, path === "" ? key : `${path}.${key}`);
  };
  visit(network, "");
  return facts;
}

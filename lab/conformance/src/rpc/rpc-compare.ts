type Json = unknown;

const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The first difference between an answer and the expected one; `undefined`: they are equal. Error texts differ between clients,
 * so if both have an `error`, its `code` and `data` are compared but not its `message`.
 */
export function firstDifference(expected: Json, actual: Json, path = "$"): string | undefined {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (const [at, item] of expected.entries()) {
      if (at >= actual.length) break;
      const difference = firstDifference(item, actual[at], `${path}[${at}]`);
      if (difference !== undefined) return difference;
    }
    return expected.length === actual.length ? undefined : `${path}: expected ${expected.length} items, got ${actual.length}`;
  }
  if (isObject(expected) && isObject(actual)) {
    const isError = path.endsWith(".error") && typeof expected.message === "string" && typeof actual.message === "string";
    for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      if (isError && name === "message") continue;
      const place = `${path}.${name}`;
      if (!Object.hasOwn(actual, name)) return `${place}: expected ${shown(expected[name])}, missing`;
      if (!Object.hasOwn(expected, name)) return `${place}: not expected, got ${shown(actual[name])}`;
      const difference = firstDifference(expected[name], actual[name], place);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return Object.is(expected, actual) ? undefined : `${path}: expected ${shown(expected)}, got ${shown(actual)}`;
}

const SHOWN_LENGTH = 160;

function shown(value: Json): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

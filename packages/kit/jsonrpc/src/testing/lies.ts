/** An answer that is wrong in one place. */
export interface Lie {
  /** where, and how */
  readonly name: string;
  readonly answer: unknown;
}

/**
 * All single errors in a JSON value: each value changed, of another type, null or missing; each list empty, or with an item
 * missing, repeated or moved. The list is generated from the value, so it covers all fields.
 */
export function liesAbout(honest: unknown): readonly Lie[] {
  return [...liesAt(honest, "answer")];
}

function* liesAt(honest: unknown, path: string): Generator<Lie> {
  const told = new Set([JSON.stringify(honest)]);
  for (const [how, answer] of replacements(honest)) {
    const text = JSON.stringify(answer) ?? "undefined";
    if (told.has(text)) continue;
    told.add(text);
    yield { name: `${path}: ${how}`, answer };
  }
  if (Array.isArray(honest)) {
    for (const [index, item] of honest.entries()) {
      for (const { name, answer } of liesAt(item, `${path}[${index}]`)) yield { name, answer: honest.with(index, answer) };
    }
  } else if (isObject(honest)) {
    for (const [field, value] of Object.entries(honest)) {
      const { [field]: _, ...others } = honest;
      yield { name: `${path}.${field}: missing`, answer: others };
      for (const { name, answer } of liesAt(value, `${path}.${field}`)) yield { name, answer: { ...honest, [field]: answer } };
    }
  }
}

function* replacements(honest: unknown): Generator<readonly [how: string, answer: unknown]> {
  yield ["null", null];
  yield ["a number", 7];
  yield ["a text", "lie"];
  yield ["an object", {}];
  yield ["an empty list", []];
  if (Array.isArray(honest)) {
    for (const index of honest.keys()) yield [`item ${index} missing`, honest.toSpliced(index, 1)];
    for (const index of honest.keys()) yield [`item ${index} twice`, honest.toSpliced(index, 0, honest[index])];
    for (let index = 1; index < honest.length; index++) {
      yield [`items ${index - 1} and ${index} swapped`, honest.toSpliced(index - 1, 2, honest[index], honest[index - 1])];
    }
  } else if (typeof honest === "string" && /^0x[0-9a-fA-F]*$/.test(honest)) {
    yield ["empty", "0x"];
    yield ["zero", "0x0"];
    yield ["another digit at the end", honest.slice(0, -1) + (honest.endsWith("1") ? "2" : "1")];
    yield ["another digit at the start", `0x${honest[2] === "1" ? "2" : "1"}${honest.slice(3)}`];
    yield ["a byte more", `${honest}01`];
    yield ["a byte less", honest.slice(0, -2)];
  } else if (typeof honest === "boolean") {
    yield ["the opposite", !honest];
  } else if (typeof honest === "number") {
    yield ["one more", honest + 1];
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
